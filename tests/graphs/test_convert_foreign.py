"""Graphs of NetworkX, igraph and PyTorch Geometric: each library's own matrix is the oracle."""

from __future__ import annotations

from dataclasses import replace

import igraph
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import isonn
from isonn.errors import InputError, IsoNNWarning
from isonn.graphs import GraphSet
from isonn.graphs.convert import as_graphset

nx = pytest.importorskip("networkx")


def symmetric(n: int, seed: int = 0) -> np.ndarray:
    upper = np.triu(np.random.default_rng(seed).integers(0, 3, size=(n, n)).astype(float))
    return upper + np.triu(upper, 1).T


# NetworkX


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_networkx_agrees_on_the_adjacency_matrix(kind):
    rng = np.random.default_rng(1)
    graphs = []
    for n in (5, 1, 8):
        graph = kind()
        graph.add_nodes_from(rng.permutation(n).tolist())
        for _ in range(12):  # with loops and, where the kind allows them, parallel edges
            graph.add_edge(*rng.integers(n, size=2).tolist(), weight=float(rng.normal()))
        graphs.append(graph)
    for ours, theirs in zip(as_graphset(graphs), graphs, strict=True):
        np.testing.assert_allclose(ours.adjacency, nx.to_numpy_array(theirs))


def test_parallel_edges_without_weights_count_once():
    graph = nx.MultiGraph([("a", "b"), ("b", "a"), ("b", "c")])
    graph.add_edge("a", "c", weight=2.0)
    graph.add_edge("a", "c", weight=3.0)
    graph.add_edge("a", "c")
    assert_array_equal(as_graphset([graph])[0].adjacency, [[0, 1, 6], [1, 0, 1], [6, 1, 0]])


def test_networkx_labels_and_names_are_read():
    graph = nx.Graph()
    graph.add_node("x", label="C")
    graph.add_node("y", label="N")
    graph.add_edge("y", "x", label=2)
    empty = nx.Graph()
    empty.add_node("z", label="O")
    graphs = as_graphset([graph, empty])
    assert_array_equal(graphs.node_labels, ["C", "N", "O"])
    assert_array_equal(graphs.node_names, ["x", "y", "z"])
    assert_array_equal(graphs.edge_labels, [2, 2])
    assert_array_equal(graphs[0].edges, [[0, 1], [1, 0]])


def test_numbers_in_order_name_nothing():
    assert as_graphset([nx.path_graph(2), nx.cycle_graph(3)]).node_names is None
    assert as_graphset([nx.path_graph(2), nx.Graph([("a", "b")])]).node_names.tolist() == ["0", "1", "a", "b"]


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ([(0, {"label": 1}), (1, {})], [], "graph 1 of 2 has no label on node 1 while others have one; label every"),
        ([(0, {"label": 1}), (1, {"label": "a"})], [], "graph 1 of 2 has node labels such as 1 and 'a'"),
        (
            [(0, {"label": "C"}), (1, {"label": "N"})],
            [],
            "node_labels are numbers in some graphs and strings in others",
        ),
        (
            [(0, {"label": 1}), (1, {"label": 1})],
            [(0, 1, {"weight": "heavy"})],
            "weight 'heavy', which is not a number",
        ),
        ([(0, {"label": 1}), (1, {"label": 1})], [(0, 1, {"weight": 1j})], "weight 1j, which is not a number"),
        (
            [(0, {"label": 1}), (1, {"label": 1})],
            [(0, 1, {"weight": np.nan})],
            "graph 1 of 2 has an edge of weight nan",
        ),
        ([(0, {}), (1, {})], [], "graph 1 of 2 has no node_labels while others have"),
        ([], [], "graph 1 of 2 has no nodes"),
    ],
)
def test_bad_networkx_graphs_are_named(nodes, edges, message):
    good = nx.Graph()
    good.add_node(0, label=1)
    bad = nx.Graph()
    bad.add_nodes_from(nodes)
    bad.add_edges_from(edges)
    with pytest.raises(InputError, match=message):
        as_graphset([good, bad])


def test_parallel_edges_of_different_labels_are_refused():
    graph = nx.MultiGraph()
    graph.add_edge(0, 1, label="single")
    graph.add_edge(0, 1, label="double")
    with pytest.raises(InputError, match=r"graph 0 of 1 has parallel edges .* labelled 'single' and 'double'"):
        as_graphset([graph])


# igraph


