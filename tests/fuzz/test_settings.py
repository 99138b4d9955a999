"""Every estimator with strange settings: a model, or one sentence."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz.outcome import outcome
from hypothesis import given
from hypothesis import strategies as st

import isonn
from isonn.errors import IsoNNError
from isonn.graphs import planted_motifs

GRAPHS = planted_motifs(n_graphs=12, n_nodes=(6, 8), seed=0).graphs
NUMBERS = GRAPHS.sizes.astype(float)
#: Small and quick, where a setting is not drawn.
BASE = {
    "IsoNNClassifier": {"k": 2, "c": 1, "hidden": (4,), "epochs": 1},
    "IsoNNRegressor": {"k": 2, "c": 1, "hidden": (4,), "epochs": 1},
    "SubgraphClassifier": {"max_nodes": 2},
    "SubgraphRegressor": {"max_nodes": 2},
    "AlignedClassifier": {"k": 2, "c": 1, "shuffles": 2},
    "AlignedRegressor": {"k": 2, "c": 1, "shuffles": 2},
}
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 4),
    st.sampled_from([10**9 + 1, 10**22, -(10**9), 0.5, -1.0, np.nan, np.inf, 1e308, np.int8(2), np.float32(0.5)]),
    st.sampled_from(["", "auto", "labels", "exact", "linear", "templates", "cuda", "x" * 1000, "a\nb", b"x", object()]),
    st.sampled_from([(), (2,), (1, 10**9 + 1), [[1, 2]], [[1, 2], [1, 2]], {}, {0: 1.0}, {"a": -1}, np.ones(2)]),
)


@pytest.mark.parametrize("name", BASE)
@given(st.data())
def test_whatever_stands_for_settings(name, data):
    estimator = getattr(isonn, name)
    names = sorted(estimator().get_params())
    drawn = data.draw(st.dictionaries(st.sampled_from(names), values, min_size=1, max_size=2))
    y = NUMBERS if name.endswith("Regressor") else GRAPHS.y
    X = GRAPHS.dense() if name.startswith("Aligned") else GRAPHS
    model = outcome(lambda: estimator(**{**BASE[name], "random_state": 0, **drawn}).fit(X, y))
    if not isinstance(model, IsoNNError):
        assert not isinstance(outcome(lambda: model.predict(X)), IsoNNError)
