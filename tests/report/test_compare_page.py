"""The comparison page against the definition of a paired difference."""

from __future__ import annotations

import json
import re
import shutil
import statistics
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sample_run import make_comparison
from scipy.stats import t

from isonn.report.run_page import report_page
from isonn.report.runs import read_run
from isonn.report.sections.comparison import Difference, difference, differences


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return make_comparison(tmp_path_factory.mktemp("comparison"))


@pytest.fixture(scope="module")
def sets(folder):
    return read_run(folder).groups


def stored(folder: Path, dataset: str, method: str):
    """Accuracy by seed and fold, read from the files themselves."""
    found = {}
    for path in folder.rglob("*.json"):
        content = json.loads(path.read_text())
        job = content.get("job") or content.get("task") or {}
        if job.get("dataset") == dataset and job.get("method") == method:
            ratio = content["n_test"] / content["n_train"]
            found[job["seed"], job["fold"]] = (100 * content["metrics"]["accuracy"], ratio)
    return found


def test_a_difference_is_the_mean_over_folds_with_the_corrected_interval(folder, sets):
    for where in sets:
        one, two = stored(folder, where.name, "degrees"), stored(folder, where.name, "majority")
        values = [one[key][0] - two[key][0] for key in one]
        assert len(values) == 6
        found = difference(where, "degrees", "majority")
        assert found.mean == pytest.approx(statistics.fmean(values))
        ratio = statistics.fmean(one[key][1] for key in one)
        degrees = 2 / (1 / 5 + ratio)  # two seeds of three folds on the same graphs
        half = t.ppf(0.975, degrees) * np.sqrt((1 / 6 + ratio) * np.var(values, ddof=1))
        assert found.high - found.mean == pytest.approx(half)
        assert found.verdict == (
            "better" if found.mean - half > 0 else "worse" if found.mean + half < 0 else "undecided"
        )


def test_the_page_compares_methods_on_each_dataset(folder, sets):
    page = report_page(folder)
    assert page.facts["datasets"] == ["set 0", "set 1", "set 2"]
    assert page.facts["results"] == 3 * 18
    text = page.text
    assert text.index('id="results"') < text.index('id="differences"') < text.index('id="provenance"')
    results, paired = (
        text[text.index(f'id="{name}"') :].partition("</section>")[0] for name in ("results", "differences")
    )
    assert len(re.findall(r"<h3[^>]*>set \d</h3>", results)) == 3
    winners = Counter(max(where.rows, key=lambda row: row.accuracy.mean).method for where in sets)
    method, wins = winners.most_common(1)[0]
    assert f"{method} has the best mean on {wins} of 3 datasets" in text
    for where in sets:
        best = max(where.rows, key=lambda row: row.accuracy.mean).method  # none of them is of isonn
        assert f"{where.name}: {best} against the others</h3>" in paired
        assert [pair.method for pair in differences(where)[1]] == [
            row.method for row in sorted(where.rows, key=lambda row: -row.accuracy.mean) if row.method != best
        ]


def test_methods_that_predict_alike_are_equal_and_not_undecided():
    assert Difference("set", "accuracy (%)", 0.0, 0.0, 0.0).verdict == "equal"
    assert Difference("set", "accuracy (%)", 0.0, -1.0, 1.0).verdict == "undecided"


def test_a_run_that_stopped_before_any_method_finished_a_seed_has_a_page(folder, tmp_path: Path):
    started = Path(shutil.copytree(folder, tmp_path / "started"))
    for path in (started / "jobs").glob("*.json"):
        if json.loads(path.read_text())["job"]["fold"] == 0:
            path.unlink()
    page = report_page(started)
    assert page.facts["missing"] == page.facts["results"] / 2
    assert "6 of 18 jobs of set 1 have no result" in page.text
