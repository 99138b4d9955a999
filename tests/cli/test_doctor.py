"""`isonn doctor`, `isonn` alone and `isonn --quiet`."""

from __future__ import annotations

import importlib
import json
import re
import runpy
import sys
from importlib import metadata
from pathlib import Path

import pytest
from tests_commands import run

import isonn

doctor = importlib.import_module("isonn.cli.doctor")  # the name in the package is the command

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def declared(requirements):
    return {re.split(r"[<>=;\[ ]", text)[0].lower().replace("_", "-") for text in requirements}


def test_it_says_what_is_installed():
    found = run("doctor")
    assert found.returncode == 0, found.stdout
    assert f"isonn {isonn.__version__}" in found.stdout
    assert f"numpy {metadata.version('numpy')}" in found.stdout
    assert "no problems found" in found.stdout


def test_it_knows_the_extras_that_the_package_declares():
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    stated = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(doctor.EXTRAS) == set(stated) - {"all", "dev", "docs"}
    for extra, (_, packages) in doctor.EXTRAS.items():
        named = {name.lower().replace("_", "-") for name in packages}
        assert named == {"distributed"} if extra == "cluster" else named == declared(stated[extra])


def test_a_missing_extra_is_named_with_its_command_and_is_no_problem(monkeypatch):
    monkeypatch.setitem(doctor.EXTRAS, "molecules", ("SMILES", ("no-such-package",)))
    found = run("doctor")
    assert found.returncode == 0
    assert 'pip install "isonn[molecules]"' in found.stdout


def test_a_missing_package_of_the_core_is_a_problem(monkeypatch):
    monkeypatch.setattr(doctor, "CORE", ("numpy", "no-such-package"))
    found = run("doctor", "--json")
    assert found.returncode == 1
    assert json.loads(found.stdout)["problems"] == ["no-such-package is missing; pip install no-such-package"]


def test_trees_that_do_not_load_are_a_problem(monkeypatch, tmp_path):
    (tmp_path / "lightgbm.py").write_text("raise OSError('libgomp.so.1: cannot open shared object file')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "lightgbm", raising=False)
    found = run("doctor")
    assert found.returncode == 1
    assert "problem: lightgbm does not load (libgomp.so.1: cannot open shared object file); " in found.stdout


def test_a_wrong_data_folder_is_a_problem():
    found = run("doctor", ISONN_DATA="nowhere/at/all")
    assert found.returncode == 1
    assert "ISONN_DATA=nowhere/at/all is not a folder" in found.stdout


@pytest.mark.filterwarnings("default::isonn.errors.IsoNNWarning")
def test_quiet_prints_no_warnings(tmp_path):
    pytest.importorskip("rdkit")
    (tmp_path / "data.smi").write_text("CCO a\nC1CC b\n", encoding="utf-8")
    command = ("data", "info", str(tmp_path / "data.smi"))
    loud = run(*command)
    assert "isonn:" in loud.stderr
    for quiet in (run("--quiet", *command), run(*command, "--quiet")):
        assert quiet.stderr == ""
        assert quiet.stdout == loud.stdout


def test_every_command_takes_the_options_that_all_share():
    commands = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "run_pages.py"))["commands_by_name"]()
    for name, command in commands.items():
        options = {word for option in command.params for word in option.opts}
        assert "--quiet" in options, name
        assert "--json" in options or name == "data fetch", name
