"""Results on disk: one file a finished task, so that nothing is run twice and nothing finished is lost.

```
run.json             what this folder is
tasks/<id>.json      the result of a finished task; copying these files merges two stores
tasks/<id>.error     why a task failed; it is tried again next time
```
Any other file is left alone; one whose name starts with a dot is what a killed process was about to write.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from isonn import __version__
from isonn.errors import InputError, IsoNNError
from isonn.experiments.jobs import Task
from isonn.files import atomic_file

FORMAT = 1
_KIND = "isonn results"
#: What is a number in every result, and where.
_NUMBERS = (("metrics", "accuracy"), ("metrics", "f1"), ("timings", "fit_seconds"), ("n_train",), ("n_test",))


def failure(task: Task, sentence: str, traceback: str = "") -> dict[str, Any]:
    """The outcome of a task that failed, as `Store.put_error` keeps it; the sentence is brought onto one line."""
    return {"id": task.id, "task": task.as_dict(), "error": " ".join(sentence.split()), "traceback": traceback}


class Store:
    """The results in a folder, which is made when it does not exist.

    Safe to use from several processes at once: a file appears whole, and whoever writes it writes the same.

    Attributes:
        folder: where it is.
        set_aside: damaged files met so far, by the name they have now.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.set_aside: list[Path] = []
        try:
            self._open()
        except OSError as error:
            raise InputError(
                f"results cannot be kept in {self.folder} ({error.strerror or error}); choose another folder"
            ) from error

    def get(self, task: Task) -> dict[str, Any] | None:
        """The result of a finished task, or None. A damaged file is set aside and counts as none."""
        path = self._path(task.id)
        with self._sentence_on_failure("read"):
            text = _read(path)
            if text is None:
                return None
            return _result(text, task.id) or self._set_aside(path, task.id)

    def missing(self, tasks: Iterable[Task]) -> list[Task]:
        """The tasks that have no result yet, in the order given."""
        return [task for task in tasks if self.get(task) is None]

    def put(self, result: Mapping[str, Any]) -> None:
        """Keep the result of a finished task."""
        with self._sentence_on_failure("kept"):
            _write(self._path(result["id"]), result)
            self._error_path(result["id"]).unlink(missing_ok=True)

    def put_error(self, failure: Mapping[str, Any]) -> None:
        """Keep why a task failed: its ``id``, ``task`` and ``error``."""
        with self._sentence_on_failure("kept"):
            _write(self._error_path(failure["id"]), failure)

    def error(self, task: Task) -> str | None:
        """The sentence a task failed with the last time it was tried, or None."""
        with self._sentence_on_failure("read"):
            text = _read(self._error_path(task.id))
        return None if text is None else str(_parsed(text).get("error", "the record of the error is damaged"))

    def _set_aside(self, path: Path, task_id: str) -> dict[str, Any] | None:
        aside = path.with_name(f"{path.name}.corrupt")
        try:
            path.replace(aside)
        except FileNotFoundError:
            return None  # another process has set it aside
        result = _result(_read(aside) or "", task_id)
        if result is not None:  # another process had set it aside and put a sound one in its place
            aside.replace(path)
            return result
        self.set_aside.append(aside)
        return None

    @contextmanager
    def _sentence_on_failure(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise IsoNNError(
                f"results cannot be {what} in {self.folder} ({error.strerror or error}); finished tasks are kept: "
                f"make room or give permission there and run the same command again"
            ) from error

    def _path(self, task_id: str) -> Path:
        return self.folder / "tasks" / f"{task_id}.json"

    def _error_path(self, task_id: str) -> Path:
        return self.folder / "tasks" / f"{task_id}.error"

    def _open(self) -> None:
        about = self.folder / "run.json"
        if not about.exists():
            foreign = self.folder.exists() and any(
                not file.name.startswith(".run.json.") for file in self.folder.iterdir()
            )  # a process that was killed, or is at it right now, leaves nothing but the beginning of a run.json
            if foreign and not about.exists():  # it may have appeared between the two looks
                raise InputError(f"{self.folder} is not empty and holds no results of isonn; choose another folder")
            _write(about, {"kind": _KIND, "format": FORMAT, "isonn": __version__})
        found = _parsed(about.read_text(encoding="utf-8", errors="replace"))
        if found.get("kind") != _KIND:
            raise InputError(f"{about} was not written by isonn or is damaged; choose another folder")
        if found.get("format") != FORMAT:
            raise InputError(
                f"{self.folder} was written by isonn {found.get('isonn')} in format {found.get('format')}, and this is "
                f"isonn {__version__} with format {FORMAT}; choose another folder, or use the version that wrote it"
            )
        (self.folder / "tasks").mkdir(exist_ok=True)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        return ""  # damaged, like any other text that is no JSON


def _result(text: str, task_id: str) -> dict[str, Any] | None:
    """The result of the task, if that is what the text holds."""
    content = _parsed(text)
    whole = all(isinstance(_at(content, keys), int | float) for keys in _NUMBERS)
    lists = isinstance(content.get("task"), dict) and isinstance(content.get("predictions"), list)
    return content if content.get("id") == task_id and whole and lists else None


def _at(content: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def _parsed(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _write(path: Path, content: Mapping[str, Any]) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text(json.dumps(content, sort_keys=True) + "\n", encoding="utf-8")
