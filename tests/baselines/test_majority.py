"""The majority row."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from isonn.baselines import MajorityClassifier
from isonn.errors import IsoNNWarning

GRAPHS = np.zeros((7, 3, 3))


@pytest.mark.parametrize(
    "y",
    [[0, 1, 1, 0, 1, 1, 0], ["b", "a", "b", "c", "c", "a", "b"], [2, 2, 1, 1, 0, 0, 3], [-1, 1, -1, 1, -1, 1, 1]],
)
def test_answers_like_scikit_learns_dummy(y: list[int]) -> None:
    ours, theirs = MajorityClassifier().fit(GRAPHS, y), DummyClassifier(strategy="prior").fit(GRAPHS, y)
    np.testing.assert_array_equal(ours.predict(GRAPHS), theirs.predict(GRAPHS))
    np.testing.assert_allclose(ours.predict_proba(GRAPHS), theirs.predict_proba(GRAPHS))


def test_each_label_of_an_indicator_matrix_is_answered_on_its_own() -> None:
    y = np.array([[1, 0, 0], [1, 0, 1], [0, 0, 1], [1, 0, 0]])
    with pytest.warns(IsoNNWarning, match="column 1 of y is 0 for every graph"):
        fitted = MajorityClassifier().fit(np.zeros((4, 2, 2)), y)
    np.testing.assert_allclose(fitted.predict_proba(np.zeros((2, 5, 5))), [[0.75, 0, 0.5]] * 2)
    np.testing.assert_array_equal(fitted.predict(np.zeros((2, 5, 5))), [[1, 0, 0]] * 2)
