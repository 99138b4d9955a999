from __future__ import annotations

import json
import warnings
from dataclasses import replace

import networkx
import numpy as np
import pytest
from rich_graphs import rich_graphs

import isonn
from isonn.errors import InputError
from isonn.graphs.graph import graphset_from_cells
from isonn.subgraphs import views
from isonn.subgraphs.bank import bank_subgraphs, edge_numbers, region_codes
from isonn.subgraphs.views import (
    EXACT_DEGREES,
    VIEWS,
    DistinctValues,
    Levels,
    View,
    check_undirected,
    degree_levels,
    degree_values,
    directed_graph,
    edges_on_cycles,
    encoding_from_json,
    fit_encoding,
    register_view,
)


def test_edges_on_cycles_are_those_that_are_no_bridges(monkeypatch):
    generator = np.random.default_rng(0)
    for _ in range(200):
        n = int(generator.integers(1, 30))
        ends = np.unique(np.sort(generator.integers(0, n, (int(generator.integers(0, 40)), 2)), axis=1), axis=0)
        ends = ends[ends[:, 0] < ends[:, 1]]
        bridges = set(networkx.bridges(networkx.Graph(ends.tolist())))
        expected = [(a, b) not in bridges and (b, a) not in bridges for a, b in ends.tolist()]
        assert edges_on_cycles(n, ends).tolist() == expected
        with monkeypatch.context() as patch:
            patch.setattr(views, "compiled", lambda: False)
            assert edges_on_cycles(n, ends).tolist() == expected


@pytest.mark.parametrize("width", [1, 3])
def test_gatherings_of_parts_join_to_that_of_the_whole(width, monkeypatch):
    monkeypatch.setattr(views, "MOST_NUMBERS", 50 * width)
    monkeypatch.setattr(views, "FEWEST_ROWS", 10)
    graphs = rich_graphs(40, p=0.3)
    attributes = np.random.default_rng(1).normal(size=(150, width)).repeat(20, axis=0)[: graphs.node_offsets[-1]]
    graphs = replace(graphs, node_attributes=attributes[np.argsort(np.arange(len(attributes)) % 7, kind="stable")])
    whole, joined = DistinctValues().add(graphs), DistinctValues()
    for start in (30, 0, 13):
        joined.join(DistinctValues().add(graphs[start : {30: 40, 0: 13, 13: 30}[start]]))
    assert joined.has == whole.has
    for name, labels in whole.labels.items():
        np.testing.assert_array_equal(joined.labels[name], labels)
    for name, values in whole.values.items():
        for column in ("rows", "often", "largest"):
            np.testing.assert_array_equal(getattr(joined.values[name], column), getattr(values, column))


def few_values(graphs):
    return replace(graphs, node_attributes=np.sign(graphs.node_attributes))


ALL = {"node_labels": True, "node_attributes": True, "edge_labels": True, "edge_weights": True}


def vector_by_definition(graph, nodes, encoding):
    """One-hot labels and standardised attributes of nodes; weight and one-hot label of pairs."""
    levels, scale = encoding.node_attributes, encoding.edge_weights.scale[0]
    parts = []
    for v in nodes:
        parts.append(encoding.node_labels == graph.node_labels[v])
        parts.append((graph.node_attributes[v] - levels.shift) / levels.scale)
    for i, a in enumerate(nodes):
        for b in nodes[i + 1 :]:
            (cell,) = np.nonzero((graph.edges == (a, b)).all(axis=1))
            label = graph.edge_labels[cell[0]] if len(cell) else None
            parts.append([graph.adjacency[a, b] / scale])
            parts.append([label == known for known in encoding.edge_labels])
    return np.concatenate(parts).astype(np.float32)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_a_region_is_the_labels_and_numbers_of_its_nodes_and_edges(k):
    graphs = few_values(rich_graphs())
    encoding = fit_encoding(graphs, ALL, (k,), views=("labels",))
    coded = encoding.encode(graphs)
    for i, graph in enumerate(graphs):
        part = coded.part(i, i + 1)
        nodes = np.array([np.random.default_rng(s).permutation(graph.n)[:k] for s in range(5)])
        vectors = encoding.vectors(0, region_codes(nodes, edge_numbers(part), part.views[0]), k)
        assert vectors.shape == (5, encoding.layout(0, k).width)
        expected = [vector_by_definition(graph, row, encoding) for row in nodes.tolist()]
        np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_the_second_view_has_the_degrees_in_the_whole_graph():
    graphs = rich_graphs()
    encoding = fit_encoding(graphs, ALL, (1, 2), views=("labels", "degrees"))
    assert encoding.sizes == ((1, 2), (2,))
    coded = encoding.encode(graphs)
    degrees = np.concatenate([(graph.adjacency != 0).sum(axis=1) for graph in graphs])
    np.testing.assert_equal(coded.views[1].node_codes, degree_levels(degrees))
    vector = encoding.vectors(1, np.array([[3, 5, 1], [0, 1, 0]]), 2)
    np.testing.assert_allclose(vector, [[2, np.log2(6), 1], [0, 1, 0]], rtol=1e-6)


