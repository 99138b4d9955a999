"""The same graph looks the same, however its nodes are numbered."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import isonn
from isonn.graphs.join import graphset_from_cells
from isonn.report.layout import canonical_order, layout


def ring(n: int):
    matrix = np.zeros((n, n))
    for i in range(n):
        matrix[i, (i + 1) % n] = matrix[(i + 1) % n, i] = 1
    return isonn.as_graphset([matrix])[0]


def look(graph):
    """What is seen: which label is where, and between which places there is which bond."""
    points = np.round(layout(graph), 3) + 0.0
    nodes = sorted((int(label), *point) for label, point in zip(graph.node_labels, points.tolist(), strict=True))
    edges = sorted(
        (int(label), *points[a], *points[b]) for label, (a, b) in zip(graph.edge_labels, graph.edges, strict=True)
    )
    return np.array(nodes), np.array(edges)


def test_relabelling_a_molecule_changes_nothing_that_is_seen(mutag):
    other = mutag[:25].relabelled(1)
    for i in range(25):
        for one, two in zip(look(mutag[i]), look(other[i]), strict=True):
            np.testing.assert_allclose(one, two, atol=2e-3)


def test_no_two_atoms_lie_on_each_other_and_bonds_are_about_one_long(mutag):
    for graph in mutag[:60]:
        points = layout(graph)
        assert pdist(points).min() > 0.5
        lengths = np.linalg.norm(points[graph.edges[:, 0]] - points[graph.edges[:, 1]], axis=1)
        assert 0.6 < lengths.min() <= lengths.max() < 1.5


@pytest.mark.parametrize("n", [3, 5, 6, 8])
def test_a_ring_is_a_regular_polygon(n):
    points = layout(ring(n))
    radius = np.linalg.norm(points - points.mean(axis=0), axis=1)
    np.testing.assert_allclose(radius, 0.5 / np.sin(np.pi / n), rtol=1e-3)


def test_the_longest_direction_lies_flat(mutag):
    for graph in mutag[:20]:
        points = layout(graph)
        assert points[:, 0].var() >= points[:, 1].var()


def test_parts_that_are_not_connected_do_not_overlap():
    two = graphset_from_cells(np.zeros(8), [(0, 1), (1, 0), (1, 2), (2, 1), (3, 4), (4, 3), (5, 6), (6, 5)], [8])[0]
    points = layout(two)
    assert pdist(points).min() > 0.9


def test_direction_weights_and_labels_count_for_the_order():
    path = graphset_from_cells(np.zeros(2), [(0, 1), (1, 2)], [3])[0]  # 0 -> 1 -> 2
    turned = graphset_from_cells(np.zeros(2), [(2, 1), (1, 0)], [3])[0]
    first = [[0, 1, 2].index(node) for node in canonical_order(path)]
    second = [[2, 1, 0].index(node) for node in canonical_order(turned)]
    assert first == second


@pytest.mark.parametrize("matrix", [np.zeros((1, 1)), np.ones((1, 1)), np.zeros((4, 4)), np.ones((2, 2))])
def test_the_smallest_graphs_have_a_place(matrix):
    points = layout(isonn.as_graphset([matrix])[0])
    assert points.shape == (len(matrix), 2)
    assert np.isfinite(points).all()
    assert len(matrix) == 1 or pdist(points).min() > 0.9
