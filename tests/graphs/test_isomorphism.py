"""Structural twins, against networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from isonn.graphs import as_graphset, load
from isonn.graphs.isomorphism import twin_groups


def groups_by_definition(matrices: list[np.ndarray]) -> list[int]:
    """Every pair compared by networkx, all cells as weighted directed edges."""
    graphs = [nx.from_numpy_array(matrix, create_using=nx.DiGraph) for matrix in matrices]
    same = nx.algorithms.isomorphism.numerical_edge_match("weight", 0, atol=0, rtol=0)
    first: list[int] = []
    for i, graph in enumerate(graphs):
        first.append(next(j for j in range(i + 1) if nx.is_isomorphic(graph, graphs[j], edge_match=same)))
    return first


def numbered(first: list[int]) -> np.ndarray:
    return np.unique(first, return_inverse=True)[1]


def random_matrices(kind: str, number: int = 40, n: int = 5) -> list[np.ndarray]:
    draw = np.random.default_rng(0)
    matrices = []
    for _ in range(number):
        matrix = np.triu(draw.random((n, n)) < 0.4, k=0 if kind == "loops" else 1).astype(float)
        if kind == "weighted":
            matrix *= draw.integers(1, 3, size=(n, n))
        directed = (draw.random((n, n)) < 0.2).astype(float)
        matrices.append(directed if kind == "directed" else np.maximum(matrix, matrix.T))
    return matrices


@pytest.mark.parametrize("kind", ["plain", "loops", "weighted", "directed"])
def test_groups_are_those_of_networkx(kind: str) -> None:
    matrices = random_matrices(kind)
    expected = numbered(groups_by_definition(matrices))
    assert 1 < expected.max() < len(matrices) - 1, "all alike or all apart would test nothing"
    assert_array_equal(twin_groups(as_graphset(np.array(matrices))), expected)


@pytest.mark.parametrize("kind", ["plain", "loops", "weighted", "directed"])
def test_a_relabelled_graph_is_a_twin(kind: str) -> None:
    draw = np.random.default_rng(1)
    matrices = random_matrices(kind, number=10, n=9)
    orders = [draw.permutation(9) for _ in matrices]
    both = [*matrices, *(matrix[np.ix_(order, order)] for matrix, order in zip(matrices, orders, strict=True))]
    groups = twin_groups(as_graphset(np.array(both)))
    assert_array_equal(groups[:10], groups[10:])


def test_graphs_that_refined_colours_cannot_tell_apart_are_no_twins() -> None:
    """Two triangles and a hexagon: every node has two neighbours, however far one looks."""
    triangles = nx.to_numpy_array(nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)))
    hexagon = nx.to_numpy_array(nx.cycle_graph(6))
    assert twin_groups(as_graphset(np.array([triangles, hexagon, triangles]))).tolist() == [0, 1, 0]
    for weights in (2 * np.stack([triangles, hexagon]), np.triu(np.stack([triangles, hexagon]))):
        assert twin_groups(as_graphset(weights)).tolist() == [0, 1]


def test_size_weights_and_direction_matter_and_labels_do_not() -> None:
    edge = np.array([[0.0, 1], [1, 0]])
    wider = np.zeros((3, 3))
    wider[:2, :2] = edge
    assert twin_groups(as_graphset([edge, wider, 2 * edge, np.triu(edge)])).tolist() == [0, 1, 2, 3]
    one, other = nx.path_graph(3), nx.path_graph(3)
    nx.set_node_attributes(one, 0, "label")
    nx.set_node_attributes(other, {0: 1, 1: 2, 2: 3}, "label")
    assert twin_groups(as_graphset([one, other])).tolist() == [0, 0]


def test_mutag_has_79_graphs_with_a_twin() -> None:
    """As counted before with other tools."""
    groups = twin_groups(load("MUTAG"))
    assert (np.bincount(groups)[groups] > 1).sum() == 79
