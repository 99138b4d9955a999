"""`Section`: a part of a page with its own heading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isonn.report.page import fragment


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a page with its own heading.

    A page is a list of sections. To add one, write one file in ``isonn/report/sections`` with a function that returns
    the section, or None if there is nothing to show; one template in ``isonn/report/html/sections``; and one line in
    each page that shows it (`model_page`, `run_page`, `explain_page`). Text is escaped by the template; only drawings
    and charts of isonn may be marked as safe. Explanations and matches are read from `isonn.report.cases.Cases`, which
    computes them once for all sections.

    Attributes:
        anchor: the id of the section, unique on its page.
        title: the heading.
        content: the values for the template.
        listed: its name in the list of sections at the top of long pages.
        heading_hidden: whether only screen readers get the heading.
        template: the file in ``html/sections`` without its ending; "" if it is called like the anchor.
    """

    anchor: str
    title: str
    content: Mapping[str, Any]
    listed: str = ""
    heading_hidden: bool = False
    template: str = ""

    def html(self) -> Any:
        """Return the section below its heading, as safe markup."""
        return fragment(f"sections/{self.template or self.anchor}.html", **self.content)
