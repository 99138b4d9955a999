"""Weights and calibration of held-out outputs against scikit-learn and against the truth they were made from."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from isonn.heads import Inputs
from isonn.heads.calibration import calibration_error, fit_blend
from isonn.heads.data import Distinct
from isonn.targets import Classes, Labels, Numbers


def distinct_of(n, weights=None):
    return Distinct.of(Inputs.of(csr_array(np.arange(1.0, n + 1)[:, None])), weights)


def test_each_label_has_the_scale_and_intercept_of_logistic_regression():
    generator = np.random.default_rng(0)
    outputs = generator.normal(size=(4000, 2))
    y = (generator.random((4000, 2)) < expit(outputs * [3, 0.5] + [-2, 1])).astype(float)
    y[::7, 1] = np.nan
    blend = fit_blend([outputs], y, Labels(2), distinct_of(4000))
    for j in range(2):
        known = np.isfinite(y[:, j])
        exact = LogisticRegression(C=np.inf).fit(outputs[known, j : j + 1], y[known, j])
        np.testing.assert_allclose(blend.scales[0, j], exact.coef_[0, 0], rtol=0.02)
        np.testing.assert_allclose(blend.intercept[j], exact.intercept_[0], atol=0.02)


@pytest.mark.parametrize("classes", [2, 3])
def test_no_blend_of_classes_has_less_log_loss(classes):
    generator = np.random.default_rng(1)
    truth = generator.integers(0, classes, 500)
    parts = [np.eye(classes)[truth] * scale + generator.normal(size=(500, classes)) for scale in (1.0, 2.0)]
    parts = [part - part.mean(axis=1, keepdims=True) for part in parts]
    target, rows = Classes(np.arange(classes)), np.arange(500)
    blend = fit_blend(parts, truth, target, distinct_of(500))
    assert (blend.scales > 0).all()
    assert blend.shares(parts)[1, 0] > 0.5
    np.testing.assert_allclose(blend.shares(parts).sum(axis=0), 1)

    def loss(point):
        outputs = point[0] * parts[0] + point[1] * parts[1] + np.append(0, point[2:])
        return -np.log(target.link(outputs)[rows, truth]).mean()

    best = minimize(loss, np.ones(1 + classes)).fun
    assert (
        -np.log(target.link(blend(parts))[rows, truth]).mean() < best + 1e-2
    )  # Platt's targets and the prior cost a little


def test_weights_of_numbers_have_the_least_squared_error_and_sum_to_one():
    generator = np.random.default_rng(2)
    y = generator.normal(size=(300, 1))
    parts = [y + generator.normal(size=(300, 1)) * scale for scale in (0.5, 1.0)]
    blend = fit_blend(parts, y, Numbers(np.zeros(1), np.ones(1), True), distinct_of(300))
    grid = np.linspace(0, 1, 1001)
    errors = [np.mean((share * parts[0] + (1 - share) * parts[1] - y) ** 2) for share in grid]
    np.testing.assert_allclose(blend.scales[:, 0], [grid[np.argmin(errors)], 1 - grid[np.argmin(errors)]], atol=0.05)
    worse = fit_blend([parts[0], 2 * parts[0]], y, Numbers(np.zeros(1), np.ones(1), True), distinct_of(300))
    np.testing.assert_allclose(worse.scales[:, 0], [1, 0], atol=1e-6)


@pytest.mark.parametrize(("copies", "least"), [(1, 0.0), (100, 0.25)])
def test_few_graphs_hardly_move_weights_from_equal(copies, least):
    """The second head is better; thirty graphs are not enough to tell by how much."""
    generator = np.random.default_rng(6)
    y = np.tile([[0.0], [1.0]], (15 * copies, 1))
    parts = [2 * y - 1 + generator.normal(size=y.shape) * noise for noise in (3.0, 1.0)]
    blend = fit_blend(parts, y, Labels(1), distinct_of(len(y)))
    apart = (blend.scales[1, 0] - blend.scales[0, 0]) / blend.scales.sum()
    assert apart > least
    assert apart < 0.5 or copies > 1


def test_separated_classes_are_not_predicted_with_certainty():
    outputs, y = np.repeat([[-1.0], [1.0]], 10, axis=0), np.repeat([[0.0], [1.0]], 10, axis=0)
    blend = fit_blend([outputs], y, Labels(1), distinct_of(20))
    np.testing.assert_allclose(expit(blend([outputs]))[[0, -1], 0], [1 / 12, 11 / 12], atol=1e-3)


def test_outputs_that_say_nothing_get_no_weight():
    generator = np.random.default_rng(3)
    y = generator.integers(0, 2, (400, 1)).astype(float)
    misleading = generator.normal(size=(400, 1)) - y
    blend = fit_blend([misleading], y, Labels(1), distinct_of(400))
    assert blend.scales[0, 0] == 0
    np.testing.assert_allclose(expit(blend.intercept), y.mean(), atol=1e-3)
    np.testing.assert_array_equal(blend.shares([misleading]), [[1.0]])


def test_the_calibration_error_is_the_mean_gap_of_bins():
    generator = np.random.default_rng(4)
    outputs = generator.normal(size=(1000, 1))
    y = (generator.random((1000, 1)) < expit(outputs)).astype(float)
    order = np.argsort(outputs[:, 0]).reshape(10, 100)
    gaps = [abs(expit(outputs[rows]).mean() - y[rows].mean()) for rows in order]
    found = calibration_error(outputs, y, Labels(1), np.ones(1000))
    np.testing.assert_allclose(found, np.mean(gaps))
    assert calibration_error(3 * outputs, y, Labels(1), np.ones(1000)) > 2 * found
    assert np.isnan(calibration_error(outputs, y, Numbers(np.zeros(1), np.ones(1), True), np.ones(1000))).all()
