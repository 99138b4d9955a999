"""The domain of a model: distances against their definition, verdicts against held-out errors, what is stored."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

import isonn
from isonn.domain import Limits
from isonn.errors import InputError, IsoNNWarning
from isonn.heads import Distinct, Inputs
from isonn.references import References, learn_references, sketch


def fit(graphs, y=None, **params):
    return isonn.SubgraphClassifier(max_nodes=4, head="linear", random_state=0, **params).fit(graphs, y)


@pytest.fixture(scope="module")
def graphs():
    return isonn.load("MUTAG")


@pytest.fixture(scope="module")
def fitted(graphs):
    return fit(graphs[:150], keep_examples=True)


def path(n):
    links = np.argwhere(np.eye(n, k=1) + np.eye(n, k=-1))
    return isonn.Graph(n, links, node_labels=[0] * n, edge_labels=[1] * len(links))


def test_similarities_are_those_of_weighted_features(fitted, graphs):
    """The sketch keeps Tanimoto's similarity of features times weights, computed here from all columns."""
    weights = np.abs(fitted.head_.coef).max(axis=0)
    known, new = (fitted.transform(part).toarray() * weights for part in (graphs[:150], graphs[150:]))
    products = new @ known.T
    exact = products / ((new**2).sum(axis=1)[:, None] + (known**2).sum(axis=1) - products)
    neighbours = fitted.domain(graphs[150:]).neighbours
    nearest = np.array([row[0].similarity for row in neighbours])
    assert np.abs(nearest - exact.max(axis=1)).max() < 0.12
    chosen = [exact[i, int(row[0].id)] for i, row in enumerate(neighbours)]
    assert np.min(chosen / exact.max(axis=1)) > 0.8


def test_a_training_graph_is_its_own_nearest_neighbour_with_its_true_class(fitted, graphs):
    for i, neighbours in enumerate(fitted.domain(graphs[:20]).neighbours):
        assert neighbours[0].similarity > 0.999
        assert neighbours[0].value == graphs.y[int(neighbours[0].id)]
        assert len(neighbours) == 3
        same = [int(entry.id) for entry in neighbours if entry.similarity > 0.9999]
        assert i in same or (graphs.sizes[same] == graphs.sizes[i]).all()


def test_shared_pieces_are_in_both_graphs(fitted, graphs):
    counts, texts = fitted.vectorizer_.transform(graphs).toarray(), [template.text() for template in fitted.templates_]
    for i, neighbours in enumerate(fitted.domain(graphs[150:160]).neighbours, 150):
        for entry in neighbours:
            assert entry.shared
            both = (counts[i] > 0) & (counts[int(entry.id)] > 0)
            assert set(entry.shared) <= {text for text, there in zip(texts, both, strict=True) if there}


def test_a_long_chain_is_out_and_says_why(fitted):
    domain = fitted.domain([path(60)])
    assert domain.verdict.tolist() == ["out"]
    assert any("nodes" in fact and "60" in fact for fact in domain.outside[0])
    assert domain[0].text.startswith("Out of domain: ")


def test_a_node_of_an_unknown_kind_is_out_and_named(graphs):
    labels = sorted({label for graph in graphs for label in graph.node_labels.tolist()})
    rare = [i for i, graph in enumerate(graphs) if labels[-1] in graph.node_labels.tolist()]
    model = fit(graphs[[i for i in range(len(graphs)) if i not in rare]])
    domain = model.domain(graphs[rare[:1]])
    assert domain.verdict.tolist() == ["out"]
    assert graphs.node_label_names[labels[-1]] in {piece.name for piece in domain.unseen[0]}
    (node,) = domain.unseen[0][0].nodes
    assert graphs[rare[0]].node_labels[node] == labels[-1]


def test_a_new_piece_tells_neighbours_where_its_formula_is_that_of_a_known_piece():
    """Tertiary alcohols have C\u2013OH; acids are not among them, and only neighbours tell their C\u2013OH from it."""
    pytest.importorskip("rdkit")
    smiles = ["C" * n + end for n in range(1, 7) for end in ("C(C)(C)O", "C(=O)C", "CO", "CN")]
    model = fit(smiles, [len(text) % 2 for text in smiles])
    assert "C\u2013OH (neighbours: 3, 1)" in [piece.name for piece in model.domain(["CCC(=O)O"]).unseen[0]]


