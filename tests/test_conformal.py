"""Intervals and sets: their definition, their coverage in simulations, and through the estimators."""

from __future__ import annotations

import hashlib
import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import isonn
from isonn.conformal import Conformal, SortedScores, check_coverage, fit_difficulty, least_groups
from isonn.errors import InputError, IsoNNWarning, ModelFileError
from isonn.targets import Classes, Labels, Numbers

ONE_NUMBER = Numbers(np.zeros(1), np.ones(1), True)


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("n", [1, 8, 9, 19, 50, 101])
def test_the_quantile_equals_the_definition_of_split_conformal_prediction(n, coverage):
    values = np.random.default_rng(n).normal(size=n)
    rank = int(np.ceil(np.round((n + 1) * coverage, 9)))
    expected = np.sort(values)[rank - 1] if rank <= n else np.inf
    assert SortedScores.of(values, np.arange(n), np.arange(n)).quantile(coverage) == expected


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_as_many_groups_as_needed_give_a_finite_quantile_and_one_less_does_not(coverage):
    enough = least_groups(coverage)
    for n, finite in ((enough, True), (enough - 1, False)):
        scores = SortedScores.of(np.arange(float(n)), np.arange(n), np.arange(n))
        assert np.isfinite(scores.quantile(coverage)) == finite


def test_copies_of_a_graph_count_once():
    values, graph = np.array([1.0, 2.0, 3.0, 4.0, 4.0, 4.0]), np.array([0, 1, 2, 3, 3, 3])
    once = SortedScores.of(values[:4], graph[:4], graph[:4])
    copies = SortedScores.of(values, graph, graph)
    for coverage in (0.2, 0.4, 0.6, 0.8):
        assert copies.quantile(coverage) == once.quantile(coverage)


def hard_and_easy(draw, n):
    """Outputs, truths and signals of graphs of which some have errors ten times as large; outputs are off by them."""
    signal = draw.choice([0.1, 1.0], size=n)
    outputs = draw.normal(size=n)
    return outputs[:, None], (outputs + signal * draw.normal(size=n))[:, None], signal[:, None, None]


def test_intervals_have_their_coverage_and_are_wide_where_errors_are_large():
    draw, hit, width = np.random.default_rng(0), {}, {}
    for _ in range(300):
        outputs, truths, signals = hard_and_easy(draw, 160)
        train, test = slice(0, 60), slice(60, 160)
        ids = np.arange(60)
        conformal = Conformal.fit(outputs[train], truths[train], ONE_NUMBER, ids, ids, signals[train])
        for coverage in (0.8, 0.9, 0.95):
            low, high = conformal.interval(outputs[test], coverage, ONE_NUMBER, signals[test])[:, 0].T
            hit.setdefault(coverage, []).append((low <= truths[test, 0]) & (truths[test, 0] <= high))
            hard = signals[test, 0, 0] == 1
            width.setdefault(coverage, []).append((high - low)[hard].mean() / (high - low)[~hard].mean())
    for coverage, hits in hit.items():
        assert coverage - 0.005 < np.mean(hits) < coverage + 0.025
        assert np.mean(width[coverage]) > 2


def test_new_groups_are_covered_when_errors_of_a_group_go_together():
    draw, hits = np.random.default_rng(1), []
    for _ in range(300):
        group = np.repeat(np.arange(60), 5)
        errors = (draw.normal(size=60)[group] + 0.1 * draw.normal(size=300))[:, None]
        known = group < 40
        ids = np.arange(200)
        conformal = Conformal.fit(np.zeros((200, 1)), errors[known], ONE_NUMBER, ids, group[known])
        low, high = conformal.interval(np.zeros((100, 1)), 0.9, ONE_NUMBER)[:, 0].T
        hits.append((low <= errors[~known, 0]) & (errors[~known, 0] <= high))
    assert 0.89 < np.mean(hits) < 0.925


@pytest.mark.parametrize("kind", ["classes", "labels"])
def test_sets_cover_a_rare_class_as_well_as_the_common_one(kind):
    draw, hits = np.random.default_rng(2), {0: [], 1: []}
    target = Classes(np.array([0, 1])) if kind == "classes" else Labels(1)
    for _ in range(200):
        codes = (draw.random(600) < 0.1).astype(int)
        score = 1.5 * codes - 2.5 + draw.normal(size=600)
        outputs = np.column_stack([-score / 2, score / 2]) if kind == "classes" else score[:, None]
        targets = codes if kind == "classes" else codes[:, None].astype(float)
        ids = np.arange(400)
        conformal = Conformal.fit(outputs[:400], targets[:400], target, ids, ids)
        sets = conformal.sets(target.link(outputs[400:]), 0.9, target).reshape(200, 2)
        for value in (0, 1):
            rows = np.flatnonzero(codes[400:] == value)
            hits[value] += sets[rows, value].tolist()
    assert 0.895 < np.mean(hits[0]) < 0.92
    assert 0.885 < np.mean(hits[1]) < 0.94


