"""The page of a model: its answer counts right, says how it was judged, and stands on its own."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import networkx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import GraphMatcher
from sklearn.metrics import roc_auc_score

import isonn
from isonn.errors import InputError
from isonn.graphs import planted_motifs
from isonn.graphs.isomorphism import twin_groups
from isonn.report.cases import Cases
from isonn.report.counts import piece_key
from isonn.report.model_page import ModelPage
from isonn.report.page_models import cross_fitted, folds_of, held_out


def as_networkx(graph):
    """The graph with labels of nodes and edges, for an independent library."""
    made = networkx.Graph()
    for node, label in enumerate(graph.node_labels.tolist()):
        made.add_node(node, label=label)
    for (a, b), label in zip(graph.edges.tolist(), graph.edge_labels.tolist(), strict=True):
        made.add_edge(a, b, label=label)
    return made


def occurrences(graph, template) -> int:
    """How many sets of nodes networkx finds to be the template as an induced subgraph, labels included."""
    piece = networkx.Graph()
    for node, label in enumerate(template.node_labels.tolist()):
        piece.add_node(node, label=label)
    for a, b in np.argwhere(template.adjacency > 0.5).tolist():
        piece.add_edge(a, b, label=template.edge_labels[a, b])
    same = networkx.algorithms.isomorphism.categorical_node_match("label", None)
    bonds = networkx.algorithms.isomorphism.categorical_edge_match("label", None)
    found = GraphMatcher(as_networkx(graph), piece, node_match=same, edge_match=bonds)
    return len({frozenset(places) for places in found.subgraph_isomorphisms_iter()})


@pytest.fixture(scope="module")
def named(mutag):
    return replace(mutag, class_names={-1: "harmless", 1: "mutagenic"})


@pytest.fixture(scope="module")
def clf(named):
    return isonn.SubgraphClassifier(max_nodes=3, view="labels", random_state=0).fit(named)


@pytest.fixture(scope="module")
def page(clf, named):
    return ModelPage(held_out(clf, named), most=20)


def test_every_count_of_the_answer_is_a_direct_count(clf, named, page):
    """Nearly every molecule of MUTAG has an aromatic ring, so the answer says how often each class has its pieces."""
    template, positive = clf.reasons_[1][0].template, named.y == 1
    times = np.array([occurrences(graph, template) for graph in named])
    assert (times > 0).mean() > 0.9
    assert page.header.answer == (
        f"The {positive.sum()} graphs that are mutagenic contain C:C:C {times[positive].mean():.1f} times "
        f"on average, the {(~positive).sum()} others {times[~positive].mean():.1f} times."
    )


def test_an_answer_about_a_piece_that_few_others_have_counts_the_graphs(mutag):
    fluorine = np.array([int((graph.node_labels == 3).any()) for graph in mutag])
    labelled = replace(mutag.with_y(fluorine), class_names={})
    clf = isonn.SubgraphClassifier(max_nodes=2, view="labels", head="linear", random_state=0).fit(labelled)
    page = ModelPage(held_out(clf, labelled), most=20)
    held = np.array([occurrences(graph, clf.reasons_[1][0].template) > 0 for graph in mutag])
    positive = fluorine == 1
    numbers = [
        int(number) for number in re.findall(r"\b\d+\b", re.sub(r"of class 1|contain.*?,", "", page.header.answer))
    ]
    assert numbers == [(held & positive).sum(), positive.sum(), (held & ~positive).sum(), (~positive).sum()]
    assert page.header.question == "Which graphs of MUTAG are of class 1, and why?"


def test_every_count_of_every_piece_is_a_direct_count(clf, named, page):
    counted_times = 0
    for value, pieces in page.pieces.items():
        for reason, piece in zip(clf.reasons_[value], pieces, strict=False):
            times = np.array([occurrences(graph, reason.template) for graph in named])
            own_first = (value, -value)
            for (_, count, of), class_ in zip(piece.counts, own_first, strict=True):
                assert (count, of) == (((times > 0) & (named.y == class_)).sum(), (named.y == class_).sum())
            if piece.times:
                counted_times += 1
                np.testing.assert_allclose(piece.times, [times[named.y == class_].mean() for class_ in own_first])
            assert all(times[number] for number in piece.examples)
    assert counted_times


def test_held_out_graphs_of_one_class_have_a_page(clf, named, tmp_path: Path):
    clf.report(named[named.y == 1][:20], None, tmp_path / "one.html", cross_fit=False)
    assert "of 20 right" in (tmp_path / "one.html").read_text()


def test_the_counts_beside_a_reason_are_direct_counts_of_training_graphs(clf, named, page):
    assert not any(reason.held for panel in page.cases.panels for reason in panel.reasons)  # they are held out
    judged = replace(held_out(clf, named), train=np.arange(len(named)))
    panels = Cases(judged, range(8)).panels
    panel = next(panel for panel in panels if panel.reasons and panel.reasons[0].held)
    members = panel.reasons[0].members
    piece = as_networkx(named[panel.number]).subgraph(members)
    same = networkx.algorithms.isomorphism.categorical_node_match("label", None)
    bonds = networkx.algorithms.isomorphism.categorical_edge_match("label", None)
    held = np.array(
        [GraphMatcher(as_networkx(g), piece, same, bonds).subgraph_is_monomorphic() for g in named], dtype=bool
    )
    expected = [f"{(held & (named.y == v)).sum()} of {(named.y == v).sum()} {n}" for v, n in named.class_names.items()]
    assert panel.reasons[0].held == ", ".join(expected)


def test_the_first_screen_has_the_question_the_number_and_the_number_to_beat(clf, named, page):
    assert page.header.question == "Which graphs of MUTAG are mutagenic, and why?"
    main, trivial = page.header.tiles
    right = int((clf.predict(named) == named.y).sum())
    assert main.about == f"{right} of 188 right"
    assert trivial.name.startswith("Best trivial method: ")
    assert 'class="halo pos on"' in page.header.example.drawing.svg
    assert page.header.example.panel.right


def test_cross_fitted_models_have_not_seen_what_they_explain(clf, named):
    few = named[::4]
    judged = cross_fitted(clf, few)
    assert sorted(judged.numbers.tolist()) == list(range(len(few)))
    for (_, test), (train, own) in zip(judged.shown, folds_of(few), strict=True):
        assert set(test.tolist()) == set(own.tolist())
        assert not set(train.tolist()) & set(own.tolist())
    assert judged.how.startswith("Cross-fitted in 5 folds")


@pytest.mark.parametrize("y", [None, np.linspace(0, 1, 47)])
def test_equal_graphs_share_a_fold_whatever_is_predicted(y, named):
    few = named[::4] if y is None else named[::4].with_y(y)
    groups, folds = twin_groups(few), folds_of(few)
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(47))
    for train, test in folds:
        assert not set(groups[train].tolist()) & set(groups[test].tolist())


def test_report_writes_one_page_and_says_how_it_was_judged(clf, named, tmp_path: Path):
    clf.report(named[:30], named.y[:30], tmp_path / "held.html", cross_fit=False)
    text = (tmp_path / "held.html").read_text()
    assert "All of these 30 are training graphs of the model" in text
    assert "Held out" not in text
    assert text.index("SHA-256") > text.index('<section id="gallery"')
    with pytest.raises(InputError, match="exists already"):
        clf.report(named[:30], named.y[:30], tmp_path / "held.html")
    with pytest.raises(InputError, match="pass y"):
        clf.report(named[:30].with_y(None), None, tmp_path / "other.html")
    with pytest.raises(InputError, match="MajorityClassifier does not give reasons"):
        isonn.baselines.MajorityClassifier().fit(named).report(named, None, tmp_path / "other.html")


def test_a_page_of_a_handful_of_graphs_has_no_trivial_method(clf, named, tmp_path: Path):
    few = named[[0, 1, 3]]
    assert len(set(few.y.tolist())) == 2
    clf.report(few, None, tmp_path / "few.html", cross_fit=False)
    assert "trivial" not in (tmp_path / "few.html").read_text().split("<main")[-1].split("<section")[0]


def test_a_model_knows_its_training_graphs_and_reports_them_cross_fitted(mutag, tmp_path: Path):
    train, test = mutag[:40], mutag[40:80]
    clf = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(train)
    assert clf.seen_in_training(train).all()
    equal = {piece_key(graph, range(graph.n)) for graph in train}
    for graph, seen in zip(test, clf.seen_in_training(test), strict=True):
        assert not seen or piece_key(graph, range(graph.n)) in equal
    assert clf.seen_in_training(test).mean() < 0.2
    clf.save(tmp_path / "model")
    again = isonn.load_model(tmp_path / "model")
    np.testing.assert_equal(again.seen_in_training(mutag), clf.seen_in_training(mutag))
    again.report(train, None, tmp_path / "page.html")
    assert "Cross-fitted in 5 folds" in (tmp_path / "page.html").read_text()


def test_numbers_are_reported_as_errors_beside_the_mean(named, tmp_path: Path):
    nodes = named.sizes.astype(float)
    few = named[:60].with_y(nodes[:60])
    reg = isonn.SubgraphRegressor(max_nodes=2, head="linear", random_state=0).fit(few)
    reg.report(few, None, tmp_path / "numbers.html", cross_fit=False)
    text = unescape((tmp_path / "numbers.html").read_text())
    assert "What decides the value in MUTAG?" in text
    rmse = float(np.sqrt(np.mean((reg.predict(few) - few.y) ** 2)))
    assert f"<strong>{rmse:.3g}</strong>" in text
    assert "Best trivial method: graph size" in text  # the numbers are the numbers of nodes
    counted = re.search(r"(\d+) of the 60 graphs contain .* their mean value is ([\d.]+), that of the others", text)
    assert counted is not None
    features = reg.transform(few)
    holders = [features[:, [piece.column]].toarray().ravel() > 0 for piece in reg.reasons_[0]]
    held = next(own for own in holders if not own.all())  # the first piece that some graphs lack
    assert (int(counted[1]), counted[2]) == (held.sum(), f"{few.y[held].mean():.3g}")


def test_the_first_of_several_numbers_is_the_one_that_the_first_screen_judges(mutag, tmp_path: Path):
    nodes = mutag.sizes[:60].astype(float)
    first = np.where(np.arange(60) % 3, nodes, np.nan)
    few = mutag[:60].with_y(np.column_stack([first, 1000 * nodes[::-1]]))
    reg = isonn.SubgraphRegressor(max_nodes=2, head="linear", random_state=0).fit(few)
    reg.report(few, None, tmp_path / "numbers.html", cross_fit=False)
    text = unescape((tmp_path / "numbers.html").read_text())
    rmse = float(np.sqrt(np.nanmean((reg.predict(few) - few.y)[:, 0] ** 2)))
    assert "What decides value 0 in MUTAG?" in text
    assert "Typical error of value 0 (RMSE)" in text
    assert f"<strong>{rmse:.3g}</strong>" in text
    assert "Of value 0: Pearson's r" in text


def test_a_few_training_graphs_are_left_out_of_a_held_out_page(mutag, tmp_path: Path):
    clf = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(mutag[:60])
    few = isonn.GraphSet.concat([mutag[100:130], mutag[:3]])
    kept = int((~clf.seen_in_training(few)).sum())
    clf.report(few, None, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert f"was not fitted to any of these {kept} graphs. {33 - kept} more that equal its training graphs" in text


@pytest.mark.filterwarnings("ignore::isonn.errors.IsoNNWarning")
def test_pieces_of_several_labels_are_counted_with_and_without_each_label(mutag):
    y = np.column_stack([mutag.y == 1, mutag.sizes > 12]).astype(float)
    y[::7, 0] = np.nan
    graphs = mutag.with_y(y)
    clf = isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0).fit(graphs[:120])
    held_graphs = graphs[120:]
    page = ModelPage(held_out(clf, held_graphs))
    features = clf.transform(held_graphs).toarray() > 0
    for label, pieces in sorted(page.pieces.items()):
        for piece in pieces:
            held, column = features[:, piece.column], held_graphs.y[:, label]
            assert [counts[1:] for counts in piece.counts] == [
                ((held & (column == value)).sum(), (column == value).sum()) for value in (1, 0)
            ]
    most = np.nanmean(y[120:], axis=0) > 0.5  # folds agree with the whole here
    right = ((held_graphs.y == most) | np.isnan(held_graphs.y)).all(axis=1).sum()
    assert page.header.tiles[1].about == f"all labels: {right} of {len(held_graphs)} right"
    answers = clf.predict_proba(held_graphs)
    known = [~np.isnan(column) for column in held_graphs.y.T]
    areas = [roc_auc_score(held_graphs.y[k, i], answers[k, i]) for i, k in enumerate(known)]
    assert page.header.tiles[0].value == f"{np.mean(areas):.3f}"


@pytest.mark.filterwarnings("ignore::isonn.errors.IsoNNWarning")
def test_a_reason_without_which_a_label_is_gone_says_so(mutag):
    graphs = mutag.with_y(np.column_stack([mutag.y == 1, mutag.sizes > 15]).astype(float))
    clf = isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0).fit(graphs)
    flips = set()
    for panel in Cases(held_out(clf, graphs), range(30)).panels:
        found = clf.explain(graphs[panel.number])
        for row, reason in zip(panel.reasons, found.reasons, strict=True):
            same = ((reason.without > 0.5) == (found.probabilities > 0.5)).all()
            assert (row.flips == "") == same
            flips.add(row.flips)
    assert flips > {""}


@pytest.mark.filterwarnings("ignore::isonn.errors.IsoNNWarning")  # one atom kind is in a test molecule only
def test_the_first_reason_is_the_rule_that_made_the_classes(mutag, tmp_path: Path):
    """Molecules labelled by a rule: a nitrogen in a ring, which is a nitrogen with two aromatic bonds."""

    def ring_nitrogens(graph):
        cells = zip(graph.edges.tolist(), graph.edge_labels.tolist(), strict=True)
        aromatic = [row for (row, _), label in cells if label == 0]
        return {node for node in range(graph.n) if graph.node_labels[node] == 1 and aromatic.count(node) >= 2}

    y = np.array([int(bool(ring_nitrogens(graph))) for graph in mutag])
    train, test = np.arange(0, 188, 2), np.arange(1, 188, 2)
    clf = isonn.SubgraphClassifier(head="linear", random_state=0).fit(mutag[train], y[train])
    held = mutag[test].with_y(y[test])
    page = ModelPage(held_out(clf, held))
    first = page.pieces[page.explained][0]
    assert page.explained == 1
    assert "N" in first.text
    counts = {name: (held, of) for name, held, of in first.counts}
    assert counts["class 0"][0] == 0 or counts["class 1"][0] > 0.9 * counts["class 1"][1]
    positive = [panel for panel in page.cases.panels if y[test][panel.number] == 1]
    hits = [
        bool(set(panel.reasons[0].members) & ring_nitrogens(held[panel.number])) for panel in positive if panel.reasons
    ]
    assert np.mean(hits) >= 0.95
    assert len(hits) == len(positive)


def test_the_first_reason_of_a_planted_motif_lies_in_it():
    planted = planted_motifs(n_graphs=120, seed=0)
    graphs, test = planted.graphs, np.arange(80, 120)
    clf = isonn.SubgraphClassifier(max_nodes=4, head="linear", random_state=0).fit(graphs[:80])
    page = ModelPage(held_out(clf, graphs[test]))
    piece = page.pieces[page.explained][0]
    assert ("class 0", 0) in [count[:2] for count in piece.counts]
    assert all(set(planted.motif_nodes[test[number]]) for number in piece.examples)
    positive = [panel for panel in page.cases.panels if graphs.y[test[panel.number]] == 1]
    inside = [set(panel.reasons[0].members) <= set(planted.motif_nodes[test[panel.number]]) for panel in positive]
    assert np.mean(inside) >= 0.95


def test_graphs_that_no_piece_tells_apart_have_no_reason_and_the_page_says_so(tmp_path: Path):
    same = isonn.as_graphset(np.stack([np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)] * 6), y=[0, 1] * 3)
    clf = isonn.SubgraphClassifier(max_nodes=2, min_support=1, head="linear", random_state=0).fit(same)
    assert clf.explain(same[0]).reasons == []
    clf.report(same, None, tmp_path / "same.html")
    assert "No piece of these graphs speaks for class 1" in (tmp_path / "same.html").read_text()
    clf.explain(same[0]).to_html(tmp_path / "one.html")
    assert "No piece of this graph speaks for or against class" in (tmp_path / "one.html").read_text()


def test_a_stream_is_reported_as_its_graphs_are(mutag, tmp_path: Path):
    clf = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(mutag[:100])
    clf.report(isonn.stream(mutag[100:130], at_once=7), None, tmp_path / "stream.html")
    clf.report(mutag[100:130], None, tmp_path / "set.html")
    assert (tmp_path / "stream.html").read_text() == (tmp_path / "set.html").read_text()
    with pytest.raises(InputError, match="a stream carries its own y"):
        clf.report(isonn.stream(mutag, at_once=7), mutag.y, tmp_path / "y.html")


def test_an_answer_about_labels_and_about_a_class_that_is_there(mutag):
    y = np.stack([mutag.y == 1, mutag.sizes > 18], axis=1).astype(float)
    several = replace(mutag.with_y(y), class_names={}, target_names=("mutagenic", "large"))
    clf = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(several)
    page = ModelPage(held_out(clf, several), most=5)
    assert re.search(r"graphs that have label (mutagenic|large) contain", page.header.answer)
    three = mutag.with_y(np.digitize(mutag.sizes, (15, 20)))
    clf = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(three)
    two = three[three.y > 0]
    page = ModelPage(held_out(clf, two), most=5)
    assert re.search(r"graphs that are of class [12] contain", page.header.answer)
    for pieces in page.pieces.values():
        assert all(piece.held > 0 for piece in pieces)  # none that no graph of the page contains
