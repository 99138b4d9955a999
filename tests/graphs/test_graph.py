"""`Graph` and `GraphSet`: what is stored is what was given, and cutting and joining lose nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from isonn.errors import InputError
from isonn.graphs.graph import Graph, GraphSet, graphset_from_cells, join_graphs


@pytest.fixture
def graphs() -> GraphSet:
    rng = np.random.default_rng(0)
    sizes = np.array([3, 1, 5, 4])
    owner = np.repeat(np.arange(4), [6, 0, 9, 7])
    edges = np.column_stack([rng.integers(sizes[owner]), rng.integers(sizes[owner])])
    return graphset_from_cells(
        owner,
        edges,
        sizes,
        weights=rng.normal(size=len(owner)),
        edge_labels=rng.integers(3, size=len(owner)),
        node_labels=rng.integers(4, size=sizes.sum()),
        node_attributes=rng.normal(size=(sizes.sum(), 2)),
        node_names=np.array([f"v{i}" for i in range(sizes.sum())]),
        y=np.array(["a", "b", "a", "b"]),
        folds=np.array([0, 1, 1, 0]),
    )


def test_joining_the_graphs_of_a_set_gives_the_set(graphs):
    joined = join_graphs(list(graphs), y=graphs.y.copy(), folds=graphs.folds.copy())
    assert joined.digest == graphs.digest


def test_selecting_twice_is_selecting_once(graphs):
    assert graphs[[3, 0, 2]][[2, 0]].digest == graphs[[2, 3]].digest


def test_a_mask_an_index_and_a_slice_select_the_same(graphs):
    by_mask = graphs[np.array([False, True, True, False])]
    assert by_mask.digest == graphs[[1, 2]].digest == graphs[1:3].digest


def test_a_selected_graph_is_the_graph(graphs):
    chosen = graphs[[2, 0]]
    for column in ("edges", "weights", "node_labels", "edge_labels", "node_attributes", "node_names", "adjacency"):
        assert_array_equal(getattr(chosen[0], column), getattr(graphs[2], column))
    assert_array_equal(chosen.y, graphs.y[[2, 0]])
    assert_array_equal(chosen.folds, graphs.folds[[2, 0]])


def test_negative_indices_count_from_the_end(graphs):
    assert_array_equal(graphs[-1].adjacency, graphs[3].adjacency)
    with pytest.raises(IndexError, match="graph 4 of a set of 4"):
        graphs[4]


def test_dense_matrices_hold_each_graph_and_zeros_elsewhere(graphs):
    dense = graphs.dense(6, dtype=np.float64)
    for matrix, graph in zip(dense, graphs, strict=True):
        assert_array_equal(matrix[: graph.n, : graph.n], graph.adjacency)
        assert np.count_nonzero(matrix) == np.count_nonzero(graph.adjacency)


def test_dense_matrices_too_small_for_a_graph_are_refused(graphs):
    with pytest.raises(InputError, match="graph 2 of 4 has 5 nodes, more than the 4"):
        graphs.dense(4)


def test_the_order_in_which_cells_are_given_does_not_matter():
    owner, edges, weights = np.array([0, 0, 1, 1]), np.array([[0, 1], [1, 0], [2, 0], [0, 2]]), np.array([1.0, 2, 3, 4])
    order = np.array([3, 1, 0, 2])
    given = graphset_from_cells(owner, edges, [2, 3], weights)
    shuffled = graphset_from_cells(owner[order], edges[order], [2, 3], weights[order])
    assert given.digest == shuffled.digest


def test_of_a_repeated_cell_the_last_stays():
    graph = graphset_from_cells([0, 0], [[0, 1], [0, 1]], [2], weights=[3.0, 5.0], edge_labels=[7, 8])[0]
    assert_array_equal(graph.adjacency, [[0, 5], [0, 0]])
    assert_array_equal(graph.edge_labels, [8])


def test_zero_weights_are_no_edges_and_unit_weights_are_not_stored():
    graphs = graphset_from_cells([0, 0], [[0, 1], [1, 0]], [2], weights=[0.0, 1.0])
    assert graphs.weights is None
    assert_array_equal(graphs.edges, [[1, 0]])


def test_scaling_makes_one_the_largest_weight_of_every_graph(graphs):
    scaled = graphs.scaled()
    for graph, before in zip(scaled, graphs, strict=True):
        if before.weights is not None and len(before.weights):
            assert np.abs(graph.weights).max() == 1
            np.testing.assert_allclose(graph.weights * np.abs(before.weights).max(), before.weights)


def test_a_graphset_cannot_be_written_to(graphs):
    with pytest.raises(ValueError, match="read-only"):
        graphs.edges[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        graphs[0].adjacency[0, 0] = 1


def test_the_digest_tells_graphs_and_classes_apart_but_not_names(graphs):
    assert graphs.with_y(["a", "b", "b", "b"]).digest != graphs.digest
    assert graphs[[1, 0, 2, 3]].digest != graphs.digest


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (Graph(0, np.zeros((0, 2), dtype=np.int64)), "graph 1 of 2 has no nodes"),
        (Graph(2, np.array([[0, 2]])), r"graph 1 of 2 has an edge \(0, 2\) but only nodes 0 to 1"),
        (Graph(2, np.array([[0, 1]]), weights=np.array([np.nan])), "graph 1 of 2 has an edge of weight nan"),
        (Graph(2, np.array([[0, 1]]), node_labels=np.array([1, 2])), "graph 0 of 2 has no node_labels while others"),
    ],
)
def test_a_bad_graph_is_named(graph, message):
    good = Graph(2, np.array([[0, 1], [1, 0]]))
    with pytest.raises(InputError, match=message):
        join_graphs([good, graph])


def test_an_empty_selection_is_refused(graphs):
    with pytest.raises(InputError, match="holds no graph"):
        graphs[np.zeros(4, dtype=bool)]
