"""Show the sections of our docstrings as griffe shows its own: "Example:" is "Examples:" there."""

from __future__ import annotations

import re
from typing import Any

import griffe

HEADINGS = {r"^Example:$": "Examples:", r"^Attributes set by ``fit``:$": "Attributes:"}


class Headings(griffe.Extension):
    """Rename the headings of sections."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            for heading, name in HEADINGS.items():
                obj.docstring.value = re.sub(heading, name, obj.docstring.value, flags=re.MULTILINE)
