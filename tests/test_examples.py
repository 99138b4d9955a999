"""Every example runs offline as a script and prints what it promises."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
#: What the example must have printed, and what it cannot do without.
PROMISES = {
    "alerts.py": (r"is epoxide: .*\n.*is nitro on an aromatic ring: ", "rdkit"),
    "molecules.py": (r"template node -> atom: 0 -> [A-Z][a-z]?\d+", "grakel"),
    "brain_networks.py": (r"(left  \(planted\)\s+[^\n]*){3}", "numpy"),
    "connectome.py": (r"found exactly: True", "nilearn"),
    "own_data_networkx.py": (r"edges that say so:\n  \+\d\.\d+  tank - (meter|filter)", "networkx"),
    "own_data_pyg.py": (
        r"roads that say so[^\n]*\n  \+\d\.\d+  (3 - 4|4 - 5)\n  \+\d\.\d+  (3 - 4|4 - 5)",
        "torch_geometric",
    ),
    "pyg_readout.py": (r"IsoReadout  train (1\.000|0\.9[6-9]\d)  test [^\n]*\nGIN ", "torch_geometric"),
}


def test_every_example_has_a_promise():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(PROMISES)


@pytest.mark.parametrize("name", sorted(PROMISES))
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch Geometric scripts classes as it loads
def test_an_example_runs_and_prints_what_it_promises(name, capsys, monkeypatch):
    promise, needs = PROMISES[name]
    pytest.importorskip(needs)
    monkeypatch.setattr(sys, "argv", [name])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert re.search(promise, capsys.readouterr().out), name
