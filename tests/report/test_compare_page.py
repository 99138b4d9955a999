"""The comparison page against the definition of a paired difference."""

from __future__ import annotations

import json
import re
import shutil
import statistics
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sample_run import make_comparison
from scipy.stats import t

from isonn.report.run_page import report_page
from isonn.report.runs import read_run
from isonn.report.sections.comparison import differences_section


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
        reference, *others = where.rows
        assert (reference.method, reference.difference) == ("isonn-subgraph", None)
        for row in others:
            one, two = stored(folder, where.name, row.method), stored(folder, where.name, "isonn-subgraph")
            values = [one[key][0] - two[key][0] for key in one]
            assert len(values) == 6
            mean, low, high = row.difference
            assert mean == pytest.approx(statistics.fmean(values))
            ratio = statistics.fmean(one[key][1] for key in one)
            degrees = 2 / (1 / 5 + ratio)  # two seeds of three folds on the same graphs
            half = t.ppf(0.975, degrees) * np.sqrt((1 / 6 + ratio) * np.var(values, ddof=1))
            assert (mean - low, high - mean) == (pytest.approx(half), pytest.approx(half))


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
        assert f"{where.name}: the others against isonn-subgraph</h3>" in paired
    order = re.findall(r'dir="auto">(\w+) <small', paired.partition("set 1:")[0])
    first = sorted(sets[0].rows[1:], key=lambda row: -row.accuracy.mean)
    assert order == [row.method for row in first]
    worse = [row.difference[2] < 0 for row in first]
    assert re.findall(r"<em>(\w+)</em>", paired.partition("set 1:")[0])[: len(worse)] == [
        "worse" if far else "undecided" for far in worse
    ]


def test_methods_that_predict_alike_are_equal_and_not_undecided(sets):
    (where, *_) = sets
    rows = [replace(where.rows[1], difference=pair) for pair in ((0.0, 0.0, 0.0), (0.0, -1.0, 1.0), (2.0, 1.0, 3.0))]
    for row, verdict in zip(rows, ("equal", "undecided", "better"), strict=True):
        page = str(differences_section([SimpleNamespace(name="set", rows=[row], label=lambda row: row.method)]).html())
        assert re.findall(r"<em>(\w+)</em>", page) == [verdict]


def test_a_run_that_stopped_before_any_method_finished_a_seed_has_a_page(folder, tmp_path: Path):
    started = Path(shutil.copytree(folder, tmp_path / "started"))
    for path in (started / "jobs").glob("*.json"):
        if json.loads(path.read_text())["job"]["fold"] == 0:
            path.unlink()
    page = report_page(started)
    assert page.facts["missing"] == page.facts["results"] / 2
    assert "6 of 18 jobs of set 1 have no result" in page.text
