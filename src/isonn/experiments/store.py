"""Results on disk, one file per finished job, so that no job runs twice and no result is lost.

```
run.json            identifies the folder
jobs/<id>.json      the result of a finished job, with a checksum; copy these files to merge two stores
jobs/<id>.error     why a job failed; the next run tries it again
```
The checksum detects damage and accidental edits. It does not detect forgery, since anyone can compute it.
Other files are not touched. Names that start with a dot are files being written. Opening the store removes those left
by killed processes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from isonn import __version__
from isonn.errors import InputError, IsoNNError
from isonn.experiments.jobs import Job
from isonn.files import atomic_file, remove_strays

FORMAT = 2
_KIND = "isonn results"
FOLDER = "jobs"


def failure(job: Job, sentence: str, traceback: str = "") -> dict[str, Any]:
    """Return the outcome of a failed job for `Store.put`, with the error on one line."""
    return {"id": job.id, "job": job.as_dict(), "error": " ".join(sentence.split()), "traceback": traceback}


class Store:
    """A folder of results, created if needed.

    Several processes can use a store at the same time: files are written atomically, and processes that write the same
    file write the same result.

    Args:
        read_only: only read a folder that exists; damaged files are listed and stay where they are.

    Attributes:
        folder: the path of the folder.
        set_aside: the damaged files found so far, by their new names.
    """

    def __init__(self, folder: str | Path, read_only: bool = False) -> None:
        self.folder, self.read_only = Path(folder), read_only
        self.set_aside: list[Path] = []
        try:
            self._open()
        except OSError as error:
            raise InputError(
                f"results cannot be kept in {self.folder} ({error.strerror or error}); choose another folder"
            ) from error

    def get(self, job: Job) -> dict[str, Any] | None:
        """Return the result of a finished job, or None. A damaged file is renamed and ignored."""
        with self._sentence_on_failure("read"):
            path = self._path(job.id, ".json")
            return (_result_of(path, job.id) or self._set_aside(path, job.id)) if path.exists() else None

    def outcomes(self) -> list[tuple[Job, dict[str, Any]]]:
        """Return every job with its result or, after all results, with the `failure` of the last attempt."""
        with self._sentence_on_failure("read"):
            return [*self._outcomes(".json"), *self._outcomes(".error")]

    def summary(self) -> dict[str, Any]:
        """Return what ``results.json`` says of the last run, or {}."""
        with self._sentence_on_failure("read"):
            return _read(self.folder / "results.json")

    def missing(self, jobs: Iterable[Job]) -> list[Job]:
        """Return the jobs without a result, in the given order."""
        return [job for job in jobs if self.get(job) is None]

    def put(self, outcome: Mapping[str, Any]) -> None:
        """Store the result of a finished job, or the `failure` of one."""
        with self._sentence_on_failure("kept"):
            error = self._path(outcome["id"], ".error")
            if "error" in outcome:
                _write(error, outcome)
            else:
                _write(self._path(outcome["id"], ".json"), {**outcome, "sha256": _checksum(outcome)})
                error.unlink(missing_ok=True)

    def error(self, job: Job) -> str | None:
        """Return the error of the last attempt at a job, or None."""
        with self._sentence_on_failure("read"):
            path = self._path(job.id, ".error")
            if not path.exists():
                return None
            return str(_read(path).get("error", "the record of the error is damaged"))

    def _outcomes(self, suffix: str) -> Iterator[tuple[Job, dict[str, Any]]]:
        for path in sorted((self.folder / FOLDER).glob(f"*{suffix}")):
            try:
                yield read_outcome(path)
            except InputError:
                self._set_aside(path, path.stem)

    def _set_aside(self, path: Path, job_id: str) -> dict[str, Any] | None:
        if self.read_only:
            self.set_aside.append(path)
            return None
        aside = path.with_name(f"{path.name}.corrupt")
        try:
            path.replace(aside)
        except FileNotFoundError:
            return None  # another process has renamed it
        result = _result_of(aside, job_id)
        if result is not None:  # another process had replaced it with a sound one
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
                f"results cannot be {what} in {self.folder} ({error.strerror or error}); finished jobs are kept: "
                f"make room or give permission there and run the same command again"
            ) from error

    def _path(self, job_id: str, suffix: str) -> Path:
        return self.folder / FOLDER / f"{job_id}{suffix}"

    def _open(self) -> None:
        about = self.folder / "run.json"
        if self.read_only and not about.exists():
            raise InputError(f"{self.folder} has no isonn results; give a folder written by isonn evaluate")
        if not about.exists():
            foreign = self.folder.exists() and any(
                not file.name.startswith(".run.json.") for file in self.folder.iterdir()
            )  # a killed or a starting process may leave part of a run.json, and nothing else
            if foreign and not about.exists():  # it may have appeared between the two checks
                raise InputError(f"{self.folder} is not empty and holds no results of isonn; choose another folder")
            _write(about, {"kind": _KIND, "format": FORMAT, "isonn": __version__})
        stored = _read(about)
        if stored.get("kind") != _KIND:
            raise InputError(f"{about} was not written by isonn or is damaged; choose another folder")
        if stored.get("format") != FORMAT:
            raise InputError(
                f"{self.folder} was written by isonn {str(stored.get('isonn'))[:20]} in format "
                f"{str(stored.get('format'))[:20]}, and this is isonn {__version__} with format {FORMAT}; use another "
                f"folder, or use the version that wrote it"
            )
        if self.read_only:
            return
        (self.folder / FOLDER).mkdir(exist_ok=True)
        for folder in (self.folder, self.folder / FOLDER):
            for suffix in ("json", "error", "md"):
                remove_strays(folder, f"*.{suffix}")


def read_outcome(path: Path) -> tuple[Job, dict[str, Any]]:
    """Read a job and its result or error from a file; raise `InputError` if the file is damaged or edited."""
    content = _read(path)
    try:
        job = Job.from_dict(content["job"])
        if content["id"] != job.id:
            raise ValueError("the id is not that of the job")
        if ".error" not in path.name:
            if content.pop("sha256", None) != _checksum(content):
                raise ValueError("the checksum does not fit")
            _check(content)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} is damaged or was edited; delete it to run its job again") from error
    return job, content


def _result_of(path: Path, job_id: str) -> dict[str, Any] | None:
    try:
        job, content = read_outcome(path)
    except InputError:
        return None
    return content if job.id == job_id else None


#: The entries of a result with a check of each; those with a question mark are optional.
_ENTRIES = {
    "metrics": lambda value: bool(value) and _is_table(value, _is_number_or_none),
    "timings": lambda value: _is_number(value["fit_seconds"]) and _is_table(value, _is_number),
    "n_train": lambda value: type(value) is int and value > 0,
    "n_test": lambda value: type(value) is int and value > 0,
    "test": lambda value: _is_list(value, lambda entry: type(entry) is int),
    "predictions": lambda value: isinstance(value, list),
    "audit?": lambda value: _is_number(value["flip_rate"]),
    "loss?": lambda value: _is_list(value, _is_number),
    "warnings?": lambda value: _is_list(value, lambda entry: isinstance(entry, str)),
    "targets?": lambda value: _is_list(value, lambda entry: isinstance(entry, str)),
    "by_target?": lambda value: _is_table(value, lambda scores: _is_table(scores, _is_number_or_none)),
    "chosen?": lambda value: isinstance(value, dict),
    "inner?": lambda value: _is_list(value, _is_number),
    "versions?": lambda value: _is_table(value, lambda entry: isinstance(entry, str)),
    "commit?": lambda value: value is None or isinstance(value, str),
    "machine?": lambda value: isinstance(value, dict),
}


def _check(content: Mapping[str, Any]) -> None:
    for name, is_sound in _ENTRIES.items():
        entry = name.removesuffix("?")
        if (entry in content or entry == name) and not is_sound(content[entry]):
            raise ValueError(f"{entry} is not a valid entry of a result")
    if not len(content["test"]) == len(content["predictions"]) == content["n_test"]:
        raise ValueError("the lengths do not fit")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_number_or_none(value: Any) -> bool:
    return value is None or _is_number(value)


def _is_list(value: Any, holds: Any) -> bool:
    return isinstance(value, list) and all(map(holds, value))


def _is_table(value: Any, holds: Any) -> bool:
    return isinstance(value, dict) and all(map(holds, value.values()))


def _checksum(content: Mapping[str, Any]) -> str:
    text = json.dumps({key: value for key, value in content.items() if key != "sha256"}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _read(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file; {} if there is none, or if it is something else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _write(path: Path, content: Mapping[str, Any]) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text(json.dumps(content, sort_keys=True) + "\n", encoding="utf-8")
