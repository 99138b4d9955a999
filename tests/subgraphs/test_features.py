"""Features: the equation of the docstring, from memory and from chunks, and the terms."""

from __future__ import annotations

import itertools

import networkx
import numpy as np
import pytest
from coded_graphs import PLANTED, counts_of

import isonn
from isonn.subgraphs.count import count_in_threads
from isonn.subgraphs.features import SumFeatures
from isonn.subgraphs.select import shorten
from isonn.subgraphs.table import join_tables
from isonn.subgraphs.terms import LARGEST_DEVIATION, TERM_WEIGHT, NumberTerms, SizeCounts, graph_terms, term_table
from isonn.subgraphs.vocabulary import Vocabulary
from isonn.targets import Numbers

EVERY = np.ones(PLANTED, dtype=bool)


def table_of(graphs, *cuts):
    """The vectorizer and the counts of graphs, in one or several chunks."""
    vectorizer = isonn.SubgraphVectorizer(3).fit(graphs)
    bounds = zip((0, *cuts), (*cuts, len(graphs)), strict=True)
    coded = [vectorizer.encoding_.encode(graphs[a:b]) for a, b in bounds]
    return vectorizer, join_tables([count_in_threads(chunk)[0] for chunk in coded])


@pytest.mark.parametrize("transform", ["log", "count"])
def test_features_are_those_of_the_docstring(graphs, transform):
    vectorizer, table = table_of(graphs)
    sizes = term_table(graphs, "graphs")
    vocabulary, counted = Vocabulary.learn(table, 2, EVERY)
    features = SumFeatures.learn(vocabulary, counted, sizes, EVERY, transform)
    expected = []
    for view, size in itertools.product(range(2), (1, 2, 3)):
        inside = (table.pieces()[:, :2] == (view, size)).all(axis=1)
        counts, often = counts_of(table).astype(float)[:, inside], table.support[inside] >= 2
        values = counts if transform == "count" else np.log1p(counts)
        divisor = np.sqrt((values**2).sum(axis=1).mean())
        if transform == "count":  # each column by itself
            divisor = np.sqrt((counts**2).mean(axis=0))[often] * often.sum()
        weight = 1 / size / (1 + 1 / 2 + 1 / 3)  # small pieces weigh more
        expected.append(values[:, often] / divisor * np.sqrt(weight / (2 + TERM_WEIGHT)))
    found = features.of(counted, sizes)
    assert found.shape == (PLANTED, features.columns)
    np.testing.assert_allclose(found.toarray(), np.hstack(expected), rtol=1e-6)  # squares are rounded
    np.testing.assert_allclose(features.of(vectorizer.count(graphs[3:5]), sizes[3:5]).toarray(), found[3:5].toarray())


@pytest.mark.parametrize("transform", ["log", "count"])
@pytest.mark.parametrize("double", [10, 1_000_000])
def test_features_from_chunks_are_those_from_memory(graphs, transform, double, monkeypatch):
    monkeypatch.setattr("isonn.subgraphs.table.DOUBLE_ENTRIES", double)
    (_, whole), (_, chunks) = table_of(graphs), table_of(graphs, 3, 17)
    sizes, found = term_table(graphs, "graphs"), []
    for table in (whole, chunks):
        vocabulary, counted = Vocabulary.learn(table, 2, EVERY)
        found.append(SumFeatures.learn(vocabulary, counted, sizes, EVERY, transform).of(counted, sizes))
        assert found[-1].dtype == (np.float32 if double == 10 else np.float64)
    np.testing.assert_allclose(found[0].toarray(), found[1].toarray(), rtol=1e-6)


def test_features_of_a_short_list_have_equal_deviations(graphs):
    _, table = table_of(graphs)
    vocabulary, counted = Vocabulary.learn(table, 3, EVERY)
    sizes, y = term_table(graphs, "graphs"), np.arange(PLANTED)[:, None] % 2.0
    whole = SumFeatures.learn(vocabulary, counted, sizes, EVERY)
    features, chosen, found = shorten(whole, counted, y, Numbers.fit(y), 6)
    assert len(chosen) == features.columns == 6
    np.testing.assert_array_equal(found.toarray() > 0, whole.of(counted, sizes)[:, chosen].toarray() > 0)
    np.testing.assert_allclose(found.toarray().std(axis=0), 1 / np.sqrt(6), rtol=1e-6)


def test_size_counts_are_nodes_edges_degrees_and_cycles():
    graphs = [networkx.cycle_graph(5), networkx.star_graph(12), networkx.complete_graph(4), networkx.empty_graph(2)]
    graphs += [networkx.disjoint_union_all(graphs), networkx.empty_graph(1)]
    found = SizeCounts().table(isonn.as_graphset(graphs))
    for graph, row in zip(graphs, found.tolist(), strict=True):
        nodes, edges = len(graph), graph.number_of_edges()
        degrees = np.bincount([min(degree, 9) for _, degree in graph.degree], minlength=10)
        assert row == [nodes, edges, *degrees.tolist(), len(networkx.cycle_basis(graph))]


def test_nodes_sum_to_the_size_terms_but_cycles(graphs):
    for i in range(3):
        terms = graph_terms(graphs[i : i + 1], "graphs")
        np.testing.assert_array_equal(terms.per_node.sum(axis=1), terms.values[terms.places])
        assert [terms.names[place] for place in set(range(13)) - set(terms.places.tolist())] == ["cycles"]


def test_further_terms_are_standardised_clipped_and_unknown_values_are_the_mean():
    generator = np.random.default_rng(0)
    further = generator.normal(5, 2, (40, 3))
    further[7, 1] = np.nan
    further[:, 2] = 4.0
    table = np.column_stack([generator.integers(1, 9, (40, 13)), further])
    terms = NumberTerms.learn(table, 2)
    found = terms.features(table) / terms.scale
    expected = (further - np.nanmean(further, axis=0)) / np.array([*np.nanstd(further[:, :2], axis=0), 1])
    np.testing.assert_allclose(found, np.nan_to_num(expected), atol=1e-9)
    assert (terms.features(table) ** 2).sum(axis=1).mean() == pytest.approx(TERM_WEIGHT / (2 + TERM_WEIGHT))
    np.testing.assert_array_equal(terms.features(np.nan_to_num(table) + 1e6) / terms.scale, LARGEST_DEVIATION)
    assert terms.filled(table)[7, 14] == pytest.approx(np.nanmean(further[:, 1]))
    np.testing.assert_array_equal(NumberTerms.restore(terms.tensors()).features(table), terms.features(table))


def test_repeats_of_graphs_change_no_scale(graphs):
    twice = isonn.GraphSet.concat([graphs, graphs])
    once = np.arange(2 * PLANTED) < PLANTED
    found = []
    for some, distinct in ((graphs, EVERY), (twice, once)):
        _, table = table_of(some)
        vocabulary, counted = Vocabulary.learn(table, 2, distinct)
        found.append(SumFeatures.learn(vocabulary, counted, term_table(some, "graphs"), distinct, "log"))
    np.testing.assert_allclose(found[1].scales, found[0].scales, rtol=1e-12)
