"""The web application: routes, limits and checks; the work on models is done in one thread beside it.

Everything the page needs is read when the application is created, so that no request reads or writes a file. RDKit's
log and Python's warnings belong to the whole process, so one thread does all work on models, in order; the event loop
only reads and writes. A request that is not allowed never reaches that thread.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import logging
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib.resources import files
from typing import Any

from anyio import fail_after
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import isonn
from isonn.errors import IsoNNError
from isonn.serve.bodies import Limits, RequestError, read_graphs, read_json
from isonn.serve.models import Models
from isonn.serve.worker import Worker, encoded

#: Writes a line per request.
LOG = logging.getLogger("isonn.serve")

#: Headers of every response. The page may load its own script and style and talk to this server, nothing else.
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
#: Names of this machine for itself.
LOOPBACK = ("localhost", "127.0.0.1", "::1")
#: Paths that answer without a token: the page, which asks for it, and the health check.
OPEN = ("/", "/page.js", "/page.css", "/v1/health", "/openapi.json")
#: Characters of molecules in a line of the log.
LOGGED = 200


def create_app(
    models: Mapping[str, Any],
    *,
    token: str | None = None,
    hosts: Iterable[str] = (),
    limits: Limits | None = None,
    log_structures: bool = False,
) -> ASGIApp:
    """Create the application, for `isonn serve` or any ASGI server.

    Args:
        models: fitted models by name.
        token: required in the header ``Authorization: Bearer TOKEN``; None requires none.
        hosts: names of this server, beside loopback and addresses; requests with another ``Host`` are refused.
        limits: what is accepted; None uses `Limits()`.
        log_structures: whether lines of the log have the molecules of a request.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs)
        >>> app = create_app({"mutag": clf})
    """
    limits = limits or Limits()
    served, worker = Models(models, limits), Worker(limits)

    def post(work: Callable[[dict[str, Any]], dict[str, Any]], batches: bool = False) -> Any:
        async def handle(request: Request) -> Response:
            body = await _body(request, limits)
            if log_structures:
                request.scope["isonn.structures"] = ascii(body.get("smiles", ""))[:LOGGED]
            return _json(await (worker.batch if batches else worker.run)(work, body))

        return handle

    async def list_models(request: Request) -> Response:
        return _json(await worker.run(served.list, {}))

    page = files("isonn.serve") / "page"
    style = [*(files("isonn.report") / "html" / name for name in ("style.css", "drawing.css")), page / "page.css"]
    document = json.loads((page / "openapi.json").read_bytes())
    document["info"]["version"] = isonn.__version__
    constant = {
        "/": Response((page / "page.html").read_bytes(), media_type="text/html"),
        "/page.js": Response((page / "page.js").read_bytes(), media_type="text/javascript"),
        "/page.css": Response(b"".join(path.read_bytes() for path in style), media_type="text/css"),
        "/openapi.json": _json(encoded(document)),
        "/v1/health": _json(encoded({"status": "ok", "isonn": isonn.__version__})),
    }
    routes = [
        *(Route(path, response, methods=["GET"]) for path, response in constant.items()),
        Route("/v1/models", list_models),
        Route("/v1/predict", post(served.predict, batches=True), methods=["POST"]),
        Route("/v1/explain", post(served.explain), methods=["POST"]),
        Route("/v1/whatif", post(served.whatif), methods=["POST"]),
        Route("/v1/suggest", post(served.suggest), methods=["POST"]),
    ]
    handlers = {HTTPException: _http_error, RequestError: _refused, IsoNNError: _refused, Exception: _failed}
    app = Starlette(routes=routes, exception_handlers=handlers)
    return Guard(app, token, {*LOOPBACK, *(name.casefold() for name in hosts)}, limits)


class Guard:
    """Refuses requests with a foreign host or without the token, adds headers, and writes a line per request."""

    def __init__(self, app: ASGIApp, token: str | None, hosts: set[str], limits: Limits) -> None:
        self.app, self.hosts, self.limits = app, hosts, limits
        self.token = None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 0

        async def respond(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        try:
            # above all limits within: ends what a client does not read
            with fail_after(2 * self.limits.seconds):
                await (self._refusal(scope) or self.app)(scope, receive, respond)
        except (ClientDisconnect, TimeoutError):
            status = 499  # the client is gone; nobody reads an answer
        except Exception:
            LOG.exception("a request failed; please report this")
        finally:
            method = scope["method"] if scope["method"].isalpha() else "?"
            path, extra = ascii(scope["path"])[1:-1][:80], scope.get("isonn.structures", "")
            LOG.info("%s %s %s %.0f ms %s", method, path, status, 1000 * (time.perf_counter() - start), extra)

    def _refusal(self, scope: Scope) -> Response | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._is_own(host):
            return _error(421, f"Host {ascii(host)[:60]} is not a name of this server; allow it with --allow-host")
        if self.token is not None and scope["path"] not in OPEN:
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, self.token):
                sentence = "this server needs its token; send Authorization: Bearer TOKEN"
                return _error(401, sentence, {"www-authenticate": "Bearer"})
        return None

    def _is_own(self, host: str) -> bool:
        """Return whether a Host header names this server. An address cannot be rebound to another one by DNS."""
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        if name.casefold().rstrip(".") in self.hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def warm_up(model: Any) -> None:
    """Use every path once, so that no later request compiles, imports or reads anything."""
    from isonn.explain.suggest import find_editor

    models = Models({"model": model}, Limits())
    body = models.list({})["models"][0]["example"]
    with warnings.catch_warnings(), suppress(IsoNNError):  # a view of an extension may need more
        warnings.simplefilter("ignore")
        models.predict(body | {"trust": True})
        models.whatif(body)
        if hasattr(model, "suggest"):
            graphs = read_graphs(body, model, 1, models.limits)
            find_editor(graphs.kind).propose(graphs[0], model.standardize_)


async def _body(request: Request, limits: Limits) -> dict[str, Any]:
    """Read the JSON body of a request; raise `RequestError` as soon as it is too long or too late."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().casefold()
    if kind != "application/json":
        raise RequestError(415, f"content-type is {ascii(kind)[:60]}; send application/json")
    length = request.headers.get("content-length", "")
    content = bytearray()
    try:
        with fail_after(limits.slow):
            if not (length.isdecimal() and len(length) < 20 and int(length) > limits.body):
                async for chunk in request.stream():
                    content += chunk
                    if len(content) > limits.body:
                        break
                else:
                    return read_json(bytes(content))
    except TimeoutError as error:
        raise RequestError(408, f"the body did not arrive within {limits.slow:g} s; send it again") from error
    raise RequestError(413, f"the body has more than {limits.body:,} bytes; send less at once")


def _json(content: bytes) -> Response:
    return Response(content, media_type="application/json")


def _error(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encoded({"error": sentence}), status, headers, "application/json")


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentences = {404: "there is nothing here; see /openapi.json", 405: "this path takes another method"}
    return _error(error.status_code, sentences.get(error.status_code, error.detail), error.headers)


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, RequestError) else 422
    return _error(status, str(error), {"retry-after": "1"} if status == 503 else None)


async def _failed(request: Request, error: Exception) -> Response:
    return _error(500, "the server failed; its log says why")
