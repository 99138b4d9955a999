"""The compiled loops: collisions, full tables, pauses, Ctrl-C and hubs change nothing but time."""

from __future__ import annotations

import itertools
import math
import os
import signal
import subprocess
import sys
import time
import tracemalloc

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
)

from isonn.subgraphs import counter as module
from isonn.subgraphs.counter import Counter
from isonn.subgraphs.encode import CodedGraphs


@pytest.fixture(scope="module")
def graphs():
    shapes = [(8, 0.3), (7, 0.5), (3, 0.9), (9, 0.25), (2, 1), (1, 0), (6, 0)]
    return [labelled(n, p, seed, labels=3) for seed, (n, p) in enumerate(shapes)]


def test_a_hash_where_everything_collides_changes_nothing(graphs):
    given = coded(graphs, SIZES, second=(3,))
    strong, weak = (Counter(given.view_sizes, weak_hash=weak).count(given, MANY) for weak in (False, True))
    np.testing.assert_array_equal(counts_of(strong), counts_of(weak))
    np.testing.assert_array_equal(strong.pieces(), weak.pieces())


def test_tables_that_grow_lose_no_count():
    given = coded([labelled(24, 0.25, seed, labels=20) for seed in range(5)], (1, 2, 3), second=(3,))
    assert len(Counter(given.view_sizes).count(given, MANY).pieces()) > 1025  # the room at first
    assert_same_counts(as_counts(count_table(given)), counts_by_definition(given))


@pytest.mark.parametrize("pause", [0, 7])
def test_a_search_that_is_left_and_taken_up_again_counts_the_same(graphs, pause, monkeypatch):
    given = coded(graphs, (1, 2, 3, 4, 5), second=(2, 4))
    whole = as_counts(count_table(given, 200))
    monkeypatch.setattr(module, "PAUSE", pause)
    assert_same_counts(as_counts(count_table(given, 200)), whole)


def test_a_counter_that_is_used_again_counts_as_a_new_one(graphs, monkeypatch):
    parts = [coded(graphs[a:b], SIZES, second=(3,)) for a, b in ((0, 2), (2, 3), (1, 4))]
    parts[1].node_codes[0] += 40  # needs more bits
    parts[2].edge_codes[1] += 1
    for most, same_tables in ((module.MOST_ENTRIES, [False, True]), (1, [False, False])):
        monkeypatch.setattr(module, "MOST_ENTRIES", most)
        counter, found = Counter(parts[0].view_sizes), []
        for given in parts:
            found.append(counter.count(given, MANY))
            assert counts_by_piece(found[-1]) == counts_by_piece(Counter(given.view_sizes).count(given, MANY))
        earlier = [table.pieces() for table in found]
        assert [
            after[: len(before)].tolist() == before.tolist() for before, after in itertools.pairwise(earlier)
        ] == same_tables


def counts_by_piece(table):
    """How often each graph has each piece, by graph, view, size and codes."""
    (counts,) = table.chunks()
    cells, rows = counts.tocoo(), table.pieces().tolist()
    return {(g, *rows[d]): often for g, d, often in zip(cells.row, cells.col, cells.data, strict=True)}


def test_templates_have_the_first_columns(graphs):
    given = coded(graphs, SIZES, second=(3,))
    table = count_table(given)
    templates = table.pieces()[::2]
    pieces = Counter(given.view_sizes, templates).count(given, MANY).pieces()
    np.testing.assert_array_equal(pieces[: len(templates)], templates)
    assert len(np.unique(pieces, axis=0)) == len(pieces) == len(table.support)


def star(n, leaves):
    codes = np.zeros((1, n), dtype=np.int64), np.ones((1, leaves), dtype=np.int64)
    edges = np.column_stack([np.zeros(leaves, dtype=np.int64), np.arange(1, leaves + 1)])
    return CodedGraphs(np.array([0, n]), np.array([0, leaves]), edges, *codes, (SIZES,))


def test_a_hub_of_fifty_thousand_neighbours_is_sampled_in_bounded_memory():
    tracemalloc.start()
    found = as_counts(count_table(star(100_000, 50_000), limit=1000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 2**20
    counts = [found[0, k][1].sum() for k in SIZES]
    np.testing.assert_allclose(counts, [100_000, *(math.comb(50_000, k) for k in (1, 2, 3))], rtol=1e-6)


SMALL = """
import isonn
paths = isonn.as_graphset([[[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1], [1, 0]]])
print(int(isonn.SubgraphVectorizer(2, view="labels").fit_transform(paths).sum()))
"""


def test_a_folder_for_compiled_code_that_cannot_be_written_is_no_obstacle(tmp_path):
    (tmp_path / "file").write_text("no folder")
    home = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"), str(tmp_path / "file" / "below"))
    command = [sys.executable, "-c", SMALL]
    result = subprocess.run(
        command, env={**os.environ, **home}, capture_output=True, text=True, check=False, timeout=600
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "8"  # three nodes and two edges, two nodes and one edge


DENSE = """
import sys
import networkx
import isonn
from isonn.subgraphs import count

count.NODES_PER_BLOCK = 1  # a thread for every graph

small = isonn.as_graphset([networkx.gnp_random_graph(16, 0.5, seed=i) for i in range(2)])  # tables grow, too
dense = isonn.as_graphset([networkx.gnp_random_graph(110, 0.5, seed=0)] * 2)
clf = isonn.SubgraphClassifier(6, max_subgraphs=10**12, random_state=0, min_support=1, n_jobs=int(sys.argv[1]))
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
