"""One job: what it is called, what it draws from, what comes out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from isonn.baselines import DegreeHistogramClassifier, MajorityClassifier
from isonn.connectomes import from_matrices
from isonn.errors import InputError
from isonn.experiments.jobs import Job, _permuted, permuted, plan, run_job
from isonn.experiments.protocols import find_protocol
from isonn.graphs import GraphSet

TINY = {"k": 2, "c": 1, "epochs": 3, "hidden": [8]}


def job_of(graphs: GraphSet, method: str = "majority", **changes: object) -> Job:
    job = Job(graphs.name, method, {}, "paper", 0, 0, graphs.digest)
    return replace(job, **changes)  # type: ignore[arg-type]


def test_every_part_of_a_job_changes_its_id_and_nothing_else_does(graphs: GraphSet) -> None:
    job = job_of(graphs, settings={"k": 2, "c": 1})
    others = {"dataset": "x", "method": "size", "settings": {"k": 2, "c": 2}, "protocol": "released", "fold": 1}
    others |= {"seed": 1, "digest": "0"}
    ids = {replace(job, **{part: value}).id for part, value in others.items()}  # type: ignore[arg-type]
    assert len(ids | {job.id}) == len(others) + 1
    assert replace(job, settings={"c": 1, "k": 2}).id == job.id


def test_ids_are_the_same_on_every_machine() -> None:
    """Stores are merged by copying files, so an id may never change: sha256 of this JSON, by any other tool."""
    text = (
        b'{"dataset":"A","digest":"d","fold":2,"method":"isonn","protocol":"paper","seed":1,"settings":{"c":1,"k":4}}'
    )
    job = Job("A", "isonn", {"k": 4, "c": 1}, "paper", 2, 1, "d")
    assert job.id == hashlib.sha256(text).hexdigest()[:32]


def test_settings_to_choose_from_are_part_of_a_job_and_no_candidates_leave_its_id_alone() -> None:
    job = Job("A", "isonn", {"k": 4, "c": 1}, "paper", 2, 1, "d")
    ids = {replace(job, candidates=candidates).id for candidates in (({"c": 2},), ({"c": 2}, {"c": 3}), ())}
    assert len(ids) == 3
    assert "candidates" not in job.as_dict()
    again = Job(**json.loads(json.dumps(replace(job, candidates=({"c": 2},)).as_dict())))
    assert again.id == replace(job, candidates=({"c": 2},)).id


def test_the_weights_depend_on_the_seed_and_the_method_but_not_on_the_fold(graphs: GraphSet) -> None:
    job = job_of(graphs, "isonn")
    assert replace(job, fold=2).weight_seed == job.weight_seed
    assert len({replace(job, seed=seed).weight_seed for seed in range(20)}) == 20
    assert replace(job, method="size").weight_seed != job.weight_seed


def test_a_plan_has_every_fold_of_every_method_and_more_seeds_only_add(graphs: GraphSet) -> None:
    two = plan(graphs, ["size", "majority"], {"size": {}}, "paper", seeds=2)
    three = plan(graphs, ["size", "majority"], {}, "paper", seeds=3)
    assert len({job.id for job in two}) == 2 * 2 * 3
    assert [job.id for job in three[: len(two)]] == [job.id for job in two]


def test_a_plan_without_seeds_or_with_too_few_graphs_is_refused(graphs: GraphSet) -> None:
    with pytest.raises(InputError, match="seeds must be at least 1, got 0"):
        plan(graphs, ["size"], {}, "paper", seeds=0)
    assert graphs.y is not None
    few = graphs[np.concatenate([np.flatnonzero(graphs.y == 0), np.flatnonzero(graphs.y == 1)[:2]])]
    with pytest.raises(InputError, match="class 1 has 2 graphs, fewer than the 3 folds"):
        plan(few, ["size"], {}, "paper", seeds=1)


def test_all_methods_are_tested_on_the_same_graphs_which_no_method_was_trained_on(graphs: GraphSet) -> None:
    for fold, (train, test) in enumerate(find_protocol("paper").split(graphs, 3)):
        for method in ("majority", "size", "degrees"):
            result = run_job(job_of(graphs, method, fold=fold, seed=3), graphs)
            assert result["test"] == test.tolist()
            assert not set(result["test"]) & set(train.tolist())
            assert (result["n_train"], result["n_test"]) == (len(train), len(test))


def test_metrics_are_those_of_the_stored_predictions(graphs: GraphSet) -> None:
    assert graphs.y is not None
    result = run_job(job_of(graphs, "degrees"), graphs)
    truth, predicted = graphs.y[result["test"]], np.array(result["predictions"])
    hits = ((truth == 1) & (predicted == 1)).sum()
    assert result["metrics"]["accuracy"] == pytest.approx((truth == predicted).mean())
    assert result["metrics"]["f1"] == pytest.approx(2 * hits / ((truth == 1).sum() + (predicted == 1).sum()))
    assert 0 < result["metrics"]["f1"] < 1, "too easy or too hard to tell a formula from another"


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_the_same_job_gives_the_same_result(graphs: GraphSet, untimed) -> None:
    job = job_of(graphs, "isonn", settings=TINY)
    assert untimed(run_job(job, graphs)) == untimed(run_job(job, graphs))
    assert run_job(replace(job, seed=1), graphs)["loss"] != run_job(job, graphs)["loss"]


@pytest.mark.usefixtures("two_threads")
def test_a_method_runs_in_one_thread_whatever_is_set_around_it(graphs: GraphSet, monkeypatch) -> None:
    seen: set[int] = set()

    def look(*_: object) -> None:
        seen.update([torch.get_num_threads(), *(library["num_threads"] for library in threadpool_info())])

    monkeypatch.setattr(MajorityClassifier, "_fit", look)
    monkeypatch.setattr(MajorityClassifier, "_answers", lambda _, graphs: np.eye(2)[graphs.sizes % 2])
    run_job(job_of(graphs), graphs)
    assert seen == {1}
    assert torch.get_num_threads() == 2


def test_a_result_survives_json_and_holds_the_loss_of_methods_that_train(graphs: GraphSet) -> None:
    result = run_job(job_of(graphs, "isonn", settings=TINY), graphs)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert len(result["loss"]) == TINY["epochs"]
    assert set(result["versions"]) == {"isonn", "python", "numpy", "scipy", "scikit-learn", "torch", "igraph"}
    assert "loss" not in run_job(job_of(graphs), graphs)


def test_released_folds_are_used_as_released_and_label_sets_are_judged(graphs: GraphSet) -> None:
    assert graphs.y is not None
    both = replace(graphs, folds=np.arange(30) % 2, y=np.column_stack([graphs.y, 1 - graphs.y]))
    result = run_job(job_of(both, "size", protocol="released", fold=1), both)
    assert result["test"] == list(range(1, 30, 2))
    assert np.shape(result["predictions"]) == (15, 2)


def test_other_graphs_than_the_jobs_are_refused(graphs: GraphSet) -> None:
    with pytest.raises(InputError, match="differ from the planted house of the job"):
        run_job(job_of(graphs), graphs[:20])
    with pytest.raises(InputError, match="has no classes or numbers to predict"):
        run_job(job_of(graphs.with_y(None)), graphs.with_y(None))


def test_the_best_candidate_on_the_inner_part_is_trained_again_on_all_training_graphs(
    graphs: GraphSet, untimed, monkeypatch
) -> None:
    assert graphs.y is not None
    candidates = ({"bins": 2}, {"bins": 3}, {"bins": 8}, {"bins": 32})
    job = job_of(graphs, "degrees", protocol="fair", fold=3, seed=1, candidates=candidates)
    trained: list[tuple[int, int]] = []
    fit = DegreeHistogramClassifier.fit

    def watch(self, X, y):
        trained.append((self.bins, len(X)))
        return fit(self, X, y)

    monkeypatch.setattr(DegreeHistogramClassifier, "fit", watch)
    result = run_job(job, graphs)

    protocol = find_protocol("fair")
    train, _ = protocol.split(graphs, 1)[3]
    inner, judge = protocol.inner(graphs, train, 1)
    scores = []
    for candidate in candidates:
        estimator = DegreeHistogramClassifier(**candidate).fit(graphs[inner], graphs.y[inner])
        scores.append(estimator.score(graphs[judge], graphs.y[judge]))
    assert result["inner"] == pytest.approx(scores)
    best = candidates[int(np.argmax(scores))]
    assert result["chosen"] == best
    assert trained[:5] == [*((c["bins"], len(inner)) for c in candidates), (best["bins"], len(train))]
    alone = run_job(replace(job, settings=best, candidates=()), graphs)
    assert result["predictions"] == alone["predictions"]
    assert set(result["timings"]) - set(alone["timings"]) == {"choose_seconds"}
    assert untimed(result) == untimed(run_job(job, graphs))


def test_of_equal_candidates_the_first_is_chosen(graphs: GraphSet) -> None:
    candidates = ({"alpha": 2.0}, {"alpha": 2.0000001})
    result = run_job(job_of(graphs, "edges", protocol="fair", candidates=candidates), graphs)
    assert result["inner"][0] == result["inner"][1]
    assert result["chosen"] == candidates[0]


def test_a_protocol_that_chooses_nothing_gets_no_candidates(graphs: GraphSet) -> None:
    (job, *_) = plan(graphs, ["degrees"], {}, "paper", 1, {"degrees": [{"bins": 3}, {"bins": 4}]})
    assert job.candidates == ()
    (job, *_) = plan(graphs, ["degrees"], {}, "fair", 1, {"degrees": [{"bins": 3}, {"bins": 4}]})
    assert job.candidates == ({"bins": 3}, {"bins": 4})
    with pytest.raises(InputError, match="the paper protocol chooses no settings"):
        run_job(replace(job, protocol="paper"), graphs)


def test_methods_that_ignore_the_graphs_have_no_permutations(graphs: GraphSet) -> None:
    jobs = plan(graphs, ["majority", "graph-size"], {"majority": {}, "graph-size": {}}, "fair", 1)
    assert {job.method for job in permuted(jobs, 2)} == {"graph-size"}


def test_permuted_jobs_learn_from_other_targets_on_the_same_folds(graphs: GraphSet) -> None:
    jobs = plan(graphs, ["degrees"], {}, "paper", 2)
    again = permuted(jobs, 2)
    assert [(job.permutation, job.fold, job.seed) for job in again] == [
        (number, fold, 0) for number in (1, 2) for fold in range(3)
    ]
    assert len({job.id for job in [*jobs, *again]}) == 12
    plain, one, two = (run_job(job, graphs) for job in (jobs[0], again[0], again[3]))
    assert plain["test"] == one["test"] == two["test"]
    assert len({result["metrics"]["brier"] for result in (plain, one, two)}) == 3
    assert "audit" not in one


def test_sessions_of_a_subject_are_permuted_as_a_block() -> None:
    draw = np.random.default_rng(0)
    y = np.repeat(np.arange(20) % 2, 2)
    study = from_matrices(draw.normal(size=(40, 5, 5)), y, directed=True)
    study = replace(study, table={"subject": np.repeat(np.arange(20), 2)})
    jobs = permuted(plan(study, ["majority", "graph-size"], {}, "fair:subject", 1), 3)
    for job in jobs:
        folds = find_protocol(job.protocol).split(study, job.seed)
        targets = _permuted(study, find_protocol(job.protocol), folds, np.random.default_rng(job.permutation)).y
        np.testing.assert_array_equal(targets[::2], targets[1::2])
        assert (targets != y).any()
        for _, test in folds:
            assert sorted(targets[test]) == sorted(y[test])
