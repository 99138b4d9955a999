"""Graphs in, `GraphSet` out: readers, converters, known datasets, splits, planted motifs."""

from __future__ import annotations

from isonn.data.brain import read_matrices
from isonn.data.catalog import cache_folder, fetch, find, known, load
from isonn.data.convert import as_graphset
from isonn.data.entries import Entry
from isonn.data.folds import balanced_folds, released_folds, stratified_folds
from isonn.data.graphs import Graph, GraphSet, graphset_from_cells, join_graphs
from isonn.data.planted import Planted, planted_motifs
from isonn.data.streams import GraphStream, stream
from isonn.data.text import read_text
from isonn.data.tu import read_tu

__all__ = [
    "Entry",
    "Graph",
    "GraphSet",
    "GraphStream",
    "Planted",
    "as_graphset",
    "balanced_folds",
    "cache_folder",
    "fetch",
    "find",
    "graphset_from_cells",
    "join_graphs",
    "known",
    "load",
    "planted_motifs",
    "read_matrices",
    "read_text",
    "read_tu",
    "released_folds",
    "stratified_folds",
    "stream",
]
