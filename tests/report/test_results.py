"""Numbers on the page are those of the store."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

import isonn
from isonn.experiments.jobs import plan
from isonn.experiments.run import execute
from isonn.experiments.store import Store
from isonn.graphs import load
from isonn.report.runs import read_run
from isonn.report.sections.comparison import confusions, results_section
from isonn.report.sections.provenance import versions


@pytest.fixture(scope="module")
def group(run):
    return read_run(run[0]).groups[0]


def test_confusion_counts_every_prediction_once(group, run):
    graphs = load(run[1])
    for row, (_, classes, counts) in zip(group.rows, confusions(group, graphs), strict=True):
        truth = [str(graphs.y[i]) for _, result in group.finished(row) for i in result["test"]]
        predicted = [str(label) for _, result in group.finished(row) for label in result["predictions"]]
        np.testing.assert_array_equal(counts, confusion_matrix(truth, predicted, labels=classes))


def test_the_table_marks_trivial_rows_and_has_intervals(group):
    (block,) = results_section([group]).content["blocks"]
    assert [kind for kind, _ in block["table"]] == ["isonn", "trivial", "trivial"]
    rows = [dict(zip(block["headings"], line, strict=True)) for _, line in block["table"]]
    assert all(re.fullmatch(r"[\d.]+[^\d.]+[\d.]+", row["95 %"]) for row in rows)
    assert rows[1]["flips"] == "0.0"
    assert rows[0]["p"] == "-" != rows[1]["p"]
    assert "corrected resampled t-test" in block["caption"][1]


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
