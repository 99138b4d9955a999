"""Send requests to the server of models, with and without a network."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


@contextmanager
def running(app: Any) -> Iterator[Any]:
    """Run a server in a thread; yields a client of it."""
    import httpx
    import uvicorn

    from isonn.serve.server import listen, uvicorn_config

    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn_config(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        with httpx.Client(base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=60) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def answer_to(port: int, content: bytes, seconds: float = 5.0) -> bytes:
    """Send bytes to a server, and return what it sends until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(content)
        received = b""
        with suppress(ConnectionResetError):
            while part := connection.recv(65536):
                received += part
        return received
