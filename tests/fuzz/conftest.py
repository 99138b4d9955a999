"""Campaigns of strange input: a small, fixed share runs with the tests; FUZZ_EXAMPLES=1000 runs a random one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from fuzz import outcome
from hypothesis import HealthCheck, settings

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "0"))
settings.register_profile(
    "fuzz",
    max_examples=EXAMPLES or 15,
    derandomize=not EXAMPLES,
    deadline=20_000,  # milliseconds of one case: nothing hangs
    database=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("fuzz")

try:
    import resource
except ImportError:  # Windows cannot say how large a process was
    resource = None

#: Bytes that all cases of one test together may add to the largest memory of the process.
MOST_MEMORY = 2**31 - 2**28


@pytest.fixture(autouse=True)
def bounded_memory():
    if resource is None:
        yield
        return
    unit = 1 if sys.platform == "darwin" else 1024
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    yield
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    assert after - before < MOST_MEMORY, f"{(after - before) / 2**20:.0f} MB more"


def pytest_sessionfinish():
    if "FUZZ_COUNT" in os.environ:
        with Path(os.environ["FUZZ_COUNT"]).open("a") as file:
            file.write(f"{outcome.CASES}\n")
