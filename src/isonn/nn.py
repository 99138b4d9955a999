"""The paper's layers as torch modules."""

from isonn.torch_estimator import MLP
from isonn.windows.layer import IsoLayer, IsoStack
from isonn.windows.model import IsoNN

__all__ = ["MLP", "IsoLayer", "IsoNN", "IsoStack"]
