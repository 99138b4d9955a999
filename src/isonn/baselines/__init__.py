"""Baseline methods, as estimators with ``fit`` and ``predict``.

Names are imported when first used. Most need no extra package. The networks need torch (extra ``torch``), some also
torch_geometric or fast-gspan (extra ``baselines``), and ECFP needs rdkit (extra ``molecules``).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from isonn.errors import naming_the_extra

if TYPE_CHECKING:
    from isonn.baselines.cpm import CPMClassifier, CPMRegressor
    from isonn.baselines.ecfp import (
        ECFPForestClassifier,
        ECFPForestRegressor,
        ECFPLinearClassifier,
        ECFPLinearRegressor,
        ECFPTreesClassifier,
        ECFPTreesRegressor,
    )
    from isonn.baselines.frequent import FrequentClassifier
    from isonn.baselines.graph_networks import GCNClassifier, GINClassifier
    from isonn.baselines.linear_edges import (
        EdgesSVMClassifier,
        LinearEdgesClassifier,
        LinearEdgesRegressor,
        TangentSVMClassifier,
    )
    from isonn.baselines.matrix_networks import AutoEncoderClassifier, CNNClassifier, SDBNClassifier
    from isonn.baselines.nbs import NBSClassifier
    from isonn.baselines.simple import (
        DegreeHistogramClassifier,
        DegreeHistogramRegressor,
        GraphSizeClassifier,
        GraphSizeRegressor,
        MajorityClassifier,
        MajorityRegressor,
    )
    from isonn.baselines.weisfeiler_lehman import WLClassifier

__all__ = [
    "AutoEncoderClassifier",
    "CNNClassifier",
    "CPMClassifier",
    "CPMRegressor",
    "DegreeHistogramClassifier",
    "DegreeHistogramRegressor",
    "ECFPForestClassifier",
    "ECFPForestRegressor",
    "ECFPLinearClassifier",
    "ECFPLinearRegressor",
    "ECFPTreesClassifier",
    "ECFPTreesRegressor",
    "EdgesSVMClassifier",
    "FrequentClassifier",
    "GCNClassifier",
    "GINClassifier",
    "GraphSizeClassifier",
    "GraphSizeRegressor",
    "LinearEdgesClassifier",
    "LinearEdgesRegressor",
    "MajorityClassifier",
    "MajorityRegressor",
    "NBSClassifier",
    "SDBNClassifier",
    "TangentSVMClassifier",
    "WLClassifier",
]

#: How the names of each module begin.
_HOME = {
    "cpm": ("CPM",),
    "ecfp": ("ECFP",),
    "frequent": ("Frequent",),
    "graph_networks": ("GCN", "GIN"),
    "linear_edges": ("EdgesSVM", "LinearEdges", "TangentSVM"),
    "matrix_networks": ("AutoEncoder", "CNN", "SDBN"),
    "nbs": ("NBS",),
    "simple": ("DegreeHistogram", "GraphSize", "Majority"),
    "weisfeiler_lehman": ("WL",),
}


def __getattr__(name: str) -> Any:
    if name in __all__:
        home = next(module for module, begin in _HOME.items() if name.startswith(begin))
        with naming_the_extra(name):
            return getattr(importlib.import_module(f"isonn.baselines.{home}"), name)
    raise AttributeError(f"module 'isonn.baselines' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
