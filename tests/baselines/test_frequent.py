"""Frequent subgraphs, against an enumeration of all subgraphs with networkx."""

from __future__ import annotations

import itertools
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import GraphMatcher, categorical_node_match

import isonn
from isonn.baselines import FrequentClassifier
from isonn.baselines import frequent as patterns
from isonn.baselines.frequent import mine, presence
from isonn.baselines.shapes import Shape, ShapeReader
from isonn.errors import InputError, MissingDependencyError
from isonn.graphs import GraphSet, as_graphset, balanced_folds

fast_gspan = pytest.importorskip("fast_gspan", reason="the extra baselines is not installed")

same_label = categorical_node_match("label", 0)


def random_shapes(n_labels: int, number: int = 12, seed: int = 0) -> list[Shape]:
    draw = np.random.default_rng(seed)
    shapes = []
    for n in draw.integers(3, 7, size=number):
        pairs = np.array(list(itertools.combinations(range(n), 2)))
        shapes.append(Shape(draw.integers(n_labels, size=n), pairs[draw.random(len(pairs)) < 0.45]))
    return shapes


def as_networkx(labels: object, edges: object) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from((node, {"label": int(label)}) for node, label in enumerate(labels))
    graph.add_edges_from(map(tuple, edges))
    return graph


def patterns_by_definition(shapes: list[Shape], support: int, max_nodes: int) -> list[tuple[nx.Graph, int]]:
    """Every connected set of edges of every graph, up to isomorphism, and how many graphs hold it."""
    kinds: list[tuple[nx.Graph, set[int]]] = []
    for i, shape in enumerate(shapes):
        whole = as_networkx(*shape)
        for m in range(1, len(shape.edges) + 1):
            for chosen in itertools.combinations(whole.edges, m):
                piece = whole.edge_subgraph(chosen)
                if len(piece) > max_nodes or not nx.is_connected(piece):
                    continue
                for kind, holders in kinds:
                    if kind.size() == m and nx.is_isomorphic(kind, piece, node_match=same_label):
                        holders.add(i)
                        break
                else:
                    kinds.append((piece, {i}))
    return [(kind, len(holders)) for kind, holders in kinds if len(holders) >= support]


@pytest.mark.parametrize("n_labels", [1, 2])
def test_mining_finds_every_frequent_pattern_once_with_its_support(n_labels: int) -> None:
    shapes = random_shapes(n_labels)
    found, stopped = mine(shapes, n_patterns=10_000, support=3, min_nodes=2, max_nodes=4, time_limit=60)
    expected = patterns_by_definition(shapes, support=3, max_nodes=4)
    assert stopped is None
    assert len(found) == len(expected) > 5
    for pattern in found:
        graph = as_networkx(pattern.labels, pattern.edges)
        equal = [n for kind, n in expected if nx.is_isomorphic(kind, graph, node_match=same_label)]
        assert equal == [pattern.support]


@pytest.mark.parametrize("number", [1, 5, 12])
def test_the_bound_that_shortens_mining_drops_none_of_the_most_frequent(number: int) -> None:
    shapes = random_shapes(2)
    everything = mine(shapes, 10_000, 2, 2, 5, 60)[0]
    assert mine(shapes, number, 2, 2, 5, 60)[0] == everything[:number]
    assert [p.support for p in everything] == sorted((p.support for p in everything), reverse=True)


def test_presence_is_subgraph_isomorphism() -> None:
    mined = mine(random_shapes(2), 40, 2, 2, 4, 60)[0]
    others = random_shapes(3, seed=1)  # with a label that no pattern has
    held = presence(others, mined)
    for (i, shape), (j, pattern) in itertools.product(enumerate(others), enumerate(mined)):
        matcher = GraphMatcher(as_networkx(*shape), as_networkx(pattern.labels, pattern.edges), same_label)
        assert held[i, j] == matcher.subgraph_is_monomorphic()
    assert 0 < held.mean() < 1


def test_supports_are_what_presence_counts(mutag: GraphSet) -> None:
    shapes = ShapeReader(mutag, "test").read(mutag)
    mined = mine(shapes, 50, 20, 2, 6, 60)[0]
    np.testing.assert_array_equal(presence(shapes, mined).sum(0), [pattern.support for pattern in mined])


def test_mutag_is_mined_to_the_end_and_fitted(mutag: GraphSet) -> None:
    assert mutag.y is not None
    assert fast_gspan  # importing it is not mining
    train, test = balanced_folds(mutag.y, 3, 0)[0]
    model = FrequentClassifier(random_state=0).fit(mutag[train])
    assert (len(model.patterns_), model.stopped_) == (100, None)
    assert model.score(mutag[test], mutag.y[test]) > 0.6


