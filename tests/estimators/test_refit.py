from __future__ import annotations

import numpy as np

from isonn.estimators.refit import grow_forest


def test_no_tree_tells_values_apart_that_differ_by_rounding_alone(monkeypatch):
    monkeypatch.setattr("isonn.estimators.refit.TREES", 20)
    generator = np.random.default_rng(0)
    features = generator.integers(0, 3, (60, 5)).astype(np.float32)
    noise = generator.normal(scale=2e-6, size=(2, 60, 5)).astype(np.float32)
    forest = grow_forest(features + noise[0], generator.integers(0, 2, 60), seed=0)
    np.testing.assert_equal(forest.predict_proba(features + noise[1]), forest.predict_proba(features + noise[0]))
