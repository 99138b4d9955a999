"""The first screen of a page: a question, its answer, the numbers, and one graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from isonn.report.draw import Drawing
from isonn.report.page import fragment
from isonn.report.panels import Panel


@dataclass(frozen=True)
class Tile:
    """One number of the first screen: its name, the number, and a line below."""

    name: str
    value: str
    about: str
    main: bool = False


@dataclass(frozen=True)
class Example:
    """The graph of the first screen: its panel, its drawing there, and what is highlighted."""

    panel: Panel
    drawing: Drawing
    text: str


@dataclass(frozen=True)
class Header:
    """The first screen.

    Attributes:
        kicker: the line above the question.
        question: the heading of the page.
        answers: the answer, one paragraph each.
        tiles: its numbers.
        example: a graph that shows the answer, or None.
        how: a sentence about how the predictions were made, or "".
        note: what is missing and why, or "".
        wide: whether the answer takes the whole width, because there is never an example.
    """

    kicker: str
    question: str
    answers: Sequence[str]
    tiles: Sequence[Tile] = ()
    example: Example | None = None
    how: str = ""
    note: str = ""
    wide: bool = False

    def html(self) -> Any:
        """Return the first screen as safe markup."""
        return fragment("header.html", header=self)
