"""`as_graphset`, `Graph` and ``y``, given anything: success or one sentence."""

from __future__ import annotations

import contextlib

import igraph
import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from fuzz.outcome import outcome
from hypothesis import given
from hypothesis import strategies as st

import isonn
from isonn.errors import IsoNNError
from isonn.graphs import Graph

numbers = st.one_of(
    st.integers(-3, 6),
    st.sampled_from(
        [2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 10**30, np.nan, np.inf, -np.inf, 0.5, 1e300, True, 1j]
    ),
)
things = st.one_of(
    numbers,
    st.none(),
    st.sampled_from(
        ["", "a", "ab", "1", b"x", "\n", "x" * 5000, (1, 2), [1], {}, object(), np.float32(2), np.array(3)]
    ),
)
nested = st.recursive(things, lambda inner: st.lists(inner, max_size=4), max_leaves=12)


@st.composite
def arrays(draw, least=0, most=4):
    dtype = np.dtype(draw(st.sampled_from(["f8", "f2", "i1", "i8", "u8", "?", "c16", "U2", "S2", "M8[s]", "O"])))
    array = np.zeros(draw(st.lists(st.integers(0, 3), min_size=least, max_size=most)), dtype=dtype)
    for value in draw(st.lists(things, max_size=3)):
        with contextlib.suppress(ValueError, TypeError, OverflowError, IndexError, RuntimeError):
            array.flat[draw(st.integers(0, max(array.size - 1, 0)))] = value
    return array


DTYPES = ["float32", "bfloat16", "float16", "int64", "uint8", "bool", "complex64", "float8_e5m2"]
tensors = st.builds(
    lambda shape, dtype, device, grad: torch.zeros(shape, dtype=dtype, device=device).requires_grad_(
        grad and dtype.is_floating_point
    ),
    st.lists(st.integers(0, 3), max_size=4),
    st.sampled_from([getattr(torch, dtype) for dtype in DTYPES]),
    st.sampled_from(["cpu", "cpu", "meta"]),
    st.booleans(),
)


@given(st.one_of(nested, arrays(), tensors, st.lists(arrays(), max_size=3), st.lists(tensors, max_size=3)))
def test_whatever_stands_for_graphs(X):
    outcome(lambda: isonn.as_graphset(X))


@given(st.one_of(nested, arrays(), tensors, st.lists(things, min_size=3, max_size=3)))
def test_whatever_stands_for_y(y):
    graphs = outcome(lambda: isonn.as_graphset(np.ones((3, 2, 2)), y))
    if not isinstance(graphs, IsoNNError) and graphs.y is not None:
        assert len(graphs.y) == 3
        assert repr(graphs)
        assert graphs.digest


@given(
    n=st.one_of(things, st.integers(1, 3)),
    edges=st.one_of(nested, arrays(), st.lists(st.lists(st.integers(-1, 3), min_size=2, max_size=2), max_size=4)),
    columns=st.dictionaries(
        st.sampled_from(["weights", "node_labels", "edge_labels", "node_attributes", "node_names"]),
        st.one_of(nested, arrays(), st.lists(numbers, max_size=4)),
    ),
)
def test_hand_made_graphs(n, edges, columns):
    graph = outcome(lambda: Graph(n, edges, **columns))
    if not isinstance(graph, IsoNNError):
        assert not isinstance(outcome(lambda: isonn.as_graphset([graph])), IsoNNError)
        assert graph.adjacency.shape == (graph.n, graph.n)


@st.composite
def sparse_matrices(draw):
    n = draw(st.sampled_from([0, 1, 2, 3, 10**6, 10**9, 2**62]))
    matrix = draw(st.sampled_from([scipy.sparse.coo_matrix, scipy.sparse.coo_array]))(
        (n, draw(st.sampled_from([n, n, 2])))
    )
    index = draw(st.lists(st.integers(-2, 4), max_size=3))
    matrix.data = draw(arrays(1, 1)) if draw(st.booleans()) else np.ones(len(index))
    with contextlib.suppress(ValueError, AttributeError):
        matrix.row, matrix.col = np.array(index, dtype=np.int64), np.array(index[::-1], dtype=np.int64)
    if n < 100 and draw(st.booleans()):
        with contextlib.suppress(ValueError, TypeError, RuntimeError, IndexError):
            matrix = scipy.sparse.random(n, n, 0.5, "csr", random_state=0)
            matrix.indices = matrix.indices + draw(st.integers(-5, 5))
    return matrix


@given(st.lists(sparse_matrices(), min_size=1, max_size=2))
def test_sparse_matrices_with_any_index(matrices):
    outcome(lambda: isonn.as_graphset(matrices))


attributes = st.dictionaries(st.sampled_from(["label", "weight", "element", "order"]), things, max_size=3)
links = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), attributes), max_size=5)
choices = st.sampled_from(["auto", "auto", None, "label", "element", "weight", "missing"])


@given(
    st.lists(st.tuples(links, attributes, st.sampled_from([nx.Graph, nx.MultiDiGraph])), min_size=1, max_size=3),
    choices,
    choices,
)
def test_networkx_graphs_with_any_attributes(parts, label_from, edge_label_from):
    graphs = []
    for edges, given_attributes, kind in parts:
        graph = kind()
        graph.add_edges_from(edges)
        graph.add_node(0, **given_attributes)
        graphs.append(graph)
    outcome(lambda: isonn.as_graphset(graphs, label_from=label_from, edge_label_from=edge_label_from))


@given(links, st.lists(attributes, min_size=4, max_size=4), choices)
def test_igraph_graphs_with_any_attributes(edges, nodes, label_from):
    graph = igraph.Graph(4, [(u, v) for u, v, _ in edges])
    for key in ("label", "name", "element"):
        graph.vs[key] = [node.get(key) for node in nodes]
    for key in ("weight", "label"):
        if edges:
            graph.es[key] = [data.get(key) for _, _, data in edges]
    outcome(lambda: isonn.as_graphset([graph], label_from=label_from))


values = st.one_of(tensors, arrays(), things, st.lists(st.lists(numbers, max_size=3), max_size=3))


@pytest.fixture(scope="module")
def pyg():
    """Imported before the first case, whose time is limited."""
    return pytest.importorskip("torch_geometric.data")


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["x", "edge_attr", "edge_weight", "y", "z", "name", "num_nodes", "edge_index"]), values
        ),
        min_size=1,
        max_size=3,
    ),
    choices,
)
def test_pyg_data_with_anything_in_it(pyg, contents, label_from):
    graphs = []
    for content in contents:
        graph = pyg.Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
        for key, value in content.items():
            with contextlib.suppress(TypeError, ValueError, AttributeError):
                graph[key] = value
        graphs.append(graph)
    outcome(lambda: isonn.as_graphset(graphs, label_from=label_from))


@given(
    st.dictionaries(
        st.sampled_from(["ids", "class_names", "target_names", "table", "name"]),
        st.one_of(
            nested,
            arrays(),
            st.dictionaries(
                things.filter(lambda t: getattr(t, "__hash__", None) is not None and not isinstance(t, tuple)),
                nested,
                max_size=3,
            ),
        ),
    )
)
def test_whatever_stands_for_names(columns):
    outcome(lambda: isonn.as_graphset(np.ones((3, 2, 2)), [0, 1, 1], **columns))
