"""Drawings are well-formed, escaped, and show what they are asked to."""

from __future__ import annotations

import base64
import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import isonn
from isonn.graphs.join import graphset_from_cells
from isonn.report.draw import Mark, draw_graph, symbols


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def texts(svg: str) -> list[str]:
    return [text.text or "" for text in parsed(svg).iter("text")]


def test_atoms_have_their_symbols_and_colours_and_bonds_their_lines(mutag):
    graph = mutag[0]  # a nitro group: one double bond, the rest of the molecule aromatic
    svg = draw_graph(graph, symbols=symbols(mutag), title="molecule").svg
    names = [mutag.node_label_names[label] for label in graph.node_labels.tolist()]
    assert sorted(texts(svg)) == sorted(names)
    assert svg.count('class="elN"') == names.count("N")
    aromatic = sum(mutag.edge_label_names[label] == "aromatic" for label in graph.edge_labels.tolist()) // 2
    assert svg.count('class="aromatic"') == aromatic
    assert parsed(svg).get("role") == "img"
    assert parsed(svg).find("title").text == "molecule"


def test_importance_is_a_step_of_the_scale_for_nodes_and_edges():
    path = isonn.as_graphset([np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])])[0]
    edges = np.zeros((3, 3))
    edges[0, 1] = edges[1, 0] = -2.0
    svg = draw_graph(path, node_importance=np.array([1.0, 0.0, -0.5]), edge_importance=edges).svg
    assert re.findall(r'<g class="plain([^"]*)">', svg) == [" p4", "", " n2"]
    assert svg.count('class="n4"') == 1


def test_directed_edges_have_heads_and_loops_are_drawn():
    arrow = graphset_from_cells([0, 0], [(0, 1), (0, 0)], [2])[0]
    both = graphset_from_cells([0, 0], [(0, 1), (1, 0)], [2])[0]
    assert draw_graph(arrow).svg.count("M") == draw_graph(both).svg.count("M") + 2
    assert "a5.5 5.5" in draw_graph(arrow).svg


def test_weights_are_widths_and_negative_ones_dashed():
    matrix = np.array([[0, 1.0, -0.2], [1.0, 0, 0], [-0.2, 0, 0]])
    svg = draw_graph(isonn.as_graphset([matrix])[0]).svg
    assert 'class="w3"' in svg
    assert 'class="w1 neg"' in svg


def test_a_dense_graph_is_a_matrix_of_its_weights():
    plt = pytest.importorskip("matplotlib.image")
    weights = np.random.default_rng(0).normal(size=(20, 20))
    weights[0, 1], weights[1, 0] = 9.0, -9.0
    drawing = draw_graph(isonn.as_graphset([weights])[0], marks=[Mark((3, 4, 5), (7, 8, 12))], shown=[0])
    assert drawing.kind == "matrix"
    png = re.search(r'base64,([^"]+)"', drawing.svg).group(1)
    pixels = plt.imread(io.BytesIO(base64.b64decode(png)), format="png")  # another library reads what we wrote
    assert pixels.shape == (20, 20, 4)
    np.testing.assert_allclose(pixels[:, :, 3], np.abs(weights) / 9, atol=0.03)
    assert pixels[0, 1, 2] > pixels[0, 1, 0]  # blue
    assert pixels[1, 0, 0] > pixels[1, 0, 2]  # orange
    frame = next(p for p in parsed(drawing.svg).iter("path") if "frame-match" in p.get("class"))
    assert frame.get("d").count("M") == 2  # columns 7 and 8 are one block, 12 another
    guide = next(p for p in parsed(drawing.svg).iter("path") if "guide" in p.get("class"))
    assert (guide.get("d").count("H"), guide.get("d").count("V")) == (1, 2)


def test_labels_without_names_are_shown_in_short():
    graphs = graphset_from_cells([0, 0], [(0, 1), (1, 0)], [2], node_labels=np.array(["long name", "b"]))
    drawing = draw_graph(graphs[0], symbols=symbols(graphs))
    assert texts(drawing.svg) == ["lo…", "b"]
    assert drawing.note == "Labels: lo… is long name."
