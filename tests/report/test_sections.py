"""What every section of every page promises."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sample_run import EVIL, make_comparison

import isonn
from isonn.errors import IsoNNWarning
from isonn.report import explain_page, model_page, page, run_page
from isonn.report.cases import Cases
from isonn.report.page import Header, Section
from isonn.report.page_models import cross_fitted, held_out

#: Elements without an end tag in HTML and in drawings.
SINGLE = {"br", "img", "path", "circle", "rect", "image", "meta"}


class Balance(HTMLParser):
    """Fails at the first end tag that does not close the last open element."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in SINGLE:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in SINGLE:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def evil(mutag):
    """Molecules whose names are all markup."""
    return replace(
        mutag[:40],
        name=EVIL,
        ids=np.array([f"{EVIL} {i}" for i in range(40)]),
        class_names={-1: f"{EVIL} a", 1: f"{EVIL} b"},
        node_label_names={label: f"{EVIL} {label}" for label in range(7)},
    )


@pytest.fixture(scope="module")
def pages(run, evil, tmp_path_factory) -> dict[str, tuple[list[Section], str]]:
    """The sections and the text of a page of each kind, by its name."""
    folder = tmp_path_factory.mktemp("pages")
    few = evil[:30]
    clf = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(few)
    windows = isonn.IsoNNClassifier(k=2, c=2, epochs=1, hidden=(4,), size=28, random_state=0).fit(few)
    pytest.importorskip("rdkit")
    smiles = [f"{'C' * n}{end}" for n in range(2, 9) for end in ("N", "O", "Cl")]
    molecules = isonn.molecules.from_smiles(smiles, [len(text) / 3 for text in smiles], ids=[EVIL] * len(smiles))
    molecules = replace(molecules, name=EVIL, target_names=(EVIL,))
    reg = isonn.SubgraphRegressor(max_nodes=2, head="linear", random_state=0).fit(molecules)
    pages: dict[str, tuple[list[Section], str]] = {}
    with pytest.MonkeyPatch.context() as patch:
        kept: list[list[Section]] = []
        render = page.render_page

        def keeping(title: str, header: Header, sections: list[Section], *rest: Any, **more: Any) -> str:
            kept.append([section for section in sections if section is not None])
            return render(title, header, sections, *rest, **more)

        for module in (model_page, run_page, explain_page):
            patch.setattr(module, "render_page", keeping)
        made = {
            "model": lambda: model_page.ModelPage(held_out(clf, evil)).html(),
            "windows": lambda: model_page.ModelPage(held_out(windows, few)).html(),
            "molecules": lambda: model_page.ModelPage(held_out(reg, molecules)).html(),
            "run": lambda: run_page.report_page(run[0], data=str(run[1])).text,
            "explain": lambda: explain_page.explain_page(windows, few, [0, 1])[0],
            "suggest": lambda: explain_page.explain_page(clf, few, [0], suggest="")[0],
            "comparison": lambda: run_page.report_page(make_comparison(folder)).text,
        }
        for name, make in made.items():
            text = make()
            pages[name] = kept[-1], text
    return pages


def test_every_section_is_on_a_page_and_has_its_own_place(pages):
    shown = set()
    for sections, text in pages.values():
        anchors = [section.anchor for section in sections]
        assert re.findall(r'<section id="([\w-]+)"', text) == anchors
        assert len(set(anchors)) == len(anchors)
        shown |= set(anchors)
    assert shown == {path.stem for path in (Path(page.__file__).parent / "html" / "sections").glob("*.html")}


def test_a_section_has_a_heading_a_name_and_complete_markup(pages):
    for sections, text in pages.values():
        for section in sections:
            assert section.title
            assert f'aria-labelledby="{section.anchor}-h"' in text
            balance = Balance()
            balance.feed(str(section.html()))
            assert balance.open == []


def test_a_section_escapes_every_name(pages):
    for sections, _ in pages.values():
        for section in sections:
            assert EVIL not in section.html()
            assert "<img src=x" not in section.html()


def test_the_list_at_the_top_of_a_long_page_names_its_sections(pages):
    sections, text = pages["run"]
    links = re.findall(r'<li><a href="#([\w-]+)">([\w ]+)</a></li>', text[: text.index("<main")])
    assert links == [(section.anchor, section.listed) for section in sections]


def test_a_page_explains_every_graph_once_and_counts_every_graph_once(mutag, monkeypatch):
    few = mutag[:40]
    clf = isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0).fit(few)
    explain, count, explained, counted = clf.explain, clf.vectorizer_.transform, [], []
    monkeypatch.setattr(clf, "explain", lambda *given: explained.append(given) or explain(*given))
    monkeypatch.setattr(clf.vectorizer_, "transform", lambda graphs: counted.append(len(graphs)) or count(graphs))
    for name in ("predict", "predict_proba"):  # an explanation holds the prediction
        monkeypatch.setattr(clf, name, None)
    model_page.ModelPage(held_out(clf, few)).html()
    assert (len(explained), sum(counted)) == (40, 40)


@pytest.mark.filterwarnings("ignore::isonn.errors.IsoNNWarning")  # a fold has an atom that the others lack
def test_predictions_of_a_page_are_those_of_its_models(mutag):
    few = mutag[:40]
    judged = cross_fitted(isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(few), few)
    numbers, predicted = Cases(judged, range(25)).predictions  # the other 15 have no panel
    for number, answer in zip(numbers, predicted, strict=True):
        (model,) = [model for model, tested in judged.shown if number in tested]
        assert model.predict(few[[number]]) == [answer]


def test_a_page_warns_once_of_labels_that_no_training_graph_has(mutag):
    rare = np.array([(graph.node_labels > 2).any() for graph in mutag])  # halogens
    clf = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(mutag[~rare])
    graphs = mutag[np.flatnonzero(rare)[:3]]
    cases = Cases(held_out(clf, graphs), range(3))
    with pytest.warns(IsoNNWarning, match=r"never seen in training.*\(and 2 more graphs like this one\)") as warned:
        cases.panels  # noqa: B018
    assert len(warned) == 1
