"""Methods that IsoNN is compared with, each an estimator with ``fit`` and ``predict``.

Names are imported when first used: most need no extra package, the networks need torch (extra ``torch``) and some
torch_geometric or fast-gspan (extra ``baselines``), ECFP needs rdkit (extra ``molecules``).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from isonn.errors import naming_the_extra

if TYPE_CHECKING:
    from isonn.baselines.autoencoder import AutoEncoderClassifier
    from isonn.baselines.cnn import CNNClassifier
    from isonn.baselines.degree_histogram import DegreeHistogramClassifier, DegreeHistogramRegressor
    from isonn.baselines.ecfp import (
        ECFPForestClassifier,
        ECFPForestRegressor,
        ECFPLinearClassifier,
        ECFPLinearRegressor,
    )
    from isonn.baselines.frequent import FrequentClassifier
    from isonn.baselines.gcn import GCNClassifier
    from isonn.baselines.gin import GINClassifier
    from isonn.baselines.graph_size import GraphSizeClassifier, GraphSizeRegressor
    from isonn.baselines.linear_edges import (
        EdgesSVMClassifier,
        LinearEdgesClassifier,
        LinearEdgesRegressor,
        NBSEdgesClassifier,
        TangentSVMClassifier,
    )
    from isonn.baselines.majority import MajorityClassifier, MajorityRegressor
    from isonn.baselines.sdbn import SDBNClassifier
    from isonn.baselines.weisfeiler_lehman import WLClassifier

__all__ = [
    "AutoEncoderClassifier",
    "CNNClassifier",
    "DegreeHistogramClassifier",
    "DegreeHistogramRegressor",
    "ECFPForestClassifier",
    "ECFPForestRegressor",
    "ECFPLinearClassifier",
    "ECFPLinearRegressor",
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
    "NBSEdgesClassifier",
    "SDBNClassifier",
    "TangentSVMClassifier",
    "WLClassifier",
]

#: The module of each name, by how the name begins.
_HOME = {
    "AutoEncoder": "autoencoder",
    "CNN": "cnn",
    "DegreeHistogram": "degree_histogram",
    "ECFP": "ecfp",
    "EdgesSVM": "linear_edges",
    "Frequent": "frequent",
    "GCN": "gcn",
    "GIN": "gin",
    "GraphSize": "graph_size",
    "LinearEdges": "linear_edges",
    "Majority": "majority",
    "NBSEdges": "linear_edges",
    "SDBN": "sdbn",
    "TangentSVM": "linear_edges",
    "WL": "weisfeiler_lehman",
}


def __getattr__(name: str) -> Any:
    if name in __all__:
        home = next(module for start, module in _HOME.items() if name.startswith(start))
        with naming_the_extra(name):
            return getattr(importlib.import_module(f"isonn.baselines.{home}"), name)
    raise AttributeError(f"module 'isonn.baselines' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
