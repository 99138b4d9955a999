"""Suggestions for molecules: chemistry that RDKit accepts, standardised, and scored exactly."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from tests_commands import refused, run

Chem = pytest.importorskip("rdkit.Chem")

from rdkit.Chem.rdChemReactions import ReactionFromSmarts

import isonn
from isonn.molecules.suggest import MoleculeEditor
from isonn.molecules.tables import read_table

NITRO = "Cc1ccc([N+](=O)[O-])cc1"


@pytest.fixture(scope="module")
def toxic(tmp_path_factory):
    path = tmp_path_factory.mktemp("toxic") / "molecules.csv"
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "alerts.py"))["write_molecules"](path, 200)
    return isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0).fit(isonn.load(path))


def proposals(smiles):
    return MoleculeEditor().propose(isonn.molecules.from_smiles([smiles])[0], "salts")


@pytest.mark.parametrize("given", ["CCO", "CCOC", "CCN(C)C", "CSCC", "CN(C)N=O"])
def test_no_edit_makes_a_peroxide_or_a_halide_of_a_heteroatom(given):
    unstable = Chem.MolFromSmarts("[$([#8]),$([#16X2]),$([#7])]-[$([OX2]),$([SX2]),F,Cl]")
    before = len(Chem.MolFromSmiles(given).GetSubstructMatches(unstable))
    found = proposals(given)
    assert found
    for words, smiles in found:
        assert len(Chem.MolFromSmiles(smiles).GetSubstructMatches(unstable)) <= before, (words, smiles)
    assert "CCS(=O)(=O)O" in [smiles for _, smiles in proposals("CCS(C)(=O)=O")]


@pytest.mark.parametrize(
    ("given", "unstable"),
    [
        ("CN1CCC(CC1)OC(c1ccccc1)c1ccccc1", "[OX2][CX4;!R][OX2]"),  # hemiacetals, acetals
        ("OC(c1ccccc1)c1ccccc1", "[OX2][CX4][OX2]"),  # gem-diols
        ("CCN(CC)Cc1ccccc1", "[NX3][CX4][OX2,NX3]"),  # aminals, N,O-acetals
        ("COC(c1ccccc1)c1ccccc1", "O[CX4][Cl,Br,I]"),
    ],
)
def test_no_edit_makes_a_carbon_that_loses_a_group_in_water(given, unstable):
    pattern = Chem.MolFromSmarts(unstable)
    found = [(words, smiles) for words, smiles in proposals(given) if not words.startswith("remove")]
    assert found
    for words, smiles in found:
        assert not Chem.MolFromSmiles(smiles).HasSubstructMatch(pattern), (words, smiles)
    assert any(
        Chem.MolFromSmiles(s).HasSubstructMatch(Chem.MolFromSmarts("OCO")) for _, s in proposals("CCOCOCCc1ccccc1")
    )


def test_of_numbers_the_most_similar_molecule_that_reaches_the_goal_is_first():
    molecules = [f"{'C' * n}{end}" for n in range(1, 9) for end in ("O", "N", "Cl", "C(=O)O", "c1ccccc1", "C#N")]
    sizes = [float(Chem.MolFromSmiles(smiles).GetNumAtoms()) for smiles in molecules]
    reg = isonn.SubgraphRegressor(max_nodes=2, head="linear", random_state=0).fit(molecules, sizes)
    given = "CCCCCCc1ccccc1"
    now = reg.predict([given])[0]
    found = reg.suggest(given, goal=now - 1, top=50)
    inside = [one for one in found if one.reached and one.verdict == "in"]
    assert len(inside) > 2
    assert found[: len(inside)] == sorted(inside, key=lambda one: (len(one.edits), -one.similarity))
    assert max(one.change for one in inside) > inside[0].change, "the farthest is not the first"


def test_the_rule_of_the_data_is_undone(toxic):
    found = toxic.suggest(NITRO, goal=0, top=5)
    nitro = Chem.MolFromSmarts("c[N+](=O)[O-]")
    assert all(one.reached for one in found)
    for one in found:
        assert not Chem.MolFromSmiles(one.smiles).HasSubstructMatch(nitro), one
        assert one.answer == pytest.approx(toxic.predict_proba([one.smiles])[0, 0], abs=1e-12)
        assert 0 < one.similarity < 1


@pytest.mark.parametrize(
    ("given", "words", "expected"),
    [
        (NITRO, "remove nitro on an aromatic ring", "Cc1ccccc1"),
        (NITRO, "replace nitro on an aromatic ring by cyano", "Cc1ccc(C#N)cc1"),
        ("Nc1ccccc1", "acetamide for an aromatic amine", "CC(=O)Nc1ccccc1"),
        ("CC(=O)NCC", "reversed amide", "CCC(=O)NC"),
        ("OC(=O)CC", "tetrazole for an acid", "CCc1nnn[nH]1"),
        ("C1OC1C", "diol for an epoxide", "CC(O)CO"),
        ("c1ccccc1", "ring nitrogen for CH", "c1ccncc1"),
    ],
)
def test_replacements_are_those_a_chemist_would_draw(given, words, expected):
    assert (words, Chem.CanonSmiles(expected)) in proposals(given)


def test_every_replacement_is_a_reaction_and_proposals_are_valid():
    rows = read_table("replacements")
    assert 55 <= len(rows) <= 75
    for row in rows:
        assert ReactionFromSmarts(row["smarts"]).Validate(True)[1] == 0
    for smiles in (NITRO, "CC(=O)Oc1ccccc1C(=O)O", "CN1CCC(c2ccc(N)cc2)CC1", "O=C1C=CC(=O)C=C1", "C[n+]1ccccc1"):
        for _, proposal in proposals(smiles):
            assert Chem.MolFromSmiles(proposal) is not None
            assert not any(atom.GetNumRadicalElectrons() for atom in Chem.MolFromSmiles(proposal).GetAtoms())


def test_the_commands_print_and_draw_suggestions(toxic, tmp_path):
    toxic.save(tmp_path / "model")
    printed = run("suggest", tmp_path / "model", NITRO, "--goal", "0", "--top", "3")
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.startswith("now predicted: 1")
    assert [line.startswith("left out: ") for line in printed.stdout.splitlines()] == [False] * 4 + [True]
    refused(run("suggest", tmp_path / "model", NITRO, "--goal", "2"), "--goal '2' is not a class of this model")
    refused(run("suggest", tmp_path / "model", "C(", "--goal", "0"), "syntax error")
    (tmp_path / "one.smi").write_text(f"{NITRO}\n")
    page = run("explain", tmp_path / "model", tmp_path / "one.smi", "--suggest", "--out", tmp_path / "page.html")
    assert page.returncode == 0, page.stderr
    text = (tmp_path / "page.html").read_text()
    assert "What would change the prediction" in text
    assert "does not reach the goal" not in text


def test_the_command_names_columns_units_and_bounds(tmp_path):
    molecules = [f"{'C' * n}{end}" for n in range(1, 9) for end in ("O", "N", "Cl", "C(=O)O", "c1ccccc1", "C#N")]
    labels = [[int("O" in smiles), int("N" in smiles)] for smiles in molecules]
    graphs = isonn.as_graphset(molecules, labels, target_names=["oxygen", "nitrogen"])
    isonn.SubgraphClassifier(2, head="linear", random_state=0).fit(graphs).save(tmp_path / "labels")
    printed = run("suggest", tmp_path / "labels", "CCCCO", "--label", "Oxygen", "--goal", "0", "--top", "1")
    assert printed.stdout.startswith("now predicted: oxygen 1; the probability of oxygen 0 is first\n"), printed.stderr
    sizes = [float(Chem.MolFromSmiles(smiles).GetNumAtoms()) + 0.5 for smiles in molecules]
    graphs = isonn.as_graphset(molecules, sizes, target_names=["half-life (h)"])
    reg = isonn.SubgraphRegressor(2, head="linear", random_state=0).fit(graphs)
    reg.save(tmp_path / "numbers")
    now = reg.predict(["CCCCO"])[0]
    for goal, bound in ((now + 2, "at least"), (now - 2, "at most")):
        lines = run("suggest", tmp_path / "numbers", "CCCCO", "--goal", goal, "--top", "1").stdout.splitlines()
        assert lines[0] == f"now predicted: {now:.3g} h; goal: {bound} {goal:g} h"
        best = reg.suggest("CCCCO", goal, top=1)[0]
        assert lines[1].lstrip().startswith(f"{best.answer:.3g} h  similarity {best.similarity:.2f}")


@pytest.mark.filterwarnings("ignore:.*never seen in training")
def test_edits_out_of_the_domain_are_counted(toxic, tmp_path):
    proposed = [smiles for _, smiles in proposals(NITRO)]
    before = toxic.predict_proba([NITRO])[0, 0]
    nearer = [s for s, p in zip(proposed, toxic.predict_proba(proposed)[:, 0], strict=True) if p > before]
    out = int((toxic.domain(nearer).verdict == "out").sum())
    found = toxic.suggest(NITRO, goal=0, steps=1, top=50)
    assert out > 0
    assert (found.out_of_domain, len(found)) == (out, len(nearer) - out)
    toxic.save(tmp_path / "model")
    last = run("suggest", tmp_path / "model", NITRO, "--goal", "0", "--steps", "1").stdout.splitlines()[-1]
    assert last == f"left out: {out} edits out of the model's domain"
