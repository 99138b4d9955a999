"""What was tried for networks that do not learn: `python benchmarks/scaling.py HIV-DTI cnn,sdbn [SEEDS]`, a table.

Every trial changes one thing of the paper's table: the learning rate, or the scale of the weights. HIV-DTI is divided
by its largest weight on load. That weight lies on the diagonal (fibres within a region) and is ten times the strongest
connection, so that the median connection is 8e-5 and networks hardly see it.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import replace

import numpy as np

import isonn
from isonn.experiments.jobs import plan, run_job
from isonn.experiments.spec import load_spec


def trials(name: str) -> dict[str, tuple[isonn.GraphSet, dict[str, float]]]:
    """Return the graphs and the changed settings of each trial."""
    graphs = isonn.load(name)
    size = int(graphs.sizes.max())
    weights = np.array(graphs.dense(size), dtype=np.float64)
    links = weights * (1 - np.eye(size))
    scaled = {"unit variance": weights / weights.std()}
    if name == "HIV-DTI":
        counts = links * 1e6  # up to a factor per graph
        for label, values in {"without": counts, "logarithms, without": np.log1p(counts)}.items():
            scaled[f"{label} the diagonal"] = values / values.max(axis=(1, 2), keepdims=True)
    return {
        "as in the table": (graphs, {}),
        **{f"learning rate {rate:g}": (graphs, {"learning_rate": rate}) for rate in (1e-4, 1e-2)},
        **{label: (_with_weights(graphs, matrices), {}) for label, matrices in scaled.items()},
    }


def _with_weights(graphs: isonn.GraphSet, matrices: np.ndarray) -> isonn.GraphSet:
    return replace(isonn.as_graphset(matrices.astype(np.float32), graphs.y), name=graphs.name)


def row(method: str, trial: str, graphs: isonn.GraphSet, settings: dict, seeds: int) -> str:
    """Run the paper's protocol; return a row of the table."""
    results = [run_job(job, graphs) for job in plan(graphs, [method], {method: settings}, "paper", seeds)]
    accuracy = [100 * r["metrics"]["accuracy"] for r in results]
    by_seed = [statistics.fmean(accuracy[i : i + 3]) for i in range(0, len(accuracy), 3)]
    one = sum(len(set(r["predictions"])) == 1 for r in results)
    losses = [r["loss"] for r in results if r.get("loss")]
    loss = f"{statistics.median(x[-1] for x in losses):.3f}" if losses else "-"
    epochs = f"{statistics.median(map(len, losses)):.0f}" if losses else "-"
    spread = f" ± {statistics.stdev(by_seed):.1f}" if seeds > 1 else ""
    mean = f"{statistics.fmean(by_seed):.1f}{spread}"
    return f"| {method} | {trial} | {mean} | {one} of {len(results)} | {loss} | {epochs} |"


def main() -> None:
    """Print a row per method and trial."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", help="HIV-DTI, HIV-fMRI or another set of the table")
    parser.add_argument("methods", help="names of methods, with commas")
    parser.add_argument("seeds", nargs="?", type=int, default=1)
    parser.add_argument("trials", nargs="?", default="", help="only trials whose name contains this text")
    asked = parser.parse_args()
    spec = load_spec("table")
    print("| method | tried | accuracy | one class | loss | epochs |\n|---|---|---:|---:|---:|---:|")
    for method in asked.methods.split(","):
        for trial, (graphs, changes) in trials(asked.dataset).items():
            if asked.trials in trial:
                settings = {**spec.settings_for(asked.dataset, method), **changes}
                print(row(method, trial, graphs, settings, asked.seeds), flush=True)


if __name__ == "__main__":
    main()
