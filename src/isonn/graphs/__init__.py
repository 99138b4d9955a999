"""Graph types, file readers, named datasets, and train/test splits."""

from isonn.graphs.convert import as_graphset
from isonn.graphs.datasets import fetch, find, known, load
from isonn.graphs.graph import Graph, GraphSet
from isonn.graphs.io import Reader, register_reader
from isonn.graphs.splits import balanced_folds, grouped_folds, released_folds, stratified_folds
from isonn.graphs.stream import GraphStream, stream
from isonn.graphs.synthetic import Planted, planted_motifs

__all__ = [
    "Graph",
    "GraphSet",
    "GraphStream",
    "Planted",
    "Reader",
    "as_graphset",
    "balanced_folds",
    "fetch",
    "find",
    "grouped_folds",
    "known",
    "load",
    "planted_motifs",
    "register_reader",
    "released_folds",
    "stratified_folds",
    "stream",
]
