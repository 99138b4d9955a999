"""Molecules: isonn compared with ECFP4 and a forest in the same folds, known rules, times. Needs ISONN_DATA/molecules.

    python benchmarks/molecules.py table --sets bbbp,bace --seeds 1     # continues where it stopped
    python benchmarks/molecules.py show                                 # the finished results, as Markdown
    python benchmarks/molecules.py rules                                # atom AUROC on molecules labelled by a rule
    python benchmarks/molecules.py alerts                               # named alerts of Ames, as a rule
    python benchmarks/molecules.py times

Every job of the table is a line of benchmarks/molecules.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

import isonn
from isonn.molecules import scaffolds, to_mol

DATA = Path(os.environ.get("ISONN_DATA", "data")) / "molecules"
STORE = Path(__file__).with_suffix(".jsonl")
CLASSES, NUMBERS = ("ames", "bbbp", "bace"), ("esol", "freesolv")
METHODS = ("isonn linear", "isonn ensemble", "ecfp-forest")


def load(name: str) -> isonn.GraphSet:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # repeats are known
        return isonn.load(DATA / f"{name}.csv")


def folds(graphs: isonn.GraphSet, split: str, seed: int) -> list[tuple[Any, Any]]:
    if split == "murcko":
        groups = scaffolds(graphs)
        names = np.random.default_rng(seed).permutation(np.unique(groups))
        order = {name: place for place, name in enumerate(names.tolist())}
        return list(GroupKFold(5).split(groups, groups=[order[name] for name in groups.tolist()]))
    kind = KFold if graphs.y.dtype.kind == "f" else StratifiedKFold
    return list(kind(5, shuffle=True, random_state=seed).split(np.zeros(len(graphs)), graphs.y))


def fingerprints(graphs: isonn.GraphSet) -> np.ndarray:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    return np.stack([generator.GetFingerprintAsNumPy(to_mol(graph)) for graph in graphs])


def score(method: str, graphs: isonn.GraphSet, train: Any, test: Any, seed: int) -> float:
    numbers, y = graphs.y.dtype.kind == "f", graphs.y
    if method == "ecfp-forest":
        forest = (RandomForestRegressor if numbers else RandomForestClassifier)(200, random_state=seed)
        prints = fingerprints(graphs)
        forest.fit(prints[train], y[train])
        said = forest.predict(prints[test]) if numbers else forest.predict_proba(prints[test])[:, 1]
    else:
        make = isonn.SubgraphRegressor if numbers else isonn.SubgraphClassifier
        model = make(head=method.split()[1], random_state=seed).fit(graphs[train])
        said = model.predict(graphs[test]) if numbers else model.predict_proba(graphs[test])[:, 1]
    return float(np.sqrt(np.mean((said - y[test]) ** 2))) if numbers else float(roc_auc_score(y[test], said))


def table(sets: list[str], splits: list[str], seeds: int, methods: list[str]) -> None:
    lines = STORE.read_text().splitlines() if STORE.exists() else []
    done = {tuple(job["job"]): job for job in map(json.loads, lines)}
    for name in sets:
        graphs = load(name)
        for split in splits:
            for seed in range(seeds):
                parts = folds(graphs, split, seed)
                for method in methods:
                    for fold, (train, test) in enumerate(parts):
                        job = (name, split, method, seed, fold)
                        if job in done:
                            continue
                        start = time.perf_counter()
                        value = score(method, graphs, train, test, seed)
                        done[job] = {"job": job, "score": value, "seconds": time.perf_counter() - start}
                        with STORE.open("a") as file:
                            file.write(json.dumps(done[job]) + "\n")
                    own = [done[name, split, method, seed, fold] for fold in range(len(parts))]
                    mean, spent = np.mean([job["score"] for job in own]), sum(job["seconds"] for job in own)
                    measure = "RMSE" if name in NUMBERS else "AUROC"
                    print(
                        f"{name:9} {split:7} seed {seed}  {method:15} {measure} {mean:.4f}  {spent:6.1f} s", flush=True
                    )


def show() -> None:
    """Print a Markdown table of the seeds that all methods have finished: means over folds and seeds."""
    scores: dict[tuple[str, str, str], dict[int, list[float]]] = {}
    for line in STORE.read_text().splitlines():
        job = json.loads(line)
        name, split, method, seed, _ = job["job"]
        scores.setdefault((name, split, method), {}).setdefault(seed, []).append(job["score"])
    print(f"| set | folds | seeds | measure | {' | '.join(METHODS)} |\n|{'---|' * (4 + len(METHODS))}")
    for name in CLASSES + NUMBERS:
        for split in ("random", "murcko"):
            own = [scores.get((name, split, method), {}) for method in METHODS]
            seeds = [seed for seed in own[0] if all(len(seeds.get(seed, ())) == 5 for seeds in own)]
            cells = [f"{np.mean([one[seed] for seed in seeds]):.3f}" if seeds else "" for one in own]
            measure = "RMSE" if name in NUMBERS else "AUROC"
            print(f"| {name} | {split} | {len(seeds)} | {measure} | {' | '.join(cells)} |")


def truths(name: str, molecule: Chem.Mol) -> list[set[int]]:
    """Return the sets of atoms that count as the truth."""

    def hits(smarts: str) -> list[set[int]]:
        return [set(match) for match in molecule.GetSubstructMatches(Chem.MolFromSmarts(smarts))]

    if name == "benzene":
        return [set().union(*hits("c1ccccc1")), *hits("c1ccccc1")]
    return [one | other for one in hits("[FX1]") for other in hits("[CX3]=O")]


def rules(count: int) -> None:
    for name in ("benzene", "logic7"):
        graphs = load(name)
        train, test = (np.flatnonzero((graphs.table["split"] == "train") == part) for part in (True, False))
        clf = isonn.SubgraphClassifier(random_state=0).fit(graphs[train])
        accuracy = float((clf.predict(graphs[test]) == graphs.y[test]).mean())
        positive = test[graphs.y[test] == 1][:count]
        found = []
        for i in positive.tolist():
            importance = clf.explain(graphs[i], label=1, top=0).node_importance
            masks = [[atom in truth for atom in range(len(importance))] for truth in truths(name, to_mol(graphs[i]))]
            scores = [roc_auc_score(mask, importance) for mask in masks if 0 < sum(mask) < len(mask)]
            found += [max(scores)] if scores else []
        print(
            f"{name}: accuracy {accuracy:.4f}, atom AUROC {np.mean(found):.4f} over {len(found)} molecules", flush=True
        )


def alerts() -> None:
    graphs = load("ames")
    found = isonn.SubgraphClassifier(random_state=0).fit(graphs).alerts(graphs)
    print(found.sentence())
    for alert in found:
        print(f"{alert.hits:4} of {alert.support:4}  {alert.relation} {alert.name}: {alert.smarts}")
    print("names:", ", ".join(sorted({alert.name for alert in found if alert.name})))


def times() -> None:
    start = time.perf_counter()
    graphs = load("ames")
    read = time.perf_counter() - start
    clf = isonn.SubgraphClassifier(random_state=0).fit(graphs)
    print(f"ames: {len(graphs)} molecules read in {read:.1f} s, fitted after {time.perf_counter() - start:.1f} s")
    explanations = [clf.explain(graph) for graph in graphs[:1000]]
    start = time.perf_counter()
    for explanation in explanations:
        explanation.to_svg()
    print(f"1,000 highlighted drawings: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["table", "show", "rules", "alerts", "times"])
    parser.add_argument("--sets", default=",".join(CLASSES + NUMBERS))
    parser.add_argument("--splits", default="random,murcko")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--count", type=int, default=500, help="molecules explained by `rules`")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # unseen labels of rare atoms
    if given.what == "table":
        table(given.sets.split(","), given.splits.split(","), given.seeds, given.methods.split(","))
    elif given.what == "rules":
        rules(given.count)
    else:
        {"alerts": alerts, "times": times, "show": show}[given.what]()
