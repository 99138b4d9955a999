"""The survey: one pass finds the same whatever the chunks and processes, and refuses directed graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rich_graphs import rich_graphs
from tu_folder import write

import isonn
from isonn.errors import DatasetError, InputError
from isonn.graphs.join import graphset_from_cells
from isonn.subgraphs import levels
from isonn.subgraphs.survey import COLUMNS, DistinctValues, Survey, directed_graph
from isonn.subgraphs.views import LabelsView


@pytest.fixture(scope="module")
def graphs():
    """Half of them with weights of 1, so that a chunk need not have any."""
    graphs = rich_graphs(40, p=0.3)
    return replace(graphs, weights=np.where(graphs.graph_of_cell < 20, 1.0, graphs.weights))


def assert_same_values(found, expected):
    assert found.has == expected.has
    assert (found.labels.keys(), found.values.keys()) == (expected.labels.keys(), expected.values.keys())
    for name, labels in expected.labels.items():
        np.testing.assert_array_equal(found.labels[name], labels)
    for name, values in expected.values.items():
        for column in ("rows", "often", "largest"):
            np.testing.assert_array_equal(getattr(found.values[name], column), getattr(values, column))


@pytest.mark.parametrize("at_once", [1, 7, 40])
def test_chunks_are_surveyed_as_the_whole(graphs, at_once):
    chunks = [replace(graphs[i : i + 10], weights=None) if i < 20 else graphs[i : i + 10] for i in range(0, 40, 10)]
    views = (LabelsView(node_attributes=True),)
    whole, found = Survey.of(isonn.stream(graphs, 40), views), Survey.of(isonn.stream(chunks, at_once), views)
    assert_same_values(found.values, whole.values)
    assert whole.values.has == dict.fromkeys(COLUMNS, True)
    for name in ("y", "terms", "hashes"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    assert (len(found), found.largest, found.kind) == (40, int(graphs.sizes.max()), graphs.kind)


def test_a_survey_has_the_names_ids_and_targets_of_the_graphs(mutag):
    found = Survey.of(isonn.stream(mutag, 50), (LabelsView(),))
    np.testing.assert_array_equal(found.y, mutag.y)
    assert found.label_names["node"] == dict(mutag.node_label_names)
    assert found.names_for(None)["class"] == dict(mutag.class_names)
    assert found.names_for(mutag.y)["class"] == {}
    assert Survey.of(isonn.stream(mutag.with_y(None), 50), (LabelsView(),)).y is None


def test_a_wrong_line_of_a_stream_is_told_as_of_the_whole_folder(tmp_path):
    (tmp_path / "DS").mkdir()
    lines = ["1", "1", "2", "2", "2", "3", "3"]
    edges = ["1, 2", "2, 1", "3, 4", "4, 3", "6, 5"]
    write(tmp_path / "DS", graph_indicator=lines, graph_labels=["0", "1", "1"], A=edges)
    with pytest.raises(DatasetError, match=r"line 5 of .* joins node 6 of graph 3 to node 5"):
        isonn.SubgraphClassifier(2).fit(isonn.stream(tmp_path / "DS", 1))


@pytest.mark.parametrize("width", [1, 3])
def test_values_of_chunks_in_any_order_are_those_of_the_whole(width, monkeypatch):
    monkeypatch.setattr(levels, "MOST_NUMBERS", 50 * width)
    monkeypatch.setattr(levels, "FEWEST_ROWS", 10)
    graphs = rich_graphs(40, p=0.3)
    attributes = np.random.default_rng(1).normal(size=(150, width)).repeat(20, axis=0)[: graphs.node_offsets[-1]]
    graphs = replace(graphs, node_attributes=attributes[np.argsort(np.arange(len(attributes)) % 7, kind="stable")])
    chunks = DistinctValues()
    for start, stop in ((30, 40), (0, 13), (13, 30)):
        chunks.add(graphs[start:stop])
    assert_same_values(chunks, DistinctValues().add(graphs))


def test_directed_graphs_are_found_by_edges_weights_and_labels():
    symmetric = rich_graphs()
    assert directed_graph(symmetric) is None
    above = symmetric.edges[:, 0] < symmetric.edges[:, 1]
    assert directed_graph(replace(symmetric, weights=symmetric.weights + above)) == 0
    one_way = isonn.as_graphset([[[0, 1], [1, 0]], [[0, 1, 0], [0, 0, 0], [0, 0, 0]]])
    assert directed_graph(one_way) == 1
    labels = np.array([1, 1, 1, 2])
    assert directed_graph(graphset_from_cells([0, 0, 1, 1], [(0, 1), (1, 0)] * 2, [2, 2], None, labels)) == 1
    with pytest.raises(InputError, match=r"graph 1 of 2 is directed, .* make it symmetric, or use IsoNNClassifier"):
        isonn.SubgraphVectorizer().fit(one_way)


def test_a_directed_graph_is_named_by_its_number_in_the_stream():
    arrow = isonn.as_graphset([[[0, 1], [1, 0]], [[0, 1], [0, 0]]], y=[0, 1])
    plain = isonn.as_graphset([[[0, 1], [1, 0]]] * 9, y=[0, 1, 0] * 3)
    with pytest.raises(InputError, match="graph 10 of graphs is directed, and subgraphs need undirected graphs; make"):
        isonn.SubgraphClassifier().fit(isonn.stream([plain, arrow], 3))


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
def test_an_asymmetry_of_rounding_is_no_direction_and_a_real_one_is(scale):
    series = np.random.default_rng(0).normal(size=(6, 8, 40))
    matrices = np.array([np.corrcoef(one) for one in series])
    matrices[:, 0, 1] = matrices[:, 1, 0] * (1 + 1e-15)  # numpy.corrcoef does this on some machines
    graphs = isonn.as_graphset(matrices * scale, y=[0, 1] * 3)
    assert (graphs[0].adjacency != graphs[0].adjacency.T).any()
    isonn.SubgraphClassifier(2, random_state=0).fit(graphs).predict(graphs)
    matrices[4, 2, 3] *= 1 + 1e-6
    with pytest.raises(InputError, match="graph 4 of 6 is directed"):
        isonn.SubgraphClassifier(2).fit(isonn.as_graphset(matrices * scale, y=[0, 1] * 3))
