"""Pages in a browser, opened from disk. That none complains or asks for anything is checked after every test."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from sample_run import CLASSES, DATA_NAME, EVIL

SHOWN = ".panel:not([hidden])"
HASH = re.compile(r"\b[0-9a-f]{40,64}\b")
#: What lies within the first screen, as text and as boxes.
SEEN = """height => {
    const inside = part => { const box = part.getBoundingClientRect(); return box.height > 0 && box.bottom <= height; };
    const texts = [...document.querySelectorAll('body *')].filter(part => !part.children.length
        && part.checkVisibility() && part.getBoundingClientRect().top < height).map(part => part.textContent);
    const part = document.querySelector('.hero svg.isonn, .panel:not([hidden]) svg.isonn');
    const halo = part?.querySelector('.halo.on, .frame-match.on');
    const there = name => inside(document.querySelector(name));
    return { answer: there('.answer'), number: there('.tile.main strong'), drawing: !!part && inside(part),
             halo: !!halo && halo.checkVisibility() && halo.getBoundingClientRect().bottom <= height,
             text: texts.join(' ') };
}"""


def highlighted(page: Any) -> list[str]:
    """The outline of what is highlighted in the graph that is shown."""
    return page.eval_on_selector_all(f"{SHOWN} svg path.on", "parts => parts.map(part => part.getAttribute('d'))")


def test_the_first_screen_has_the_answer_a_highlighted_drawing_and_the_number(any_page):
    for width, height in ((1280, 900), (390, 800)):
        any_page.show(width, height)
        seen = any_page.evaluate(SEEN, height)
        assert not HASH.search(seen.pop("text"))
        wanted = ("answer", "number", "drawing", "halo") if any_page.kind != "comparison" else ("answer", "number")
        assert [name for name in wanted if not seen[name]] == [], width


def test_the_page_is_never_wider_than_the_window(any_page):
    for width in (1280, 360):
        any_page.show(width)
        assert any_page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_long_names_do_not_widen_the_page(open_page, clf, mutag, tmp_path):
    from isonn.report.explain_page import explain_page

    named = replace(mutag[:3], ids=np.array(["n" * 10_000, "a long name of words " * 40, EVIL]))
    (tmp_path / "long.html").write_text(explain_page(clf, named)[0])
    page = open_page(tmp_path / "long.html", width=390)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


#: The smallest text on the page as it is shown, of thumbnails and small examples aside, with where it stands.
SMALLEST = """() => {
    const texts = [...document.querySelectorAll('body *')].filter(part => part.checkVisibility({opacityProperty: true})
        && part.getBoundingClientRect().width && part.tagName !== 'title'
        && [...part.childNodes].some(child => child.nodeType === 3 && child.data.trim())
        && !part.closest('.thumb, .worst, .card, .piece details'));
    const sizes = texts.map(part => {
        const scale = part.getScreenCTM ? Math.sqrt(Math.abs(part.getScreenCTM().a * part.getScreenCTM().d
            - part.getScreenCTM().b * part.getScreenCTM().c)) : 1;
        return [scale * parseFloat(getComputedStyle(part).fontSize), part.textContent.slice(0, 40)];
    });
    return sizes.reduce((least, one) => one[0] < least[0] ? one : least, [99, '']);
}"""


def test_text_can_be_read_on_a_phone(any_page):
    any_page.show(390)
    size, text = any_page.evaluate(SMALLEST)
    least = 9 if any_page.kind == "window_page" else 10.5  # a molecule of 28 atoms that must fit the first screen
    assert size >= least, text
    if any_page.kind == "connectome_page":
        assert any_page.locator(".hero .names.on text").count() >= 2
        assert any_page.locator(f"{SHOWN} .names.on text").first.is_visible()


def test_names_with_markup_are_shown_as_text(open_page, report):
    page = open_page(report)
    assert DATA_NAME in page.text_content("h1")
    assert EVIL in page.text_content(SHOWN)
    assert any(name in page.text_content(f"{SHOWN} .verdict") for name in CLASSES)
    assert page.title().startswith(DATA_NAME)
    assert page.locator("img, iframe, object").count() == 0
    assert page.locator("script:not([type])").count() == 1


def test_choosing_a_graph_changes_the_drawing(open_page, explained):
    page = open_page(explained)
    first = page.inner_html(f"{SHOWN} .drawing")
    page.select_option("[data-graph]", "7")
    assert page.text_content(f"{SHOWN} h3") == "Graph 7"
    assert page.inner_html(f"{SHOWN} .drawing") != first
    page.click("[data-step='1']")
    assert page.text_content(f"{SHOWN} h3") == "Graph 8"
    page.click("[data-open='2']")
    assert page.text_content(f"{SHOWN} h3") == "Graph 2"
    assert page.text_content("[data-status]").startswith("Graph 2, highlighted: ")


def test_choosing_a_reason_changes_what_is_highlighted(open_page, explained):
    page = open_page(explained)
    page.select_option("[data-graph]", "5")
    before = highlighted(page)
    assert len(before) == 1
    page.click(f"{SHOWN} .reasons [data-pick='1']")
    assert len(highlighted(page)) == 1
    assert highlighted(page) != before
    assert page.get_attribute(f"{SHOWN} [data-pick='1']", "aria-pressed") == "true"
    assert page.locator(f"{SHOWN} .reasons li.on").count() == 1


def test_matches_are_listed_and_highlighted_where_units_do_not_add_up(open_page, matrix_page):
    page = open_page(matrix_page)
    before = highlighted(page)
    reasons = page.locator(f"{SHOWN} .reasons li").count()
    page.click(f"{SHOWN} details:has(.matches) summary")
    page.click(f"{SHOWN} .matches [data-pick='{reasons}']")
    assert page.locator(f"{SHOWN} tr.on").count() == 1
    assert page.locator(f"{SHOWN} .reasons li.on").count() == 0
    assert before != highlighted(page) != []


def test_thumbnails_look_like_their_drawing(open_page, explained):
    page = open_page(explained)
    page.locator("[data-open='3']").scroll_into_view_if_needed()
    fill = "part => getComputedStyle(part).fill"
    thumb = page.eval_on_selector("[data-open='3'] .p4 circle", fill)
    page.select_option("[data-graph]", "3")
    assert page.eval_on_selector(f"{SHOWN} .p4 circle", fill) == thumb != "rgb(0, 0, 0)"


def test_nodes_are_coloured_by_contribution_unless_labels_are_asked_for(open_page, explained):
    page = open_page(explained)
    colours = "parts => parts.map(part => getComputedStyle(part).fill)"
    before = page.eval_on_selector_all(f"{SHOWN} .nodes circle", colours)
    strong = page.eval_on_selector_all(f"{SHOWN} .nodes :is(.p3, .p4, .n3, .n4) circle", colours)
    assert strong
    assert "rgb(255, 255, 255)" not in strong
    page.select_option("[data-colour]", "labels")
    assert page.eval_on_selector_all(f"{SHOWN} .nodes circle", colours) != before


def test_a_matrix_shows_contributions_first_and_weights_when_asked(open_page, matrix_page):
    page = open_page(matrix_page)
    assert page.locator(f"{SHOWN} image.cells").is_visible()
    assert not page.locator(f"{SHOWN} image.weights").is_visible()
    page.select_option("[data-colour]", "labels")
    assert page.locator(f"{SHOWN} image.weights").is_visible()
    assert not page.locator(f"{SHOWN} image.cells").is_visible()


def test_mistakes_can_be_looked_at_alone(open_page, model_page):
    page = open_page(model_page)
    page.select_option("[data-filter]", "wrong")
    page.wait_for_function("document.querySelectorAll('.thumb').length < 100")
    assert page.locator(".thumb").count() == page.locator(".thumb.bad").count() > 0
    assert page.text_content(f"{SHOWN} .badge") == "wrong"


def test_everything_can_be_reached_and_used_with_the_keyboard(open_page, explained):
    page = open_page(explained)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('header a')")  # the graph of the first screen
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('[data-graph]')")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("ArrowDown")
    assert page.text_content(f"{SHOWN} h3") == "Graph 1"
    for _ in range(4):  # to the first graph with two reasons
        page.keyboard.press("ArrowDown")
    page.focus(f"{SHOWN} [data-pick='1']")
    page.keyboard.press("Enter")
    assert page.get_attribute(f"{SHOWN} [data-pick='1']", "aria-pressed") == "true"


def test_a_link_to_a_graph_opens_it(open_page, model_page):
    page = open_page(model_page)
    page.evaluate("location.hash = '#graph-150'")  # beyond the first hundred
    page.wait_for_selector("#graph-150:not([hidden])")
    assert page.text_content(f"{SHOWN} h3") == "Graph 150"


def test_a_thousand_graphs_are_under_15_mb_and_drawn_within_two_seconds(open_page, make_model_page):
    path = make_model_page(1000)
    assert path.stat().st_size < 15_000_000
    seconds = []
    for _ in range(5):  # the best of five: the machine may be busy with something else
        start = time.perf_counter()
        page = open_page(path)
        page.wait_for_function("document.querySelectorAll('.thumb svg circle').length > 900")
        seconds.append(time.perf_counter() - start)
        if seconds[-1] < 2:
            break
    assert min(seconds) < 2
    assert page.locator(".panel").count() == 100
    page.select_option("[data-page]", "9")
    page.wait_for_selector("#graph-900:not([hidden])")
    assert page.locator(".thumb").count() == 100


def test_ten_thousand_graphs_open(open_page, make_model_page):
    page = open_page(make_model_page(10_000))
    page.wait_for_selector("#graph-0:not([hidden])")
    page.select_option("[data-page]", "99")
    page.wait_for_selector("#graph-9900:not([hidden])")
    assert page.locator(f"{SHOWN} svg circle").count() > 9


def test_print_is_dark_on_white_and_without_controls(open_page, report):
    page = open_page(report, scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert not page.is_visible(".controls")


def test_no_table_is_cut_on_a4(any_page):
    any_page.show(718, media="print")  # A4 at 96 pixels an inch, less the margins that browsers print with
    cut = any_page.evaluate(
        """() => [...document.querySelectorAll('table')].filter(part => part.checkVisibility()
            && part.getBoundingClientRect().right > document.documentElement.clientWidth + 1).length"""
    )
    assert cut == 0


def test_every_control_and_picture_has_a_name(any_page):
    any_page.show(1280)
    nameless = any_page.evaluate(
        """() => [...document.querySelectorAll('svg[role=img], select, button')].filter(part => {
            if (part.matches('select')) return part.labels.length === 0;
            if (part.matches('svg')) return !part.querySelector('title')?.textContent && !part.ariaLabel;
            return !(part.textContent.trim() || part.ariaLabel);
        }).length"""
    )
    assert nameless == 0
    assert any_page.locator("main").count() == 1
    headings = any_page.eval_on_selector_all("h1, h2, h3, h4", "all => all.map(one => Number(one.tagName[1]))")
    assert headings[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))


def test_axe_finds_nothing_of_level_a_or_aa(any_page, violations):
    any_page.eval_on_selector_all(
        f"{SHOWN} details, .piece details", "parts => parts.forEach(part => { part.open = true; })"
    )
    any_page.show(1280)
    assert violations(any_page) == []
