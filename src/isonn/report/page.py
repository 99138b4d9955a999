"""Self-contained HTML pages of a first screen and sections, without network access, all user text escaped."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from isonn import __version__
from isonn.errors import InputError, MissingDependencyError
from isonn.files import atomic_file
from isonn.report.draw import Drawing
from isonn.report.panels import Panel, leading_reason
from isonn.report.words import capitalized, number_text, percent_text, side, signed

#: Number of panels drawn at once; page.js has the same number.
AT_ONCE = 100
#: A word with links between two parts, short enough for a line of a phone; "domain:" is none.
_FORMULA = re.compile(r"(?=.*[\u2013=\u2261:~].).{2,28}")


@dataclass(frozen=True)
class Tile:
    """One number of the first screen: its name, the number, and a line below; the first tile is the largest."""

    name: str
    value: str
    about: str


@dataclass(frozen=True)
class Example:
    """The graph of the first screen: its panel, its drawing there, and what is highlighted."""

    panel: Panel
    drawing: Drawing
    text: str


def example_of(panels: Sequence[Panel]) -> Example | None:
    """Return the graph in which the most frequent strongest reason outweighs the others most; None without reasons."""
    text, _ = leading_reason(panels)
    leading = [panel for panel in panels if panel.reasons and panel.reasons[0].text == text]
    if not leading:
        return None
    panel = min(
        leading, key=lambda panel: sum(abs(r.contribution / panel.reasons[0].contribution) for r in panel.reasons)
    )
    nodes = panel.reasons[0].nodes
    where = "" if panel.smiles or nodes in text or len(panel.reasons[0].members) > 6 else f" ({nodes})"
    return Example(panel, panel.drawing, f"{text}{where}")


@dataclass(frozen=True)
class Header:
    """The first screen.

    Attributes:
        kicker: the line above the question.
        question: the heading of the page.
        answer: the answer, or "".
        tiles: its numbers.
        example: a graph that shows the answer, or None.
        how: a sentence about how the predictions were made, or "".
        note: what is missing and why, or "".
        wide: whether the answer takes the whole width, because there is never an example.
    """

    kicker: str
    question: str
    answer: str = ""
    tiles: Sequence[Tile] = ()
    example: Example | None = None
    how: str = ""
    note: str = ""
    wide: bool = False

    def html(self) -> Any:
        """Return the first screen as safe markup."""
        return fragment("header.html", header=self)


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a page with its own heading.

    A page is a list of sections. To add one, write one file in ``isonn/report/sections`` with a function that returns
    the section, or None if there is nothing to show; one template in ``isonn/report/html/sections``; and one line in
    each page that shows it (`model_page`, `run_page`, `explain_page`). Text is escaped by the template; only drawings
    and charts of isonn may be marked as safe. Explanations and matches are read from `isonn.report.cases.Cases`, which
    computes them once for all sections.

    Attributes:
        anchor: the id of the section, unique on its page, and the name of its file in ``html/sections``.
        title: the heading.
        content: the values for the template.
        listed: its name in the list of sections at the top of long pages.
        heading_hidden: whether only screen readers get the heading.
    """

    anchor: str
    title: str
    content: Mapping[str, Any]
    listed: str = ""
    heading_hidden: bool = False

    def html(self) -> Any:
        """Return the section below its heading, as safe markup."""
        return fragment(f"sections/{self.anchor}.html", **self.content)


def render_page(
    title: str, header: Header, sections: Sequence[Section | None], warnings: Sequence[str] = (), contents: bool = False
) -> str:
    """Render a page made of sections as text; a section without anything to show is None.

    Args:
        title: the title of the window.
        warnings: sentences above the first section.
        contents: whether to list the sections at the top.
    """
    shown = [section for section in sections if section is not None]
    return render("page.html", title=title, header=header, sections=shown, warnings=warnings, contents=contents)


def fragment(name: str, **content: Any) -> Any:
    """Render a part of a page, a file in ``html``, as safe markup."""
    from markupsafe import Markup

    return Markup(render(name, **content))


def render(name: str, **content: Any) -> str:
    """Render a page or a part of one, a file in ``html``, as text."""
    return str(_environment().get_template(name).render(**content))


@lru_cache(maxsize=1)
def _environment() -> Any:
    """Return the environment of all pages, which keeps templates that were compiled.

    The page's policy only allows its one script and one style sheet, by hash, and no requests. A name with markup could
    do nothing even if it were not escaped.
    """
    jinja2 = require_jinja2()
    from markupsafe import Markup

    style, script = Markup(_file("style.css") + _file("drawing.css")), Markup(_file("page.js"))
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("isonn.report", "html"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=percent_text,
        signed=signed,
        number=number_text,
        capitalize_first=capitalized,
        index=_index,
        short=_short,
        side=side,
        unbroken=_unbroken,
        blocks=_blocks,
    )
    hashes = {"style_hash": _hash(style), "script_hash": _hash(script)}
    environment.globals.update(version=__version__, style=style, script=script, **hashes)
    return environment


def write(path: Path, text: str) -> None:
    """Write a page completely or not at all, replacing an older one."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file instead, such as {path / 'report.html'}")
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def require_jinja2() -> Any:
    """Return jinja2; raise `MissingDependencyError` at once, not after minutes of work, if it is missing."""
    try:
        import jinja2
    except ImportError as error:
        raise MissingDependencyError("pages need jinja2; pip install 'isonn[report]'") from error
    return jinja2


def _unbroken(text: str) -> Any:
    """Keep short formulas on one line, as browsers break lines after a dash: ``C\u2013N(=O)\u2013O``."""
    from markupsafe import Markup, escape

    words = [
        Markup('<span class="formula">{}</span>').format(word) if _FORMULA.fullmatch(word) else escape(word)
        for word in text.split(" ")
    ]
    return Markup(" ").join(words)


def _short(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value:+.1f}" if abs(value) >= 1 else f"{value:+.2g}"


def _index(panels: Sequence[Panel]) -> list[tuple[Any, ...]]:
    """Return the facts about every graph that the script needs before its panel is unpacked."""
    return [
        (panel.number, panel.name, panel.predicted, panel.right, panel.drawing.box, panel.drawing.kind)
        for panel in panels
    ]


def _blocks(panels: Sequence[Panel]) -> Iterator[str]:
    """Pack panels a hundred at a time, so that a page of a thousand graphs opens as fast as one of a hundred."""
    article = _environment().get_template("gallery.html").module.panel_article
    for start in range(0, len(panels), AT_ONCE):
        texts = [str(article(panel, True)).strip() for panel in panels[start : start + AT_ONCE]]
        yield base64.b64encode(gzip.compress(json.dumps(texts).encode(), compresslevel=6, mtime=0)).decode()


def _file(name: str) -> str:
    return (files("isonn.report") / "html" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
