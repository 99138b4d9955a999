"""Every drawer keeps the contract of `Drawer`, also one from outside."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import isonn
from isonn.errors import InputError
from isonn.explain.template import Template
from isonn.report import draw
from isonn.report.draw import Drawer, Drawing, Mark, Scene, draw_graph, drawer_of, find_drawer, register_drawer

EVIL = "<script>alert(1)</script>&\"'"


class Blocks(Drawer):
    """A toy from outside: every node is a square in one row."""

    name = "blocks"

    def draw(self, scene):
        n, steps = scene.graph.n, draw.levels(scene.node_importance)
        colours = ["" if steps is None else draw.level_class(int(steps[node])) for node in range(n)]
        squares = [f'<rect class="{c}" x="{9 * i}" width="8" height="8"/>' for i, c in enumerate(colours)]
        frames = [
            f'<path class="halo {"pos" if mark.positive else "neg"}{scene.on(i)}" data-m="{i}" '
            f'd="M{9 * min(mark.all_nodes)} 0h8"/>'
            for i, mark in enumerate(scene.marks)
        ]
        box = f"0 0 {9 * n} 8"
        return Drawing(self.frame(scene, box, frames + squares), box, "", self.name)

    def draw_template(self, template, title="", symbols=None):
        return self.draw(Scene(isonn.as_graphset([template.adjacency])[0], title or "template"))


@pytest.fixture
def drawers():
    """All drawers by kind; the toy is gone afterwards."""
    register_drawer("blocks", Blocks())
    dense = isonn.as_graphset([np.ones((90, 90)) - np.eye(90)])[0]
    yield {"": find_drawer("graph"), "matrix": drawer_of(dense), "blocks": find_drawer("blocks")}
    draw._DRAWERS.pop("blocks")


@pytest.fixture
def graph():
    matrix = np.zeros((6, 6))
    for a, b in ((0, 1), (1, 2), (2, 0), (2, 3), (3, 4)):
        matrix[a, b] = matrix[b, a] = 1
    made = isonn.as_graphset([matrix])[0]
    return replace(made, node_names=np.array([f"{EVIL}{i}" for i in range(6)]))


@pytest.mark.parametrize("kind", ["", "matrix", "blocks"])
def test_a_drawing_keeps_the_contract(kind, drawers, graph):
    drawer = drawers[kind]
    marks = [Mark((0, 1, 2), text="1 +"), Mark((3, 4, -1), positive=False, text="2 -")]
    weights = np.array([4.0, 1.0, 1.0, -2.0, -4.0, 0.0])
    edges = np.outer(weights, weights)
    drawing = drawer.draw(Scene(graph, marks=marks, shown=[1], node_importance=weights, edge_importance=edges))
    root = ElementTree.fromstring(drawing.svg)
    assert root.tag == "svg"
    assert root.get("class", "").split()[0] == "isonn"
    assert root.get("role") == "img"
    left, top, width, height = map(float, root.get("viewBox").split())
    inner = list(map(float, drawing.box.split()))  # a thumbnail shows no names
    assert left <= inner[0] < inner[0] + inner[2] <= left + width
    assert top <= inner[1] < inner[1] + inner[3] <= top + height
    assert float(root.get("width")) > 0 < float(root.get("height"))
    assert root[0].tag == "title"
    assert "6 nodes" in root[0].text
    assert [part.tag for part in root] == ["title", "g"]
    assert "<script" not in drawing.svg
    assert " style=" not in drawing.svg
    assert not re.search(r'href="(?!#|data:)', drawing.svg)
    by_mark = {number: [part for part in root.iter() if part.get("data-m") == str(number)] for number in (0, 1)}
    assert all("on" not in part.get("class").split() for part in by_mark[0])
    assert by_mark[0]
    assert all("on" in part.get("class").split() for part in by_mark[1])
    assert by_mark[1]
    signs = {name for part in root.iter() for name in part.get("class", "").split() if name in ("pos", "neg")}
    assert signs == {"pos", "neg"}
    steps = {name for part in root.iter() for name in part.get("class", "").split()}
    assert {"p4", "n4"} <= steps
    assert all(text for _, text in drawer.legend())


@pytest.mark.parametrize("kind", ["", "matrix", "blocks"])
def test_a_template_and_its_title_are_drawn(kind, drawers):
    template = Template(np.array([[0, 1], [1, 0]], dtype=np.float32))
    root = ElementTree.fromstring(drawers[kind].draw_template(template, title=EVIL).svg)
    assert root[0].text == EVIL
    assert root.get("role") == "img"


def test_a_graph_is_drawn_by_the_drawer_of_its_kind(drawers, graph):
    assert draw_graph(replace(graph, kind="blocks")).kind == "blocks"
    assert draw_graph(graph).kind == "graph"
    assert find_drawer("nobody knows").name == "graph"


def test_only_a_drawer_is_registered():
    with pytest.raises(InputError, match="is not a Drawer; give an instance"):
        register_drawer("blocks", Blocks)


def test_the_diagonal_makes_no_graph_dense():
    sparse = np.eye(20) + np.eye(20, k=1) + np.eye(20, k=-1)
    assert draw_graph(isonn.as_graphset([sparse])[0]).kind == "graph"
    dense = np.ones((20, 20)) - np.eye(20)
    assert draw_graph(isonn.as_graphset([dense])[0]).kind == "matrix"


def test_cells_of_a_matrix_are_coloured_by_contribution_first():
    dense = isonn.as_graphset([np.ones((20, 20)) - np.eye(20)])[0]
    importance = np.zeros((20, 20))
    importance[3, 4] = importance[4, 3] = 1.0
    root = ElementTree.fromstring(draw_graph(dense, edge_importance=importance).svg)
    assert "importance" in root.get("class").split()
    pictures = {image.get("class"): image.get("href") for image in root.iter("image")}
    assert set(pictures) == {"weights", "cells"}
    assert pictures["weights"] != pictures["cells"]


def test_a_file_holds_its_own_style_without_variables(mutag):
    svg = draw.standalone(draw_graph(mutag[0]).svg)
    root = ElementTree.fromstring(svg)
    style = root.find("{http://www.w3.org/2000/svg}style").text
    assert ".isonn .nodes circle" in style
    assert "var(" not in svg
    assert "color-mix" not in svg
