"""The pages say what is so: their code runs, and their commands and options exist."""

from __future__ import annotations

import hashlib
import os
import pkgutil
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import isonn.compiled

ROOT = Path(__file__).parent.parent
RUNNER = runpy.run_path(str(ROOT / "docs" / "run_pages.py"))
PAGES = ["README.md", *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("docs/**/*.md")))]
#: Why a block of a page is not run when the site is built.
NOT_RUN = {"needs a cluster", "for several machines; the tutorial runs it on one", "takes hours"}


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_code_runs_or_says_why_not(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for language, title in re.findall(r"^```(\w*)(?: title=\"(.*)\")?\n.*?^```", text, re.DOTALL | re.MULTILINE):
        assert language in ("python", "sh", "text", ""), f"{page}: {language} is not run; use sh, python or text"
        assert not title or title in NOT_RUN, f"{page}: {title}"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_no_command_or_option_that_does_not_exist(page):
    assert RUNNER["unknown_option"]((ROOT / page).read_text(encoding="utf-8")) is None


def test_every_name_of_the_reference_exists():
    pytest.importorskip("torch")
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("docs/reference/*.md")))
    names = re.findall(r"^::: (\S+)$", text, re.MULTILINE)
    assert len(names) > 50
    for name in names:
        pkgutil.resolve_name(name)


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("```sh\nisonn fit MUTAG --ouput model\n```\n", "--ouput"),
        ("Use `isonn fit MUTAG --ouput model`.", "--ouput"),
        ("```sh\nisonn train MUTAG\n```\n", "isonn train"),
        ("Give `--nojobs 3`.", "--nojobs"),
    ],
)
def test_a_page_that_names_a_missing_one_is_refused(page, says):
    assert says in RUNNER["unknown_option"](page)


def test_a_block_that_fails_or_warns_stops_the_build(tmp_path):
    for number, block in enumerate(("python\n1 / 0", "python\nimport warnings\nwarnings.warn('x')", "sh\nisonn fit")):
        page = tmp_path / f"page{number}.md"
        page.write_text(f"```{block}\n```\n", encoding="utf-8")
        with pytest.raises((ZeroDivisionError, UserWarning, SystemExit)):
            RUNNER["run"](page)


def test_tutorials_run_and_show_pictures():
    tutorials = {page.stem: page for page in ROOT.glob("docs/tutorials/*.md")}
    assert sorted(tutorials) == ["connectomes", "million", "molecules", "networks", "own-graphs", "paper"]
    for name, page in tutorials.items():
        assert RUNNER["blocks"](page)
        assert name == "networks" or f"](../images/{name}/" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["connectomes", "own-graphs"])
def test_a_tutorial_runs(name, tmp_path):
    pytest.importorskip({"connectomes": "nilearn"}.get(name, "networkx"))
    page = tmp_path / f"{name}.md"  # elsewhere, so that no picture of the docs is written
    text = (ROOT / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    page.write_text(re.sub(r"```sh\n.*?```|!\[.*?\)", "", text, flags=re.DOTALL), encoding="utf-8")
    printed = "".join(RUNNER["run"](page))
    promise = {"connectomes": "100% of folds", "own-graphs": "meter"}[name]
    assert promise in printed


def test_the_lines_of_the_readme_run_in_order_with_the_wheel_in_an_empty_folder(tmp_path):
    for extra in ("rdkit", "networkx", "jinja2", "torch"):
        pytest.importorskip(extra)
    room, folder = tmp_path / "venv", tmp_path / "empty"
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    settings |= {"XDG_CACHE_HOME": str(tmp_path / "cache"), "LOKY_MAX_CPU_COUNT": "1", "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", room], check=True)
    python, own = room / "bin" / "python", next(room.glob("lib/python*/site-packages"))
    pip = (sys.executable, "-m", "pip", "--python", python)
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", _wheel(tmp_path)], check=True, env=settings)
    # dependencies come from here; isonn does not, for files in a folder on the path are not read as those of a site are
    packages = [path for path in sys.path if path.endswith("site-packages")]
    (own / "borrowed.pth").write_text("\n".join(packages), encoding="utf-8")
    _lend_compiled_code(own / "isonn", tmp_path / "cache")
    folder.mkdir()
    first = subprocess.run([room / "bin" / "isonn"], capture_output=True, text=True, cwd=folder, env=settings)
    assert first.stdout.startswith("isonn evaluate DATA"), first
    lines = (ROOT / "tests" / "readme_lines.py", ROOT / "docs" / "run_pages.py", ROOT / "README.md")
    strict = ("-W", "error", "-W", "ignore::DeprecationWarning")  # of libraries among themselves
    found = subprocess.run([python, *strict, *lines], capture_output=True, text=True, cwd=folder, env=settings)
    assert found.returncode == 0, found.stdout + found.stderr
    assert re.search(r"\+\d\.\d\d  10 linked C with 2 rings", found.stdout)
    assert {"my-model", "model", "alerts.csv", "why.html"} <= {path.name for path in folder.iterdir()}


def _lend_compiled_code(package, cache):
    """Let the installed copy of isonn use what is compiled for the tests: numba finds it by folder and time."""
    source = ROOT / "src" / "isonn"
    for path in package.rglob("*.py"):
        original = source / path.relative_to(package)
        assert path.read_bytes() == original.read_bytes()
        shutil.copystat(original, path)
    for copy in [package, *package.rglob("*/")]:
        original = source / copy.relative_to(package)
        kept, lent = (f"{folder.name}_{hashlib.sha1(str(folder).encode()).hexdigest()}" for folder in (original, copy))
        if (isonn.compiled.cache_folder() / kept).exists():
            shutil.copytree(isonn.compiled.cache_folder() / kept, cache / "isonn" / "numba" / lent)


def _wheel(folder):
    """Build the wheel from a copy: in place, setuptools would also pack files of an older `build` folder."""
    source = folder / "source"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, source)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, source], check=True
    )
    return next(folder.glob("*.whl"))
