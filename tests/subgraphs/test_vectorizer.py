"""The vectorizer against the definition of counts, and as a transformer of scikit-learn."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import networkx
import numpy as np
import pytest
from coded_graphs import row_by_definition, subsets_by_definition
from rich_graphs import rich_graphs
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import isonn
from isonn import SubgraphVectorizer
from isonn.errors import InputError, IsoNNWarning, NotFittedError
from isonn.subgraphs import count as counting
from isonn.subgraphs import survey as surveying
from isonn.subgraphs import vectorizer as module


def pieces_by_definition(graph, k):
    """How often a graph holds each labelled piece of k nodes."""
    cells = list(map(tuple, graph.edges.tolist()))
    edges = dict(zip(cells, (1 + (graph.edge_labels == "=")).tolist(), strict=True))
    labels = graph.node_labels.tolist()
    return Counter(row_by_definition(nodes, labels, edges) for nodes in subsets_by_definition(graph.n, cells, k))


@pytest.mark.parametrize("min_support", [1, 2, 5])
def test_columns_are_the_pieces_of_enough_graphs_and_cells_their_counts(graphs, min_support):
    vectorizer = SubgraphVectorizer(3, view="labels", min_support=min_support)
    found = vectorizer.fit_transform(graphs).toarray()
    held = [sum((pieces_by_definition(graph, k) for k in (1, 2, 3)), Counter()) for graph in graphs]
    support = Counter(piece for own in held for piece in own)
    expected = np.array([[own[piece] for piece, n in support.items() if n >= min_support] for own in held])
    assert found.shape == expected.shape == (len(graphs), len(vectorizer.templates_))
    in_order = lambda counts: counts[:, np.lexsort(counts)]  # noqa: E731
    np.testing.assert_array_equal(in_order(found), in_order(expected))
    assert (found > 0).sum(axis=0).min() >= min_support


@pytest.mark.parametrize("view", ["auto", "degrees"])
def test_occurrences_sum_to_the_counts(graphs, view):
    vectorizer = SubgraphVectorizer(4, view=view).fit(graphs[:20])
    for i in range(15, 26):
        counts = np.zeros(len(vectorizer.templates_))
        for occurrence in vectorizer.occurrences(graphs[i]):
            counts[occurrence.column] += occurrence.weight
            assert len(occurrence.nodes) == vectorizer.templates_[occurrence.column].k
        np.testing.assert_array_equal(counts, vectorizer.transform(graphs[i : i + 1]).toarray()[0])


def test_an_occurrence_has_the_labels_of_its_template(graphs):
    vectorizer = SubgraphVectorizer(3, view="labels").fit(graphs)
    for occurrence in vectorizer.occurrences(graphs[1]):
        template = vectorizer.templates_[occurrence.column]
        nodes = list(occurrence.nodes)
        assert sorted(graphs[1].node_labels[nodes]) == sorted(template.node_labels)
        assert graphs[1].adjacency[np.ix_(nodes, nodes)].astype(bool).sum() == template.linked.sum()


def test_occurrences_of_sampled_graphs_weigh_as_much_as_the_counts():
    dense = [networkx.gnp_random_graph(25, 0.6, seed=i) for i in range(4)]
    with pytest.warns(IsoNNWarning, match=r"graphs: 4 of 4 graphs have more subgraphs than max_subgraphs .* sampled"):
        vectorizer = SubgraphVectorizer(max_subgraphs=300).fit(dense)
    assert sorted(vectorizer.sampled_) == [0, 1, 2, 3]
    assert all(0 < share < 1 for share in vectorizer.sampled_.values())
    found = vectorizer.occurrences(dense[0])
    counts = np.bincount([o.column for o in found], [o.weight for o in found], len(vectorizer.templates_))
    np.testing.assert_allclose(counts, vectorizer.transform(dense[:1]).toarray()[0], rtol=1e-9)


@pytest.mark.parametrize("at_once", [1, 9, 26])
def test_a_stream_gives_the_columns_and_counts_of_the_set(graphs, at_once, tmp_path):
    whole = SubgraphVectorizer(3).fit(graphs)
    streamed = SubgraphVectorizer(3).fit(isonn.stream(graphs, at_once, bank=tmp_path))
    assert streamed.get_feature_names_out().tolist() == whole.get_feature_names_out().tolist()
    expected = whole.transform(graphs).toarray()
    np.testing.assert_array_equal(streamed.transform(isonn.stream(graphs, at_once)).toarray(), expected)
    np.testing.assert_array_equal(streamed.transform(graphs).toarray(), expected)


def test_graphs_are_transformed_alike_in_chunks_of_any_size_and_by_threads(graphs, monkeypatch):
    expected = SubgraphVectorizer(3).fit_transform(graphs).toarray()
    monkeypatch.setattr(module, "GRAPHS_AT_ONCE", 5)
    monkeypatch.setattr(counting, "NODES_PER_BLOCK", 6)
    for n_jobs in (1, 2):
        np.testing.assert_array_equal(SubgraphVectorizer(3, n_jobs=n_jobs).fit_transform(graphs).toarray(), expected)


@pytest.mark.parametrize("last", [LogisticRegression(max_iter=5000), RandomForestClassifier(20, random_state=0)])
def test_it_serves_a_pipeline_of_scikit_learn(mutag, last):
    model = make_pipeline(SubgraphVectorizer(3), last)
    assert cross_val_score(model, mutag, mutag.y, cv=3).mean() > 0.75
    model.set_params(subgraphvectorizer__max_nodes=2).fit(mutag, mutag.y)
    assert len(model[:-1].get_feature_names_out()) == model[-1].n_features_in_
    assert issparse(model[0].transform(mutag))


def test_a_clone_is_unfitted_and_learns_the_same(graphs):
    vectorizer = SubgraphVectorizer(2, min_support=3).fit(graphs)
    again = clone(vectorizer)
    for call in (
        again.transform,
        again.occurrences,
        lambda _: again.get_feature_names_out(),
        lambda _: again.templates_,
    ):
        with pytest.raises(NotFittedError, match="this SubgraphVectorizer is not fitted; call fit first"):
            call(graphs[0])
    assert again.fit(graphs).get_feature_names_out().tolist() == vectorizer.get_feature_names_out().tolist()


def test_names_stay_unique_when_labels_share_a_name():
    graphs = rich_graphs(text=False)
    same = SubgraphVectorizer(2, view="labels")
    same.fit(replace(graphs, node_label_names={0: "C", 1: "C", 2: "C (2)"}))
    names = same.get_feature_names_out()
    assert len(set(names)) == len(names) == len(same.templates_)


def test_templates_are_a_sequence_printed_as_one_line(graphs):
    templates = SubgraphVectorizer(2, view="labels").fit(graphs).templates_
    assert repr(templates).startswith(f"Templates({len(templates)}: 3 of 1 node, ")
    assert [t.text() for t in templates[-2:]] == [templates[-2].text(), templates[len(templates) - 1].text()]
    with pytest.raises(IndexError, match="out of range"):
        templates[len(templates)]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"max_nodes": 0}, "max_nodes=0 is not valid; use 1 to 6"),
        ({"max_nodes": 7}, "max_nodes=7 is not valid; use 1 to 6"),
        ({"max_nodes": (1, 2)}, r"max_nodes=\(1, 2\) is not valid"),
        ({"max_nodes": True}, "max_nodes=True is not valid"),
        ({"min_support": 0}, "min_support=0 is not a count; use an integer >= 1"),
        ({"max_subgraphs": -5}, "max_subgraphs=-5 is not a count"),
        ({"n_jobs": 0}, "n_jobs=0 is not a count"),
        (
            {"min_support": 27},
            "graphs: no subgraph occurs in 27 different graphs .equal graphs count once.; use a lower min_support, "
            "more graphs, or labels that nodes share",
        ),
        ({"max_nodes": 1, "view": "degrees"}, "use a larger max_nodes or view='auto'"),
    ],
)
def test_impossible_settings_are_refused(graphs, settings, complaint):
    with pytest.raises(InputError, match=complaint):
        SubgraphVectorizer(**settings).fit(graphs)


def test_streams_without_graphs_or_that_change_are_refused(mutag):
    with pytest.raises(InputError, match="graphs has no graphs; give at least one"):
        SubgraphVectorizer().fit(isonn.stream([]))
    lengths = iter([188, 100])
    with pytest.raises(InputError, match="graphs held 188 graphs when first read and 100 afterwards"):
        SubgraphVectorizer().fit(isonn.stream(lambda: [mutag[: next(lengths)]], 50))


def test_a_failed_refit_leaves_nothing_fitted_behind(mutag):
    vectorizer = SubgraphVectorizer(2).fit(mutag)
    with pytest.raises(InputError, match="no subgraph occurs in 500 different graphs"):
        vectorizer.set_params(min_support=500).fit(mutag)
    with pytest.raises(NotFittedError, match="call fit first"):
        vectorizer.transform(mutag)


def test_smiles_are_standardised_as_the_training_graphs_were():
    molecules = pytest.importorskip("isonn.molecules")
    salts = ["CC[NH3+].[Cl-]", "CCC[NH3+].[Cl-]", "CCO", "CCCO"] * 2
    raw = molecules.from_smiles(salts, standardize="none")
    vectorizer = SubgraphVectorizer(2, min_support=1).fit(raw)
    np.testing.assert_array_equal(vectorizer.transform(salts).toarray(), vectorizer.transform(raw).toarray())
    assert len(vectorizer.occurrences(salts[0])) == len(vectorizer.occurrences(raw[0]))
    clf = isonn.SubgraphClassifier(2, head="linear", random_state=0).fit(raw, [0, 0, 1, 1] * 2)
    found = clf.vectorizer_.transform(salts).toarray()
    np.testing.assert_array_equal(found, clf.vectorizer_.transform(raw).toarray())


def test_fit_leaves_the_stream_as_it_was(mutag):
    stream = isonn.stream(mutag, 50)
    SubgraphVectorizer(2, n_jobs=2).fit(stream)
    assert stream.workers is None


def test_the_direction_of_training_graphs_is_checked_once(mutag, monkeypatch):
    calls = []
    monkeypatch.setattr(surveying, "directed_graph", lambda graphs: calls.append(len(graphs)))
    SubgraphVectorizer(2).fit(mutag)
    assert calls == [188]


def test_directed_graphs_are_refused_by_transform(mutag):
    one_way = isonn.as_graphset([np.triu(np.ones((3, 3)), 1)])
    vectorizer = SubgraphVectorizer(2).fit(isonn.as_graphset([np.ones((3, 3)) - np.eye(3)] * 2 + [np.ones((4, 4))]))
    with pytest.raises(InputError, match="graph 0 of 1 is directed"):
        vectorizer.transform(one_way)
    with pytest.raises(InputError, match="graph 0 of 1 is directed"):
        vectorizer.occurrences(one_way)
