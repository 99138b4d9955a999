"""What else could have done it: one file a method, all with fit and predict."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from isonn.baselines.degree_histogram import DegreeHistogramClassifier
from isonn.baselines.frequent import FrequentClassifier
from isonn.baselines.graph_size import GraphSizeClassifier
from isonn.baselines.linear_edges import LinearEdgesClassifier
from isonn.baselines.majority import MajorityClassifier
from isonn.baselines.weisfeiler_lehman import WLClassifier

if TYPE_CHECKING:
    from isonn.baselines.autoencoder import AutoEncoderClassifier
    from isonn.baselines.cnn import CNNClassifier
    from isonn.baselines.gcn import GCNClassifier
    from isonn.baselines.gin import GINClassifier
    from isonn.baselines.sdbn import SDBNClassifier

# Networks are imported when first used: the counting methods must not wait for torch.
_HOME = {
    "AutoEncoderClassifier": "isonn.baselines.autoencoder",
    "CNNClassifier": "isonn.baselines.cnn",
    "GCNClassifier": "isonn.baselines.gcn",
    "GINClassifier": "isonn.baselines.gin",
    "SDBNClassifier": "isonn.baselines.sdbn",
}

__all__ = [
    "AutoEncoderClassifier",
    "CNNClassifier",
    "DegreeHistogramClassifier",
    "FrequentClassifier",
    "GCNClassifier",
    "GINClassifier",
    "GraphSizeClassifier",
    "LinearEdgesClassifier",
    "MajorityClassifier",
    "SDBNClassifier",
    "WLClassifier",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'isonn.baselines' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
