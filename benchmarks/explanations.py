"""Edge importance compared with planted truth: AUROC, fidelity and time of every explainer, in one run.

Graphs are random trees, half with a motif. Models learn from two thirds, and every test graph with the motif is
explained. "absolute" is the AUROC of the importance without its sign, "fit" trains the classifier and "prepare" the
explainer. Run `python benchmarks/explanations.py --motif cycle --seeds 5` on an otherwise idle machine.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np
import torch
from explainers import explainers, seconds
from rich.console import Console
from rich.table import Table

from isonn.explain import edge_auroc, faithfulness
from isonn.graphs.splits import stratified_folds
from isonn.graphs.synthetic import MOTIFS, Planted, planted_motifs

COLUMNS = ("accuracy", "auroc", "absolute", "fidelity+", "fidelity-", "sparsity", "fit s", "prepare s", "ms a graph")

SPREAD = ("accuracy", "auroc", "absolute")


def measure(explainer, planted: Planted, train: np.ndarray, test: np.ndarray, keep: float) -> dict[str, float]:
    """Measure one explainer on one split."""
    graphs = planted.graphs
    with_motif = test[graphs.y[test] == 1]
    fit = 0.0 if explainer.model is None else explainer.model.fit(graphs[train])
    prepare, _ = seconds(lambda: explainer.prepare(graphs[train]))
    explain, found = seconds(lambda: [explainer.importance(graphs[int(i)]) for i in with_motif])
    result = {
        "auroc": auroc(planted, with_motif, found),
        "absolute": auroc(planted, with_motif, [np.abs(one) for one in found]),
        "fit s": fit,
        "prepare s": prepare,
        "ms a graph": 1e3 * explain / len(with_motif),
    }
    if explainer.model is not None:
        classifier = explainer.model.classifier
        faith = faithfulness(classifier, graphs[with_motif], found, keep)
        result["accuracy"] = classifier.score(graphs[test], graphs.y[test])
        result |= {"fidelity+": faith.fidelity_plus, "fidelity-": faith.fidelity_minus, "sparsity": faith.sparsity}
    return result


def auroc(planted: Planted, chosen: np.ndarray, importances: list[np.ndarray]) -> float:
    """Return the mean AUROC over the graphs."""
    pairs = zip(chosen.tolist(), importances, strict=True)
    return float(np.mean([edge_auroc(planted.graphs[i], one, planted.edge_truth(i)) for i, one in pairs]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--motif", default="house", choices=sorted(MOTIFS))
    parser.add_argument("--control", default=None, choices=sorted(MOTIFS), help="in the other class; default: nothing")
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--keep", type=float, default=0.3, help="share of edges that fidelity takes as important")
    given = parser.parse_args()
    torch.set_num_threads(1)
    results: dict[str, list[dict[str, float]]] = defaultdict(list)
    for seed in range(given.seeds):
        planted = planted_motifs(given.graphs, given.motif, given.control, seed=seed)
        train, test = stratified_folds(planted.graphs.y, n_folds=3, seed=seed)[0]
        for name, explainer in explainers(seed).items():
            results[name].append(measure(explainer, planted, train, test, given.keep))
    title = f"{given.motif} against {given.control or 'trees'}, {given.graphs} graphs, {given.seeds} seeds: mean ± sd"
    table = Table("explainer", *COLUMNS, title=title, title_justify="left", box=None)
    for name, runs in results.items():
        cells = []
        for column in COLUMNS:
            values = [run[column] for run in runs if column in run]
            spread = f" ± {np.std(values):.2g}" if values and column in SPREAD else ""
            cells.append(f"{np.mean(values):.3g}{spread}" if values else "")
        table.add_row(name, *cells)
    Console(width=170).print(table)


if __name__ == "__main__":
    main()
