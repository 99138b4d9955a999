"""Explanations compared with the truth, on molecules labelled by the presence of a group.

Each rule labels the molecules of a CSV file by SMARTS, and 5 % of the training labels are flipped. A model is fitted on
half of them. For every positive test molecule the importances of edges are compared with the bonds inside the group.
The last column uses the log-odds of each kind of bond instead of a model.

    ISONN_DATA=... python benchmarks/rules.py [--molecules 3000] [--seed 0]

needs rdkit and ``molecules/ames.csv`` in ISONN_DATA.
"""

from __future__ import annotations

import argparse
import csv
import os
from pathlib import Path

import numpy as np
from rdkit import Chem, RDLogger
from sklearn.metrics import roc_auc_score

import isonn

GROUPS = {
    "nitro": "[NX3+](=O)[O-]",
    "amide": "[NX3][CX3]=O",
    "epoxide": "C1OC1",
    "ester": "[CX3](=O)[OX2][#6]",
    "aryl halide": "c[F,Cl,Br,I]",
    "pyridine": "n1ccccc1",
}
#: A rule is a name, its groups, and the function from their presence to a class.
RULES = [(name, (name,), any) for name in GROUPS] + [
    ("nitro or epoxide", ("nitro", "epoxide"), any),
    ("amide and aryl halide", ("amide", "aryl halide"), all),
    ("ester xor nitro", ("ester", "nitro"), lambda held: sum(held) == 1),
]
FLIPPED = 0.05


def molecules(path: Path, most: int, seed: int) -> tuple[isonn.GraphSet, list[Chem.Mol]]:
    """Read molecules as plain graphs with elements and bond orders only."""
    with path.open(encoding="utf-8-sig") as file:
        texts = [row["SMILES"] for row in csv.DictReader(file)]
    order = np.random.default_rng(seed).permutation(len(texts))
    mols = [mol for mol in (Chem.MolFromSmiles(texts[i]) for i in order[: 2 * most]) if mol and mol.GetNumBonds() > 2]
    mols = mols[:most]
    matrices, labels, edge_labels = [], [], []
    for mol in mols:
        matrices.append(Chem.GetAdjacencyMatrix(mol).astype(float))
        labels.append([atom.GetSymbol() for atom in mol.GetAtoms()])
        table = np.zeros((mol.GetNumAtoms(),) * 2, dtype=int)
        for bond in mol.GetBonds():
            a, b = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
            table[a, b] = table[b, a] = int(2 * bond.GetBondTypeAsDouble())
        edge_labels.append(table)
    sets = isonn.as_graphset(matrices)
    from dataclasses import replace

    flat = np.concatenate([table[tuple(graph.edges.T)] for table, graph in zip(edge_labels, sets, strict=True)])
    return replace(sets, node_labels=np.concatenate([np.array(own) for own in labels]), edge_labels=flat), mols


def bonds_inside(mol: Chem.Mol, pattern: Chem.Mol) -> set[tuple[int, int]]:
    found = set()
    for match in mol.GetSubstructMatches(pattern):
        for bond in mol.GetBonds():
            a, b = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
            if a in match and b in match:
                found.add((min(a, b), max(a, b)))
    return found


def bond_odds(graphs, y) -> dict[tuple[str, str, int], float]:
    """Return the log-odds of the class for molecules that contain each kind of bond."""
    counts: dict[tuple[str, str, int], list[float]] = {}
    for graph, positive in zip(graphs, y, strict=True):
        for kind in {kind_of(graph, i) for i in range(len(graph.edges))}:
            counts.setdefault(kind, [0.5, 0.5])[int(positive)] += 1
    return {kind: float(np.log(yes / no)) for kind, (no, yes) in counts.items()}


def kind_of(graph, i) -> tuple[str, str, int]:
    a, b = sorted(graph.node_labels[graph.edges[i]].tolist())
    return a, b, int(graph.edge_labels[i])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--molecules", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--explained", type=int, default=150)
    given = parser.parse_args()
    RDLogger.DisableLog("rdApp.*")
    graphs, mols = molecules(Path(os.environ["ISONN_DATA"]) / "molecules" / "ames.csv", given.molecules, given.seed)
    patterns = {name: Chem.MolFromSmarts(text) for name, text in GROUPS.items()}
    half = len(mols) // 2
    models = {
        "default": ({}, "contribution"),
        "evidence": ({}, "evidence"),
        "both (student)": ({"regions": "both"}, "contribution"),
        "c=32": ({"c": 32}, "contribution"),
    }
    print(f"{'rule':24s} {'share':>6s} " + " ".join(f"{name:>22s}" for name in models) + f" {'bond log-odds':>14s}")
    rows = []
    for rule, names, combine in RULES:
        y = np.array([combine([mol.HasSubstructMatch(patterns[name]) for name in names]) for mol in mols]).astype(int)
        generator = np.random.default_rng(given.seed + 1)
        train = y[:half].copy()
        flipped = generator.random(half) < FLIPPED
        train[flipped] = 1 - train[flipped]
        test = [i for i in range(half, len(mols)) if y[i]][: given.explained]
        truths = {i: set().union(*(bonds_inside(mols[i], patterns[name]) for name in names)) for i in test}
        line, odds = [], bond_odds(graphs[:half], train)
        for settings, method in models.values():
            clf = isonn.SubgraphClassifier(random_state=0, **settings).fit(graphs[:half], train)
            accuracy = float((clf.predict(graphs[half:]) == y[half:]).mean())
            scores, first = [], []
            for i in test:
                explanation = clf.explain(graphs[i : i + 1], label=1, top=0, method=method)
                edges = [(a, b) for a, b in graphs[i].edges.tolist() if a < b]
                truth = [pair in truths[i] for pair in edges]
                if any(truth) and not all(truth):
                    scores.append(roc_auc_score(truth, [explanation.edge_importance[pair] for pair in edges]))
                if method == "contribution" and explanation.reasons:
                    inside = {node for pair in truths[i] for node in pair}
                    first.append(bool(set(explanation.reasons[0].nodes) & inside))
            line.append((np.mean(scores), accuracy, np.mean(first) if first else np.nan))
        trivial = []
        for i in test:
            graph = graphs[i]
            places = [j for j, (a, b) in enumerate(graph.edges.tolist()) if a < b]
            truth = [tuple(graph.edges[j].tolist()) in truths[i] for j in places]
            if any(truth) and not all(truth):
                trivial.append(roc_auc_score(truth, [odds.get(kind_of(graph, j), 0.0) for j in places]))
        shown = " ".join(f"{auroc:6.3f} acc{acc:5.2f} 1st{hit:5.2f}" for auroc, acc, hit in line)
        print(f"{rule:24s} {y.mean():6.3f} {shown} {np.mean(trivial):14.3f}", flush=True)
        rows.append([auroc for auroc, _, _ in line] + [np.mean(trivial)])
    table = np.array(rows)
    print("mean ", np.round(table.mean(axis=0), 3), " worst ", np.round(table.min(axis=0), 3))


if __name__ == "__main__":
    main()
