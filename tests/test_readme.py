"""The README does what it says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "page",
    [
        *(path.name for path in README.parent.glob("*.md")),
        *(str(page.relative_to(README.parent)) for page in README.parent.glob("docs/**/*.md")),
    ],
)
def test_every_local_link_leads_somewhere(page):
    path = README.parent / page
    text = re.sub(
        r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL
    )  # SMILES look like links
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), f"{page} links to {target}"


def test_the_table_of_results_is_that_of_the_stored_results():
    made = runpy.run_path(str(README.parent / "docs" / "make_results.py"))
    shown = made["PAGE"].read_text(encoding="utf-8").split(made["START"])[1].split(made["END"])[0]
    assert shown == made["table"]()
