"""`Extra`: columns that an option of `isonn predict` adds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from isonn.graphs.graph import GraphSet


class Extra(NamedTuple):
    """Columns that an option adds.

    Attributes:
        names: returns their names, from the model and the value of the option; raises `InputError` if the model cannot
            fill them.
        columns: returns them, a list of cells for each name, from the model, some graphs and the value of the option.
        numeric: whether they hold numbers rather than text.
    """

    names: Callable[[Any, Any], list[str]]
    columns: Callable[[Any, GraphSet, Any], list[list[Any]]]
    numeric: bool = False
