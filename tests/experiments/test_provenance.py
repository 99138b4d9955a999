"""Where a result says it comes from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from isonn.experiments import provenance

GIT = ("git", "-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that looks like one of isonn, with a file in a package beside the experiments."""
    source = tmp_path / "src" / "isonn"
    for file in (source / "experiments" / "run.py", source / "estimators" / "refit.py", tmp_path / "pyproject.toml"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*GIT, *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(provenance, "_FOLDER", source)
    return tmp_path


def test_a_plus_says_that_any_of_the_source_differs_from_the_commit(checkout: Path) -> None:
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=checkout, capture_output=True, text=True, check=True)
    commit = head.stdout[:12]
    assert provenance._commit() == commit
    (checkout / "notes.txt").write_text("no source")
    assert provenance._commit() == commit
    (checkout / "src" / "isonn" / "estimators" / "refit.py").write_text("TREES = 3")
    assert provenance._commit() == f"{commit}+"


def test_an_installed_isonn_has_no_commit(checkout: Path) -> None:
    (checkout / "pyproject.toml").unlink()
    assert provenance._commit() is None
