"""Show the sections of our docstrings as griffe shows its own: "Example:" is "Examples:" there.

Attributes that ``fit`` sets have no annotation; griffe would show that of the one above, so they get an empty one.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

HEADINGS = {r"^Example:$": "Examples:", r"^Attributes set by ``fit``:$": "Attributes:"}
#: The items of a section of attributes.
ATTRIBUTES = re.compile(r"(?<=\nAttributes:\n)(?: .*\n?|\n(?= ))*")


class Headings(griffe.Extension):
    """Rename the headings of sections, and give attributes without an annotation an empty one."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if not obj.docstring:
            return
        text = obj.docstring.value
        for heading, name in HEADINGS.items():
            text = re.sub(heading, name, text, flags=re.MULTILINE)
        obj.docstring.value = ATTRIBUTES.sub(
            lambda items: re.sub(
                r"^    (\w+):",
                lambda item: item[0] if item[1] in obj.all_members else f"    {item[1]} ():",
                items[0],
                flags=re.MULTILINE,
            ),
            text,
        )
