"""Connectomes: atlases, matrices, time series, folders of subjects, and views of the brain.

Time series and the brain need nilearn (extra ``connectomes``), figures and pages matplotlib and jinja2 (extra
``report``); the rest does not.
"""

from isonn.connectomes.atlas import Atlas, as_atlas
from isonn.connectomes.convert import from_matrices
from isonn.connectomes.figures import save_figures
from isonn.connectomes.findings import Connection, Findings, Subnetwork, findings
from isonn.connectomes.page import brain_page
from isonn.connectomes.stability import stability
from isonn.connectomes.synthetic import PlantedConnectomes, planted_connectomes, planted_series
from isonn.connectomes.timeseries import Connectivity

__all__ = [
    "Atlas",
    "Connection",
    "Connectivity",
    "Findings",
    "PlantedConnectomes",
    "Subnetwork",
    "as_atlas",
    "brain_page",
    "findings",
    "from_matrices",
    "planted_connectomes",
    "planted_series",
    "save_figures",
    "stability",
]
