from __future__ import annotations

import numpy as np
import pytest

from isonn.subgraphs.soft import fit_linear, grow_forest


def test_no_tree_tells_values_apart_that_differ_by_rounding_alone(monkeypatch):
    monkeypatch.setattr("isonn.subgraphs.soft.TREES", 20)
    generator = np.random.default_rng(0)
    features = generator.integers(0, 3, (60, 5)).astype(np.float32)
    noise = generator.normal(scale=2e-6, size=(2, 60, 5)).astype(np.float32)
    forest = grow_forest(features + noise[0], generator.integers(0, 2, 60), seed=0)
    np.testing.assert_equal(forest.predict_proba(features + noise[1]), forest.predict_proba(features + noise[0]))


def test_values_that_lie_close_all_along_are_not_made_one(monkeypatch):
    monkeypatch.setattr("isonn.subgraphs.soft.TREES", 5)
    features = np.linspace(0, 1, 20_000, dtype=np.float32)[:, None]  # neighbours nearer than rounding
    forest = grow_forest(features, (features[:, 0] > 0.5).astype(int), seed=0)
    assert forest.score(features, features[:, 0] > 0.5) > 0.999


@pytest.mark.parametrize("labels", [(), (2,)])
def test_listing_every_graph_three_times_changes_no_linear_head(labels):
    generator = np.random.default_rng(0)
    features = generator.normal(size=(60, 5)).astype(np.float32)
    targets = generator.integers(0, 2, (60, *labels))
    once = fit_linear(features, targets)
    thrice = fit_linear(np.concatenate([features] * 3), np.concatenate([targets] * 3))
    for a, b in zip(once, thrice, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-3)


def test_the_penalty_stops_growing_so_that_many_graphs_are_believed():
    features = np.linspace(-1, 1, 4000, dtype=np.float32)[:, None]
    targets = (features[:, 0] > 0).astype(np.int64)
    few, many = fit_linear(features[::4], targets[::4])[0], fit_linear(features, targets)[0]
    assert many[1, 0] > 1.2 * few[1, 0]
