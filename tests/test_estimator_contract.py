"""scikit-learn's rules for every classifier; its own checker assumes 2-D arrays and skips graphs."""

from __future__ import annotations

import pickle  # noqa: TID251 (users' own processes exchange estimators by pickle; no file of ours is one)
from functools import cache

import joblib
import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

import isonn
from isonn.baselines import (
    AutoEncoderClassifier,
    CNNClassifier,
    DegreeHistogramClassifier,
    EdgesSVMClassifier,
    FrequentClassifier,
    GCNClassifier,
    GINClassifier,
    GraphSizeClassifier,
    LinearEdgesClassifier,
    MajorityClassifier,
    SDBNClassifier,
    WLClassifier,
)
from isonn.errors import InputError, NotFittedError
from isonn.graphs.synthetic import planted_motifs
from isonn.heads import boosting

ESTIMATORS = {
    "isonn": isonn.IsoNNClassifier(k=3, c=2, hidden=(16,), epochs=5, size=20, random_state=0),
    "isonn-templates": isonn.IsoNNClassifier(
        k=2, c=2, normalize="templates", hidden=(16,), epochs=5, size=20, batch_size=8, random_state=0
    ),
    "isonn-deep": isonn.IsoNNClassifier(layers=((2, 3), (2, 3)), hidden=(16,), epochs=3, size=20, random_state=0),
    "subgraph": isonn.SubgraphClassifier(max_nodes=3, random_state=0),
    "subgraph-linear": isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0),
    "subgraph-short": isonn.SubgraphClassifier(max_nodes=3, n_templates=6, head="linear", random_state=0),
    "aligned": isonn.AlignedClassifier(shuffles=9, random_state=0),
    "ae": AutoEncoderClassifier(encoder=(16, 8), hidden=(16,), size=20, epochs=3, random_state=0),
    "cnn": CNNClassifier(channels=4, hidden=(16,), size=20, epochs=3, random_state=0),
    "sdbn": SDBNClassifier(modules=3, size=20, epochs=3, random_state=0),
    "gcn": GCNClassifier(hidden=8, size=20, epochs=3, random_state=0),
    "gin": GINClassifier(layers=2, hidden=8, size=20, epochs=3, random_state=0),
    "gin-degree": GINClassifier(features="degree", layers=2, hidden=8, epochs=3, random_state=0),
    "freq": FrequentClassifier(n_patterns=20, max_nodes=4, hidden=(16,), epochs=5, random_state=0),
    "wl": WLClassifier(iterations=3),
    "wl-svm": WLClassifier(decision="svm", iterations=2, random_state=0),
    "edges": LinearEdgesClassifier(size=20),
    "edges-svm": EdgesSVMClassifier(size=20),
    "majority": MajorityClassifier(),
    "size": GraphSizeClassifier(),
    "degrees": DegreeHistogramClassifier(),
}

#: What some of them cannot do without.
NEEDS = {"freq": ("fast_gspan", "igraph")}

pytestmark = pytest.mark.parametrize("name", ESTIMATORS)


@pytest.fixture
def estimator(name, monkeypatch):
    for package in NEEDS.get(name, ()):
        pytest.importorskip(package)
    monkeypatch.setattr(boosting, "ROUNDS", 10)  # more trees would test nothing more
    return clone(ESTIMATORS[name])


@cache
def planted(smallest):
    return planted_motifs(n_graphs=36, n_nodes=(smallest, 14), seed=0).graphs


@pytest.fixture
def graphs(name):
    return planted(14 if name == "aligned" else 8)


def kinds_of_y(graphs):
    two = np.asarray(graphs.y)
    return {
        "numbers": two,
        "signs": np.where(two == two.max(), 1, -1),
        "strings": np.where(two == two.max(), "mutagenic", "harmless"),
        "booleans": two == two.max(),
        "floats": two.astype(float),
        "objects": np.array(["b" if value else "a" for value in two], dtype=object),
        "three classes": np.arange(len(graphs)) % 3,
        "indicators": np.column_stack([two == two.max(), np.arange(len(graphs)) % 2]).astype(int),
    }


@pytest.mark.parametrize("kind", ["numbers", "signs", "strings", "booleans", "floats", "objects", "three classes"])
def test_predictions_are_classes_and_probabilities_sum_to_one(estimator, graphs, kind):
    y = kinds_of_y(graphs)[kind]
    predicted = estimator.fit(graphs, y).predict(graphs)
    assert set(predicted.tolist()) <= set(y.tolist())
    assert type(predicted[0]) is type(y[0])
    probabilities = estimator.predict_proba(graphs)
    assert probabilities.shape == (len(graphs), len(set(y.tolist())))
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    np.testing.assert_equal(estimator.classes_[probabilities.argmax(1)], predicted)
    assert estimator.score(graphs, y) == accuracy_score(y, predicted)


def takes_indicators(estimator):
    return get_tags(estimator).classifier_tags.multi_label


def test_an_indicator_matrix_gives_an_indicator_matrix_or_is_refused(estimator, graphs):
    y = kinds_of_y(graphs)["indicators"]
    if not takes_indicators(estimator):
        with pytest.raises(InputError, match="takes one class per graph; fit one estimator per column of y"):
            estimator.fit(graphs, y)
        return
    predicted = estimator.fit(graphs, y).predict(graphs)
    probabilities = estimator.predict_proba(graphs)
    assert predicted.shape == probabilities.shape == y.shape
    np.testing.assert_equal(predicted, probabilities > 0.5)
    assert estimator.score(graphs, y) == accuracy_score(y, predicted)
    gaps = np.where(np.arange(y.size).reshape(y.shape) % 3, np.nan, y)
    known = ~np.isnan(gaps)
    right = [(gaps[i] == predicted[i])[known[i]].all() for i in np.flatnonzero(known.any(axis=1))]
    assert estimator.score(graphs, gaps) == pytest.approx(np.mean(right))
    with pytest.raises(InputError, match="y has shape .* and this model predicts"):
        estimator.score(graphs, y[:, :1])


