"""The vocabulary model against its definition, and the laws it keeps: features, short lists, saving, explanations."""

from __future__ import annotations

import itertools
import json
import re
import warnings
from collections import Counter

import networkx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import GraphMatcher, categorical_edge_match, categorical_node_match
from scipy.sparse import csr_array
from tu_folder import write, write_tu

import isonn
from isonn.errors import DatasetError, InputError, IsoNNWarning
from isonn.subgraphs import select, vocabulary
from isonn.subgraphs.bank import bank_subgraphs
from isonn.subgraphs.enumerate import canonical_regions
from isonn.subgraphs.select import ALIKE_IN_LIST, WILDCARD, auto_size, short_list, wildcard_groups
from isonn.subgraphs.store import bank_to_folder, read_pieces
from isonn.subgraphs.vocabulary import learn_vocabulary, pieces_of

GRAPHS = 26


@pytest.fixture(scope="module")
def graphs():
    """Small labelled graphs; class 1 has a triangle with a label of its own."""
    generator, made = np.random.default_rng(0), []
    for i in range(GRAPHS):
        graph = networkx.gnp_random_graph(int(generator.integers(5, 9)), 0.3, seed=i)
        for v in graph:
            graph.nodes[v]["label"] = str(generator.choice(["C", "N"]))
        if i % 2:
            n = len(graph)
            graph.add_edges_from([(0, n), (n, n + 1), (n + 1, n + 2), (n, n + 2)])
            for v in range(n, n + 3):
                graph.nodes[v]["label"] = "O"
        for a, b in graph.edges:
            graph.edges[a, b]["label"] = str(generator.choice(["-", "="]))
        made.append(graph)
    return isonn.as_graphset(made, np.arange(GRAPHS) % 2)


def networkx_of(graph):
    found = networkx.Graph()
    for v in range(graph.n):
        found.add_node(v, label=graph.node_labels[v])
    for (a, b), label in zip(graph.edges.tolist(), graph.edge_labels.tolist(), strict=True):
        found.add_edge(a, b, label=label)
    return found


def pieces_by_definition(graph, k):
    """Connected induced subgraphs of k nodes by a key of their isomorphism class, labels included; how often each."""
    found, whole = Counter(), networkx_of(graph)
    for nodes in itertools.combinations(range(graph.n), k):
        part = whole.subgraph(nodes)
        if networkx.is_connected(part):
            orders = []
            for order in itertools.permutations(nodes):
                labels = tuple(part.nodes[v]["label"] for v in order)
                edges = tuple(
                    part.edges[a, b]["label"] if part.has_edge(a, b) else ""
                    for a, b in itertools.combinations(order, 2)
                )
                orders.append((labels, edges))
            found[min(orders)] += 1
    return found


@pytest.mark.parametrize("k", [1, 2, 3])
def test_features_are_the_normed_log_counts_of_pieces_two_graphs_hold(graphs, k):
    clf = isonn.SubgraphClassifier(k=k, view="labels", random_state=0).fit(graphs)
    counts = [pieces_by_definition(graph, k) for graph in graphs]
    support = Counter(key for own in counts for key in own)
    known = sorted(key for key, held in support.items() if held >= 2)
    logs = np.array([[np.log1p(own[key]) for key in known] for own in counts])
    norms = np.array([np.sqrt(sum(np.log1p(n) ** 2 for n in own.values())) or 1.0 for own in counts])
    expected = logs / norms[:, None]
    found = clf.transform(graphs).toarray()[:, : len(clf.templates_)]
    assert found.shape == expected.shape
    scale = found.max() / expected.max()  # one number for the whole level
    in_order = lambda values: values[:, np.lexsort(np.round(values, 9))]  # noqa: E731
    np.testing.assert_allclose(in_order(found / scale), in_order(expected), atol=1e-9)


@pytest.mark.parametrize("least", [2, 5])
def test_every_template_is_held_by_enough_graphs(graphs, least):
    clf = isonn.SubgraphClassifier(min_support=least, random_state=0).fit(graphs)
    held = (clf.transform(graphs).toarray()[:, : len(clf.templates_)] > 0).sum(axis=0)
    assert held.min() >= least
    more = isonn.SubgraphClassifier(min_support=least - 1, random_state=0).fit(graphs)
    assert len(more.templates_) > len(clf.templates_)


