"""Relabelling nodes: what the audit counts, and the assertion made of it."""

from __future__ import annotations

import warnings

import networkx
import numpy as np
import pytest

import isonn
from isonn.audit import relabelling
from isonn.baselines import GraphSizeClassifier
from isonn.errors import InputError, IsoNNWarning, NotFittedError
from isonn.estimator import GraphClassifier, GraphRegressor
from isonn.testing import assert_relabelling_invariant


class ByFirstNode(GraphClassifier):
    """Class 1 where node 0 has an edge to node 1: depends on nothing but the order of nodes."""

    def _fit(self, graphs, targets):
        pass

    def _answers(self, graphs):
        first = np.array([graph.adjacency[0, 1] for graph in graphs])
        return np.column_stack([1 - first, first])


@pytest.fixture
def graphs():
    """One edge among three nodes, four times: two of six orders put it between nodes 0 and 1."""
    edge = np.zeros((4, 3, 3))
    edge[:, 0, 1] = edge[:, 1, 0] = 1
    return isonn.as_graphset(edge, [0, 1, 0, 1])


def test_the_flip_rate_is_the_share_of_orders_that_change_the_answer(graphs):
    found = relabelling(ByFirstNode().fit(graphs), graphs, repeats=2000, random_state=1)
    assert found.by_graph.shape == (4,)
    assert found.flip_rate == pytest.approx(2 / 3, abs=0.03)
    assert found.largest_change == 1.0


def test_the_same_seed_draws_the_same_relabellings(graphs):
    clf = ByFirstNode().fit(graphs)
    one, two, other = (relabelling(clf, graphs, repeats=10, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.by_graph, two.by_graph)
    assert one.by_graph.tolist() != other.by_graph.tolist()


def test_what_is_warned_of_the_graphs_is_said_once(graphs):
    class Warning(GraphSizeClassifier):
        def predict_proba(self, X):
            warnings.warn("strange graphs", IsoNNWarning, stacklevel=2)
            return super().predict_proba(X)

    with pytest.warns(IsoNNWarning) as said:
        relabelling(Warning().fit(graphs, graphs.y), graphs, repeats=3)
    assert len(said) == 1


def test_a_law_that_holds_passes_and_one_that_does_not_says_where(graphs):
    assert_relabelling_invariant(GraphSizeClassifier().fit(graphs), graphs)
    with pytest.raises(AssertionError, match=r"of predictions changed .* graph \d changed in \d+%"):
        assert_relabelling_invariant(ByFirstNode().fit(graphs), graphs)


def test_probabilities_that_move_without_a_flip_fail_the_law(graphs):
    clf = ByFirstNode().fit(graphs)
    clf._answers = lambda graphs: np.column_stack([np.full(len(graphs), 0.7), 0.3 - 0.1 * graphs.edges[0, 0]])
    with pytest.raises(
        AssertionError, match="a probability changed by 0.1 when nodes were relabelled, more than 1e-06"
    ):
        assert_relabelling_invariant(clf, graphs[:1], repeats=50)


def test_a_regressor_is_audited_by_its_numbers(graphs):
    class FirstEdge(GraphRegressor):
        def _fit(self, graphs, targets):
            pass

        def _answers(self, graphs):
            return np.array([[3.0 + graph.adjacency[0, 1]] for graph in graphs])

    reg = isonn.SubgraphRegressor(max_nodes=2, min_support=1, head="linear", random_state=0).fit(
        graphs, [0.5, 1.5, 0.5, 1.5]
    )
    assert_relabelling_invariant(reg, graphs)
    found = relabelling(FirstEdge().fit(graphs, [0.5, 1.5, 0.5, 1.5]), graphs, repeats=2000, random_state=1)
    assert found.flip_rate == pytest.approx(2 / 3, abs=0.03)
    assert found.largest_change == 1.0


def test_bad_requests_are_refused(graphs):
    with pytest.raises(InputError, match="repeats must be at least 1, got 0"):
        relabelling(ByFirstNode().fit(graphs), graphs, repeats=0)
    with pytest.raises(NotFittedError, match="call fit first"):
        relabelling(ByFirstNode(), graphs)


def test_relabelling_keeps_the_graph_and_takes_every_column_along():
    generator = np.random.default_rng(0)
    adjacency = np.triu(generator.random((6, 6)) * (generator.random((6, 6)) < 0.5), 1)
    source = networkx.from_numpy_array(adjacency + adjacency.T)
    for node in source:
        source.nodes[node]["label"] = f"n{node}"
    for one, other in source.edges:
        source.edges[one, other]["label"] = f"{min(one, other)}-{max(one, other)}"
    graphs = isonn.as_graphset([source, source])
    shuffled = graphs.relabelled(3)
    assert shuffled.edges.tolist() != graphs.edges.tolist()
    for graph in shuffled:
        old = [int(label[1:]) for label in graph.node_labels]
        np.testing.assert_array_equal(graph.adjacency, graphs[0].adjacency[np.ix_(old, old)])
        for (row, column), label in zip(graph.edges, graph.edge_labels, strict=True):
            assert label == "-".join(map(str, sorted((old[row], old[column]))))
        assert sorted(map(tuple, graph.edges.tolist())) == list(map(tuple, graph.edges.tolist()))


def test_twins_are_the_groups_of_two_or_more_equal_graphs():
    path, star = networkx.path_graph(4), networkx.star_graph(3)
    moved = networkx.relabel_nodes(path, {0: 2, 2: 0})
    found = isonn.audit.twins([path, star, moved, networkx.cycle_graph(4)])
    assert [group.tolist() for group in found] == [[0, 2]]
    assert isonn.audit.twins([path, star]) == []
