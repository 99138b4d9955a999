"""The README does what it says."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

import numpy as np
import pytest
from tests_commands import run

README = Path(__file__).parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8")
#: Alcohols, which are "active", and amines: the README's data.csv.
CHAINS = ("", "C", "CC", "CCC", "CC(C)", "CCCC", "CC(C)C", "CCCCC", "CCC(C)C", "CCCCCC")


def test_it_can_be_read_in_one_go():
    lines = TEXT.splitlines()
    assert len(lines) <= 250
    first = "\n".join(lines[:40])
    assert all(part in first for part in ("docs/images/", "pip install", "```python", "| your graphs |", "**Results**"))


def test_every_block_of_python_runs_in_order(tmp_path, monkeypatch, capsys):
    pytest.importorskip("rdkit")
    pytest.importorskip("networkx")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(compile(code, "README.md", "exec"), names)
    assert re.search(r"\+\d\.\d\d  C.N\(.O\).O", capsys.readouterr().out)
    assert (tmp_path / "my-model" / "model.json").is_file()


@pytest.mark.filterwarnings("ignore::isonn.errors.IsoNNWarning")  # rare labels, small folds
def test_every_command_runs_in_order(tmp_path, monkeypatch):
    for extra in ("rdkit", "jinja2", "torch"):
        pytest.importorskip(extra)
    monkeypatch.chdir(tmp_path)
    rows = [f"{chain}{end},{int(end == 'CO')}" for chain in CHAINS for end in ("CO", "CN")]
    Path("data.csv").write_text("\n".join(["smiles,active", *rows, ""]), encoding="utf-8")
    commands = [
        shlex.split(line, comments=True)
        for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
        for line in block.splitlines()
        if line.startswith("isonn ")
    ]
    assert len(commands) >= 12
    for command in commands:
        found = run(*command[1:])
        assert found.returncode == 0, f"{' '.join(command)}: {found.stderr}"
    assert (tmp_path / "alerts.csv").is_file()


def test_the_picture_is_that_of_the_ten_lines():
    import isonn

    made = isonn.SubgraphIsoNNClassifier().fit(graphs := isonn.load("MUTAG")).explain(graphs[0]).to_svg()
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