MODELS = {
    "default": {},
    "short": {"c": 8},
    "auto": {"c": "auto"},
    "both": {"regions": "both"},
    "forest": {"head": "forest", "k": (1, 2)},
    "ensemble": {"head": "ensemble", "k": (1, 2)},
}
Y = {
    "classes": np.arange(GRAPHS) % 2,
    "three classes": np.arange(GRAPHS) % 3,
    "labels": np.column_stack(
        [np.arange(GRAPHS) % 2, np.where(np.arange(GRAPHS) % 5, np.arange(GRAPHS) % 3 == 0, np.nan)]
    ),
    "number": np.linspace(0, 9, GRAPHS) % 4.3,
    "numbers": np.column_stack(
        [np.linspace(0, 9, GRAPHS), np.where(np.arange(GRAPHS) % 4, np.arange(GRAPHS) / 7, np.nan)]
    ),
}


def fitted(graphs, model, kind, **more):
    cls = isonn.SubgraphRegressor if kind.startswith("number") else isonn.SubgraphClassifier
    return cls(**{**MODELS[model], **more}, random_state=0).fit(graphs, Y[kind])


def answers(model, graphs):
    return model.predict_proba(graphs) if hasattr(model, "predict_proba") else model.predict(graphs)


@pytest.mark.parametrize("kind", Y)
@pytest.mark.parametrize("model", MODELS)
def test_a_saved_model_is_the_same(graphs, model, kind, tmp_path, monkeypatch):
    monkeypatch.setattr("isonn.heads.TREES", 10)
    one = fitted(graphs, model, kind)
    one.save(tmp_path / "m")
    other = isonn.load_model(tmp_path / "m")
    np.testing.assert_array_equal(answers(other, graphs), answers(one, graphs))
    np.testing.assert_array_equal(other.transform(graphs).toarray(), one.transform(graphs).toarray())
    mine, its = one.explain(graphs[1]), other.explain(graphs[1])
    np.testing.assert_array_equal(its.edge_importance, mine.edge_importance)
    assert [reason.nodes for reason in its.reasons] == [reason.nodes for reason in mine.reasons]
    assert json.dumps([str(r) for own in other.reasons_.values() for r in own]) == json.dumps(
        [str(r) for own in one.reasons_.values() for r in own]
    )


@pytest.mark.parametrize("model", ["default", "short", "both"])
def test_relabelling_changes_no_prediction(graphs, model):
    isonn.testing.assert_relabelling_invariant(fitted(graphs, model, "classes"), graphs)


@pytest.mark.parametrize("model", ["default", "short", "both"])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_stream_gives_the_model_that_memory_gives(graphs, model, kind, tmp_path):
    whole = fitted(graphs, model, kind)
    streamed = type(whole)(**whole.get_params()).fit(graphs, Y[kind], bank=tmp_path / "bank")
    np.testing.assert_allclose(answers(streamed, graphs), answers(whole, graphs), rtol=1e-9)


