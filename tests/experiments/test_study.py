"""What an experiment runs on which datasets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isonn.errors import DatasetError, InputError
from isonn.experiments.spec import Spec, Sweep
from isonn.experiments.store import Store
from isonn.experiments.study import Datasets, check_jobs, check_seeds, load_datasets, part_rows, plan_study
from isonn.graphs import GraphSet

SPEC = Spec(
    "s",
    "t",
    "paper",
    {"isonn": {"k": 2, "epochs": 1}},
    datasets={
        "B": {},
        "A": {"settings": {"isonn": {"k": 3, "epochs": 1}}},
        "gone": {"printed": {"size": {"accuracy": 60.0, "f1": 50.0}}},
    },
    methods=("size", "majority"),
    grid={"degrees": {"bins": [2, 3]}},
)


@pytest.fixture
def datasets(graphs: GraphSet) -> Datasets:
    return Datasets(
        {name: replace(graphs, name=name) for name in ("A", "B")}, {"gone": "who knows"}, frozenset(["gone"])
    )


def test_a_table_has_the_methods_and_datasets_of_its_spec_in_order(datasets: Datasets) -> None:
    parts = plan_study(SPEC, datasets, None, "paper", 2)
    assert [(part.dataset, len(part.jobs)) for part in parts] == [("B", 2 * 2 * 3), ("A", 2 * 2 * 3), ("gone", 0)]
    assert [job.seed for job in parts[0].jobs] == sorted(job.seed for job in parts[0].jobs)
    (part, *_) = plan_study(SPEC, datasets, ["degrees"], "paper", 1)
    assert {(job.method, job.candidates) for job in part.jobs} == {("degrees", ())}


def test_settings_are_chosen_where_the_protocol_chooses(datasets: Datasets) -> None:
    (part, *_) = plan_study(SPEC, datasets, ["degrees", "size"], "fair", 1)
    found = {job.method: job.candidates for job in part.jobs}
    assert found == {"degrees": ({"bins": 2}, {"bins": 3}), "size": ()}
    assert len(part.jobs) == 2 * 10


def test_a_figure_varies_its_setting_over_its_own_datasets_and_methods(datasets: Datasets) -> None:
    pytest.importorskip("torch")
    sweep = Sweep("by-c", "t", "accuracy", "c", (1, 2), {"epochs": 7}, datasets=("A",), methods=("isonn", "isonn-fast"))
    (part,) = plan_study(replace(SPEC, sweeps=(sweep,)), datasets, None, "paper", 1)
    assert part.dataset == "A"
    settings = [(job.method, job.settings) for job in part.jobs if job.fold == 0]
    assert settings == [
        ("isonn", {"k": 3, "epochs": 7, "c": 1}),
        ("isonn", {"k": 3, "epochs": 7, "c": 2}),
        ("isonn-fast", {"k": 3, "epochs": 7, "c": 1, "matching": "fast"}),
        ("isonn-fast", {"k": 3, "epochs": 7, "c": 2, "matching": "fast"}),
    ]
    (part,) = plan_study(replace(SPEC, sweeps=(sweep,)), datasets, ["isonn"], "paper", 1)
    assert {job.method for job in part.jobs} == {"isonn"}


def test_what_a_dataset_does_not_allow_is_left_out_with_its_reason(datasets: Datasets) -> None:
    pytest.importorskip("torch")
    (part, *_) = plan_study(SPEC, datasets, ["gin-labels", "size"], "paper", 1)
    assert {job.method for job in part.jobs} == {"size"}
    assert "has no node labels" in part.left_out["gin-labels"]
    sweep = Sweep("by-k", "t", "accuracy", "k", (2, 99), methods=("isonn",))
    (part, *_) = plan_study(replace(SPEC, sweeps=(sweep,)), datasets, None, "paper", 1)
    assert {job.settings["k"] for job in part.jobs} == {2}
    assert list(part.left_out) == ["isonn with k=99"]
    assert "k=99" in part.left_out["isonn with k=99"]


def test_two_datasets_of_one_name_are_refused(tmp_path) -> None:
    for folder, size in (("one", 8), ("two", 9)):
        (tmp_path / folder).mkdir()
        np.savez(tmp_path / folder / "mine.npz", adjacency=np.ones((4, size, size)) - np.eye(size), labels=[0, 1, 0, 1])
    one, two = str(tmp_path / "one" / "mine.npz"), str(tmp_path / "two" / "mine.npz")
    assert list(load_datasets([one, one]).graphs) == ["mine"]
    with pytest.raises(InputError, match=r"two/mine\.npz has the name mine, like another dataset; rename"):
        load_datasets([one, two])


def test_a_study_in_which_nothing_can_run_says_every_reason(datasets: Datasets) -> None:
    only = Datasets({}, datasets.absent, datasets.private)
    with pytest.raises(InputError, match="who knows"):
        check_jobs(plan_study(SPEC, only, None, "paper", 1), only)
    check_jobs(plan_study(SPEC, datasets, None, "paper", 1), datasets)


def test_an_absent_dataset_keeps_the_printed_rows(datasets: Datasets, tmp_path) -> None:
    part = plan_study(SPEC, datasets, None, "paper", 1)[-1]
    (row,) = part_rows(part, Store(tmp_path / "out"), SPEC, datasets)
    assert (row.method, row.printed, row.absent) == ("size", {"accuracy": 60.0, "f1": 50.0}, "data not public")


def test_known_datasets_may_be_missing_and_unknown_ones_are_refused(
    tmp_path, monkeypatch: pytest.MonkeyPatch, graphs: GraphSet
) -> None:
    monkeypatch.setenv("ISONN_DATA", str(tmp_path))
    np.savez(tmp_path / "own.npz", adjacency=graphs.dense(), labels=graphs.y)
    found = load_datasets(["MUTAG", "bp-fmri", str(tmp_path / "own.npz")])
    assert list(found.graphs) == ["MUTAG", "own"]
    assert found.private == {"BP-fMRI"}
    assert str(tmp_path) not in found.absent["BP-fMRI"], "a table is for everybody"
    with pytest.raises(DatasetError, match="no dataset and no file"):
        load_datasets(["no/such/thing.npz"])


def test_few_seeds_are_said_to_be_few_under_the_fair_protocol_only() -> None:
    assert check_seeds("paper", 1) is None
    assert check_seeds("fair", 5) is None
    assert check_seeds("fair", 4) == "the fair protocol needs at least 5 seeds, got 4"
