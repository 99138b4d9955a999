"""Suggestions for mutagens of Ames beside random edits: how many get a valid edit that the model calls clean.

    python benchmarks/suggestions.py [--model FOLDER] [--count 100] [--seed 0]

The model is fitted to four fifths of ISONN_DATA/molecules/ames.csv and saved in FOLDER (build/suggestions), unless
there is one. Mutagens are drawn among those that it was not fitted to and calls mutagens. Random edits are up to ten
per molecule: an element, a bond or a group changed at random, one or two at a time.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from rdkit import Chem
from sklearn.model_selection import StratifiedKFold

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
                if not molecule.GetNumBonds():  # the first of two edits may cut the only bond
                    return None
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


def fitted(folder: Path, data: Path) -> Any:
    """Return the model of a folder, fitted to four fifths of the data now if there is none."""
    if not folder.exists():
        graphs = isonn.load(data)
        train, _ = next(StratifiedKFold(5, shuffle=True, random_state=0).split(graphs.y, graphs.y))
        isonn.SubgraphClassifier(random_state=0).fit(graphs[train]).save(folder)
    return isonn.load_model(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=Path("build/suggestions"))
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    data = Path(os.environ.get("ISONN_DATA", "data")) / "molecules" / "ames.csv"
    clf, draw = fitted(given.model, data), np.random.default_rng(given.seed)
    with data.open(newline="") as file:
        mutagens = [row["SMILES"] for row in csv.DictReader(file) if row["Y"] == "1"]
    fresh = np.flatnonzero(~clf.seen_in_training(mutagens))
    mutagens = [mutagens[i] for i in draw.permutation(fresh)[: 2 * given.count]]
    mutagens = [smiles for smiles, y in zip(mutagens, clf.predict(mutagens), strict=True) if y == 1][: given.count]
    counts = dict.fromkeys(
        ("clean, in domain", "clean, in or borderline", "random: in domain", "random: in or borderline"), 0
    )
    seconds, used, similar, steps, missed = [], [], [], [], []
    for smiles in mutagens:
        start, processor = time.perf_counter(), time.process_time()
        found = [one for one in clf.suggest(smiles, goal=0) if one.reached]
        seconds.append(time.perf_counter() - start)
        used.append(time.process_time() - processor)
        inside = [one for one in found if one.verdict in (None, "in")]
        counts["clean, in domain"] += bool(inside)
        counts["clean, in or borderline"] += bool(found)
        if not inside:
            missed.append(smiles)
        if found:
            similar.append(found[0].similarity)
            steps.append(len(found[0].edits))
        others = random_edits(smiles, 10, draw)
        clean = [
            text for text, answer in zip(others, clf.predict(others) if others else (), strict=True) if answer == 0
        ]
        verdicts = clf.domain(clean).verdict.tolist() if clean else []
        counts["random: in domain"] += "in" in verdicts
        counts["random: in or borderline"] += any(verdict != "out" for verdict in verdicts)
    print(f"{len(mutagens)} mutagens that the model was not fitted to and calls mutagens, seed {given.seed}")
    for name, count in counts.items():
        print(f"{name:26} {count}")
    print(f"seconds: median {np.median(seconds):.2f} (processor {np.median(used):.2f}), 90 % below "
          f"{np.percentile(seconds, 90):.2f}")  # fmt: skip
    print(f"best suggestion: median similarity {np.median(similar):.2f}, {np.mean(steps):.2f} edits")
    print("without a clean edit in domain:", *missed)


if __name__ == "__main__":
    main()
