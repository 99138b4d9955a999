"""The compiled counting: the same integers as the numpy path, whatever the graphs, threads and folders."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections import Counter as Multiset
from dataclasses import replace

import networkx
import numpy as np
import pytest
from coded_graphs import coded, labelled

from isonn.subgraphs import bank, kernels
from isonn.subgraphs.bank import CodedGraphs, Codes, bank_in_numpy, bank_subgraphs, counter_of, join_banks
from isonn.subgraphs.enumerate import list_subgraphs, neighbourhood_codes

pytest.importorskip("numba")

MANY = 10**6


@pytest.fixture(scope="module")
def graphs():
    shapes = [(8, 0.3), (7, 0.5), (3, 0.9), (9, 0.25), (2, 1), (1, 0), (6, 0), (10, 0.2)]
    return [labelled(n, p, seed, labels=3) for seed, (n, p) in enumerate(shapes)]


def with_radii(given, radii):
    return replace(given, views=tuple(replace(view, radii=radii) for view in given.views))


def assert_equal_banks(one, other):
    for banks, others in ((one.banks, other.banks), (one.neighbourhoods, other.neighbourhoods)):
        for own, its in zip(banks, others, strict=True):
            assert sorted(own) == sorted(its)
            for size in own:
                np.testing.assert_array_equal(own[size].regions, its[size].regions)
                np.testing.assert_allclose(own[size].counts.toarray(), its[size].counts.toarray(), rtol=1e-12)
    assert one.sampled == pytest.approx(other.sampled)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6])
def test_compiled_counts_are_those_of_numpy(graphs, k):
    given = with_radii(coded(graphs, (k,), second=(k,)), (0, 1, 2))
    assert_equal_banks(bank_subgraphs(given, MANY), bank_in_numpy(given, MANY, 0))


@pytest.mark.parametrize(("node_step", "edge_step"), [(1, 1), (2**9, 1), (2**29, 900), (2**29, 1)])
def test_codes_that_take_several_words_are_counted_alike(graphs, node_step, edge_step):
    small = coded(graphs, (2, 3, 5, 6), second=(1, 4))
    views = tuple(replace(v, node_codes=v.node_codes * node_step, edge_codes=v.edge_codes * edge_step)
                  if v.edge_codes.max() > 1 else v for v in small.views)  # fmt: skip
    given = replace(small, views=views)
    assert bank.fits_kernels(given)
    assert_equal_banks(bank_subgraphs(given, MANY), bank_in_numpy(given, MANY, 0))


@pytest.mark.parametrize("limit", [5, 20])
def test_sampled_counts_are_those_of_numpy(graphs, limit):
    given = coded(graphs, (1, 2, 3, 4), second=(2, 4))
    found = bank_subgraphs(given, limit, seed=3)
    assert found.sampled
    assert_equal_banks(found, bank_in_numpy(given, limit, 3))


@pytest.mark.parametrize("pause", [0, 7])
def test_a_search_that_is_left_and_taken_up_again_counts_the_same(graphs, pause, monkeypatch):
    given = coded(graphs, (1, 2, 3, 4, 5), second=(2, 4))
    whole = bank_subgraphs(given, 200)
    monkeypatch.setattr(kernels, "PAUSE", pause)
    assert_equal_banks(bank_subgraphs(given, 200), whole)


def test_equal_graphs_are_counted_once_and_alike(graphs):
    given = coded([graphs[0], graphs[1], graphs[0], graphs[2], graphs[1]], (1, 2, 3, 4))
    assert counter_of(given, MANY).twins.tolist() == [0, 1, 0, 3, 1]
    for limit in (10, MANY):
        assert_equal_banks(bank_subgraphs(given, limit), bank_in_numpy(given, limit, 0))


def test_graphs_that_differ_in_one_code_are_no_twins(graphs):
    given = coded([graphs[0], graphs[0], graphs[0]], (1, 2, 3), second=(3,))
    nodes, edges = int(given.node_offsets[1]), int(given.edge_offsets[1])
    given.views[1].node_codes[nodes] += 1
    given.views[0].edge_codes[2 * edges] += 1
    assert counter_of(given, MANY).twins.tolist() == [0, 1, 2]
    assert_equal_banks(bank_subgraphs(given, MANY), bank_in_numpy(given, MANY, 0))


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_no_count(graphs, n_jobs, monkeypatch):
    monkeypatch.setattr(bank, "NODES_PER_BLOCK", 6)
    given = with_radii(coded(graphs * 2, (1, 2, 3, 4)), (0, 1))
    assert_equal_banks(bank_subgraphs(given, 30, n_jobs=n_jobs), bank_subgraphs(given, 30))


@pytest.mark.parametrize("cuts", [(3,), (1, 2, 7)])
def test_parts_that_are_joined_are_the_whole(graphs, cuts):
    given = with_radii(coded(graphs, (1, 2, 3), second=(2, 3)), (0, 1))
    whole = bank_subgraphs(given, 15)
    bounds = list(zip((0, *cuts), (*cuts, len(given)), strict=True))
    parts = [bank_subgraphs(given.part(*bound), 15) for bound in bounds]
    assert_equal_banks(join_banks(parts, bounds), whole)


def test_a_hash_where_everything_collides_changes_nothing(graphs):
    given = coded(graphs, (1, 2, 3, 4), second=(3,))
    strong = counter_of(given, MANY)
    weak = kernels.Counter(
        given.node_offsets,
        given.edges + given.node_offsets[np.repeat(np.arange(len(given)), np.diff(given.edge_offsets)), None],
        np.stack([view.node_codes for view in given.views]),
        np.stack([view.edge_codes for view in given.views]),
        tuple(view.sizes for view in given.views),
        MANY,
        weak_hash=True,
    )
    for one, other in zip(strong.count(), weak.count(), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(strong.columns, weak.columns)


def refined(graph, radius):
    """Colour refinement by its definition: what a node is, then the multiset of its edges and neighbours' colours."""
    colour = {v: (graph.nodes[v]["code"],) for v in graph}
    rounds = [colour]
    for _ in range(radius):
        colour = {
            v: (colour[v], tuple(sorted((graph.edges[v, u]["code"], repr(colour[u])) for u in graph[v]))) for v in graph
        }
        rounds.append(colour)
    return rounds


