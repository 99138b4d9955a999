"""Streams: chunks are slices of what `load` returns, and a file that ends too soon is named with its line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from graph_samples import assert_equal_sets
from tu_folder import FILES, write, write_tu

import isonn
from isonn.errors import DatasetError, InputError, IsoNNWarning
from isonn.graphs import GraphSet
from isonn.graphs.io import text


def assert_same(chunks: list[GraphSet], whole: GraphSet, at_once: int) -> None:
    """Every chunk is the slice of the whole at its place, in everything it holds."""
    assert [len(chunk) for chunk in chunks[:-1]] == [at_once] * (len(chunks) - 1)
    first = 0
    for chunk in chunks:
        part = whole[first : first + len(chunk)]
        first += len(chunk)
        if (
            chunk.weights is None and part.weights is not None
        ):  # a chunk does not know that edges of others have weights
            chunk = replace(chunk, weights=np.ones(len(part.weights)))
        assert_equal_sets(chunk, part)
    assert first == len(whole)


@pytest.fixture
def folder(tmp_path, mutag):
    return write_tu(tmp_path, mutag, np.arange(mutag.node_offsets[-1]))


@pytest.mark.parametrize("at_once", [1, 7, 94, 188, 1000])
def test_chunks_of_a_tu_folder_are_slices_of_it(folder, at_once, monkeypatch):
    monkeypatch.setattr(text, "BLOCK_BYTES", 500)
    assert_same(list(isonn.stream(folder, at_once)), isonn.load(folder), at_once)


@pytest.mark.parametrize(
    "files",
    [
        {"node_labels": ["1, 0", "0, 1", "2, 2", "1, 0", "0, 1"]},
        {"node_labels": ["1", "2", "3", "4", "4.5"], "edge_labels": ["1", "2", "2", "1", "0.5", "7"]},
        {"node_labels": ["1e0", "2", "3", "4", "4"]},
        {"node_attributes": ["1, 2.5", "2, 0", "3, 1", "4, 1", "4.5, 9"]},
        {"graph_labels": ["1, 0", "0, 1"]},
        {"graph_labels": ["0.5", "1"]},
        {"A": []},
        {"A": ["1, 2", "1, 2", "4, 3", "3, 4", "5, 5"]},
    ],
    ids=["columns", "fractions", "integers-as-floats", "attributes", "labels", "classes", "no-edge", "repeated"],
)
def test_whatever_a_tu_folder_holds_is_read_alike(tmp_path, files):
    write(tmp_path, **files)
    assert_same(list(isonn.stream(tmp_path, 1)), isonn.load(tmp_path), 1)


@pytest.mark.parametrize("what", ["graph_indicator", "A", "node_labels", "edge_labels"])
@pytest.mark.parametrize("line", range(6))
def test_blank_lines_never_move_an_edge_or_a_label_to_another_chunk(tmp_path, what, line):
    files = {**FILES, "node_labels": ["3", "4", "5", "6", "7"], "edge_labels": ["1", "2", "3", "4", "5", "6"]}
    write(tmp_path, **{**files, what: [*files[what][:line], "", *files[what][line:]]})
    if what == "A":
        (tmp_path / "DS_edge_labels.txt").unlink()  # which would show that a line is missing
    assert_same(list(isonn.stream(tmp_path, 1)), isonn.load(tmp_path), 1)


def test_a_stream_is_read_again_and_again(folder):
    stream = isonn.stream(folder, 50)
    assert [chunk.digest for chunk in stream] == [chunk.digest for chunk in stream]
    assert repr(stream) == "GraphStream(DS, 50 graphs at once)"


@pytest.mark.parametrize(
    "files",
    [
        {"graph_indicator": ["1", "2", "1", "2", "2"], "A": []},
        {"A": ["3, 4", "1, 2"]},
        {"A": ["3, 4", "", "1, 2"], "graph_indicator": ["1", "", "1", "2", "2", "2"]},
    ],
)
def test_lines_that_are_not_sorted_by_graph_are_read_whole_with_a_warning(tmp_path, files):
    write(tmp_path, **files)
    with pytest.warns(IsoNNWarning, match="is not sorted by graph, so all of it is read into memory"):
        chunks = list(isonn.stream(tmp_path, 1))
    assert_same(chunks, isonn.load(tmp_path), 1)


@pytest.fixture
def many(tmp_path, mutag):
    """A folder of two TU folders, one of them further down, beside a hidden file."""
    for name, part in (("a", mutag[:50]), ("b/inner", mutag[50:60])):
        (tmp_path / name).mkdir(parents=True)
        write_tu(tmp_path / name, part, np.arange(part.node_offsets[-1]))
    (tmp_path / ".notes").write_text("hidden")
    return tmp_path


def test_a_folder_of_many_datasets_is_one_in_the_order_of_names(many, mutag):
    whole = isonn.load(many)
    assert (whole.name, len(whole)) == (many.name, 60)
    assert whole.with_y(None).digest == replace(mutag[:60], y=None).digest
    assert_same(list(isonn.stream(many, 7)), whole, 7)


def test_files_of_matrices_are_joined(tmp_path):
    generator = np.random.default_rng(0)
    for i, scale in enumerate([1.0, 0.5]):
        edges = np.triu(generator.random((5, 4, 4)) < 0.5, 1) * scale
        np.savez(tmp_path / f"{i}.npz", adjacency=edges + edges.transpose(0, 2, 1), labels=np.arange(5) % 2)
    whole = isonn.load(tmp_path)
    assert len(whole) == 10
    assert_same(list(isonn.stream(tmp_path, 3)), whole, 3)


def test_an_unreadable_file_among_many_is_named(many):
    (many / "c.txt").write_text("1\n2 0\n0 1 1\n")
    for read in (isonn.load, lambda path: list(isonn.stream(path))):
        with pytest.raises(DatasetError, match=r"c\.txt ends after line 3, in the middle of graph 0 of 1"):
            read(many)
    (many / "c.txt").rename(many / "c.doc")
    with pytest.raises(DatasetError, match=r"c\.doc has no format that isonn reads"):
        isonn.load(many)


def test_a_file_that_holds_something_else_than_the_others_is_named(many):
    (many / "c.txt").write_text("1\n2 0\n0 1 1\n0 1 0\n")
    with pytest.raises(DatasetError, match=r"c\.txt has no edge_labels where DS has them; give all files"):
        isonn.load(many)


def test_sets_in_memory_and_functions_are_streams(mutag):
    parts = [mutag[:10], mutag[10:11], mutag[11:]]
    for source in (parts, lambda: iter(parts), mutag, isonn.stream(mutag, 3), "MUTAG"):
        assert_same([replace(chunk, name="MUTAG") for chunk in isonn.stream(source, 64)], mutag, 64)


def test_an_iterator_is_refused_for_it_cannot_be_read_twice(mutag):
    with pytest.raises(InputError, match="can be read only once; give a list, or a function"):
        isonn.stream(iter([mutag]))


@pytest.mark.parametrize("source", [3, None])
def test_what_is_no_stream_is_refused(source):
    with pytest.raises(InputError, match="is not a stream of graphs; give a path"):
        isonn.stream(source)


def test_items_that_are_no_sets_or_not_alike_are_named(mutag):
    with pytest.raises(InputError, match="item 1 of the stream is of type Graph; give GraphSets"):
        list(isonn.stream([mutag, mutag[0]]))
    with pytest.raises(InputError, match=r"item 1 of the stream \(MUTAG\) has no classes where MUTAG has them"):
        list(isonn.stream([mutag, mutag.with_y(None)]))
    with pytest.raises(InputError, match=r"has classes such as .*'a'.* where"):
        list(isonn.stream([mutag, mutag.with_y(["a"] * 188)]))


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True])
@pytest.mark.parametrize("parameter", ["at_once", "workers"])
def test_a_stream_needs_a_graph_at_once_and_a_thread(mutag, parameter, wrong):
    with pytest.raises(InputError, match=f"{parameter}={wrong} is not a count; use an integer >= 1"):
        isonn.stream(mutag, **{parameter: wrong})
