"""Extras: what needs none works without them, and the rest names the one that is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests_commands import refused, run

import isonn

BLOCK = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NoTorch())
import numpy as np
import isonn
"""

SUBGRAPHS = """
graphs = isonn.load("MUTAG")
clf = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs[:60])
assert clf.predict(graphs[60:70]).shape == (10,)
explanation = clf.explain(graphs[60])
assert explanation.reasons
clf.save(sys.argv[1] + "/model")
assert (isonn.load_model(sys.argv[1] + "/model").predict(graphs) == clf.predict(graphs)).all()
reg = isonn.SubgraphRegressor(max_nodes=2, random_state=0).fit(graphs[:60], graphs.sizes[:60].astype(float))
reg.predict(graphs[:3])
"""

ARRAYS = """
rng = np.random.default_rng(0)
adjacency = [np.triu(rng.random((6, 6)) < 0.4, 1).astype(float) for _ in range(12)]
graphs = isonn.as_graphset([a + a.T for a in adjacency])
isonn.SubgraphClassifier(max_nodes=2, random_state=0).fit(graphs, np.arange(12) % 2).predict(graphs)
isonn.report, isonn.experiments, isonn.audit, isonn.explain
"""

WINDOWS = """
for name in ("IsoNNClassifier", "IsoNNRegressor", "nn", "matching"):
    try:
        getattr(isonn, name)
    except isonn.errors.MissingDependencyError as error:
        assert str(error) == f"isonn.{name} needs torch, which is not installed; pip install 'isonn[torch]'", error
    else:
        raise AssertionError(name)
for name in ("nn", "matching", "training"):
    try:
        exec(f"from isonn.{name} import *")
    except isonn.errors.MissingDependencyError as error:
        assert str(error) == f"isonn.{name} needs torch, which is not installed; pip install 'isonn[torch]'", error
    else:
        raise AssertionError(name)
"""

PAGES = """
graphs = isonn.load("MUTAG")
isonn.SubgraphClassifier(max_nodes=2, random_state=0).fit(graphs).save(sys.argv[1] + "/explained")
from isonn.cli import main
folder = sys.argv[1]
sys.argv = ["isonn", "explain", folder + "/explained", "MUTAG", "--graph", "0", "--out", folder + "/page.html"]
main()
"""


def test_what_needs_no_torch_runs_without_it(tmp_path):
    code = BLOCK + SUBGRAPHS + ARRAYS + WINDOWS + PAGES  # in one process: most of the time goes to imports
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False, timeout=300
    )
    assert run.returncode == 0, run.stderr[-2000:]


def test_a_model_of_molecules_names_the_missing_rdkit(tmp_path):
    pytest.importorskip("rdkit")
    graphs = isonn.molecules.from_smiles(["CCO", "CCN", "CCCO", "CCCN"] * 4)
    isonn.SubgraphClassifier(max_nodes=2, random_state=0).fit(graphs, [1, 0, 1, 0] * 4).save(tmp_path / "model")
    code = BLOCK.replace("torch", "rdkit") + "isonn.load_model(sys.argv[1])"
    command = [sys.executable, "-c", code, str(tmp_path / "model")]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    said = "MissingDependencyError: isonn.molecules needs rdkit, which is not installed; pip install 'isonn[molecules]'"
    assert run.stderr.strip().endswith(said), run.stderr[-2000:]


def test_reasons_are_printed_without_the_extra_of_pages(mutag, tmp_path, monkeypatch):
    isonn.SubgraphClassifier(max_nodes=2, random_state=0).fit(mutag).save(tmp_path / "model")
    explain = ("explain", tmp_path / "model", "MUTAG", "--graph", "0")
    with_pages = run(*explain)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert run(*explain).stdout == with_pages.stdout != ""
    refused(run(*explain, "--out", tmp_path / "why.html"), "pip install 'isonn[report]'")
    refused(run(*explain, "--suggest"), "name it with --out, or use `isonn suggest`")
