"""Where model, data and results come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isonn.report.section import Section

#: Names and values.
Facts = Sequence[tuple[str, str]]


class ProvenanceSection(Section):
    """Facts about the model, the data and the versions.

    Args:
        heading: the heading.
        blocks: the facts about each dataset, with its name.
        note: a sentence below them.
    """

    anchor, template, listed = "provenance", "provenance.html", "Provenance"

    def __init__(self, heading: str, blocks: Sequence[tuple[str, Facts]], note: str = "") -> None:
        self.heading, self.blocks, self.note = heading, blocks, note

    @property
    def title(self) -> str:
        """The heading."""
        return self.heading

    def applies(self) -> bool:
        """Return whether there are any facts."""
        return any(facts for _, facts in self.blocks)

    def content(self) -> dict[str, Any]:
        """Return the facts."""
        return {"blocks": self.blocks, "note": self.note}
