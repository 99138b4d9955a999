"""The web application: routes, limits and checks; the work on models is done in one thread beside it.

Everything the page needs is read when the application is created, so that no request reads or writes a file. RDKit's
log and Python's warnings belong to the whole process, so one thread does all work on models, in order; the event loop
only reads and writes. A request that is not allowed never reaches that thread.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import logging
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
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
from isonn.errors import IsoNNError, IsoNNWarning
from isonn.explain.suggest import find_editor
from isonn.serve import answers
from isonn.serve.bodies import Limits, RequestError, read_graphs, read_json
from isonn.serve.openapi import openapi
from isonn.serve.trust import trust, trusts
from isonn.serve.whatif import suggest, whatif

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

Work = Callable[["Models", dict[str, Any]], dict[str, Any]]


class Models:
    """The models of a server, by name."""

    def __init__(self, models: Mapping[str, Any], limits: Limits) -> None:
        self.by_name, self.limits = dict(models), limits

    def find(self, body: Mapping[str, Any]) -> tuple[str, Any]:
        """Return the name and the model that a request asks for; it may be left out if there is one."""
        names = ", ".join(self.by_name)
        name = body.get("model")
        if name is None:
            if len(self.by_name) > 1:
                raise RequestError(404, f"this server has several models; give model as one of {names}")
            name = next(iter(self.by_name))
        if not isinstance(name, str) or name not in self.by_name:
            raise RequestError(404, f"model {ascii(name)[:60]} is not on this server; use one of {names}")
        return name, self.by_name[name]


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
    served = Models(models, limits or Limits())
    state = Server(served, log_structures)
    page = {name: (files("isonn.serve") / "page" / name).read_bytes() for name in ("page.html", "page.js")}
    drawing = files("isonn.report") / "html"
    page["page.css"] = b"".join(
        [
            *((drawing / name).read_bytes() for name in ("style.css", "drawing.css")),
            (files("isonn.serve") / "page" / "page.css").read_bytes(),
        ]
    )
    routes = [
        _file("/", page["page.html"], "text/html"),
        _file("/page.js", page["page.js"], "text/javascript"),
        _file("/page.css", page["page.css"], "text/css"),
        _file("/openapi.json", _encoded(openapi(served)), "application/json"),
        Route("/v1/health", _health),
        Route("/v1/models", state.get(_models)),
        Route("/v1/predict", state.post(_predict), methods=["POST"]),
        Route("/v1/explain", state.post(_explain), methods=["POST"]),
        Route("/v1/whatif", state.post(_whatif), methods=["POST"]),
        Route("/v1/suggest", state.post(_suggest), methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _http_error, Exception: _failed})
    return Guard(app, token, {*LOOPBACK, *(name.casefold() for name in hosts)}, served.limits)


class Server:
    """Runs the work of requests in one thread."""

    def __init__(self, models: Models, log_structures: bool) -> None:
        self.models, self.log_structures = models, log_structures
        self.worker = ThreadPoolExecutor(1, "isonn-model")
        self.waiting = 0

    def get(self, work: Work) -> Callable[[Request], Any]:
        """Return the handler of a request without a body."""

        async def handle(request: Request) -> Response:
            return await self._answer(work, {})

        return handle

    def post(self, work: Work) -> Callable[[Request], Any]:
        """Return the handler of a request with a JSON body."""

        async def handle(request: Request) -> Response:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().casefold()
            if kind != "application/json":
                return _error(415, f"content-type is {ascii(kind)[:60]}; send application/json")
            try:
                with fail_after(self.models.limits.slow):
                    content = await _content(request, self.models.limits.body)
                body = read_json(content)
            except TimeoutError:
                return _error(408, f"the body did not arrive within {self.models.limits.slow:g} s; send it again")
            except RequestError as error:
                return _error(error.status, str(error))
            if self.log_structures:
                request.scope["isonn.structures"] = ascii(body.get("smiles", ""))[:LOGGED]
            return await self._answer(work, body)

        return handle

    async def _answer(self, work: Work, body: dict[str, Any]) -> Response:
        limits = self.models.limits
        if self.waiting >= limits.waiting:
            return _error(503, f"{self.waiting} requests are waiting; try again in a second", {"retry-after": "1"})
        self.waiting += 1
        try:
            loop = asyncio.get_running_loop()
            with fail_after(limits.seconds):
                return Response(
                    await loop.run_in_executor(self.worker, self._work, work, body), media_type="application/json"
                )
        except TimeoutError:
            return _error(503, f"the answer took more than {limits.seconds:g} s; send fewer or smaller graphs")
        except RequestError as error:
            return _error(error.status, str(error))
        except IsoNNError as error:
            return _error(422, str(error))
        except (MemoryError, RecursionError):
            return _error(422, "the graphs are too large for this server; send fewer or smaller ones")
        finally:
            self.waiting -= 1

    def _work(self, work: Work, body: dict[str, Any]) -> bytes:
        """Do the work and encode its result; warnings of the model become a part of it."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = work(self.models, body)
        said = dict.fromkeys(str(warning.message) for warning in caught if issubclass(warning.category, IsoNNWarning))
        return _encoded({**result, "warnings": list(said)} if said else result)


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
            milliseconds = 1000 * (time.perf_counter() - start)
            extra = scope.get("isonn.structures", "")
            LOG.info(
                "%s %s %s %.0f ms%s",
                scope["method"] if scope["method"].isalpha() else "?",
                ascii(scope["path"])[1:-1][:80],
                status,
                milliseconds,
                f" {extra}" if extra else "",
            )

    def _refusal(self, scope: Scope) -> Response | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._is_own(host):
            return _error(421, f"Host {ascii(host)[:60]} is not a name of this server; allow it with --allow-host")
        if self.token is not None and scope["path"] not in OPEN:
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, self.token):
                return _error(401, "this server needs its token; send Authorization: Bearer TOKEN",
                              {"www-authenticate": "Bearer"})  # fmt: skip
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


