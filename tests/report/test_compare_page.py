"""The comparison page against the definitions of rank and paired difference."""

from __future__ import annotations

import json
import re
import shutil
import statistics
from pathlib import Path

import numpy as np
import pytest
from sample_run import make_comparison
from scipy.stats import t

from isonn.report.run_page import report_page
from isonn.report.runs import read_run
from isonn.report.sections.comparison import Comparison, Difference, difference


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
        if job.get("dataset") == dataset and job.get("method") == method and "share" not in job:
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


def test_ranks_are_places_by_the_mean_and_ties_share(folder, sets):
    methods = ("size", "degrees", "majority")
    places = {method: [] for method in methods}
    for where in sets:
        means = {m: statistics.fmean(v for v, _ in stored(folder, where.name, m).values()) for m in methods}
        for method in methods:
            above = sum(v > means[method] + 1e-9 for v in means.values())
            equal = sum(abs(v - means[method]) < 1e-9 for v in means.values())
            places[method].append(above + (equal + 1) / 2)
    for rank in Comparison(sets).ranks:
        assert rank.rank == pytest.approx(statistics.fmean(places[rank.method]))


def test_the_page_leads_with_the_best_method(folder, sets):
    page = report_page(folder)
    assert page.facts["datasets"] == ["set 0", "set 1", "set 2"]
    assert page.facts["results"] == (4 + 1 + 1) * 18
    text = page.text
    assert text.count("Learning curves on set") == 1
    assert f'<p class="answer" dir="auto">{Comparison(sets).ranks[0].method} has the best mean rank' in text
    assert text.index('id="differences"') < text.index('id="ranking"') < text.index('id="provenance"')
    assert (
        len(re.findall(r"<h3[^>]*>set \d</h3>", text[text.index('id="results"') : text.index('id="differences"')])) == 3
    )


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
    assert "No method has finished all folds of a seed yet" in page.text
