from __future__ import annotations

import runpy
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from serve_requests import running

import isonn


@pytest.fixture(scope="session")
def toxic(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A model of molecules that are toxic by a rule: a nitro group on an aromatic ring, or an epoxide."""
    path = tmp_path_factory.mktemp("toxic") / "molecules.csv"
    example = Path(__file__).parents[2] / "examples" / "alerts.py"
    runpy.run_path(str(example))["write_molecules"](path, 200)
    return isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(isonn.load(path))


@pytest.fixture(scope="session")
def mutag_model(mutag: Any) -> Any:
    """A model of graphs with labels."""
    return isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0).fit(mutag)


@pytest.fixture(scope="session")
def app(toxic: Any, mutag_model: Any) -> Any:
    """Both models behind one server."""
    from isonn.serve import create_app

    return create_app({"toxic": toxic, "mutag": mutag_model})


@pytest.fixture(scope="session")
def client(app: Any) -> Iterator[Any]:
    """Sends requests to that server."""
    with running(app) as client:
        yield client


@pytest.fixture
def start() -> Iterator[Any]:
    """Starts servers that end with the test, and returns their clients."""
    with ExitStack() as stack:
        yield lambda app: stack.enter_context(running(app))
