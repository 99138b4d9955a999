"""isonn classifies graphs by small templates it learns, matches exactly, and shows."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Names are imported when first used: `isonn --help` must not wait for torch.
_HOME = {
    "Graph": "isonn.data",
    "GraphSet": "isonn.data",
    "as_graphset": "isonn.data",
    "load": "isonn.data",
    "stream": "isonn.data",
    "IsoNNClassifier": "isonn.estimators",
    "SubgraphIsoNNClassifier": "isonn.estimators",
    "load_model": "isonn.estimators",
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
    "data",
    "errors",
    "estimators",
    "experiments",
    "explain",
    "load",
    "load_model",
    "matching",
    "nn",
    "stream",
    "testing",
    "training",
]

if TYPE_CHECKING:
    from isonn import audit, baselines, data, errors, estimators, experiments, explain, matching, nn, testing, training
    from isonn.data import Graph, GraphSet, as_graphset, load, stream
    from isonn.estimators import IsoNNClassifier, SubgraphIsoNNClassifier, load_model


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in __all__:
        return importlib.import_module(f"isonn.{name}")
    raise AttributeError(f"module 'isonn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
