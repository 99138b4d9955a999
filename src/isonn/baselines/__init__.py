"""What else could have done it: one file a method, all with fit and predict."""

from __future__ import annotations

from isonn.baselines.degree_histogram import DegreeHistogramClassifier
from isonn.baselines.graph_size import GraphSizeClassifier
from isonn.baselines.majority import MajorityClassifier

__all__ = ["DegreeHistogramClassifier", "GraphSizeClassifier", "MajorityClassifier"]
