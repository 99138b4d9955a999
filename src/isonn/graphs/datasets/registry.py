"""The named datasets of isonn: their files, expected contents and sources.

A name is looked up in ``$ISONN_DATA``, in the user's cache and in the package (MUTAG), then downloaded to the cache.
Downloads are checked against the registry.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from isonn.errors import DatasetError
from isonn.files import is_path
from isonn.graphs.datasets.fetch import OnProgress, download
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.registry import read_path, reader_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TU_URL = "https://www.chrsmrrs.com/graphkerneldatasets/{name}.zip"
_TU_SOURCE = "the TUDataset collection, https://chrsmrrs.github.io/datasets"


@dataclass(frozen=True)
class Entry:
    """A named dataset.

    Attributes:
        name: the name to pass to `isonn.load`.
        files: its possible paths below a data folder; the first that exists is used.
        graphs, classes, largest: the number of graphs, of classes, and of nodes of the largest graph; checked on load
            unless None.
        class_counts: graphs per class, largest class first; checked on load unless None.
        sha256: `GraphSet.digest` of the graphs, which downloads must match. If None, a download is trusted if its
            counts are right.
        about: a description of the graphs.
        source: where to get the data.
        url: the download address, or None if the data is not public.
        scaled: whether each graph is divided by its largest weight on load.
        node_label_names, edge_label_names: the meanings of labels 0, 1, ...
        class_names: the meanings of the classes.
    """

    name: str
    files: tuple[str, ...]
    graphs: int | None = None
    classes: int | None = None
    class_counts: tuple[int, ...] | None = None
    largest: int | None = None
    sha256: str | None = None
    about: str = ""
    source: str = _TU_SOURCE
    url: str | None = None
    scaled: bool = False
    node_label_names: tuple[str, ...] = ()
    edge_label_names: tuple[str, ...] = ()
    class_names: dict[Any, str] = field(default_factory=dict)


def tu_entry(name: str, **rest: Any) -> Entry:
    """Return the entry of a dataset of the TU collection."""
    # PyTorch Geometric keeps the files in raw/
    return Entry(**{"name": name, "files": (name, f"{name}/raw"), "url": TU_URL.format(name=name), **rest})


def _entry_from(row: dict[str, Any]) -> Entry:
    """Return the entry of a table of ``catalogue.toml``."""
    given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    if counts := given.get("class_counts"):
        given |= {"graphs": sum(counts), "classes": len(counts)}
    if names := given.get("class_names"):
        given["class_names"] = dict(names)
    if given.pop("tu", False):
        return tu_entry(**given)
    return Entry(**{"files": (f"{given['name']}.npz",), **given})


_CATALOGUE = tomllib.loads(Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8"))
ENTRIES = tuple(map(_entry_from, _CATALOGUE["dataset"]))
TU_NAMES = frozenset(_CATALOGUE["tu"]["names"].split())
#: The name of a dataset; a longer word may be a SMILES.
_BARE_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]{,99}")


def known() -> tuple[Entry, ...]:
    """List the datasets with known counts; `isonn.load` also accepts the other names of `TU_NAMES`.

    Example:
        >>> known()[0].name
        'MUTAG'
    """
    return ENTRIES


def load(name_or_path: str | os.PathLike[str], on_progress: OnProgress | None = None, **options: Any) -> GraphSet:
    """Load a dataset by name or path.

    Names come first and ignore case. MUTAG is part of the package; other datasets of the TU collection are downloaded
    once. Use `isonn.stream` for data that does not fit in memory.

    Args:
        name_or_path: the name of a dataset, or the path of a TU folder, a ``.txt`` file of DGCNN or GIN, a saved
            `GraphSet`, matrices (``.npz``, ``.mat``, or a folder of ``.csv``), a folder with ``participants.tsv``, a
            table with a SMILES column, a ``.smi`` or ``.sdf`` file, or a folder of many of these, which are read in
            the order of their names.
        on_progress: called with the bytes downloaded and the total bytes (or None).
        options: options of the file format, such as ``smiles="structure", target="y"`` for a table of molecules.

    Returns:
        The graphs, with ``y`` where the data has targets.

    Example:
        >>> load("MUTAG")
        GraphSet(MUTAG: 188 graphs, 10-28 nodes, 2 classes)
    """
    entry, path = locate(name_or_path, on_progress)
    return read_path(path, **options) if entry is None else read_entry(entry, path, **options)


def locate(name_or_path: str | os.PathLike[str], on_progress: OnProgress | None = None) -> tuple[Entry | None, Path]:
    """Return the entry of a name, None for a path, and where the data is; download it if necessary."""
    entry = _entry(name_or_path)
    if entry is not None and (entry in ENTRIES or not is_path(str(name_or_path))):
        return entry, _fetch(entry, on_progress)
    path = Path(name_or_path).expanduser()
    if not is_path(path):
        raise _unknown(str(path))
    return None, path


def find(name: str) -> Path | None:
    """Return the local path of the dataset, or None if it must be downloaded.

    Example:
        >>> find("MUTAG").exists()
        True
    """
    return _find(_named(name))


def fetch(name: str, on_progress: OnProgress | None = None) -> Path:
    """Return the local path of the dataset; download it if necessary.

    Example:
        >>> fetch("MUTAG").exists()
        True
    """
    return _fetch(_named(name), on_progress)


def cache_folder() -> Path:
    """Return the download folder: ``$XDG_CACHE_HOME/isonn``, or ``~/.cache/isonn``."""
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
    """Return the entry of a name, or None for anything that can only be a path."""
    if not isinstance(name, str):
        return None
    for entry in ENTRIES:
        if entry.name.casefold() == name.casefold():
            return entry
    if not _BARE_WORD.fullmatch(name):
        return None
    exact = next((listed for listed in TU_NAMES if listed.casefold() == name.casefold()), None)
    return replace(tu_entry(name), url=None) if exact is None else tu_entry(exact)


def _named(name: str) -> Entry:
    entry = _entry(name)
    if entry is None:
        raise _unknown(name)
    return entry


def bundled(name: str) -> Path:
    """Return the path of a dataset that is part of the package."""
    return Path(__file__).with_name(f"{name.lower()}.npz")


def _find(entry: Entry) -> Path | None:
    given = _data_folder()
    for root in (cache_folder(),) if given is None else (given, cache_folder()):
        for file in entry.files:
            if (path := root / file).exists() and reader_of(path) is not None:
                return path
    return path if (path := bundled(entry.name)).exists() else None


def _fetch(entry: Entry, on_progress: OnProgress | None) -> Path:
    path = _find(entry)
    if path is not None:
        return path
    if entry.url is None and entry not in ENTRIES:
        raise _unknown(entry.name)
    if entry.url is None:
        root, files = _data_folder(), " or ".join(entry.files)
        where = f"put {files} into {root or cache_folder()}{'' if root else ' or into the folder set by ISONN_DATA'}"
        raise DatasetError(f"{entry.name} is not on this machine: {entry.source}; {where}")
    return download(
        entry.url,
        cache_folder() / entry.files[0],
        entry.name,
        verify=lambda path: _verify(entry, path),
        on_progress=on_progress,
    )


def _verify(entry: Entry, path: Path) -> None:
    digest = read_entry(entry, path).digest
    if entry.sha256 not in (None, digest):
        raise DatasetError(
            f"{entry.url} sent graphs that differ from the known {entry.name} (SHA-256 {digest[:16]}... instead of "
            f"{str(entry.sha256)[:16]}...); get {entry.name} by hand and give its path"
        )


def _unknown(name: str) -> DatasetError:
    """Return the error about a name that is neither a dataset nor a path, with the nearest names."""
    names = {listed.casefold(): listed for listed in (*TU_NAMES, *(entry.name for entry in ENTRIES))}
    close = difflib.get_close_matches(Path(name).stem.casefold(), sorted(names), n=3, cutoff=0.6)
    meant = " or ".join(names[match] for match in close)
    hint = f"did you mean {meant}?" if meant else "`isonn data list` shows the known names"
    return DatasetError(f"there is no dataset and no file {name!r:.100}; a path works too; {hint}")


def read_entry(entry: Entry, path: Path, **options: Any) -> GraphSet:
    """Read the graphs at a path, check them against the entry, and add its names."""
    graphs = read_path(path, **options)
    _check(entry, graphs, path)
    if entry.scaled:
        graphs = graphs.scaled()
    return replace(
        graphs,
        name=entry.name,
        node_label_names=dict(enumerate(entry.node_label_names)) or graphs.node_label_names,
        edge_label_names=dict(enumerate(entry.edge_label_names)) or graphs.edge_label_names,
        class_names=entry.class_names or graphs.class_names,
    )


def _check(entry: Entry, graphs: GraphSet, path: Path) -> None:
    counts: tuple[int, ...] = ()
    if graphs.y is not None and graphs.y.ndim == 1:
        counts = tuple(sorted(np.unique(graphs.y, return_counts=True)[1].tolist(), reverse=True))
    for what, expected, actual in (
        ("graphs", entry.graphs, len(graphs)),
        ("classes", entry.classes, len(counts)),
        ("graphs per class", entry.class_counts, counts),
        ("nodes in the largest graph", entry.largest, int(graphs.sizes.max())),
    ):
        if expected is not None and expected != actual:
            raise DatasetError(
                f"{entry.name} should have {_text(expected)} {what} and has {_text(actual)} in {path}; get it again, "
                f"or give the path to load it as it is"
            )


def _text(value: int | tuple[int, ...]) -> str:
    return " / ".join(map(str, value)) if isinstance(value, tuple) else str(value)
