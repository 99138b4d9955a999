"""Classify graphs, and show the subgraphs behind each prediction."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

# Names are imported when first used, so that `isonn --help` need not wait for scikit-learn, nor most uses for torch.
_HOME = {
    "AlignedClassifier": "isonn.aligned.estimators",
    "AlignedRegressor": "isonn.aligned.estimators",
    "Graph": "isonn.graphs",
    "GraphSet": "isonn.graphs",
    "as_graphset": "isonn.graphs",
    "load": "isonn.graphs",
    "stream": "isonn.graphs",
    "IsoNNClassifier": "isonn.windows.estimators",
    "IsoNNRegressor": "isonn.windows.estimators",
    "SubgraphClassifier": "isonn.subgraphs.estimators",
    "SubgraphRegressor": "isonn.subgraphs.estimators",
    "SubgraphVectorizer": "isonn.subgraphs.vectorizer",
    "load_model": "isonn.model_files",
}

__all__ = [
    "AlignedClassifier",
    "AlignedRegressor",
    "Graph",
    "GraphSet",
    "IsoNNClassifier",
    "IsoNNRegressor",
    "SubgraphClassifier",
    "SubgraphRegressor",
    "SubgraphVectorizer",
    "__version__",
    "as_graphset",
    "audit",
    "baselines",
    "connectomes",
    "errors",
    "experiments",
    "explain",
    "graphs",
    "load",
    "load_model",
    "matching",
    "molecules",
    "nn",
    "report",
    "stream",
    "testing",
    "training",
]

if TYPE_CHECKING:
    from isonn import (
        audit,
        baselines,
        connectomes,
        errors,
        experiments,
        explain,
        graphs,
        matching,
        molecules,
        nn,
        report,
        testing,
        training,
    )
    from isonn.aligned.estimators import AlignedClassifier, AlignedRegressor
    from isonn.graphs import Graph, GraphSet, as_graphset, load
    from isonn.graphs.stream import stream
    from isonn.model_files import load_model
    from isonn.subgraphs.estimators import SubgraphClassifier, SubgraphRegressor
    from isonn.subgraphs.vectorizer import SubgraphVectorizer
    from isonn.windows.estimators import IsoNNClassifier, IsoNNRegressor


#: Names of 0.2.0, for one version.
_RENAMED = {
    "AlignedIsoNNClassifier": "AlignedClassifier",
    "AlignedIsoNNRegressor": "AlignedRegressor",
    "SubgraphIsoNNClassifier": "SubgraphClassifier",
    "SubgraphIsoNNRegressor": "SubgraphRegressor",
}


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        raise ImportError(f"isonn.{name} is isonn.{_RENAMED[name]} since 0.3.0; use the new name")
    if name not in __all__:
        raise AttributeError(f"module 'isonn' has no attribute {name!r}")
    from isonn.errors import naming_the_extra

    with naming_the_extra(f"isonn.{name}"):
        if name not in _HOME:
            return importlib.import_module(f"isonn.{name}")
        globals()[name] = value = getattr(importlib.import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
