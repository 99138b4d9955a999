"""The tutorial of docs/molecules.md runs, on the file that the example makes."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

pytest.importorskip("rdkit")

ROOT = Path(__file__).parents[2]


def test_the_tutorial_runs_and_finds_the_rule(tmp_path, monkeypatch, capsys):
    runpy.run_path(str(ROOT / "examples" / "alerts.py"))["write_molecules"](tmp_path / "molecules.csv")
    code = re.search(r"<!-- tutorial -->\n```python\n(.*?)```", (ROOT / "docs" / "molecules.md").read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    exec(compile(code.group(1), "molecules.md", "exec"), scope)
    assert {alert.name for alert in scope["alerts"]} == {"nitroaromatic", "epoxide"}
    assert "[1 0]" in capsys.readouterr().out
    assert (tmp_path / "alerts.csv").is_file()
    assert (tmp_path / "why.svg").read_text().startswith("<svg")
