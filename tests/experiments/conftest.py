from __future__ import annotations

import copy
from typing import Any

import pytest

from isonn.graphs import GraphSet, planted_motifs


@pytest.fixture(scope="session")
def graphs() -> GraphSet:
    """Thirty small graphs whose classes the number of edges tells apart."""
    return planted_motifs(n_graphs=30, n_nodes=(8, 12), seed=0).graphs


@pytest.fixture(scope="session")
def untimed():
    """A result without what may differ between two runs of one job."""

    def strip(result: dict[str, Any]) -> dict[str, Any]:
        result = copy.deepcopy(result)
        assert set(result.pop("timings")) - {"choose_seconds"} == {"fit_seconds", "cpu_seconds", "predict_seconds"}
        result.pop("commit")  # someone may commit while tests run
        return result

    return strip
