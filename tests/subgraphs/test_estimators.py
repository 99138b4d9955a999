"""The estimators: streams, threads, files and weights, and what they refuse."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace

import networkx
import numpy as np
import pytest
from coded_graphs import PLANTED, TARGETS, answers, fitted
from scipy.sparse import csr_array
from sklearn.utils.class_weight import compute_sample_weight
from tu_folder import write_tu

import isonn
from isonn import estimator
from isonn.errors import InputError, IsoNNWarning, NotFittedError
from isonn.heads import Inputs
from isonn.subgraphs import count as counting
from isonn.subgraphs import vocabulary
from isonn.subgraphs.views import LabelsView

MODELS = {
    "default": {"head": "auto"},
    "linear": {},
    "trees": {"head": "trees"},
    "short": {"n_templates": 8},
}


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("model", MODELS)
def test_a_saved_model_is_the_same(graphs, model, kind, tmp_path):
    saved = fitted(graphs, kind, keep_examples=True, **MODELS[model])
    saved.save(tmp_path / "m")
    loaded = isonn.load_model(tmp_path / "m")
    assert loaded.get_params() == saved.get_params()
    np.testing.assert_array_equal(answers(loaded, graphs), answers(saved, graphs))
    np.testing.assert_array_equal(loaded.transform(graphs).toarray(), saved.transform(graphs).toarray())
    before, after = saved.explain(graphs[1]), loaded.explain(graphs[1])
    np.testing.assert_array_equal(after.edge_importance, before.edge_importance)
    assert list(map(repr, after.absent + after.terms)) == list(map(repr, before.absent + before.terms))
    assert [reason.nodes for reason in after.reasons] == [reason.nodes for reason in before.reasons]
    told = [[(str(r), r.examples) for found in m.reasons_.values() for r in found] for m in (saved, loaded)]
    assert told[0] == told[1]
    assert loaded.held_out_score_ == saved.held_out_score_
    assert (loaded.weights_, loaded.max_nodes_) == (saved.weights_, saved.max_nodes_)
    assert loaded.calibration_ == pytest.approx(saved.calibration_, nan_ok=True)
    assert loaded.get_feature_names_out().tolist() == saved.get_feature_names_out().tolist()
    assert loaded.seen_in_training(graphs).all()


def test_graphs_that_were_predicted_before_change_no_bit(mutag):
    clf = isonn.SubgraphClassifier(4, head="linear", min_support=8, random_state=0).fit(mutag)
    expected, order = clf.predict_proba(mutag), np.random.default_rng(0).permutation(len(mutag))
    other = copy.deepcopy(clf)  # without what the counters of the first have met
    alone = np.concatenate([other.predict_proba(mutag[i : i + 1]) for i in order.tolist()])
    np.testing.assert_array_equal(alone, expected[order])


@pytest.mark.parametrize("model", ["default", "short"])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_relabelling_nodes_changes_no_prediction(graphs, model, kind):
    clf = fitted(graphs, kind, **MODELS[model])
    isonn.testing.assert_relabelling_invariant(clf, graphs)
    again = fitted(graphs.relabelled(5), kind, **MODELS[model])
    np.testing.assert_allclose(answers(again, graphs), answers(clf, graphs), atol=1e-9)


@pytest.mark.parametrize("model", ["default", "short"])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("at_once", [7, 26])
def test_a_stream_gives_the_model_that_memory_gives(graphs, model, kind, at_once, tmp_path):
    whole = fitted(graphs, kind, **MODELS[model])
    streamed = fitted(isonn.stream(graphs.with_y(None), at_once, bank=tmp_path), kind, **MODELS[model])
    assert streamed.get_feature_names_out().tolist() == whole.get_feature_names_out().tolist()
    np.testing.assert_allclose(answers(streamed, graphs), answers(whole, graphs), rtol=1e-9)
    assert repr(streamed.reasons_) == repr(whole.reasons_)
    np.testing.assert_array_equal(answers(whole, isonn.stream(graphs, at_once)), answers(whole, graphs))


@pytest.mark.parametrize("at_once", [50, 188])
def test_a_folder_read_and_counted_by_two_processes_gives_the_model_that_memory_gives(mutag, tmp_path, at_once):
    (tmp_path / "DS").mkdir()
    folder = write_tu(tmp_path / "DS", mutag, np.arange(mutag.node_offsets[-1]))
    whole = isonn.SubgraphClassifier(3, head="linear", random_state=0).fit(isonn.load(folder))
    streamed = isonn.SubgraphClassifier(3, head="linear", random_state=0)
    streamed.fit(isonn.stream(folder, at_once, workers=2, bank=tmp_path / "bank"))
    assert streamed.get_feature_names_out().tolist() == whole.get_feature_names_out().tolist()
    np.testing.assert_array_equal(streamed.transform(mutag).toarray(), whole.transform(mutag).toarray())
    np.testing.assert_allclose(streamed.predict_proba(mutag), whole.predict_proba(mutag), rtol=1e-9)
    assert streamed.seen_in_training(mutag).all()
    assert repr(streamed.reasons_) == repr(whole.reasons_)


def test_sampled_graphs_give_the_same_model_from_a_stream(graphs):
    with pytest.warns(IsoNNWarning, match=r"of 26 graphs have more subgraphs than max_subgraphs"):
        found = fitted(isonn.stream(graphs, 11), max_subgraphs=12)
    with pytest.warns(IsoNNWarning, match="were sampled, the largest at .*%; expected counts stay correct"):
        expected = fitted(graphs, max_subgraphs=12)
    assert found.sampled_ == pytest.approx(expected.sampled_)
    assert found.sampled_
    np.testing.assert_allclose(found.predict_proba(graphs), expected.predict_proba(graphs), atol=1e-6)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_threads_change_no_bit(graphs, kind, monkeypatch):
    monkeypatch.setattr(counting, "NODES_PER_BLOCK", 6)
    one, three = (fitted(graphs, kind, n_jobs=n_jobs, head="auto") for n_jobs in (1, 3))
    np.testing.assert_array_equal(answers(three, graphs), answers(one, graphs))
    np.testing.assert_array_equal(three.head_.linear.coef, one.head_.linear.coef)


def test_equal_weights_are_no_weights_and_balanced_classes_are_weights_of_graphs(graphs):
    y = (np.arange(PLANTED) % 4 == 0).astype(int)
    clf = isonn.SubgraphClassifier(2, head="linear", random_state=0)
    plain = clf.fit(graphs, y).predict_proba(graphs)
    equal = clf.fit(graphs, y, sample_weight=np.full(PLANTED, 3.0)).predict_proba(graphs)
    np.testing.assert_allclose(equal, plain, atol=1e-9)
    weights = compute_sample_weight("balanced", y)
    weighted = clf.fit(graphs, y, sample_weight=weights).predict_proba(graphs)
    balanced = clf.set_params(class_weight="balanced").fit(graphs, y).predict_proba(graphs)
    np.testing.assert_allclose(balanced, weighted, atol=1e-9)
    assert balanced[:, 1].mean() > plain[:, 1].mean() + 0.01
    by_class = {int(value): float(weights[y == value][0]) for value in (0, 1)}
    given = clf.set_params(class_weight=by_class).fit(graphs, y).predict_proba(graphs)
    np.testing.assert_allclose(given, balanced, atol=1e-9)


def test_a_regressor_follows_its_weights(graphs):
    y = np.where(np.arange(PLANTED) < 13, graphs.sizes, -graphs.sizes).astype(float)
    weights = np.where(np.arange(PLANTED) < 13, 1.0, 1e-6)
    reg = isonn.SubgraphRegressor(2, head="linear", random_state=0).fit(graphs, y, sample_weight=weights)
    assert (reg.predict(graphs[13:]) > 0).all()


def test_the_held_out_score_is_honest(mutag):
    for head in ("linear", "auto"):
        score = isonn.SubgraphClassifier(3, head=head, random_state=0).fit(mutag).held_out_score_
        assert 0.8 < score["accuracy"] < 0.95


def test_examples_are_ids_of_training_graphs_that_hold_the_piece(graphs):
    ids = np.array([f"graph-{i}" for i in range(PLANTED)])
    named = replace(graphs, ids=ids)
    clf = isonn.SubgraphClassifier(3, head="linear", keep_examples=True, random_state=0).fit(named)
    held = clf.vectorizer_.transform(named).toarray() > 0
    for reason in (reason for reasons in clf.reasons_.values() for reason in reasons):
        assert 1 <= len(reason.examples) <= 6
        assert all(held[ids.tolist().index(example), reason.column] for example in reason.examples)
    clf.set_params(keep_examples=False).fit(named)
    assert all(reason.examples == () for reasons in clf.reasons_.values() for reason in reasons)


def test_unseen_pieces_are_those_that_no_training_graph_has(graphs):
    train, test = graphs[:8], graphs[8:]
    clf = isonn.SubgraphClassifier(3, view="labels", head="linear", min_support=3, random_state=0).fit(train)
    every = isonn.SubgraphVectorizer(3, view="labels", min_support=1).fit(graphs)
    seen = every.transform(train).toarray().any(axis=0)
    has_new = every.transform(test).toarray()[:, ~seen].any(axis=1)
    assert [bool(unseen) for unseen in clf.domain(test).unseen] == has_new.tolist()
    assert has_new.any()
    assert not any(clf.domain(train).unseen)  # though few of their pieces are templates


def test_strange_graphs_are_said_once(graphs):
    clf = fitted(graphs)
    other = networkx.complete_graph(7)
    networkx.set_node_attributes(other, "Xe", "label")
    networkx.set_edge_attributes(other, "#", "label")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        clf.predict([other, other])
    (text,) = (str(warning.message) for warning in said if isinstance(warning.message, IsoNNWarning))
    assert "2 of 2 graphs consist mostly of subgraphs that no training graph has" in text
    assert "14 of 14 nodes" in text


def test_transform_is_what_the_head_sees_of_what_graphs_hold(graphs):
    clf = fitted(graphs)
    features = clf.transform(graphs)
    assert isinstance(features, csr_array)
    assert features.shape == (PLANTED, len(clf.get_feature_names_out()))
    np.testing.assert_allclose(clf.target_.link(clf.head_.outputs(Inputs.of(features))), clf.predict_proba(graphs))
    held = features[:, : len(clf.templates_)].toarray() > 0
    np.testing.assert_array_equal(clf.vectorizer_.transform(graphs).toarray() > 0, held)


@pytest.mark.parametrize("call", ["transform", "explain", "domain"])
def test_an_unfitted_model_says_so(graphs, call):
    with pytest.raises(NotFittedError, match="this SubgraphClassifier is not fitted; call fit first"):
        getattr(isonn.SubgraphClassifier(), call)(graphs[0:1])


@pytest.mark.parametrize(
    ("params", "kind", "complaint"),
    [
        ({"max_nodes": 7}, "classes", "max_nodes=7 .* use 1 to 6"),
        ({"n_templates": 0}, "classes", "n_templates=0 is not a count"),
        ({"head": "magic"}, "classes", "head='magic' is unknown"),
        ({"class_weight": "some"}, "classes", "class_weight='some' is unknown"),
        ({"class_weight": "balanced"}, "labels", "class_weight is for one class per graph"),
        ({"view": np.array(["labels"])}, "classes", "view is an array of shape"),
        ({"verbose": "yes"}, "classes", "verbose='yes' is not a number"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(graphs, params, kind, complaint):
    with pytest.raises(InputError, match=complaint):
        isonn.SubgraphClassifier(**params).fit(graphs, TARGETS[kind])


def test_missing_targets_and_bad_weights_are_refused(graphs):
    with pytest.raises(InputError, match="SubgraphClassifier.fit needs y; pass it, or graphs that have it"):
        isonn.SubgraphClassifier().fit(isonn.stream(graphs.with_y(None)))
    for weights, complaint in (
        ([1.0], r"has shape \(1,\)"),
        (-np.ones(PLANTED), r"sample_weight\[0\] is -1; weights are finite numbers >= 0"),
        (np.full(PLANTED, np.nan), r"sample_weight\[0\] is nan; weights are finite numbers >= 0"),
        (np.zeros(PLANTED), "sample_weight is 0 for every graph"),
    ):
        with pytest.raises(InputError, match=complaint):
            isonn.SubgraphClassifier().fit(graphs, sample_weight=weights)
    with pytest.raises(InputError, match="alerts warn of a class, and this model predicts numbers"):
        fitted(graphs, "number").alerts(graphs)


def test_labels_with_another_name_than_in_training_are_refused(mutag):
    clf = isonn.SubgraphClassifier(2, view=LabelsView(), head="linear", random_state=0).fit(mutag)
    names = dict(mutag.node_label_names)
    names[0], names[1] = names[1], names[0]
    with pytest.raises(InputError, match="and was .* in training; code the labels as in training"):
        clf.predict(replace(mutag, node_label_names=names))


def test_a_vocabulary_too_large_is_refused(graphs, monkeypatch):
    whole = len(fitted(graphs, max_nodes=4).templates_)
    monkeypatch.setattr(vocabulary, "MAX_COLUMNS", 50)
    with pytest.raises(InputError, match=f"has {whole} subgraphs, more than 50; use a smaller max_nodes or a larger"):
        fitted(graphs, max_nodes=4)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 50.0}])
def test_graphs_of_weight_0_are_as_if_left_out(graphs, class_weight):
    y = (np.arange(PLANTED) % 4 == 0).astype(int)
    weights = np.where(np.arange(PLANTED) < 18, 1.0, 0.0)
    clf = isonn.SubgraphClassifier(2, head="linear", class_weight=class_weight, random_state=0)
    left_out = copy.deepcopy(clf).fit(graphs[:18], y[:18])
    clf.fit(graphs, y, sample_weight=weights)
    assert len(clf.templates_) == len(left_out.templates_)
    assert clf.held_out_score_ == pytest.approx(left_out.held_out_score_)
    np.testing.assert_allclose(clf.predict_proba(graphs), left_out.predict_proba(graphs), atol=1e-9)
    told = [{(r.text, str(r.graphs)) for found in m.reasons_.values() for r in found} for m in (clf, left_out)]
    assert told[0] == told[1]


def test_targets_of_the_graphs_keep_the_names_of_classes(mutag):
    clf = isonn.SubgraphClassifier(1, head="linear", random_state=0)
    names = {"mutagenic", "not mutagenic"}
    assert set(clf.fit(mutag, mutag.y).calibration_) == set(clf.fit(mutag).calibration_) == names
    assert set(clf.fit(mutag, ["a", "b"] * 94).calibration_) == {"a", "b"}


def test_a_short_list_has_no_calibration(graphs, tmp_path):
    clf = fitted(graphs, n_templates=4)
    assert (clf.held_out_score_, clf.calibration_) == (None, {})
    clf.save(tmp_path / "m")
    assert isonn.load_model(tmp_path / "m").calibration_ == {}


@pytest.mark.parametrize("weight", [np.int64(2), np.float32(2.0)])
def test_class_weights_may_be_numbers_of_numpy(graphs, weight):
    plain, given = fitted(graphs, class_weight={1: 2}), fitted(graphs, class_weight={1: weight})
    np.testing.assert_array_equal(given.predict_proba(graphs), plain.predict_proba(graphs))


@pytest.mark.parametrize("call", ["assess", "domain", "transform", "explain", "seen_in_training"])
def test_a_stream_is_refused_where_graphs_are_needed_in_memory(graphs, call):
    clf = fitted(graphs)
    with pytest.raises(InputError, match=f"{call} needs graphs in memory, and graphs is a stream; give its chunks one"):
        getattr(clf, call)(isonn.stream(graphs, 10))


def test_a_stream_is_scored_like_the_graphs_in_memory(graphs):
    for kind in ("classes", "number"):
        model, y = fitted(graphs, kind), TARGETS[kind]
        assert model.score(isonn.stream(graphs, 10), y) == pytest.approx(model.score(graphs, y))


def test_molecules_are_scored_with_the_standardisation_of_the_model():
    molecules = pytest.importorskip("isonn.molecules")
    salts, y = [f"{'C' * n}[NH3+].[Cl-]" for n in range(1, 13)], np.arange(12.0)
    reg = isonn.SubgraphRegressor(2, head="linear", random_state=0)
    reg.fit(molecules.from_smiles(salts, standardize="none"), y)
    calls = []
    convert = estimator.as_graphset

    def counted(X, **options):
        calls.append(options["standardize"])
        return convert(X, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimator, "as_graphset", counted)
        assert reg.score(salts, y) > 0.5
    assert calls == ["none"]


def test_a_weight_of_two_scores_a_graph_twice_and_unknown_numbers_not_at_all(mutag):
    y = np.column_stack([mutag.sizes, mutag.y]).astype(float)[:60]
    y[::5, 0] = np.nan
    reg = isonn.SubgraphRegressor(max_nodes=2, head="linear", random_state=0).fit(mutag[:60], y)
    twice = np.append(np.arange(60), np.arange(20))
    weighted = reg.score(mutag[:60], y, sample_weight=np.bincount(twice))
    assert weighted == pytest.approx(reg.score(mutag[twice], y[twice]))
