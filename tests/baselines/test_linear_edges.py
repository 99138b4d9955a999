"""Ridge on the edges, against the formula and the figure it was measured at before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC

import isonn
from isonn.baselines import (
    CPMClassifier,
    EdgesSVMClassifier,
    LinearEdgesClassifier,
    LinearEdgesRegressor,
    NBSClassifier,
    TangentSVMClassifier,
)
from isonn.errors import InputError


def correlations(number: int = 20, n: int = 6, seed: int = 0) -> np.ndarray:
    series = np.random.default_rng(seed).normal(size=(number, n, 15))
    return np.stack([np.corrcoef(one) for one in series])


def test_outputs_are_ridge_on_fisher_z_of_the_upper_triangle() -> None:
    matrices, y = correlations(), np.arange(20) % 2
    model = LinearEdgesClassifier(alpha=3.0).fit(matrices[:14], y[:14])
    above = np.triu_indices(6, 1)  # the diagonal is 1 in every graph and has no say
    z = np.arctanh(np.array([matrix[above] for matrix in matrices]))
    train, sign = z[:14] - z[:14].mean(0), 2.0 * y[:14] - 1
    weights = np.linalg.solve(train.T @ train + 3.0 * np.eye(15), train.T @ (sign - sign.mean()))
    outputs = (z[14:] - z[:14].mean(0)) @ weights + sign.mean()
    expected = 1 / (1 + np.exp(-2 * outputs))
    np.testing.assert_allclose(model.predict_proba(matrices[14:])[:, 1], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "applied"),
    [
        (lambda matrices: matrices, True),
        (np.abs, False),  # no correlation is negative: weights of another kind
        (lambda matrices: 2 * matrices, False),
        (lambda matrices: (np.abs(matrices) > 0.3).astype(float), False),
    ],
)
def test_fisher_z_is_for_weights_of_both_signs_up_to_one(change, applied: bool) -> None:
    model = LinearEdgesClassifier().fit(change(correlations()), np.arange(20) % 2)
    assert model.fisher_ is applied
    assert LinearEdgesClassifier(fisher=not applied).fit(correlations(), np.arange(20) % 2).fisher_ is not applied


def test_a_correlation_of_one_is_finite() -> None:
    matrices = correlations()
    matrices[3, 0, 1] = matrices[3, 1, 0] = 1
    assert np.isfinite(LinearEdgesClassifier().fit(matrices, np.arange(20) % 2).predict_proba(-matrices)).all()


def test_both_halves_of_an_asymmetric_matrix_are_read() -> None:
    up, down = np.zeros((2, 3, 3))
    up[0, 2] = down[2, 0] = 1
    model = LinearEdgesClassifier().fit([up, down] * 4, ["up", "down"] * 4)
    assert model.predict([up, down]).tolist() == ["up", "down"]


def test_three_classes_and_indicators_are_learnt() -> None:
    matrices = np.zeros((30, 4, 4))
    y = np.arange(30) % 3
    for matrix, label in zip(matrices, y, strict=True):
        matrix[label, label + 1] = matrix[label + 1, label] = 1
    np.testing.assert_array_equal(LinearEdgesClassifier().fit(matrices, y).predict(matrices), y)
    indicators = np.column_stack([y == 0, y != 2]).astype(int)
    np.testing.assert_array_equal(LinearEdgesClassifier().fit(matrices, indicators).predict(matrices), indicators)


def test_size_leaves_room_for_larger_graphs_and_none_is_an_error() -> None:
    X, y = correlations(), np.arange(20) % 2
    larger = correlations(2, 8)
    with pytest.raises(InputError, match="graph 0 of 2 has 8 nodes, more than the 6"):
        LinearEdgesClassifier().fit(X, y).predict(larger)
    assert LinearEdgesClassifier(size=8).fit(X, y).predict(larger).shape == (2,)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [({"alpha": 0}, "alpha must be a number above 0, got 0"), ({"fisher": "yes"}, "fisher='yes' is unknown")],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        LinearEdgesClassifier(**settings).fit(correlations(), np.arange(20) % 2)


def test_hiv_fmri_is_within_two_points_of_what_was_measured(data_folder: Path) -> None:
    graphs = isonn.load(str(data_folder / "HIV-fMRI.npz"))
    scores = []
    for fold in np.unique(graphs.folds):
        train, test = graphs[graphs.folds != fold], graphs[graphs.folds == fold]
        scores.append(LinearEdgesClassifier().fit(train).score(test, test.y))
    assert np.mean(scores) == pytest.approx(0.732, abs=0.02)


def planted(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Sixty symmetric matrices of 12 regions; the connections among regions 2, 5, 9 and the lone 0-1 differ."""
    draw = np.random.default_rng(seed)
    y = np.arange(60) % 2
    noise = draw.normal(size=(60, 12, 12))
    matrices = (noise + noise.transpose(0, 2, 1)) / 4
    for one, other in ((2, 5), (5, 9), (2, 9), (0, 1)):
        matrices[:, one, other] += 1.0 * y
        matrices[:, other, one] = matrices[:, one, other]
    matrices[:, range(12), range(12)] = 0
    return matrices, y


