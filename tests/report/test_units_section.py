"""The table of units against the explanations it summarises, and the pages of numbers and labels."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import isonn
from isonn.report.explain_page import explain_page
from isonn.report.model_page import ModelPage
from isonn.report.page_models import held_out
from isonn.report.sections.units import unit_rows

pytest.importorskip("rdkit")
pytestmark = pytest.mark.filterwarnings("ignore::isonn.errors.IsoNNWarning")

SMILES = [f"{'C' * n}{end}" for n in range(2, 12) for end in ("N", "O", "C(=O)O", "c1ccc([N+](=O)[O-])cc1", "CCl")]
LENGTH = np.array([len(smiles) / 3 for smiles in SMILES])
HTML = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def clf():
    return isonn.SubgraphClassifier(3, random_state=0).fit(SMILES, ["N" in smiles for smiles in SMILES])


def test_rows_are_means_over_the_graphs_that_hold_a_unit(clf):
    graphs = isonn.as_graphset(SMILES)
    explained = [(i, clf.explain(graphs[i])) for i in range(len(graphs))]
    rows = {row.text: row for row in unit_rows(explained, 1)}
    acids = [i for i, smiles in enumerate(SMILES) if smiles.endswith("C(=O)O")]
    row = rows["carboxylic acid"]
    assert sorted(row.graphs) == acids
    values = []
    for i in acids:
        e = clf.explain(graphs[i], label=True)
        values.append(sum(unit.contribution for unit in e.units if unit.name == "carboxylic acid"))
    assert row.mean == pytest.approx(np.mean(values))
    assert row.high - row.mean == pytest.approx(1.96 * np.std(values, ddof=1) / np.sqrt(len(values)))
    assert all(row.skeleton for text, row in rows.items() if "chain" in text)
    assert rows["nitro on an aromatic ring"].mean > row.mean


def test_a_family_sums_its_units_and_takes_their_place_in_the_sentence():
    """Amines of several kinds mark class 1: the table has a line for all of them, and the sentence names it once."""
    ends = ("N", "NC", "N(C)C", "N1CCCCC1", "N1CCNCC1", "O", "OC", "C(=O)O", "Cl", "c1ccccc1")
    smiles = [f"{'C' * n}{end}" for n in range(2, 10) for end in ends]
    graphs = isonn.molecules.from_smiles(smiles, ["N" in text for text in smiles])
    clf = isonn.SubgraphClassifier(3, random_state=0).fit(graphs)
    explained = [(i, clf.explain(graphs[i], label=True)) for i in range(len(graphs))]
    rows = {row.text: row for row in unit_rows(explained, 1)}
    row = rows["basic amine"]
    assert sorted(row.graphs) == [i for i, text in enumerate(smiles) if "N" in text]
    assert set(row.members) == {
        *(
            "primary aliphatic amine",
            "secondary aliphatic amine",
            "tertiary aliphatic amine",
            "piperidine",
            "piperazine",
        )
    }
    each = [sum(unit.contribution for unit in e.units if unit.name in row.members) for _, e in explained]
    assert row.mean == pytest.approx(np.mean([worth for worth in each if worth]))
    assert "aromatic amine" not in rows
    (group,) = ModelPage(held_out(clf, graphs)).units
    assert group.sentence.startswith("Basic amine")
    assert "piper" not in group.sentence


def test_a_family_does_not_take_the_place_of_the_one_unit_that_its_sum_comes_from():
    """All amines add one, piperazines ten: the table names the piperazine, not the amines."""
    ends = ("N", "NC", "N(C)C", "N(CC)CC", "N1CCCCC1", "N1CCNCC1", "O", "OC", "C(=O)O", "c1ccccc1")
    smiles = [f"{'C' * n}{end}" for n in range(2, 10) for end in ends]
    y = [9.0 * text.endswith("N1CCNCC1") + ("N" in text) - 10 for text in smiles]
    graphs = isonn.molecules.from_smiles(smiles, y)
    reg = isonn.SubgraphRegressor(3, head="trees", random_state=0).fit(graphs)
    rows = {row.text: row for row in unit_rows([(i, reg.explain(graphs[i])) for i in range(len(graphs))], 0)}
    assert rows["piperazine"].mean == pytest.approx(10, abs=0.2)
    assert rows["secondary aliphatic amine"].mean == pytest.approx(1, abs=0.2)
    assert "basic amine" not in rows


def test_the_sentence_counts_the_graphs_of_all_classes():
    y = [i // 10 % 5 if i % 10 == 3 else i % 5 for i in range(len(SMILES))]  # nitro groups in all five classes
    graphs = isonn.molecules.from_smiles(SMILES, y)
    clf = isonn.SubgraphClassifier(3, random_state=0).fit(graphs)
    (group,) = (group for group in ModelPage(held_out(clf, graphs)).units if group.value == 3)
    nitro = [label for smiles, label in zip(SMILES, y, strict=True) if "[N+]" in smiles]
    assert f"{nitro.count(3)} of the {len(nitro)} molecules with nitro on an aromatic ring" in group.sentence


def test_the_page_of_numbers_says_what_raises_them_and_shows_errors(tmp_path: Path):
    graphs = isonn.molecules.from_smiles(SMILES, LENGTH)
    reg = isonn.SubgraphRegressor(3, random_state=0).fit(graphs[:40])
    page = ModelPage(held_out(reg, graphs))
    text = page.html()
    predicted = reg.predict(graphs)
    assert f"mean absolute error {np.abs(predicted - LENGTH).mean():.3g}" in page.header.tiles[0].about
    assert f"r {np.corrcoef(predicted, LENGTH)[0, 1]:.2f}" in page.header.tiles[0].about
    assert "raise" in page.header.answer or "lower" in page.header.answer
    assert "onfusion" not in re.sub("<style>.*?</style>", "", text, flags=re.S)  # numbers are not confused
    assert 'class="chart scatter"' in text


def test_a_mistake_highlights_the_reason_that_its_caption_names():
    """Two alcohols together outweigh the chain, which is the strongest unit and speaks against the wrong prediction."""
    ends = [middle + end for middle in ("CC", "C(O)C", "C(O)CC(O)C") for end in ("C", "CCl")]
    smiles = [f"{'C' * n}{end}" for n in range(2, 12) for end in ends]
    y = [int("Cl" in text and text.count("O") < 2) for text in smiles]
    y[smiles.index("CCCCCCC(O)CC(O)CCCl")] = 1
    graphs = isonn.molecules.from_smiles(smiles, y)
    model = isonn.SubgraphClassifier(2, head="linear", random_state=0).fit(graphs)
    text = ModelPage(held_out(model, graphs)).html()
    (mistake,) = re.findall("<figure>.*?</figure>", text.partition('id="mistakes"')[2], re.DOTALL)
    assert "reason: alcohol" in mistake
    assert 'class="halo pos on"' in mistake
    assert "halo neg on" not in mistake


def test_units_of_a_number_learned_as_a_logarithm_are_factors(clf):
    y = 10.0 ** (np.array([len(smiles) / 4 + ("Cl" in smiles) for smiles in SMILES]))
    graphs = replace(isonn.molecules.from_smiles(SMILES, y), target_names=("IC50 (uM)",))
    reg = isonn.SubgraphRegressor(3, random_state=0).fit(graphs)
    assert reg.explain(graphs[0]).logarithm
    page = ModelPage(held_out(reg, graphs))
    (group,) = page.units
    sums = [abs(line.row.mean) * len(line.row.graphs) for line in group.lines if line.row.mean > 0]
    assert sums == sorted(sums, reverse=True)  # and so the sentence does not speak of the largest mean
    assert "IC50 (uM) most over all molecules" in group.sentence
    assert group.does == "Multiplies the value"
    for line in group.lines:
        sign, number = group.effect(line.row.mean).split()
        assert float(number.removeprefix("10^")) > 0
        assert sign == ("\u00d7" if line.row.mean > 0 else "\u00f7")
    text = page.html()
    assert "Adds to the value" not in text
    assert "predicted / measured" in text  # on log axes a residual is a factor
    reason = page.cases.panels[0].reasons[0]
    assert f"{reason.effect} {'raises' if reason.contribution > 0 else 'lowers'} IC50" in text


def test_every_number_of_a_page_has_its_unit():
    graphs = replace(isonn.molecules.from_smiles(SMILES, LENGTH - 3), target_names=("shift (ppm)",))
    reg = isonn.SubgraphRegressor(3, keep_examples=True, random_state=0).fit(graphs)
    text, cases = explain_page(reg, graphs, [0, 3, 7])
    panels = cases.panels
    removed = re.findall(r", (?:and )?the model says (\S+ ?\w*)", text)
    cells = re.findall(r'data-label="(?:True value|With 90 % probability)">([^<]*)<', text)
    tiles = re.findall(r"<dd><strong>([^<]*)</strong>", text)
    shown = [*removed, *cells, *tiles, *(panel.predicted for panel in panels), *(panel.truth for panel in panels)]
    assert len(removed) == sum(len(panel.reasons) for panel in panels)
    assert len(shown) > 20
    assert [number for number in shown if not number.endswith(" ppm")] == []
    page = ModelPage(held_out(reg, graphs))
    assert [tile.value[-4:] for tile in page.header.tiles] == [" ppm", " ppm"]
    assert page.units[0].does == "Adds to the value (ppm)"


def test_a_sentence_says_that_a_molecule_without_its_middle_falls_into_parts(clf):
    text, cases = explain_page(clf, isonn.molecules.from_smiles(["CCCC(=O)NCCCC(=O)O"]))
    (panel,) = cases.panels
    (amide,) = (reason for reason in panel.reasons if reason.text == "secondary amide")
    assert amide.parts == 2
    assert f"With it deleted, what is left falls into 2 parts, and the model says {amide.without}" in text


def test_sentences_and_tables_about_one_of_several_labels_name_it():
    y = np.column_stack([LENGTH > 4, ["N" in smiles for smiles in SMILES]]).astype(float)
    graphs = replace(isonn.molecules.from_smiles(SMILES, y), target_names=("long", "nitrogen"))
    clf = isonn.SubgraphClassifier(2, keep_examples=True, random_state=0).fit(graphs)
    text, cases = explain_page(clf, graphs, [0], label="nitrogen")
    (panel,) = cases.panels
    assert "Explained is nitrogen, one of 2 labels; --label chooses another." in text
    (kept,) = re.findall(r'data-label="With 90 % probability">([^<]*)<', text)
    assert re.fullmatch("nitrogen: (yes|no|yes or no|no or yes|neither yes nor no)", kept)
    cases = clf.explain(graphs[0], "nitrogen").domain.neighbours
    assert cases
    truth = [f"nitrogen: {'yes' if case.value[1] else 'no'}" for case in cases]
    assert re.findall(r'data-label="True value">([^<]*)<', text) == truth
    removed = re.findall(r"the model says (\S+ %) for nitrogen", text)
    assert removed == [reason.without for reason in panel.reasons if reason.without]
    assert removed


def test_each_label_has_its_table_and_names_are_escaped():
    graphs = isonn.molecules.from_smiles(
        SMILES, np.column_stack([LENGTH > 4, ["N" in s for s in SMILES]]).astype(float)
    )
    graphs = replace(graphs, target_names=(HTML, "nitrogen"))
    clf = isonn.SubgraphClassifier(2, random_state=0).fit(graphs)
    page = ModelPage(held_out(clf, graphs))
    assert {group.name for group in page.units} == {HTML, "nitrogen"}
    text = page.html()
    assert HTML not in text
    assert text.count('<details name="outputs"') == 2
