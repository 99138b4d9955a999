"""The paper's layers as torch modules."""

from isonn.heads.mlp import Head
from isonn.windows.layer import IsoLayer, IsoStack
from isonn.windows.model import IsoNN

__all__ = ["Head", "IsoLayer", "IsoNN", "IsoStack"]