def test_entries_say_what_each_number_of_a_region_is():
    encoding = fit_encoding(rich_graphs(), ALL, (2,), views=("labels", "degrees"))
    kinds, zero_one = encoding.entry_kinds(0, 2)
    assert kinds == [2, 2, 2, 3, 3] * 2 + [0, 1, 1, 1]
    assert zero_one == [True, True, True, False, False] * 2 + [False, True, True, True]
    assert encoding.entry_kinds(1, 2) == ([2, 2, 0], [False, False, True])


@pytest.mark.parametrize("text", [False, True])
def test_json_gives_the_same_encoding_back(text):
    graphs = rich_graphs(text=text)
    encoding = fit_encoding(graphs, ALL, (2, 3), views=("labels", "degrees"))
    again = encoding_from_json(json.loads(json.dumps(encoding.as_json())))
    assert again.sizes == encoding.sizes
    one, other = encoding.encode(graphs), again.encode(graphs)
    for view, same in zip(one.views, other.views, strict=True):
        np.testing.assert_equal(view.node_codes, same.node_codes)
        np.testing.assert_equal(view.edge_codes, same.edge_codes)
    regions = bank_subgraphs(one).banks[0][3].regions
    np.testing.assert_equal(again.vectors(0, regions, 3), encoding.vectors(0, regions, 3))


def test_codes_of_relabelled_graphs_are_the_relabelled_codes():
    graphs = rich_graphs()
    moved = graphs.relabelled(1)
    banks = [
        bank_subgraphs(fit_encoding(given, ALL, (1, 2, 3), views=("labels", "degrees")).encode(given)).banks
        for given in (graphs, moved)
    ]
    for one, other in zip(*banks, strict=True):
        for k, bank in one.items():
            np.testing.assert_equal(bank.regions, other[k].regions)
            np.testing.assert_equal(bank.counts.toarray(), other[k].counts.toarray())


