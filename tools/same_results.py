"""Show that a refactoring changed no result: store predictions, importances and texts, and compare two such files.

    python tools/same_results.py write OUT.npz        with ISONN_DATA set; a few minutes
    python tools/same_results.py compare OLD.npz NEW.npz

Texts and class counts must be equal; numbers may differ in their last bits, because sums have another order.
"""

from __future__ import annotations

import hashlib
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import isonn

CLASSES = ("MUTAG", "PTC_MR", "PROTEINS", "IMDB-MULTI", "molecules/bbbp.csv")
NUMBERS = "molecules/esol.csv"
#: Graphs that are explained, spread over each set.
EXPLAINED = 40


def facts_of(model: Any, graphs: Any, name: str) -> dict[str, np.ndarray]:
    answers = model.predict_proba(graphs) if hasattr(model, "predict_proba") else model.predict(graphs)
    found = {"answers": answers}
    texts, nodes = [], []
    for i in np.unique(np.linspace(0, len(graphs) - 1, EXPLAINED).astype(int)).tolist():
        e = model.explain(graphs[i])
        nodes.append(e.node_importance)
        texts += [f"{i} {reason.nodes} {reason.text}" for reason in e.reasons]
    found["node_importance"] = np.concatenate(nodes)
    found["reasons"] = np.array(texts)
    found["class_reasons"] = np.array([f"{label}: {r}" for label, rs in model.reasons_.items() for r in rs])
    return {f"{name} {what}": value for what, value in found.items()}


def load(name: str) -> Any:
    return isonn.load(Path(os.environ["ISONN_DATA"], name) if name.endswith(".csv") else name)


def write(path: str) -> None:
    found: dict[str, np.ndarray] = {}
    for name in CLASSES:
        graphs = load(name)
        found |= facts_of(isonn.SubgraphClassifier(random_state=0).fit(graphs), graphs, name)
        short = isonn.SubgraphClassifier(n_templates=32, random_state=0).fit(graphs)
        found |= facts_of(short, graphs, f"{name} 32 templates")
    graphs = load(NUMBERS)
    found |= facts_of(isonn.SubgraphRegressor(random_state=0).fit(graphs), graphs, NUMBERS)
    np.savez_compressed(path, **found)
    for name, value in found.items():
        print(hashlib.sha256(np.ascontiguousarray(value).data).hexdigest()[:16], value.shape, name)


def compare(old: str, new: str) -> None:
    before, after = np.load(old), np.load(new)
    assert set(before.files) == set(after.files), set(before.files) ^ set(after.files)
    for name in before.files:
        a, b = before[name], after[name]
        if a.dtype.kind == "U":
            changed = [pair for pair in zip(a.tolist(), b.tolist(), strict=False) if pair[0] != pair[1]]
            print(f"{len(changed)} of {len(a)} texts differ{'' if len(a) == len(b) else f' ({len(b)} now)'}: {name}")
            for one, other in changed[:5]:
                print(f"    {one}\n    {other}")
        elif a.shape == b.shape:
            print(f"{np.abs(a - b).max():.1e} largest difference of {a.size} numbers: {name}")
        else:
            print(f"shape {a.shape} became {b.shape}: {name}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "write" and not Path(sys.argv[2]).exists():
        write(sys.argv[2])
    elif sys.argv[1] == "compare":
        compare(sys.argv[2], sys.argv[3])
    else:
        sys.exit(__doc__)