@pytest.mark.parametrize("directed", [False, True])
def test_igraph_and_networkx_agree(directed):
    rng = np.random.default_rng(2)
    kind = nx.MultiDiGraph if directed else nx.MultiGraph
    theirs, ours = [], []
    for n in (4, 6):
        graph = kind()
        for i in range(n):
            graph.add_node(f"v{i}", label=int(rng.integers(3)))
        for u, v in rng.integers(n, size=(10, 2)).tolist():
            graph.add_edge(f"v{u}", f"v{v}", weight=float(rng.integers(1, 5)), label="bond")
        other = igraph.Graph(n, directed=directed)
        other.vs["name"] = list(graph)
        other.vs["label"] = [label for _, label in graph.nodes(data="label")]
        other.add_edges([(u, v) for u, v, _ in graph.edges])
        other.es["weight"] = [weight for *_, weight in graph.edges(data="weight")]
        other.es["label"] = "bond"
        theirs.append(graph)
        ours.append(other)
    assert as_graphset(ours).digest == as_graphset(theirs).digest


def test_a_plain_igraph_graph_has_only_edges():
    graph = as_graphset([igraph.Graph.Ring(5)])[0]
    assert_array_equal(graph.adjacency, nx.to_numpy_array(nx.cycle_graph(5)))
    assert graph.weights is None
    assert graph.node_labels is None
    assert graph.node_names is None


# PyTorch Geometric


@pytest.fixture
def pyg():
    return pytest.importorskip("torch_geometric")


def data_of(pyg, n: int, seed: int, **rest):
    import torch

    edges = torch.tensor(np.argwhere(symmetric(n, seed)).T)
    return pyg.data.Data(edge_index=edges, num_nodes=n, **rest)


def test_pyg_agrees_on_the_adjacency_matrix(pyg):
    from torch_geometric.utils import to_dense_adj

    graphs = [data_of(pyg, n, n) for n in (3, 7)]
    for ours, theirs in zip(as_graphset(graphs), graphs, strict=True):
        assert_array_equal(ours.adjacency, to_dense_adj(theirs.edge_index, max_num_nodes=theirs.num_nodes)[0])


def test_a_loader_of_pyg_is_the_graphs_in_its_batches(pyg):
    from torch_geometric.loader import DataLoader

    graphs = [data_of(pyg, n, n, y=n % 2) for n in (3, 7, 4, 5, 6)]
    loaded = as_graphset(DataLoader(graphs, batch_size=2))
    expected = as_graphset(graphs)
    assert loaded.sizes.tolist() == expected.sizes.tolist() == [3, 7, 4, 5, 6]
    assert loaded.digest == expected.digest
    with pytest.raises(InputError, match="DataLoader that shuffles, so y has another order; give X.dataset"):
        as_graphset(DataLoader(graphs, batch_size=2, shuffle=True), [0, 1, 0, 1, 0])


@pytest.mark.parametrize("place", ["edge_weight", "edge_attr"])
def test_pyg_weights_are_read_and_repeated_edges_add_up(pyg, place):
    import torch
    from torch_geometric.utils import to_dense_adj

    edges, weights = torch.tensor([[0, 1, 0, 2], [1, 0, 1, 2]]), torch.tensor([1.5, 2.0, 0.25, 4.0])
    value = weights if place == "edge_weight" else weights[:, None]
    graph = as_graphset([pyg.data.Data(edge_index=edges, num_nodes=3, **{place: value})])[0]
    assert_array_equal(graph.adjacency, to_dense_adj(edges, edge_attr=weights, max_num_nodes=3)[0])


def test_pyg_one_hot_rows_are_labels_and_y_is_collected(pyg):
    import torch

    eye = torch.eye(3)
    graphs = []
    for n, seed in ((4, 1), (5, 2)):
        data = data_of(pyg, n, seed, y=torch.tensor([seed]))
        data.x = eye[torch.arange(n) % 3]
        data.edge_attr = eye[data.edge_index[0] % 3]
        graphs.append(data)
    result = as_graphset(graphs)
    assert_array_equal(result.node_labels, np.concatenate([np.arange(4) % 3, np.arange(5) % 3]))
    assert_array_equal(result.edge_labels, result.edges[:, 0] % 3)
    assert_array_equal(result.y, [1, 2])
    assert result.node_attributes is None
    assert_array_equal(as_graphset(graphs, y=["a", "b"]).y, ["a", "b"])


