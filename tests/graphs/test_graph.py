"""`Graph` and `GraphSet`: what is stored is what was given, and cutting and joining lose nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from graph_samples import assert_equal_sets
from numpy.testing import assert_array_equal

import isonn
from isonn.errors import InputError
from isonn.graphs.edit import set_edge
from isonn.graphs.graph import Graph, GraphSet
from isonn.graphs.join import graphset_from_cells, join_graphs


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
        ids=np.array(["first", "second", "third", "fourth"]),
        class_names={"a": "Alpha", "b": "Beta"},
        target_names=("letter",),
        table={"age": np.array([1.5, 2, 3, 4]), "site": np.array(["x", "y", "x", "y"])},
        kind="connectomes",
        node_label_names={0: "zero"},
    )


NAMES = ("class_names", "target_names", "kind", "node_label_names")


def test_ids_names_and_table_survive_selecting_joining_and_relabelling(graphs):
    chosen = graphs[[2, 0]]
    assert list(chosen.ids) == ["third", "first"]
    assert_array_equal(chosen.table["age"], [3, 1.5])
    assert all(getattr(chosen, what) == getattr(graphs, what) for what in NAMES)
    assert (chosen[1].id, chosen[1].kind, chosen[1].row) == ("first", "connectomes", {"age": 1.5, "site": "x"})
    assert_equal_sets(GraphSet.concat([graphs[:1], graphs[1:]]), graphs, (*NAMES, "ids", "table"))
    assert_equal_sets(graphs.relabelled(0), graphs, (*NAMES, "ids", "table"))
    joined = join_graphs(list(graphs), class_names=graphs.class_names, target_names=("letter",))
    joined = replace(joined, node_label_names=graphs.node_label_names)
    assert_equal_sets(joined, graphs, (*NAMES, "ids", "table"))


def test_names_of_classes_stay_with_a_y_they_fit(graphs):
    assert graphs.with_y(["b", "b", "a", "b"]).class_names == graphs.class_names
    other = graphs.with_y(np.arange(8).reshape(4, 2))
    assert (other.class_names, other.target_names) == ({}, ())


def test_sets_whose_names_clash_are_not_joined(graphs):
    for change, message in (
        ({"class_names": {"a": "Omega"}}, "calls class 'a' 'Omega'"),
        ({"target_names": ("x",)}, "has target_names"),
        ({"kind": ""}, "has kind ''"),
        ({"table": {}}, r"has table \[\] where graphs has"),
    ):
        with pytest.raises(InputError, match=message):
            GraphSet.concat([graphs, replace(graphs, **change)])
    with pytest.raises(InputError, match="sets is empty"):
        GraphSet.concat([])


def test_the_digest_does_not_know_ids_names_or_tables(graphs):
    bare = replace(graphs, ids=None, class_names={}, target_names=(), table={}, kind="", name="other")
    assert bare.digest == graphs.digest


def test_a_set_neither_freezes_nor_follows_the_arrays_it_is_made_of():
    y, edges = np.array([0, 1]), np.array([[0, 1], [0, 1]])
    graphs = GraphSet(np.array([0, 2, 4]), np.array([0, 1, 2]), edges, y=y)
    y[0] = edges[0, 0] = 1
    assert_array_equal(graphs.y, [0, 1])
    assert_array_equal(graphs.edges, [[0, 1], [0, 1]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ids": np.arange(4)}, "ids of graphs has shape .4,. and type int64; give strings"),
        ({"ids": np.array(["a"])}, "ids of graphs has 1 entries where 4 are needed"),
        ({"table": {"age": np.arange(3)}}, r"column 'age' of table has shape \(3,\); give one entry per graph"),
        ({"target_names": ("a", "b")}, "2 target_names for 1 columns of y"),
    ],
)
def test_wrong_names_are_refused(graphs, change, message):
    with pytest.raises(InputError, match=message):
        replace(graphs, **change)


def test_joining_the_graphs_of_a_set_gives_the_set(graphs):
    joined = join_graphs(list(graphs), y=graphs.y.copy(), folds=graphs.folds.copy())
    assert joined.digest == graphs.digest


def test_a_mask_an_index_and_a_slice_select_the_same(graphs):
    by_mask = graphs[np.array([False, True, True, False])]
    assert by_mask.digest == graphs[[1, 2]].digest == graphs[1:3].digest == graphs[[3, 1, 2]][[1, 2]].digest
    assert_array_equal(graphs[-1].adjacency, graphs[3].adjacency)
    with pytest.raises(IndexError, match="graph 4 of a set of 4"):
        graphs[4]


def test_a_selected_graph_is_the_graph(graphs):
    chosen = graphs[[2, 0]]
    for column in ("edges", "weights", "node_labels", "edge_labels", "node_attributes", "node_names", "adjacency"):
        assert_array_equal(getattr(chosen[0], column), getattr(graphs[2], column))
    assert_array_equal(chosen.y, graphs.y[[2, 0]])
    assert_array_equal(chosen.folds, graphs.folds[[2, 0]])


def test_dense_matrices_hold_each_graph_and_zeros_elsewhere(graphs):
    dense = graphs.dense(6, dtype=np.float64)
    for matrix, graph in zip(dense, graphs, strict=True):
        assert_array_equal(matrix[: graph.n, : graph.n], graph.adjacency)
        assert np.count_nonzero(matrix) == np.count_nonzero(graph.adjacency)


def test_dense_matrices_too_small_for_a_graph_are_refused(graphs):
    with pytest.raises(InputError, match="graph 2 of 4 has 5 nodes, more than size=4; use size=5"):
        graphs.dense(4)


def test_the_order_in_which_cells_are_given_does_not_matter():
    owner, edges, weights = np.array([0, 0, 1, 1]), np.array([[0, 1], [1, 0], [2, 0], [0, 2]]), np.array([1.0, 2, 3, 4])
    order = np.array([3, 1, 0, 2])
    given = graphset_from_cells(owner, edges, [2, 3], weights)
    shuffled = graphset_from_cells(owner[order], edges[order], [2, 3], weights[order])
    assert given.digest == shuffled.digest


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


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"n": 0, "edges": []}, "n=0 is not a valid number of nodes; use an integer from 1 to 16777216"),
        ({"n": 2.0, "edges": []}, "n=2.0 is not a valid number of nodes"),
        ({"edges": [[0, 5]]}, r"has an edge \(0, 5\) but only nodes 0 to 1; correct the edge or the number"),
        ({"edges": [[0, -1]]}, r"has an edge \(0, -1\) but only nodes 0 to 1"),
        ({"edges": [0, 1, 1]}, r"edges of the graph has shape \(3,\)"),
        ({"edges": [[0.5, 1]]}, "type float64; give integers of 2 dim"),
        ({"edges": "01"}, "edges of the graph has shape"),
        ({"weights": [np.nan, 1]}, "has an edge of weight nan"),
        ({"weights": ["a", "b"]}, "weights of the graph has shape .2,. and type <U1; give numbers"),
        ({"weights": [1]}, "weights of the graph has 1 entries where 2 are needed"),
        ({"node_labels": [10**30, 1]}, "node_labels of the graph has type object; give numbers of 64 bits"),
        ({"node_labels": [[1], [1, 2]]}, "node_labels of the graph cannot be read as an array"),
        ({"node_attributes": [1, 2]}, "give numbers of 2 dimensions"),
        ({"node_names": [1, 2]}, "give strings"),
    ],
)
def test_a_wrong_graph_is_refused_when_it_is_made(columns, message):
    with pytest.raises(InputError, match=message):
        Graph(**{"n": 2, "edges": [[0, 1], [1, 0]], **columns})


def test_a_graph_of_lists_is_that_of_arrays_in_order():
    graph = Graph(3, [[2, 1], [0, 1], [0, 1], [1, 2]], weights=[2, 3, 4, 0], edge_labels=["a", "b", "c", "d"])
    assert_array_equal(graph.edges, [[0, 1], [2, 1]])
    assert_array_equal(graph.weights, [4.0, 2.0])
    assert_array_equal(graph.edge_labels, ["c", "a"])
    assert Graph(2, [[0, 1]], weights=[1.0]).weights is None


def test_a_graph_without_edges_is_selected_from_weighted_ones():
    matrices = np.zeros((2, 3, 3))
    matrices[1, 0, 1] = matrices[1, 1, 0] = 0.5
    one = isonn.as_graphset(matrices)[:1]
    np.testing.assert_array_equal(one.dense(), matrices[:1])


def test_a_stream_is_not_taken_for_a_set():
    with pytest.raises(InputError, match="X is a stream or a list of sets, .* isonn.load reads all files into one"):
        isonn.AlignedClassifier().fit(isonn.stream("MUTAG"))


def test_an_empty_selection_is_refused(graphs):
    with pytest.raises(InputError, match="holds no graph"):
        graphs[np.zeros(4, dtype=bool)]


def test_a_new_edge_keeps_a_label_longer_than_those_there():
    graph = set_edge(Graph(3, [[0, 1], [1, 0]], edge_labels=["-", "-"]), 2, 1, label="aromatic")
    assert graph.edge_labels.tolist() == ["-", "-", "aromatic", "aromatic"]
    assert set_edge(graph, 0, 1, weight=0).edges.tolist() == [[1, 2], [2, 1]]
    assert set_edge(graph, 0, 1, weight=2).edge_labels.tolist() == graph.edge_labels.tolist()