def test_labels_never_seen_are_no_label_and_said_once_with_their_number():
    graphs = rich_graphs(text=False)
    encoding = fit_encoding(graphs[:3], ALL, (2,), views=("labels",))
    strange = rich_graphs()[:2]
    nodes = int(strange.sizes.sum())
    with pytest.warns(UserWarning, match=f"{nodes} of {nodes} nodes of graphs have a label never seen") as caught:
        encoding.warn_of_unseen(strange)
    assert len(caught) == 1
    coded = encoding.encode(strange)
    vectors = encoding.vectors(0, np.column_stack([coded.views[0].node_codes] * 2 + [np.ones(nodes, dtype=int)]), 2)
    np.testing.assert_equal(vectors[:, : len(encoding.node_labels)], 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoding.warn_of_unseen(graphs[:3])


def test_an_edge_label_never_seen_is_an_edge_without_label():
    graphs = rich_graphs()
    use = {**dict.fromkeys(ALL, False), "edge_labels": True}
    kept = graphs.edge_labels != 3
    fewer = graphset_from_cells(
        graphs.graph_of_cell[kept], graphs.edges[kept], graphs.sizes, None, graphs.edge_labels[kept]
    )
    encoding = fit_encoding(fewer, use, (2,), views=("labels",))
    unseen = int((~kept).sum() // 2)
    with pytest.warns(UserWarning, match=f"{unseen} of {len(kept) // 2} edges of graphs have a label"):
        encoding.warn_of_unseen(graphs)
    bank = bank_subgraphs(encoding.encode(graphs)).banks[0][2]
    np.testing.assert_equal(encoding.vectors(0, bank.regions, 2), [[1, 0, 0], [1, 1, 0], [1, 0, 1]])


def test_even_one_label_never_seen_is_counted_in_one_warning(mutag):
    rare = mutag.node_labels == np.bincount(mutag.node_labels).argmin()
    assert 0 < rare.sum() < 0.01 * len(rare)
    holds = np.isin(np.arange(len(mutag)), np.repeat(np.arange(len(mutag)), mutag.sizes)[rare])
    use = {**dict.fromkeys(ALL, False), "node_labels": True}
    encoding = fit_encoding(mutag[~holds], use, (2,), views=("labels",))
    with pytest.warns(
        UserWarning, match=f"^{rare.sum()} of {len(rare)} nodes of MUTAG have a label never seen"
    ) as said:
        encoding.warn_of_unseen(mutag)
    assert len(said) == 1


def test_labels_of_training_graphs_without_edges_are_no_error():
    labels = {"edge_labels": np.zeros(0, dtype=int)}
    bare = graphset_from_cells([], np.zeros((0, 2)), [2, 3], **labels)
    use = {**dict.fromkeys(ALL, False), "edge_labels": True, "edge_weights": True}
    encoding = fit_encoding(bare, use, (2,), views=("labels",))
    encoding.encode(bare)
    with pytest.warns(UserWarning, match="edges of graphs have a label never seen"):
        encoding.warn_of_unseen(rich_graphs())
    bank = bank_subgraphs(encoding.encode(rich_graphs())).banks[0][2]
    np.testing.assert_equal(encoding.vectors(0, bank.regions, 2), [[1.0]])


@pytest.mark.parametrize("name", ["node_labels", "node_attributes", "edge_labels"])
def test_columns_that_are_wanted_but_missing_are_refused(name):
    plain = isonn.as_graphset([[[0, 1], [1, 0]]])
    with pytest.raises(InputError, match=f"{name}=True, but graphs has none; use {name}='auto' or False"):
        fit_encoding(plain, {**dict.fromkeys(ALL, False), name: True}, (2,), views=("labels",))


@pytest.mark.parametrize("what", ["node labels", "edge labels", "node attributes"])
def test_columns_the_model_was_fitted_with_are_asked_for(what):
    use = {**dict.fromkeys(ALL, False), what.replace(" ", "_"): True}
    encoding = fit_encoding(rich_graphs(), use, (2,), views=("labels",))
    with pytest.raises(InputError, match=f"graphs has no {what}, but this model was fitted with them; add them"):
        encoding.encode(isonn.as_graphset([[[0, 1], [1, 0]]]))


def test_directed_graphs_are_found_by_edges_weights_and_labels():
    symmetric = rich_graphs()
    assert directed_graph(symmetric) is None
    above = symmetric.edges[:, 0] < symmetric.edges[:, 1]
    assert directed_graph(replace(symmetric, weights=symmetric.weights + above)) == 0
    one_way = isonn.as_graphset([[[0, 1], [1, 0]], [[0, 1, 0], [0, 0, 0], [0, 0, 0]]])
    assert directed_graph(one_way) == 1
    labels = np.array([1, 1, 1, 2])
    label = graphset_from_cells([0, 0, 1, 1], [(0, 1), (1, 0)] * 2, [2, 2], None, labels)
    assert directed_graph(label) == 1
    with pytest.raises(InputError, match=r"graph 1 of 2 is directed, .* make it symmetric, or use IsoNNClassifier"):
        check_undirected(one_way)


def test_an_edge_from_a_node_to_itself_is_left_out():
    loops = isonn.as_graphset([[[1, 1, 0], [1, 0, 1], [0, 1, 1]]])
    plain = isonn.as_graphset([[[0, 1, 0], [1, 0, 1], [0, 1, 0]]])
    use = dict.fromkeys(ALL, False)
    one, other = (
        fit_encoding(given, use, (2, 3), views=("labels", "degrees")).encode(given) for given in (loops, plain)
    )
    np.testing.assert_equal(one.edges, other.edges)
    np.testing.assert_equal(one.views[1].node_codes, other.views[1].node_codes)


def test_a_template_reads_as_the_region_it_equals():
    graphs = few_values(rich_graphs())
    encoding = fit_encoding(graphs, {**ALL, "edge_weights": False}, (3,), views=("labels", "degrees"))
    banked = bank_subgraphs(encoding.encode(graphs))
    region = banked.banks[0][3].regions[0]
    template = encoding.soft_template(0, 3, encoding.vectors(0, region[None], 3)[0])
    np.testing.assert_equal(template.adjacency, template.adjacency.T)
    assert set(template.adjacency.ravel().tolist()) == {0, 1}
    assert template.label_weights.shape == (3, 3)
    levels = len(encoding.node_attributes)
    np.testing.assert_equal(template.node_labels, encoding.node_labels[region[:3] // levels - 1])
    edges = np.argwhere(np.triu(template.adjacency))
    codes = dict(zip([(0, 1), (0, 2), (1, 2)], region[3:].tolist(), strict=True))
    for a, b in edges.tolist():
        assert template.edge_labels[a, b] == template.edge_labels[b, a] == encoding.edge_labels[codes[a, b] - 2]
    degrees = encoding.soft_template(1, 3, encoding.vectors(1, np.array([[0, 2, 8, 1, 0, 1]]), 3)[0]).degrees
    np.testing.assert_allclose(degrees, [0, 2, 8], rtol=1e-5)


def test_a_few_values_are_kept_exactly():
    values = np.array([0.3, -1.7, 0.3, 0.9])
    levels = Levels.of(values, 8, scale=True)
    np.testing.assert_allclose(levels.centres[levels.nearest(values), 0] * levels.scale[0], values, rtol=1e-15)
    rows = np.array([[1.0, 5.0], [2.0, 5.0], [1.0, 7.0]])
    levels = Levels.of(rows, 8)
    np.testing.assert_allclose(levels.centres[levels.nearest(rows)] * levels.scale + levels.shift, rows, rtol=1e-14)


def test_rows_are_standardised_to_the_distance_of_two_labels():
    rows = np.random.default_rng(0).choice([0.0, 1.0, 4.0], (2000, 3)) * [1, 10, 0.1]
    levels = Levels.of(rows, 100)
    scaled = levels.centres[levels.nearest(rows)]
    squares = ((scaled[:1000] - scaled[1000:]) ** 2).sum(axis=1)
    assert squares.mean() == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize("scale", [True, False])
def test_many_values_become_a_few_levels_whatever_their_order(scale):
    generator = np.random.default_rng(0)
    values = generator.normal(size=2000)
    levels = Levels.of(values, 8, scale)
    assert len(levels) == 8
    for _ in range(5):
        shuffled = Levels.of(generator.permutation(values), 8, scale)
        for name in ("shift", "scale", "centres"):
            np.testing.assert_equal(getattr(shuffled, name), getattr(levels, name))
    rows = (values[:, None] - levels.shift) / levels.scale
    nearest = np.abs(rows - levels.centres.T).argmin(axis=1)
    np.testing.assert_equal(levels.nearest(values), nearest)
    assert np.mean((rows[:, 0] - levels.centres[nearest, 0]) ** 2) < 0.05 * rows.var()


def test_no_values_and_one_value_are_levels_too():
    assert len(Levels.of(np.zeros(0), 8, scale=True)) == 1
    assert Levels.of(np.full(5, 3.0), 8).nearest(np.array([3.0, 9.0])).tolist() == [0, 0]
    assert Levels.of(np.array([1.0, 2.0]), 8).nearest(np.zeros(0)).shape == (0,)


def test_levels_of_degrees_rise_with_them_and_small_ones_are_exact():
    degrees = np.arange(5000)
    level = degree_levels(degrees)
    assert set(np.diff(level).tolist()) == {0, 1}
    np.testing.assert_equal(level[: EXACT_DEGREES + 1], degrees[: EXACT_DEGREES + 1])
    values = degree_values(level)
    assert np.abs(values - np.log2(1 + degrees)).max() <= 0.2501
    assert (np.diff(values) >= 0).all()


class ParityView(View):
    """Whether a node has an even number of neighbours: a view from outside the package."""

    name = "parity"

    def codes(self, structure):
        return np.asarray(structure.degree % 2, dtype=np.int64), np.ones(len(structure.edges), dtype=np.int64)

    def node_text(self, code, encoding, names):
        return ("even", "odd")[code]


@pytest.fixture
def parity():
    register_view(ParityView())
    yield ParityView.name
    del VIEWS[ParityView.name]


@pytest.mark.parametrize("name", ["labels", "refined", "degrees", "parity"])
def test_every_view_keeps_the_contract(name, parity):
    graphs = few_values(rich_graphs())
    encoding = fit_encoding(graphs, {**ALL, "node_attributes": False, "edge_weights": False}, (1, 2), views=(name,))
    (own,) = encoding.encode(graphs).views
    assert own.node_codes.shape == (graphs.node_offsets[-1],)
    assert own.node_codes.min() >= 0
    assert own.edge_codes.min() >= 1
    for i in range(len(graphs)):  # a code means the same whatever other graphs there are
        (alone,) = encoding.encode(graphs[i : i + 1]).views
        nodes = slice(graphs.node_offsets[i], graphs.node_offsets[i + 1])
        np.testing.assert_array_equal(alone.node_codes, own.node_codes[nodes])
    texts = {int(code): VIEWS[name].node_text(int(code), encoding, {}) for code in np.unique(own.node_codes)}
    assert len(set(texts.values())) == len(texts)


def test_a_view_from_outside_serves_the_estimator(parity, mutag, tmp_path):
    clf = isonn.SubgraphClassifier(k=(1, 2, 3), view=parity, random_state=0).fit(mutag)
    isonn.testing.assert_relabelling_invariant(clf, mutag[:20])
    assert {text for template in clf.templates_ for text in template.texts} == {"even", "odd"}
    clf.save(tmp_path / "m")
    np.testing.assert_array_equal(isonn.load_model(tmp_path / "m").predict_proba(mutag), clf.predict_proba(mutag))
