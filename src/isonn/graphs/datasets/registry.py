"""The datasets isonn knows by name, as data: where each lies, what it must hold, where it can be had."""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from isonn.errors import DatasetError
from isonn.graphs.datasets.fetch import OnProgress, download
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.registry import check_options, read_one, read_path, reader_named

TU_URL = "https://www.chrsmrrs.com/graphkerneldatasets/{name}.zip"
_TU_SOURCE = "the TUDataset collection, https://chrsmrrs.github.io/datasets"


@dataclass(frozen=True)
class Entry:
    """A dataset with a name.

    Attributes:
        name: what `isonn.load` is given.
        format: the name of its `Reader`: "tu" (folder), "text" (DGCNN/GIN file) or "matrices" (.npz, .mat, .csv).
        files: where it lies below a data folder; the first that exists is taken.
        graphs, classes, largest: number of graphs, of classes, nodes of the largest graph; checked on load
            unless None.
        class_counts: graphs per class, largest class first; checked on load unless None.
        about: what the graphs are.
        source: where the data can be had.
        url: where it is downloaded from, or None when it is not public.
        scaled: whether each graph is divided by its largest weight on load.
        node_label_names, edge_label_names: what labels 0, 1, ... stand for.
    """

    name: str
    format: str
    files: tuple[str, ...]
    graphs: int | None = None
    classes: int | None = None
    class_counts: tuple[int, ...] | None = None
    largest: int | None = None
    about: str = ""
    source: str = _TU_SOURCE
    url: str | None = None
    scaled: bool = False
    node_label_names: tuple[str, ...] = ()
    edge_label_names: tuple[str, ...] = ()


def tu_entry(
    name: str,
    about: str = "",
    graphs: int | None = None,
    classes: int | None = None,
    class_counts: tuple[int, ...] | None = None,
    largest: int | None = None,
    node_label_names: tuple[str, ...] = (),
    edge_label_names: tuple[str, ...] = (),
) -> Entry:
    """A dataset of the TU collection; any name of the collection will do, nothing else has to be known."""
    return Entry(
        name=name,
        format="tu",
        files=(name, f"{name}/raw"),  # PyTorch Geometric keeps the files in raw/
        graphs=sum(class_counts) if class_counts else graphs,
        classes=len(class_counts) if class_counts else classes,
        class_counts=class_counts,
        largest=largest,
        about=about,
        url=TU_URL.format(name=name),
        node_label_names=node_label_names,
        edge_label_names=edge_label_names,
    )


def _brain_entry(name: str, class_counts: tuple[int, ...], largest: int, about: str, source: str, **rest: Any) -> Entry:
    return Entry(
        name=name,
        format="matrices",
        files=rest.pop("files", (f"{name}.npz",)),
        graphs=sum(class_counts),
        classes=len(class_counts),
        class_counts=class_counts,
        largest=largest,
        about=about,
        source=source,
        **rest,
    )


_PRIVATE = "human-subject data without a public download"
_HIV = f"{_PRIVATE}, ask the authors of Cao et al. 2015 (Identifying HIV-induced subgraph patterns in brain networks)"
_BP = (
    f"{_PRIVATE}, ask the authors of Cao et al. 2015 (Identification of discriminative subgraph patterns in fMRI brain "
    f"networks in bipolar affective disorder)"
)

