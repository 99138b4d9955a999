"""`Section`: a part of a page with its own heading."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from isonn.report.page import fragment


class Section(ABC):
    """A part of a page with its own heading.

    A page is a list of sections. To add one, write one file in ``isonn/report/sections`` with a subclass, and one line
    in the list of each page that shows it (`model_page`, `run_page`, `explain_page`, `compare_page`). The contract:

    - the constructor takes what the section shows, such as `isonn.report.cases.Cases`, and computes nothing expensive;
    - `anchor` is the id of the section on its page, unique there, and `listed` its name in the list at the top of long
      pages;
    - `applies` says whether there is anything to show; of a section that does not apply the page has no trace;
    - `content` returns the values for ``template``, a file in ``html/sections``. Text is escaped there; only drawings
      and charts of isonn may be marked as safe;
    - explanations and matches are read from `Cases`, which computes them once for all sections.
    """

    anchor: ClassVar[str]
    template: ClassVar[str]
    listed: ClassVar[str] = ""

    @property
    @abstractmethod
    def title(self) -> str:
        """The heading."""

    @property
    def heading_hidden(self) -> bool:
        """Whether only screen readers get the heading."""
        return False

    def applies(self) -> bool:
        """Return whether there is anything to show."""
        return True

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """Return the values for the template."""

    def html(self) -> Any:
        """Return the section below its heading, as safe markup."""
        return fragment(f"sections/{self.template}", **self.content())