@pytest.mark.parametrize("at_once", [50, 188])
def test_a_folder_read_and_counted_by_two_processes_gives_the_model_that_memory_gives(mutag, tmp_path, at_once):
    (tmp_path / "DS").mkdir()
    folder = write_tu(tmp_path / "DS", mutag, np.arange(mutag.node_offsets[-1]))
    whole = isonn.SubgraphClassifier(k=(1, 2, 3), random_state=0).fit(isonn.load(folder))
    streamed = isonn.SubgraphClassifier(k=(1, 2, 3), random_state=0)
    streamed.fit(isonn.stream(folder, at_once), workers=2, bank=tmp_path / "bank")
    assert streamed.encoding_.as_json() == whole.encoding_.as_json()
    for one, other in zip(streamed.vocabulary_.groups, whole.vocabulary_.groups, strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(streamed.transform(mutag).toarray(), whole.transform(mutag).toarray())
    np.testing.assert_allclose(streamed.head_.coef, whole.head_.coef, rtol=1e-9, atol=1e-12)
    assert streamed.seen_in_training(mutag).all()
    for label, reasons in whole.reasons_.items():
        assert [reason.column for reason in streamed.reasons_[label]] == [reason.column for reason in reasons]


def test_what_two_processes_cannot_read_is_told_as_one_tells_it(tmp_path):
    (tmp_path / "DS").mkdir()
    lines = ["1", "1", "2", "2", "2", "3", "3"]
    write(
        tmp_path / "DS", graph_indicator=lines, graph_labels=["0", "1", "1"], A=["1, 2", "2, 1", "3, 4", "4, 3", "6, 5"]
    )
    clf = isonn.SubgraphClassifier(k=(1, 2))
    with pytest.raises(DatasetError, match=r"line 5 of .* joins node 6 of graph 3 to node 5"):
        clf.fit(isonn.stream(tmp_path / "DS", 1), workers=2)


@pytest.mark.parametrize("row_norm", [True, False])
@pytest.mark.parametrize("few", [True, False])
def test_features_from_parts_are_those_from_memory(mutag, tmp_path, row_norm, few, monkeypatch):
    monkeypatch.setattr(vocabulary, "DOUBLE_GRAPHS", 10 if few else 1000)
    clf = isonn.SubgraphClassifier(k=(1, 2, 3), random_state=0).fit(mutag)
    coded = clf.encoding_.encode(mutag)
    whole = pieces_of(bank_subgraphs(coded))
    bank_to_folder([coded.part(0, 70), coded.part(70, 188)], tmp_path)
    parts, _ = read_pieces(tmp_path)
    beside = np.random.default_rng(0).normal(size=(188, 3))
    known, expected = learn_vocabulary(whole, 2, row_norm, beside=lambda rows: beside[rows])
    found, features = learn_vocabulary(parts, 2, row_norm, beside=lambda rows: beside[rows])
    assert features.dtype == expected.dtype == (np.float32 if few else np.float64)
    np.testing.assert_allclose(features.toarray(), expected.toarray(), rtol=1e-6)
    np.testing.assert_allclose(found.scales, known.scales, rtol=1e-6)
    np.testing.assert_allclose(expected[:, : len(known)].toarray(), known.features(whole).toarray(), rtol=1e-5)
    np.testing.assert_allclose(expected[:, len(known) :].toarray(), beside, rtol=1e-6)


@pytest.mark.parametrize("kind", Y)
@pytest.mark.parametrize("model", ["default", "short", "auto", "both"])
def test_importances_add_up_to_score_minus_base_for_every_output(graphs, model, kind):
    clf = fitted(graphs, model, kind)
    for i in (0, 1, 5):
        for label in clf.target_.classes.tolist():
            e = clf.explain(graphs[i], label)
            assert e.exact
            gap = e.score - e.base
            assert e.node_importance.sum() == pytest.approx(gap, abs=1e-9)
            assert np.triu(e.edge_importance).sum() + e.single_nodes == pytest.approx(gap, abs=1e-9)
            np.testing.assert_array_equal(e.edge_importance, e.edge_importance.T)
            assert not e.edge_importance[graphs[i].adjacency == 0].any()


@pytest.mark.parametrize("row_norm", [True, False])
def test_a_regressors_score_is_its_prediction_with_the_norm_and_without(graphs, row_norm):
    y = Y["number"] if row_norm else np.array([graph.n for graph in graphs], dtype=float) ** 2
    reg = isonn.SubgraphRegressor(random_state=0).fit(graphs, y)
    for i in range(4):
        e = reg.explain(graphs[i])
        assert e.score == pytest.approx(float(reg.predict(graphs[i : i + 1])[0]))
        assert e.node_importance.sum() == pytest.approx(e.score - e.base, abs=1e-9)


def test_the_score_is_the_models_and_without_subtracts_counts(graphs):
    clf = fitted(graphs, "default", "classes")
    e = clf.explain(graphs[1], label=1, top=None)
    proba = clf.predict_proba(graphs[1:2])[0]
    np.testing.assert_allclose(e.probabilities, proba, rtol=1e-9)
    assert e.score == pytest.approx(np.log(proba[1] / proba[0]))
    np.testing.assert_allclose(e.without([]), proba, rtol=1e-9)
    everything = e.without(list(range(len(e.matches))))
    assert np.abs(everything - proba).max() > 1e-3
    np.testing.assert_allclose(e.without(e.matches[0]), e.without(0))
    with pytest.raises(InputError, match="is not listed"):
        e.without(10**6)


def test_reasons_are_few_disjoint_and_say_what_removing_them_does(graphs):
    clf = fitted(graphs, "default", "classes")
    for i in range(8):
        e = clf.explain(graphs[i])
        assert 1 <= len(e.reasons) <= 5
        every = [node for reason in e.reasons for node in reason.nodes]
        assert len(every) == len(set(every))
        for reason in e.reasons:
            logits = e.source.logits_without(reason.matches)
            np.testing.assert_allclose(reason.answers, clf.target_.link(logits))
            np.testing.assert_allclose(e.without(reason), reason.answers)
            inside = set(reason.nodes)
            found = e.source.occurrences
            for row in reason.matches.tolist():
                assert {v for v in found.nodes[found.region[row]].tolist() if v >= 0} <= inside
        sizes = [abs(reason.contribution) for reason in e.reasons]
        assert sizes == sorted(sizes, reverse=True)


def test_found_in_is_what_networkx_finds(graphs):
    clf = fitted(graphs, "default", "classes")
    reason = clf.explain(graphs[1]).reasons[0]
    piece = networkx_of(graphs[1]).subgraph(reason.nodes)
    match = {"node_match": categorical_node_match("label", None), "edge_match": categorical_edge_match("label", None)}
    expected = [GraphMatcher(networkx_of(graph), piece, **match).subgraph_is_monomorphic() for graph in graphs]
    found = reason.found_in(graphs)
    assert found.tolist() == expected
    assert found[1]


def test_class_reasons_count_the_training_graphs_that_hold_them(graphs):
    clf = fitted(graphs, "default", "classes")
    held = clf.transform(graphs).toarray() > 0
    y = Y["classes"]
    assert clf.reasons_[1]
    assert any("O" in reason.text for reason in clf.reasons_[1])  # what was planted
    for value, reasons in clf.reasons_.items():
        assert len({reason.column for reason in reasons}) == len(reasons)
        for reason in reasons:
            assert reason.explained == value
            for other in (0, 1):
                assert reason.graphs[other] == (int(held[y == other, reason.column].sum()), int((y == other).sum()))


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_templates_that_are_not_measured_would_not_mark_a_class(graphs, kind, monkeypatch):
    monkeypatch.setattr(select, "COLUMNS_AT_ONCE", 10**6)  # all are measured
    every = fitted(graphs, "default", kind).reasons_
    monkeypatch.setattr(select, "COLUMNS_AT_ONCE", 1)  # none that its bound rules out
    assert repr(fitted(graphs, "default", kind).reasons_) == repr(every)


def test_different_pieces_read_differently(mutag):
    reasons = [
        reason for own in isonn.SubgraphClassifier(random_state=0).fit(mutag).reasons_.values() for reason in own
    ]
    texts = [reason.text for reason in reasons]
    assert len(set(texts)) == len(texts)
    assert any("=" in text or ":" in text for text in texts)  # bonds as chemists write them


def test_explanations_that_do_not_add_up_say_so(graphs):
    y = Y["classes"]
    assert "need not add up" not in fitted(graphs, "default", "classes").explain(graphs[0]).summary()
    for head in ("forest", "ensemble"):
        clf = isonn.SubgraphClassifier(head=head, random_state=0).fit(graphs, y)
        assert "need not add up" in clf.explain(graphs[0]).summary()
    both = isonn.SubgraphClassifier(regions="both", random_state=0).fit(graphs, y)
    assert f"agrees on {100 * both.agreement_:.0f} %" in both.explain(graphs[0]).summary()


def test_evidence_finds_the_planted_triangle(graphs):
    clf = fitted(graphs, "default", "classes")
    e = clf.explain(graphs[1], label=1, method="evidence")
    assert not e.exact
    assert e.method == "evidence"
    planted = np.flatnonzero(graphs[1].node_labels == "O")
    assert set(np.argsort(-e.node_importance)[:3].tolist()) == set(planted.tolist())
    with pytest.raises(InputError, match="method='magic' is unknown"):
        clf.explain(graphs[1], method="magic")


def test_a_student_says_how_often_it_agrees(graphs):
    clf = fitted(graphs, "both", "classes")
    assert 0.5 <= clf.agreement_ <= 1
    assert f"agrees on {100 * clf.agreement_:.0f} % of graphs" in clf.explain(graphs[0]).note


def test_a_student_of_numbers_says_how_it_correlates(graphs):
    sizes = np.column_stack([graphs.sizes + 0.5, np.where(np.arange(GRAPHS) % 4, graphs.sizes**2, np.nan)])
    reg = isonn.SubgraphRegressor(regions="both", random_state=0).fit(graphs, sizes)
    assert 0.8 < reg.agreement_ <= 1
    assert f"a correlation of {reg.agreement_:.2f}" in reg.explain(graphs[0]).note


def test_a_student_agrees_on_labels_that_were_measured(graphs):
    gaps = np.column_stack([np.arange(GRAPHS) // 2 % 2, np.arange(GRAPHS) % 3 == 0]).astype(float)
    gaps[np.arange(GRAPHS), np.arange(GRAPHS) % 2] = np.nan  # no graph has both
    clf = isonn.SubgraphClassifier(regions="both", random_state=0).fit(graphs, gaps)
    assert 0.5 <= clf.agreement_ <= 1


def test_unseen_share_is_that_of_pieces_no_template_is(graphs):
    clf = isonn.SubgraphClassifier(k=(1, 2), view="labels", random_state=0).fit(graphs)
    counts = [[pieces_by_definition(graph, k) for k in (1, 2)] for graph in graphs]
    support = Counter(key for own in counts for level in own for key in level)
    expected = [
        sum(n for level in own for key, n in level.items() if support[key] < 2) / sum(map(Counter.total, own))
        for own in counts
    ]
    np.testing.assert_allclose(clf.unseen_share(graphs), expected)


def test_strange_graphs_are_said_once(graphs):
    clf = fitted(graphs, "default", "classes")
    other = networkx.complete_graph(7)
    networkx.set_node_attributes(other, "Xe", "label")
    networkx.set_edge_attributes(other, "#", "label")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        share = clf.unseen_share([other, other])
        clf.predict([other, other])
    assert (share > 0.5).all()
    (text,) = (str(one.message) for one in said if isinstance(one.message, IsoNNWarning))
    assert "no training graph has" in text
    assert "14 of 14 nodes" in text


@pytest.mark.parametrize(
    ("cls", "params", "y", "complaint"),
    [
        ("Classifier", {}, np.linspace(0.5, 7, GRAPHS), "SubgraphRegressor"),
        ("Classifier", {}, np.zeros(GRAPHS, dtype=int), "one class only"),
        ("Classifier", {}, np.column_stack([np.arange(GRAPHS) % 2, np.full(GRAPHS, np.nan)]), "column 1 of y has no"),
        ("Classifier", {"k": 7}, np.arange(GRAPHS) % 2, "k=7 .* use 1 to 6"),
        ("Classifier", {"c": 0}, np.arange(GRAPHS) % 2, "c=0"),
        ("Classifier", {"fold": "Xe"}, np.arange(GRAPHS) % 2, "fold=Xe is not a node label of .*; use one of C"),
        ("Classifier", {"fold": "O", "learn_templates": True}, np.arange(GRAPHS) % 2, "fold is for the vocabulary"),
        ("Classifier", {"class_weight": "balanced", "learn_templates": True}, Y["classes"], "class_weight is for the"),
        ("Regressor", {}, np.array(["a", "b"] * (GRAPHS // 2)), "text such as 'a', not numbers; use a classifier"),
        ("Regressor", {}, np.full(GRAPHS, np.nan), "no measured value"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(graphs, cls, params, y, complaint):
    with pytest.raises(InputError, match=complaint):
        getattr(isonn, f"Subgraph{cls}")(**params).fit(graphs, y)


def test_a_vocabulary_too_large_is_refused_with_settings_that_fit(graphs, monkeypatch):
    whole = len(fitted(graphs, "default", "classes").templates_)
    monkeypatch.setattr("isonn.subgraphs.vocabulary.MAX_COLUMNS", 50)
    with pytest.raises(InputError, match=f"has {whole} subgraphs, more than 50; use k of at most") as refused:
        fitted(graphs, "default", "classes")
    k, support = (int(number) for number in re.findall(r"at most (\d+), or min_support=(\d+)", str(refused.value))[0])
    assert len(fitted(graphs, "default", "classes", k=tuple(range(1, k + 1))).templates_) <= 50
    assert len(fitted(graphs, "default", "classes", min_support=support).templates_) <= 50
    with pytest.raises(InputError, match="use k of at most"):
        fitted(graphs, "default", "classes", k=tuple(range(1, k + 2)))


def test_dense_graphs_are_sampled_and_the_share_is_said():
    dense = [networkx.gnp_random_graph(25, 0.6, seed=i) for i in range(4)]
    with pytest.warns(IsoNNWarning, match="sample"):
        clf = isonn.SubgraphClassifier(max_subgraphs=300, random_state=0).fit(dense, [0, 1, 0, 1])
    assert sorted(clf.sampled_) == [0, 1, 2, 3]
    assert all(0 < share < 1 for share in clf.sampled_.values())


# Short lists.


def test_a_wildcard_accepts_the_rows_that_differ_in_one_code(graphs):
    k = 3
    rows = np.unique(canonical_regions(np.random.default_rng(0).integers(0, 3, (40, 6)), k), axis=0)
    row, group = wildcard_groups(rows, k)
    found = {frozenset(row[group == number].tolist()) for number in np.unique(group)}
    by_mask = {}
    for i, codes in enumerate(rows.tolist()):
        for place in range(6):
            if place >= k and codes[place] == 0:
                continue  # a wildcard stands for an edge of any kind, not for its absence
            masked = np.array(codes)
            masked[place] = WILDCARD
            key = tuple(canonical_regions(masked[None], k)[0].tolist())
            by_mask.setdefault(key, set()).add(i)
    assert found == {frozenset(own) for own in by_mask.values() if len(own) > 1}


@pytest.mark.parametrize("c", [4, 12])
def test_a_short_list_holds_no_near_duplicates(c):
    generator = np.random.default_rng(0)
    base = generator.poisson(1.0, (60, 15)).astype(float)
    features = csr_array(np.concatenate([base, base, base + (generator.random((60, 15)) < 0.02)], axis=1))
    y = (base[:, :1] + base[:, 1:2] > 2).astype(float)
    chosen = short_list(features, y, c)
    assert len(chosen) == len(set(chosen.tolist())) == c
    alike = np.abs(np.corrcoef(features[:, chosen].toarray().T)) - np.eye(c)
    assert alike.max() <= ALIKE_IN_LIST + 1e-9
    np.testing.assert_array_equal(short_list(features, y, c)[:4], short_list(features, y, 4))


def test_the_first_column_of_a_short_list_is_the_most_correlated():
    generator = np.random.default_rng(1)
    features = generator.random((50, 20))
    y = features[:, [7]] + 0.1 * generator.normal(size=(50, 1))
    assert short_list(csr_array(features), y, 3)[0] == 7


def test_auto_takes_few_templates_when_few_say_everything():
    generator = np.random.default_rng(0)
    features = generator.poisson(1.0, (120, 80)).astype(float)
    y = (features[:, :1] > 0).astype(float)
    few = auto_size(csr_array(features), y, np.full(120, 0.12), 0)
    assert few == 4


def test_a_short_list_is_what_was_asked_for_and_covers_a_share(graphs):
    clf = fitted(graphs, "short", "classes")
    assert len(clf.templates_) == 8
    assert 0 <= clf.coverage_ <= 1
    plain = fitted(graphs, "short", "classes", wildcards=False)
    assert all(not template.others for template in plain.templates_)
    assert fitted(graphs, "auto", "classes").transform(graphs).shape[1] in (4, 8, 16, 32, 64, 128, 256)
