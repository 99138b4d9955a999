"""Every public name has a docstring with an example, which runs as a doctest."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

import isonn

ROOT = Path(__file__).parent.parent
PACKAGES = ("graphs", "matching", "nn", "explain", "molecules", "connectomes", "training", "baselines", "heads")


def public_names():
    for extra in ("torch", "rdkit"):
        pytest.importorskip(extra)
    found = {f"isonn.{name}": getattr(isonn, name) for name in isonn.__all__ if not name.startswith("_")}
    for package in PACKAGES:
        module = importlib.import_module(f"isonn.{package}")
        found.update({f"isonn.{package}.{name}": getattr(module, name) for name in module.__all__})
    things = {name: value for name, value in found.items() if inspect.isclass(value) or inspect.isfunction(value)}
    assert len(things) > 80
    return things


def test_every_public_name_has_an_example():
    assert [name for name, value in public_names().items() if ">>>" not in (value.__doc__ or "")] == []


@pytest.mark.parametrize("kind", ["Subgraph", "Aligned"])
@pytest.mark.parametrize("task", ["Classifier", "Regressor"])
def test_a_name_of_the_last_version_gives_the_new_one(kind, task):
    with pytest.raises(ImportError, match=f"isonn.{kind}IsoNN{task} is isonn.{kind}{task} since 0.3.0"):
        getattr(isonn, f"{kind}IsoNN{task}")


def test_the_version_is_the_same_everywhere():
    version = isonn.__version__
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version} - 20" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f'  version: "{version}"\n' in (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8")


def test_the_recipe_needs_what_the_package_needs():
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
    assert f'python_min: "{stated["requires-python"].removeprefix(">=")}"' in recipe
    run = re.findall("    - (.+)\n", recipe.partition("  run:\n")[2].partition("tests:")[0])
    needed = {line.partition(";")[0].replace(">=", " >=") for line in stated["dependencies"]} - {"igraph >=0.11"}
    assert set(run) == needed | {"python >=${{ python_min }}", "python-igraph >=0.11"}  # igraph is the C library there
