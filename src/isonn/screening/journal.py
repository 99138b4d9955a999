"""A folder that keeps the finished pieces of a run, so that a killed run continues without a lost or repeated row.

The folder holds files that only grow, and ``journal.jsonl``: a first line that says what is run, and a line for each
finished piece with the length of the files after it. A piece is written to the files first and to the journal
afterwards. What a killed process wrote beyond the last complete line is cut off when the run continues.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from typing_extensions import Self

from isonn.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

NAME = "journal.jsonl"


class Journal:
    """Files that grow by pieces.

    Args:
        folder: the folder; created if it does not exist.
        about: what is run, as JSON by topic; a folder that was begun with something else raises `InputError`.
        names: the files.
        start: the first bytes of each file, such as a header.

    Attributes:
        pieces: number of finished pieces.
        earlier: what was said about each piece that was finished when the folder was opened, in order.

    Example:
        >>> with Journal(tmp_path / "a", {"data": 1}, ["rows"], {"rows": b"x\\n"}) as journal:
        ...     journal.append({"rows": b"1\\n"}, {"rows": 1})
        >>> with Journal(tmp_path / "a", {"data": 1}, ["rows"], {"rows": b"x\\n"}) as journal:
        ...     journal.pieces, journal.earlier, journal.path("rows").read_bytes()
        (1, [{'rows': 1}], b'x\\n1\\n')
    """

    def __init__(
        self, folder: Path, about: Mapping[str, Any], names: list[str], start: Mapping[str, bytes] | None = None
    ) -> None:
        self.folder, self._about, self._names, self._start = folder, about, names, start or {}
        self.pieces = 0
        self.earlier: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            self._journal = stack.enter_context(self.path(NAME).open("ab+"))
            self._lock()
            lines, length = self._lines()
            files = {name: stack.enter_context(self.path(name).open("ab+")) for name in self._names}
            lengths = {name: len(self._start.get(name, b"")) for name in self._names}
            if lines:
                self._check(lines[0])
                self.earlier = [line["facts"] for line in lines[1:]]
                self.pieces = len(self.earlier)
                lengths = lines[-1]["lengths"]
            self._journal.truncate(length)
            for name, file in files.items():
                if not lines:
                    file.truncate(0)
                    file.write(self._start.get(name, b""))
                elif file.seek(0, os.SEEK_END) < lengths[name]:
                    raise InputError(
                        f"{self.path(name)} is shorter than its journal says; remove {self.folder}, and run this again"
                    )
                file.truncate(lengths[name])
                file.seek(0, os.SEEK_END)  # the position that lengths are read from
            self._files: Mapping[str, BinaryIO] = files
            if not lines:
                self._write({"about": self._about, "lengths": lengths})
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._stack.close()

    def path(self, name: str) -> Path:
        """Return the path of a file."""
        return self.folder / name

    def append(self, added: Mapping[str, bytes], facts: dict[str, Any]) -> None:
        """Add a finished piece."""
        for name, content in added.items():
            self._files[name].write(content)
        self._write({"facts": facts, "lengths": {name: file.tell() for name, file in self._files.items()}})
        self.pieces += 1

    def remove(self) -> None:
        """Remove the folder."""
        self._stack.close()
        shutil.rmtree(self.folder)

    def _write(self, line: dict[str, Any]) -> None:
        for file in self._files.values():
            _sync(file)
        self._journal.write(json.dumps(line).encode() + b"\n")
        _sync(self._journal)

    def _lock(self) -> None:
        try:
            if fcntl is not None:
                fcntl.flock(self._journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"another process writes to {self.folder}; wait for it, or choose another --out") from None
        except OSError:
            pass  # a file system without locks

    def _lines(self) -> tuple[list[dict[str, Any]], int]:
        """Return the complete lines, and their length in bytes."""
        self._journal.seek(0)
        lines, length = [], 0
        for text in self._journal:
            try:
                line = json.loads(text) if text.endswith(b"\n") else None
            except ValueError:
                line = None
            if not isinstance(line, dict) or not {"lengths"} < set(line):
                break
            lines.append(line)
            length += len(text)
        return lines, length

    def _check(self, first: dict[str, Any]) -> None:
        begun = first.get("about", {})
        wanted = json.loads(json.dumps(self._about))
        other = [topic for topic in wanted if begun.get(topic) != wanted[topic]]
        if other:
            raise InputError(
                f"{self.folder} was begun with {_AND.join(f'another {topic}' for topic in other)}; give the same, or "
                f"remove {self.folder} to begin anew"
            )


_AND = " and "


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
