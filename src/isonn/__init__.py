"""isonn classifies graphs by small templates it learns, matches exactly, and shows."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Names are imported when first used: `isonn --help` must not wait for torch.
_HOME = {
    "Graph": "isonn.graphs",
    "GraphSet": "isonn.graphs",
    "as_graphset": "isonn.graphs",
    "load": "isonn.graphs",
    "stream": "isonn.graphs",
    "IsoNNClassifier": "isonn.windows.estimators",
    "SubgraphIsoNNClassifier": "isonn.subgraphs.estimators",
    "load_model": "isonn.torch_estimator",
}

__all__ = [
    "Graph",
    "GraphSet",
    "IsoNNClassifier",
    "SubgraphIsoNNClassifier",
    "__version__",
    "as_graphset",
    "audit",
    "baselines",
    "errors",
    "experiments",
    "explain",
    "graphs",
    "load",
    "load_model",
    "matching",
    "nn",
    "stream",
    "testing",
    "training",
]

if TYPE_CHECKING:
    from isonn import audit, baselines, errors, experiments, explain, graphs, matching, nn, testing, training
    from isonn.graphs import Graph, GraphSet, as_graphset, load, stream
    from isonn.subgraphs.estimators import SubgraphIsoNNClassifier
    from isonn.torch_estimator import load_model
    from isonn.windows.estimators import IsoNNClassifier


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in __all__:
        return importlib.import_module(f"isonn.{name}")
    raise AttributeError(f"module 'isonn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
