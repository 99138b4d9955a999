"""The Weisfeiler-Lehman kernel, against grakel fed from the TU files by its own reader, and the decisions on it."""

from __future__ import annotations

from collections import Counter
from importlib.resources import as_file, files

import numpy as np
import pytest

from isonn.baselines import WLClassifier
from isonn.baselines.weisfeiler_lehman import _choose
from isonn.errors import InputError
from isonn.experiments.methods import build
from isonn.graphs import GraphSet, as_graphset, balanced_folds


@pytest.fixture(scope="module")
def kernel_by_grakel():
    """MUTAG as grakel reads it, every pair of graphs."""
    grakel = pytest.importorskip("grakel", reason="grakel has no wheel for this Python")
    from grakel.datasets.base import read_data

    with as_file(files("grakel") / "tests" / "data") as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        bunch = read_data("MUTAG", with_classes=True, prefer_attr_nodes=False, produce_labels_nodes=False)
    kernel = grakel.WeisfeilerLehman(n_iter=4, normalize=True, base_graph_kernel=grakel.VertexHistogram)
    return kernel.fit_transform(bunch.data)


def test_the_kernel_on_mutag_is_grakels_own(mutag: GraphSet, kernel_by_grakel) -> None:
    model = WLClassifier(iterations=4).fit(mutag)
    ours = model.kernel_.transform(model.reader_.read(mutag))
    np.testing.assert_allclose(ours, kernel_by_grakel, atol=1e-12)
    assert 0.1 < ours.mean() < 0.9


def test_new_graphs_have_the_similarity_they_have_in_grakels_matrix_of_all(mutag: GraphSet, kernel_by_grakel) -> None:
    train, test = np.arange(0, 188, 2), np.arange(1, 188, 2)
    model = WLClassifier(iterations=4).fit(mutag[train])
    ours = model.kernel_.transform(model.reader_.read(mutag[test]))
    np.testing.assert_allclose(ours, kernel_by_grakel[np.ix_(test, train)], atol=1e-12)


def kernel_by_definition(graphs: GraphSet, iterations: int) -> np.ndarray:
    """Count equal neighbourhoods, written out as nested tuples."""
    held = []
    for graph in graphs:
        colours = graph.node_labels.tolist()
        found = list(colours)
        for _ in range(iterations):
            around = [sorted(str(colours[j]) for j in np.flatnonzero(graph.adjacency[i])) for i in range(graph.n)]
            colours = [f"({colour} {' '.join(near)})" for colour, near in zip(colours, around, strict=True)]
            found += colours
        held.append(Counter(map(str, found)))
    kernel = np.array([[sum(one[key] * other[key] for key in one) for other in held] for one in held], dtype=float)
    return kernel / np.sqrt(np.outer(kernel.diagonal(), kernel.diagonal()))


@pytest.mark.parametrize("iterations", [1, 3])
def test_the_kernel_equals_the_definition(iterations: int, mutag: GraphSet) -> None:
    graphs = mutag[::9]
    model = WLClassifier(iterations=iterations).fit(graphs[:10])
    ours = model.kernel_.transform(model.reader_.read(graphs))
    np.testing.assert_allclose(ours, kernel_by_definition(graphs, iterations)[:, :10], atol=1e-12)


def test_the_papers_rule_is_a_mean_similarity_above_one_half(mutag: GraphSet, kernel_by_grakel) -> None:
    model = WLClassifier(iterations=4).fit(mutag)
    mean = kernel_by_grakel.mean(axis=1)
    np.testing.assert_allclose(model.predict_proba(mutag)[:, 1], mean, atol=1e-12)
    np.testing.assert_array_equal(model.predict(mutag), np.where(mean > 0.5, model.classes_[1], model.classes_[0]))


def test_with_three_classes_the_most_similar_class_wins() -> None:
    ring, star, path = np.zeros((3, 6, 6))
    for i in range(6):
        ring[i, (i + 1) % 6] = star[0, i] = 1
    for i in range(5):
        path[i, i + 1] = 1
    X, y = [ring, star, path] * 3, ["ring", "star", "path"] * 3
    for decision in ("mean", "svm"):
        model = WLClassifier(decision=decision, random_state=0).fit(X, y)
        assert model.predict(X).tolist() == y
        np.testing.assert_allclose(model.predict_proba(X).sum(1), 1)


def test_a_graph_of_unseen_labels_is_similar_to_none() -> None:
    graphs = [as_graphset([np.ones((3, 3))]) for _ in range(2)]
    known, unknown = (
        GraphSet(g.node_offsets, g.edge_offsets, g.edges, node_labels=np.array(labels))
        for g, labels in zip(graphs, (["C", "C", "N"], ["Xe", "Xe", "Xe"]), strict=True)
    )
    both = known[[0, 0, 0]]
    model = WLClassifier().fit(both, ["a", "b", "c"])
    np.testing.assert_allclose(model.predict_proba(unknown), 1 / 3)
    assert WLClassifier().fit(both, ["a", "b", "a"]).predict(unknown).tolist() == ["a"]


def test_settings_are_chosen_by_the_training_graphs(mutag: GraphSet) -> None:
    assert mutag.y is not None
    train, test = balanced_folds(mutag.y, 3, 0)[0]
    model = WLClassifier(decision="svm", random_state=0).fit(mutag[train])
    assert 1 <= model.iterations_ <= 6
    assert model.score(mutag[test], mutag.y[test]) > 0.7
    assert WLClassifier(decision="svm", iterations=3, random_state=0).fit(mutag[train]).iterations_ == 3


def test_the_choice_prefers_the_kernel_that_separates_and_survives_a_class_of_one() -> None:
    targets = np.arange(20) % 2
    useless, perfect = np.eye(20), (targets[:, None] == targets).astype(float)
    kernels = [(1, useless), (2, perfect)]
    assert _choose(kernels, targets, seed=0)[0] == 2
    assert _choose(kernels, np.array([0] * 19 + [1]), seed=0)[:2] == (1, 1.0)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"decision": "median"}, "decision='median' is unknown"),
        ({"iterations": 0}, "iterations=0 is not a valid number of iterations"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        WLClassifier(**settings).fit(np.ones((2, 3, 3)), [0, 1])


def test_the_two_decisions_are_two_methods() -> None:
    assert build("wl", {}, seed=0, size=9).get_params()["decision"] == "mean"
    assert (
        build("wl-svm", {"iterations": 2}, seed=0, size=9).get_params().items()
        >= {
            "decision": "svm",
            "iterations": 2,
        }.items()
    )
    with pytest.raises(InputError, match="wl-svm has no setting 'decision'; it takes iterations"):
        build("wl-svm", {"decision": "mean"}, seed=0, size=9)
