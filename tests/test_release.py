"""`make release` refuses what is not ready, before it runs anything that takes long."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "tools" / "release.sh"


@pytest.fixture
def project(tmp_path):
    """A project that is ready to release 1.2.3; its `make` stops the script once nothing is refused."""
    files = {
        ".gitignore": ".venv/\n",
        "CHANGELOG.md": "# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2026-11-17\n\n- it works\n",
        "CITATION.cff": "version: 1.2.3\n",
        "Makefile": "check docs:\n\t@echo checked; exit 7\n",
        ".venv/bin/python": "#!/bin/sh\necho 1.2.3\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / ".venv/bin/python").chmod(0o755)
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(folder, *arguments):
    owner = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *owner, *arguments], cwd=folder, check=True)


def commit(folder):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "work")


def release(folder, version="1.2.3"):
    return subprocess.run([SCRIPT, version], cwd=folder, capture_output=True, text=True, check=False)


def refused(folder, words, version="1.2.3"):
    found = release(folder, version)
    assert found.returncode == 2
    assert words in found.stderr
    assert "checked" not in found.stdout


pytestmark = pytest.mark.skipif(not all(map(shutil.which, ("bash", "git", "make"))), reason="needs bash, git and make")


def test_what_is_ready_is_checked(project):
    assert "checked" in release(project).stdout


def test_a_version_is_named_and_is_that_of_the_package(project):
    refused(project, "name a version: make release VERSION=1.2.3", version="")
    refused(project, "isonn.__version__ is 1.2.3, not 1.2.4", version="1.2.4")


def test_a_tree_with_changes_is_refused(project):
    (project / "new.py").touch()
    refused(project, "the tree has changes")


def test_a_tag_that_exists_is_refused(project):
    git(project, "tag", "v1.2.3")
    refused(project, "tag v1.2.3 exists")


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("CHANGELOG.md", "## 1.2.3\n\n- it works\n", "no line '## 1.2.3 - DATE'"),
        ("CHANGELOG.md", "## Unreleased\n\n- more\n\n## 1.2.3 - 2026-11-17\n", "has lines below 'Unreleased'"),
        ("CITATION.cff", "version: 1.2.2\n", "CITATION.cff names another version"),
    ],
)
def test_papers_that_are_not_ready_are_refused(project, file, text, words):
    (project / file).write_text(text, encoding="utf-8")
    commit(project)
    refused(project, words)
