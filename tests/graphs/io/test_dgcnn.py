"""`read_text`: the DGCNN/GIN format."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from isonn.errors import DatasetError
from isonn.graphs.io.dgcnn import READER

TWO = ["2", "3 1", "5 1 1", "6 2 0 2", "5 1 1", "1 0", "7 0"]


def write(folder: Path, lines: list[str]) -> Path:
    path = folder / "two.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_graphs_are_those_of_the_lines(tmp_path):
    graphs = READER.read(write(tmp_path, TWO))
    assert graphs.name == "two"
    assert_array_equal(graphs.y, [1, 0])
    assert_array_equal(graphs.node_labels, [5, 6, 5, 7])
    assert_array_equal(graphs[0].adjacency, [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert_array_equal(graphs[1].adjacency, [[0]])


def test_a_neighbour_named_once_is_a_neighbour_of_both(tmp_path):
    one_sided = ["2", "3 1", "5 0", "6 2 0 2", "5 0", "1 0", "7 0"]
    assert READER.read(write(tmp_path, one_sided)).digest == READER.read(write(tmp_path, TWO)).digest


def test_numbers_after_the_neighbours_are_attributes(tmp_path):
    graphs = READER.read(write(tmp_path, ["1", "2 0", "0 1 1 0.5 2", "0 1 0 -1 3"]))
    assert_array_equal(graphs.node_attributes, [[0.5, 2], [-1, 3]])
    assert READER.read(write(tmp_path, TWO)).node_attributes is None


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (1, "two", "line 1 of .*two.txt is 'two'; the number of graphs belongs there"),
        (1, "0", "line 1 of .*two.txt announces 0 graphs"),
        (1, "1", "line 6 of .*two.txt comes after the last of 1 graphs"),
        (1, "3", "ends after line 7, in the middle of graph 2 of 3"),
        (2, "4 1", "ends after line 7, in the middle of graph 1 of 2"),
        (2, "3", "line 2 of .*two.txt is '3'; number of nodes and class belongs there"),
        (2, "0 1", "line 2 of .*two.txt gives graph 0 of 2 0 nodes"),
        (3, "5 1 3", "line 3 of .*two.txt has the neighbour 3 in a graph with nodes 0 to 2"),
        (3, "5 1 -1", "line 3 of .*two.txt has the neighbour -1"),
        (3, "5 2 1", "line 3 of .*two.txt promises 2 neighbours and has 1"),
        (3, "C 1 1", "line 3 of .*two.txt is 'C 1 1'; a node is"),
        (3, "", "line 3 of .*two.txt is ''; a node is"),
        (4, "6 2 0 2 0.5", "line 4 of .*two.txt has 1 attributes after the neighbours where the nodes before have 0"),
        (4, "6 2 0 2 nan", "line 4 of .*two.txt has an attribute that is not finite"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, text, message):
    lines = TWO.copy()
    lines[line - 1] = text
    with pytest.raises(DatasetError, match=message):
        READER.read(write(tmp_path, lines))


@pytest.mark.parametrize("kept", range(len(TWO)))
def test_a_file_cut_anywhere_is_refused(tmp_path, kept):
    with pytest.raises(DatasetError, match=f"ends after line {kept}, in the middle of"):
        READER.read(write(tmp_path, TWO[:kept]))


def test_ptc_is_symmetric_and_degrees_are_those_of_the_file():
    path = Path(os.environ.get("ISONN_DATA", "")) / "PTC" / "PTC.txt"
    if "ISONN_DATA" not in os.environ or not path.exists():
        pytest.skip("PTC/PTC.txt is not in ISONN_DATA")
    graphs = READER.read(path)
    rows = [line.split() for line in path.read_text().splitlines()[1:]]
    starts = np.cumsum([0, *(graphs.sizes + 1)])[:-1]
    degrees = [int(row[1]) for i, row in enumerate(rows) if i not in set(starts.tolist())]
    found = np.concatenate([graph.adjacency.sum(axis=1) for graph in graphs])
    assert_array_equal(found, degrees)
    for graph in graphs:
        assert_array_equal(graph.adjacency, graph.adjacency.T)
