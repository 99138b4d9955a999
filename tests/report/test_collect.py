"""A folder of results is read as it is: whole, half, damaged, or none."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from isonn.errors import InputError
from isonn.graphs import load
from isonn.report.runs import find_graphs, read_run


@pytest.fixture
def copy(run, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run[0], tmp_path / "copy"))


def test_a_finished_run_is_one_group_with_a_row_a_method(run):
    found = read_run(run[0])
    (group,) = found.groups
    assert [row.method for row in group.rows] == ["isonn", "majority", "size"]
    assert (group.missing, group.seeds, group.folds, len(group.jobs)) == (0, 2, 3, 18)
    assert found.damaged == ()


def test_reading_changes_nothing(copy: Path):
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*")}
    (copy / "jobs" / "broken.json").write_text("{")
    read_run(copy)
    (copy / "jobs" / "broken.json").unlink()
    after = {path: path.stat().st_mtime_ns for path in copy.rglob("*") if path.name != "jobs"}
    assert after.items() <= before.items()


def test_half_a_run_counts_what_is_missing_and_no_half_seed(copy: Path):
    files = sorted((copy / "jobs").glob("*.json"))
    gone = next(file for file in files if json.loads(file.read_text())["job"]["method"] == "isonn")
    lost = json.loads(gone.read_text())["job"]
    gone.unlink()
    (group,) = read_run(copy).groups
    assert group.missing == 1
    row = group.rows[0]
    assert (row.finished, row.jobs) == (5, 6)
    assert lost["seed"] not in row.accuracy.by_seed


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"job": {"dataset": 1}}', "\udcff"])
def test_damaged_files_are_named_and_left_out(content: str, copy: Path):
    file = min((copy / "jobs").glob("*.json"))
    file.write_bytes(content.encode(errors="surrogateescape"))
    found = read_run(copy)
    assert found.damaged == (file.name,)
    assert found.groups[0].missing == 1


def test_a_result_without_its_numbers_is_damaged(copy: Path):
    file = min((copy / "jobs").glob("*.json"))
    content = json.loads(file.read_text())
    del content["metrics"]["f1"]
    file.write_text(json.dumps(content))
    assert read_run(copy).damaged == (file.name,)


def test_what_holds_no_result_is_refused_with_the_remedy(copy: Path, tmp_path: Path):
    with pytest.raises(InputError, match="nowhere has no isonn results; give a folder written by isonn evaluate"):
        read_run(tmp_path / "nowhere")
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match="has no isonn results"):
        read_run(tmp_path / "other")
    failed = json.loads(min((copy / "jobs").glob("*.json")).read_text())
    for file in (copy / "jobs").glob("*.json"):
        file.unlink()
    with pytest.raises(InputError, match="has no finished result; run isonn evaluate first"):
        read_run(copy)
    error = {"id": failed["id"], "job": failed["job"], "error": "too round"}
    (copy / "jobs" / f"{failed['id']}.error").write_text(json.dumps(error))
    with pytest.raises(InputError, match="every job failed: too round"):
        read_run(copy)
    assert not (tmp_path / "nowhere").exists()


def test_graphs_are_found_by_path_and_checked_by_their_hash(run, tmp_path: Path):
    found = read_run(run[0])
    (group,) = found.groups
    graphs, why = find_graphs(found, group, str(run[1]))
    assert (graphs.digest, why) == (load(run[1]).digest, "")
    graphs, why = find_graphs(found, group)
    assert graphs is None
    assert "give the file of its graphs" in why
    with pytest.raises(InputError, match="MUTAG differs from the data that was evaluated"):
        find_graphs(found, group, "MUTAG")
