"""Data that may be too large to hold: what is read whole, and what in pieces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what runs is imported when it runs: `isonn --help` waits for nothing
    from isonn.data import GraphStream

#: Bytes on disk from which a dataset is read in pieces: some hundred thousand molecules.
LARGE = 64 * 2**20


def stream_of(data: str, always: bool = False) -> GraphStream | None:
    """The graphs of DATA in pieces when they are many, or None when they are read whole."""
    import isonn

    return isonn.stream(data) if always or _bytes(data) >= LARGE else None


def _bytes(data: str) -> int:
    from isonn.data import find, known
    from isonn.data.paths import size_of
    from isonn.errors import DatasetError

    if data.casefold() in {entry.name.casefold() for entry in known()}:
        return 0  # none of those is large
    path: Path | None = Path(data).expanduser()
    if path is not None and not path.exists():
        try:
            path = find(data)
        except DatasetError:  # no name of a dataset; whoever loads it says so
            path = None
    return 0 if path is None else size_of(path)
