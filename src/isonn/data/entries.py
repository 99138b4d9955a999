"""The datasets isonn knows by name, as data: where each lies, what it must hold, where it can be had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TU_URL = "https://www.chrsmrrs.com/graphkerneldatasets/{name}.zip"
_TU_SOURCE = "the TUDataset collection, https://chrsmrrs.github.io/datasets"


@dataclass(frozen=True)
class Entry:
    """A dataset with a name.

    Attributes:
        name: what `isonn.load` is given.
        format: "tu" (folder), "text" (DGCNN/GIN file) or "matrices" (.npz, .mat or folder of .csv).
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
