"""The paper's layers as torch modules, for networks of your own.

`IsoLayer` takes dense adjacency matrices, `IsoReadout` a batch of PyTorch Geometric.
"""

from isonn.errors import naming_the_extra

with naming_the_extra("isonn.nn"):
    from isonn.torch_estimator import MLP
    from isonn.windows.layer import IsoLayer
    from isonn.windows.network import IsoNN, IsoStack
    from isonn.windows.readout import IsoReadout

__all__ = ["MLP", "IsoLayer", "IsoNN", "IsoReadout", "IsoStack"]
