from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "connectomes.md"


def test_the_tutorial_runs_as_written(tmp_path, monkeypatch):
    pytest.importorskip("nilearn")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 5
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {})
    assert {path.name for path in tmp_path.iterdir()} == {"connections.csv", "patients.html", "sub-001.html"}
