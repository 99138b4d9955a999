"""The scikit-learn surface: classifiers with learned templates."""

from isonn.estimators.base import load_model
from isonn.estimators.isonn import IsoNNClassifier
from isonn.estimators.subgraph import SubgraphIsoNNClassifier

__all__ = ["IsoNNClassifier", "SubgraphIsoNNClassifier", "load_model"]
