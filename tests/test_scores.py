"""Metrics, against scikit-learn and against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from isonn.experiments.validation import metrics_of
from isonn.scores import column_scores, held_out_scores, right_graphs, score
from isonn.targets import Classes, Labels, Numbers, target_kind

DRAW = np.random.default_rng(0)


def test_two_classes_are_scored_as_by_scikit_learn() -> None:
    y = DRAW.integers(0, 2, 60)
    p = np.clip(0.3 * y + DRAW.random(60) * 0.7, 0, 1)
    answers = np.column_stack([1 - p, p])
    found = score(Classes.fit(y), y, answers)
    predicted = answers.argmax(1)
    assert found == pytest.approx(
        {
            "accuracy": sk.accuracy_score(y, predicted),
            "f1": sk.f1_score(y, predicted),
            "auroc": sk.roc_auc_score(y, p),
            "average_precision": sk.average_precision_score(y, p),
            "mcc": sk.matthews_corrcoef(y, predicted),
            "balanced_accuracy": sk.balanced_accuracy_score(y, predicted),
            "brier": sk.brier_score_loss(y, p),
        }
    )


def test_more_classes_are_the_mean_over_them() -> None:
    y = np.array(["a", "b", "c"] * 20)
    answers = DRAW.dirichlet([1, 1, 1], 60) + 0.4 * (y[:, None] == np.array(["a", "b", "c"]))
    answers /= answers.sum(1, keepdims=True)
    found = score(Classes.fit(y), y, answers)
    predicted = np.array(["a", "b", "c"])[answers.argmax(1)]
    assert found["f1"] == pytest.approx(sk.f1_score(y, predicted, average="macro"))
    assert found["auroc"] == pytest.approx(sk.roc_auc_score(y, answers, multi_class="ovr"))
    assert found["balanced_accuracy"] == pytest.approx(sk.balanced_accuracy_score(y, predicted))


def test_f1_is_of_the_larger_of_two_classes_and_0_where_it_is_neither_there_nor_predicted() -> None:
    target = Classes.fit(np.array([-1, 1]))
    assert score(target, np.array([-1, -1, 1, 1]), np.eye(2)[[0, 1, 1, 1]])["f1"] == pytest.approx(0.8)
    assert score(target, np.array([-1, -1]), np.eye(2)[[0, 0]])["f1"] == 0
    assert score(target, np.array([-1, -1]), np.eye(2)[[0, 0]])["auroc"] is None


@pytest.mark.parametrize("words", [("hit", "no hit"), ("Active", "Inactive"), ("BBB+", "BBB-"), ("yes", "no")])
def test_scores_are_of_the_positive_class_wherever_its_word_sorts(words: tuple[str, str]) -> None:
    y = DRAW.integers(0, 2, 60)
    p = np.clip(0.3 * y + DRAW.random(60) * 0.7, 0, 1)
    numbers, texts = Classes.fit(y), Classes.fit(np.array(words))
    named = np.array(words)[1 - y]
    answers = np.column_stack([p, 1 - p])[:, [words.index(value) for value in texts.classes]]
    assert score(texts, named, answers) == pytest.approx(score(numbers, y, np.column_stack([1 - p, p])))
    of_words = metrics_of(texts, texts.encode(named), answers)
    assert of_words == pytest.approx(metrics_of(numbers, y, np.column_stack([1 - p, p])))


def test_the_mean_of_the_others_has_no_correlation() -> None:
    """It is -1, and says that the model is wrong where it only knows nothing."""
    y = DRAW.normal(size=40)
    mean = (y.sum() - y) / (len(y) - 1)
    assert np.corrcoef(y, mean)[0, 1] == pytest.approx(-1)
    assert "pearson" not in held_out_scores(Numbers.fit(y), y, mean[:, None])[0]
    weak = mean + 0.2 * y + 0.1 * DRAW.normal(size=40)
    found = held_out_scores(Numbers.fit(y), y, weak[:, None])[0]
    assert found["pearson"] == pytest.approx(np.corrcoef(y, weak)[0, 1])


def test_gaps_are_left_out_column_by_column() -> None:
    y = np.array([[0, np.nan], [1, 1], [1, np.nan], [0, np.nan]])
    answers = np.array([[0.2, 0.9], [0.7, 0.4], [0.4, 0.1], [0.1, 0.2]])
    first, second = column_scores(Labels.fit(y), y, answers)
    assert first["accuracy"] == 0.75
    assert first["auroc"] == 1
    assert (second["accuracy"], second["auroc"]) == (0, None)
    assert score(Labels.fit(y), y, answers)["accuracy"] == pytest.approx(0.375)
    assert score(Labels.fit(y), y, answers)["auroc"] == 1
    nothing = column_scores(Labels.fit(y), y[[0]], answers[[0]])[1]
    assert set(nothing.values()) == {None}
    assert nothing.keys() == first.keys()


def test_numbers_are_scored_as_by_scikit_learn_and_scipy() -> None:
    y = DRAW.normal(size=40)
    guess = y + DRAW.normal(size=40) * 0.5
    found = score(Numbers.fit(y), y, guess[:, None])
    assert found == pytest.approx(
        {
            "rmse": np.sqrt(sk.mean_squared_error(y, guess)),
            "mae": sk.mean_absolute_error(y, guess),
            "r2": sk.r2_score(y, guess),
            "pearson": stats.pearsonr(y, guess).statistic,
            "spearman": stats.spearmanr(y, guess).statistic,
        }
    )
    assert score(Numbers.fit(y), y[:1], guess[:1, None])["r2"] is None


def test_numbers_of_several_columns_are_the_mean_over_them() -> None:
    y, guess = DRAW.normal(size=(50, 2)), DRAW.normal(size=(50, 2))
    found = score(Numbers.fit(y), y, guess)
    assert found["r2"] == pytest.approx(sk.r2_score(y, guess))
    assert found["mae"] == pytest.approx(sk.mean_absolute_error(y, guess))
    assert found["rmse"] == pytest.approx(np.sqrt(((y - guess) ** 2).mean(axis=0)).mean())


def test_several_labels_have_one_f1_and_are_right_together() -> None:
    y, answers = DRAW.integers(0, 2, (50, 3)), DRAW.random((50, 3))
    target = Labels.fit(y)
    guess = target.decide(answers)
    assert right_graphs(target, y, guess).mean() == pytest.approx(sk.accuracy_score(y, guess))
    overall, _ = held_out_scores(target, y, answers)
    assert overall["f1"] == pytest.approx(sk.f1_score(y, guess, average="micro"))


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        ([1, 2, 1], "classes"),
        ([1.0, -1.0], "classes"),
        (["a", "b"], "classes"),
        ([0.5, 1.0], "numbers"),
        ([[0, 1], [1, 1]], "labels"),
        ([[0.0, np.nan], [1, 1]], "labels"),
        ([[0.5, np.nan], [1, 1]], "numbers"),
        ([[3], [4]], "numbers"),
    ],
)
def test_what_y_holds_is_told_from_its_values(y: list, kind: str) -> None:
    assert target_kind(np.array(y)) == kind


def test_a_correlation_needs_five_numbers() -> None:
    y = DRAW.normal(size=5)
    guess = y + DRAW.normal(size=5)
    assert score(Numbers.fit(y), y, guess[:, None])["pearson"] == pytest.approx(stats.pearsonr(y, guess).statistic)
    few = score(Numbers.fit(y), y[:4], guess[:4, None])
    assert (few["pearson"], few["spearman"]) == (None, None)
    assert few["mae"] == pytest.approx(np.abs(y - guess)[:4].mean())
