"""Intervals, sets and domains on held-out molecules: coverage, width, and whether the distance finds errors.

    python benchmarks/trust.py run --sets esol,freesolv --split random      # continues where it stopped
    python benchmarks/trust.py show                                         # the finished jobs, as Markdown
    python benchmarks/trust.py times --sets ames                            # cost of a fit and of predictions
    python benchmarks/trust.py noise                                        # intervals of tables where there is nothing

Needs ISONN_DATA/molecules. Every job (a set, a split, a fold) is a line of benchmarks/trust.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from rdkit.Chem import rdFingerprintGenerator
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

import isonn
from isonn.experiments.statistics import corrected_interval
from isonn.molecules import scaffolds, to_mol
from isonn.subgraphs.trust import Trust

DATA = Path(os.environ.get("ISONN_DATA", "data")) / "molecules"
STORE = Path(__file__).with_suffix(".jsonl")
COVERAGES = (0.8, 0.9, 0.95)
TOX21 = ("NR-AhR", "SR-MMP", "NR-ER-LBD")
SETS = ("esol", "freesolv", "bbbp", "bace", "ames", "tox21")
FOLDS = 5


def load(name: str) -> tuple[isonn.GraphSet, np.ndarray]:
    options = {"smiles": "smiles", "target": list(TOX21)} if name == "tox21" else {}
    graphs = isonn.load(DATA / f"{name}.csv", **options)
    known = np.isfinite(graphs.y).any(axis=1) if graphs.y.ndim == 2 else np.ones(len(graphs), dtype=bool)
    return graphs[known], graphs.y[known]


def folds(y: np.ndarray, groups: np.ndarray, split: str) -> list[tuple[np.ndarray, np.ndarray]]:
    if split == "murcko":
        names = np.random.default_rng(0).permutation(np.unique(groups)).tolist()
        order = {name: place for place, name in enumerate(names)}
        return list(GroupKFold(FOLDS).split(groups, groups=[order[name] for name in groups.tolist()]))
    if y.ndim == 1 and y.dtype.kind != "f":
        return list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(y, y))
    return list(KFold(FOLDS, shuffle=True, random_state=0).split(y))


def estimator(y: np.ndarray) -> Any:
    numbers = y.ndim == 1 and y.dtype.kind == "f"
    return (isonn.SubgraphRegressor if numbers else isonn.SubgraphClassifier)(random_state=0)


def covered(model: Any, graphs: isonn.GraphSet, y: np.ndarray, coverage: float) -> dict[str, Any]:
    """Return hits and graphs of each class (one for numbers), and the width of intervals or the size of sets."""
    if model.target_.numeric:
        low, high = model.predict_interval(graphs, coverage).T
        return {"hits": [[int(((low <= y) & (y <= high)).sum()), len(y)]], "width": float((high - low).mean())}
    sets = model.predict_set(graphs, coverage)
    if y.ndim == 1:
        hits = [[int(sets[y == c, i].sum()), int((y == c).sum())] for i, c in enumerate(model.classes_.tolist())]
    else:
        hits = [[int(sets[y[:, j] == c, j, c].sum()), int((y[:, j] == c).sum())] for j in range(3) for c in (0, 1)]
    return {"hits": hits, "width": float(sets.sum(axis=-1).mean())}


def split_width(graphs: isonn.GraphSet, y: np.ndarray, groups: np.ndarray | None, test: isonn.GraphSet) -> list[float]:
    """Return the widths of plain split-conformal intervals: half of the data for the model, half for the quantile."""
    order = np.random.default_rng(0).permutation(len(y))
    if groups is not None:
        order = np.argsort(np.random.default_rng(0).random(len(y))[np.unique(groups, return_inverse=True)[1]])
    half, rest = order[: len(y) // 2], order[len(y) // 2 :]
    model = estimator(y).fit(graphs[half], y[half], groups=None if groups is None else groups[half])
    errors = np.sort(np.abs(model.predict(graphs[rest]) - y[rest]))
    places = [int(np.ceil((len(errors) + 1) * coverage)) - 1 for coverage in COVERAGES]
    return [2 * float(errors[place]) for place in places]


def errors_of(model: Any, graphs: isonn.GraphSet, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the error of each graph, and whether it is large: in the top quarter, or a wrong class."""
    if model.target_.numeric:
        error = np.abs(model.predict(graphs) - y)
        return error, error > np.quantile(error, 0.75)
    truth = np.searchsorted(model.classes_, y)
    error = 1 - model.predict_proba(graphs)[np.arange(len(y)), truth]
    return error, error > 0.5


