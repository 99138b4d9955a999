"""`read_tu`: a folder says what its files say, and a wrong file is named."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tu_folder import FILES, write, write_tu

import isonn
from isonn.errors import DatasetError
from isonn.graphs.io.tu import READER


@pytest.fixture
def mutag_folder() -> Path:
    spec = importlib.util.find_spec("grakel")
    if spec is None:
        pytest.skip("grakel, which holds MUTAG, is not installed")
    return Path(spec.submodule_search_locations[0]) / "tests" / "data" / "MUTAG"


def test_the_graphs_are_those_of_the_lines(tmp_path):
    graphs = READER.read(write(tmp_path))
    assert graphs.name == "DS"
    assert_array_equal(graphs.y, [-1, 1])
    assert_array_equal(graphs[0].adjacency, [[0, 1], [1, 0]])
    assert_array_equal(graphs[1].adjacency, [[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def test_mutag_read_by_pytorch_geometric_is_the_same(mutag_folder):
    io = pytest.importorskip("torch_geometric.io")
    ours = READER.read(mutag_folder)
    theirs, slices, _ = io.read_tu_data(str(mutag_folder), "MUTAG")
    assert_array_equal(ours.node_offsets, slices["x"])
    assert_array_equal(ours.edge_offsets, slices["edge_index"])
    assert_array_equal(ours.edges.T, theirs.edge_index)
    assert_array_equal(ours.node_labels, theirs.x.argmax(dim=1))
    assert_array_equal(ours.edge_labels, theirs.edge_attr.argmax(dim=1))
    assert_array_equal(ours.y, 2 * theirs.y.numpy() - 1)  # PyG relabels the classes from 0


def test_writing_and_reading_changes_nothing(mutag_folder, tmp_path):
    graphs = READER.read(mutag_folder)
    assert READER.read(write_tu(tmp_path, graphs, np.arange(graphs.sizes.sum()))).digest == graphs.digest


def test_nodes_of_different_graphs_may_alternate(mutag_folder, tmp_path):
    graphs = READER.read(mutag_folder)
    owner = np.repeat(np.arange(len(graphs)), graphs.sizes)
    within = np.arange(len(owner)) - graphs.node_offsets[owner]
    alternating = np.lexsort((owner, within))  # first nodes of all graphs, second nodes of all graphs, ...
    assert READER.read(write_tu(tmp_path, graphs, alternating)).digest == graphs.digest


def test_repeated_lines_count_once(tmp_path):
    graphs = READER.read(write(tmp_path, A=FILES["A"] * 2))
    assert graphs.weights is None
    assert len(graphs.edges) == 6


def test_a_dataset_without_any_edge_is_read(tmp_path):
    assert len(READER.read(write(tmp_path, A=[])).edges) == 0


def test_several_columns_of_labels_become_one(tmp_path):
    graphs = READER.read(write(tmp_path, node_labels=["3, 1", "0, 2", "3, 1", "3, 0", "0, 2"]))
    assert_array_equal(graphs.node_labels, [2, 0, 2, 1, 0])
    assert graphs.node_label_names == {0: "0, 2", 1: "3, 0", 2: "3, 1"}


def test_attributes_follow_their_nodes(tmp_path):
    graphs = READER.read(
        write(tmp_path, graph_indicator=["2", "2", "1", "1", "1"], node_attributes=[" 1.5, 2"] * 2 + ["0, 0"] * 3)
    )
    assert_array_equal(graphs.node_attributes, [[0, 0]] * 3 + [[1.5, 2]] * 2)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"graph_labels": None}, "DS_graph_labels.txt is missing"),
        ({"graph_indicator": None}, "DS_graph_indicator.txt is missing"),
        (
            {"graph_labels": ["1"]},
            "graph_indicator.txt continues with graph 2 in line 3; DS_graph_labels.txt has 1 lines",
        ),
        ({"graph_labels": ["1", "nan"]}, "line 2 of .*DS_graph_labels.txt is not finite"),
        ({"node_labels": ["1"] * 4}, "DS_node_labels.txt ends after line 4, in the middle of graph 2 of 2"),
        ({"edge_labels": ["1"] * 5}, "DS_edge_labels.txt ends after line 5, in the middle of graph 2 of 2"),
        (
            {"node_attributes": ["1"] * 6},
            "DS_node_attributes.txt continues after line 5 where DS_graph_indicator.txt ends",
        ),
        ({"node_attributes": ["1", "2", "inf", "1", "1"]}, "line 3 of .*DS_node_attributes.txt is not finite"),
        (
            {"A": ["1, 2", "2, 6"]},
            r"line 2 of .*DS_A.txt joins node 2 of graph 1 to node 6, which is not in that graph",
        ),
        ({"A": ["1, 2", "0, 1"]}, r"line 2 of .*DS_A.txt has the edge \(0, 1\)"),
        ({"A": ["1, 2", "2, 3"]}, "line 2 of .*DS_A.txt joins node 2 of graph 1 to node 3, which"),
        ({"A": ["1, 2", "2, x"]}, "line 2 of .*DS_A.txt holds 'x', which is not an integer"),
        ({"A": ["1, 2", "2, 1.5"]}, "line 2 of .*DS_A.txt holds '1.5', which is not an integer"),
        ({"A": ["1, 2", "2, 1, 1"]}, "line 2 of .*DS_A.txt has 3 columns where the lines before have 2"),
        ({"A": ["1", "2"]}, "DS_A.txt has 1 columns; a line is 'row, column'"),
        ({"node_labels": ["1", "2", "C", "1", "1"]}, "line 3 of .*DS_node_labels.txt holds 'C', which is not a number"),
        ({"graph_indicator": ["0", "0", "1", "1", "1"]}, "has graph 0 in line 1; graphs are counted from 1"),
        ({"graph_indicator": ["2", "2", "3", "3", "3"]}, "graph 1 of 2 in .* has no nodes"),
        ({"graph_indicator": ["1", "1", "3", "3", "3"]}, "graph 2 of 2 in .* has no nodes"),
        (
            {"graph_indicator": ["1", "2", "2", "2", "900000000000"], "A": []},
            "continues with graph 900000000000 in line 5",
        ),
        ({"graph_indicator": ["1", "2", "2", "2", "9" * 30]}, "line 5 of .* holds 9{30}, beyond 64 bits"),
        ({"graph_labels": ["1e20", "1e30"]}, r"line 1 of .*DS_graph_labels.txt has the label 1e\+20, beyond 2\*\*53"),
        ({"node_labels": ["1", "1", "1", "9007199254740993", "1"]}, r"line 4 of .*DS_node_labels.txt has .* beyond 2"),
        ({"edge_labels": ["0.5", "1e300", "1", "1", "1", "1"]}, r"line 2 of .*DS_edge_labels.txt has .* beyond 2"),
        ({"graph_indicator": []}, "DS_graph_indicator.txt ends after line 0, in graph 0 of 2"),
        ({"graph_indicator": ["1", "1"], "A": ["1, 2"]}, r"graph_indicator\.txt ends after line 2, in graph 1 of 2"),
        ({"graph_indicator": ["1", "1", "2"], "A": ["1, 2", "3, 4"]}, "line 2 of .* joins node 3 of graph 2 to node 4"),
        ({"A": FILES["A"][:4], "edge_labels": ["1"] * 6}, r"edge_labels\.txt continues after line 4 where DS_A\.txt"),
        ({"A": [*FILES["A"][:5], "5,"]}, r"line 6 of .*A\.txt holds '', which is not an integer"),
        ({"A": [*FILES["A"], "6, 5"]}, r"has the edge \(6, 5\) in line 7 but nodes are counted from 1 to 5"),
    ],
)
@pytest.mark.parametrize("at_once", [None, 1, 100])
def test_a_wrong_file_is_named(tmp_path, files, message, at_once):
    write(tmp_path, **files)
    with pytest.raises(DatasetError, match=message):
        isonn.load(tmp_path) if at_once is None else list(isonn.stream(tmp_path, at_once))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"A": ["1, 9"]}, r"line 1 of .*DS_A.txt joins node 1 of graph 2 to node 9, which is not in that graph"),
        ({"A": ["9, 1"]}, r"DS_A.txt has the edge \(9, 1\) in line 1 but nodes are counted from 1 to 5"),
        ({"A": ["1, 4"]}, r"line 1 of .*DS_A.txt joins node 1 of graph 2 to node 4, which is not in that graph"),
        ({"node_labels": ["1"] * 4}, "DS_node_labels.txt ends after line 4, in the middle of graph 1 of 2"),
        ({"edge_labels": ["1"] * 4, "A": ["1, 2"]}, "DS_edge_labels.txt continues after line 1 where DS_A.txt ends"),
        (
            {"graph_indicator": ["3", "3", "1", "1", "1"], "graph_labels": ["1"] * 3, "A": []},
            "graph 2 of 3 .* no nodes",
        ),
    ],
)
def test_a_wrong_file_is_named_where_lines_are_not_sorted(tmp_path, files, message):
    with pytest.raises(DatasetError, match=message):
        READER.read(write(tmp_path, **{"graph_indicator": ["2", "2", "1", "1", "1"], **files}))


def test_graph_attributes_are_numbers_to_predict(tmp_path):
    folder = write(tmp_path, graph_attributes=["0.5, 2", "1.5, 3"])
    assert_array_equal(isonn.load(folder).y, [-1, 1])
    assert_array_equal(isonn.load(folder, target="attributes").y, [[0.5, 2], [1.5, 3]])
    assert [piece.y.tolist() for piece in isonn.stream(folder, 1, target="attributes")] == [[[0.5, 2]], [[1.5, 3]]]
    (folder / "DS_graph_labels.txt").unlink()
    assert_array_equal(isonn.load(folder).y, [[0.5, 2], [1.5, 3]])
    with pytest.raises(DatasetError, match="target='age' is not in a TU folder; use 'labels' or 'attributes'"):
        isonn.load(folder, target="age")


def test_two_datasets_in_one_folder_are_refused(tmp_path):
    write(tmp_path, "DS")
    write(tmp_path, "OTHER")
    with pytest.raises(DatasetError, match="holds those of DS, OTHER"):
        READER.read(tmp_path)
