"""The paper's layers as torch modules."""

from isonn.nn.head import Head
from isonn.nn.iso_layer import IsoLayer
from isonn.nn.iso_stack import IsoStack
from isonn.nn.model import IsoNN

__all__ = ["Head", "IsoLayer", "IsoNN", "IsoStack"]
