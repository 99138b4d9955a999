"""The paper's layers as torch modules."""

from isonn.torch_estimator import MLP
from isonn.windows.layer import IsoLayer, IsoNN, IsoStack

__all__ = ["MLP", "IsoLayer", "IsoNN", "IsoStack"]
