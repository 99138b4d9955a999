"""Ridge regression of many graphs against scikit-learn's exact solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array
from sklearn.linear_model import Ridge

from isonn import ridge


def sparse(generator, rows, columns, density):
    """A matrix of which this share is not 0."""
    return csr_array(generator.random((rows, columns)) * (generator.random((rows, columns)) < density))


@pytest.mark.parametrize("penalty", [1e-3, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_are_those_of_scikit_learn(penalty, dtype, monkeypatch):
    monkeypatch.setattr(ridge, "TOLERANCE", 1e-12)
    generator = np.random.default_rng(0)
    features = sparse(generator, 300, 40, density=0.2).astype(dtype)
    wanted, weights = generator.normal(size=(300, 3)), generator.random(300) + 0.1
    coef, intercept = ridge.solve_ridge(features, wanted, weights, penalty)
    exact = Ridge(alpha=penalty, solver="cholesky").fit(features.toarray().astype(float), wanted, sample_weight=weights)
    np.testing.assert_allclose(coef, exact.coef_, atol=1e-4)
    np.testing.assert_allclose(intercept, exact.intercept_, atol=1e-4)


def test_stopping_early_changes_predictions_by_little():
    generator = np.random.default_rng(2)
    features = sparse(generator, 300, 500, density=0.05)
    wanted = np.sign(features @ generator.normal(size=(500, 1)))
    coef, intercept = ridge.solve_ridge(features, wanted, np.ones(300), 1e-3)
    exact = Ridge(alpha=1e-3, solver="cholesky").fit(features.toarray(), wanted)
    np.testing.assert_allclose(features @ coef.T + intercept, exact.predict(features.toarray())[:, None], atol=0.05)


def test_of_many_graphs_the_search_ends_before_it_fits_noise(monkeypatch):
    """A few columns say something and are large, the others are small and many, as common and rare pieces are."""
    generator = np.random.default_rng(3)
    scale = diags_array(1 / np.sqrt(1 + np.arange(2000)))
    features, others = (sparse(generator, 3000, 2000, density=0.02) @ scale for _ in range(2))
    slope = generator.normal(size=(2000, 1)) * (np.arange(2000) < 50)[:, None]
    wanted = features @ slope + 0.1 * generator.normal(size=(3000, 1))

    def error():
        coef, intercept = ridge.solve_ridge(features, wanted, np.ones(3000), 1e-4)
        return float(np.mean((others @ coef.T + intercept - others @ slope) ** 2))

    to_the_end = error()
    monkeypatch.setattr(ridge, "MANY_GRAPHS", 3000)
    assert error() < 0.5 * to_the_end


def test_the_features_are_as_before_also_after_an_error():
    features = csr_array(np.random.default_rng(0).integers(0, 2, (40, 9)).astype(float))
    before = features.copy()
    ridge.solve_ridge(features, np.arange(40.0)[:, None], np.ones(40), 1.0)
    np.testing.assert_array_equal(features.toarray(), before.toarray())
    with pytest.raises(ValueError, match="match|broadcast|dimension|align"):
        ridge.solve_ridge(features, np.arange(3.0)[:, None], np.ones(40), 1.0)
    np.testing.assert_array_equal(features.toarray(), before.toarray())
    np.testing.assert_array_equal(features.indices, before.indices)
