"""Degrees against networkx, strengths against sums of rows."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from isonn.baselines import DegreeHistogramClassifier
from isonn.baselines.simple import degrees, strengths
from isonn.errors import InputError
from isonn.graphs import as_graphset

GRAPHS = [nx.gnp_random_graph(n, 0.3, seed=n) for n in (4, 9, 12, 15)]


def test_degrees_are_those_of_networkx() -> None:
    expected = [degree for graph in GRAPHS for _, degree in graph.degree]
    np.testing.assert_array_equal(degrees(as_graphset(GRAPHS)), expected)


def test_a_loop_makes_no_neighbour_and_an_edge_both_ways_makes_one() -> None:
    matrix = np.array([[1, 1, 1], [1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(degrees(as_graphset([matrix])), [2, 1, 1])


@pytest.mark.parametrize("bins", [2, 3, 40])
def test_the_histogram_is_networkxs_with_the_last_bin_open(bins: int) -> None:
    fitted = DegreeHistogramClassifier(bins=bins).fit(GRAPHS, [0, 1, 0, 1])
    for graph, row in zip(GRAPHS, fitted._features(as_graphset(GRAPHS)), strict=True):
        full = np.array(nx.degree_histogram(graph) + [0] * bins)
        np.testing.assert_array_equal(row, [*full[: bins - 1], full[bins - 1 :].sum()])


def test_strengths_are_sums_of_absolute_weights_without_the_diagonal() -> None:
    matrices = np.random.default_rng(0).standard_normal((3, 6, 6))
    both_ways = (np.abs(matrices) + np.abs(matrices.transpose(0, 2, 1))) / 2 * (1 - np.eye(6))
    np.testing.assert_allclose(strengths(as_graphset(matrices)), both_ways.sum(axis=2).ravel())


def test_complete_weighted_graphs_are_told_apart_by_the_strength_of_their_nodes() -> None:
    draw = np.random.default_rng(0)
    weights = draw.random((40, 8, 8)) + 0.1
    y = np.arange(40) % 2
    weights[y == 1, :3] *= 3  # a few strong nodes; every degree is 7 in both classes
    weights = weights + weights.transpose(0, 2, 1)
    fitted = DegreeHistogramClassifier().fit(weights[:30], y[:30])
    assert fitted.score(weights[30:], y[30:]) > 0.9
    assert fitted._features(as_graphset(weights)).sum(axis=1).tolist() == [8.0] * 40


def test_the_order_of_nodes_does_not_move_a_strength_over_the_end_of_its_bin() -> None:
    draw = np.random.default_rng(0)
    weights = np.triu(draw.integers(0, 4, (30, 12, 12)) / 10, 1)  # few values: sums are equal but for rounding
    weights = weights + weights.transpose(0, 2, 1)
    fitted = DegreeHistogramClassifier(bins=16).fit(weights, np.arange(30) % 2)
    for matrix in weights:
        order = draw.permutation(12)
        features = fitted._features(as_graphset([matrix, matrix[np.ix_(order, order)]]))
        np.testing.assert_array_equal(features[0], features[1])


@pytest.mark.parametrize("bins", [1, 0, 2.5, True])
def test_a_histogram_of_fewer_than_two_bins_is_refused(bins: object) -> None:
    with pytest.raises(InputError, match=f"bins={bins} is not a valid number of bins"):
        DegreeHistogramClassifier(bins=bins).fit(GRAPHS, [0, 1, 0, 1])  # type: ignore[arg-type]
