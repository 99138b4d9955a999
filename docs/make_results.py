"""Write the overview in docs/results/PAGE.md from the results stored beside it: `python docs/make_results.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
PAGE = DOCS / "results" / "README.md"
START, END = "<!-- made by docs/make_results.py -->\n", "<!-- until here -->\n"
MISSING = "<!-- missing rows, made by docs/make_results.py -->\n"
#: Seeds that a row should have.
SEEDS = 10
#: The paper has one template on MUTAG, where a softmax over templates is always 1.
IMPOSSIBLE = {("MUTAG", "isonn-literal"), ("MUTAG", "isonn-literal-settled")}
ROWS = {
    "isonn": "IsoNN, the paper's epochs",
    "isonn-settled": "IsoNN, settled",
    "isonn-fast": "IsoNN-fast, the paper's formula and epochs",
    "isonn-fast-settled": "the same, settled",
    "isonn-fast-authors": "IsoNN-fast, the authors' computation, the paper's epochs",
    "isonn-fast-authors-settled": "the same, settled",
    "isonn-literal": "IsoNN, softmax over templates, the paper's epochs",
    "isonn-literal-settled": "the same, settled",
    "isonn-assigned": "IsoNN, assigned matching, the paper's epochs",
    "isonn-deep": "deep IsoNN, the paper's epochs",
    "isonn-deep-settled": "the same, settled",
    "isonn-deep-relative": "deep, relative maps, the paper's epochs",
    "isonn-deep-relative-settled": "the same, settled",
    "isonn-subgraph": "**subgraphs**, of 0.2",
    "isonn-subgraph-short": "32 templates, of 0.2",
    "isonn-aligned": "sets of regions, for aligned graphs",
    "freq": "Freq",
    **{
        f"{name}{suffix}": f"{shown}, {rule}"
        for name, shown, epochs in (
            ("ae", "autoencoder", 100),
            ("cnn", "CNN", 15),
            ("sdbn", "SDBN", 30),
            ("gcn", "GCN", 100),
            ("gin", "GIN", 100),
        )
        for suffix, rule in (
            ("", f"{epochs} epochs"),
            ("-paper-epochs", "the paper's epochs"),
            ("-settled", "settled"),
        )
    },
    "wl": "WL",
    "wl-svm": "WL, labels, SVM",
    "gin-labels": "GIN, labels",
    "edges": "ridge on edge weights",
    "size": "nodes, edges, cycles",
    "degrees": "histogram of degrees",
    "majority": "majority class",
}
#: Percentage of folds with one class from which the table says so.
COLLAPSED = 10
#: Heading, folder, dataset, and whether the paper's number stands beside ours.
COLUMNS = [
    ("MUTAG", "table", "MUTAG", True),
    ("PTC", "table", "PTC", True),
    ("HIV-fMRI", "table", "HIV-fMRI", True),
    ("HIV-DTI", "table", "HIV-DTI", True),
    ("MUTAG, fair", "fair", "MUTAG", False),
    ("PTC, fair", "fair", "PTC", False),
]


def _too_old(row: dict[str, Any]) -> bool:
    """Return whether a row is of the subgraph model of 0.1, which has little to do with that of today."""
    return row["method"].startswith("isonn-subgraph") and all("isonn 0.1" in source for source in row["sources"])


def table() -> str:
    """The table as Markdown."""
    stored = {
        (folder, row["dataset"], row["method"]): row
        for folder in ("table", "fair")
        for row in json.loads((DOCS / "results" / folder / "results.json").read_text(encoding="utf-8"))["rows"]
        if row.get("accuracy") and not _too_old(row)
    }
    lines = [["method", *(name for name, *_ in COLUMNS), "flips"], ["---", *["---:"] * (len(COLUMNS) + 1)]]
    for method, name in ROWS.items():
        found = [stored.get((folder, dataset, method)) for _, folder, dataset, _ in COLUMNS]
        if not any(found):
            continue
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
    one = row.get("one_class") or 0
    collapsed = f", {one:.0f} % of folds one class" if one >= COLLAPSED and row.get("final_loss") is not None else ""
    return f"{accuracy['mean']:.1f}{spread}{paper}{mark}{collapsed}".replace(" **", " \\*\\*").replace(" *", " \\*")


def missing() -> str:
    """The rows of the table, by training rule and reading, that have not run or have few seeds, as Markdown."""
    stored = json.loads((DOCS / "results" / "table" / "results.json").read_text(encoding="utf-8"))["rows"]
    seeds = {(row["dataset"], row["method"]): len(row["accuracy"]["by_seed"]) for row in stored if row["accuracy"]}
    named = [name for name in ROWS if name.endswith(("-settled", "-paper-epochs", "-authors", "-literal"))]
    lines = []
    for heading, folder, dataset, _ in COLUMNS:
        if folder != "table":
            continue
        run = {name: seeds.get((dataset, name), 0) for name in named if (dataset, name) not in IMPOSSIBLE}
        none = [name for name, count in run.items() if count == 0]
        few = [f"{name} ({count})" for name, count in run.items() if 0 < count < SEEDS]
        parts = [f"not run: {', '.join(none)}"] if none else []
        parts += [f"fewer than {SEEDS} seeds: {', '.join(few)}"] if few else []
        lines.append(f"- {heading}: {'; '.join(parts) or 'nothing'}\n")
    return "".join(lines)


def main() -> None:
    """Replace the parts of the page between the marks."""
    text = PAGE.read_text(encoding="utf-8")
    for start, content in ((START, table()), (MISSING, missing())):
        before, rest = text.split(start)
        text = before + start + content + END + rest.split(END, 1)[1]
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