def test_one_graph_that_looks_one_hot_gets_attributes_like_the_others(pyg):
    import torch

    graphs = [data_of(pyg, 2, 0, x=torch.eye(2)), data_of(pyg, 2, 0, x=torch.tensor([[0.5, 2.0], [1.0, 0.0]]))]
    result = as_graphset(graphs)
    assert result.node_labels is None
    assert_array_equal(result.node_attributes, [[1, 0], [0, 1], [0.5, 2], [1, 0]])


def test_a_pyg_graph_without_edges_needs_no_edge_labels(pyg):
    import torch

    bond = pyg.data.Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2, edge_attr=torch.eye(2)[[1, 1]])
    atom = pyg.data.Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=1)
    assert_array_equal(as_graphset([atom, bond]).edge_labels, [1, 1])


def test_pyg_data_without_a_number_of_nodes_has_those_of_its_edges(pyg):
    import torch

    data = pyg.data.Data(edge_index=torch.tensor([[0, 3], [3, 0]]))
    assert as_graphset([data])[0].n == 4


def test_a_pyg_dataset_is_a_list(pyg):
    class Two(pyg.data.Dataset):
        def len(self):
            return 2

        def get(self, index):
            return data_of(pyg, 3 + index, index)

    assert as_graphset(Two()).digest == as_graphset([Two()[0], Two()[1]]).digest


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"edge_index": [[0, 5], [5, 0]]}, r"graph 1 of 2 has an edge \(0, 5\) but only nodes 0 to 2"),
        ({"edge_index": [[0, -1], [-1, 0]]}, r"graph 1 of 2 has an edge \(0, -1\)"),
        ({"edge_index": None}, "graph 1 of 2 is a Data without edge_index"),
        ({"edge_index": [[0, 1]]}, r"graph 1 of 2 has an edge_index of shape \(1, 2\)"),
        ({"edge_index": [[0.5, 1], [1, 0]]}, "graph 1 of 2 has an edge_index .*float32; use integers"),
        ({"x": [[1.0, 2.0]] * 2}, "graph 1 of 2 has 2 rows of x where 3 are needed"),
        ({"x": [[float("nan"), 2.0]] * 3}, "graph 1 of 2 has a node attribute nan"),
        ({"x": None}, "graph 1 of 2 has no x while others have"),
        ({"x": []}, r"graph 1 of 2 has 0 rows of x where 3 are needed"),
        ({"x": [[1.0]] * 3}, r"x has \[1, 2\] columns in different graphs"),
    ],
)
def test_bad_pyg_data_is_named(pyg, fields, message):
    import torch

    def make(**values):
        values = {"edge_index": [[0, 1], [1, 0]], "x": [[0.5, 1.0]] * 3, **values}
        return pyg.data.Data(num_nodes=3, **{k: None if v is None else torch.tensor(v) for k, v in values.items()})

    with pytest.raises(InputError, match=message):
        as_graphset([make(), make(**fields)])


def test_ragged_pyg_data_is_refused(pyg):
    data = data_of(pyg, 3, 1)
    data.x = [[1.0], [1.0, 2.0], [3.0]]
    with pytest.raises(InputError, match="x of the PyG data cannot be read .*; use a tensor"):
        as_graphset([data])


def test_a_pyg_batch_is_told_how_to_come_apart(pyg):
    batch = pyg.data.Batch.from_data_list([data_of(pyg, 3, 0)])
    with pytest.raises(InputError, match=r"single PyTorch Geometric Data.*batch.to_data_list\(\)"):
        as_graphset(batch)


# Which attributes are read


def molecule(name: str = "") -> nx.Graph:
    graph = nx.Graph(name=name)
    graph.add_node("a", element="C", charge=0)
    graph.add_node("b", element="O", charge=-1)
    graph.add_edge("a", "b", order=2)
    return graph


def as_igraph(graph: nx.Graph) -> igraph.Graph:
    other = igraph.Graph.from_networkx(graph)
    other.vs["name"] = other.vs["_nx_name"]
    del other.vs["_nx_name"]
    return other


@pytest.mark.parametrize("convert", [lambda graph: graph, as_igraph], ids=["networkx", "igraph"])
def test_labels_come_from_the_attribute_that_is_named(convert):
    graphs = as_graphset([convert(molecule("x"))] * 2, label_from="element", edge_label_from="order")
    assert_array_equal(graphs.node_labels, ["C", "O"] * 2)
    assert_array_equal(graphs.edge_labels, [2, 2] * 2)
    assert_array_equal(graphs.ids, ["x", "x"])
    assert_array_equal(graphs[0].node_names, ["a", "b"])


