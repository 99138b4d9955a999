"""Units: a partition whose contributions sum to the score, and what the model says without one."""

from __future__ import annotations

import json

import numpy as np
import pytest

import isonn
from isonn.connectomes import planted_connectomes
from isonn.errors import InputError
from isonn.explain.reasons import Reason
from isonn.explain.units import Partition, Unit, find_partition, register_partition, units_of
from isonn.graphs.edit import delete_nodes
from isonn.graphs.graph import Graph
from tests.rich_graphs import rich_graphs

Chem = pytest.importorskip("rdkit.Chem")
#: Molecules without a group, and odd ones, have atoms that no training molecule has.
pytestmark = pytest.mark.filterwarnings("ignore:.*never seen in training:isonn.errors.IsoNNWarning")

SMILES = [f"{'C' * n}{end}" for n in range(2, 8) for end in ("N", "O", "C(=O)O", "c1ccc([N+](=O)[O-])cc1", "C1CO1")]
#: Molecules that are unlike those of the training set: one atom, a salt, a metal, no carbon, a long chain.
ODD = ["C", "[Na+].[Cl-]", "[Pt+2]", "O=S(=O)(O)O", "N#N", "C[Hg]C", "CC(=O)[O-].[Na+]", "NCC(=O)" * 60 + "O"]


def models():
    molecules = isonn.as_graphset(SMILES)
    nitro, length = np.array(["N" in s for s in SMILES]), np.array([float(len(s)) for s in SMILES])
    rich = rich_graphs(20)
    plain = isonn.as_graphset([graph.adjacency for graph in rich])
    subgraphs, numbers = isonn.SubgraphClassifier(3, random_state=0), isonn.SubgraphRegressor(3, random_state=0)
    study = planted_connectomes(30, 12).graphs
    aligned = isonn.AlignedClassifier(shuffles=19, random_state=0)
    return {
        "molecules": (subgraphs, molecules, nitro),
        "linear": (isonn.SubgraphClassifier(3, head="linear", random_state=0), molecules, nitro),
        "numbers": (numbers, molecules, length),
        "labels": (isonn.SubgraphClassifier(2, random_state=0), molecules, np.column_stack([nitro, length > 9])),
        "weighted": (isonn.SubgraphClassifier(3, random_state=0), rich, np.arange(20) % 3),
        "plain": (isonn.SubgraphClassifier(3, random_state=0), plain, rich.y),
        "aligned": (aligned, study, study.y),
    }


@pytest.fixture(scope="module", params=models())
def fitted(request):
    estimator, graphs, y = models()[request.param]
    return estimator.fit(graphs, y), graphs


def assert_units_add_up(e):
    rest = sum(item.contribution for item in e.absent + e.terms)
    assert sum(unit.contribution for unit in e.units) + rest == pytest.approx(e.score - e.base, abs=1e-9)


def test_units_absent_pieces_and_terms_sum_to_the_score(fitted):
    estimator, graphs = fitted
    for graph in graphs[:6]:
        for label in estimator.target_.classes:
            assert_units_add_up(estimator.explain(graph, label=label))


def test_every_node_is_in_one_unit_and_gives_it_its_contribution(fitted):
    estimator, graphs = fitted
    if isinstance(estimator, isonn.AlignedClassifier):
        pytest.skip("units of aligned graphs are sets of connections")
    for graph in graphs[:6]:
        e = estimator.explain(graph)
        assert sorted(node for unit in e.units for node in unit.nodes) == list(range(graph.n))
        for unit in e.units:
            assert unit.contribution == pytest.approx(e.node_importance[list(unit.nodes)].sum())


def test_relabelling_a_graph_changes_no_unit(fitted):
    estimator, graphs = fitted
    if isinstance(estimator, isonn.AlignedClassifier):
        pytest.skip("aligned graphs have an order")
    for graph, other in zip(graphs[:6], graphs[:6].relabelled(0), strict=True):
        units = [
            [(u.name, len(u.nodes), round(u.contribution, 8)) for u in estimator.explain(g).units]
            for g in (graph, other)
        ]
        assert sorted(map(str, units[0])) == sorted(map(str, units[1]))


def test_the_lines_of_a_summary_add_up(fitted):
    estimator, graphs = fitted
    for graph in graphs[:3]:
        e = estimator.explain(graph)
        lines = e.summary().splitlines()[1:]
        if lines:
            total = sum(float(line.split()[0]) for line in lines)
            assert total == pytest.approx(e.score - e.base, abs=0.005 * len(lines))


def test_a_summary_without_reasons_says_so_and_lists_no_template():
    graphs = isonn.as_graphset([np.ones((n, n)) - np.eye(n) for n in (3, 4, 5) * 8], list("abc") * 8)
    labels = np.repeat(["a", "b"], 12)  # nothing tells these classes apart
    e = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(graphs, labels).explain(graphs[0])
    assert not e.reasons
    assert e.summary().splitlines()[1:] == ["  +0.00  no part of this graph counts"]


