"""Counting: the numbers of the definition, whatever the views, codes, threads, chunks and node orders."""

from __future__ import annotations

from dataclasses import replace

import igraph
import networkx
import numpy as np
import pytest
from coded_graphs import (
    MANY,
    SIZES,
    as_counts,
    assert_same_counts,
    coded,
    count_table,
    counts_by_definition,
    counts_of,
    labelled,
    row_by_definition,
    subsets_by_definition,
)
from scipy.sparse import csr_array

import isonn
from isonn.errors import InputError
from isonn.subgraphs import count as counting
from isonn.subgraphs.count import count_in_threads
from isonn.subgraphs.kernels import MAX_EDGE_CODE, MAX_NODE_CODE
from isonn.subgraphs.table import join_tables
from isonn.subgraphs.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def graphs():
    shapes = [(8, 0.3), (7, 0.5), (3, 0.9), (9, 0.25), (2, 1), (1, 0), (6, 0), (10, 0.2)]
    return [labelled(n, p, seed, labels=3) for seed, (n, p) in enumerate(shapes)]


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6])
def test_counts_are_those_of_the_definition_in_every_view(graphs, k):
    given = coded(graphs, (k,), second=(k,))
    table = count_table(given)
    assert_same_counts(as_counts(table), counts_by_definition(given))
    np.testing.assert_array_equal(table.support, (counts_of(table) > 0).sum(axis=0))
    assert (table.graphs, table.support.min(initial=1)) == (len(graphs), 1)


@pytest.mark.parametrize("seed", range(4))
def test_random_graphs_are_counted_by_the_definition(seed):
    generator = np.random.default_rng(seed)
    graphs = [
        labelled(int(generator.integers(1, 11)), generator.random(), 100 * seed + i, int(generator.integers(1, 6)))
        for i in range(6)
    ]
    given = coded(graphs, SIZES, second=(2, 4))
    assert_same_counts(as_counts(count_table(given)), counts_by_definition(given))


@pytest.mark.parametrize(("node_step", "edge_step"), [(2**9, 1), (2**29, 900), (2**29, 1)])
def test_codes_that_take_several_words_are_counted_alike(graphs, node_step, edge_step):
    small = coded(graphs, (2, 3, 5, 6), second=(1, 4))
    steps = np.array([[node_step], [1]]), np.array([[edge_step], [1]])
    given = replace(small, node_codes=small.node_codes * steps[0], edge_codes=small.edge_codes * steps[1])
    assert_same_counts(as_counts(count_table(given)), counts_by_definition(given))


def relabelled(graph, generator):
    order = generator.permutation(len(graph)).tolist()
    moved = networkx.Graph()
    moved.add_nodes_from((order[v], graph.nodes[v]) for v in sorted(graph, key=order.__getitem__))
    moved.add_edges_from((order[a], order[b], data) for a, b, data in graph.edges(data=True))
    return moved


@pytest.mark.parametrize("limit", [MANY, 8])
def test_relabelling_the_nodes_changes_nothing(graphs, limit):
    generator = np.random.default_rng(0)
    (before,) = count_in_threads(coded(graphs, second=(3,)), limit)
    (after,) = count_in_threads(coded([relabelled(graph, generator) for graph in graphs], second=(3,)), limit)
    assert before.sampled == pytest.approx(after.sampled)
    assert bool(before.sampled) == (limit == 8)
    assert_same_counts(as_counts(before), as_counts(after), rtol=1e-12)


@pytest.mark.parametrize("limit", [MANY, 15])
def test_the_order_of_graphs_changes_the_order_of_rows_only(graphs, limit):
    order = np.random.default_rng(0).permutation(len(graphs))
    found = as_counts(count_table(coded([graphs[i] for i in order]), limit))
    assert_same_counts(found, as_counts(count_table(coded(graphs), limit)), rtol=1e-12, graphs=order)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_no_count(graphs, n_jobs, monkeypatch):
    given = coded(graphs * 2, second=(2, 3))
    (whole,) = count_in_threads(given, 30)
    monkeypatch.setattr(counting, "NODES_PER_BLOCK", 6)
    chunks = count_in_threads(given, 30, n_jobs=n_jobs)
    assert len(chunks) > 5
    joined = join_tables(chunks)
    assert joined.sampled == whole.sampled
    assert_same_counts(as_counts(joined), as_counts(whole))


@pytest.mark.parametrize("limit", [MANY, 10])
def test_equal_graphs_have_equal_counts_and_equal_samples(graphs, limit):
    given = coded([graphs[i] for i in (0, 1, 0, 2, 1)])
    found = as_counts(count_table(given, limit))
    for _, counts in found.values():
        np.testing.assert_array_equal(counts[[0, 1]], counts[[2, 4]])
    for key, (rows, counts) in as_counts(count_table(given.slice(2, 3), limit)).items():  # without its twin
        held = found[key][1][2] > 0
        np.testing.assert_array_equal(rows, found[key][0][held])
        np.testing.assert_array_equal(counts[0], found[key][1][2][held])


