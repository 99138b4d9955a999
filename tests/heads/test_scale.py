"""Logarithms are preferred where errors are factors, and only there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from isonn.heads import Inputs, prefers_logarithm


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_the_scale_on_which_numbers_were_made_is_recognised(seed, unit):
    generator = np.random.default_rng(seed)
    features = generator.random((150, 4))
    sums = features @ np.array([1.0, 2.0, -1.0, 0.5]) + 0.3 * generator.normal(size=150)
    y = unit * np.column_stack([sums - sums.min() + 1, np.exp(2 * sums), sums])
    y[::9, 1] = np.nan
    assert prefers_logarithm(Inputs.of(csr_array(features)), y).tolist() == [False, True, False]


def test_the_order_of_graphs_and_repeats_change_nothing(monkeypatch):
    monkeypatch.setattr("isonn.heads.scale.PENALTY_GRAPHS", 50)
    generator = np.random.default_rng(0)
    features, y = generator.random((80, 4)), np.exp(generator.normal(size=80))
    order = np.concatenate([generator.permutation(80), np.arange(80)])
    plain = prefers_logarithm(Inputs.of(csr_array(features)), y)
    np.testing.assert_array_equal(prefers_logarithm(Inputs.of(csr_array(features[order])), y[order]), plain)
