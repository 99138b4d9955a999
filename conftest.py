"""What tests need: names for examples in docstrings, a Ctrl-C that arrives, an order, skips without torch."""

from __future__ import annotations

import doctest
import importlib.util
import re
import signal
import sys

import numpy
import pytest

import isonn
from isonn.errors import MissingDependencyError

WITHOUT_TORCH = importlib.util.find_spec("torch") is None

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # a shell starts what runs in its background with Ctrl-C ignored, and that is inherited: the tests send it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def doctest_names(doctest_namespace, tmp_path_factory):
    """Here and not in tests/, for the examples lie in src/."""
    doctest_namespace.update(isonn=isonn, np=numpy, tmp_path=tmp_path_factory.mktemp("doctest"))
    if not WITHOUT_TORCH:
        import torch

        doctest_namespace.update(torch=torch)


#: Files with the longest tests. They run first, so that at the end no process works alone on a long one.
SLOWEST = (
    "tests/test_docs.py",
    "tests/browser",
    "tests/experiments/test_cluster.py",
    "tests/experiments/test_run.py",
    "tests/cli/test_evaluate.py",
    "tests/cli/test_commands.py",
    "tests/cli/test_large.py",
    "tests/subgraphs/test_kernels.py",
)
#: Where the second of two processes starts: with loops that the first does not compile at the same time.
SECOND = "tests/windows"


def pytest_collection_modifyitems(items):
    """Sort the slowest files to the front and ``SECOND`` to the middle; the order within a file stays."""
    rank = {start: place for place, start in enumerate(SLOWEST)}
    second = [item for item in items if item.nodeid.startswith(SECOND)]
    others = [item for item in items if not item.nodeid.startswith(SECOND)]
    others.sort(key=lambda item: min((rank[s] for s in SLOWEST if item.nodeid.startswith(s)), default=len(SLOWEST)))
    half = len(items) // 2
    items[:] = [*others[:half], *second, *others[half:]]


if WITHOUT_TORCH:  # `make test-all`: what needs torch or another missing extra is skipped
    collect_ignore = [
        "src/isonn/nn.py",  # has no examples, and fails on the half-loaded modules that it names
        # most of these run the paper's model in processes of their own
        *(f"tests/cli/test_{name}.py" for name in ("commands", "evaluate", "large", "pages", "reproduce")),
    ]

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(collector):
        """A file that cannot be loaded without torch or the packages of a server is skipped, not failed."""
        report = yield
        missing = re.search("(?:No module named '|needs )(torch|anyio|starlette|uvicorn)", str(report.longrepr))
        if report.failed and missing:
            report.outcome, report.longrepr = "skipped", (str(collector.path), 0, f"{missing[1]} is not installed")
            for name, module in list(sys.modules.items()):
                if getattr(module, "__file__", None) == str(collector.path):
                    del sys.modules[name]  # pytest leaves half a module there, and others would import that
        return report

    def _skipped(item):
        """A test or fixture that asks for an extra that is missing is skipped, not failed."""
        try:
            return (yield)
        except doctest.UnexpectedException as error:
            _skip_without_extra(error.exc_info[1])
            raise
        except (MissingDependencyError, ModuleNotFoundError) as error:
            _skip_without_extra(error)
            raise

    pytest_runtest_setup = pytest.hookimpl(wrapper=True)(_skipped)
    pytest_runtest_call = pytest.hookimpl(wrapper=True)(_skipped)


def _skip_without_extra(error):
    if isinstance(error, MissingDependencyError) or "torch" in str(error):
        pytest.skip(str(error))
