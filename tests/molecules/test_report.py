"""The report of molecules whose classes come from a rule."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import isonn
from isonn.explain.reasons import Reason
from isonn.report.counts import Holders
from isonn.report.model_page import ModelPage
from isonn.report.page_models import held_out

Chem = pytest.importorskip("rdkit.Chem")
EXAMPLE = Path(__file__).parents[2] / "examples" / "alerts.py"


def test_the_first_reason_is_the_group_that_made_the_classes():
    parts, draw = runpy.run_path(str(EXAMPLE)), np.random.default_rng(0)
    nitro = Chem.MolFromSmarts("[N+](=O)[O-]")
    found: dict[str, int] = {}
    while len(found) < 240:
        molecule = Chem.MolFromSmiles(draw.choice(parts["CORES"]).format(*draw.choice(parts["ENDS"], 2)))
        found[Chem.MolToSmiles(molecule)] = int(molecule.HasSubstructMatch(nitro))
    graphs = isonn.molecules.from_smiles(list(found), y=np.array(list(found.values())))
    train, test = graphs[:160], graphs[160:]
    clf = isonn.SubgraphClassifier(random_state=0).fit(train)
    page = ModelPage(held_out(clf, test))
    count = int(test.y.sum())
    assert page.header.answer.startswith("Nitro on an aromatic ring ")
    assert re.search(r" (\d+) of the \1 molecules with nitro on an aromatic ring are of class 1", page.header.answer)
    held = []
    for panel in page.cases.panels:
        if test.y[panel.number] == 1:
            groups = isonn.molecules.to_mol(test[panel.number]).GetSubstructMatches(nitro)
            held.append(any(set(group) <= set(panel.reasons[0].members) for group in groups))
    assert len(held) == count
    assert np.mean(held) >= 0.95


def test_named_reasons_count_the_molecules_that_have_the_name():
    """Atoms of a substituted ring have other hydrogens, and an NH2 alone is an amine of any kind."""
    smiles = ["CC1CCC(N)CC1", "NC1CCCCC1", "Nc1ccccc1", "CCO", "CN=NO", "CCCN=NO"]
    graphs = isonn.molecules.from_smiles(smiles, y=[1, 1, 0, 0, 1, 0])
    clf = isonn.SubgraphClassifier(3, head="linear", random_state=0).fit(graphs)
    holders, counted = Holders(graphs), {}
    for number in (0, 4):
        e = clf.explain(graphs[number])
        counted |= {unit.name or unit.smiles: holders.held(Reason.of(unit, e)) for unit in e.units}
    assert {name: np.flatnonzero(held).tolist() for name, held in counted.items()} == {
        "methyl": [0, 4],
        "cyclohexane": [0, 1],
        "primary aliphatic amine": [0, 1],
        "*N=NO": [4, 5],
    }
