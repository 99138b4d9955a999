"""Networks that do not learn HIV-DTI: `python benchmarks/scaling.py METHOD[,METHOD] [SEEDS]`, a table for docs/results.

`python benchmarks/scaling.py rates METHOD[,METHOD] [SEEDS]` tries other learning rates instead of other scalings.

The set is divided by its largest weight on load. That weight lies on the diagonal (fibres within a region) and is ten
times the strongest connection, so that the median connection is 8e-5 and networks hardly see it. Here the diagonal is
left out, and counts are divided by the strongest connection or replaced by their logarithms.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import replace

import numpy as np

import isonn
from isonn.experiments.jobs import plan, run_job
from isonn.experiments.spec import load_spec


def scalings() -> dict[str, isonn.GraphSet]:
    """Return the set as it is loaded, without its diagonal, and with logarithms."""
    graphs = isonn.load("HIV-DTI")
    raw = np.array(graphs.dense(90), dtype=np.float64) * 1e6  # counts up to a factor per graph
    raw[:, np.arange(90), np.arange(90)] = 0
    found = {"as loaded": graphs}
    for name, matrices in (("without the diagonal", raw), ("logarithms, without the diagonal", np.log1p(raw))):
        matrices = matrices / matrices.max(axis=(1, 2), keepdims=True)
        found[name] = replace(isonn.as_graphset(matrices.astype(np.float32), graphs.y), name="HIV-DTI")
    return found


def rates() -> dict[str, float]:
    """Return learning rates by name."""
    return {f"learning rate {rate:g}": rate for rate in (1e-4, 1e-3, 1e-2)}


def row(method: str, name: str, graphs: isonn.GraphSet, settings: dict, seeds: int) -> str:
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
    return f"| {method} | {name} | {mean} | {one} of {len(results)} | {loss} | {epochs} |"


def main() -> None:
    """Print a row per method and scaling, or per method and learning rate."""
    of_rates, *arguments = sys.argv[1] == "rates", *sys.argv[1 + (sys.argv[1] == "rates") :]
    seeds = int(arguments[1]) if len(arguments) > 1 else 3
    spec, sets = load_spec("table"), scalings()
    print("| method | tried | accuracy | one class | loss | epochs |\n|---|---|---:|---:|---:|---:|")
    for method in arguments[0].split(","):
        settings = spec.settings_for("HIV-DTI", method)
        if of_rates:
            for name, rate in rates().items():
                print(row(method, name, sets["as loaded"], {**settings, "learning_rate": rate}, seeds), flush=True)
        else:
            for name, graphs in sets.items():
                print(row(method, name, graphs, settings, seeds), flush=True)


if __name__ == "__main__":
    main()
