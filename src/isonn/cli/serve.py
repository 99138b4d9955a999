"""`isonn serve`: answer requests with saved models, and serve a page to edit graphs."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from isonn.cli import options as opt
from isonn.cli.options import argument, flag, option


def serve(
    models: Annotated[list[str], argument("MODEL", "Model folders written by `isonn fit`, as FOLDER or NAME=FOLDER.")],
    port: Annotated[
        int, option(None, "Port to listen on; 0 takes a free one.", metavar="PORT", min=0, max=65535)
    ] = 8000,
    host: Annotated[str, option(None, "Address to listen on; any but loopback needs --token.")] = "127.0.0.1",
    token: Annotated[
        str | None,
        option(
            None,
            "Requests must have the header Authorization: Bearer TOKEN.",
            default=False,
            envvar="ISONN_TOKEN",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        option(None, "A name of this server in web addresses; may be repeated.", metavar="NAME", default=False),
    ] = None,
    log_structures: Annotated[bool, flag(None, "Log the molecules of requests.", "--log-structures")] = False,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Serve saved models: a page to edit a graph and watch its prediction, and a JSON API.

    Ctrl-C ends the server; running requests are finished first.
    """
    from isonn.errors import InputError, naming_the_extra

    with naming_the_extra("isonn serve"):
        from isonn.serve.app import create_app, warm_up
        from isonn.serve.server import is_loopback, listen
        from isonn.serve.server import serve as answer
    if token is not None and len(token) < 16:
        raise InputError(f"--token has {len(token)} characters; use at least 16, such as from `openssl rand -hex 16`")
    if token is None and not is_loopback(host):
        raise InputError(f"--host {host} can be reached by others; give a --token, or use --host 127.0.0.1")
    loaded = _loaded(models)
    listening = listen(host, port)
    hosts = [*(allow_host or ()), *([] if is_loopback(host) else [host])]
    app = create_app(loaded, token=token, hosts=hosts, log_structures=log_structures)
    for loaded_model in loaded.values():
        warm_up(loaded_model)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}/"
    facts = {"address": address, "models": list(loaded)}
    text = f"{', '.join(loaded)} at {address} (API: {address}openapi.json); Ctrl-C ends the server"
    with suppress(KeyboardInterrupt):
        print(json.dumps(facts) if as_json else text, flush=True)
        answer(app, listening, quiet)


def _loaded(given: list[str]) -> dict[str, Any]:
    """Load models by name: that of the folder, or the one before ``=``."""
    import isonn
    from isonn.errors import InputError

    loaded: dict[str, Any] = {}
    for text in given:
        name, equals, folder = text.partition("=")
        if not equals or Path(text).exists():
            name, folder = Path(text).resolve().name, text
        if name in loaded:
            raise InputError(f"two models are called {name!r}; name one of them, as in other={folder}")
        loaded[name] = isonn.load_model(folder)
    return loaded
