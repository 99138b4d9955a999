"""The graphs of most tests here, and heads of few trees: more would test nothing more."""

from __future__ import annotations

import pytest
from coded_graphs import planted

from isonn.heads import boosting


@pytest.fixture(scope="session")
def graphs():
    return planted()


@pytest.fixture(scope="module", autouse=True)
def _few_rounds():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boosting, "ROUNDS", 30)
        yield