@pytest.mark.parametrize("convert", [lambda graph: graph, as_igraph], ids=["networkx", "igraph"])
def test_attributes_that_stay_unread_are_said_unless_none_are_wanted(convert):
    graph = convert(molecule())
    with pytest.warns(IsoNNWarning, match=r"no node has .* 'label'.*label_from=.* from one of charge, element"):
        as_graphset([graph], edge_label_from=None)
    with pytest.warns(IsoNNWarning, match=r"no edge has .* 'label'.*edge_label_from=.* from one of order"):
        as_graphset([graph], label_from=None)
    assert as_graphset([graph], label_from=None, edge_label_from=None).node_labels is None
    with pytest.raises(InputError, match="label_from='elment': no node has this attribute.*are charge, element"):
        as_graphset([graph], label_from="elment")


@pytest.fixture(autouse=True)
def _forget_warnings(monkeypatch):
    """Let each test see the warnings that are given once per process."""
    monkeypatch.setattr("isonn.graphs.foreign.links._GIVEN", set())


def servers(convert) -> list:
    graphs = []
    for i in range(4):
        graph = nx.path_graph(["a", "b", "c", "d"])
        nx.set_node_attributes(graph, "host", "label")
        nx.set_node_attributes(graph, {node: 0.5 + j + 10 * i for j, node in enumerate(graph)}, "load")
        nx.set_edge_attributes(graph, {edge: 0.25 + j + 10 * i for j, edge in enumerate(graph.edges)}, "length")
        graphs.append(convert(graph))
    return graphs


@pytest.mark.parametrize("convert", [lambda graph: graph, as_igraph], ids=["networkx", "igraph"])
def test_attributes_beside_labels_are_said_to_be_left_out_once(convert):
    graphs = servers(convert)
    with pytest.warns(IsoNNWarning) as warned:
        labels = [as_graphset(graphs).node_labels for _ in range(3)]
    assert_array_equal(labels, [["host"] * 16] * 3)
    said = [str(warning.message) for warning in warned]
    assert (
        said[0]
        == "node labels are read from 'label'; the other attributes (load) are left out; label_from=... reads another"
    )
    assert len(said) == 2  # the other is of edges


@pytest.mark.parametrize("convert", [lambda graph: graph, as_igraph], ids=["networkx", "igraph"])
def test_measurements_are_not_labels_but_orders_of_bonds_are(convert):
    with pytest.raises(
        InputError, match="label_from='load' holds measurements such as 0.5.*use them as node attributes"
    ):
        as_graphset(servers(convert), label_from="load", edge_label_from=None)
    with pytest.raises(InputError, match="edge_label_from='length' holds measurements.*call the attribute weight"):
        as_graphset(servers(convert), label_from=None, edge_label_from="length")
    bonds = nx.path_graph(["a", "b", "c"])
    nx.set_edge_attributes(bonds, {("a", "b"): 1.5, ("b", "c"): 2.0}, "order")
    assert_array_equal(as_graphset([convert(bonds)], edge_label_from="order").edge_labels, [1.5, 1.5, 2.0, 2.0])


def test_pyg_strings_are_ids_and_table_and_rows_of_y_are_targets(pyg):
    import torch

    graphs = [
        data_of(pyg, n, n, z=torch.arange(n), name=f"m{n}", smiles="C" * n, y=torch.tensor([[n, np.nan]]))
        for n in (3, 4)
    ]
    result = as_graphset(graphs, label_from="z")
    assert_array_equal(result.node_labels, [0, 1, 2, 0, 1, 2, 3])
    assert_array_equal(result.ids, ["m3", "m4"])
    assert_array_equal(result.table["smiles"], ["CCC", "CCCC"])
    assert_array_equal(result.y, [[3, np.nan], [4, np.nan]])
    with pytest.warns(IsoNNWarning, match="no node has the attribute 'x'.* from one of z"):
        assert as_graphset(graphs).node_labels is None


def test_pyg_edges_with_many_numbers_are_said_to_stay_unread(pyg):
    import torch

    data = data_of(pyg, 3, 1)
    data.edge_attr = torch.full((data.num_edges, 2), 0.5)
    with pytest.warns(IsoNNWarning, match="edge_attr has 2 real numbers per edge, which are not read"):
        as_graphset([data])
    assert as_graphset([data], edge_label_from=None).weights is None


