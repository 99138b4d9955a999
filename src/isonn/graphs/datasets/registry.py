"""The named datasets of isonn: their files, expected contents and sources.

A name is looked up in ``$ISONN_DATA``, in the user's cache and in the package (MUTAG), then downloaded to the cache.
Downloads are checked against the registry.
"""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from isonn.errors import DatasetError
from isonn.graphs.datasets.fetch import OnProgress, download
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.registry import read_path, reader_of

TU_URL = "https://www.chrsmrrs.com/graphkerneldatasets/{name}.zip"
_TU_SOURCE = "the TUDataset collection, https://chrsmrrs.github.io/datasets"

#: The names of the TU collection. Any other word is a typo or a path and is never downloaded.
_TU_NAMES = """
    AIDS alchemy_full aspirin benzene BZR BZR_MD COX2 COX2_MD DHFR DHFR_MD ER_MD ethanol FRANKENSTEIN malonaldehyde
    MCF-7 MCF-7H MOLT-4 MOLT-4H Mutagenicity MUTAG naphthalene NCI1 NCI109 NCI-H23 NCI-H23H OVCAR-8 OVCAR-8H P388
    P388H PC-3 PC-3H PTC_FM PTC_FR PTC_MM PTC_MR QM9 salicylic_acid SF-295 SF-295H SN12C SN12CH SW-620 SW-620H
    toluene UACC257 UACC257H uracil Yeast YeastH ZINC_full ZINC_test ZINC_train ZINC_val
    Tox21_AHR Tox21_AhR_evaluation Tox21_AhR_testing Tox21_AhR_training Tox21_AR Tox21_AR-LBD Tox21_AR-LBD_evaluation
    Tox21_AR-LBD_testing Tox21_AR-LBD_training Tox21_AR_evaluation Tox21_AR_testing Tox21_AR_training Tox21_ARE
    Tox21_ARE_evaluation Tox21_ARE_testing Tox21_ARE_training Tox21_aromatase Tox21_aromatase_evaluation
    Tox21_aromatase_testing Tox21_aromatase_training Tox21_ATAD5 Tox21_ATAD5_evaluation Tox21_ATAD5_testing
    Tox21_ATAD5_training Tox21_ER Tox21_ER-LBD_evaluation Tox21_ER-LBD_testing Tox21_ER-LBD_training Tox21_ER_LBD
    Tox21_ER_evaluation Tox21_ER_testing Tox21_ER_training Tox21_HSE Tox21_HSE_evaluation Tox21_HSE_testing
    Tox21_HSE_training Tox21_MMP Tox21_MMP_evaluation Tox21_MMP_testing Tox21_MMP_training Tox21_p53
    Tox21_p53_evaluation Tox21_p53_testing Tox21_p53_training Tox21_PPAR-gamma Tox21_PPAR-gamma_evaluation
    Tox21_PPAR-gamma_testing Tox21_PPAR-gamma_training
    DD ENZYMES KKI OHSU Peking_1 PROTEINS PROTEINS_full
    COIL-DEL COIL-RAG Cuneiform Fingerprint FIRSTMM_DB Letter-high Letter-low Letter-med MSRC_9 MSRC_21 MSRC_21C
    COLLAB dblp_ct1 dblp_ct2 deezer_ego_nets facebook_ct1 facebook_ct2 github_stargazers highschool_ct1 highschool_ct2
    IMDB-BINARY IMDB-MULTI infectious_ct1 infectious_ct2 mit_ct1 mit_ct2 REDDIT-BINARY REDDIT-MULTI-5K
    REDDIT-MULTI-12K reddit_threads tumblr_ct1 tumblr_ct2 twitch_egos TWITTER-Real-Graph-Partial
    COLORS-3 SYNTHETIC SYNTHETICnew Synthie TRIANGLES
"""
TU_NAMES = frozenset(_TU_NAMES.split())


