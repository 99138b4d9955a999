"""How well sets of regions find what differs between two groups of connectomes.

    python benchmarks/aligned.py planted           a sub-network, scattered connections, or nothing, planted in noise
    python benchmarks/aligned.py series            time series: correlation or tangent, then an SVM or sets of regions
    python benchmarks/aligned.py real              HIV-fMRI, HIV-DTI, KKI, OHSU, Peking_1 under the fair protocol
    python benchmarks/aligned.py permutations      the same with shuffled classes, 200 times, for a p-value
    python benchmarks/aligned.py table             the tables, in docs/results/aligned/results.md

Every line of docs/results/aligned/*.jsonl is one seed of one method; finished lines are not run again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from nilearn.connectome import ConnectivityMeasure
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator
from sklearn.linear_model import RidgeClassifierCV
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import isonn
from isonn.aligned.encoder import Encoder
from isonn.aligned.select import PartialT
from isonn.baselines import LinearEdgesClassifier, MajorityClassifier
from isonn.connectomes import Connectivity, planted_connectomes, planted_series
from isonn.experiments.protocols import find_protocol
from isonn.experiments.statistics import corrected_interval, corrected_t_test
from isonn.seeding import numpy_stream

FOLDER = Path(__file__).parents[1] / "docs" / "results" / "aligned"
SETS = ("HIV-fMRI", "HIV-DTI", "KKI", "OHSU", "Peking_1")
PENALTIES = 10.0 ** np.arange(-2, 7)
SEEDS, PERMUTATIONS = 10, 200
#: NBS joins connections with a t statistic above this into components.
NBS_THRESHOLD = 3.0


class OnConnections(BaseEstimator):
    """A linear model on the connections chosen by ``select``, aligned and scaled as in isonn-aligned."""

    def __init__(self, model: Any, select: Any = None) -> None:
        self.model, self.select = model, select

    def fit(self, graphs: isonn.GraphSet) -> OnConnections:
        self.encoder, cells = Encoder.learn(graphs, "auto", np.ones(len(graphs), dtype=bool), None, ())
        self.kept = np.arange(cells.shape[1])
        if self.select is not None:
            target = np.where(graphs.y == graphs.classes[1], 1.0, -1.0)
            t = PartialT(cells, target, np.ones_like(target))()[0]
            self.kept = self.select(t, self.encoder.layout.pairs, self.encoder.layout.n)
        self.model.fit(cells[:, self.kept], graphs.y == graphs.classes[1])
        return self

    def scores(self, graphs: isonn.GraphSet) -> np.ndarray:
        cells = self.encoder.cells(graphs)
        return np.asarray(self.model.decision_function(cells[:, self.kept]))


def strongest(m: int) -> Any:
    return lambda t, pairs, n: np.argsort(-np.abs(t), kind="stable")[:m]


def largest_component(t: np.ndarray, pairs: np.ndarray, n: int) -> np.ndarray:
    """Return the connections of the largest connected component above the threshold (network-based statistic)."""
    for threshold in (NBS_THRESHOLD, 2.5, 2.0, 1.5, 0.0):
        beyond = np.flatnonzero(np.abs(t) > threshold)
        if len(beyond):
            table = np.zeros((n, n))
            table[pairs[beyond, 0], pairs[beyond, 1]] = 1
            piece = connected_components(table, directed=False)[1][pairs[beyond, 0]]
            return beyond[piece == np.bincount(piece).argmax()]
    return np.arange(1)


METHODS = {
    "isonn-aligned": lambda n: isonn.AlignedClassifier(random_state=0),
    "edges": lambda n: LinearEdgesClassifier(size=n),
    "svm on edges": lambda n: OnConnections(LinearSVC(C=1e-3, dual=True, max_iter=10_000)),
    "ridge on edges, penalty chosen": lambda n: OnConnections(RidgeClassifierCV(PENALTIES)),
    "NBS edges + ridge": lambda n: OnConnections(RidgeClassifierCV(PENALTIES), largest_component),
    "majority": lambda n: MajorityClassifier(),
}
SCREENS = {
    f"{m} best edges": lambda n, m=m: OnConnections(RidgeClassifierCV(PENALTIES), strongest(m)) for m in (3, 6, 12)
}


def scores_of(model: Any, graphs: isonn.GraphSet) -> np.ndarray:
    """Return scores that are above 0 if the larger class is predicted."""
    if isinstance(model, OnConnections):
        return model.scores(graphs)
    p = np.clip(model.predict_proba(graphs)[:, 1], 1e-12, 1 - 1e-12)
    return np.where(model.predict(graphs) == model.classes_[1], 1e-9, -1e-9) + np.log(p / (1 - p))


def held_out(graphs: isonn.GraphSet, folds: list[Any], method: str, build: Any) -> np.ndarray:
    scores = np.full(len(graphs), np.nan)
    for train, test in folds:
        scores[test] = scores_of(build(int(graphs.sizes.max())).fit(graphs[train]), graphs[test])
    return scores


class Results:
    """Lines of JSON, one per finished result."""

    def __init__(self, name: str) -> None:
        self.path = FOLDER / f"{name}.jsonl"
        FOLDER.mkdir(parents=True, exist_ok=True)
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.lines = [json.loads(line) for line in lines]

    def has(self, **key: Any) -> bool:
        return any(all(line[name] == value for name, value in key.items()) for line in self.lines)

    def add(self, **line: Any) -> None:
        self.lines.append(line)
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print({name: value for name, value in line.items() if not isinstance(value, list)}, flush=True)


def run_planted() -> None:
    results, upper = Results("planted"), np.triu_indices(90, 1)
    for planted in ("subnetwork", "scattered", "none"):
        for seed in range(SEEDS):
            study = planted_connectomes(planted=planted, seed=seed)
            graphs, truth = study.graphs, study.truth[upper]
            folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(graphs.y, graphs.y))
            for method, build in {**METHODS, **SCREENS}.items():
                if results.has(planted=planted, seed=seed, method=method):
                    continue
                right, found, first, start = 0, [], 0, time.perf_counter()
                for train, test in folds:
                    model = build(90).fit(graphs[train])
                    right += int(((scores_of(model, graphs[test]) > 0) == (graphs.y[test] == "patient")).sum())
                    if method == "isonn-aligned" and truth.any():
                        found.append(float(roc_auc_score(truth, np.abs(model.connections_[0])[upper])))
                        names = set(study.graphs.node_names[study.regions])
                        first += bool(model.model_.sets) and set(model.templates_[0].texts) == names
                line = {"accuracy": 100 * right / len(graphs), "auroc": float(np.mean(found)) if found else None}
                seconds = (time.perf_counter() - start) / len(folds)
                results.add(planted=planted, seed=seed, method=method, **line, first=first, seconds=round(seconds, 3))


def run_series() -> None:
    results = Results("series")
    for seed in range(SEEDS):
        series, y, _ = planted_series(seed=seed)
        folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(y, y))
        for kind in ("correlation", "tangent"):
            vectors = ConnectivityMeasure(kind=kind, vectorize=True, discard_diagonal=True)
            rows = {
                f"{kind} + SVM": make_pipeline(vectors, StandardScaler(), LinearSVC(C=1e-3, dual=True)),
                f"{kind} + isonn-aligned": make_pipeline(Connectivity(kind), isonn.AlignedClassifier(random_state=0)),
            }
            for method, model in rows.items():
                if not results.has(seed=seed, method=method):
                    accuracy = 100 * float(cross_val_score(model, series, y, cv=folds).mean())
                    results.add(seed=seed, method=method, accuracy=accuracy)


def run_real() -> None:
    results = Results("real")
    for name in SETS:
        graphs = isonn.load(name)
        for seed in range(SEEDS):
            folds = find_protocol("fair").split(graphs, seed)
            fold = np.zeros(len(graphs), dtype=int)
            for number, (_, test) in enumerate(folds):
                fold[test] = number
            for method, build in METHODS.items():
                if not results.has(data=name, seed=seed, method=method):
                    scores = held_out(graphs, folds, method, build)
                    rounded = [float(f"{score:.4g}") for score in scores]
                    results.add(data=name, seed=seed, method=method, folds=fold.tolist(), scores=rounded)


def run_permutations(methods: list[str], sets: list[str]) -> None:
    results = Results("permutations")
    for name in sets:
        graphs = isonn.load(name)
        for method in methods:
            for number in range(PERMUTATIONS + 1):  # number 0 is the true classes
                if results.has(data=name, method=method, number=number):
                    continue
                y = np.array(graphs.y)
                y = y if number == 0 else numpy_stream(number, "permutation").permutation(y)
                shuffled = graphs.with_y(y)
                scores = held_out(shuffled, find_protocol("fair").split(shuffled, 0), method, METHODS[method])
                truth = y == graphs.classes[1]
                accuracy = 100 * float(((scores > 0) == truth).mean())
                auroc = float(roc_auc_score(truth, scores))
                results.add(data=name, method=method, number=number, accuracy=round(accuracy, 3), auroc=round(auroc, 4))


def write_table() -> None:
    lines = ["# Aligned graphs: planted effects, and five sets of brains", ""]
    lines += [*planted_table(), "", *series_table(), "", *real_table()]
    (FOLDER / "results.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def planted_table() -> Iterator[str]:
    found = Results("planted").lines
    yield "60 subjects, 90 regions, noise of deviation 0.25, six connections stronger by 0.3 in patients; five folds,"
    yield f"{SEEDS} seeds. Accuracy in % (95 % interval over seeds)."
    yield ""
    yield "| method | four regions, all connected | six scattered connections | nothing |"
    yield "|---|---|---|---|"
    for method in {**METHODS, **SCREENS}:
        cells = []
        for planted in ("subnetwork", "scattered", "none"):
            values = [line["accuracy"] for line in found if (line["planted"], line["method"]) == (planted, method)]
            cells.append(with_interval(values))
        yield f"| {method} | {' | '.join(cells)} |"
    yield ""
    for planted, what in (("subnetwork", "the four regions"), ("scattered", "the six connections")):
        ours = [line for line in found if (line["planted"], line["method"]) == (planted, "isonn-aligned")]
        auroc = np.mean([line["auroc"] for line in ours])
        yield f"AUROC of `connections_` for {what}: {auroc:.3f}."
    first = sum(line["first"] for line in found if line["planted"] == "subnetwork")
    yield f"The first template was exactly the four planted regions in {first} of {5 * SEEDS} fits."


def series_table() -> Iterator[str]:
    found = Results("series").lines
    yield "Time series: 60 subjects, 60 regions, 150 points; four regions of patients share a signal of deviation 0.5"
    yield f"in noise of 1; five folds, {SEEDS} seeds. The connectivity is learned inside the folds."
    yield ""
    yield "| method | accuracy |"
    yield "|---|---|"
    for method in dict.fromkeys(line["method"] for line in found):
        yield f"| {method} | {with_interval([line['accuracy'] for line in found if line['method'] == method])} |"


def real_table() -> Iterator[str]:
    found, shuffled = Results("real").lines, Results("permutations").lines
    yield "Fair protocol (all graphs, ten folds, twins in one fold), ten seeds. Accuracy and balanced accuracy in %"
    yield "with the 95 % interval over seeds; difference to `edges` in the same folds with the p of the corrected"
    yield "resampled t-test; p of permutation: share of 200 shuffles of the classes (seed 0) with an accuracy as high."
    yield ""
    yield "| data | method | accuracy | balanced accuracy | AUROC | difference to edges | p | p of permutation |"
    yield "|---|---|---|---|---|---|---|---|"
    for name in SETS:
        graphs = isonn.load(name)
        truth = graphs.y == graphs.classes[1]
        edges = {line["seed"]: line for line in found if (line["data"], line["method"]) == (name, "edges")}
        for method in METHODS:
            ours = [line for line in found if (line["data"], line["method"]) == (name, method)]
            if not ours:
                continue
            right = {line["seed"]: (np.array(line["scores"]) > 0) == truth for line in ours}
            balanced = [100 * balanced_accuracy_score(truth, np.array(line["scores"]) > 0) for line in ours]
            auroc = [roc_auc_score(truth, line["scores"]) for line in ours]
            differences = []
            for line in ours:
                rival = edges.get(line["seed"])
                if rival is None or method == "edges":
                    continue
                gap = right[line["seed"]].astype(float) - ((np.array(rival["scores"]) > 0) == truth)
                differences += [100 * gap[np.array(line["folds"]) == fold].mean() for fold in set(line["folds"])]
            p = corrected_t_test(differences, 1 / 9) if differences else None
            yield (
                f"| {name} | {method} | {with_interval([100 * r.mean() for r in right.values()])} | "
                f"{with_interval(balanced)} | {np.mean(auroc):.3f} | "
                f"{f'{np.mean(differences):+.1f}' if differences else ''} | {f'{p:.2f}' if p is not None else ''} | "
                f"{permutation_p(shuffled, name, method)} |"
            )


def permutation_p(lines: list[dict[str, Any]], name: str, method: str) -> str:
    own = {line["number"]: line["accuracy"] for line in lines if (line["data"], line["method"]) == (name, method)}
    if 0 not in own or len(own) < 50:
        return ""
    null = np.array([value for number, value in own.items() if number])
    p = (1 + (null >= own[0]).sum()) / (1 + len(null))
    return f"{p:.3f}" + ("" if len(null) == PERMUTATIONS else f" ({len(null)})")


def with_interval(values: list[float]) -> str:
    if not values:
        return ""
    found = corrected_interval(values, 0.0)
    return f"{np.mean(values):.1f}" + ("" if found is None else f" ({found[0]:.1f} to {found[1]:.1f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["planted", "series", "real", "permutations", "table"])
    parser.add_argument("--methods", default="edges,isonn-aligned", help="methods of the permutation test")
    parser.add_argument("--sets", default=",".join(SETS), help="datasets of the permutation test")
    options = parser.parse_args()
    if options.what == "planted":
        run_planted()
    elif options.what == "series":
        run_series()
    elif options.what == "real":
        run_real()
    elif options.what == "permutations":
        run_permutations(options.methods.split(","), options.sets.split(","))
    write_table()


if __name__ == "__main__":
    main()
