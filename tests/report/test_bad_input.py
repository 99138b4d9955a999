"""Pages of awkward graphs: endless and right-to-left names, huge graphs, no reason, no name."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import isonn
from isonn.graphs.graph import GraphSet
from isonn.graphs.join import graphset_from_cells
from isonn.report.explain_page import explain_page
from isonn.report.model_page import ModelPage
from isonn.report.page_models import held_out

ENDLESS = "n" * 10_000
HEBREW = "\u05d2\u05e8\u05e3 \u05e9\u05dc \u05de\u05d5\u05dc\u05e7\u05d5\u05dc\u05d4"


def page_of(clf, graphs: GraphSet) -> str:
    return ModelPage(held_out(clf, graphs)).html()


@pytest.fixture(scope="module")
def few(mutag):
    return mutag[:24]


@pytest.fixture(scope="module")
def clf(few):
    return isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(few)


@pytest.mark.parametrize("name", [ENDLESS, HEBREW])
def test_ids_classes_and_names_of_any_kind_stay_text_and_short(name, few, clf):
    named = replace(
        few,
        ids=np.array([f"{name} {i}" for i in range(len(few))]),
        class_names={-1: f"{name} a", 1: f"{name} b"},
        name=name[:200],
    )
    text = page_of(clf, named)
    assert ENDLESS not in text
    assert 'dir="auto"' in text
    assert len(text) < 2_000_000


def ring_with_a_tail(n: int):
    links = [(i, (i + 1) % n) for i in range(n)]
    cells = np.array([*links, *[(b, a) for a, b in links]])
    labels = np.zeros(n, dtype=int)
    labels[n // 2 : n // 2 + 3] = 1
    return cells, labels


def test_a_graph_of_5000_nodes_is_drawn_around_its_reason():
    sizes = [5000, 12, 5001, 13, 5002, 14]  # equal graphs count once
    owner, cells, labels = [], [], []
    for number, n in enumerate(sizes):
        edges, own = ring_with_a_tail(n)
        owner += [number] * len(edges)
        cells.append(edges)
        labels.append(own if number % 2 == 0 else np.zeros(n, dtype=int))
    graphs = graphset_from_cells(
        owner, np.concatenate(cells), sizes, node_labels=np.concatenate(labels), y=np.array([1, 0] * 3)
    )
    clf = isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0).fit(graphs)
    text, cases = explain_page(clf, graphs, [0])
    (panel,) = cases.panels
    assert re.search(r"The graph has 5,000 nodes; the 60 nearest to the reasons are drawn\.", text)
    assert panel.drawing.svg.count("<circle") <= 300
    assert set(panel.reasons[0].members) & {2500, 2501, 2502} or panel.reasons[0].members
    shown = {int(node) for node in re.findall(r"<title>(\d+)</title>", panel.drawing.svg)}
    assert set(panel.reasons[0].members) <= shown
    assert len(text) < 1_000_000


def test_a_model_without_any_reason_says_so():
    lonely = isonn.as_graphset([np.zeros((3, 3))] * 6, y=[0, 1] * 3)
    clf = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0)
    pairs = isonn.as_graphset([np.ones((n, n)) - np.eye(n) for n in (2, 2, 3, 3, 2, 3)], y=[0, 1] * 3)
    clf.fit(pairs)
    text = page_of(clf, lonely)
    assert "No piece of this graph speaks for or against the prediction." in text
    assert "<h1" in text


def test_graphs_without_names_or_labels_have_a_page(tmp_path: Path):
    draw = np.random.default_rng(0)
    matrices = []
    for _ in range(12):
        matrix = np.triu(draw.random((7, 7)) < 0.4, 1)
        matrices.append((matrix | matrix.T).astype(float))
    graphs = isonn.as_graphset(matrices, y=np.arange(12) % 2)
    clf = isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0).fit(graphs)
    clf.report(graphs, None, tmp_path / "page.html", cross_fit=False)
    text = (tmp_path / "page.html").read_text()
    assert "Which graphs of this set are of class 1, and why?" in text
    assert "None" not in re.sub(
        r"<script.*?</script>|<style.*?</style>|SubgraphClassifier\(.*?\)", "", text, flags=re.S
    )
