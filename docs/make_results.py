"""Write the overview in docs/results/PAGE.md from the results stored beside it: `python docs/make_results.py`."""

from __future__ import annotations

import json
from pathlib import Path

DOCS = Path(__file__).parent
PAGE = DOCS / "results" / "README.md"
START, END = "<!-- made by docs/make_results.py -->\n", "<!-- until here -->\n"
ROWS = {
    "isonn": "IsoNN",
    "isonn-fast": "IsoNN-fast",
    "isonn-assigned": "IsoNN, assigned matching",
    "isonn-deep": "deep IsoNN",
    "isonn-deep-relative": "the same, relative maps",
    "isonn-subgraph": "**IsoNN on subgraphs**",
    "isonn-subgraph-both": "the same, with neighbourhoods",
    "isonn-subgraph-short": "32 templates",
    "isonn-subgraph-ensemble": "all subgraphs, linear and forest",
    "isonn-subgraph-learned": "32 learned templates",
    "isonn-subgraph-frozen": "the same, templates frozen",
    "isonn-aligned": "sets of regions, for aligned graphs",
    "freq": "Freq",
    "ae": "autoencoder",
    "cnn": "CNN",
    "sdbn": "SDBN",
    "wl": "WL",
    "gcn": "GCN",
    "gin": "GIN",
    "wl-svm": "WL, labels, SVM",
    "gin-labels": "GIN, labels",
    "edges": "ridge on edge weights",
    "size": "nodes, edges, cycles",
    "degrees": "histogram of degrees",
    "majority": "majority class",
}
#: Heading, folder, dataset, and whether the paper's number stands beside ours.
COLUMNS = [
    ("MUTAG", "table", "MUTAG", True),
    ("PTC", "table", "PTC", True),
    ("HIV-fMRI", "table", "HIV-fMRI", True),
    ("HIV-DTI", "table", "HIV-DTI", True),
    ("MUTAG, fair", "fair", "MUTAG", False),
    ("PTC, fair", "fair", "PTC", False),
]


def table() -> str:
    """The table as Markdown."""
    stored = {
        (folder, row["dataset"], row["method"]): row
        for folder in ("table", "fair")
        for row in json.loads((DOCS / "results" / folder / "results.json").read_text(encoding="utf-8"))["rows"]
        if row.get("accuracy")
    }
    lines = [["method", *(name for name, *_ in COLUMNS), "flips"], ["---", *["---:"] * (len(COLUMNS) + 1)]]
    for method, name in ROWS.items():
        found = [stored.get((folder, dataset, method)) for _, folder, dataset, _ in COLUMNS]
        numbers = [
            "" if row is None else _number(row, beside) for row, (*_, beside) in zip(found, COLUMNS, strict=True)
        ]
        flips = "" if found[0] is None else f"{found[0]['flip_rate']:.0f}"
        lines.append([name, *numbers, flips])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _number(row: dict, beside: bool) -> str:
    accuracy = row["accuracy"]
    seeds = len(accuracy["by_seed"])
    spread = "" if accuracy["sd"] is None else f" ± {accuracy['sd']:.1f}"
    mark = "" if seeds >= (10 if beside else 5) else " *" if seeds >= 5 else " **"
    paper = f" ({row['printed']['accuracy']:.1f})" if beside and row.get("printed") else ""
    return f"{accuracy['mean']:.1f}{spread}{paper}{mark}".replace(" **", " \\*\\*").replace(" *", " \\*")


if __name__ == "__main__":
    before, rest = PAGE.read_text(encoding="utf-8").split(START)
    PAGE.write_text(before + START + table() + END + rest.split(END)[1], encoding="utf-8")