def test_neighbourhoods_are_equal_if_and_only_if_colour_refinement_says_so(graphs):
    given = coded(graphs, (1,))
    owner = np.repeat(np.arange(len(given)), np.diff(given.edge_offsets))
    ends = given.edges + given.node_offsets[owner, None]
    codes = kernels.neighbourhood_codes(ends, given.views[0].node_codes, given.views[0].edge_codes, 3)
    np.testing.assert_array_equal(
        codes, neighbourhood_codes(ends, given.views[0].node_codes, given.views[0].edge_codes, 3)
    )
    expected = [refined(graph, 3) for graph in graphs]
    for r in range(4):
        colours = [
            repr(rounds[r][v]) for graph, rounds in zip(graphs, expected, strict=True) for v in range(len(graph))
        ]
        found = list(map(tuple, codes[r].T.tolist()))
        pairs = set(zip(colours, found, strict=True))
        assert len(pairs) == len(set(colours)) == len(set(found))


def test_neighbourhoods_are_those_of_networkx():
    graph = labelled(14, 0.2, 5, labels=2, bonds=1)
    given = coded([graph], (1,))
    codes = kernels.neighbourhood_codes(given.edges, given.views[0].node_codes, given.views[0].edge_codes, 3)
    networkx.set_node_attributes(graph, {v: str(graph.nodes[v]["code"]) for v in graph}, "text")
    hashes = networkx.weisfeiler_lehman_subgraph_hashes(
        graph, node_attr="text", iterations=3, include_initial_labels=True
    )
    for r in range(4):
        theirs = [hashes[v][r] for v in range(14)]
        ours = list(map(tuple, codes[r].T.tolist()))
        assert len(set(zip(theirs, ours, strict=True))) == len(set(theirs)) == len(set(ours))


def test_the_two_modules_agree_on_the_largest_edge_code():
    assert bank.MAX_EDGE_CODE == kernels.MAX_EDGE_CODE


def test_edge_codes_too_large_for_the_kernels_are_counted_without_them(graphs):
    small = coded(graphs, (1, 2, 3))
    large = replace(
        small, views=tuple(replace(view, edge_codes=view.edge_codes + bank.MAX_EDGE_CODE) for view in small.views)
    )
    one, other = bank_subgraphs(small), bank_subgraphs(large)
    for k in (1, 2, 3):
        for row, its in zip(one.banks[0][k].counts.T.toarray(), other.banks[0][k].counts.T.toarray(), strict=True):
            np.testing.assert_array_equal(row, its)
        edges = other.banks[0][k].regions[:, k:].astype(np.int64)
        np.testing.assert_array_equal(
            np.where(edges > 0, edges - bank.MAX_EDGE_CODE, 0), one.banks[0][k].regions[:, k:]
        )