def test_a_clone_is_unfitted_and_learns_the_same(estimator, graphs):
    fitted = estimator.fit(graphs)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError, match="call fit first"):
        copy.predict(graphs)
    np.testing.assert_equal(copy.fit(graphs).predict_proba(graphs), fitted.predict_proba(graphs))


def test_fit_changes_no_setting_and_returns_the_estimator(estimator, graphs):
    before = estimator.get_params()
    assert estimator.fit(graphs) is estimator
    assert estimator.get_params() == before


def test_refitting_forgets(estimator, graphs):
    y = kinds_of_y(graphs)
    fresh = clone(estimator).fit(graphs, y["strings"])
    estimator.fit(graphs, y["three classes"]).fit(graphs, y["strings"])
    np.testing.assert_equal(estimator.predict_proba(graphs), fresh.predict_proba(graphs))
    np.testing.assert_equal(estimator.classes_, fresh.classes_)


def test_a_failed_refit_does_not_leave_an_old_model_behind(estimator, graphs):
    estimator.fit(graphs)
    with pytest.raises(InputError, match="one class only"):
        estimator.fit(graphs, np.ones(len(graphs)))
    with pytest.raises(NotFittedError, match="call fit first"):
        estimator.predict(graphs)


def test_the_answer_for_a_graph_does_not_depend_on_the_others(estimator, graphs):
    estimator.fit(graphs)
    together = estimator.predict_proba(graphs)
    order = np.random.default_rng(0).permutation(len(graphs))
    np.testing.assert_allclose(estimator.predict_proba(graphs[order]), together[order], atol=1e-6)
    alone = np.concatenate([estimator.predict_proba([graph]) for graph in graphs])
    np.testing.assert_allclose(alone, together, atol=1e-6)


def test_lists_arrays_and_graphsets_mean_the_same(estimator, graphs):
    estimator.fit(graphs)
    expected = estimator.predict_proba(graphs)
    for form in (list(graphs), [graph.adjacency for graph in graphs]):
        np.testing.assert_allclose(estimator.predict_proba(form), expected, atol=1e-6)


def test_pickling_keeps_the_answers(estimator, graphs):
    copy = pickle.loads(pickle.dumps(estimator.fit(graphs)))
    np.testing.assert_equal(copy.predict_proba(graphs), estimator.predict_proba(graphs))


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_cross_validation_gives_the_same_bits_for_any_number_of_jobs(estimator, graphs, backend, name):
    if backend == "loky" and name != "subgraph-linear":
        pytest.skip("starting processes once is enough; tests/experiments/test_run.py does so with torch")
    one = cross_val_predict(estimator, graphs, graphs.y, cv=3, method="predict_proba")
    with joblib.parallel_backend(backend):
        two = cross_val_predict(estimator, graphs, graphs.y, cv=3, method="predict_proba", n_jobs=2)
    np.testing.assert_equal(one, two)


def test_works_in_cross_val_score_grid_search_and_pipeline(estimator, graphs):
    assert cross_val_score(estimator, graphs, graphs.y, cv=3).shape == (3,)
    grid = {"epochs": [1, 2]} if "epochs" in estimator.get_params() else {}
    search = GridSearchCV(estimator, grid, cv=2, error_score="raise").fit(graphs, graphs.y)
    assert search.best_estimator_.predict(graphs).shape == (len(graphs),)
    pipeline = Pipeline([("same", FunctionTransformer()), ("classify", estimator)]).fit(graphs, graphs.y)
    assert pipeline.predict(graphs).shape == (len(graphs),)


def test_is_a_classifier_and_knows_when_it_is_fitted(estimator, graphs):
    assert is_classifier(estimator)
    with pytest.raises(SklearnNotFittedError, match="not fitted"):
        check_is_fitted(estimator)
    check_is_fitted(estimator.fit(graphs))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (lambda g: np.zeros(g), "one class only"),
        (lambda g: np.arange(g - 1) % 2, "has 35 entries for 36 graphs"),
        (lambda g: np.linspace(0, 1, g), "not classes"),
        (lambda g: np.array([None, *range(g - 1)], dtype=object), r"y\[0\] is nan"),
        (lambda g: np.array([np.inf] + [1.0, 2.0] * (g // 2))[:g], r"y\[0\] is inf"),
        (lambda g: np.array([1, "a"] * (g // 2), dtype=object), "y mixes classes such as 1 that cannot be sorted"),
        (lambda g: np.full((g, 2), 3), "indicator matrix holds 0 and 1 only"),
    ],
)
def test_impossible_classes_are_refused(estimator, graphs, y, message):
    if "indicator" in message and not takes_indicators(estimator):
        message = "takes one class per graph"
    with pytest.raises(InputError, match=message):
        estimator.fit(graphs, y(len(graphs)))


def test_missing_classes_are_refused(estimator, graphs):
    with pytest.raises(InputError, match="fit needs y"):
        estimator.fit(graphs.with_y(None))


def test_nan_is_refused_in_fit_and_in_predict(estimator, graphs):
    bad = graphs.dense()
    bad[3, 1, 2] = np.nan
    with pytest.raises(InputError, match=f"graph 3 of {len(graphs)} has an edge of weight nan"):
        estimator.fit(bad, graphs.y)
    estimator.fit(graphs)
    with pytest.raises(InputError, match=f"graph 3 of {len(graphs)} has an edge of weight nan"):
        estimator.predict(bad)
