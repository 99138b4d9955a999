"""`make release` refuses what is not ready, before it runs anything that takes long."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "tools" / "release.sh"
#: Says the version, writes a wheel and an sdist, and makes environments whose `isonn` is the file .venv/isonn.
PYTHON = """#!/bin/sh
case "$1 $2" in
  "-c "*) echo 1.2.3 ;;
  "-m build") mkdir -p "$4" && touch "$4/isonn.whl" "$4/isonn.tar.gz" ;;
  "-m venv") mkdir -p "$3/bin" && cp .venv/bin/python "$3/bin/python" && cp .venv/isonn "$3/bin/isonn" ;;
  "-m pip") ;;
esac
"""


@pytest.fixture
def project(tmp_path):
    """A project that is ready to release 1.2.3; its checks pass, and its Python only pretends to build and install."""
    files = {
        ".gitignore": ".venv/\nbuild/\ndist/\n",
        "CHANGELOG.md": "# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2026-11-17\n\n- it works\n",
        "CITATION.cff": "version: 1.2.3\n",
        "Makefile": "check docs:\n\t@echo checked\n",
        ".venv/bin/python": PYTHON,
        ".venv/isonn": "#!/bin/sh\necho 1.2.3\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name in (".venv/bin/python", ".venv/isonn"):
        (tmp_path / name).chmod(0o755)
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


def test_what_is_ready_is_checked_and_tried(project):
    found = release(project)
    assert found.returncode == 0, found.stderr
    assert re.search(
        "checked.*isonn.whl installs and works.*isonn.tar.gz installs and works.*ready", found.stdout, re.DOTALL
    )
    assert sorted(path.name for path in (project / "dist").iterdir()) == ["isonn.tar.gz", "isonn.whl"]


@pytest.mark.parametrize("command", ["doctor", "--version", "evaluate", "predict"])
def test_a_wheel_that_does_not_work_in_an_empty_environment_is_refused(project, command):
    (project / "dist").mkdir()
    (project / "dist" / "old.whl").touch()
    (project / ".venv" / "isonn").write_text(f'#!/bin/sh\n[ "$1" != {command} ] && echo 1.2.3\n', encoding="utf-8")
    found = release(project)
    assert found.returncode == 2
    assert "isonn.whl does not work in an empty environment" in found.stderr
    assert "ready" not in found.stdout
    assert not (project / "dist").exists()


def test_checks_that_fail_end_the_release(project):
    (project / "Makefile").write_text("check docs:\n\t@exit 7\n", encoding="utf-8")
    commit(project)
    assert release(project).returncode != 0
    assert not (project / "dist").exists()


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
