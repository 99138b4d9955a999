"""Suggestions for mutagens of Ames beside random edits: how many get a valid edit that the model calls clean.

    python benchmarks/suggestions.py MODEL ames.csv [--count 100]

MODEL is fitted to ames.csv (`isonn fit ames.csv --out MODEL`). Random edits are up to ten per molecule: an element,
a bond or a group changed at random, one or two at a time.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings

import numpy as np
from rdkit import Chem

import isonn
from isonn.errors import InputError
from isonn.molecules.edit import GROUPS, attach, delete_atom, set_bond, set_element


def random_edit(molecule: Chem.Mol, draw: np.random.Generator) -> Chem.Mol | None:
    atom = int(draw.integers(molecule.GetNumAtoms()))
    try:
        match draw.integers(4):
            case 0:
                return set_element(molecule, atom, str(draw.choice(["C", "N", "O", "S", "F", "Cl"])))
            case 1:
                bond = molecule.GetBondWithIdx(int(draw.integers(molecule.GetNumBonds())))
                order = int(draw.integers(4))
                return set_bond(molecule, bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), order)
            case 2:
                return delete_atom(molecule, atom)
        return attach(molecule, atom, str(draw.choice(list(GROUPS))))
    except InputError:
        return None


def random_edits(smiles: str, count: int, draw: np.random.Generator) -> list[str]:
    """As many different valid edits as suggestions, half of them of two steps."""
    found: list[str] = []
    for _ in range(50 * count):
        molecule = Chem.MolFromSmiles(smiles)
        for _ in range(1 + len(found) % 2):
            molecule = random_edit(molecule, draw) if molecule is not None else None
        if molecule is None:
            continue
        edited = Chem.MolToSmiles(molecule)
        if "." not in edited and Chem.MolFromSmiles(edited) is not None and edited not in (*found, smiles):
            found.append(edited)
        if len(found) == count:
            break
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--count", type=int, default=100)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    clf, draw = isonn.load_model(given.model), np.random.default_rng(0)
    with open(given.data, newline="") as file:
        mutagens = [row["SMILES"] for row in csv.DictReader(file) if row["Y"] == "1"]
    mutagens = [mutagens[i] for i in draw.permutation(len(mutagens))[: 2 * given.count]]
    mutagens = [smiles for smiles in mutagens if clf.predict([smiles])[0] == 1][: given.count]
    counts = dict.fromkeys(
        ("clean, in domain", "clean, in or borderline", "random: in domain", "random: in or borderline"), 0
    )
    seconds, similar, steps = [], [], []
    for smiles in mutagens:
        start = time.perf_counter()
        found = [one for one in clf.suggest(smiles, goal=0) if one.reached]
        seconds.append(time.perf_counter() - start)
        inside = [one for one in found if one.verdict in (None, "in")]
        counts["clean, in domain"] += bool(inside)
        counts["clean, in or borderline"] += bool(found)
        if found:
            similar.append(found[0].similarity)
            steps.append(len(found[0].edits))
        others = random_edits(smiles, 10, draw)
        clean = [
            text for text, answer in zip(others, clf.predict(others) if others else (), strict=True) if answer == 0
        ]
        verdicts = clf.domain(clean).verdict.tolist() if clean and clf._trust is not None else ["in"] * len(clean)
        counts["random: in domain"] += "in" in verdicts
        counts["random: in or borderline"] += any(verdict != "out" for verdict in verdicts)
    print(f"{len(mutagens)} mutagens that the model calls mutagens")
    for name, count in counts.items():
        print(f"{name:26} {count}")
    print(f"seconds: median {np.median(seconds):.2f}, 90 % below {np.percentile(seconds, 90):.2f}")
    print(f"best suggestion: median similarity {np.median(similar):.2f}, {np.mean(steps):.2f} edits")


if __name__ == "__main__":
    main()