def test_views_with_too_many_pairs_of_edge_codes_are_counted_without_kernels():
    chain = networkx.path_graph(5000)
    networkx.set_node_attributes(chain, 0, "code")
    networkx.set_edge_attributes(chain, 1, "code")
    given = coded([chain], (2, 3), second=(2, 3))
    step = np.arange(4999)
    codes = (1 + step % 70, 1 + step // 70)
    given = replace(
        given, views=tuple(replace(view, edge_codes=own) for view, own in zip(given.views, codes, strict=True))
    )
    assert not bank.fits_kernels(given)
    found = bank_subgraphs(given)
    assert len(found.banks[0][2].regions) == 70
    assert len(np.unique(found.banks[1][2].regions[:, 2])) == 72


def test_node_codes_beyond_32_bits_are_counted_apart(graphs):
    small = coded(graphs, (1, 2))
    large = replace(small, views=tuple(replace(view, node_codes=view.node_codes + 2**31 - 1) for view in small.views))
    one, other = bank_subgraphs(small), bank_subgraphs(large)
    for k in (1, 2):
        np.testing.assert_array_equal(other.banks[0][k].counts.toarray(), one.banks[0][k].counts.toarray())
        np.testing.assert_array_equal(other.banks[0][k].regions[:, :k] - (2**31 - 1), one.banks[0][k].regions[:, :k])


SMALL = """
import numpy as np
from isonn.subgraphs.kernels import neighbourhood_codes

codes = neighbourhood_codes(np.array([[0, 1], [1, 2]]), np.zeros(3, int), np.ones(2, int), 1)
print(len(set(codes[1, 0].tolist())))
"""


def test_a_folder_for_compiled_code_that_cannot_be_written_is_no_obstacle(tmp_path):
    (tmp_path / "file").write_text("no folder")
    nowhere = str(tmp_path / "file" / "below")
    home = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"), nowhere)
    result = subprocess.run(
        [sys.executable, "-c", SMALL],
        env={**os.environ, **home},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "2"  # the middle of a path, and its ends


DENSE = """
import sys
import networkx
import isonn
from isonn.subgraphs import bank

bank.NODES_PER_BLOCK = 1  # a thread for every graph

small = isonn.as_graphset([networkx.gnp_random_graph(16, 0.5, seed=i) for i in range(2)])  # tables grow, too
dense = isonn.as_graphset([networkx.gnp_random_graph(110, 0.5, seed=0)] * 2)
clf = isonn.SubgraphClassifier(k=6, max_subgraphs=10**12, random_state=0, min_support=1, n_jobs=int(sys.argv[1]))
clf.fit(small, [0, 1])
print("compiled", flush=True)
clf.fit(dense, [0, 1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")
@pytest.mark.parametrize("n_jobs", ["1", "2"])
def test_ctrl_c_is_heard_inside_a_kernel(n_jobs):
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", DENSE, n_jobs], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "compiled"
        time.sleep(0.3)  # the count of a billion subgraphs is under way
        assert process.poll() is None
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert "KeyboardInterrupt" in stderr
    # two seconds where nothing else runs, and the end of the process
    assert time.monotonic() - start < (3 if os.getloadavg()[0] < (os.cpu_count() or 1) + 1 else 15)


@pytest.mark.parametrize("k", [3, 4])
def test_a_hub_of_fifty_thousand_neighbours_takes_no_memory_to_refuse(k):
    """Among 100,000 nodes, one with 50,000 neighbours, and a path whose pieces are listed all the same."""
    hub = np.column_stack([np.zeros(50_000, dtype=np.int64), np.arange(1, 50_001)])
    path = 100_000 + np.column_stack([np.arange(4), np.arange(1, 5)])
    tracemalloc.start()
    listed = list_subgraphs(np.array([0, 100_000, 100_005]), np.concatenate([hub, path]), k, 2000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert listed.too_many == (0,)
    assert listed.done == 2
    assert sorted(map(sorted, listed.nodes.tolist())) == [
        list(range(100_000 + i, 100_000 + i + k)) for i in range(6 - k)
    ]
    assert peak < 100 * 2**20


def test_a_graph_with_a_hub_is_sampled_in_bounded_memory():
    hub = np.column_stack([np.zeros(50_000, dtype=np.int64), np.arange(1, 50_001)])
    n, codes = 100_000, Codes(np.zeros(100_000, dtype=np.int64), np.ones(50_000, dtype=np.int64), (1, 2, 3, 4))
    given = CodedGraphs(np.array([0, n]), np.array([0, len(hub)]), hub, (codes,))
    tracemalloc.start()
    found = bank_subgraphs(given, limit=1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 2**20
    counts = [found.banks[0][k].counts.sum() for k in (1, 2, 3, 4)]
    np.testing.assert_allclose(counts, [n, 50_000, math.comb(50_000, 2), math.comb(50_000, 3)], rtol=1e-6)


def test_a_hub_is_refused_only_when_its_own_subgraphs_are_too_many():
    star = np.column_stack([np.zeros(6, dtype=np.int64), np.arange(1, 7)])
    for k, own in ((3, 15), (4, 20), (5, 15)):  # any k - 1 of six neighbours
        assert list_subgraphs(np.array([0, 7]), star, k, own - 1).too_many == (0,)
        assert len(list_subgraphs(np.array([0, 7]), star, k, own).nodes) == own


def test_a_column_is_counted_once_per_occurrence(graphs):
    """The nodes of each occurrence are those of a connected piece, and no piece comes twice."""
    for graph in graphs:
        if not len(graph):
            continue
        counter = counter_of(coded([graph], (2, 3)), MANY)
        counter.count(emit=True)
        nodes = [tuple(sorted(int(v) for v in row if v >= 0)) for row in counter.found_nodes[:, :3]]
        found = Multiset(nodes)
        assert all(count == 1 for count in found.values())
        assert all(networkx.is_connected(graph.subgraph(piece)) for piece in found)