def test_training_graphs_have_no_unseen_piece(fitted, graphs):
    assert fitted.domain(graphs[:30]).unseen == [[]] * 30


def test_distance_and_verdict_do_not_depend_on_node_numbers_or_company(fitted, graphs):
    some = graphs[150:158]
    together = fitted.domain(some)
    alone = [fitted.domain(some[i : i + 1].relabelled(i)) for i in range(len(some))]
    np.testing.assert_allclose([one.distance[0] for one in alone], together.distance, atol=1e-5)
    assert [one.verdict[0] for one in alone] == together.verdict.tolist()
    assert ((together.distance >= 0) & (together.distance <= 1)).all()


def test_graphs_out_of_the_domain_are_predicted_worse():
    """Half of the pieces predict the number well, and graphs with the others are noise; a new graph shows which."""
    draw = np.random.default_rng(0)
    noisy = np.arange(240) % 3 == 0
    graphs, labels = [], []
    for hard in noisy:
        n = int(draw.integers(6, 12))
        links = np.triu(draw.random((n, n)) < 0.3, 1) | np.eye(n, k=1, dtype=bool)
        labels.append(draw.integers(0, 2, n) + 2 * hard)
        graphs.append(isonn.Graph(n, np.argwhere(links | links.T), node_labels=labels[-1]))
    y = np.array([float((label % 2 == 1).sum()) for label in labels])
    y += np.where(noisy, 4.0, 0.2) * draw.normal(size=240)
    reg = isonn.SubgraphRegressor(max_nodes=2, head="linear", random_state=0).fit(graphs[:180], y[:180])
    domain = reg.domain(graphs[180:])
    error = np.abs(reg.predict(graphs[180:]) - y[180:])
    assert np.median(error[domain.verdict == "out"]) > 2 * np.median(error[domain.verdict == "in"])
    low, high = reg.predict_interval(graphs[180:]).T
    hard = noisy[180:]
    assert (high - low)[hard].mean() > 1.5 * (high - low)[~hard].mean()


@pytest.mark.parametrize(
    ("rises", "expected"),
    [((0.85, 0.97), (0.85, 0.97)), ((0.3, 0.5), (0.7, 0.9))],  # the second: most training graphs are in the domain
)
def test_limits_are_where_held_out_errors_rise_but_leave_most_training_graphs_in(rises, expected):
    distance = np.linspace(0, 1, 1001)
    errors = np.where(distance < rises[0], 0.5, np.where(distance < rises[1], 1.2, 4.0))
    limits = Limits.fit(distance, errors, np.zeros((1001, 1)))
    np.testing.assert_allclose(limits.distances, expected, atol=0.002)


def test_verdicts_compare_distances_with_the_limits():
    distance, terms, nothing = np.array([0.0, 0.5, 1.0, 1.01]), np.zeros((4, 1)), np.zeros(4, dtype=int)
    flat = Limits.fit(np.linspace(0, 1, 300), np.full(300, 0.999), np.zeros((300, 1)))
    verdicts = flat.verdicts(distance, np.zeros(4, dtype=bool), terms, nothing)
    assert verdicts.tolist() == ["in", "in", "in", "out"]  # farther than any training graph
    assert flat.verdicts(distance, np.ones(4, dtype=bool), terms, nothing).tolist() == ["in", "in", "in", "borderline"]


def test_no_training_graph_is_out_of_the_domain(fitted, graphs):
    verdict = fitted.domain(graphs[:150]).verdict
    assert "out" not in verdict
    assert (verdict == "in").mean() > 0.6


def test_the_sentence_says_whether_similar_graphs_were_predicted_badly(fitted, graphs):
    for known in fitted.domain(graphs):
        if known.verdict != "in" and not known.unseen and not known.outside:
            badly = known.text.endswith("similar training graphs were predicted badly when held out.")
            assert badly == known.familiar


