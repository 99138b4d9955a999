"""Named datasets: where to find them, how to download them, and how to check them."""

from isonn.graphs.datasets.registry import fetch, find, known, load

__all__ = ["fetch", "find", "known", "load"]
