"""The scikit-learn surface: classifiers with learned templates."""

from isonn.estimators.base import load_model
from isonn.estimators.isonn import IsoNNClassifier

__all__ = ["IsoNNClassifier", "load_model"]
