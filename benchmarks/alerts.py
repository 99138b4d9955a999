"""Alerts of Ames: the table of toxicophores, groups that must be complete, and precision on fresh molecules.

ISONN_DATA=... python benchmarks/alerts.py toxicophores   # the table of docs/molecules.md
ISONN_DATA=... python benchmarks/alerts.py fresh          # reported precision beside that of other molecules
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from rdkit import Chem

import isonn
from isonn.graphs.isomorphism import graph_hashes
from isonn.molecules import find_group, to_mol
from isonn.molecules.alerts.candidates import match_atoms
from isonn.molecules.toxicophores import TOXICOPHORES

#: Groups of which nearly all mutagens have to be hit by an alert on their atoms.
COMPLETE = ("primary aromatic amine", "epoxide", "N-hydroxy", "enal")
#: Halves of the molecules that alerts are found in and tried on.
SPLITS = 3


def ames() -> Any:
    """The molecules of Ames."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return isonn.load(Path(os.environ["ISONN_DATA"]) / "molecules" / "ames.csv")


def fit(graphs: Any) -> Any:
    """A model of some molecules; the head has no part in alerts."""
    return isonn.SubgraphClassifier(head="linear", random_state=0).fit(graphs)


def toxicophores() -> None:
    """Print alerts, toxicophores and complete groups as tables."""
    graphs = ames()
    alerts = fit(graphs).alerts(graphs)
    print(alerts.sentence())
    print("\n| alert | mutagens | precision | members |\n|---|---|---|---|")
    for alert in alerts:
        low, high = alert.precision_interval
        members = ", ".join(member.name for member in alert.members)
        precision = f"{alert.precision:.2f} ({low:.2f} to {high:.2f})"
        print(f"| {alert.title} | {alert.hits} of {alert.support} | {precision} | {members} |")
    print("\n| toxicophore | molecules | mutagens | found | alerts |\n|---|---|---|---|---|")
    molecules = [to_mol(graph) for graph in graphs]
    covered = [[alert.atoms_in(molecule) for molecule in molecules] for alert in alerts]
    for name, smarts in TOXICOPHORES.items():
        atoms = {i: held for i, molecule in enumerate(molecules) if (held := match_atoms(molecule, [smarts]))}
        mutagens = [i for i in atoms if graphs.y[i] == 1]
        found = sum(any(atoms[i] & places[i] for places in covered) for i in mutagens)
        same = [  # an alert is the same if half of the molecules with either have both on the same atoms
            alert.title
            for alert, places in zip(alerts, covered, strict=True)
            if sum(bool(atoms[i] & places[i]) for i in atoms) >= min(len(atoms), sum(map(bool, places))) / 2 > 0
        ]
        print(f"| {name} | {len(atoms)} | {len(mutagens)} | {found} | {', '.join(same) or 'none'} |")
    queries = [Chem.MolFromSmarts(alert.smarts) for alert in alerts]
    for name in COMPLETE:
        places = {i: find_group(mol, name) for i, mol in enumerate(molecules) if graphs.y[i] == 1}
        places = {i: frozenset().union(*matches) for i, matches in places.items() if matches}
        found = sum(
            any(atoms.intersection(*[match]) for query in queries for match in molecules[i].GetSubstructMatches(query))
            for i, atoms in places.items()
        )
        print(f"{name}: {found} of {len(places)} mutagens hit on its atoms ({found / len(places):.1%})")


def fresh() -> None:
    """Compare the precision that alerts of one half report with their precision in the other half."""
    graphs, draw = ames(), np.random.default_rng(0)
    hashes = graph_hashes(graphs)
    for _ in range(SPLITS):
        half = np.isin(hashes, draw.choice(np.unique(hashes), len(np.unique(hashes)) // 2, replace=False))
        alerts = fit(graphs[half]).alerts(graphs[half])
        others = [to_mol(graph) for graph in graphs[~half]]
        y = graphs.y[~half] == 1
        held = [np.array([m.HasSubstructMatch(Chem.MolFromSmarts(alert.smarts)) for m in others]) for alert in alerts]
        hits, support = sum(alert.hits for alert in alerts), sum(alert.support for alert in alerts)
        new, total = sum(int(y[rows].sum()) for rows in held), sum(int(rows.sum()) for rows in held)
        inside = sum(
            alert.precision_interval[0] <= y[rows].mean() <= alert.precision_interval[1]
            for alert, rows in zip(alerts, held, strict=True)
            if rows.any()
        )
        print(
            f"{len(alerts)} alerts: reported {hits / support:.3f}, fresh {new / total:.3f}; "
            f"{inside} fresh values in their intervals"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["toxicophores", "fresh"])
    {"toxicophores": toxicophores, "fresh": fresh}[parser.parse_args().what]()
