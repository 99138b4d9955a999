"""Views: what codes mean, what texts and names say, and views as parameters that are cloned and saved."""

from __future__ import annotations

from dataclasses import dataclass, replace

import networkx
import numpy as np
import pytest
from coded_graphs import rest
from rich_graphs import rich_graphs
from sklearn.base import clone

import isonn
from isonn.errors import InputError
from isonn.explain.template import NodeFacts
from isonn.graphs.join import graphset_from_cells
from isonn.subgraphs.encode import Encoding
from isonn.subgraphs.levels import degree_levels
from isonn.subgraphs.survey import DistinctValues
from isonn.subgraphs.views import VIEWS, DegreesView, LabelsView, RefinedView, View, get_view, register_view, views_of


@dataclass(frozen=True)
class ParityView(View):
    """Whether a node has an even number of neighbours: a view from outside the package."""

    odd: str = "odd"

    name = "parity"

    def codes(self, structure):
        return np.asarray(structure.degree % 2, dtype=np.int64), np.ones(len(structure.edges), dtype=np.int64)

    def node_facts(self, code, encoding):
        return NodeFacts(("even", self.odd)[code])


@pytest.fixture
def parity():
    register_view(ParityView)
    yield ParityView.name
    del VIEWS[ParityView.name]


def few_values(graphs):
    return replace(graphs, node_attributes=np.sign(graphs.node_attributes))


@pytest.mark.parametrize("attributes", [True, False])
@pytest.mark.parametrize("name", ["labels", "refined", "degrees", "parity"])
def test_every_view_keeps_the_contract(name, attributes, parity):
    graphs = few_values(rich_graphs())
    view = replace(get_view(name), node_attributes=attributes)
    encoding = Encoding.fit(DistinctValues().add(graphs), (view,), 2)
    codes = encoding.encode(graphs)
    assert codes.node_codes.shape == (
        1,
        graphs.node_offsets[-1],
    )
    assert codes.node_codes.min() >= 0
    assert codes.edge_codes.min() >= 1
    for i in range(len(graphs)):  # a code means the same whatever other graphs there are
        alone = encoding.encode(graphs[i : i + 1])
        nodes = slice(graphs.node_offsets[i], graphs.node_offsets[i + 1])
        np.testing.assert_array_equal(alone.node_codes, codes.node_codes[:, nodes])
    for facts_of, column in ((view.node_facts, codes.node_codes), (view.edge_facts, codes.edge_codes)):
        facts = [facts_of(code, encoding) for code in np.unique(column).tolist()]
        assert len(set(facts)) == len(facts)


def test_refined_facts_are_degrees_and_cycles_of_the_whole_graph():
    graphs = rich_graphs(20, p=0.25)
    encoding = Encoding.fit(DistinctValues().add(graphs), (RefinedView(),), 2)
    codes = encoding.encode(graphs)
    (view,) = encoding.views
    start = 0
    for i, graph in enumerate(graphs):
        whole = networkx.from_numpy_array(graph.adjacency != 0)
        bridges = {frozenset(edge) for edge in networkx.bridges(whole)}
        for v in whole:
            facts = view.node_facts(int(codes.node_codes[0, graphs.node_offsets[i] + v]), encoding)
            on_cycle = any(frozenset((v, u)) not in bridges for u in whole[v])
            assert (facts.label, facts.degree, facts.ring) == (graph.node_labels[v], whole.degree[v], on_cycle)
        for (a, b), label in zip(graph.edges.tolist(), graph.edge_labels.tolist(), strict=True):
            if a < b:
                facts = view.edge_facts(int(codes.edge_codes[0, start]), encoding)
                start += 1
                ring = frozenset((a, b)) not in bridges
                assert (facts.ring, facts.label) == (ring, None if ring else label)


def test_large_degrees_are_about_a_number():
    star = isonn.as_graphset([networkx.star_graph(12), networkx.star_graph(13)])
    vectorizer = isonn.SubgraphVectorizer(2, view="degrees").fit(star)
    (template,) = vectorizer.templates_
    assert sorted((facts.degree, facts.about) for facts in template.nodes) == [(1, False), (12, True)]
    assert degree_levels(np.array([12, 13])).tolist() == [9, 9]


def attributed(values, weights):
    """Paths of three nodes: the attribute of the first node and the weight of the first edge differ."""
    cells = [(0, 1), (1, 0), (1, 2), (2, 1)]
    g = len(values)
    return graphset_from_cells(
        np.repeat(np.arange(g), 4),
        cells * g,
        [3] * g,
        [w for weight in weights for w in (weight, weight, 1.0, 1.0)],
        node_attributes=[[v, 1.0] for value in values for v in (value, 0.0, 0.0)],
        y=np.arange(g) % 2,
    )


def test_texts_and_names_say_levels_of_weights_and_attributes():
    graphs = attributed([0.0, 0.0, 7.25, 7.25] * 2, [1.0, 2.5, 1.0, 2.5] * 2)
    vectorizer = isonn.SubgraphVectorizer(3, view="labels", min_support=1).fit(graphs)
    names = vectorizer.get_feature_names_out().tolist()
    texts = [template.text() for template in vectorizer.templates_]
    assert len(set(names)) == len(names)
    assert len(set(texts)) == len(texts)
    assert "labels [0 1]-2.5-[7.25 1]" in names or "labels [7.25 1]-2.5-[0 1]" in names
    for template, text in zip(vectorizer.templates_, texts, strict=True):
        weights = {facts.weight for facts in template.edges.values()}
        assert all(f"{weight:g}" in text for weight in weights)
        assert all(f"{facts.values[0]:g}" in text for facts in template.nodes)
        assert set(np.unique(template.adjacency[template.linked])) == weights


