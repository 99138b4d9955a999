"""Drawings of molecules: what the contract of drawers asks for, and that they show the molecule."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import isonn
from isonn.report.draw import Mark, draw_graph, draw_template, find_drawer

pytest.importorskip("rdkit")

from isonn.molecules.draw import fragment
from isonn.molecules.labels import read_atom

HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture
def nitrobenzene():
    return isonn.molecules.from_smiles(["O=[N+]([O-])c1ccccc1"], ids=[HOSTILE])[0]


def elements(svg: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg).iter())


def test_a_molecule_is_drawn_as_a_formula_with_marks_and_importances(nitrobenzene):
    importance = np.linspace(-1, 1, 9)
    drawing = draw_graph(
        nitrobenzene,
        title=HOSTILE,
        marks=[Mark((0, 1, 2), text="1 +"), Mark((4, 5), positive=False)],
        shown=[0],
        node_importance=importance,
        edge_importance=nitrobenzene.adjacency * importance,
    )
    root, first, group, *_ = found = elements(drawing.svg)
    assert root.get("class") == "isonn molecule importance"
    assert root.get("role") == "img"
    assert root.get("viewBox") == drawing.box
    assert first.text == HOSTILE
    assert group.tag == "g"
    assert {element.get("data-m") for element in found} == {None, "0", "1"}
    assert [e.get("class") for e in found if e.get("data-m") == "0"] == ["halo pos on", "tag on"]
    assert [e.get("class") for e in found if e.get("data-m") == "1"] == ["halo neg"]
    assert {e.tag for e in found} <= {"svg", "title", "g", "path", "circle", "text"}
    assert not any(e.get("style") for e in found)
    assert sum(e.tag == "circle" for e in found) == int((np.abs(importance) >= 1 / 8).sum())


def test_the_title_names_the_molecule(nitrobenzene):
    assert elements(draw_graph(nitrobenzene).svg)[1].text.startswith("Molecule O=[N+]([O-])c1ccccc1. Graph of 9 atoms")


def test_an_explanation_of_a_molecule_is_a_formula():
    clf = isonn.SubgraphClassifier(head="linear", random_state=0).fit(
        ["CC(=O)O", "CCO", "CCC(=O)O", "CCCO"], [1, 0, 1, 0]
    )
    assert 'class="isonn molecule importance"' in clf.explain("CCCC(=O)O").to_svg()


@pytest.mark.parametrize("view", ["labels", "elements"])
def test_templates_are_fragments_with_their_attachment_points(view):
    smiles = ["c1ccccc1O", "c1ccccc1N", "Cc1ccccc1", "CC(C)(C)O", "[NH4+]", "CC(=O)[O-]"] * 2
    clf = isonn.SubgraphClassifier(view=view, head="linear", random_state=0).fit(smiles, [0, 1] * 6)
    for template in clf.templates_:
        assert 'class="isonn molecule"' in draw_template(template, kind="molecules").svg
        molecule, k = fragment(template), template.k
        for node, label in enumerate(template.node_labels):
            atom = molecule.GetAtomWithIdx(node)
            if view == "labels":
                assert read_atom(label).degree == atom.GetDegree()
            assert all(atom.GetIdx() >= k for atom in molecule.GetAtoms() if atom.GetAtomicNum() == 0)


def test_a_large_molecule_is_drawn_around_its_marks():
    drawing = draw_graph(isonn.molecules.from_smiles(["C" * 2000])[0], marks=[Mark((1000, 1001))])
    assert drawing.note == "The graph has 2,000 nodes; the 60 nearest to the reasons are drawn."


def test_without_rdkit_the_plain_drawing_stays(nitrobenzene, monkeypatch):
    from isonn.report import draw

    monkeypatch.delitem(draw._DRAWERS, "molecules", raising=False)
    monkeypatch.setitem(sys.modules, "isonn.molecules.draw", None)
    assert find_drawer("molecules").name == "graph"
