"""Sums, logic, and both weighed: heads compared on the same pieces in the same folds. Needs ISONN_DATA.

    python benchmarks/heads.py --sets MUTAG,PTC_MR --seeds 0,1,2      # ten folds
    python benchmarks/heads.py --sets bbbp,esol --split murcko        # five folds
    python benchmarks/heads.py --sets caco2_wang,half_life_obach      # train to test, as published
    python benchmarks/heads.py --times ames                           # seconds of a fit, a prediction, an explanation

Pieces are learned from the training part alone. Of two classes AUROC is printed, or AUPRC where that is published; of
several the accuracy, of numbers the RMSE, or the published measure.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

import isonn
from isonn.heads import Head, Inputs, get_head, prefers_logarithm
from isonn.heads.data import row_digests
from isonn.targets import Classes, Numbers, Target

FOLDER = Path(os.environ.get("ISONN_DATA", "data"))
HEADS = ("linear", "trees", "auto")
#: Up to four nodes in graphs with many edges, up to six in molecules.
SMALL, LARGE = (1, 2, 3, 4), (1, 2, 3, 4, 5, 6)
TU = {"MUTAG": LARGE, "PTC_MR": LARGE, "PROTEINS": SMALL, "IMDB-MULTI": SMALL}
MOLECULES = ("ames", "bbbp", "bace", "esol", "freesolv")
TDC = {
    "AMES": "AUROC",
    "BBB_Martins": "AUROC",
    "Bioavailability_Ma": "AUROC",
    "CYP2D6_Substrate_CarbonMangels": "AUPRC",
    "caco2_wang": "MAE",
    "half_life_obach": "Spearman",
}


def pieces(train: isonn.GraphSet, test: isonn.GraphSet, k: tuple[int, ...]) -> tuple[Inputs, Inputs]:
    """Learn pieces from training graphs; return the inputs of both."""
    numbers = train.y.dtype.kind == "f"
    model = (isonn.SubgraphRegressor if numbers else isonn.SubgraphClassifier)(k=k, random_state=0).fit(train)
    both = []
    for graphs in (train, test):
        counts = csr_array(model.count(graphs))
        both.append(Inputs(csr_array(model.transform(graphs)), counts, row_digests(counts)))
    return both[0], both[1]


def measure(name: str, target: Target, y: np.ndarray, outputs: np.ndarray) -> float:
    answers = target.link(outputs)
    if name == "accuracy":
        return float(100 * np.mean(target.decide(answers) == y))
    if name in ("AUROC", "AUPRC"):
        return float((roc_auc_score if name == "AUROC" else average_precision_score)(y, answers[:, 1]))
    if name == "Spearman":
        return float(spearmanr(answers[:, 0], y)[0])
    error = np.abs(answers[:, 0] - y)
    return float(error.mean() if name == "MAE" else np.sqrt((error**2).mean()))


def parts(name: str, split: str, seed: int) -> Iterator[tuple[isonn.GraphSet, isonn.GraphSet, str]]:
    """Yield training graphs, test graphs and the measure."""
    if name in TDC:
        yield (
            *(isonn.load(FOLDER / "molecules" / "tdc" / f"{name}_{part}.csv") for part in ("train", "test")),
            TDC[name],
        )
        return
    graphs = isonn.load(name if name in TU else FOLDER / "molecules" / f"{name}.csv")
    numbers, folds = graphs.y.dtype.kind == "f", 10 if name in TU else 5
    if split == "murcko":
        from isonn.molecules import scaffolds

        groups = scaffolds(graphs)
        order = np.random.default_rng(seed).permutation(np.unique(groups)).tolist()
        place = {group: i for i, group in enumerate(order)}
        found = GroupKFold(folds).split(groups, groups=[place[group] for group in groups.tolist()])
    else:
        found = (KFold if numbers else StratifiedKFold)(folds, shuffle=True, random_state=seed).split(
            graphs.y, graphs.y
        )
    kind = "RMSE" if numbers else "accuracy" if name in TU else "AUROC"
    for train, test in found:
        yield graphs[train], graphs[test], kind


def compare(name: str, split: str, seed: int) -> None:
    scores: dict[str, list[float]] = {head: [] for head in HEADS}
    kind, shares, spent = "", [], 0.0
    for train, test, kind in parts(name, split, seed):
        inputs, others = pieces(train, test, TU.get(name, LARGE))
        numbers = train.y.dtype.kind == "f"
        logs = numbers and bool(prefers_logarithm(inputs, train.y)[0])
        y, truth = (np.log(train.y), np.log(test.y)) if logs else (train.y, test.y)
        target: Target = Numbers.fit(y) if numbers else Classes.fit(y)
        start = time.process_time()
        both: Any = get_head("auto")().fit(inputs, target.encode(y), target, seed=seed)
        spent += time.process_time() - start
        shares.append(both.weights[0]["linear"])
        heads: dict[str, Head] = {"linear": both.linear, "trees": both.trees, "auto": both}
        for head, fitted in heads.items():
            scores[head].append(measure(kind, target, truth, fitted.outputs(others)))
    cells = "  ".join(f"{head} {np.mean(values):.4f}" for head, values in scores.items())
    print(
        f"{name:30} {split:7} seed {seed} {kind:9} {cells}  linear's share {np.mean(shares):.2f}"
        f" ({min(shares):.2f} to {max(shares):.2f}), {spent:.0f} s of CPU",
        flush=True,
    )


def times(name: str) -> None:
    graphs = isonn.load(FOLDER / "molecules" / f"{name}.csv")
    inputs, _ = pieces(graphs, graphs[:1], LARGE)
    target = Numbers.fit(graphs.y) if graphs.y.dtype.kind == "f" else Classes.fit(graphs.y)
    for head in HEADS:
        start, busy = time.perf_counter(), time.process_time()
        fitted = get_head(head)().fit(inputs, target.encode(graphs.y), target)
        print(f"{head}: fit {time.perf_counter() - start:.1f} s, {time.process_time() - busy:.1f} s of CPU")
        single = [inputs.rows(np.array([i])) for i in range(200)]
        fitted.contributions(single[0], 0)
        fitted.outputs(single[0])
        start = time.perf_counter()
        for one in single:
            fitted.contributions(one, 0)
        print(f"  one explanation {(time.perf_counter() - start) / 200 * 1000:.2f} ms")
        start = time.perf_counter()
        fitted.outputs(inputs)
        print(f"  {len(inputs) / (time.perf_counter() - start):,.0f} predictions a second", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join([*TU, *MOLECULES, *TDC]))
    parser.add_argument("--split", choices=["random", "murcko"], default="random")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--times", metavar="SET")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # unseen labels of rare atoms
    if given.times:
        times(given.times)
    else:
        for one_set in given.sets.split(","):
            for one_seed in map(int, given.seeds.split(",")):
                compare(one_set, given.split, one_seed)
