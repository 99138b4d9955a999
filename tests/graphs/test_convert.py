"""`as_graphset`: the same graph, whatever library it comes in."""

from __future__ import annotations

import subprocess
import sys

import igraph
import numpy as np
import pytest
import scipy.sparse
import torch
from numpy.testing import assert_array_equal

import isonn
from isonn.errors import InputError
from isonn.graphs.convert import as_graphset
from isonn.graphs.graph import Graph

nx = pytest.importorskip("networkx")


@pytest.fixture
def matrices() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    some = [rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.5) for n in (4, 1, 6)]
    return [*some, np.zeros((3, 3))]  # the last one without an edge


def symmetric(n: int, seed: int = 0) -> np.ndarray:
    upper = np.triu(np.random.default_rng(seed).integers(0, 3, size=(n, n)).astype(float))
    return upper + np.triu(upper, 1).T


# Every form of the same matrices gives the same set.


@pytest.mark.parametrize(
    "form",
    [
        lambda ms: tuple(ms),
        lambda ms: [m.tolist() for m in ms],
        lambda ms: [scipy.sparse.csr_matrix(m) for m in ms],
        lambda ms: [scipy.sparse.coo_array(m) for m in ms],
        lambda ms: (m for m in ms),
        lambda ms: list(as_graphset(ms)),
        lambda ms: [nx.from_numpy_array(m, create_using=nx.DiGraph) for m in ms],
    ],
    ids=["tuple", "nested lists", "csr", "coo", "generator", "Graphs", "networkx"],
)
def test_every_form_of_the_same_matrices_gives_the_same_set(matrices, form):
    assert as_graphset(form(matrices)).digest == as_graphset(matrices).digest


def test_dense_arrays_come_back_as_given(matrices):
    for graph, matrix in zip(as_graphset(matrices), matrices, strict=True):
        assert_array_equal(graph.adjacency, matrix)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, bool, object])
def test_a_stack_is_the_list_of_its_matrices(dtype):
    stack = np.stack([symmetric(5, seed) for seed in range(4)]).astype(dtype)
    matrices = stack.astype(np.float64)
    expected = as_graphset([scipy.sparse.csr_array(matrix) for matrix in matrices]).digest
    assert as_graphset(stack).digest == as_graphset(list(matrices)).digest == expected


def test_an_object_array_of_graphs_is_a_list(matrices):
    graphs = as_graphset(matrices)
    boxed = np.empty(len(graphs), dtype=object)
    boxed[:] = list(graphs)
    assert as_graphset(boxed).digest == graphs.digest


def test_tensors_are_arrays(matrices):
    stack = torch.tensor(np.stack([symmetric(4, seed) for seed in range(3)]), requires_grad=True)
    expected = as_graphset(stack.detach().numpy()).digest
    assert as_graphset(stack).digest == as_graphset(stack.to_sparse()).digest == as_graphset(list(stack)).digest
    assert as_graphset(stack).digest == expected == as_graphset(stack.bfloat16()).digest


def test_a_graphset_passes_unchanged_and_takes_classes(matrices):
    graphs = as_graphset(matrices, y=[1, 2, 1, 2])
    assert as_graphset(graphs) is graphs
    assert_array_equal(as_graphset(graphs, y=["a", "b", "c", "d"]).y, ["a", "b", "c", "d"])
    assert as_graphset(graphs, name="study").name == "study"


def test_the_arrays_of_the_caller_stay_writeable():
    stack, y = np.ones((2, 3, 3)), np.array([0, 1])
    as_graphset(stack, y)
    stack[0, 0, 0], y[0] = 5, 5


