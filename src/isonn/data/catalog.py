"""Datasets by name or path: find them, fetch them, check that they hold what their name promises.

A name is looked for in ``$ISONN_DATA``, in the user's cache, in an installed package (MUTAG in grakel),
and then downloaded into the cache.
"""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from isonn.data.brain import read_matrices
from isonn.data.download import OnProgress, download
from isonn.data.entries import ENTRIES, Entry, tu_entry
from isonn.data.graphs import GraphSet
from isonn.data.paths import read_path
from isonn.data.text import read_text
from isonn.data.tu import read_tu
from isonn.errors import DatasetError

_BARE_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]*")


def known() -> tuple[Entry, ...]:
    """Every dataset whose counts are known; any other name of the TU collection loads as well."""
    return ENTRIES


def load(name_or_path: str | os.PathLike[str], on_progress: OnProgress | None = None) -> GraphSet:
    """The dataset of that name, or at that path.

    A known name comes first (upper or lower case), then an existing path: a TU folder, a folder of
    ``.csv`` matrices, a ``.txt`` file of DGCNN/GIN, ``.npz`` or ``.mat`` matrices, or a folder of many of
    these, which are read in sorted order of their names. Any other word is taken as a name of the TU collection.
    What does not fit in memory is read with `isonn.stream`.

    Args:
        on_progress: called with bytes done and bytes in all (or None) while downloading.

    Example:
        >>> load("MUTAG")
        GraphSet(MUTAG: 188 graphs, 10-28 nodes, 2 classes)
    """
    entry = _entry(name_or_path)
    if entry is None or (entry not in ENTRIES and Path(name_or_path).exists()):
        path = Path(name_or_path).expanduser()
        if not path.exists():
            raise DatasetError(f"there is no dataset and no file {str(path)!r}{_nearest(path.stem)}")
        return read_path(path)
    return _read_entry(entry, _fetch(entry, on_progress))


def find(name: str) -> Path | None:
    """Where the dataset lies on this machine, or None when it has to be fetched."""
    return _find(_named(name))


def fetch(name: str, on_progress: OnProgress | None = None) -> Path:
    """Where the dataset lies on this machine, after downloading it if need be."""
    return _fetch(_named(name), on_progress)


def cache_folder() -> Path:
    """Where downloads go: ``$XDG_CACHE_HOME/isonn``, or ``~/.cache/isonn``."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if os.path.isabs(cache) else Path.home() / ".cache") / "isonn"


def _data_folder() -> Path | None:
    given = os.environ.get("ISONN_DATA")
    if not given:
        return None
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise DatasetError(f"ISONN_DATA is set to {given}, which is not a folder; correct it or unset it")
    return folder


def _entry(name: str | os.PathLike[str]) -> Entry | None:
    """The entry of a name; None for what can only be a path."""
    if not isinstance(name, str):
        return None
    for entry in ENTRIES:
        if entry.name.casefold() == name.casefold():
            return entry
    return tu_entry(name) if _BARE_WORD.fullmatch(name) else None


def _named(name: str) -> Entry:
    entry = _entry(name)
    if entry is None:
        raise DatasetError(f"{name!r} is not the name of a dataset{_nearest(name)}")
    return entry


def _find(entry: Entry) -> Path | None:
    given = _data_folder()
    for root in (cache_folder(),) if given is None else (given, cache_folder()):
        for file in entry.files:
            path = root / file
            if (path / f"{entry.name}_A.txt" if entry.format == "tu" else path).exists():
                return path
    if entry.name == "MUTAG":
        spec = importlib.util.find_spec("grakel")  # finds the folder, imports nothing
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            path = Path(folder) / "tests" / "data" / "MUTAG"
            if path.is_dir():
                return path
    return None


def _fetch(entry: Entry, on_progress: OnProgress | None) -> Path:
    path = _find(entry)
    if path is not None:
        return path
    if entry.url is None:
        root = _data_folder()
        wanted = " or ".join(str((root or cache_folder()) / file) for file in entry.files)
        hint = "" if root else ", or set ISONN_DATA to the folder that holds it"
        raise DatasetError(f"{entry.name} is not on this machine: {entry.source}; put it at {wanted}{hint}")
    try:
        return download(
            entry.url,
            cache_folder() / entry.files[0],
            entry.name,
            cache_folder() / "checksums.json",
            verify=lambda path: _read_entry(entry, path),
            on_progress=on_progress,
        )
    except DatasetError as error:
        if entry in ENTRIES:
            raise
        raise DatasetError(f"{error}{_nearest(entry.name)}") from error


def _nearest(word: str) -> str:
    names = {entry.name.casefold(): entry.name for entry in ENTRIES}
    close = [names[match] for match in difflib.get_close_matches(word.casefold(), names, n=3, cutoff=0.6)]
    meant = f"did you mean {' or '.join(close)}?" if close else f"known names are {', '.join(names.values())}"
    return f"; a path works too; {meant}"


def _read_entry(entry: Entry, path: Path) -> GraphSet:
    read = {"tu": read_tu, "text": read_text, "matrices": read_matrices}[entry.format]
    graphs = read(path)
    _check(entry, graphs, path)
    if entry.scaled:
        graphs = graphs.scaled()
    return replace(
        graphs,
        name=entry.name,
        node_label_names=dict(enumerate(entry.node_label_names)) or graphs.node_label_names,
        edge_label_names=dict(enumerate(entry.edge_label_names)) or graphs.edge_label_names,
    )


def _check(entry: Entry, graphs: GraphSet, path: Path) -> None:
    counts: tuple[int, ...] = ()
    if graphs.y is not None and graphs.y.ndim == 1:
        counts = tuple(sorted(np.unique(graphs.y, return_counts=True)[1].tolist(), reverse=True))
    for what, expected, found in (
        ("graphs", entry.graphs, len(graphs)),
        ("classes", entry.classes, len(counts)),
        ("graphs per class", entry.class_counts, counts),
        ("nodes in the largest graph", entry.largest, int(graphs.sizes.max())),
    ):
        if expected is not None and expected != found:
            raise DatasetError(
                f"{entry.name} should have {_text(expected)} {what} and has {_text(found)} in {path}; get it again, or "
                f"give the path to load it as it is"
            )


def _text(value: int | tuple[int, ...]) -> str:
    return " / ".join(map(str, value)) if isinstance(value, tuple) else str(value)