async def _content(request: Request, most: int) -> bytes:
    """Read a body; raise `RequestError` as soon as it is too long."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and len(length) < 20 and int(length) > most:
        raise RequestError(413, f"the body has {int(length):,} bytes, above the limit of {most:,}; send less at once")
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > most:
            raise RequestError(413, f"the body has more than {most:,} bytes; send less at once")
    return bytes(content)


def _encoded(value: Any) -> bytes:
    """Encode JSON in ASCII, which also a lone surrogate survives."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def _error(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    return Response(_encoded({"error": sentence}), status, headers, "application/json")


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentences = {404: "there is nothing here; see /openapi.json", 405: "this path takes another method"}
    return _error(error.status_code, sentences.get(error.status_code, error.detail), error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    return _error(500, "the server failed; its log says why")


def _file(path: str, content: bytes, kind: str) -> Route:
    async def serve(request: Request) -> Response:
        return Response(content, media_type=kind)

    return Route(path, serve)


async def _health(request: Request) -> Response:
    return Response(_encoded({"status": "ok", "isonn": isonn.__version__}), media_type="application/json")


def warm_up(model: Any) -> None:
    """Predict and edit an example, so that a request neither compiles nor imports nor reads anything."""
    limits, body = Limits(), answers.example(model)
    graphs = read_graphs(body, model, 1, limits)
    answers.predict(model, graphs)
    trust(model, graphs, None)
    whatif(model, body, limits)
    if hasattr(model, "suggest"):
        find_editor(graphs.kind).propose(graphs[0], model.standardize_)


# The work of each path, done in the thread of the models.


def _models(models: Models, body: dict[str, Any]) -> dict[str, Any]:
    return {
        "models": [
            {**answers.facts(name, model), "trusts": trusts(model), "example": answers.example(model)}
            for name, model in models.by_name.items()
        ]
    }


def _predict(models: Models, body: dict[str, Any]) -> dict[str, Any]:
    name, model = models.find(body)
    graphs = read_graphs(body, model, models.limits.graphs, models.limits)
    rows = answers.predict(model, graphs)
    if body.get("trust"):
        rows = [{**row, **more} for row, more in zip(rows, trust(model, graphs, body.get("coverage")), strict=True)]
    return {"model": name, "predictions": rows}


def _explain(models: Models, body: dict[str, Any]) -> dict[str, Any]:
    name, model = models.find(body)
    graphs = read_graphs(body, model, models.limits.explained, models.limits)
    label = answers.label_of(model, body.get("label"))
    explained = [model.explain(graphs[i : i + 1], label=label) for i in range(len(graphs))]
    return {"model": name, "explanations": [answers.describe(model, one, bool(body.get("svg"))) for one in explained]}


def _whatif(models: Models, body: dict[str, Any]) -> dict[str, Any]:
    name, model = models.find(body)
    return {"model": name, **whatif(model, body, models.limits)}


def _suggest(models: Models, body: dict[str, Any]) -> dict[str, Any]:
    name, model = models.find(body)
    return {"model": name, **suggest(model, body, models.limits)}
