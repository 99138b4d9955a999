"""Structural alerts: which pieces of a molecule say that it is toxic, on molecules whose rule is known.

A molecule is labelled toxic if it has an aromatic nitro group or an epoxide; one label in thirty is wrong. The file has
the shape of your own: a column of SMILES and a column of classes.
"""

import csv
import sys
import tempfile
from pathlib import Path

import numpy as np
from rdkit import Chem

import isonn

CORES = ["c1ccc({0})cc1{1}", "c1cc({0})ncc1{1}", "C1CCC({0})CC1{1}", "C({0})CC{1}", "O=C({0})N{1}", "c1cc({0})oc1{1}"]
ENDS = ["C", "CC", "O", "OC", "N", "F", "Cl", "C(=O)O", "C#N", "[N+](=O)[O-]", "C9CO9", "S(=O)(=O)N", "CCO", "C(C)C"]
RULE = [Chem.MolFromSmarts(smarts) for smarts in ("c[N+](=O)[O-]", "C1OC1")]


def write_molecules(path: Path, count: int = 400, seed: int = 0) -> None:
    """A CSV of molecules labelled by the rule, with one wrong label in thirty."""
    draw = np.random.default_rng(seed)
    found: dict[str, int] = {}
    while len(found) < count:
        text = draw.choice(CORES).format(*draw.choice(ENDS, 2))
        molecule = Chem.MolFromSmiles(text)
        toxic = any(molecule.HasSubstructMatch(rule) for rule in RULE)
        found[Chem.MolToSmiles(molecule)] = int(toxic != (draw.random() < 1 / 30))
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("smiles", "toxic"), *found.items()])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write_molecules(Path(sys.argv[1]))
        raise SystemExit(f"wrote {sys.argv[1]}")
    with tempfile.TemporaryDirectory() as folder:
        write_molecules(Path(folder) / "molecules.csv")
        graphs = isonn.load(Path(folder) / "molecules.csv")
    print(graphs)

    clf = isonn.SubgraphClassifier(random_state=0).fit(graphs)
    alerts = clf.alerts(graphs)
    print(alerts.sentence())
    for alert in alerts[:5]:
        name = f"{alert.relation} {alert.name}" if alert.name else "no name"
        print(f"{alert.hits:3} of {alert.support:3}  {name}: {alert.smarts}")

    print(f"\n4-nitrotoluene: {clf.explain('Cc1ccc([N+](=O)[O-])cc1').reasons[0]}")
