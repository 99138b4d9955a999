"""The README does what it says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.filterwarnings("ignore:.* label never seen in training")  # one compound alone holds iodine
def test_the_twenty_lines_of_python_run(tmp_path, monkeypatch, capsys):
    code = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL).group(1)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert "GraphSet(MUTAG: 188 graphs" in capsys.readouterr().out
    assert (tmp_path / "my-model" / "model.json").is_file()


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        *(str(page.relative_to(README.parent)) for page in README.parent.glob("docs/**/*.md")),
    ],
)
def test_every_local_link_leads_somewhere(page):
    path = README.parent / page
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), f"{page} links to {target}"


def test_the_table_of_results_is_that_of_the_stored_results():
    made = runpy.run_path(str(README.parent / "docs" / "make_results.py"))
    shown = README.read_text(encoding="utf-8").split(made["START"])[1].split(made["END"])[0]
    assert shown == made["table"]()