def test_out_of_time_the_smaller_patterns_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = patterns._patterns_up_to
    monkeypatch.setattr(patterns, "_patterns_up_to", lambda s, size, *rest: whole(s, size, *rest) if size < 4 else None)
    found, stopped = mine(random_shapes(2), 100, 2, 2, 6, 30)
    assert {len(pattern.labels) for pattern in found} == {2, 3}
    assert stopped == "gBolt was stopped at patterns of 4 nodes, limit 30 s"


def test_a_process_that_dies_is_not_taken_for_one_that_found_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = patterns._patterns_up_to
    monkeypatch.setattr(patterns, "_patterns_up_to", lambda s, size, *rest: whole(s, size, *rest) if size < 4 else [])
    found, stopped = mine(random_shapes(2), 100, 2, 2, 6, 30)
    assert {len(pattern.labels) for pattern in found} == {2, 3}
    assert stopped == "gBolt was stopped at patterns of 4 nodes, limit 30 s"


def test_a_process_that_mines_too_long_is_ended() -> None:
    pairs = np.array(list(itertools.combinations(range(40), 2)))
    dense = [Shape(np.zeros(40, dtype=np.int64), pairs)] * 3
    assert patterns._patterns_up_to(dense, 12, 2, seconds=0.05) is None  # to the end it would take hours


def test_dense_graphs_say_that_patterns_are_missing() -> None:
    pairs = np.array(list(itertools.combinations(range(60), 2)))
    found, stopped = mine([Shape(np.zeros(60, dtype=np.int64), pairs)] * 3, 100, 2, 2, 10, 60)
    assert {len(pattern.labels) for pattern in found} >= {2}
    assert stopped is not None
    assert "may occur in more than 500000 places" in stopped


def test_nodes_that_all_differ_are_in_one_place() -> None:
    pairs = np.array(list(itertools.combinations(range(60), 2)))
    found, stopped = mine([Shape(np.arange(60), pairs)] * 3, 100, 2, 2, 3, 60)
    assert (len(found), found[0].support, stopped) == (100, 3, None)


def test_weights_leave_the_strongest_pairs_of_either_direction_and_sign() -> None:
    matrix = np.zeros((7, 7))
    matrix[0, 1], matrix[1, 0], matrix[2, 3], matrix[4, 0], matrix[2, 2] = 0.1, 5.0, -4.0, 0.2, 9.0
    graphs = as_graphset([matrix, 2 * matrix])
    for shape in ShapeReader(graphs, "test").read(graphs):
        assert shape.edges.tolist() == [[0, 1], [2, 3]]  # 2 of the 21 pairs; the loop is none
    tied = as_graphset([np.where(matrix != 0, 3.0, 0.0)])
    assert len(ShapeReader(graphs, "test").read(tied)[0].edges) == 3


def test_labels_are_asked_for_where_they_are_needed(mutag: GraphSet) -> None:
    bare = [graph.adjacency for graph in mutag[:20]]
    model = FrequentClassifier(max_nodes=3, hidden=(4,), epochs=1).fit(mutag[:20], np.arange(20) % 2)
    with pytest.raises(InputError, match="was fitted with them; give labels, or fit it to graphs without them"):
        model.predict(bare)


def test_graphs_without_a_common_subgraph_are_refused() -> None:
    with pytest.raises(InputError, match="no subgraph of 2 to 10 nodes was found in 2 of 4 training graphs; lower"):
        FrequentClassifier().fit(np.zeros((4, 3, 3)), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"n_patterns": 0}, "n_patterns=0 must be an integer >= 1"),
        ({"min_nodes": 1}, "min_nodes=1 must be an integer >= 2"),
        ({"min_nodes": 4, "max_nodes": 3}, "max_nodes=3 must be an integer >= 4"),
        ({"min_support": 0.0}, "min_support=0.0 must be from 0.01 to 1"),
        ({"time_limit": 0}, "time_limit=0 must be above 0 seconds"),
        ({"hidden": (0,)}, r"hidden=\(0,\) has a layer without units"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        FrequentClassifier(**settings).fit(np.zeros((2, 3, 3)), [0, 1])


def test_a_missing_package_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fast_gspan", None)
    with pytest.raises(MissingDependencyError, match=r"needs fast_gspan, .*pip install 'isonn\[baselines\]'"):
        FrequentClassifier(max_nodes=2).fit(np.ones((2, 3, 3)), [0, 1])


def test_importing_the_baselines_loads_no_optional_package() -> None:
    code = "import sys, isonn.baselines; assert not {'grakel', 'igraph', 'fast_gspan', 'networkx'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert isonn.baselines.FrequentClassifier is FrequentClassifier
