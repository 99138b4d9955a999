"""The report of molecules whose classes come from a rule."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import isonn
from isonn.report.judged import held_out
from isonn.report.model_page import ModelPage

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
    page = ModelPage(held_out(clf, test), test, None, quiet=True)
    count = int(test.y.sum())
    assert page.header.answers[0].startswith("Nitro on an aromatic ring ")
    assert re.search(
        r" (\d+) of the \1 molecules with nitro on an aromatic ring are of class 1", page.header.answers[0]
    )
    held = []
    for panel in page.cases.panels:
        if test.y[panel.number] == 1:
            groups = isonn.molecules.to_mol(test[panel.number]).GetSubstructMatches(nitro)
            held.append(any(set(group) <= set(panel.reasons[0].members) for group in groups))
    assert len(held) == count
    assert np.mean(held) >= 0.95