def test_a_difficulty_learned_from_a_group_itself_would_lose_coverage():
    """Errors that a signal explains only in the training groups must not narrow their intervals."""
    draw = np.random.default_rng(3)
    signals, errors = draw.random((40, 30)), np.abs(draw.normal(size=40))
    coef, expected = fit_difficulty(signals, errors, np.arange(40))
    inside = coef[0] + signals @ coef[1:]
    assert np.mean(errors / inside) < np.mean(errors / expected)
    assert (expected > 0.4 * errors.mean()).all()  # no interval becomes very narrow


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 1.5, np.nan, "most", None, True])
def test_a_coverage_that_is_no_probability_is_refused(coverage):
    with pytest.raises(InputError, match="coverage must be above 0 and below 1"):
        check_coverage(coverage)


@pytest.fixture(scope="module")
def graphs():
    return isonn.load("MUTAG")


def regressor(graphs, y, **params):
    return isonn.SubgraphRegressor(max_nodes=3, head="linear", random_state=0, **params).fit(graphs, y)


def noisy_sizes(graphs, seed=0):
    return graphs.sizes + np.random.default_rng(seed).normal(size=len(graphs))


@pytest.fixture(scope="module")
def fitted(graphs):
    return regressor(graphs[:120], noisy_sizes(graphs)[:120])


def test_intervals_of_a_model_cover_new_graphs(fitted, graphs):
    y = noisy_sizes(graphs)[120:]
    for coverage in (0.5, 0.9):
        low, high = fitted.predict_interval(graphs[120:], coverage).T
        assert abs(np.mean((low <= y) & (y <= high)) - coverage) < 3 * np.sqrt(coverage * (1 - coverage) / len(y))
        predicted = fitted.predict(graphs[120:])
        np.testing.assert_allclose((low + high) / 2, predicted)


def test_numbers_learned_as_logarithms_have_intervals_in_their_own_units(graphs):
    y = 10 ** (graphs.sizes / 4 + 0.2 * np.random.default_rng(0).normal(size=len(graphs)))
    model = regressor(graphs[:120], y[:120])
    assert model.target_.logs.all()
    low, high = model.predict_interval(graphs[120:]).T
    np.testing.assert_allclose(low * high, model.predict(graphs[120:]) ** 2)  # symmetric as logarithms
    assert (low > 0).all()
    assert 0.75 < np.mean((low <= y[120:]) & (y[120:] <= high)) <= 1


def test_several_columns_with_gaps_have_intervals_of_their_own(graphs):
    y = np.column_stack([noisy_sizes(graphs), 100 * noisy_sizes(graphs, 1)])
    y[::3, 1] = np.nan
    model = regressor(graphs[:120], y[:120])
    interval = model.predict_interval(graphs[120:])
    assert interval.shape == (68, 2, 2)
    widths = np.diff(interval, axis=2)[:, :, 0].mean(axis=0)
    assert 30 < widths[1] / widths[0] < 300


def test_labels_have_sets_of_absence_and_presence(graphs):
    y = np.column_stack([graphs.sizes > 17, graphs.sizes > 12]).astype(float)
    model = isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0).fit(graphs[:120], y[:120])
    assert model.predict_set(graphs[120:]).shape == (68, 2, 2)


@pytest.mark.filterwarnings("ignore:1 of 1126 nodes")
def test_larger_coverage_means_larger_sets(graphs):
    new = np.arange(len(graphs)) % 3 == 0
    model = isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0).fit(graphs[~new])
    sets = [model.predict_set(graphs[new], coverage) for coverage in (0.5, 0.8, 0.95)]
    assert (sets[0] <= sets[1]).all()
    assert (sets[1] <= sets[2]).all()
    truth = graphs.y[new, None] == model.classes_
    assert sets[2][truth].mean() > 0.85


def test_with_too_few_graphs_the_interval_is_infinite_and_says_so(graphs):
    model = regressor(graphs[:18], noisy_sizes(graphs)[:18] - 20)  # negative numbers are not learned as logarithms
    groups = model._conformal.scores[0].groups
    with pytest.warns(IsoNNWarning, match=rf"coverage 0.99 needs 99 .* there are {groups}, so the interval is infini"):
        interval = model.predict_interval(graphs[100:102], 0.99)
    np.testing.assert_array_equal(interval, [[-np.inf, np.inf]] * 2)


