"""The README does what it says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

README = Path(__file__).parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_it_can_be_read_in_one_go():
    lines = TEXT.splitlines()
    assert len(lines) <= 250
    first = "\n".join(lines[:40])
    assert all(part in first for part in ("docs/images/", "pip install", "```python", "| your graphs |", "**Results**"))


def test_the_picture_is_that_of_the_ten_lines():
    import isonn

    made = isonn.SubgraphClassifier().fit(graphs := isonn.load("MUTAG")).explain(graphs[0]).to_svg()
    kept = (README.parent / "docs" / "images" / "reasons.svg").read_text(encoding="utf-8")
    numbers = [np.array(re.findall(r"-?\d+\.?\d*", svg), dtype=float) for svg in (made, kept)]
    np.testing.assert_allclose(*numbers, atol=1)
    assert re.sub(r"-?\d+\.?\d*", "", made) == re.sub(r"-?\d+\.?\d*", "", kept)


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


def test_every_test_that_the_security_page_names_is_there():
    page = (README.parent / "docs" / "security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/.]+\.py)(?:::(\w+))?`", page)
    assert len(named) > 40
    for file, name in named:
        assert f"def {name}" in (README.parent / file).read_text(encoding="utf-8"), f"{file}::{name}"
