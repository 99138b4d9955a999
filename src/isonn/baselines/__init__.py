"""Baseline methods, as estimators with ``fit`` and ``predict``.

Names are imported when first used. Most need no extra package. The networks need torch (extra ``torch``), some also
torch_geometric or fast-gspan (extra ``baselines``), and ECFP needs rdkit (extra ``molecules``).
"""

from __future__ import annotations

import importlib
from typing import Any

from isonn.errors import naming_the_extra

#: The module of each class.
_HOME = {
    name: module
    for module, names in {
        "cpm": "CPMClassifier CPMRegressor",
        "ecfp": "ECFPForestClassifier ECFPForestRegressor ECFPLinearClassifier ECFPLinearRegressor "
        "ECFPTreesClassifier ECFPTreesRegressor",
        "frequent": "FrequentClassifier",
        "graph_networks": "GCNClassifier GINClassifier",
        "linear_edges": "EdgesSVMClassifier LinearEdgesClassifier LinearEdgesRegressor TangentSVMClassifier",
        "matrix_networks": "AutoEncoderClassifier CNNClassifier SDBNClassifier",
        "nbs": "NBSClassifier",
        "simple": "DegreeHistogramClassifier DegreeHistogramRegressor GraphSizeClassifier GraphSizeRegressor "
        "MajorityClassifier MajorityRegressor",
        "weisfeiler_lehman": "WLClassifier",
    }.items()
    for name in names.split()
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        with naming_the_extra(name):
            return getattr(importlib.import_module(f"isonn.baselines.{_HOME[name]}"), name)
    raise AttributeError(f"module 'isonn.baselines' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