def test_nbs_keeps_the_largest_connected_set_of_edges_that_differ() -> None:
    matrices, y = planted()
    model = NBSClassifier(threshold=3.5, fisher=False).fit(matrices[:40], y[:40])
    assert {(2, 5), (5, 9), (2, 9)} <= set(map(tuple, model.edges_.tolist()))
    assert (0, 1) not in set(map(tuple, model.edges_.tolist()))
    assert model.score(matrices[40:], y[40:]) > 0.9


def test_nbs_keeps_the_best_edge_where_none_is_beyond_the_threshold() -> None:
    matrices, y = planted()
    model = NBSClassifier(threshold=1e6, fisher=False).fit(matrices, y)
    assert len(model.edges_) == 1


def test_the_svm_equals_scikit_learns_on_the_same_cells() -> None:
    matrices, y = planted()
    model = EdgesSVMClassifier(C=0.5, fisher=False).fit(matrices[:40], y[:40])
    cells = matrices[(slice(None), *np.triu_indices(12))]
    expected = SVC(C=0.5, kernel="linear").fit(cells[:40], y[:40]).predict(cells[40:])
    np.testing.assert_array_equal(model.predict(matrices[40:]), expected)


def test_numbers_with_gaps_are_ridge_on_the_graphs_that_have_them() -> None:
    matrices, _ = planted()
    cells = matrices[(slice(None), *np.triu_indices(12))]
    weights = np.random.default_rng(1).normal(size=(cells.shape[1], 2))
    y = cells @ weights
    y[::4, 1] = np.nan
    model = LinearEdgesRegressor(alpha=1e-6, fisher=False).fit(matrices, y)
    known = ~np.isnan(y)
    np.testing.assert_allclose(model.predict(matrices)[known], y[known], atol=1e-3)


def test_tangent_space_is_nilearns() -> None:
    connectome = pytest.importorskip("nilearn.connectome")
    from sklearn.covariance import EmpiricalCovariance

    draw = np.random.default_rng(3)
    series, y = draw.normal(size=(30, 80, 6)), np.arange(30) % 2
    series[y == 1, :, 1] += 0.8 * series[y == 1, :, 4]
    series = (series - series.mean(axis=1, keepdims=True)) / series.std(axis=1, keepdims=True)
    measure = connectome.ConnectivityMeasure(
        EmpiricalCovariance(store_precision=False), kind="tangent", vectorize=True, standardize=False
    )
    rival = SVC(kernel="linear").fit(measure.fit_transform(series[:20]), y[:20])
    expected = rival.decision_function(measure.transform(series[20:]))
    model = TangentSVMClassifier().fit(np.stack([np.corrcoef(one.T) for one in series[:20]]), y[:20])
    odds = model.predict_proba(np.stack([np.corrcoef(one.T) for one in series[20:]]))
    np.testing.assert_allclose(np.log(odds[:, 1] / odds[:, 0]), expected, atol=1e-4)