@dataclass(frozen=True)
class Entry:
    """A named dataset.

    Attributes:
        name: the name to pass to `isonn.load`.
        files: its possible paths below a data folder; the first that exists is used.
        graphs, classes, largest: the number of graphs, of classes, and of nodes of the largest graph; checked on load
            unless None.
        class_counts: graphs per class, largest class first; checked on load unless None.
        sha256: `GraphSet.digest` of the graphs, which downloads must match. If None, the first download is trusted as
            long as its counts are right.
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


def tu_entry(name: str, about: str = "", class_counts: tuple[int, ...] | None = None, **rest: Any) -> Entry:
    """Return the entry of a dataset of the TU collection."""
    return Entry(
        name=name,
        files=(name, f"{name}/raw"),  # PyTorch Geometric keeps the files in raw/
        class_counts=class_counts,
        about=about,
        url=TU_URL.format(name=name),
        **_totals(class_counts),
        **rest,
    )


def _brain_entry(name: str, class_counts: tuple[int, ...], largest: int, about: str, source: str, **rest: Any) -> Entry:
    return Entry(
        name=name,
        files=rest.pop("files", (f"{name}.npz",)),
        class_counts=class_counts,
        largest=largest,
        about=about,
        source=source,
        **_totals(class_counts),
        **rest,
    )


def _totals(class_counts: tuple[int, ...] | None) -> dict[str, Any]:
    return {} if class_counts is None else {"graphs": sum(class_counts), "classes": len(class_counts)}


_PRIVATE = "human-subject data without a public download, ask the authors of Cao et al. 2015"
_HIV = f"{_PRIVATE} (on HIV)"
_BP = f"{_PRIVATE} (on bipolar disorder)"

ENTRIES: tuple[Entry, ...] = (
    tu_entry(
        "MUTAG",
        "nitroaromatic compounds, mutagenic or not",
        class_counts=(125, 63),
        largest=28,
        sha256="7a7e3e76203f6f2a8ba1457c703e0370bc851353452311e18e359a90a0419838",
        source=f"Debnath et al. 1991, J. Med. Chem. 34(2), 786-797; {_TU_SOURCE}; part of this package",
        class_names={1: "mutagenic", -1: "not mutagenic"},
        node_label_names=("C", "N", "O", "F", "I", "Cl", "Br"),
        edge_label_names=("aromatic", "single", "double", "triple"),
    ),
    Entry(
        name="PTC",
        files=("PTC/PTC.txt",),
        graphs=344,
        classes=2,
        class_counts=(192, 152),
        largest=109,
        sha256="b757dae61bce105b3ab713b0c4f6039af6e106ac861e8f05a44ec3e9d82c5216",
        about="compounds with their hydrogens, carcinogenic or not (the build of the paper)",
        source="the DGCNN release, https://github.com/muhanzhang/pytorch_DGCNN",
        url="https://raw.githubusercontent.com/muhanzhang/pytorch_DGCNN/master/data/PTC/PTC.txt",
    ),
    tu_entry(
        "PTC_MR",
        "compounds without hydrogens, carcinogenic to male rats or not",
        class_counts=(192, 152),
        largest=64,
        sha256="1205f151cb274888aa94b748f8a23dea624cf39830fb674d2caabe7bcb1ba0cb",
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
    _brain_entry(
        "HIV-fMRI",
        (17, 17),
        90,
        "correlations of brain regions; the 34 balanced subjects of the release, where the paper has 77 (56 / 21)",
        "human-subject data in the authors' repository (github.com/linmengsysu/IsoNN), read by tools/convert_hiv.py",
        sha256="0420ae0bb7ed3757d2c47da4ef1e621250c1152ce307eb72390d7bd91adad714",
    ),
    _brain_entry(
        "HIV-DTI",
        (56, 20),
        90,
        "fibre counts between brain regions, 76 subjects where the paper has 77 (56 / 21); each graph is divided by "
        "its largest weight on load, which lies on the diagonal and is ten times its strongest connection",
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
    tu_entry(
        "KKI",
        "brain networks, ADHD or not",
        class_counts=(46, 37),
        largest=90,
        sha256="f1d5ceba1e529b48223622fee4b4f379751407e8a2f661ec58ac824da6c09fe6",
    ),
    tu_entry(
        "OHSU",
        "brain networks, hyperactive or not",
        class_counts=(44, 35),
        largest=171,
        sha256="37d7ad134851e8cd64881892e3feb05fccdc2a4abd78602688677ce235d23b7c",
    ),
    tu_entry(
        "Peking_1",
        "brain networks, by sex",
        class_counts=(49, 36),
        largest=134,
        sha256="ce0a72a747859c448f33c1838180adcdd0305f6cd52f22adc08eced0446745ea",
    ),
    tu_entry(
        "PROTEINS",
        "proteins, enzyme or not",
        class_counts=(663, 450),
        largest=620,
        sha256="0492cbd76620d0964f2a716e23c458c9452278d45b3737d4dc1b083a864c5056",
    ),
    tu_entry(
        "IMDB-MULTI",
        "circles of actors, by genre",
        class_counts=(500, 500, 500),
        largest=89,
        sha256="9bc0b3b725b2238f87bc7f033483888e5a6a44f0f31d7a2065a1a1e68ae66d4e",
    ),
    tu_entry("IMDB-BINARY", "circles of actors, by genre", graphs=1000, classes=2),
    tu_entry("COLLAB", "circles of researchers, by field", graphs=5000, classes=3),
    tu_entry("NCI1", "compounds, active against lung cancer or not", graphs=4110, classes=2),
    tu_entry("NCI109", "compounds, active against ovarian cancer or not", graphs=4127, classes=2),
    tu_entry("ENZYMES", "proteins, by class of enzyme", graphs=600, classes=6),
    tu_entry("DD", "proteins, enzyme or not", graphs=1178, classes=2),
    tu_entry("Mutagenicity", "compounds, mutagenic or not", graphs=4337, classes=2),
    tu_entry("AIDS", "compounds, active against HIV or not", graphs=2000, classes=2),
)


_BARE_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]*")


def known() -> tuple[Entry, ...]:
    """List the datasets with known counts; `isonn.load` also accepts the other names of `TU_NAMES`.

    Example:
        >>> known()[0].name
        'MUTAG'
    """
    return ENTRIES


def load(name_or_path: str | os.PathLike[str], on_progress: OnProgress | None = None, **options: Any) -> GraphSet:
    """Load a dataset by name or path.

    Names come first and ignore case. Otherwise ``path`` must exist: a TU folder, a folder of ``.csv`` matrices, a
    ``.txt`` file of DGCNN/GIN, ``.npz`` or ``.mat`` matrices, or a folder of many of these, read in sorted order of
    their names. MUTAG is part of the package; other datasets of the TU collection are downloaded once. Use
    `isonn.stream` for data that does not fit in memory.

    Args:
        on_progress: called with the bytes downloaded and the total bytes (or None).
        options: options of the file format, such as ``smiles="structure", target="y"`` for a table of molecules.

    Example:
        >>> load("MUTAG")
        GraphSet(MUTAG: 188 graphs, 10-28 nodes, 2 classes)
    """
    entry = _entry(name_or_path)
    if entry is None or (entry not in ENTRIES and Path(name_or_path).exists()):
        path = Path(name_or_path).expanduser()
        if not path.exists():
            raise DatasetError(f"there is no dataset and no file {str(path)!r:.100}{_nearest(path.stem)}")
        return read_path(path, **options)
    return read_entry(entry, _fetch(entry, on_progress), **options)


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
    exact = next((known for known in TU_NAMES if known.casefold() == name.casefold()), None)
    return replace(tu_entry(name), url=None) if exact is None else tu_entry(exact)


def _named(name: str) -> Entry:
    entry = _entry(name)
    if entry is None:
        raise DatasetError(f"{name!r} is not the name of a dataset{_nearest(name)}")
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
        raise DatasetError(f"there is no dataset and no file {entry.name!r:.100}{_nearest(entry.name)}")
    if entry.url is None:
        root, files = _data_folder(), " or ".join(entry.files)
        where = f"put {files} into {root or cache_folder()}{'' if root else ' or into the folder set by ISONN_DATA'}"
        raise DatasetError(f"{entry.name} is not on this machine: {entry.source}; {where}")
    return download(
        entry.url,
        cache_folder() / entry.files[0],
        entry.name,
        cache_folder() / "checksums.json",
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


def _nearest(word: str) -> str:
    names = {name.casefold(): name for name in (*TU_NAMES, *(entry.name for entry in ENTRIES))}
    close = [names[match] for match in difflib.get_close_matches(word.casefold(), sorted(names), n=3, cutoff=0.6)]
    listed = "`isonn data list` shows the known names"
    return f"; a path works too; {f'did you mean {meant}?' if (meant := ' or '.join(close)) else listed}"


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