ENTRIES: tuple[Entry, ...] = (
    tu_entry(
        "MUTAG",
        "nitroaromatic compounds, mutagenic or not",
        class_counts=(125, 63),
        largest=28,
        node_label_names=("C", "N", "O", "F", "I", "Cl", "Br"),
        edge_label_names=("aromatic", "single", "double", "triple"),
    ),
    Entry(
        name="PTC",
        format="text",
        files=("PTC/PTC.txt",),
        graphs=344,
        classes=2,
        class_counts=(192, 152),
        largest=109,
        about="compounds with their hydrogens, carcinogenic or not (the build of the paper)",
        source="the DGCNN release, https://github.com/muhanzhang/pytorch_DGCNN",
        url="https://raw.githubusercontent.com/muhanzhang/pytorch_DGCNN/master/data/PTC/PTC.txt",
    ),
    tu_entry(
        "PTC_MR",
        "compounds without hydrogens, carcinogenic to male rats or not",
        class_counts=(192, 152),
        largest=64,
        node_label_names=(
            "In",
            "P",
            "O",
            "N",
            "Na",
            "C",
            "Cl",
            "S",
            "Br",
            "F",
            "K",
            "Cu",
            "Zn",
            "I",
            "Ba",
            "Sn",
            "Pb",
            "Ca",
        ),
        edge_label_names=("triple", "double", "single", "aromatic"),
    ),
    _brain_entry("HIV-fMRI", (17, 17), 90, "correlations of brain regions, the balanced subset as released", _HIV),
    _brain_entry(
        "HIV-DTI",
        (56, 20),
        90,
        "fibre counts between brain regions; each graph is divided by its largest weight on load",
        _HIV,
        scaled=True,
    ),
    _brain_entry(
        "BP-fMRI",
        (52, 45),
        82,
        "correlations of brain regions, bipolar or healthy",
        _BP,
        files=("BP-fMRI.npz", "BP-fMRI.mat"),
    ),
    tu_entry("KKI", "brain networks, ADHD or not", class_counts=(46, 37), largest=90),
    tu_entry("OHSU", "brain networks, hyperactive or not", class_counts=(44, 35), largest=171),
    tu_entry("Peking_1", "brain networks, by sex", class_counts=(49, 36), largest=134),
    tu_entry("PROTEINS", "proteins, enzyme or not", class_counts=(663, 450), largest=620),
    tu_entry("IMDB-MULTI", "circles of actors, by genre", class_counts=(500, 500, 500), largest=89),
    tu_entry("IMDB-BINARY", "circles of actors, by genre", graphs=1000, classes=2),
    tu_entry("COLLAB", "circles of researchers, by field", graphs=5000, classes=3),
    tu_entry("NCI1", "compounds, active against lung cancer or not", graphs=4110, classes=2),
    tu_entry("NCI109", "compounds, active against ovarian cancer or not", graphs=4127, classes=2),
    tu_entry("ENZYMES", "proteins, by class of enzyme", graphs=600, classes=6),
    tu_entry("DD", "proteins, enzyme or not", graphs=1178, classes=2),
    tu_entry("Mutagenicity", "compounds, mutagenic or not", graphs=4337, classes=2),
    tu_entry("AIDS", "compounds, active against HIV or not", graphs=2000, classes=2),
)


# Datasets by name or path: find them, fetch them, check that they hold what their name promises.
#
# A name is looked for in ``$ISONN_DATA``, in the user's cache, in an installed package (MUTAG in grakel),
# and then downloaded into the cache.


_BARE_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]*")


def known() -> tuple[Entry, ...]:
    """Every dataset whose counts are known; any other name of the TU collection loads as well."""
    return ENTRIES


def load(name_or_path: str | os.PathLike[str], on_progress: OnProgress | None = None, **options: Any) -> GraphSet:
    """The dataset of that name, or at that path.

    A known name comes first (upper or lower case), then an existing path: a TU folder, a folder of
    ``.csv`` matrices, a ``.txt`` file of DGCNN/GIN, ``.npz`` or ``.mat`` matrices, or a folder of many of
    these, which are read in sorted order of their names. Any other word is taken as a name of the TU collection.
    What does not fit in memory is read with `isonn.stream`.

    Args:
        on_progress: called with bytes done and bytes in all (or None) while downloading.
        options: what the format of the file takes, such as ``smiles="structure", target="y"`` for a table of
            molecules; others are refused.

    Example:
        >>> load("MUTAG")
        GraphSet(MUTAG: 188 graphs, 10-28 nodes, 2 classes)
    """
    entry = _entry(name_or_path)
    if entry is None or (entry not in ENTRIES and Path(name_or_path).exists()):
        path = Path(name_or_path).expanduser()
        if not path.exists():
            raise DatasetError(f"there is no dataset and no file {str(path)!r}{_nearest(path.stem)}")
        return read_path(path, **options)
    check_options(reader_named(entry.format), options)
    return _read_entry(entry, _fetch(entry, on_progress), **options)


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


def _read_entry(entry: Entry, path: Path, **options: Any) -> GraphSet:
    graphs = read_one(reader_named(entry.format), path, **options)
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
