"""Pages in a browser, opened from disk. That none complains or asks for anything is checked after every test."""

from __future__ import annotations

from itertools import pairwise

import pytest
from sample_run import CLASSES, DATA_NAME, EVIL

SHOWN = ".panel:not([hidden])"


def highlighted(page) -> list[str]:
    """The outline of what is highlighted in the graph that is shown."""
    return page.eval_on_selector_all(f"{SHOWN} svg path.on", "parts => parts.map(part => part.getAttribute('d'))")


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_never_wider_than_the_window(open_page, report, explained, width, scheme):
    for path in (report, explained):
        page = open_page(path, width, scheme)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_names_with_markup_are_shown_as_text(open_page, report):
    page = open_page(report)
    assert page.text_content("h1") == DATA_NAME
    assert EVIL in page.text_content(SHOWN)
    assert any(name in page.text_content(f"{SHOWN} .verdict") for name in CLASSES)
    assert page.title().startswith(DATA_NAME)
    assert page.locator("img, iframe, object").count() == 0
    assert page.locator("script").count() == 1


def test_choosing_a_graph_changes_the_drawing(open_page, explained):
    page = open_page(explained)
    first = page.inner_html(f"{SHOWN} .drawing")
    page.select_option("[data-graph]", "17")
    assert page.text_content(f"{SHOWN} h3") == "Graph 17"
    assert page.inner_html(f"{SHOWN} .drawing") != first
    page.click("[data-step='1']")
    assert page.text_content(f"{SHOWN} h3") == "Graph 18"
    page.click("[data-open='22']")
    assert page.text_content(f"{SHOWN} h3") == "Graph 22"
    assert page.text_content("[data-status]").startswith("Graph 22: template")


def test_choosing_a_template_or_a_match_changes_what_is_highlighted(open_page, explained):
    page = open_page(explained)
    rows = page.locator(f"{SHOWN} tr[data-of]")
    templates = rows.evaluate_all("rows => rows.map(row => row.dataset.of)")
    assert set(templates) == {"0", "1"}
    page.select_option("[data-template]", templates[0])
    before = highlighted(page)
    assert len(before) == 1
    other = "1" if templates[0] == "0" else "0"
    page.select_option("[data-template]", other)
    assert len(highlighted(page)) == 1
    assert highlighted(page) != before
    assert page.get_attribute(f"{SHOWN} tr.on", "data-of") == other
    page.click(f"{SHOWN} [data-pick='1']")
    assert page.get_attribute(f"{SHOWN} [data-pick='1']", "aria-pressed") == "true"
    assert page.locator(f"{SHOWN} tr.on").count() == 1


def test_importance_recolours_the_nodes(open_page, explained):
    page = open_page(explained)
    colours = "parts => parts.map(part => getComputedStyle(part).fill)"
    before = page.eval_on_selector_all(f"{SHOWN} .nodes circle", colours)
    page.select_option("[data-colour]", "importance")
    assert page.eval_on_selector_all(f"{SHOWN} .nodes circle", colours) != before


def test_mistakes_can_be_looked_at_alone(open_page, explained):
    page = open_page(explained)
    wrong = page.locator(".panel[data-right='wrong']").count()
    page.select_option("[data-filter]", "wrong")
    assert page.locator(".thumb:visible").count() == wrong
    assert page.get_attribute(SHOWN, "data-right") == "wrong"


def test_everything_can_be_reached_and_used_with_the_keyboard(open_page, explained):
    page = open_page(explained)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('[data-graph]')")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("ArrowDown")
    assert page.text_content(f"{SHOWN} h3") == "Graph 1"
    page.focus(f"{SHOWN} [data-pick='2']")
    page.keyboard.press("Enter")
    assert page.get_attribute(f"{SHOWN} [data-pick='2']", "aria-pressed") == "true"


def test_a_link_to_a_graph_opens_it(open_page, explained):
    page = open_page(explained)
    page.evaluate("location.hash = '#graph-23'")
    page.wait_for_selector("#graph-23:not([hidden])")
    assert page.text_content(f"{SHOWN} h3") == "Graph 23"


def test_188_molecules_are_under_5_mb_and_drawn_within_two_seconds(open_page, explain_mutag):
    path = explain_mutag(188)
    assert path.stat().st_size < 5_000_000
    seconds = []
    for _ in range(5):  # the best of five: the machine may be busy with something else
        page = open_page(path)
        page.wait_for_function("performance.getEntriesByType('paint').length > 0")
        seconds.append(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000)
        if seconds[-1] < 2:
            break
    assert min(seconds) < 2
    assert page.locator(".panel").count() == 188
    assert page.locator(f"{SHOWN} svg circle").count() > 9


def test_print_is_dark_on_white_and_without_controls(open_page, report):
    page = open_page(report, scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert not page.is_visible(".controls")


def test_every_control_and_picture_has_a_name(open_page, report):
    page = open_page(report)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('svg[role=img], select, button')].filter(part => {
            if (part.matches('select')) return part.labels.length === 0;
            if (part.matches('svg')) return !part.querySelector('title')?.textContent && !part.ariaLabel;
            return !(part.textContent.trim() || part.ariaLabel);
        }).length"""
    )
    assert nameless == 0
    assert page.locator("main").count() == 1
    headings = page.eval_on_selector_all("h1, h2, h3", "all => all.map(one => Number(one.tagName[1]))")
    assert headings[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))
