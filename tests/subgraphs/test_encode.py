"""Encodings: codes mean what the graphs carry, unseen labels are no label, missing ones are asked for."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from coded_graphs import as_counts, assert_same_counts, count_table
from rich_graphs import rich_graphs

import isonn
from isonn.errors import InputError
from isonn.graphs.join import graphset_from_cells
from isonn.subgraphs.encode import Encoding
from isonn.subgraphs.survey import DistinctValues
from isonn.subgraphs.views import COLUMNS, DegreesView, LabelsView, RefinedView

NOTHING = dict.fromkeys(COLUMNS, False)
ALL = LabelsView(**dict.fromkeys(COLUMNS, True))
PAIR = isonn.as_graphset([[[0, 1], [1, 0]]])


def encoding_of(graphs, *views, max_nodes=3):
    return Encoding.fit(DistinctValues().add(graphs), views or (ALL,), max_nodes)


def few_values(graphs):
    return replace(graphs, node_attributes=np.sign(graphs.node_attributes))


def test_a_code_means_the_label_and_the_numbers_of_its_node_or_edge():
    graphs = few_values(rich_graphs())
    encoding = encoding_of(graphs)
    codes = encoding.encode(graphs)
    for code, label, values in zip(
        codes.node_codes[0].tolist(), graphs.node_labels, graphs.node_attributes, strict=True
    ):
        facts = ALL.node_facts(code, encoding)
        assert facts.label == label
        np.testing.assert_allclose(facts.values, values, atol=1e-12)
    once = graphs.edges[:, 0] < graphs.edges[:, 1]
    edges = zip(codes.edge_codes[0].tolist(), graphs.edge_labels[once], graphs.weights[once], strict=True)
    for code, label, weight in edges:
        assert ALL.edge_facts(code, encoding) == (label, pytest.approx(weight), None)


def test_a_template_reads_as_the_row_it_equals():
    graphs = few_values(rich_graphs())
    encoding = encoding_of(graphs, ALL, DegreesView())
    for (view, k), (rows, _) in as_counts(count_table(encoding.encode(graphs))).items():
        for row in rows[:5]:
            template = encoding.template(np.array([view, k, *row.tolist()]), {})
            look = encoding.views[view]
            assert template.nodes == tuple(look.node_facts(int(code), encoding) for code in row[:k])
            np.testing.assert_array_equal(template.adjacency, template.adjacency.T)
            upper = template.adjacency[np.triu_indices(k, 1)]
            np.testing.assert_array_equal(upper != 0, row[k:] > 0)
            weights = [look.edge_facts(int(code), encoding).weight or 1.0 for code in row[k:] if code]
            np.testing.assert_allclose(upper[upper != 0], weights, rtol=1e-6)


@pytest.mark.parametrize("text", [False, True])
def test_json_gives_the_same_encoding_back(text):
    graphs = rich_graphs(text=text)
    encoding = encoding_of(graphs, ALL, RefinedView(), DegreesView())
    again = Encoding.from_json(json.loads(json.dumps(encoding.as_json())))
    assert (again.views, again.sizes) == (encoding.views, encoding.sizes)
    codes, same = encoding.encode(graphs), again.encode(graphs)
    np.testing.assert_array_equal(codes.node_codes, same.node_codes)
    np.testing.assert_array_equal(codes.edge_codes, same.edge_codes)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"sizes": [[1, 2]]}, "it has sizes of 1 views and 2 views"),
        ({"sizes": [[1], [9]]}, "max_nodes=9 is not valid; use 1 to 6"),
        ({"labels": {}}, "it has no node_labels for view 'labels'"),
        ({"views": [{"view": "magic"}, {"view": "magic"}]}, "view='magic' is unknown"),
    ],
)
def test_a_forged_encoding_is_refused(change, complaint):
    stored = encoding_of(rich_graphs(), ALL, DegreesView()).as_json()
    with pytest.raises(InputError, match=complaint):
        Encoding.from_json({**stored, **change})


def test_relabelled_graphs_have_equal_counts():
    graphs = rich_graphs()
    views = (ALL, RefinedView(node_attributes=True), DegreesView())
    before, after = (encoding_of(given, *views).encode(given) for given in (graphs, graphs.relabelled(1)))
    assert_same_counts(as_counts(count_table(before)), as_counts(count_table(after)))


def test_a_label_never_seen_is_no_label_and_said_once_with_its_number(mutag):
    rare = mutag.node_labels == np.bincount(mutag.node_labels).argmin()
    assert 0 < rare.sum() < 0.01 * len(rare)
    holds = np.isin(np.arange(len(mutag)), np.repeat(np.arange(len(mutag)), mutag.sizes)[rare])
    clf = isonn.SubgraphClassifier(2, view="labels", random_state=0).fit(mutag[~holds])
    with pytest.warns(UserWarning, match=f"^{rare.sum()} of {len(rare)} nodes of MUTAG have a label never") as said:
        clf.predict(mutag)
    assert len(said) == 1
    encoding, view = clf.vectorizer_.encoding_, clf.vectorizer_.encoding_.views[0]
    codes = encoding.encode(mutag).node_codes[0]
    assert {view.node_facts(int(code), encoding).label for code in codes[rare]} == {None}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.predict(mutag[~holds])


def test_an_edge_label_never_seen_is_an_edge_without_label():
    graphs, view = rich_graphs(), LabelsView(**{**NOTHING, "edge_labels": True})
    kept = graphs.edge_labels != 3
    cells = graphs.graph_of_cell[kept], graphs.edges[kept], graphs.sizes, None, graphs.edge_labels[kept]
    encoding = encoding_of(graphset_from_cells(*cells), view)
    unseen = int((~kept).sum() // 2)
    assert encoding.unseen_labels(graphs) == [f"{unseen} of {len(kept) // 2} edges"]
    codes = encoding.encode(graphs).edge_codes[0]
    found = [view.edge_facts(int(code), encoding).label for code in codes]
    once = graphs.edges[:, 0] < graphs.edges[:, 1]
    assert found == [label if label != 3 else None for label in graphs.edge_labels[once].tolist()]


def test_text_labels_are_never_seen_by_a_model_of_numbers():
    encoding, strange = encoding_of(rich_graphs(text=False)[:3]), rich_graphs()[:2]
    nodes = int(strange.sizes.sum())
    assert f"{nodes} of {nodes} nodes" in encoding.unseen_labels(strange)


def test_labels_of_training_graphs_without_edges_are_no_error():
    bare = graphset_from_cells([], np.zeros((0, 2)), [2, 3], edge_labels=np.zeros(0, dtype=int))
    encoding = encoding_of(bare, LabelsView(**{**NOTHING, "edge_labels": True, "edge_weights": True}))
    encoding.encode(bare)
    assert set(encoding.encode(rich_graphs()).edge_codes[0].tolist()) == {1}


@pytest.mark.parametrize("name", ["node_labels", "node_attributes", "edge_labels"])
def test_columns_that_are_wanted_but_missing_are_refused(name):
    with pytest.raises(InputError, match=f"{name}=True, but graphs has none; use {name}='auto' or False"):
        isonn.SubgraphVectorizer(2, view=LabelsView(**{**NOTHING, name: True})).fit(PAIR)


@pytest.mark.parametrize("what", ["node labels", "edge labels", "node attributes"])
def test_columns_the_model_was_fitted_with_are_asked_for(what):
    view = LabelsView(**{**NOTHING, what.replace(" ", "_"): True})
    vectorizer = isonn.SubgraphVectorizer(2, view=view).fit(rich_graphs())
    with pytest.raises(InputError, match=f"graphs has no {what}, but this model was fitted with them; add them"):
        vectorizer.transform(PAIR)


def test_an_edge_from_a_node_to_itself_is_left_out():
    loops = isonn.as_graphset([[[1, 1, 0], [1, 0, 1], [0, 1, 1]]])
    plain = isonn.as_graphset([[[0, 1, 0], [1, 0, 1], [0, 1, 0]]])
    one, other = (encoding_of(given, LabelsView(), DegreesView()).encode(given) for given in (loops, plain))
    np.testing.assert_array_equal(one.edges, other.edges)
    np.testing.assert_array_equal(one.node_codes, other.node_codes)
    np.testing.assert_array_equal(one.edge_codes, other.edge_codes)
