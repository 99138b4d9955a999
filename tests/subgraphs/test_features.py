"""Features: the equation of the docstring, from memory and from chunks, and the size terms."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from coded_graphs import PLANTED, planted

import isonn
from isonn.subgraphs import features as module
from isonn.subgraphs.features import SumFeatures
from isonn.subgraphs.table import join_chunks
from isonn.subgraphs.terms import SIZE_WEIGHT, SizeTerms, size_counts
from isonn.subgraphs.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def graphs():
    return planted()


def tables_of(graphs, *cuts):
    """The vectorizer and the counts of graphs, in one or several chunks."""
    vectorizer = isonn.SubgraphVectorizer(3).fit(graphs)
    bounds = zip((0, *cuts), (*cuts, len(graphs)), strict=True)
    return vectorizer, join_chunks([vectorizer._count_in_memory(graphs[a:b])[0] for a, b in bounds])


@pytest.mark.parametrize("row_norm", [True, False])
def test_features_are_logarithms_of_counts_over_the_norm_of_all_pieces(graphs, row_norm):
    vectorizer, tables = tables_of(graphs)
    sizes = size_counts(graphs)
    vocabulary, _ = Vocabulary.learn(tables, 2)
    features = SumFeatures.learn(vocabulary, tables, sizes, row_norm)
    expected = []
    for table in tables:  # two views of three sizes each
        logs = np.log1p(table.counts.toarray().astype(float))
        norms = np.linalg.norm(logs, axis=1, keepdims=True)
        norms = np.where(norms > 0, norms, 1)  # a graph without any piece of this size
        divisor = norms if row_norm else np.sqrt((norms**2).mean())
        expected.append((logs / divisor)[:, table.support >= 2] / np.sqrt(3 * (2 + SIZE_WEIGHT)))
    expected.append(SizeTerms.learn(sizes, 2).features(sizes))
    found = features.of(tables, sizes)
    assert found.shape == (PLANTED, features.columns)
    np.testing.assert_allclose(found.toarray(), np.hstack(expected), rtol=1e-12)
    np.testing.assert_allclose(features.of(vectorizer.count(graphs[3:5]), sizes[3:5]).toarray(), found[3:5].toarray())


@pytest.mark.parametrize("row_norm", [True, False])
@pytest.mark.parametrize("double", [10, 1000])
def test_features_from_chunks_are_those_from_memory(graphs, row_norm, double, monkeypatch):
    monkeypatch.setattr(module, "DOUBLE_GRAPHS", double)
    (_, whole), (_, chunks) = tables_of(graphs), tables_of(graphs, 3, 17)
    sizes, found = size_counts(graphs), []
    for tables in (whole, chunks):
        vocabulary, places = Vocabulary.learn(tables, 2)
        features = SumFeatures.learn(vocabulary, tables, sizes, row_norm)
        found.append(features.of(tables, sizes, places))
        assert found[-1].dtype == (np.float32 if double == 10 else np.float64)
        np.testing.assert_array_equal(features.of(tables, sizes).toarray(), found[-1].toarray())
    np.testing.assert_allclose(found[0].toarray(), found[1].toarray(), rtol=1e-6)


def test_each_view_and_the_size_have_their_weight(graphs):
    _, tables = tables_of(graphs)
    vocabulary, _ = Vocabulary.learn(tables, 1)  # all pieces are templates
    squares = SumFeatures.learn(vocabulary, tables, size_counts(graphs), True).of(tables, size_counts(graphs)).power(2)
    first = len(vocabulary)
    halfway = next(block.first for block in vocabulary.blocks if block.view == 1)
    shares = [squares[:, a:b].sum(axis=1).mean() for a, b in ((0, halfway), (halfway, first), (first, None))]
    np.testing.assert_allclose(shares, np.array([1, 1, SIZE_WEIGHT]) / (2 + SIZE_WEIGHT), rtol=0.05)


def test_standardised_features_have_equal_deviations(graphs):
    _, tables = tables_of(graphs)
    vocabulary, _ = Vocabulary.learn(tables, 3)
    plain = SumFeatures(vocabulary, np.ones(len(vocabulary)), False, SizeTerms.empty())
    features, found = plain.standardised(plain.of(tables, size_counts(graphs)))
    np.testing.assert_allclose(features.of(tables, size_counts(graphs)).toarray(), found.toarray(), rtol=1e-12)
    deviation = found.toarray().std(axis=0)
    np.testing.assert_allclose(deviation[deviation > 1e-6], 1 / np.sqrt(len(vocabulary)), rtol=1e-6)


def test_size_counts_are_nodes_edges_cycles_and_degrees():
    graphs = [networkx.cycle_graph(5), networkx.star_graph(12), networkx.complete_graph(4), networkx.empty_graph(2)]
    found = size_counts(isonn.as_graphset(graphs))
    for graph, row in zip(graphs, found.tolist(), strict=True):
        nodes, edges = len(graph), graph.number_of_edges()
        degrees = np.bincount([min(degree, 9) for _, degree in graph.degree], minlength=10)
        assert row == [nodes, edges, max(edges - nodes + 1, 0), *degrees.tolist()]


def test_size_terms_are_standardised_logarithms_and_steps(graphs):
    counts = size_counts(graphs)
    terms = SizeTerms.learn(counts, 2)
    found = terms.features(counts) / terms.scale
    logs = np.log1p(counts.astype(float))
    deviation = logs.std(axis=0)
    np.testing.assert_allclose(found[:, :13], (logs - logs.mean(axis=0)) / np.where(deviation > 0, deviation, 1))
    steps = found[:, 13:]
    np.testing.assert_allclose(steps.mean(axis=0), 0, atol=1e-12)
    assert all(len(set(np.round(column, 9))) <= 2 for column in steps.T)
    again = SizeTerms.restore(terms.tensors())
    np.testing.assert_array_equal(again.features(counts), terms.features(counts))
    assert SizeTerms.empty().features(counts).shape == (PLANTED, 0)