def tanimoto(graphs: isonn.GraphSet, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return the distance to the nearest training molecule by ECFP4."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    bits = np.stack([generator.GetFingerprintAsNumPy(to_mol(graph)) for graph in graphs]).astype(np.float32)
    both = bits[test] @ bits[train].T
    return 1 - (both / np.maximum(bits[test].sum(1)[:, None] + bits[train].sum(1) - both, 1)).max(axis=1)


def measure(name: str, split: str, fold: int) -> dict[str, Any]:
    graphs, y = load(name)
    groups = scaffolds(graphs)
    train, test = folds(y, groups, split)[fold]
    given = groups[train] if split == "murcko" else None
    model = estimator(y).fit(graphs[train], y[train], groups=given)
    new, truth = graphs[test], y[test]
    job = {"set": name, "split": split, "fold": fold}
    job["coverage"] = [covered(model, new, truth, coverage) for coverage in COVERAGES]
    if model.target_.numeric:
        job["split_width"] = split_width(graphs[train], y[train], given, new)
    if y.ndim == 1:
        domain, (error, large) = model.domain(new), errors_of(model, new, truth)
        job["auroc"] = float(roc_auc_score(large, domain.distance))
        job["tanimoto"] = float(roc_auc_score(large, tanimoto(graphs, train, test)))
        job["errors"] = {v: error[domain.verdict == v].round(4).tolist() for v in ("in", "borderline", "out")}
    return job


def run(sets: list[str], split: str, first: list[int]) -> None:
    done = stored()
    for name in sets:
        for fold in first:
            if not any((job["set"], job["split"], job["fold"]) == (name, split, fold) for job in done):
                job = measure(name, split, fold)
                with STORE.open("a") as file:
                    file.write(json.dumps(job) + "\n")
                print(name, split, fold, flush=True)


def stored() -> list[dict[str, Any]]:
    return [json.loads(line) for line in STORE.read_text().splitlines()] if STORE.exists() else []


def show() -> None:
    jobs = stored()
    print("| set | split | folds | graphs | 80 % | 90 % | 95 % | width at 90 % | plain split |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in SETS:
        for split in ("random", "murcko"):
            some = [job for job in jobs if (job["set"], job["split"]) == (name, split)]
            for cell in range(len(some[0]["coverage"][0]["hits"]) if some else 0):
                sums = [np.sum([job["coverage"][c]["hits"][cell] for job in some], axis=0) for c in range(3)]
                width = np.mean([job["coverage"][1]["width"] for job in some])
                plain = np.mean([job["split_width"][1] for job in some]) if "split_width" in some[0] else None
                label = cell_name(name, cell)
                shares = " | ".join(f"{100 * hit / n:.1f}" for hit, n in sums)
                numbers = f"{width:.2f} | {'' if plain is None else f'{plain:.2f}'}" if plain is not None else " | "
                print(f"| {label} | {split} | {len(some)} | {sums[0][1]:,} | {shares} | {numbers} |")
    print("\n| set | split | distance | ECFP4 Tanimoto | median error in / borderline / out |\n|---|---|---|---|---|")
    for name in SETS:
        for split in ("random", "murcko"):
            some = [job for job in jobs if (job["set"], job["split"]) == (name, split) and "auroc" in job]
            if some:
                verdicts = ("in", "borderline", "out")
                medians = [np.median(np.concatenate([job["errors"][v] for job in some])) for v in verdicts]
                both = " | ".join(f"{np.mean([job[k] for job in some]):.3f}" for k in ("auroc", "tanimoto"))
                print(f"| {name} | {split} | {both} | {' / '.join(f'{m:.2f}' for m in medians)} |")


def cell_name(name: str, cell: int) -> str:
    if name == "tox21":
        return f"{TOX21[cell // 2]} {'positive' if cell % 2 else 'negative'}"
    return name if name in ("esol", "freesolv") else f"{name} class {cell}"


def times(sets: list[str]) -> None:
    """Print processor seconds of a fit with and without what is learned for trust, and predictions per second."""
    for name in sets:
        graphs, y = load(name)
        model = estimator(y)
        start = time.process_time()
        model.fit(graphs, y)
        with_trust = time.process_time() - start
        plain = estimator(y)
        with mock.patch.object(Trust, "learn", return_value=None):  # leaves out what intervals and domains need
            start = time.process_time()
            plain.fit(graphs, y)
            without = time.process_time() - start
        model = estimator(y).set_params(keep_examples=True).fit(graphs, y)
        many = graphs[np.tile(np.arange(len(graphs)), -(-10_000 // len(graphs)))[:10_000]]
        start = time.process_time()
        model.assess(many).domain.neighbours  # noqa: B018
        every = time.process_time() - start
        start = time.process_time()
        model.predict(many)
        alone = time.process_time() - start
        print(
            f"{name}: fit {with_trust:.1f} s, without trust {without:.1f} s, ratio {with_trust / without:.2f}; "
            f"{10_000 / every:,.0f} predictions a second with interval, domain and neighbours, "
            f"{10_000 / alone:,.0f} alone"
        )


def noise(studies: int = 2000, graphs: int = 100) -> None:
    """Print how often the interval column of tables holds 0.5 where classes are noise, for 1, 3, 5 and 10 seeds."""
    for folds in (5, 10):
        draw, hits = np.random.default_rng(0), dict.fromkeys((1, 3, 5, 10), 0)
        for _ in range(studies):
            features, y = draw.normal(size=(graphs, 10)), draw.permutation(np.arange(graphs) % 2) * 2.0 - 1
            halves = [np.flatnonzero(y == value) for value in (-1, 1)]
            order = [np.concatenate([draw.permutation(half) for half in halves]) for _ in range(10)]
            tests = np.concatenate([row.reshape(-1, folds).T for row in order])  # stratified, (seeds * folds, tested)
            rows = features[tests]
            squares = features.T @ features + np.eye(10) - np.einsum("fti,ftj->fij", rows, rows)
            products = features.T @ y - np.einsum("fti,ft->fi", rows, y[tests])
            weights = np.linalg.solve(squares, products[:, :, None])
            accuracy = (np.sign(rows @ weights)[:, :, 0] == y[tests]).mean(axis=1).tolist()
            for seeds in hits:
                low, high = corrected_interval(accuracy[: seeds * folds], 1 / (folds - 1)) or (0.0, 1.0)
                hits[seeds] += low <= 0.5 <= high
        shares = ", ".join(f"{seeds}: {hit / studies:.3f}" for seeds, hit in hits.items())
        print(f"{folds} folds, coverage by seeds: {shares}")


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "show", "times", "noise"])
    parser.add_argument("--sets", default="esol,freesolv")
    parser.add_argument("--split", default="random", choices=["random", "murcko"])
    parser.add_argument("--folds", default="0,1,2,3,4")
    given = parser.parse_args()
    if given.what == "run":
        run(given.sets.split(","), given.split, [int(fold) for fold in given.folds.split(",")])
    elif given.what == "show":
        show()
    elif given.what == "noise":
        noise()
    else:
        times(given.sets.split(","))


if __name__ == "__main__":
    main()