def test_graphs_of_the_same_group_are_no_neighbours_in_calibration():
    draw = np.random.default_rng(0)
    features = draw.random((40, 12))
    features[1::2] = features[::2] * 1.001  # twins
    inputs = Inputs(csr_array(features), csr_array(features), groups=np.repeat(np.arange(20), 2))
    distinct = Distinct.of(inputs)
    references, learned = learn_references(inputs, np.ones((40, 1)), np.ones(12), distinct)
    nearest = learned.near.reference[:, 0]
    assert (distinct.groups[learned.graphs] != distinct.groups[learned.members][nearest]).all()
    new = references.nearest(sketch(csr_array(features), references.weights))
    assert (new.similarity[:, 0] > 0.99).all()  # a new graph finds both twins


def test_sketches_keep_products_on_average():
    draw = np.random.default_rng(0)
    features = csr_array(draw.random((30, 4000)) * (draw.random((30, 4000)) < 0.1))
    weights = draw.random(4000).astype(np.float32)
    points = sketch(features, weights).astype(float)
    weighted = features.toarray() * weights
    exact, kept = weighted @ weighted.T, points @ points.T
    np.testing.assert_allclose(np.diag(kept), np.diag(exact), rtol=0.25)
    assert abs((kept - exact).mean()) < 0.05 * np.diag(exact).mean()