def test_tangent_space_needs_correlations_that_are_positive_definite() -> None:
    matrices = correlations()
    assert TangentSVMClassifier.suits(isonn.as_graphset(matrices))
    matrices[7, 0, 1] = matrices[7, 1, 0] = 1.5
    assert not TangentSVMClassifier.suits(isonn.as_graphset(matrices))
    with pytest.raises(InputError, match="graph 7 of 20 is not a positive definite correlation matrix; use EdgesSVM"):
        TangentSVMClassifier().fit(matrices, np.arange(20) % 2)


@pytest.mark.parametrize(
    "make", [LinearEdgesClassifier, EdgesSVMClassifier, NBSClassifier, CPMClassifier, TangentSVMClassifier]
)
def test_confounds_are_regressed_out_by_slopes_of_the_training_graphs(make) -> None:
    series, y = np.random.default_rng(3).normal(size=(40, 6, 60)), np.arange(40) % 2
    age = 0.2 * y + np.random.default_rng(4).normal(size=40)
    series[:, 1] += age[:, None] * series[:, 0]
    matrices = np.stack([np.corrcoef(one) for one in series])
    graphs = isonn.as_graphset(matrices).with_confounds({"age": age})
    model = make().fit(graphs[:30], y[:30])
    column = np.column_stack([np.ones(30), age[:30]])
    plain = make().fit(matrices[:30], y[:30])
    if make is not NBSClassifier:  # which may choose other edges
        features = plain._features(isonn.as_graphset(matrices))
        slopes = np.linalg.lstsq(column, features[:30], rcond=None)[0]
        expected = features - np.outer(age - age[:30].mean(), slopes[1])
        np.testing.assert_allclose(model._features(graphs), expected, atol=1e-9)
    rest = np.linalg.lstsq(column, model._features(graphs[:30]), rcond=None)[0][1]
    np.testing.assert_allclose(rest, 0, atol=1e-9)
    with pytest.raises(InputError, match="has no 'age', but the model was fitted with the confounds age"):
        model.predict(matrices)


@pytest.mark.parametrize(
    "make", [LinearEdgesClassifier, EdgesSVMClassifier, NBSClassifier, CPMClassifier, TangentSVMClassifier]
)
def test_sites_are_harmonised_by_what_the_training_graphs_show(make) -> None:
    draw = np.random.default_rng(5)
    site, y = np.array(["A", "B"])[np.arange(80) % 2], np.arange(80) // 2 % 2
    mixing = np.where((site == "A")[:, None, None], 0.2, 0.9) * draw.normal(size=(80, 6, 1))
    series = draw.normal(size=(80, 6, 60)) + mixing * draw.normal(size=(80, 1, 60))
    graphs = isonn.as_graphset(np.stack([np.corrcoef(one) for one in series])).with_confounds({"site": site})
    spreads = {}
    for harmonize in (None, "site"):
        model = make(harmonize=harmonize).fit(graphs[:60], y[:60])
        features = model._features(graphs)
        train = features[:60] - features[:60].mean(axis=0)
        np.testing.assert_allclose(train[site[:60] == "A"].mean(axis=0), 0, atol=1e-9)
        of_sites = [features[60:][site[60:] == name].std(axis=0).mean() for name in "AB"]
        spreads[harmonize] = of_sites[1] / of_sites[0]
    assert spreads["site"] < 0.75 * spreads[None]
    with pytest.raises(InputError, match="harmonize='scanner' is not a column of graphs; its columns are: site"):
        make(harmonize="scanner").fit(graphs, y)
