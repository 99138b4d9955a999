"""Names that the examples in docstrings may use without importing them."""

from __future__ import annotations

import numpy
import pytest
import torch

import isonn


@pytest.fixture(autouse=True)
def doctest_names(doctest_namespace):
    """Here and not in tests/, for the examples lie in src/."""
    doctest_namespace.update(isonn=isonn, np=numpy, torch=torch)