def test_groups_count_instead_of_graphs(graphs):
    groups = np.arange(60) % 8
    model = isonn.SubgraphRegressor(max_nodes=2, head="linear", random_state=0)
    model.fit(graphs[:60], noisy_sizes(graphs)[:60] - 20, groups=groups)  # not all positive, so no logarithms
    with pytest.warns(IsoNNWarning, match=r"coverage 0\.9 needs 9 "):
        assert np.isinf(model.predict_interval(graphs[100:102])).all()


def test_a_label_without_negatives_is_in_every_set_and_says_so(graphs):
    y = np.column_stack([graphs.sizes > 17, np.ones(len(graphs))]).astype(float)
    with pytest.warns(IsoNNWarning, match="column 1 of y is 1"):
        model = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(graphs[:60], y[:60])
    with pytest.warns(IsoNNWarning, match="there are 0, so every set holds absence of label 1"):
        assert model.predict_set(graphs[100:103])[:, 1, 0].all()


def test_a_model_for_the_other_kind_of_target_is_named(fitted, graphs):
    with pytest.raises(InputError, match="predict_set is not for a model of numbers; use predict_interval"):
        fitted.predict_set(graphs[:2])


def test_a_short_list_refuses_because_it_was_chosen_on_all_graphs(graphs):
    model = regressor(graphs[:40], noisy_sizes(graphs)[:40], n_templates=5)
    with pytest.raises(InputError, match="no held-out errors.*fit with n_templates=None"):
        model.predict_interval(graphs[:2])


def test_a_model_of_the_paper_refuses_with_a_sentence(graphs):
    pytest.importorskip("torch")
    model = isonn.IsoNNClassifier(k=2, c=1, epochs=1, random_state=0).fit(graphs[:12])
    with pytest.raises(InputError, match="this IsoNNClassifier has no held-out errors.*use a Subgraph or an Aligned"):
        model.predict_set(graphs[:2])


@pytest.mark.parametrize("numbers", [False, True])
def test_aligned_models_have_both(numbers):
    draw = np.random.default_rng(0)
    y = draw.normal(size=60)
    noise = draw.normal(size=(60, 10, 10))
    matrices = noise + noise.transpose(0, 2, 1)
    matrices[:, [[2], [5], [7]], [2, 5, 7]] += 2 * y[:, None, None]
    cls = isonn.AlignedRegressor if numbers else isonn.AlignedClassifier
    model = cls(k=(2, 3), shuffles=9, random_state=0).fit(
        matrices[:50], y[:50] if numbers else (y[:50] > 0).astype(int)
    )
    result = model.predict_interval(matrices[50:]) if numbers else model.predict_set(matrices[50:])
    assert result.shape == (10, 2)
    with pytest.raises(InputError, match="domain needs a Subgraph model"):
        model.domain(matrices[50:])
    if numbers:
        np.testing.assert_allclose(result.mean(axis=1), model.predict(matrices[50:]))
        assert np.mean((result[:, 0] <= y[50:]) & (y[50:] <= result[:, 1])) >= 0.6


def test_a_saved_model_gives_the_same_intervals(fitted, graphs, tmp_path):
    fitted.save(tmp_path / "model")
    again = isonn.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_interval(graphs[120:]), fitted.predict_interval(graphs[120:]))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("trust.conformal.values", lambda array: array[:-1]),
        ("trust.conformal.values", lambda array: array * np.nan),
        ("trust.conformal.values", lambda array: array[::-1].copy()),
        ("trust.conformal.sizes", lambda array: array - 10**6),
        ("trust.conformal.difficulty", lambda array: -array),
        ("trust.conformal.difficulty", lambda array: array[:, :1].copy()),
        ("trust.references.points", lambda array: array[:, :7].copy()),
        ("trust.references.errors", lambda array: array[:3].copy()),
        ("trust.references.weights", lambda array: array * np.float32(np.nan)),
    ],
)
def test_damaged_scores_are_refused(fitted, tmp_path, name, change):
    from isonn.model_files import JSON_NAME, TENSORS_NAME, digest_of

    folder = tmp_path / "model"
    fitted.save(folder)
    file = folder / TENSORS_NAME
    tensors = load_file(file)
    tensors[name] = change(tensors[name])
    shutil.move(file, tmp_path / "before")
    save_file(tensors, file)
    description = json.loads((folder / JSON_NAME).read_text())
    description["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    description["digest"] = digest_of(description)
    (folder / JSON_NAME).write_text(json.dumps(description))
    with pytest.raises(ModelFileError, match="does not describe the weights it holds"):
        isonn.load_model(folder)
