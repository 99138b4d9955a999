"""Leaf nodes folded into their neighbours as a count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import isonn
from isonn.errors import InputError


@pytest.fixture(scope="module")
def with_hydrogens(mutag):
    """MUTAG with one to three leaf nodes of a new label at every node of degree 2."""
    matrices, labels = [], []
    for graph in mutag[:60]:
        adjacency, before = graph.adjacency, graph.node_labels.tolist()
        many = [1 + label % 3 if degree == 2 else 0 for label, degree in zip(before, adjacency.sum(0), strict=True)]
        bigger = np.zeros((graph.n + sum(many),) * 2)
        bigger[: graph.n, : graph.n] = adjacency
        last = graph.n
        for node, count in enumerate(many):
            for _ in range(count):
                bigger[node, last] = bigger[last, node] = 1
                last += 1
        matrices.append(bigger)
        labels.append(before + [99] * sum(many))
    graphs = isonn.as_graphset(matrices, y=mutag.y[:60])
    return replace(graphs, node_labels=np.concatenate(labels))


def test_folding_takes_leaves_away_and_counts_them(with_hydrogens, mutag):
    folded = with_hydrogens.fold_leaves(99)
    assert folded.sizes.tolist() == mutag.sizes[:60].tolist()
    for i, graph in enumerate(folded):
        np.testing.assert_array_equal(graph.adjacency, mutag[i].adjacency)
        for node, label in enumerate(graph.node_labels):
            before = with_hydrogens[i]
            leaves = int((before.node_labels[before.adjacency[node] != 0] == 99).sum())
            assert label == (f"{before.node_labels[node]}+{leaves}x99" if leaves else str(before.node_labels[node]))


def test_a_pair_of_leaves_stays():
    pair = replace(isonn.as_graphset([np.array([[0, 1], [1, 0]])]), node_labels=np.array(["H", "H"]))
    assert pair.fold_leaves("H").node_labels.tolist() == ["H", "H"]


def test_a_label_is_folded_by_its_name_too(mutag):
    by_name, by_code = mutag.fold_leaves("O"), mutag.fold_leaves(2)
    np.testing.assert_array_equal(by_name.node_labels, by_code.node_labels)
    assert "NO2" in by_name.node_label_names.values()


def test_folding_what_is_not_there_is_refused(mutag):
    with pytest.raises(InputError, match="needs node labels, and MUTAG has none"):
        replace(mutag, node_labels=None, node_label_names={}).fold_leaves(1)
    with pytest.raises(InputError, match="'H' is not a node label of MUTAG; use one of C, N, O"):
        mutag.fold_leaves("H")
