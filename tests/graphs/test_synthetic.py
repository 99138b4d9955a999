"""Planted motifs: the truth is true, and nothing but the motif gives the class away."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from isonn.errors import InputError
from isonn.graphs.synthetic import MOTIFS, _tree, planted_motifs
from isonn.seeding import numpy_stream

nx = pytest.importorskip("networkx")


def as_networkx(matrix: np.ndarray) -> nx.Graph:
    return nx.from_numpy_array(np.asarray(matrix))


@pytest.mark.parametrize("motif", sorted(MOTIFS))
def test_the_truth_is_the_motif_node_by_node(motif):
    control = "cycle" if motif != "cycle" else "house"
    planted = planted_motifs(20, motif=motif, control=control, seed=3)
    for i, graph in enumerate(planted.graphs):
        size, edges = MOTIFS[motif if planted.graphs.y[i] else control]
        expected = nx.to_numpy_array(nx.Graph(edges), nodelist=range(size))
        nodes = planted.motif_nodes[i]
        assert_array_equal(graph.adjacency[np.ix_(nodes, nodes)], expected)
        truth = planted.edge_truth(i)
        assert truth.sum() == expected.sum()
        assert not (truth & (graph.adjacency == 0)).any()
        assert_array_equal(np.flatnonzero(truth.any(axis=0)), np.sort(nodes))


def test_the_known_motifs_are_what_they_are_called():
    known = {
        "house": nx.house_graph(),
        "cycle": nx.cycle_graph(5),
        "star": nx.star_graph(4),
        "path": nx.path_graph(5),
        "clique": nx.complete_graph(4),
        "square": nx.cycle_graph(4),
        "triangle": nx.cycle_graph(3),
        "bowtie": nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)]),
    }
    for name, (size, edges) in MOTIFS.items():
        assert nx.is_isomorphic(nx.Graph(edges), known[name]), name
        assert size == known[name].number_of_nodes()


@pytest.mark.parametrize("control", ["cycle", "bowtie", None])
def test_the_motif_occurs_once_in_its_class_and_never_in_the_other(control):
    planted = planted_motifs(30, "house", control, seed=1)
    house = nx.house_graph()
    for i, (graph, label) in enumerate(zip(planted.graphs, planted.graphs.y, strict=True)):
        matcher = nx.algorithms.isomorphism.GraphMatcher(as_networkx(graph.adjacency), house)
        places = {frozenset(mapping) for mapping in matcher.subgraph_monomorphisms_iter()}
        assert places == ({frozenset(planted.motif_nodes[i].tolist())} if label else set())


@pytest.mark.parametrize("n_nodes", [(15, 25), (6, 8)])  # the second leaves trees of one to three nodes
def test_taking_the_motif_out_leaves_a_tree_tied_by_one_edge(n_nodes):
    planted = planted_motifs(10, n_nodes=n_nodes, seed=2)
    for graph, nodes in zip(planted.graphs, planted.motif_nodes, strict=True):
        whole = as_networkx(graph.adjacency)
        rest = whole.subgraph(set(whole) - set(nodes.tolist()))
        assert nx.is_connected(whole)
        assert nx.is_tree(rest)
        assert len(list(nx.edge_boundary(whole, nodes.tolist()))) == 1


def test_node_counts_tell_nothing_about_the_class():
    planted = planted_motifs(4_000, motif="clique", n_nodes=(10, 14), seed=0)
    sizes, y = planted.graphs.sizes, planted.graphs.y
    for n in range(10, 15):
        share = (sizes[y == 1] == n).mean() - (sizes[y == 0] == n).mean()
        assert abs(share) < 0.05  # four standard errors of the difference of two shares of 1/5 of 2,000
    assert (y == 1).sum() == (y == 0).sum() == 2_000


def test_house_against_bowtie_differ_in_no_count_of_edges():
    planted = planted_motifs(20, "house", "bowtie", n_nodes=(12, 12), seed=0)
    assert len(set(np.diff(planted.graphs.edge_offsets).tolist())) == 1


def test_node_numbers_and_graph_order_tell_nothing():
    planted = planted_motifs(4_000, n_nodes=(10, 10), seed=0)
    inside = np.bincount(np.concatenate(planted.motif_nodes), minlength=10)
    assert np.abs(inside / 4_000 - 0.5).max() < 0.04  # five standard errors
    first_half = planted.graphs.y[:2_000].mean()
    assert abs(first_half - 0.5) < 0.05


def test_all_labelled_trees_are_drawn_equally_often():
    draw = numpy_stream(0, "trees")
    counts: dict[frozenset, int] = {}
    for _ in range(8_000):
        tree = frozenset(frozenset(edge) for edge in _tree(4, draw).tolist())
        counts[tree] = counts.get(tree, 0) + 1
    assert len(counts) == 16  # Cayley: n^(n-2)
    assert max(abs(count - 500) for count in counts.values()) < 110  # five standard deviations


def test_the_seed_decides():
    assert planted_motifs(10, seed=1).graphs.digest == planted_motifs(10, seed=1).graphs.digest
    assert planted_motifs(10, seed=1).graphs.digest != planted_motifs(10, seed=2).graphs.digest


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"motif": "castle"}, "motif='castle' is not known; use one of bowtie, clique"),
        ({"control": "castle"}, "control='castle' is not known"),
        ({"motif": "cycle"}, "motif and control are both 'cycle'"),
        ({"n_graphs": 1}, "n_graphs=1 leaves a class empty"),
        ({"n_nodes": (5, 9)}, r"n_nodes=\(5, 9\) leaves no room .* at least 6"),
        ({"n_nodes": (9, 8)}, r"n_nodes=\(9, 8\)"),
    ],
)
def test_settings_that_plant_nothing_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        planted_motifs(**settings)
