"""Integers that the same seed must give everywhere and for ever: stored results are found and compared by them.

A test that fails here says that a change moves them. If that is meant, say so in CHANGELOG.md and store the new digest.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import isonn
from isonn.experiments.jobs import plan
from isonn.experiments.protocols import find_protocol
from isonn.graphs import planted_motifs
from isonn.graphs.isomorphism import graph_hashes
from isonn.seeding import derive_seed, numpy_stream

STORED = {
    "streams": "e7cd2c5cae45c8e6",
    "made graphs": "9bcde0e0e44697a9",
    "hashes": "6204446bf18e5e4d",
    "codes": "c32440e4526693fa",
    "folds, fair": "38cc265c82aa3b46",
    "folds, paper": "0e6c27acc84b2dcd",
    "folds, random": "7fa01506ccccdf55",
    "jobs": "a6ea6a591849d53d",
}


def digest(*values):
    """SHA-256 of arrays of integers, or of anything that becomes one, whatever the byte order of the machine."""
    hasher = hashlib.sha256()
    for value in values:
        array = np.asarray(value)
        assert array.dtype.kind in "iu", array.dtype
        hasher.update(f"{array.shape}".encode() + array.astype("<i8" if array.dtype.kind == "i" else "<u8").tobytes())
    return hasher.hexdigest()[:16]


def same(name, *values):
    assert digest(*values) == STORED[name], f"{name} moved"


def test_random_streams():
    drawn = numpy_stream(7, "a stream").integers(2**63, size=5)
    same("streams", derive_seed(7, "a name", 3), drawn)


def test_made_graphs():
    graphs = planted_motifs(n_graphs=20, n_nodes=(8, 12), seed=3).graphs
    same("made graphs", graphs.edges, graphs.sizes, graphs.y)


def test_hashes_of_graphs(mutag):
    same("hashes", graph_hashes(mutag))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_codes_of_subgraphs(mutag, n_jobs):
    model = isonn.SubgraphClassifier(max_nodes=3, n_jobs=n_jobs, random_state=0).fit(mutag)
    counts = model.vectorizer_.transform(mutag[:50]).tocsr()
    counts.sort_indices()
    pieces = model.vectorizer_.vocabulary_.pieces
    kinds, kind = np.unique(pieces[:, :2], axis=0, return_inverse=True)
    codes = [pieces[kind == i, 2 : 2 + k * (k + 1) // 2] for i, k in enumerate(kinds[:, 1].tolist())]
    same("codes", *codes, counts.indices, counts.data.astype(np.int64))


@pytest.mark.parametrize("protocol", ["fair", "paper", "random"])
def test_folds(mutag, protocol):
    folds = find_protocol(protocol).split(mutag, 1)
    same(f"folds, {protocol}", *(part for fold in folds for part in fold))


def test_ids_of_jobs(mutag):
    jobs = plan(mutag, ["size", "isonn"], {"isonn": {"k": 2, "c": 1}}, "paper", seeds=2)
    same("jobs", [int(job.id[:15], 16) for job in jobs])