def test_names_given_beside_the_graphs_are_kept():
    graphs = as_graphset(
        np.ones((2, 3, 3)),
        y=[0, 1],
        ids=[17, 18],
        class_names={0: "healthy", 1: "ill"},
        target_names=["state"],
        table={"age": [30, 40]},
    )
    assert_array_equal(graphs.ids, ["17", "18"])
    assert (graphs.class_names, graphs.target_names) == ({0: "healthy", 1: "ill"}, ("state",))
    assert graphs[1].row == {"age": 40}
    assert as_graphset(list(graphs), graphs.y).ids.tolist() == ["17", "18"]


def test_nodes_of_networkx_in_another_order_keep_their_ids():
    graph = nx.Graph([(7, 3), (3, 9)])
    (converted,) = as_graphset([graph])
    assert converted.node_names.tolist() == ["7", "3", "9"]
    assert not converted.has_named_nodes  # ids are no names in words
    assert as_graphset([nx.path_graph(3)]).node_names is None
    assert as_graphset([nx.grid_2d_graph(1, 2)])[0].node_names.tolist() == ["(0, 0)", "(0, 1)"]


def test_graphs_of_networkx_with_and_without_ids_of_their_own_are_joined():
    plain, cut_out = as_graphset([nx.path_graph(3)]), as_graphset([nx.Graph([(7, 3)])])
    assert GraphSet.concat([plain, cut_out]).node_names.tolist() == ["0", "1", "2", "7", "3"]
    assert as_graphset([plain[0], cut_out[0]]).node_names.tolist() == ["0", "1", "2", "7", "3"]
    named = as_graphset([nx.Graph([("a", "b")])])
    for one, other in ((plain, named), (replace(plain, kind="connectomes"), replace(cut_out, kind="connectomes"))):
        with pytest.raises(InputError, match="has node_names where graphs has none"):
            GraphSet.concat([one, other])


def test_an_explanation_names_the_ids_of_networkx():
    graphs, y = [], []
    for i in range(40):
        graph = nx.path_graph(6)
        nx.set_node_attributes(graph, "p", "label")
        order = np.random.default_rng(i).permutation(6).tolist()
        if i % 2:
            graph.nodes[2]["label"] = "tank"
        graphs.append(nx.relabel_nodes(graph, dict(enumerate(order))))
        y.append(i % 2)
    clf = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(graphs, y)
    tank = next(node for node, label in graphs[1].nodes(data="label") if label == "tank")
    explanation = clf.explain(graphs[1])
    assert explanation.node_name(list(graphs[1]).index(tank)) == f"tank {tank}"


@pytest.mark.parametrize("convert", [lambda graph: graph, as_igraph], ids=["networkx", "igraph"])
def test_edges_of_weight_zero_are_counted_in_a_warning(convert):
    graph = nx.path_graph(4)
    nx.set_edge_attributes(graph, {edge: float(edge[0] != 0) for edge in graph.edges}, "weight")
    with pytest.warns(IsoNNWarning, match="2 of 6 edges .* have weight 0 and count as no edge"):
        assert len(as_graphset([convert(graph)])[0].edges) == 4


def test_targets_that_only_some_graphs_have_are_left_out_with_a_warning(pyg):
    import torch

    graphs = [data_of(pyg, 3, 0, y=torch.tensor([1])), data_of(pyg, 3, 1)]
    with pytest.warns(IsoNNWarning, match="y is left out: graph 1 of 2 has no y"):
        assert as_graphset(graphs).y is None
    with pytest.warns(IsoNNWarning, match=r"y is left out: .* shapes such as \(3,\); give \(1, t\)"):
        assert as_graphset([data_of(pyg, 3, 0, y=torch.zeros(3))] * 2).y is None
    with pytest.warns(IsoNNWarning, match=r"y is left out: .* shapes such as \(1, 0\)"):
        assert as_graphset([data_of(pyg, 3, 0, y=torch.zeros(1, 0))] * 2).y is None
    assert as_graphset([data_of(pyg, 3, 0, y=torch.zeros(1, 3))] * 2).y.shape == (2, 3)


@pytest.mark.parametrize("one_hot_first", [True, False])
def test_a_one_hot_label_among_attributes_is_named(pyg, one_hot_first):
    import torch

    label, numbers = torch.eye(3), torch.tensor([[0.3], [0.7], [1.2]])
    columns = [label, numbers] if one_hot_first else [numbers, label]
    place = "0 to 2" if one_hot_first else "1 to 3"
    with pytest.warns(IsoNNWarning, match=f"columns {place} of x look like a one-hot label"):
        as_graphset([data_of(pyg, 3, 0, x=torch.cat(columns, dim=1))] * 2)