def test_graphs_with_more_subgraphs_than_the_limit_are_sampled_and_no_other(graphs):
    true = {k: counts.sum(axis=1) for (_, k), (_, counts) in as_counts(count_table(coded(graphs))).items()}
    (chunk,) = count_in_threads(coded(graphs), limit=10)
    assert set(chunk.sampled) == {(g, k) for k in (3, 4) for g in range(len(graphs)) if true[k][g] > 10}
    for (g, k), share in chunk.sampled.items():
        assert share == pytest.approx(10 / true[k][g], rel=0.6)


def test_as_many_subgraphs_as_the_limit_are_listed_and_one_more_are_sampled(graphs):
    given = coded(graphs[1:2], (4,))
    total = int(as_counts(count_table(given))[0, 4][1].sum())
    assert [bool(count_in_threads(given, limit)[0].sampled) for limit in (total, total - 1)] == [False, True]


@pytest.mark.parametrize("graph", [networkx.empty_graph(3), networkx.path_graph(2)], ids=["no edges", "a pair"])
def test_graphs_without_subgraphs_of_a_size_have_an_empty_table(graph):
    found = as_counts(count_table(coded([graph, graph], (1, 3, 4))))
    for k in (3, 4):
        assert (found[0, k][0].shape, found[0, k][1].shape) == ((0, k * (k + 1) // 2), (2, 0))
    np.testing.assert_array_equal(found[0, 1][1], [[len(graph)]] * 2)


def test_too_many_kinds_of_nodes_or_edges_are_refused_with_a_remedy(graphs):
    given = coded(graphs, (1, 2))
    with pytest.raises(InputError, match=r"more than 4,095; merge rare edge labels, or leave them out with view=Label"):
        count_table(replace(given, edge_codes=given.edge_codes + MAX_EDGE_CODE))
    with pytest.raises(InputError, match="too many kinds to count; merge rare node labels"):
        count_table(replace(given, node_codes=given.node_codes + MAX_NODE_CODE))
    chain = coded([networkx.path_graph(5000)], (2,), second=(2,))
    codes = np.stack([1 + np.arange(4999) % 70, 1 + np.arange(4999) // 70])  # few in each view, many pairs
    with pytest.raises(InputError, match="the edges are of 4,999 kinds, more than 4,095"):
        count_table(replace(chain, edge_codes=codes))


def list_pieces(given, limit, seed):
    """The pieces of one graph, half of which are templates."""
    table = count_table(given, limit, seed=seed)
    half = table.pieces()[::2]
    some = replace(table, pieces=lambda: half, chunks=lambda: [csr_array(np.ones((1, len(half))))])
    vocabulary, _ = Vocabulary.learn(some, 1, np.ones(1, dtype=bool))
    with vocabulary.counter() as counter:
        listed = counter.list_pieces(given, limit, seed)
    pieces = vocabulary.pieces.tolist()
    for piece, column in zip(listed.pieces.tolist(), listed.columns.tolist(), strict=True):
        assert pieces.index(piece) == column if column >= 0 else piece not in pieces
    assert (listed.columns >= 0).sum() == len(vocabulary)
    return listed


@pytest.mark.parametrize("sizes", [(1, 2, 3, 4), (2, 5)])
def test_listed_subgraphs_are_all_connected_sets_once_each_with_their_row(graphs, sizes):
    for graph in graphs:
        given = coded([graph], sizes)
        listed = list_pieces(given, MANY, 0)
        edges = list(map(tuple, given.edges.tolist()))
        kinds = dict(zip(edges, given.edge_codes[0].tolist(), strict=True))
        expected = {nodes for k in sizes for nodes in subsets_by_definition(len(graph), edges, k)}
        found = [tuple(sorted(v for v in row if v >= 0)) for row in listed.nodes.tolist()]
        assert (len(found), set(found)) == (len(expected), expected)
        assert (listed.weights == 1).all()
        for nodes, piece in zip(found, listed.piece.tolist(), strict=True):
            view, k, *codes = listed.pieces[piece].tolist()
            row = row_by_definition(nodes, given.node_codes[0].tolist(), kinds)
            assert (view, k, *codes[: len(row)]) == (0, len(nodes), *row)


def test_listed_samples_weigh_as_much_as_the_counts(graphs):
    given = coded(graphs[1:2], SIZES, second=(3, 4))
    listed = list_pieces(given, 12, 5)
    sums = np.bincount(listed.piece, listed.weights)
    counts = as_counts(count_table(given, 12, seed=5))
    assert (listed.weights != 1).any()
    for (view, k), (rows, count) in counts.items():
        mine = np.flatnonzero((listed.pieces[:, 0] == view) & (listed.pieces[:, 1] == k))
        mine = mine[np.lexsort(listed.pieces[mine].T[::-1])]
        np.testing.assert_array_equal(listed.pieces[mine, 2 : 2 + rows.shape[1]], rows)
        np.testing.assert_allclose(sums[mine], count[0], rtol=1e-12)


@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_real_molecules_have_as_many_subgraphs_as_igraph_finds(mutag, k):
    counts = isonn.SubgraphVectorizer(k, view="labels", min_support=1).fit(mutag[:40])
    sizes = np.array([template.k for template in counts.templates_])
    found = counts.transform(mutag[:40])[:, sizes == k].sum(axis=1)
    for graph, total in zip(mutag[:40], found.tolist(), strict=True):
        edges = [(a, b) for a, b in graph.edges.tolist() if a < b]
        assert total == igraph.Graph(n=graph.n, edges=edges).motifs_randesu_no(size=k)
