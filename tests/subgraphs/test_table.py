"""Tables of counts: chunks join to the whole, however they are cut and merged."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from coded_graphs import MANY, as_counts, assert_same_counts, coded, labelled

import isonn
from isonn.graphs.isomorphism import graph_hashes
from isonn.subgraphs import table as tables
from isonn.subgraphs.count import count_chunk, count_in_threads
from isonn.subgraphs.table import join_tables, merge_rows, tell_apart


@pytest.fixture(scope="module")
def given():
    return coded([labelled(n, 0.35, n) for n in (8, 5, 1, 9, 2, 7, 10)], (1, 2, 3), second=(2, 3))


@pytest.mark.parametrize("limit", [15, 10**6])
@pytest.mark.parametrize("cuts", [(3,), (1, 2, 6)])
@pytest.mark.parametrize("rows_at_once", [1, 2**20])
def test_chunks_that_are_joined_are_the_whole(given, cuts, limit, rows_at_once, monkeypatch):
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", rows_at_once)
    bounds = zip((0, *cuts), (*cuts, len(given)), strict=True)
    chunks = [count_chunk(given.slice(*bound), limit, 0) for bound in bounds]
    whole = count_chunk(given, limit, 0)
    assert bool(whole.sampled) == (limit == 15)
    joined = join_tables(chunks)
    assert joined.sampled == whole.sampled
    assert_same_counts(as_counts(joined), as_counts(whole))
    np.testing.assert_array_equal(joined.support, whole.support)
    kind = np.float64 if whole.sampled else np.float32  # weights of samples keep all digits
    assert {counts.dtype for counts in joined.chunks()} == {np.dtype(kind)}


def test_rows_of_parts_are_found_again_among_the_distinct_ones(monkeypatch):
    generator = np.random.default_rng(0)
    parts = [np.unique(generator.integers(0, 4, (n, 3)).astype(kind), axis=0)
             for n, kind in ((30, np.uint8), (1, np.int64), (20, np.uint16))]  # fmt: skip
    parts.insert(1, np.zeros((0, 3), dtype=np.uint8))
    for rows_at_once in (1, 100):
        monkeypatch.setattr(tables, "ROWS_AT_ONCE", rows_at_once)
        distinct, places = merge_rows(iter(parts))
        np.testing.assert_array_equal(distinct, np.unique(np.concatenate(parts), axis=0))
        for part, place in zip(parts, places, strict=True):
            np.testing.assert_array_equal(distinct[place], part)


@pytest.mark.parametrize("cuts", [(), (2, 5)])
def test_graphs_with_equal_hashes_and_other_counts_are_told_apart(cuts):
    two_triangles = networkx.disjoint_union(networkx.cycle_graph(3), networkx.cycle_graph(3))
    made = [networkx.cycle_graph(6), two_triangles, networkx.path_graph(4), networkx.cycle_graph(6), two_triangles]
    made += [networkx.path_graph(4), networkx.path_graph(5)]
    hashes = graph_hashes(isonn.as_graphset(made))
    assert len(np.unique(hashes)) == 3  # colours do not tell a circle from two triangles
    bounds = zip((0, *cuts), (*cuts, 7), strict=True)
    table = join_tables([chunk for a, b in bounds for chunk in count_in_threads(coded(made[a:b]), MANY)])
    found = tell_apart(hashes, table)
    assert found[0] == found[3] != found[1] == found[4]
    assert found[[2, 5, 6]].tolist() == hashes[[2, 5, 6]].tolist()  # equal graphs keep theirs, so copies change none
    assert tell_apart(hashes, table, sampled=[0, 1, 3, 4]).tolist() == hashes.tolist()
