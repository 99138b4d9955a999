"""Units and reasons on held-out graphs: do units add up, do first reasons and deletions agree, how many have names.

python benchmarks/units.py DATA [GRAPHS]
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

import isonn


def main(data: str, most: int = 300) -> None:
    """Fit to four fifths of a set and explain graphs of the rest."""
    graphs = isonn.load(data)
    order = np.random.default_rng(0).permutation(len(graphs))
    test, train = order[: len(graphs) // 5][:most], np.sort(order[len(graphs) // 5 :])
    estimator = isonn.SubgraphRegressor if graphs.y.dtype.kind == "f" else isonn.SubgraphClassifier
    model = estimator(random_state=0).fit(graphs[train])
    gaps, agrees, named, seconds = [], [], [], 0.0
    for i in test.tolist():
        start = time.process_time()
        e = model.explain(graphs[i])
        units = e.units
        seconds += time.process_time() - start
        rest = sum(part.contribution for part in e.absent + e.terms)
        gaps.append(abs(sum(unit.contribution for unit in units) + rest - (e.score - e.base)))
        named += [unit.name is not None for unit in units if unit.kind not in ("chain", "rest")]
        if e.reasons and e.reasons[0].agrees is not None:
            agrees.append(e.reasons[0].agrees)
    print(f"{graphs.name}: {len(test)} held-out graphs, largest gap {max(gaps):.1e}")
    print(f"first reason and its deletion agree in sign: {100 * np.mean(agrees):.1f} % of {len(agrees)}")
    print(f"units with a name, chains aside: {100 * np.mean(named):.1f} % of {len(named)}")
    print(f"explain with units: {1000 * seconds / len(test):.1f} ms of processor time")


if __name__ == "__main__":
    warnings.simplefilter("ignore", isonn.errors.IsoNNWarning)
    main(sys.argv[1], *map(int, sys.argv[2:]))
