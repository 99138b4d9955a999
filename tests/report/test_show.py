"""Objects show themselves in notebooks, as SVG and as pages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import isonn
from isonn.errors import InputError

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def explanation(mutag):
    clf = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(mutag)
    return clf.explain(mutag[0])


def parsed(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html)


def test_a_graph_is_a_drawing_with_all_its_nodes(mutag):
    root = parsed(mutag[0]._repr_html_())
    assert len(list(root.iter(f"{SVG}circle"))) == mutag[0].n
    assert "17 nodes, 19 edges" in root.find("figcaption").text


def test_a_set_is_a_table_of_class_counts_and_six_drawings(mutag):
    root = parsed(mutag._repr_html_())
    cells = {row[0].text: row[1].text for row in root.iter("tr")}
    assert cells["graphs"] == "188"
    assert cells["nodes"] == "10 to 28"
    edges = [len(graph.edges) // 2 for graph in mutag]
    assert cells["edges"] == f"{min(edges)} to {max(edges)}"
    counts = [text for name, text in cells.items() if name.startswith("class ")]
    assert counts == [f"{int((mutag.y == value).sum())} graphs" for value in np.unique(mutag.y)]
    assert len(list(root.iter("svg"))) == 6
    assert len(list(root.iter("style"))) == 1


def test_a_template_is_a_drawing_with_the_names_of_its_labels(explanation):
    root = parsed(explanation.source.templates[5]._repr_html_())
    assert {text.text for text in root.iter(f"{SVG}text")} <= {"C", "N", "O", "F", "I", "Cl", "Br"}
    assert root.find("figcaption").text == explanation.source.templates[5].text()


def test_the_text_of_a_mark_lies_on_no_atom_and_inside_the_drawing(mutag):
    from isonn.report.draw import Mark, draw_graph

    for graph in mutag[:40]:
        drawing = draw_graph(graph, marks=[Mark((0, 1), text="1 +")], shown=[0])
        root = ElementTree.fromstring(drawing.svg)
        x, y = next((float(t.get("x")), float(t.get("y"))) for t in root.iter("text") if t.text == "1 +")
        left, top, width, height = map(float, drawing.box.split())
        assert left + 10 <= x <= left + width - 10
        assert top + 10 <= y <= top + height
        atoms = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter("circle")]
        assert min(np.hypot(x - a, y - 4 - b) for a, b in atoms) >= 12


def test_an_explanation_is_its_answer_its_drawing_and_its_reasons(explanation):
    root = parsed(explanation._repr_html_())
    assert root.find("p").text.startswith("Mutagenic with probability ")
    assert len(root.find("ol")) == len(explanation.reasons)
    svg = parsed(explanation.to_svg())
    assert [part.get("class").split()[-1] for part in svg.iter(f"{SVG}svg")][1:] == ["importance", "waterfall"]
    shown = [
        part
        for part in svg.iter(f"{SVG}path")
        if part.get("class", "").startswith("halo") and " on" in part.get("class")
    ]
    assert len(shown) == len(explanation.reasons) > 0


def test_an_explanation_is_written_as_a_page_and_never_over_another(explanation, tmp_path: Path):
    pytest.importorskip("jinja2")
    explanation.to_html(tmp_path / "why.html")
    assert "<!doctype html>" in (tmp_path / "why.html").read_text()
    with pytest.raises(InputError, match="why.html exists already"):
        explanation.to_html(tmp_path / "why.html")


def test_drawings_need_no_extra():
    code = (
        "import sys\nsys.modules['jinja2'] = sys.modules['matplotlib'] = None\nimport isonn\n"
        "graphs = isonn.load('MUTAG')\nassert '<svg' in graphs._repr_html_() and '<svg' in graphs[0]._repr_html_()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