def test_a_reason_that_needs_a_weight_says_so():
    """All graphs hold linked nodes, and only the weight separates the classes."""
    graphs = attributed([0.0] * 20, [1.0, 3.0] * 10)
    clf = isonn.SubgraphClassifier(view=LabelsView(node_attributes=False), random_state=0).fit(graphs)
    for value, weight in ((0, "1"), (1, "3")):
        for reason in clf.reasons_[value]:
            held = {other: n for other, (n, _) in reason.graphs.items()}
            assert held[value] == 10
            assert weight in reason.text


@pytest.mark.parametrize("view", ["auto", ("labels", "refined", "degrees"), LabelsView(node_attributes=True)])
def test_names_of_columns_are_unique_and_say_the_view(view):
    vectorizer = isonn.SubgraphVectorizer(4, view=view, min_support=1).fit(few_values(rich_graphs()))
    names = vectorizer.get_feature_names_out()
    assert len(set(names)) == len(names) == len(vectorizer.templates_)
    assert all(
        name.startswith(f"{template.view} ") for name, template in zip(names, vectorizer.templates_, strict=True)
    )


def test_a_view_looks_only_at_the_columns_it_names():
    graphs = few_values(rich_graphs(30))
    view = LabelsView(edge_labels=False, node_attributes=True)
    mean = np.array([graph.node_attributes[:, 0].mean() for graph in graphs])
    clf = isonn.SubgraphClassifier(2, view=view, head="linear", random_state=0).fit(graphs, mean > np.median(mean))
    assert all(template.edge_labels is None for template in clf.templates_)
    assert all(facts.values is not None for template in clf.templates_ for facts in template.nodes)
    other = replace(graphs, edge_labels=np.full_like(graphs.edge_labels, 1))
    np.testing.assert_array_equal(clf.predict_proba(other), clf.predict_proba(graphs))
    changed = replace(graphs, node_attributes=-graphs.node_attributes)
    assert (clf.predict_proba(changed) != clf.predict_proba(graphs)).any()


VIEW_PARAMETERS = [
    LabelsView(edge_labels=False, node_attributes=True),
    (LabelsView(edge_weights=False), "degrees"),
    [RefinedView(node_labels=False)],
    "refined",
]


@pytest.mark.parametrize("view", VIEW_PARAMETERS, ids=str)
def test_views_survive_clone_save_and_load(view, tmp_path):
    graphs = few_values(rich_graphs(30))
    clf = isonn.SubgraphClassifier(2, view=view, head="linear", random_state=0)
    assert clone(clf).view == view
    again = clone(clf).fit(graphs)
    np.testing.assert_array_equal(again.predict_proba(graphs), clf.fit(graphs).predict_proba(graphs))
    clf.save(tmp_path / "model")
    loaded = isonn.load_model(tmp_path / "model")
    assert views_of(loaded.view) == views_of(view)
    np.testing.assert_array_equal(loaded.predict_proba(graphs), clf.predict_proba(graphs))
    refit = clone(loaded).fit(graphs)
    np.testing.assert_array_equal(refit.predict_proba(graphs), clf.predict_proba(graphs))


@pytest.mark.parametrize("given", ["parity", ParityView(odd="uneven")], ids=["name", "object"])
def test_a_view_from_outside_serves_the_estimator(given, parity, mutag, tmp_path):
    clf = isonn.SubgraphClassifier(3, view=given, head="linear", random_state=0).fit(mutag)
    isonn.testing.assert_relabelling_invariant(clf, mutag[:20])
    odd = views_of(given)[0].odd
    assert {facts.label for template in clf.templates_ for facts in template.nodes} == {"even", odd}
    e = clf.explain(mutag[0])
    assert e.node_importance.sum() + rest(e) == pytest.approx(e.score - e.base, abs=1e-9)
    assert odd in " ".join(clf.vectorizer_.get_feature_names_out())
    clf.save(tmp_path / "m")
    np.testing.assert_array_equal(isonn.load_model(tmp_path / "m").predict_proba(mutag), clf.predict_proba(mutag))


@pytest.mark.parametrize(
    ("view", "complaint"),
    [
        ("magic", "view='magic' is unknown; use one of 'labels', 'refined', 'degrees'"),
        (("labels", "magic"), "view='magic' is unknown"),
        (3, "view=3 is not a view; use 'auto', or one or several names"),
        ((), r"view=\(\) is not a view"),
        ((3,), "view=3 is unknown; use one of"),
    ],
)
def test_views_that_are_none_are_refused(view, complaint):
    with pytest.raises(InputError, match=complaint):
        isonn.SubgraphVectorizer(view=view).fit(rich_graphs())


def test_a_choice_of_columns_is_true_false_or_auto():
    with pytest.raises(InputError, match="edge_labels='yes' is unknown; use True, False or 'auto'"):
        LabelsView(edge_labels="yes")
    assert DegreesView() == get_view("degrees")
