"""The page of the server in a browser: edits, waterfall, history, keyboard, phone and dark scheme."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from serve_requests import running

import isonn

NITRO = "Cc1ccc([N+](=O)[O-])cc1"


@pytest.fixture(scope="module")
def address(molecules: Any, clf: Any) -> Iterator[str]:
    """A server with a model of molecules and one of other graphs."""
    for extra in ("starlette", "uvicorn", "httpx"):
        pytest.importorskip(extra, reason="the server needs the extra serve")
    from isonn.serve import create_app

    chains = [f"{'C' * n}{end}" for n in range(1, 9) for end in ("O", "N", "Cl", "C(=O)O", "c1ccccc1")]
    values = [10.0 ** (len(smiles) / 4 - 2 * ("N" in smiles)) for smiles in chains]
    graphs = isonn.as_graphset(chains, values, target_names=["half-life (h)"])
    hours = isonn.SubgraphRegressor(2, head="linear", random_state=0).fit(graphs)
    kinds = [2 if "N" in smiles else int("Cl" in smiles) for smiles in chains]
    kind = isonn.SubgraphClassifier(2, head="linear", random_state=0).fit(chains, kinds)
    matrices = np.random.default_rng(0).normal(size=(20, 4, 4))
    study = isonn.as_graphset(matrices + matrices.transpose(0, 2, 1))
    study = study.with_confounds({"age": np.arange(20) * 7 % 11 + 0.5, "site": np.arange(20) % 3})
    aged = isonn.AlignedClassifier(shuffles=9, random_state=0).fit(study, np.arange(20) % 2)
    models = {"toxic": molecules[0], "mutag": clf, "hours": hours, "kind": kind, "aged": aged}
    with running(create_app(models)) as client:
        yield str(client.base_url)


@pytest.fixture(scope="module")
def page(browser: Any, address: str) -> Iterator[Any]:
    """A tab that fails if the page complains or asks anyone but its server."""
    tab, problems = browser.new_page(), []
    tab.on("console", lambda message: problems.append(message.text) if "422" not in message.text else None)
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on(
        "request", lambda request: None if request.url.startswith((address, "data:")) else problems.append(request.url)
    )
    yield tab
    tab.close()
    assert problems == []


@pytest.fixture
def shown(page: Any, address: str) -> Any:
    """The page with 4-nitrotoluene."""
    page.goto("about:blank")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{address}/#model=toxic&smiles={NITRO.replace('+', '%2B').replace('=', '%3D')}")
    wait(page, "Given")
    return page


def wait(page: Any, words: str) -> None:
    page.wait_for_function("words => document.getElementById('status').textContent.startsWith(words)", arg=words)


def value(page: Any, name: str) -> str:
    return page.input_value(f"#{name}")


def total(page: Any) -> tuple[float, float]:
    """The sum of all rows of the waterfall but the last, and the last, which is the score."""
    cells = page.eval_on_selector_all(
        "#waterfall tbody td.number", "cells => cells.map(cell => Number(cell.textContent))"
    )
    return sum(cells[:-1]), cells[-1]


def test_of_three_classes_the_predicted_one_is_explained_and_all_are_listed(page, address):
    page.goto("about:blank")
    for smiles, predicted in (("CCCCN", "class 2"), ("CCCCCl", "class 1")):
        page.goto("about:blank")
        page.goto(f"{address}/#model=kind&smiles={smiles}")
        wait(page, "Given")
        assert page.inner_text("#answer").endswith(f"probability of {predicted}")
        listed = page.inner_text("#classes").split(", ")
        assert listed[0].startswith(predicted)
        assert len(listed) == 3
    page.select_option("#explained", label="class 0")
    wait(page, "Explained class 0")
    assert page.inner_text("#answer").endswith("probability of class 0")


def test_an_atom_is_changed_by_a_click_and_taken_back(shown):
    answer = shown.inner_text("#answer strong")
    assert "nitro on an aromatic ring" in shown.inner_text("#waterfall")
    parts, score = total(shown)
    assert parts == pytest.approx(score, abs=0.01)
    nitrogen = shown.locator("[data-node]").filter(has=shown.locator("xpath=self::*[contains(@aria-label, 'N+')]"))
    nitrogen.click()
    shown.get_by_role("button", name="Delete").click()
    wait(shown, "Deleted")
    assert "[N+]" not in value(shown, "smiles")
    assert shown.inner_text("#answer strong") != answer
    assert shown.locator("#history tbody tr").count() == 2
    shown.keyboard.press("Control+z")
    assert value(shown, "smiles") == NITRO
    assert shown.inner_text("#answer strong") == answer


def test_bonds_groups_and_refusals(shown):
    shown.locator("[data-node='0']").click()
    shown.locator("#tools select").select_option("hydroxy")
    shown.get_by_role("button", name="Attach").click()
    wait(shown, "Attached hydroxy")
    assert value(shown, "smiles") == "O=[N+]([O-])c1ccc(CO)cc1"
    bond = shown.locator("[data-edge='7 8']")
    bond.dispatch_event("click")
    shown.keyboard.press("2")
    wait(shown, "Double")
    assert value(shown, "smiles") == "O=Cc1ccc([N+](=O)[O-])cc1"
    before = value(shown, "smiles")
    shown.locator("[data-node='0']").dispatch_event("click")
    shown.get_by_role("button", name="F", exact=True).click()
    shown.wait_for_selector("#problem:not([hidden])")
    assert "Explicit valence for atom # 0 F, 2, is greater than permitted" in shown.inner_text("#problem")
    assert value(shown, "smiles") == before


def test_the_keyboard_is_enough(shown):
    shown.locator("#smiles").focus()
    shown.keyboard.press("Control+a")
    shown.keyboard.type("CCO")
    shown.keyboard.press("Enter")
    wait(shown, "Typed")
    shown.keyboard.press("Tab")
    shown.keyboard.press("Tab")
    shown.keyboard.press("Tab")
    assert shown.evaluate("document.activeElement.dataset.node") == "0"
    shown.keyboard.press("ArrowRight")
    shown.keyboard.press("ArrowRight")
    shown.keyboard.press("Enter")
    shown.keyboard.press("n")
    wait(shown, "OH 2 became N")
    assert value(shown, "smiles") == "CCN"
    shown.locator("[data-node='2']").press("Enter")
    shown.keyboard.press("Delete")
    wait(shown, "Deleted")
    assert value(shown, "smiles") == "CC"


def test_nodes_and_edges_of_other_graphs_are_edited(shown):
    shown.select_option("#model", "1")
    wait(shown, "Example")
    assert shown.inner_text("#about").startswith("4 nodes, 4 edges")
    shown.locator("[data-node='0']").click()
    shown.get_by_role("button", name="Add a neighbour").click()
    wait(shown, "Added a node")
    assert shown.inner_text("#about").startswith("5 nodes, 5 edges")
    shown.locator("[data-edge='0 1']").dispatch_event("click")
    shown.get_by_role("button", name="Delete").click()
    wait(shown, "Deleted")
    assert shown.inner_text("#about").startswith("5 nodes, 4 edges")
    shown.locator("[data-node='4']").click()
    shown.get_by_role("button", name="Join to...").click()
    shown.locator("[data-node='2']").click()
    wait(shown, "Joined")
    assert shown.inner_text("#about").startswith("5 nodes, 5 edges")


def test_edits_keep_the_confounds_of_the_example(shown):
    shown.select_option("#model", "4")
    wait(shown, "Example")
    assert shown.inner_text("#about") == "4 nodes, 6 edges. Confounds: age 5.4, site 0"
    shown.locator("[data-edge='0 1']").dispatch_event("click")
    shown.get_by_role("button", name="Delete").click()
    wait(shown, "Deleted")
    assert shown.inner_text("#about") == "4 nodes, 5 edges. Confounds: age 5.4, site 0"


def test_an_address_may_hold_the_charges_of_a_molecule_as_they_are(page, address):
    page.goto("about:blank")
    page.goto(f"{address}/#model=toxic&smiles={NITRO}")
    wait(page, "Given")
    assert value(page, "smiles") == NITRO


def test_a_suggestion_is_shown_by_a_click(shown):
    shown.select_option("#goal", "0")
    shown.click("#suggest-button")
    shown.locator("#suggestions button").first.click()
    wait(shown, "re")  # remove or replace
    assert "[N+]" not in value(shown, "smiles")
    shown.wait_for_selector("#trust dt")
    assert shown.locator("#trust dt").first.inner_text() == "90 % set"


def test_the_history_can_be_copied(shown):
    shown.evaluate("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
    shown.click("#copy")
    shown.wait_for_function("window.copied")
    head, row = shown.evaluate("window.copied").strip().split("\n")
    assert head.split("\t")[0] == "structure"
    assert row.split("\t")[:2] == [NITRO, "Given"]


def test_axe_finds_nothing_and_nothing_is_wider_than_the_window(shown, violations):
    shown.locator("[data-node='0']").click()
    for width in (1280, 360):
        shown.set_viewport_size({"width": width, "height": 900})
        assert shown.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert shown.eval_on_selector("#history", "table => table.offsetWidth <= table.parentElement.clientWidth")
        assert violations(shown) == []


def test_numbers_learned_as_logarithms_have_factors_and_units(shown, address):
    shown.goto("about:blank")
    shown.goto(f"{address}/#model=hours&smiles=CCCCN")
    wait(shown, "Given")
    base, *parts, predicted = shown.locator("#waterfall tbody td.number").all_inner_texts()
    assert shown.locator("#answer strong").inner_text() == predicted
    product = float(base.removesuffix(" h"))
    for part in parts:
        product *= float(part[2:]) ** {"\u00d7": 1, "\u00f7": -1}[part[0]]
    assert product == pytest.approx(float(predicted.removesuffix(" h")), rel=0.05)
    assert shown.locator("#history tbody td:visible").nth(2).inner_text() == predicted
