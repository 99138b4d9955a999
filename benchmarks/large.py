"""Time and memory of `isonn fit` on generated molecules, for a dataset too large for memory.

``python benchmarks/large.py GRAPHS [OPTION ...]`` writes GRAPHS molecules of 30 nodes as a TU folder, fits the
default model with the given options (``--head linear``, ...) and prints the time and the peak memory of all
processes together. ``python benchmarks/large.py GRAPHS smiles`` fits it to standardised SMILES instead.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from report import Row
from smiles import write_smiles
from subgraphs import NODES, molecules

AT_ONCE = 20_000


def write_molecules(folder: Path, count: int) -> None:
    """Write molecules as a TU folder; those with an N=O (atoms 1 and 2, bond 2) are of class 1."""
    names = ("A", "graph_indicator", "graph_labels", "node_labels", "edge_labels")
    files = {name: (folder / f"MOLECULES_{name}.txt").open("w") for name in names}
    for first in range(0, count, AT_ONCE):
        graphs = molecules(min(AT_ONCE, count - first), seed=first)
        owner = np.repeat(np.arange(len(graphs)), np.diff(graphs.edge_offsets))
        ends = graphs.edges + NODES * owner[:, None]
        atoms, bonds = graphs.node_codes[0], graphs.edge_codes[0]
        nitroso = (np.sort(atoms[ends], axis=1) == (1, 2)).all(axis=1) & (bonds == 2)
        order = np.argsort(np.concatenate([owner, owner]), kind="stable")
        cells = np.concatenate([ends, ends[:, ::-1]])[order] + 1 + NODES * first
        columns = {
            "A": [f"{a}, {b}" for a, b in cells.tolist()],
            "graph_indicator": (1 + first + np.arange(len(atoms)) // NODES).tolist(),
            "graph_labels": (np.bincount(owner[nitroso], minlength=len(graphs)) > 0).astype(int).tolist(),
            "node_labels": atoms.tolist(),
            "edge_labels": np.tile(bonds, 2)[order].tolist(),
        }
        for name, lines in columns.items():
            files[name].write("\n".join(map(str, lines)) + "\n")
    for file in files.values():
        file.close()


def watched(command: list[str]) -> tuple[float, float, int]:
    """Return seconds, peak megabytes of the process and its children (shared pages once), and exit code."""
    start, peak = time.perf_counter(), 0.0
    process = subprocess.Popen(command)
    while process.poll() is None:
        peak = max(peak, sum(megabytes(pid) for pid in family(process.pid)))
        time.sleep(0.5)
    return time.perf_counter() - start, peak, process.returncode


def family(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [pid, *(member for child in text.split() for member in family(int(child)))]


def megabytes(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


ISONN = (sys.executable, "-c", "from isonn.cli import main; main()")


def fit(count: int, options: list[str]) -> tuple[float, float, float, float, int]:
    """Fit generated molecules; return seconds, megabytes at most, of text and of banks, and the exit code."""
    with tempfile.TemporaryDirectory(prefix="isonn-large-") as name:
        folder = Path(name)
        (folder / "data").mkdir()
        write_molecules(folder / "data", count)
        command = [*ISONN, "fit", str(folder / "data"), "--out", str(folder / "model"), "--method", "isonn-subgraph"]
        seconds, peak, code = watched([*command, "--bank", str(folder / "bank"), *options])
        text, banks = (
            sum(file.stat().st_size for file in (folder / kind).iterdir()) / 2**20 for kind in ("data", "bank")
        )
        return seconds, peak, text, banks, code


def fit_smiles(count: int) -> tuple[float, float, int]:
    """Fit the default model to standardised SMILES of a table; return seconds, peak megabytes and the exit code."""
    with tempfile.TemporaryDirectory(prefix="isonn-large-") as name:
        data = Path(name) / "data.csv"
        write_smiles(data, count)
        return watched([*ISONN, "fit", str(data), "--standardize", "salts", "--out", str(Path(name) / "model")])


#: Seconds and megabytes that fitting a million molecules may take: the default model, and sums alone.
BARS = {"default": (900, 6000), "linear": (225, 4000)}
#: The same for 100,000 SMILES and the default model.
SMILES_BAR = (240, 3000)


def hundred_thousand() -> Iterator[Row]:
    """Measure 100,000 molecules: sums alone on the pieces that a million gets, and the default model from SMILES."""
    seconds, peak, *_, code = fit(100_000, ["--head", "linear", "--max-nodes", "4"])
    most, memory = BARS["linear"]
    yield Row(
        "fit 100,000 molecules from a TU folder, all cores, four nodes, linear",
        f"seconds / {most / 10:g}, a tenth of a million's bar",
        (seconds if code == 0 else math.nan) / (most / 10),
        "<= 1",
    )
    yield Row("", f"peak memory of all processes / {memory / 1000:g} GB", peak / memory, "< 1")
    seconds, peak, code = fit_smiles(100_000)
    most, memory = SMILES_BAR
    what = "fit 100,000 SMILES, standardised, all cores, the default model"
    yield Row(what, f"seconds / {most}", (seconds if code == 0 else math.nan) / most, "<= 1")
    yield Row("", f"peak memory of all processes / {memory / 1000:g} GB", peak / memory, "< 1")


def main() -> None:
    count, options = int(sys.argv[1]), sys.argv[2:]
    if options == ["smiles"]:
        seconds, peak, code = fit_smiles(count)
        print(f"{count:,} SMILES, standardised: {seconds:,.0f} s, peak {peak:,.0f} MB, exit code {code}")
        print(f"100,000 may take {SMILES_BAR[0]} s and {SMILES_BAR[1]:,} MB")
        return
    seconds, peak, text, banks, code = fit(count, options)
    print(f"{count:,} molecules, {text:,.0f} MB of text, {banks:,.0f} MB of banks, {os.cpu_count()} cores")
    print(f"isonn fit {' '.join(options)}: {seconds:,.0f} s, peak {peak:,.0f} MB, exit code {code}")
    most, memory = BARS["linear" if "linear" in options else "default"]
    print(f"a million may take {most} s and {memory:,} MB")


if __name__ == "__main__":
    main()
