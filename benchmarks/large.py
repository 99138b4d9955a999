"""Time and memory of `isonn fit` on generated molecules, for a dataset too large for memory.

``python benchmarks/large.py GRAPHS [OPTION ...]`` writes GRAPHS molecules of 30 nodes as a TU folder, fits the
default model with the given options (``--head linear``, ...) and prints the time and the peak memory of all
processes together.
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
        atoms, bonds = graphs.views[0].node_codes, graphs.views[0].edge_codes
        found = (np.sort(atoms[ends], axis=1) == (1, 2)).all(axis=1) & (bonds == 2)
        order = np.argsort(np.concatenate([owner, owner]), kind="stable")
        cells = np.concatenate([ends, ends[:, ::-1]])[order] + 1 + NODES * first
        columns = {
            "A": [f"{a}, {b}" for a, b in cells.tolist()],
            "graph_indicator": (1 + first + np.arange(len(atoms)) // NODES).tolist(),
            "graph_labels": (np.bincount(owner[found], minlength=len(graphs)) > 0).astype(int).tolist(),
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
    return [pid, *(one for child in text.split() for one in family(int(child)))]


def megabytes(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def fit(count: int, options: list[str]) -> tuple[float, float, float, float, int]:
    """Fit generated molecules; return seconds, megabytes at most, of text and of banks, and the exit code."""
    with tempfile.TemporaryDirectory(prefix="isonn-large-") as name:
        folder = Path(name)
        (folder / "data").mkdir()
        write_molecules(folder / "data", count)
        isonn = [sys.executable, "-c", "from isonn.cli import main; main()"]
        command = [*isonn, "fit", str(folder / "data"), "--out", str(folder / "model"), "--method", "isonn-subgraph"]
        seconds, peak, code = watched([*command, "--bank", str(folder / "bank"), *options])
        text, banks = (
            sum(file.stat().st_size for file in (folder / kind).iterdir()) / 2**20 for kind in ("data", "bank")
        )
        return seconds, peak, text, banks, code


#: Seconds and megabytes that fitting a million molecules may take: the default model, and sums alone.
BARS = {"default": (900, 6000), "linear": (225, 4000)}


def a_tenth() -> Iterator[Row]:
    """Measure a tenth of a million molecules, against a tenth of the seconds of a million."""
    for head, (most, memory) in BARS.items():
        seconds, peak, *_, code = fit(100_000, [] if head == "default" else ["--head", head])
        seconds = seconds if code == 0 else math.nan
        what = f"fit 100,000 molecules from a TU folder, all cores, {head} model"
        yield Row(what, f"seconds / {most / 10:g}, a tenth of a million's bar", seconds / (most / 10), "<= 1")
        yield Row("", f"peak memory of all processes / {memory / 1000:g} GB", peak / memory, "< 1")


def main() -> None:
    count, options = int(sys.argv[1]), sys.argv[2:]
    seconds, peak, text, banks, code = fit(count, options)
    print(f"{count:,} molecules, {text:,.0f} MB of text, {banks:,.0f} MB of banks, {os.cpu_count()} cores")
    print(f"isonn fit {' '.join(options)}: {seconds:,.0f} s, peak {peak:,.0f} MB, exit code {code}")
    most, memory = BARS["linear" if "linear" in options else "default"]
    print(f"of {most} s for a million {seconds / most * 1e6 / count:.2f}, of {memory} MB {peak / memory:.2f}")


if __name__ == "__main__":
    main()
