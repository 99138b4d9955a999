from __future__ import annotations

from pathlib import Path

import pytest
from sample_run import make_run


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder of results and the file of its graphs; not to be changed."""
    pytest.importorskip("torch")
    return make_run(tmp_path_factory.mktemp("run"))
