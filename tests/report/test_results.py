"""Numbers on the page are those of the store."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

import isonn
from isonn.experiments.jobs import plan
from isonn.experiments.run import execute
from isonn.experiments.store import Store
from isonn.graphs import load
from isonn.report.runs import read_run
from isonn.report.sections.confusion import confusions
from isonn.report.sections.losses import losses
from isonn.report.sections.provenance import versions
from isonn.report.sections.results import dots, table


@pytest.fixture(scope="module")
def group(run):
    return read_run(run[0]).groups[0]


def test_confusion_counts_every_prediction_once(group, run):
    graphs = load(run[1])
    for row, found in zip(group.rows, confusions(group, graphs), strict=True):
        truth = [str(graphs.y[i]) for _, result in group.finished(row) for i in result["test"]]
        predicted = [str(label) for _, result in group.finished(row) for label in result["predictions"]]
        np.testing.assert_array_equal(found.counts, confusion_matrix(truth, predicted, labels=list(found.classes)))


def test_every_fold_and_seed_is_a_dot(group):
    chart = dots(group)
    assert chart.count('class="small"') == 3 * 2 * 3
    assert chart.count('class="large"') == 3 * 2
    assert chart.count('class="mean"') == 3


def test_loss_is_drawn_for_methods_that_keep_it(group):
    charts = losses(group)
    assert list(charts) == ["isonn"]
    assert charts["isonn"].count('class="thin') == 6


def test_the_table_marks_trivial_rows_and_has_intervals(group):
    lines = table(group)
    assert [row.kind for row in lines] == ["isonn", "trivial", "trivial"]
    assert all(" to " in row.interval for row in lines)
    assert lines[1].flips == "0.0"
    assert lines[0].against == ""
    assert lines[1].against.startswith("p ")


def test_a_setting_that_varies_tells_rows_apart(run, tmp_path):
    graphs = load(run[1])
    store = Store(tmp_path / "sweep")
    for k in (2, 3):
        settings = {"isonn": {"k": k, "c": 1, "epochs": 1, "hidden": [4]}}
        list(execute(plan(graphs, ["isonn"], settings, "paper", 1), {graphs.name: graphs}, store))
    (group,) = read_run(tmp_path / "sweep").groups
    assert [group.label(row) for row in group.rows] == ["isonn k=2", "isonn k=3"]


def test_where_results_come_from_is_said_once(group):
    found = versions(group)
    assert f"isonn {isonn.__version__}, numpy " in found["versions"]
    assert "cores" in found["machine"]
