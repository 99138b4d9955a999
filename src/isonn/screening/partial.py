"""A folder that keeps the finished pieces of a run, so that a killed run continues without a lost or repeated row."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from isonn.errors import InputError
from isonn.files import atomic_file, remove_strays

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: What is told about a piece, as JSON, and its arrays by name.
Result = tuple[dict[str, Any], dict[str, NDArray[Any]]]


def partial_folder(out: Path) -> Path:
    """Return the folder that keeps finished pieces until ``out`` is complete."""
    return out.with_name(f"{out.name}.partial")


class Partial:
    """The finished pieces of a run, in order: a file each, which is written whole or not at all.

    Args:
        folder: the folder; created if it does not exist.
        about: what is run, as JSON by topic; a folder that was begun with something else raises `InputError`.

    Example:
        >>> with Partial(tmp_path / "a", {"data": 1}) as pieces:
        ...     pieces.append(({"rows": 2}, {"scores": np.array([0.5, 0.75])}))
        >>> with Partial(tmp_path / "a", {"data": 1}) as pieces:
        ...     len(pieces), [(facts, arrays["scores"].tolist()) for facts, arrays in pieces]
        (1, [({'rows': 2}, [0.5, 0.75])])
    """

    def __init__(self, folder: Path, about: Mapping[str, Any]) -> None:
        self.folder, self._about, self._count = folder, about, 0

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file = (self.folder / "about.json").open("a+", encoding="utf-8")
        try:
            self._lock()
            self._check()
        except BaseException:
            self._file.close()
            raise
        remove_strays(self.folder, "*")
        self._count = sum(1 for _ in self.folder.glob("*.npz"))
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Result]:
        for number in range(self._count):
            with np.load(self._path(number)) as file:
                yield json.loads(str(file["facts"])), {name: file[name] for name in file.files if name != "facts"}

    def append(self, result: Result) -> None:
        """Add a finished piece."""
        facts, arrays = result
        with atomic_file(self._path(self._count)) as temporary, temporary.open("wb") as file:
            np.savez(file, facts=np.array(json.dumps(facts)), **arrays)  # type: ignore[arg-type]
        self._count += 1

    def remove(self) -> None:
        """Remove the folder."""
        self._file.close()
        shutil.rmtree(self.folder)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:07d}.npz"

    def _lock(self) -> None:
        try:
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"another process writes to {self.folder}; wait for it, or choose another --out") from None
        except OSError:
            pass  # a file system without locks

    def _check(self) -> None:
        self._file.seek(0)
        wanted = json.loads(json.dumps(self._about))
        try:
            begun = json.load(self._file)
        except ValueError:  # new, or killed before the first piece
            self._file.truncate(0)
            json.dump(wanted, self._file)
            self._file.flush()
            return
        other = [f"another {topic}" for topic in wanted if begun.get(topic) != wanted[topic]]
        if other:
            raise InputError(
                f"{self.folder} was begun with {' and '.join(other)}; give the same, or remove {self.folder} to begin "
                "anew"
            )
