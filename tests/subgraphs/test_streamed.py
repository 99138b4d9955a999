"""A model learned from a stream is the model learned from the same graphs in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from rich_graphs import rich_graphs

import isonn
from isonn.errors import DatasetError, InputError, IsoNNWarning, ModelFileError
from isonn.subgraphs import select as starting
from isonn.subgraphs import soft as solving
from isonn.subgraphs import store as bank_files
from isonn.subgraphs import views as distinct
from isonn.subgraphs import views as gathering
from isonn.subgraphs.soft import SoftTemplateClassifier
from isonn.subgraphs.views import DistinctRows, DistinctValues


def classifier(**settings):
    return SoftTemplateClassifier(**{"k": (1, 2, 3), "c": 6, "epochs": 4, "random_state": 0, **settings})


def assert_same_model(one, other):
    assert one.encoding_.as_json() == other.encoding_.as_json()
    assert (one.groups_, one.size_, one.classes_.tolist()) == (other.groups_, other.size_, other.classes_.tolist())
    assert one.sampled_ == pytest.approx(other.sampled_)
    tensors = other.model_.state_dict()
    for name, tensor in one.model_.state_dict().items():
        torch.testing.assert_close(tensor, tensors[name], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(one.history_.loss, other.history_.loss, rtol=1e-6)


@pytest.fixture(scope="module")
def graphs():
    """Half of them without weights, so that a chunk need not know of them."""
    graphs = rich_graphs(40, p=0.3)
    weights = np.where(graphs.graph_of_cell < 20, 1.0, graphs.weights)
    return replace(graphs, weights=weights)


SETTINGS = {
    "plain": {},
    "batches": {"batch_size": 7},
    "frozen": {"learn_templates": False},
    "mlp": {"head": "mlp", "hidden": (8,)},
    "ensemble": {"head": "ensemble", "epochs": 1},
    "attributes": {"node_attributes": True, "edge_weights": True, "degrees": False},
    "bare": {"node_labels": False, "edge_labels": False, "node_attributes": False, "edge_weights": False},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("at_once", [7, 40])
def test_a_stream_gives_the_model_of_the_same_graphs_in_memory(graphs, settings, at_once):
    chunks = [replace(graphs[i : i + 10], weights=None) if i < 20 else graphs[i : i + 10] for i in range(0, 40, 10)]
    expected = classifier(**settings).fit(graphs)
    found = classifier(**settings).fit(isonn.stream(chunks, at_once))
    assert_same_model(found, expected)
    assert found.training_accuracy_ == pytest.approx(expected.score(graphs, graphs.y))


def test_parts_of_any_size_solve_for_the_same_head(mutag, monkeypatch):
    expected = classifier(learn_templates=False).fit(mutag)
    monkeypatch.setattr(solving, "GRAPHS_AT_ONCE", 50)
    monkeypatch.setattr(starting, "GRAPHS_AT_ONCE", 30)
    found = classifier(learn_templates=False).fit(mutag)
    np.testing.assert_allclose(found.predict_proba(mutag), expected.predict_proba(mutag), atol=1e-4)
    tensors = found.model_.state_dict()
    for name in ("standardize.mean", "standardize.deviation"):
        torch.testing.assert_close(tensors[name], expected.model_.state_dict()[name], rtol=1e-5, atol=1e-6)
    assert_same_model(classifier(learn_templates=False).fit(isonn.stream(mutag, 33)), found)


def test_a_sample_of_a_large_set_holds_every_class(mutag, monkeypatch):
    y = mutag.y.copy()
    y[100] = 7
    monkeypatch.setattr(solving, "LINEAR_NUMBERS", 30 * 6 * 5 * 2)
    found = classifier(learn_templates=False).fit(isonn.stream(mutag.with_y(y), 50))
    assert_same_model(found, classifier(learn_templates=False).fit(mutag, y))
    rows = solving.sampled_rows(np.array([0, 1] * 50 + [2]), 10, 200, seed=0)
    assert 20 <= len(rows) <= 23
    assert 100 in rows
    assert (np.diff(rows) > 0).all()
    assert solving.sampled_rows(np.zeros(20), 10, 200, seed=0) is None


def test_indicator_matrices_and_other_classes_can_be_given(graphs):
    y = np.stack([graphs.y, graphs.sizes > 7], axis=1).astype(int)
    expected = classifier().fit(graphs, y)
    found = classifier().fit(isonn.stream(graphs.with_y(None), 9), y)
    assert_same_model(found, expected)
    assert found.training_accuracy_ == pytest.approx(expected.score(graphs, y))


def test_sampled_subgraphs_are_the_same(graphs):
    with pytest.warns(IsoNNWarning, match=r"of 40 graphs of graphs have more subgraphs than max_subgraphs"):
        found = classifier(max_subgraphs=12).fit(isonn.stream(graphs, 11))
    with pytest.warns(IsoNNWarning, match="were sampled"):
        expected = classifier(max_subgraphs=12).fit(graphs)
    assert found.sampled_
    np.testing.assert_allclose(found.predict_proba(graphs), expected.predict_proba(graphs), atol=1e-6)


def test_large_sets_are_taken_in_batches_either_way(graphs, monkeypatch):
    monkeypatch.setattr(solving, "MOST_AT_ONCE", 30)
    monkeypatch.setattr(solving, "LARGE_SET_BATCH", 16)
    expected = classifier(batch_size=16).fit(graphs)
    assert_same_model(classifier().fit(graphs), expected)
    assert_same_model(classifier().fit(isonn.stream(graphs, 10)), expected)


def test_predictions_of_a_stream_are_those_of_its_graphs(mutag):
    clf = classifier(epochs=1).fit(mutag)
    chunks = isonn.stream(mutag, 50)
    np.testing.assert_allclose(clf.predict_proba(chunks), clf.predict_proba(mutag), atol=1e-6)
    assert clf.predict(chunks).tolist() == clf.predict(mutag).tolist()
    np.testing.assert_allclose(clf.transform(chunks), clf.transform(mutag), atol=1e-5)
    assert clf.score(chunks, mutag.y) == clf.score(mutag, mutag.y)


def test_a_bank_that_is_kept_is_not_cut_again(mutag, tmp_path, monkeypatch):
    first = classifier().fit(isonn.stream(mutag, 50), bank=tmp_path)
    assert len(list(tmp_path.glob("part-*"))) == 4
    monkeypatch.setattr(bank_files, "bank_block", None)  # whoever cuts fails
    assert_same_model(classifier().fit(isonn.stream(mutag, 50), bank=tmp_path), first)
    other = classifier(c=3, epochs=1).fit(isonn.stream(mutag, 50), bank=str(tmp_path))
    assert sum(c for _, _, c in other.groups_) == 6


def test_graphs_in_memory_can_be_banked_with_processes(mutag, tmp_path):
    expected = classifier().fit(mutag)
    assert_same_model(classifier().fit(mutag, bank=tmp_path, workers=2), expected)


def test_a_bank_of_other_graphs_is_refused(mutag, tmp_path):
    classifier(epochs=1).fit(mutag[:100], bank=tmp_path)
    with pytest.raises(InputError, match="was cut from other graphs or with other settings; remove its folder"):
        classifier(epochs=1).fit(mutag[50:], bank=tmp_path)


def test_training_that_was_stopped_goes_on(mutag, tmp_path):
    source, checkpoint = isonn.stream(mutag, 50), tmp_path / "run"
    expected = classifier(epochs=4).fit(source)
    classifier(epochs=2).fit(source, checkpoint=checkpoint)
    found = classifier(epochs=4).fit(source, checkpoint=checkpoint, resume=True)
    assert_same_model(found, expected)
    with pytest.raises(ModelFileError, match="belongs to other data or settings"):
        classifier().fit(isonn.stream(mutag[:90], 50), checkpoint=checkpoint, resume=True)


def test_a_directed_graph_is_named_by_its_number_in_the_stream(mutag):
    arrow = isonn.as_graphset([[[0, 1], [1, 0]], [[0, 1], [0, 0]]], y=[0, 1])
    plain = isonn.as_graphset([[[0, 1], [1, 0]]] * 9, y=[0, 1, 0] * 3)
    with pytest.raises(InputError, match="graph 10 of graphs is directed, and subgraphs need undirected graphs; make"):
        classifier().fit(isonn.stream([plain, arrow], 3))


def test_a_stream_without_classes_or_with_too_few_is_refused(mutag):
    with pytest.raises(InputError, match="needs classes; pass y, or a stream that has them"):
        classifier().fit(isonn.stream(mutag.with_y(None)))
    with pytest.raises(InputError, match="y has 3 entries for 188 graphs"):
        classifier().fit(isonn.stream(mutag), [0, 1, 0])
    with pytest.raises(InputError, match="graphs has no graphs; give at least one"):
        classifier().fit(isonn.stream([]))


def test_a_stream_that_changes_while_it_is_read_is_refused(mutag):
    lengths = iter([188, 100])
    with pytest.raises(InputError, match="graphs held 188 graphs when first read and 100 afterwards"):
        classifier().fit(isonn.stream(lambda: [mutag[: next(lengths)]], 50))


def test_a_bank_of_another_version_is_refused(mutag, tmp_path, monkeypatch):
    classifier(epochs=1).fit(mutag, bank=tmp_path)
    monkeypatch.setattr(bank_files, "FORMAT", "isonn-bank-99")
    with pytest.raises(DatasetError, match="but this version of isonn reads 'isonn-bank-99'"):
        classifier(epochs=1).fit(mutag, bank=tmp_path)


@pytest.mark.parametrize("width", [1, 3])
def test_which_rows_are_kept_does_not_depend_on_how_they_come(width, monkeypatch):
    monkeypatch.setattr(distinct, "MOST_NUMBERS", 50 * width)
    monkeypatch.setattr(distinct, "FEWEST_ROWS", 10)
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(300, width))[generator.integers(0, 300, 2000)]
    expected, counts = np.unique(rows, axis=0, return_counts=True)
    sketches = []
    for size in (2000, 100, 7):
        sketch = DistinctRows(width)
        shuffled = generator.permutation(rows)
        for start in range(0, 2000, size):
            sketch.add(shuffled[start : start + size])
        sketches.append(sketch)
    for sketch in sketches:
        assert len(sketch.rows) == 50
        np.testing.assert_equal(sketch.rows, sketches[0].rows)
        np.testing.assert_equal(sketch.largest, np.abs(rows).max(axis=0))
        place = [int(np.flatnonzero((expected == row).all(axis=1))[0]) for row in sketch.rows]
        np.testing.assert_equal(sketch.often, counts[place])
    assert abs(np.mean([p / len(expected) for p in place]) - 0.5) < 0.2  # a fair sample, not one end


def test_all_rows_are_kept_while_there_is_room():
    rows = np.array([[0.0], [-0.0], [2.0], [-3.0], [2.0]])
    sketch = DistinctRows(1)
    sketch.add(rows)
    sketch.add(np.ones((1, 1)), 5)
    np.testing.assert_equal(sketch.rows[:, 0], [-3.0, 0.0, 1.0, 2.0])
    np.testing.assert_equal(sketch.often, [1, 2, 5, 2])


def test_graphs_of_which_some_have_weights_are_gathered_alike(graphs):
    whole = DistinctValues().add(graphs)
    parts = DistinctValues()
    for i in range(0, 40, 10):
        parts.add(replace(graphs[i : i + 10], weights=None) if i < 20 else graphs[i : i + 10])
    assert whole.has == parts.has == dict.fromkeys(gathering.COLUMNS, True)
    for name, labels in whole.labels.items():
        np.testing.assert_equal(parts.labels[name], labels)
    for name, values in whole.values.items():
        np.testing.assert_equal(parts.values[name].rows, values.rows)
        np.testing.assert_equal(parts.values[name].often, values.often)