def test_the_nearest_of_many_references_are_those_of_a_full_search():
    draw = np.random.default_rng(0)
    stored = draw.normal(size=(3001, 256)).astype(np.float16)
    references = References(np.ones(5, np.float32), stored, np.ones((3001, 1), np.float32), np.ones(1))
    points = draw.normal(size=(7, 256)).astype(np.float32)
    near = references.nearest(points)
    one, other = points.astype(float), stored.astype(float)
    products = one @ other.T
    exact = products / ((one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - products)
    order = np.argsort(-exact, axis=1)[:, :20]
    np.testing.assert_array_equal(near.reference, order)
    np.testing.assert_allclose(near.similarity, np.take_along_axis(exact, order, axis=1), atol=1e-4)


def test_several_columns_and_gaps_have_one_distance(graphs):
    y = np.column_stack([graphs.sizes, graphs.sizes % 5]).astype(float)
    y[::3, 1] = np.nan
    reg = isonn.SubgraphRegressor(max_nodes=2, head="linear", keep_examples=True, random_state=0).fit(
        graphs[:80], y[:80]
    )
    domain = reg.domain(graphs[80:90])
    assert domain.distance.shape == (10,)
    assert np.isfinite(domain.distance).all()
    known = {None if entry.value[1] is None else True for row in domain.neighbours for entry in row}
    assert known == {None, True}


@pytest.mark.parametrize("kept", [False, True])
def test_ids_are_stored_only_if_they_are_asked_for(graphs, tmp_path, kept):
    from dataclasses import replace

    named = replace(graphs[:60], ids=np.array([f"secret-{i}" for i in range(60)]))
    model = fit(named, keep_examples=kept)
    model.save(tmp_path / "model")
    stored = b"".join(file.read_bytes() for file in (tmp_path / "model").iterdir())
    assert (b"secret-7" in stored) == kept
    again = isonn.load_model(tmp_path / "model")
    one, other = (m.domain(graphs[100:105]) for m in (model, again))
    assert one.neighbours == other.neighbours
    assert all(len(row) == 3 * kept for row in one.neighbours)
    np.testing.assert_array_equal(one.distance, other.distance)
    np.testing.assert_array_equal(one.verdict, other.verdict)


@pytest.mark.parametrize(("column", "names"), [("", list("1234567")), ("name,", ["1", "n2", *"34567"])])
def test_molecules_without_an_id_are_named_by_their_row_of_the_file(tmp_path, column, names):
    pytest.importorskip("rdkit")
    rows = [f"{'n2' * (i == 2)},"[: len(column)] + f"{'C' * i}O,{i}.5" for i in range(1, 8)]
    (tmp_path / "d.csv").write_text("\n".join([f"{column}smiles,y", f"{',' if column else ''}C1CC,3", *rows, ""]))
    with pytest.warns(IsoNNWarning, match="1 row is left out: row 0"):
        graphs = isonn.load(tmp_path / "d.csv")
    reg = isonn.SubgraphRegressor(max_nodes=3, head="linear", keep_examples=True, random_state=0).fit(graphs)
    nearest = reg.domain([f"{'C' * i}O" for i in range(1, 8)]).neighbours
    assert {case.id for cases in nearest for case in cases} == set(names)


def test_smiles_are_shown_if_they_are_asked_for():
    pytest.importorskip("rdkit")
    smiles = [f"{'C' * n}{end}" for n in range(2, 12) for end in ("O", "N", "Cl", "C(=O)O")]
    y = [int(text.endswith("O")) for text in smiles]
    clf = fit(smiles, y, keep_examples="smiles")
    ((nearest, *_),) = clf.domain(["CCCCCCO"]).neighbours
    assert nearest.id == "CCCCCCO"
    assert nearest.value == 1
    assert clf.domain(["C" * 60]).verdict.tolist() == ["out"]
    assert "Fe" in clf.domain(["CC[Fe]"])[0].text
    with pytest.raises(InputError, match="keep_examples='smiles' needs molecules"):
        fit(isonn.load("MUTAG")[:20], keep_examples="smiles")


@pytest.mark.parametrize("value", ["names", 2, None])
def test_another_value_of_keep_examples_is_refused(graphs, value):
    with pytest.raises(InputError, match=r"keep_examples=.* is unknown; use False, True or 'smiles'"):
        fit(graphs[:20], keep_examples=value)


def test_a_short_list_refuses_with_a_sentence(graphs):
    model = fit(graphs[:40], n_templates=4)
    with pytest.raises(InputError, match=r"no held-out errors, which domain needs; .*n_templates=None"):
        model.domain(graphs[:2])


def test_references_are_checked_on_load(fitted):
    tensors = fitted._trust.references.tensors()
    width = len(fitted._trust.references.weights)
    References.restore(tensors, width, 1)
    for name, array in tensors.items():
        with pytest.raises(ValueError, match="has shape"):
            References.restore({**tensors, name: array[:-1]}, width, 1)


def test_an_explanation_has_interval_set_and_domain(fitted, graphs):
    e = fitted.explain(graphs[155])
    assert e.interval is None
    assert e.prediction_set == fitted.classes_[fitted.predict_set(graphs[155:156])[0]].tolist()
    assert e.domain.verdict == fitted.domain(graphs[155:156]).verdict[0]
    row = json.loads(json.dumps(e.to_dict(without=False), allow_nan=False))
    assert row["domain"]["verdict"] == e.domain.verdict
    assert [case["id"] for case in row["domain"]["neighbours"]] == [case.id for case in e.domain.neighbours]
    assert row["set"] == e.prediction_set
    reg = isonn.SubgraphRegressor(max_nodes=2, head="linear", random_state=0).fit(graphs[:80], graphs.sizes[:80] * 1.0)
    e = reg.explain(graphs[155])
    np.testing.assert_allclose(e.interval, reg.predict_interval(graphs[155:156])[0])
    assert e.prediction_set is None


def test_one_pass_gives_what_the_single_methods_give(fitted, graphs):
    assessment = fitted.assess(graphs[150:], coverage=0.8)
    np.testing.assert_allclose(assessment.answers, fitted.predict_proba(graphs[150:]))
    np.testing.assert_array_equal(assessment.sets, fitted.predict_set(graphs[150:], 0.8))
    np.testing.assert_array_equal(assessment.domain.verdict, fitted.domain(graphs[150:]).verdict)


def test_pages_show_interval_domain_and_neighbours(fitted, graphs, tmp_path):
    pytest.importorskip("jinja2")
    fitted.explain(graphs[155]).to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    domain = fitted.domain(graphs[155:156])
    assert "How far can this be trusted?" in page
    assert domain[0].text.rstrip(".") in page
    assert all(f"{case.similarity:.2f}" in page for case in domain.neighbours[0])
    assert "Nearest known cases" in page
