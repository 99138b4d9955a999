"""Accuracy of the default model beside its rivals, and its explanations beside the truth. Needs ISONN_DATA.

    python benchmarks/accuracy.py run                      # all studies; continues where it stopped
    python benchmarks/accuracy.py run tdc molecules --seeds 1
    python benchmarks/accuracy.py show                     # finished jobs as Markdown tables, beside the bars

Every finished job is a line of docs/results/accuracy.jsonl: study, set, method, seed, fold, results, processor seconds.
Studies: `tu` (ten grouped folds, beside wl-svm), `molecules` (five random and Murcko folds, beside ECFP4), `tdc`
(train to test as published), `truth` (atoms and bonds of known rules), `calibration` (Tox21, five grouped folds). All
rows are of the present default: after a change of the model, remove them.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import kendalltau, spearmanr
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import GroupKFold

import isonn
from isonn.experiments.methods import build
from isonn.experiments.statistics import corrected_interval
from isonn.graphs.isomorphism import graph_hashes, twin_groups
from isonn.graphs.splits import grouped_folds

DATA = Path(os.environ.get("ISONN_DATA", "data"))
STORE = Path(__file__).parents[1] / "docs" / "results" / "accuracy.jsonl"
#: Seeds that no setting was looked at with.
FIRST_SEED = 300

TU = ("MUTAG", "PTC", "PTC_MR", "PROTEINS", "IMDB-MULTI")
#: Bars of AUROC or RMSE in random and Murcko folds. The bar of Ames was measured in folds that separate equal
#: molecules, which is easier: 1,092 of 7,278 have a copy. So Ames is measured in both kinds of random folds.
MOLECULES = {
    "esol": {"random": 0.67, "murcko": 0.92},
    "freesolv": {"random": 1.07, "murcko": 2.03},
    "bace": {"random": 0.908, "murcko": 0.888},
    "bbbp": {"random": 0.930, "murcko": 0.905},
    "ames": {"random": 0.912, "separated": 0.912, "murcko": 0.860},
}
FOLDS = 5
#: Measure, and the best figure that an audit of the public board could rebuild.
TDC = {
    "half_life_obach": ("Spearman", 0.562),
    "caco2_wang": ("MAE", 0.276),
    "Bioavailability_Ma": ("AUROC", 0.730),
    "CYP2D6_Substrate_CarbonMangels": ("AUPRC", 0.720),
    "BBB_Martins": ("AUROC", 0.916),
    "AMES": ("AUROC", 0.868),
}
GROUPS = {
    "nitro": "[NX3+](=O)[O-]",
    "amide": "[NX3][CX3]=O",
    "epoxide": "C1OC1",
    "ester": "[CX3](=O)[OX2][#6]",
    "aryl halide": "c[F,Cl,Br,I]",
    "pyridine": "n1ccccc1",
}
#: A rule is a list of groups and the function from their presence to a class.
RULES: dict[str, tuple[tuple[str, ...], Callable[[list[bool]], bool]]] = {
    **{name: ((name,), any) for name in GROUPS},
    "nitro or epoxide": (("nitro", "epoxide"), any),
    "amide and aryl halide": (("amide", "aryl halide"), all),
    "ester xor nitro": (("ester", "nitro"), lambda held: sum(held) == 1),
}
#: Share of flipped training labels, molecules and explained molecules of the rules.
FLIPPED, RULE_MOLECULES, EXPLAINED = 0.05, 3000, 150

#: Study, set, method, seed, fold; and the function that computes its results.
Job = tuple[tuple[str, str, str, int, int], Callable[[], dict[str, Any]]]


@lru_cache(maxsize=8)
def load(name: str) -> isonn.GraphSet:
    return isonn.load(DATA / "molecules" / f"{name}.csv" if name.islower() or "_" in name else name)


def model(method: str, graphs: isonn.GraphSet, seed: int) -> Any:
    return build(method, {}, seed, int(graphs.sizes.max()), graphs.y.dtype.kind == "f")


def fitted(method: str, graphs: isonn.GraphSet, seed: int) -> Any:
    return model(method, graphs, seed).fit(graphs)


def answers(method: str, train: isonn.GraphSet, test: isonn.GraphSet, seed: int) -> np.ndarray:
    """Return predicted numbers, or the probability of the second class."""
    est = fitted(method, train, seed)
    return est.predict(test) if train.y.dtype.kind == "f" else est.predict_proba(test)[:, 1]


def measure(name: str, y: np.ndarray, said: np.ndarray) -> float:
    if name in ("AUROC", "AUPRC"):
        return float((roc_auc_score if name == "AUROC" else average_precision_score)(y, said))
    if name == "Spearman":
        return float(spearmanr(said, y)[0])
    error = np.abs(said - y)
    return float(error.mean() if name == "MAE" else np.sqrt((error**2).mean()))


def tu_jobs(seeds: int) -> Iterator[Job]:
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        for name in TU:
            graphs = isonn.load(name)
            for fold, (train, test) in enumerate(grouped_folds(graphs.y, twin_groups(graphs), 10, seed)):
                for method in ("isonn-subgraph", "wl-svm"):
                    yield ("tu", name, method, seed, fold), partial(accuracy, method, graphs[train], graphs[test], seed)


def accuracy(method: str, train: isonn.GraphSet, test: isonn.GraphSet, seed: int) -> dict[str, Any]:
    return {"accuracy": 100 * float((fitted(method, train, seed).predict(test) == test.y).mean()), "size": len(test)}


def molecule_jobs(seeds: int) -> Iterator[Job]:
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        for fold in range(FOLDS):  # the first fold of all sets before the second
            for name, bars in MOLECULES.items():
                graphs = load(name)
                for split in bars:
                    test = molecule_folds(name, split, seed) == fold
                    for method in ("isonn-subgraph", "ecfp-trees", "ecfp-forest"):
                        job = partial(molecule_score, method, graphs[~test], graphs[test], seed)
                        yield ("molecules", f"{name} {split}", method, seed, fold), job


@lru_cache(maxsize=16)
def molecule_folds(name: str, split: str, seed: int) -> np.ndarray:
    """Return the fold of each molecule."""
    from isonn.molecules import scaffolds

    graphs = load(name)
    draw = np.random.default_rng(seed)
    if split == "separated":
        return draw.permutation(len(graphs)) % FOLDS
    groups = graph_hashes(graphs) if split == "random" else scaffolds(graphs)
    found, number = np.unique(groups, return_inverse=True)
    numbers = draw.permutation(len(found))[number]
    folds = np.zeros(len(graphs), dtype=int)
    for fold, (_, test) in enumerate(GroupKFold(FOLDS).split(numbers, groups=numbers)):
        folds[test] = fold
    return folds


def molecule_score(method: str, train: isonn.GraphSet, test: isonn.GraphSet, seed: int) -> dict[str, Any]:
    name = "RMSE" if train.y.dtype.kind == "f" else "AUROC"
    return {name: measure(name, test.y, answers(method, train, test, seed))}


def tdc_jobs(seeds: int) -> Iterator[Job]:
    for name in TDC:
        train, test = (isonn.load(DATA / "molecules" / "tdc" / f"{name}_{part}.csv") for part in ("train", "test"))
        for seed in range(FIRST_SEED, FIRST_SEED + seeds):
            for method in ("isonn-subgraph", "ecfp-trees"):
                yield ("tdc", name, method, seed, 0), partial(tdc_score, name, method, train, test, seed)


def tdc_score(name: str, method: str, train: isonn.GraphSet, test: isonn.GraphSet, seed: int) -> dict[str, Any]:
    said = answers(method, train, test, seed)
    return {TDC[name][0]: measure(TDC[name][0], test.y, said), "said": np.round(said, 4).tolist()}


def truth_jobs(seeds: int) -> Iterator[Job]:
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        yield ("truth", "additive", "isonn-subgraph", seed, 0), partial(additive, seed)
        for rule in RULES:
            yield ("truth", f"rule {rule}", "isonn-subgraph", seed, 0), partial(rule_score, rule, seed)
    for name in ("logic7", "benzene"):
        yield ("truth", name, "isonn-subgraph", FIRST_SEED, 0), partial(atom_score, name, FIRST_SEED)


def plain_molecules(texts: list[str]) -> tuple[isonn.GraphSet, list[Any]]:
    """Return molecules as plain graphs of elements and bond orders, and as RDKit molecules."""
    from rdkit import Chem

    mols = [mol for mol in map(Chem.MolFromSmiles, texts) if mol is not None and mol.GetNumBonds() > 2]
    tables = [Chem.GetAdjacencyMatrix(mol, useBO=True) for mol in mols]
    graphs = isonn.as_graphset([(table > 0).astype(float) for table in tables])
    orders = [table[tuple(graph.edges.T)] for table, graph in zip(tables, graphs, strict=True)]
    labels = np.array([atom.GetSymbol() for mol in mols for atom in mol.GetAtoms()])
    return replace(graphs, node_labels=labels, edge_labels=(2 * np.concatenate(orders)).astype(int)), mols


def column(name: str, field: str) -> list[str]:
    with (DATA / "molecules" / f"{name}.csv").open(encoding="utf-8-sig") as file:
        return [row[field] for row in csv.DictReader(file)]


def additive(seed: int) -> dict[str, Any]:
    """Learn logP (Crippen) of ESOL's molecules as plain graphs; compare atoms with Crippen's by Kendall's tau."""
    from rdkit.Chem import Crippen, rdMolDescriptors

    graphs, mols = plain_molecules(column("esol", "smiles"))
    graphs = graphs.with_y(np.array([Crippen.MolLogP(mol) for mol in mols]))
    order = np.random.default_rng(seed).permutation(len(graphs))
    train, test = order[: len(order) // 2], order[len(order) // 2 :][:EXPLAINED]
    result = {}
    for head in ("auto", "linear"):
        reg = isonn.SubgraphRegressor(head=head, random_state=seed).fit(graphs[train])
        taus = []
        for i in test.tolist():
            truth = [value for value, _ in rdMolDescriptors._CalcCrippenContribs(mols[i])]
            taus.append(kendalltau(reg.explain(graphs[i : i + 1], top=0).node_importance, truth)[0])
        result[f"tau {head}"] = float(np.nanmean(taus))
    return result


def rule_score(rule: str, seed: int) -> dict[str, Any]:
    """Learn a rule from half of the molecules; compare the bonds of positive ones with those inside the groups."""
    from rdkit import Chem

    names, combine = RULES[rule]
    texts = column("ames", "SMILES")
    order = np.random.default_rng(seed).permutation(len(texts))
    graphs, mols = plain_molecules([texts[i] for i in order[: RULE_MOLECULES + 200]])
    graphs, mols = graphs[:RULE_MOLECULES], mols[:RULE_MOLECULES]
    patterns = [Chem.MolFromSmarts(GROUPS[name]) for name in names]
    y = np.array([combine([mol.HasSubstructMatch(pattern) for pattern in patterns]) for mol in mols]).astype(int)
    half = len(mols) // 2
    noisy = np.where(np.random.default_rng(seed + 1).random(half) < FLIPPED, 1 - y[:half], y[:half])
    clf = isonn.SubgraphClassifier(random_state=seed).fit(graphs[:half], noisy)
    scores, first = [], []
    for i in [i for i in range(half, len(mols)) if y[i]][:EXPLAINED]:
        inside = [set(match) for pattern in patterns for match in mols[i].GetSubstructMatches(pattern)]
        bonds = [pair for pair in graphs[i].edges.tolist() if pair[0] < pair[1]]
        truth = [any(set(pair) <= match for match in inside) for pair in bonds]
        e = clf.explain(graphs[i : i + 1], label=1, top=0)
        if any(truth) and not all(truth):
            scores.append(roc_auc_score(truth, [e.edge_importance[tuple(pair)] for pair in bonds]))
        if e.reasons:
            first.append(bool(set(e.reasons[0].nodes) & set().union(*inside)))
    right = float((clf.predict(graphs[half:]) == y[half:]).mean())
    return {"edge AUROC": float(np.mean(scores)), "first reason inside": float(np.mean(first)), "accuracy": right}


def atom_score(name: str, seed: int) -> dict[str, Any]:
    """Compare the atoms of positive test molecules with the benchmark's truth, the best of the possible ones."""
    from isonn.molecules import from_smiles

    texts, y = column(name, "smiles"), np.array(column(name, "label")).astype(int)
    with (DATA / "molecules" / f"{name}-atoms.csv").open() as file:
        truths = {row["smiles"]: row["atoms"] for row in csv.DictReader(file)}
    graphs = from_smiles(texts, y, standardize="none")
    train = np.array(column(name, "split")) == "train"
    clf = isonn.SubgraphClassifier(random_state=seed).fit(graphs[np.flatnonzero(train)])
    scores = []
    for i in np.flatnonzero(~train & (y == 1)).tolist()[:500]:
        importance = clf.explain(graphs[i], label=1, top=0).node_importance
        masks = [
            np.isin(np.arange(len(importance)), np.array(atoms.split(), int)) for atoms in truths[texts[i]].split("|")
        ]
        found = [roc_auc_score(mask, importance) for mask in masks if mask.any() and not mask.all()]
        scores += [max(found)] if found else []
    test = np.flatnonzero(~train)
    right = float((clf.predict(graphs[test]) == y[test]).mean())
    return {"atom AUROC": float(np.mean(scores)), "accuracy": right, "molecules": len(scores)}


def calibration_jobs(seeds: int) -> Iterator[Job]:
    graphs = isonn.load(DATA / "molecules" / "tox21.csv", target="all")
    groups = graph_hashes(graphs)
    for fold, (train, test) in enumerate(GroupKFold(5).split(groups, groups=groups)):
        job = partial(log_odds, graphs[train], graphs[test], FIRST_SEED)
        yield ("calibration", "tox21", "isonn-subgraph", FIRST_SEED, fold), job


#: Centres of the bins of predicted log-odds.
BINS = np.arange(-10.0, 10.05, 0.1)


def log_odds(train: isonn.GraphSet, test: isonn.GraphSet, seed: int) -> dict[str, Any]:
    """Return known and positive labels by predicted log-odds, all labels together."""
    said = isonn.SubgraphClassifier(random_state=seed).fit(train).predict_proba(test)
    known = np.isfinite(test.y)
    bins = np.clip(np.rint((logit(np.clip(said[known], 1e-9, 1 - 1e-9)) + 10) * 10), 0, len(BINS) - 1).astype(int)
    counts = [np.bincount(bins, weights, len(BINS)).astype(int).tolist() for weights in (None, test.y[known])]
    return {"known": counts[0], "positive": counts[1]}


STUDIES: dict[str, Callable[[int], Iterator[Job]]] = {
    "tdc": tdc_jobs,
    "truth": truth_jobs,
    "tu": tu_jobs,
    "molecules": molecule_jobs,
    "calibration": calibration_jobs,
}


def stored() -> dict[tuple[Any, ...], dict[str, Any]]:
    lines = STORE.read_text().splitlines() if STORE.exists() else []
    return {tuple(job["job"]): job["results"] for job in map(json.loads, lines)}


def run(studies: list[str], seeds: int) -> None:
    done = stored()
    for study in studies:
        for job, compute in STUDIES[study](seeds):
            if job in done:
                continue
            start = time.process_time()
            results = compute()
            spent = round(time.process_time() - start, 1)
            with STORE.open("a") as file:
                file.write(json.dumps({"job": job, "results": results, "seconds": spent}) + "\n")
            shown = {name: round(value, 4) for name, value in results.items() if isinstance(value, float)}
            print(*job, shown, f"{spent} s", flush=True)


def show() -> None:
    done = stored()
    show_tu(done)
    show_molecules(done)
    show_tdc(done)
    show_truth(done)
    show_calibration(done)


def values_of(done: dict[Any, Any], study: str, name: str, method: str, field: str) -> dict[tuple[int, int], float]:
    return {job[3:]: found[field] for job, found in done.items() if job[:3] == (study, name, method) and field in found}


def show_tu(done: dict[Any, Any]) -> None:
    print("| set | folds | isonn | wl-svm | difference | corrected 95 % interval |\n|---|---|---|---|---|---|")
    differences = []
    for name in TU:
        ours, theirs = (values_of(done, "tu", name, method, "accuracy") for method in ("isonn-subgraph", "wl-svm"))
        both = sorted(set(ours) & set(theirs))
        if len(both) < 2:
            continue
        gaps = np.array([ours[key] - theirs[key] for key in both])
        differences.append(gaps.mean())
        low, high = corrected_interval(gaps, 1 / 9)
        means = [np.mean([found[key] for key in both]) for found in (ours, theirs)]
        cells = f"{means[0]:.1f} | {means[1]:.1f} | {gaps.mean():+.2f} | {low:+.1f} to {high:+.1f}"
        print(f"| {name} | {len(both)} | {cells} |")
    if differences:
        print(f"\nMean difference {np.mean(differences):+.2f} (bar +1.5).\n")


def show_molecules(done: dict[Any, Any]) -> None:
    print("| set | folds | measure | isonn | bar | ecfp-trees | ecfp-forest |\n|---|---|---|---|---|---|---|")
    for name, bars in MOLECULES.items():
        for split, bar in bars.items():
            kind = "RMSE" if name in ("esol", "freesolv") else "AUROC"
            methods = ("isonn-subgraph", "ecfp-trees", "ecfp-forest")
            found = [values_of(done, "molecules", f"{name} {split}", method, kind) for method in methods]
            both = sorted(set(found[0]) & set(found[1]) & set(found[2]))
            if both:
                means = [f"{np.mean([one[key] for key in both]):.3f}" for one in found]
                print(f"| {name} {split} | {len(both)} | {kind} | {means[0]} | {bar} | {means[1]} | {means[2]} |")
    print()


def show_tdc(done: dict[Any, Any]) -> None:
    print("| set | seeds | measure | isonn | published | ecfp-trees | difference to it, 95 % bootstrap |")
    print("|---|---|---|---|---|---|---|")
    for name, (kind, published) in TDC.items():
        found = [values_of(done, "tdc", name, method, kind) for method in ("isonn-subgraph", "ecfp-trees")]
        both = sorted(set(found[0]) & set(found[1]))
        if not both:
            continue
        y = isonn.load(DATA / "molecules" / "tdc" / f"{name}_test.csv").y
        said = [
            np.mean([done[("tdc", name, method, *key)]["said"] for key in both], axis=0)
            for method in ("isonn-subgraph", "ecfp-trees")
        ]
        draw, gaps = np.random.default_rng(0), []
        while len(gaps) < 1000:
            rows = draw.integers(0, len(y), len(y))
            if len(np.unique(y[rows])) > 1:
                gaps.append(measure(kind, y[rows], said[0][rows]) - measure(kind, y[rows], said[1][rows]))
        low, high = np.quantile(gaps, [0.025, 0.975])
        means = [
            f"{np.mean([one[key] for key in both]):.3f} ± {np.std([one[key] for key in both]):.3f}" for one in found
        ]
        print(f"| {name} | {len(both)} | {kind} | {means[0]} | {published} | {means[1]} | {low:+.3f} to {high:+.3f} |")
    print()


def show_truth(done: dict[Any, Any]) -> None:
    rules = {}
    for rule in RULES:
        found = values_of(done, "truth", f"rule {rule}", "isonn-subgraph", "edge AUROC")
        inside = values_of(done, "truth", f"rule {rule}", "isonn-subgraph", "first reason inside")
        if found:
            rules[rule] = float(np.mean(list(found.values())))
            print(f"- {rule}: edge AUROC {rules[rule]:.3f}, first reason inside {np.mean(list(inside.values())):.2f}")
    if rules:
        print(
            f"- rules: mean {np.mean(list(rules.values())):.3f} (bar .985), worst {min(rules.values()):.3f} (bar .94)"
        )
    for name, bar in (("logic7", 0.95), ("benzene", 0.999)):
        for value in values_of(done, "truth", name, "isonn-subgraph", "atom AUROC").values():
            print(f"- {name}: atom AUROC {value:.4f} (bar {bar})")
    ours, linear = (
        values_of(done, "truth", "additive", "isonn-subgraph", f"tau {head}") for head in ("auto", "linear")
    )
    if ours:
        means = [np.mean(list(found.values())) for found in (ours, linear)]
        print(f"- additive (logP): Kendall tau of atoms {means[0]:.3f}, linear head {means[1]:.3f} (bar: within .02)\n")


def show_calibration(done: dict[Any, Any]) -> None:
    folds = [found for job, found in done.items() if job[0] == "calibration"]
    if folds:
        known, positive = (np.sum([found[name] for found in folds], axis=0) for name in ("known", "positive"))

        def loss(line: np.ndarray) -> float:
            p = expit(line[0] + line[1] * BINS).clip(1e-12, 1 - 1e-12)
            return -float(positive @ np.log(p) + (known - positive) @ np.log(1 - p))

        slope = minimize(loss, np.array([0.0, 1.0])).x[1]
        print(f"Tox21, {len(folds)} folds: calibration slope {slope:.2f} (bar .85 to 1.15)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("studies", nargs="*", help=f"of {', '.join(STUDIES)}; all by default")
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # unseen labels of rare atoms, repeats
    if given.what == "run":
        run(given.studies or list(STUDIES), given.seeds)
    else:
        show()
