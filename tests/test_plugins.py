"""Extensions of an installed package, in new processes, commands and saved models."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import isonn
from isonn.plugins import KINDS

MODULE = """
import numpy as np
import isonn
from isonn.experiments.protocols import Protocol, register_protocol
from isonn.graphs.io.registry import Reader, register_reader
from isonn.heads import Head, register_head


class Stars(Reader):
    name, expects = "stars", "a .stars file"

    def recognises(self, path):
        return path.suffix == ".stars"

    def read(self, path):
        sizes = [int(line) for line in path.read_text().split()]
        stars = [[[int(min(i, j) == 0 < max(i, j)) for j in range(n + 1)] for i in range(n + 1)] for n in sizes]
        return isonn.as_graphset(stars, [n % 2 for n in sizes], name=path.stem)


register_reader(Stars())


@register_protocol
class Halves(Protocol):
    name, about = "halves", "the first half is tested"

    def split(self, graphs, seed):
        middle = len(graphs) // 2
        return [(np.arange(middle, len(graphs)), np.arange(middle))]
"""
MATCHER = """
from isonn.matching import Matcher, register_matcher


class InOrder(Matcher):
    name, depends_on_order = "in-order", True

    def distance(self, templates, regions, prepared=None):
        return (templates[None] - regions[:, None]).square().sum(dim=(2, 3))


register_matcher(InOrder())
"""
ENTRIES = """
[isonn.readers]
stars = stars_for_isonn
[isonn.protocols]
halves = stars_for_isonn
[isonn.matchers]
in-order = matcher_for_isonn
broken = no_such_module_anywhere
"""
FIT = """
import isonn, numpy as np
graphs = isonn.load("some.stars")
clf = isonn.IsoNNClassifier(k=2, c=1, matching="in-order", hidden=(4,), epochs=2, random_state=0).fit(graphs)
clf.save("model")
print(clf.predict_proba(graphs).round(6).tolist())
"""
LOAD = 'import isonn; print(isonn.load_model("model").predict_proba(isonn.load("some.stars")).round(6).tolist())'


@pytest.fixture
def installed(tmp_path):
    """A folder with a package as pip would leave it, and a working folder."""
    site, work = tmp_path / "site", tmp_path / "work"
    info = site / "stars_for_isonn-1.0.dist-info"
    info.mkdir(parents=True)
    work.mkdir()
    (site / "stars_for_isonn.py").write_text(MODULE)
    (site / "matcher_for_isonn.py").write_text(MATCHER)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stars-for-isonn\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    (work / "some.stars").write_text("3\n4\n5\n6\n7\n8\n9\n10\n")
    return site, work


def python(work, site, *arguments):
    source = str(Path(isonn.__file__).parents[1])
    paths = [source, *([str(site)] if site else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=work, env=environment, capture_output=True, text=True, check=False
    )


def test_an_installed_extension_reaches_new_processes_commands_and_saved_models(installed):
    pytest.importorskip("torch")
    site, work = installed
    fitted = python(work, site, "-c", FIT)
    assert fitted.returncode == 0, fitted.stderr
    assert python(work, site, "-c", LOAD).stdout == fitted.stdout
    shown = python(work, site, "-m", "isonn", "evaluate", "some.stars", "--methods", "majority", "--protocol", "halves")
    assert "the first half is tested" in shown.stdout, shown.stderr
    away = python(work, None, "-c", 'import isonn; isonn.load_model("model")')
    assert "matching='in-order' is unknown" in away.stderr


def test_an_extension_that_cannot_be_imported_is_named(installed):
    pytest.importorskip("torch")
    site, work = installed
    found = python(work, site, "-c", "import isonn.matching as m; m.matcher_named('broken')")
    assert "the extension 'broken' of the package stars-for-isonn cannot be imported" in found.stderr
    assert "correct or uninstall it" in found.stderr


def test_every_extension_point_has_a_group():
    text = (Path(__file__).parents[1] / "docs" / "extend.md").read_text(encoding="utf-8")
    assert all(f"isonn.{kind}" in text for kind in KINDS)
