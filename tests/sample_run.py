"""A small run on disk for tests of pages, with markup in every name that a user can choose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from isonn.experiments.jobs import plan
from isonn.experiments.run import execute
from isonn.experiments.store import Store
from isonn.graphs import load, planted_motifs

EVIL = "<script>document.title='owned'</script>"
DATA_NAME = "<img src=x onerror=alert(1)>"
CLASSES = ("<b>sick</b>", "</script><!--well")
SETTINGS = {"isonn": {"k": 3, "c": 2, "epochs": 4, "hidden": [8]}}


def make_data(folder: Path, n_graphs: int = 24) -> Path:
    """Planted motifs in a file, with names of nodes and classes that would do harm if they were not escaped."""
    graphs = planted_motifs(n_graphs=n_graphs, n_nodes=(9, 12), seed=0).graphs
    matrices = graphs.dense()
    names = np.array([f"{EVIL}{i}" if i % 2 else f"region {i}" for i in range(matrices.shape[1])])
    path = folder / f"{DATA_NAME}.npz"
    np.savez(path, adjacency=matrices, labels=np.array(CLASSES)[graphs.y], names=names)
    return path


def make_comparison(folder: Path, datasets: int = 3) -> Path:
    """A finished run of the subgraph model and trivial methods on several datasets."""
    store = Store(folder / "several")
    for number in range(datasets):
        graphs = planted_motifs(n_graphs=30, n_nodes=(8, 12), seed=number).graphs
        graphs = replace(graphs, name=f"set {number}")
        settings = {"isonn-subgraph": {"max_nodes": 2, "head": "linear"}}
        jobs = plan(graphs, ("isonn-subgraph", "degrees", "majority"), settings, "paper", seeds=2)
        for outcome in execute(jobs, {graphs.name: graphs}, store):
            assert "error" not in outcome, outcome
    return folder / "several"


def make_run(
    folder: Path, methods: tuple[str, ...] = ("isonn", "majority", "size"), seeds: int = 2
) -> tuple[Path, Path]:
    """A finished run and its data."""
    data = make_data(folder)
    graphs = load(data)
    store = Store(folder / "run")
    for outcome in execute(plan(graphs, methods, SETTINGS, "paper", seeds), {graphs.name: graphs}, store):
        assert "error" not in outcome, outcome
    return folder / "run", data
