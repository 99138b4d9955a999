"""Datasets known by name: where they are, how to fetch them, what they must hold."""

from isonn.graphs.datasets.registry import fetch, find, known, load

__all__ = ["fetch", "find", "known", "load"]
