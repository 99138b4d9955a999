from __future__ import annotations

import os
from pathlib import Path

# Tests run side by side, and threads of torch and BLAS wait for each other by spinning: with more threads than cores a
# training step takes fifty times as long.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import pytest

import isonn


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    """Every numeric test runs in both precisions."""
    return getattr(pytest.importorskip("torch"), request.param)


@pytest.fixture
def generator():
    return pytest.importorskip("torch").Generator().manual_seed(20261115)


@pytest.fixture(scope="session")
def mutag():
    return isonn.load("MUTAG")


@pytest.fixture
def data_folder() -> Path:
    """The folder of datasets that are not part of the project; tests that need it skip without it."""
    folder = os.environ.get("ISONN_DATA")
    if not folder:
        pytest.skip("ISONN_DATA is not set: no datasets beyond MUTAG")
    return Path(folder)
