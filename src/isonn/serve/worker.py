"""One thread that does all work on models, and answers predictions that wait at the same time together."""

from __future__ import annotations

import asyncio
import json
import time
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import Any

from anyio import fail_after

from isonn.errors import IsoNNError, IsoNNWarning
from isonn.serve.bodies import FORMS, Limits, RequestError

#: Seconds that a prediction waits for as many others as came with the last one: about what one takes alone.
GATHER = 0.005

Body = dict[str, Any]
Work = Callable[[Body], dict[str, Any]]
#: A request that waits, and where its answer goes.
Waiting = tuple[Body, Future[bytes]]


class Worker:
    """Runs work in one thread, in order; raises `RequestError` if too much waits, or if it takes too long."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.thread = ThreadPoolExecutor(1, "isonn-model")
        self.tasks = 0
        self.predictions: deque[Waiting] = deque()
        self.together = 1

    async def run(self, work: Work, body: Body) -> bytes:
        """Do the work of a request, and return its result as JSON."""
        return await self._wait(lambda: self.thread.submit(_done, work, body))

    async def batch(self, work: Work, body: Body) -> bytes:
        """Predict the graphs of a request together with those of others that wait; the answer is the same.

        One molecule takes about as long as ten at once, so eight clients with single molecules are answered several
        times faster.
        """

        def submit() -> Future[bytes]:
            task: Future[bytes] = Future()
            self.predictions.append((body, task))
            self.thread.submit(self._predict_waiting, work)
            return task

        return await self._wait(submit)

    async def _wait(self, submit: Callable[[], Future[bytes]]) -> bytes:
        if self.tasks >= self.limits.waiting:
            raise RequestError(503, f"{self.tasks} requests are waiting; try again in a second")
        self.tasks += 1
        try:
            with fail_after(self.limits.seconds):
                return await asyncio.wrap_future(submit())
        except TimeoutError as error:
            sentence = f"the answer took more than {self.limits.seconds:g} s; send fewer or smaller graphs"
            raise RequestError(503, sentence) from error
        except (MemoryError, RecursionError) as error:
            raise RequestError(422, "the graphs are too large for this server; send fewer or smaller ones") from error
        finally:
            self.tasks -= 1

    def _predict_waiting(self, work: Work) -> None:
        if not self.predictions:
            return  # answered with an earlier one
        end = time.monotonic() + GATHER
        while len(self.predictions) < self.together and time.monotonic() < end:
            time.sleep(GATHER / 20)
        self.together = len(self.predictions)
        waiting = [self.predictions.popleft() for _ in range(len(self.predictions))]
        waiting = [(body, task) for body, task in waiting if task.set_running_or_notify_cancel()]
        for tasks in _alike(waiting):
            results = _together(work, [body for body, _ in tasks]) if len(tasks) > 1 else None
            for i, (body, task) in enumerate(tasks):
                try:
                    task.set_result(_done(work, body) if results is None else results[i])
                except Exception as error:  # noqa: BLE001 - raised again where the request waits
                    task.set_exception(error)


def encoded(value: Any) -> bytes:
    """Encode JSON in ASCII, which also a lone surrogate survives."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def _done(work: Work, body: Body) -> bytes:
    """Do the work and encode its result; warnings of the model become a part of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = work(body)
    said = dict.fromkeys(str(warning.message) for warning in caught if issubclass(warning.category, IsoNNWarning))
    return encoded({**result, "warnings": list(said)} if said else result)


def _alike(tasks: Sequence[Waiting]) -> list[list[Waiting]]:
    """Return the tasks in groups: those that differ in their graphs only together."""
    groups: dict[Any, list[Waiting]] = {}
    for body, task in tasks:
        form = _form(body)
        key = id(task) if form is None else repr({**body, form: None})
        groups.setdefault(key, []).append((body, task))
    return list(groups.values())


def _together(work: Work, bodies: Sequence[Body]) -> list[bytes] | None:
    """Return the answers to requests that differ in their graphs only; None if each has to be answered by itself.

    That is so if they have too many graphs together, or if one of them gets an error or a warning.
    """
    form = _form(bodies[0])
    graphs = [[body[form]] if isinstance(body[form], str) else body[form] for body in bodies]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", IsoNNWarning)  # a warning belongs to one of them
            result = work({**bodies[0], form: list(chain.from_iterable(graphs))})
    except (IsoNNError, IsoNNWarning, RequestError, MemoryError, RecursionError):
        return None
    rows = iter(result["predictions"])
    return [encoded(result | {"predictions": list(islice(rows, len(entries)))}) for entries in graphs]


def _form(body: Body) -> Any:
    """Return the field with graphs that may be joined with those of other requests; None if there is none."""
    forms = [form for form in FORMS if form in body]
    if len(forms) != 1 or not body[forms[0]] or not isinstance(body[forms[0]], (str, list)):
        return None  # an error
    others = (value for field, value in body.items() if field != forms[0])
    return None if any(isinstance(value, (list, dict)) for value in others) else forms[0]  # such as confounds
