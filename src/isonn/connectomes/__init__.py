"""Connectomes in and out: atlases, matrices, time series, folders of subjects, and views of the brain.

Time series and the interactive brain need nilearn (extra ``connectomes``); the rest does not.
"""

from isonn.connectomes.atlas import Atlas, as_atlas
from isonn.connectomes.convert import from_matrices
from isonn.connectomes.synthetic import PlantedConnectomes, planted_connectomes
from isonn.connectomes.timeseries import Connectivity

__all__ = ["Atlas", "Connectivity", "PlantedConnectomes", "as_atlas", "from_matrices", "planted_connectomes"]