def test_a_large_piece_is_divided_into_rings_and_branches():
    ring, branch = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)], [(0, 6), (6, 7), (6, 8)]
    adjacency = np.zeros((9, 9))
    for i, j in ring + branch:
        adjacency[i, j] = adjacency[j, i] = 1
    graph = isonn.as_graphset([adjacency])[0]
    assert [unit.nodes for unit in units_of(graph, np.ones(9))] == [(0, 1, 2, 3, 4, 5), (6, 7, 8)]
    # half a ring is still told from its branch
    half = np.array([1.0, 1, 1, 1, 0, 0, 1, 1, 1])
    assert {unit.nodes for unit in units_of(graph, half)} == {(0, 1, 2, 3), (6, 7, 8), (4, 5)}


def test_without_is_the_prediction_for_the_graph_without_the_nodes(fitted):
    estimator, graphs = fitted
    if isinstance(estimator, isonn.AlignedClassifier):
        pytest.skip("see tests/aligned/test_estimators.py")
    predict = estimator.predict if estimator.target_.numeric else estimator.predict_proba
    delete = isonn.molecules.delete_atoms if graphs.kind == "molecules" else delete_nodes
    for graph in graphs[:4]:
        e = estimator.explain(graph)
        for reason in e.reasons:
            expected = predict(isonn.as_graphset([delete(graph, reason.nodes)]))[0]
            np.testing.assert_allclose(reason.without, np.atleast_1d(expected), rtol=1e-9)
            np.testing.assert_array_equal(e.without(reason), reason.without)
            change = e.probabilities[e.column] - reason.without[e.column]
            assert reason.agrees == (change * reason.contribution >= 0)


def test_the_dict_of_an_explanation_is_json_that_adds_up(fitted):
    estimator, graphs = fitted
    e = estimator.explain(graphs[0])
    row = json.loads(json.dumps(e.to_dict(), allow_nan=False))
    total = sum(item["contribution"] for name in ("units", "absent", "terms") for item in row[name])
    assert total == pytest.approx(row["score"] - row["base"], abs=1e-9)
    assert [reason["contribution"] for reason in row["reasons"]] == [reason.contribution for reason in e.reasons]
    assert all(len(reason["without"]) == len(e.classes) for reason in row["reasons"])
    assert not any("without" in reason for reason in e.to_dict(without=False)["reasons"])


@pytest.fixture(scope="module")
def clf():
    return isonn.SubgraphClassifier(3, random_state=0).fit(SMILES, ["N" in smiles for smiles in SMILES])


@pytest.mark.parametrize("smiles", ODD)
def test_odd_molecules_have_units_that_add_up(clf, smiles):
    e = clf.explain(smiles)
    assert_units_add_up(e)
    for reason in e.reasons:
        assert (reason.without is None) == (reason.agrees is None) == (len(reason.nodes) == e.graph.n)


def test_units_of_molecules_have_names_smiles_and_patterns(clf):
    e = clf.explain("CCc1ccc([N+](=O)[O-])cc1")
    nitro = Reason.of(next(unit for unit in e.units if unit.nodes == (6, 7, 8)), e)
    assert (nitro.name, nitro.text, nitro.smiles) == ("nitro on an aromatic ring",) * 2 + ("*[N+](=O)[O-]",)
    assert isonn.molecules.to_mol(e.graph).HasSubstructMatch(Chem.MolFromSmarts(nitro.smarts))
    np.testing.assert_allclose(nitro.without, clf.predict_proba(["CCc1ccccc1"])[0])


def test_units_of_plain_graphs_are_connected_pieces_of_one_sign_and_the_rest():
    estimator, graphs, y = models()["plain"]
    estimator.fit(graphs, y)
    for graph in graphs[:8]:
        e = estimator.explain(graph)
        for unit in e.units:
            if unit.kind == "piece":
                assert len(set(np.sign(e.node_importance[list(unit.nodes)]))) == 1
                inside = graph.adjacency[np.ix_(unit.nodes, unit.nodes)]
                assert np.linalg.matrix_power(np.eye(len(inside)) + inside, len(inside)).all()
        assert sum(unit.kind == "rest" for unit in e.units) <= 1
        assert all(reason.kind != "rest" for reason in e.reasons)


def test_a_kind_of_graphs_gets_the_partition_registered_for_it():
    class Halves(Partition):
        def units(self, graph: Graph) -> list[Unit]:
            nodes = tuple(range(graph.n))
            return [Unit("first half", "half", nodes[::2]), Unit("second half", "half", nodes[1::2])]

    register_partition("halves", Halves())
    _, graphs, y = models()["plain"]
    graphs = [Graph(graph.n, graph.edges, kind="halves") for graph in graphs]
    e = isonn.SubgraphClassifier(2, random_state=0).fit(graphs, y).explain(graphs[0])
    assert {unit.name for unit in e.units} == {"first half", "second half"}
    assert_units_add_up(e)
    assert find_partition("") is None
    with pytest.raises(InputError, match="is not a Partition"):
        register_partition("halves", "Halves")


def test_the_papers_models_have_no_units():
    pytest.importorskip("torch")
    graphs = isonn.load("MUTAG")[:20]
    clf = isonn.IsoNNClassifier(k=3, c=2, hidden=(8,), epochs=2, random_state=0).fit(graphs)
    e = clf.explain(graphs[0])
    assert e.units == []
    nodes = [node for reason in e.reasons for node in reason.nodes]
    assert len(nodes) == len(set(nodes)) > 0
    for reason in e.reasons:
        np.testing.assert_allclose(reason.without, clf.target_.link(e.source.logits_without(np.array(reason.matches))))