def test_repeated_entries_of_a_sparse_matrix_add_up():
    matrix = scipy.sparse.coo_matrix(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    assert_array_equal(as_graphset([matrix])[0].adjacency, [[0, 3], [0, 0]])


# What cannot be read


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "holds no graph; give at least one"),
        (np.zeros((0, 3, 3)), "holds no graph; give at least one"),
        (np.zeros((3, 0, 0)), "graph 0 of 3 has no nodes"),
        (np.zeros((3, 3)), r"X is a single 3 x 3 matrix, not a list of graphs; give \[X\]"),
        (np.zeros((2, 3)), r"array of shape \(2, 3\); adjacency matrices have shape \(g, n, n\)"),
        (np.zeros((2, 3, 4)), "graph 0 of 2 is 3 x 4, not square"),
        (np.zeros((2, 3, 3), dtype=complex), "complex weights"),
        (np.full((2, 3, 3), "a"), r"holds \['a'\] of type <U1; adjacency matrices hold real numbers"),
        (np.full((2, 2, 2), np.inf), "graph 0 of 2 has an edge of weight inf"),
        ([np.zeros((2, 2)), np.array([[0, np.nan], [0, 0]])], "graph 1 of 2 has an edge of weight nan; replace NaN"),
        ([np.zeros((2, 2)), np.zeros((2, 3))], "graph 1 of 2 is 2 x 3, not square"),
        ([np.zeros((2, 2)), np.zeros((0, 0))], "graph 1 of 2 has no nodes"),
        ([np.zeros((2, 2)), np.zeros((2, 2), dtype=complex)], "graph 1 of 2 has complex weights"),
        ([np.zeros((2, 2)), [[0, None], [0, 0]]], "graph 1 of 2 has an edge of weight nan"),
        ([np.zeros((2, 2)), [["a", "b"], ["c", "d"]]], "graph 1 of 2 holds .*a.* adjacency matrices hold real numbers"),
        ([[[0, 1], [1]]], "graph 0 of 1 has rows of different lengths"),
        ([[0, 1], [1, 0]], r"graph 0 of 2 is an array of shape \(2,\).*if X is a single matrix, give \[X\]"),
        ([scipy.sparse.eye(2), scipy.sparse.csr_matrix((2, 3))], "graph 1 of 2 is 2 x 3, not square"),
        (scipy.sparse.eye(2).tocsr(), r"X is a single SciPy sparse matrix, not a list of graphs; give \[X\]"),
        (nx.path_graph(3), r"X is a single NetworkX graph, not a list of graphs; give \[X\]"),
        (igraph.Graph.Ring(3), r"X is a single igraph Graph.*give \[X\]"),
        (Graph(1, np.zeros((0, 2), dtype=np.int64)), r"X is a single Graph"),
        (
            [nx.path_graph(3), np.zeros((2, 2))],
            "graph 0 of 2 is of type NetworkX graph and graph 1 of type array; convert",
        ),
        ([object()], "graph 0 of 1 is of type object .*cannot read as a graph"),
        ("MUTAG", "isonn.load reads names and paths"),
        ({"a": 1}, "is of type dict, not a list of graphs"),
        (17, "X=17 is of type int, not a list of graphs"),
        (None, "X=None is of type NoneType"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_remedy(given, message):
    with pytest.raises(InputError, match=message):
        as_graphset(given)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1], "y has 2 entries for 3 graphs; give one per graph"),
        (["a", "b", None], r"y\[2\] is None; give every graph a class"),
        ([[0, 1], [1, np.inf], [0, 0]], r"y\[1\] is infinite"),
        ([[0], [1, 2], [3]], "y has entries of different lengths; .*MultiLabelBinarizer"),
        (np.zeros((3, 2, 2)), r"y has shape \(3, 2, 2\)"),
        ([1, 2, 10**30], "y holds 10{30}, which is beyond 64 bits"),
        (np.zeros((3, 0)), r"y has shape \(3, 0\)"),
        (
            torch.empty(3, device="meta"),
            "a tensor of type torch.float32 on meta cannot be read; give one with values on the CPU",
        ),
        (5, r"y=5 is a single value"),
    ],
)
def test_bad_classes_are_refused(y, message):
    with pytest.raises(InputError, match=message):
        as_graphset(np.ones((3, 2, 2)), y)


@pytest.mark.parametrize("labels", [[1e20, 1e30, 0], [2**53, 2**53 + 1, 0.5]])
def test_labels_that_floats_would_merge_are_refused(labels):
    with pytest.raises(InputError, match=r"node_labels of .* hold .*, beyond 2\*\*53; use smaller numbers, or strings"):
        as_graphset([Graph(3, [(0, 1)], node_labels=labels)])


@pytest.mark.parametrize("y", [[0.5, None, 1], [0.5, np.nan, 1], torch.tensor([0.5, np.nan, 1]).bfloat16()])
def test_what_was_not_measured_is_a_gap_in_y(y):
    assert_array_equal(as_graphset(np.ones((3, 2, 2)), y).y, [0.5, np.nan, 1])


def test_a_y_with_gradients_and_one_of_objects_are_read():
    assert_array_equal(as_graphset(np.ones((2, 2, 2)), torch.tensor([1.0, 2.0], requires_grad=True)).y, [1, 2])
    y = as_graphset(np.ones((2, 2, 2)), np.array([3, 4], dtype=object)).y
    assert (y.dtype, y.tolist()) == (np.dtype(np.int64), [3, 4])


def test_importing_the_data_layer_imports_no_graph_library():
    # Under an empty parent package, so that what isonn itself imports does not count.
    code = (
        f"import sys, types; parent = sys.modules['isonn'] = types.ModuleType('isonn');"
        f"parent.__path__ = {list(isonn.__path__)!r}; import isonn.graphs;"
        f"print(*{{'torch', 'igraph', 'networkx', 'torch_geometric', 'grakel', 'matplotlib'}} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""
