"""Time and memory of a fit as the number of molecules grows, beside LightGBM on ECFP4 counts doing the same job.

``python benchmarks/growth.py [MOST]`` writes 10,000, 100,000, ... up to MOST (a million) SMILES with a class each, and
for every size runs in a process of its own: ``isonn fit`` (the default model, standardisation off), and RDKit's Morgan
counts (radius 2, 4,096 columns) with LightGBM (200 trees). It prints a table and draws docs/images/growth.svg.
Both sides start with the file, end with a model and use all cores. Keep the machine otherwise idle.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

from large import watched
from report import processor
from smiles import write_smiles

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
PICTURE = Path(__file__).parent.parent / "docs" / "images" / "growth.svg"
SIDES = ("isonn fit", "ECFP + LightGBM")

RIVAL = """
import csv, sys
import lightgbm, numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_array, vstack

def counts(texts):
    from rdkit import Chem  # here, since workers get this function pickled, and RDKit's cannot be
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    make = GetMorganGenerator(radius=2, fpSize=4096)
    found = [make.GetCountFingerprint(Chem.MolFromSmiles(text)).GetNonzeroElements() for text in texts]
    columns = np.fromiter((c for row in found for c in row), dtype=np.int32)
    values = np.fromiter((v for row in found for v in row.values()), dtype=np.float32)
    starts = np.concatenate([[0], np.cumsum([len(row) for row in found])])
    return csr_array((values, columns, starts), shape=(len(texts), 4096))

rows = list(csv.DictReader(open(sys.argv[1])))
texts, y = [row["smiles"] for row in rows], [int(row["y"]) for row in rows]
parts = Parallel(n_jobs=-1)(delayed(counts)(texts[i : i + 4096]) for i in range(0, len(texts), 4096))
lightgbm.LGBMClassifier(n_estimators=200, verbose=-1).fit(vstack(parts), y)
"""


def measure(count: int) -> dict[str, tuple[float, float]]:
    """Return seconds and peak megabytes of both sides."""
    with tempfile.TemporaryDirectory(prefix="isonn-growth-") as name:
        data, script = Path(name) / "data.csv", Path(name) / "rival.py"
        write_smiles(data, count)
        script.write_text(RIVAL)
        commands = (
            [sys.executable, "-m", "isonn", "fit", str(data), "--standardize", "none", "--out", str(Path(name) / "m")],
            [sys.executable, str(script), str(data)],
        )
        found = {}
        for side, command in zip(SIDES, commands, strict=True):
            seconds, peak, code = watched(command)
            if code:
                raise SystemExit(f"{side} ended with {code} on {count:,} molecules")
            found[side] = (seconds, peak)
        return found


def draw(found: dict[int, dict[str, tuple[float, float]]]) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    for place, (axis, what) in enumerate(zip(axes, ("seconds", "peak memory, MB"), strict=True)):
        for side, colour, mark in zip(SIDES, ("#0b62a4", "#c8500a"), "os", strict=True):
            axis.loglog(list(found), [found[n][side][place] for n in found], color=colour, marker=mark, label=side)
        axis.set(xlabel="molecules", title=what)
        axis.grid(alpha=0.3)
    axes[0].legend(frameon=False)
    figure.savefig(PICTURE)


def write_page(lines: list[str]) -> None:
    """Write the table and the picture to docs/performance.md."""
    text, picture = PAGE.read_text(encoding="utf-8"), "![time and memory of fits](images/growth.svg)"
    block = re.compile(r"(<!-- growth -->\n).*?(<!-- /growth -->)", re.DOTALL)
    content = "\n".join([*lines, "", picture, ""])
    PAGE.write_text(block.sub(lambda part: part[1] + content + part[2], text), encoding="utf-8")


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    heads = " | ".join(f"{side} | memory" for side in SIDES)
    lines = [f"{processor()}, {os.cpu_count()} cores.", "", f"| molecules | {heads} |", "|---:|---:|---:|---:|---:|"]
    print(*lines, sep="\n")
    found: dict[int, dict[str, tuple[float, float]]] = {}
    count = 10_000
    while count <= most:
        found[count] = measure(count)
        cells = " | ".join(f"{seconds:,.0f} s | {peak:,.0f} MB" for seconds, peak in found[count].values())
        lines.append(f"| {count:,} | {cells} |")
        print(lines[-1], flush=True)
        count *= 10
    if len(found) > 1:
        draw(found)
        write_page(lines)


if __name__ == "__main__":
    main()
