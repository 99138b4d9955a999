"""Run the application with uvicorn: addresses, slow clients, signals and the log."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import socket
import sys
from contextlib import suppress
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from isonn.errors import InputError
from isonn.serve.app import LOG

#: Seconds between two looks at a connection; one that sent no whole request in between is closed.
IDLE = 15.0
#: Connections at once; further ones are answered with 503.
CONNECTIONS = 256
#: Seconds that requests have to finish after a signal.
GRACE = 5


class PatientProtocol(H11Protocol):
    """HTTP that closes connections of clients that send no request, or only a part of one, for a while."""

    watch: asyncio.TimerHandle | None = None
    seen: object = None

    def connection_made(self, transport: Any) -> None:
        """Start to watch a connection."""
        super().connection_made(transport)
        self.seen = self
        self.watch = self.loop.call_later(IDLE, self._look)

    def connection_lost(self, error: Exception | None) -> None:
        """Stop to watch it."""
        if self.watch is not None:
            self.watch.cancel()
        super().connection_lost(error)

    def _look(self) -> None:
        waits = self.cycle is None or self.cycle.response_complete
        if waits and (self.seen is self.cycle or self.cycle is None):
            self.transport.close()
            return
        self.seen = self.cycle if waits else None
        self.watch = self.loop.call_later(IDLE, self._look)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine only.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.casefold() == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raise `InputError` if the port is in use or the address is not of this machine."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # asyncio sends small answers at once (TCP_NODELAY) only where the protocol is named; else each waits 40 ms
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except (OSError, UnicodeError) as error:
        raise InputError(f"--host {host!r:.60} is not an address of this machine ({error})") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(CONNECTIONS)
    except OSError as error:
        listening.close()
        reasons = {errno.EADDRINUSE: "is in use", errno.EACCES: "needs more rights"}
        why = reasons.get(error.errno or 0, f"fails ({error})")
        raise InputError(f"port {port} of {host} {why}; choose another --port") from error
    return listening


def uvicorn_config(app: ASGIApp) -> uvicorn.Config:
    """Return the settings of uvicorn."""
    return uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
        limit_concurrency=CONNECTIONS,
    )


def serve(app: ASGIApp, listening: socket.socket, quiet: bool = False) -> None:
    """Answer requests until a signal; then finish those that run, and return.

    Args:
        app: the application.
        listening: from `listen`; clients that connected before are answered, too.
        quiet: whether to log failures only.
    """
    log = logging.StreamHandler(sys.stderr)
    log.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    LOG.handlers, LOG.propagate = [log], False
    LOG.setLevel(logging.ERROR if quiet else logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    with listening, suppress(KeyboardInterrupt):  # uvicorn sends the signal again when it has ended
        uvicorn.Server(uvicorn_config(app)).run(sockets=[listening])
