"""Baselines that predict numbers, with gaps, against least squares."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from isonn.baselines import (
    DegreeHistogramRegressor,
    GraphSizeClassifier,
    GraphSizeRegressor,
    MajorityClassifier,
    MajorityRegressor,
)
from isonn.graphs import GraphSet


@pytest.fixture(scope="module")
def numbers(mutag: GraphSet) -> np.ndarray:
    """Two columns that depend on the size of a graph; a fifth of the second was not measured."""
    y = np.column_stack([2.0 * mutag.sizes + 1, np.diff(mutag.edge_offsets) / 3])
    y[::5, 1] = np.nan
    return y


@pytest.mark.parametrize("method", [GraphSizeRegressor, DegreeHistogramRegressor])
def test_each_column_is_ridge_on_the_graphs_where_it_was_measured(method, mutag: GraphSet, numbers) -> None:
    model = method().fit(mutag, numbers)
    features = StandardScaler().fit_transform(model._features(mutag))
    for column in range(2):
        known = ~np.isnan(numbers[:, column])
        scale = np.nanstd(numbers[:, column])
        expected = Ridge().fit(features[known], numbers[known, column] / scale).predict(features) * scale
        np.testing.assert_allclose(model.predict(mutag)[:, column], expected)


def test_the_mean_is_of_what_was_measured(mutag: GraphSet, numbers) -> None:
    predicted = MajorityRegressor().fit(mutag, numbers).predict(mutag[:3])
    np.testing.assert_allclose(predicted, np.tile(np.nanmean(numbers, axis=0), (3, 1)))


@pytest.mark.parametrize("method", [GraphSizeClassifier, MajorityClassifier])
def test_labels_with_gaps_are_learned_column_by_column(method, mutag: GraphSet) -> None:
    assert mutag.y is not None
    y = np.column_stack([mutag.y > 0, mutag.y > 0]).astype(float)
    y[::3, 1] = np.nan
    both = method().fit(mutag, y).predict_proba(mutag)
    known = ~np.isnan(y[:, 1])
    alone = method().fit(mutag[known], mutag.y[known]).predict_proba(mutag)[:, 1]
    if method is GraphSizeClassifier:  # standardised by all graphs, or by those of the column
        assert np.corrcoef(both[:, 1], alone)[0, 1] > 0.999
    else:
        np.testing.assert_allclose(both[:, 1], alone)
