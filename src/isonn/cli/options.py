"""Arguments that several commands share, and how their text is read."""

from __future__ import annotations

from typing import Annotated

import typer

Data = Annotated[str, typer.Argument(help="A known dataset (see `isonn data list`) or a path.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text.")]


def parse_sizes(text: str | None) -> tuple[int, ...] | None:
    """``"1,2,3"`` as (1, 2, 3).

    Example:
        >>> parse_sizes("1,2,3")
        (1, 2, 3)
    """
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        from isonn.errors import InputError

        raise InputError(f"--k {text!r} is not a number of nodes; write 4, or 1,2,3,4 for several sizes") from None


def check_either(layers: object, *sizes: object) -> None:
    """Refuse --layers beside --k or --c."""
    if layers is not None and any(size is not None for size in sizes):
        from isonn.errors import InputError

        raise InputError("--layers replaces --k and --c; give either the one or the others")


def parse_layers(text: str | None) -> tuple[tuple[int, int], ...] | None:
    """``"2x3,3x4"`` as ((2, 3), (3, 4)): 2 templates of size 3, then 3 of size 4.

    Example:
        >>> parse_layers("2x3,3x4")
        ((2, 3), (3, 4))
    """
    if text is None:
        return None
    layers = []
    for part in text.split(","):
        c, cross, k = part.partition("x")
        if not (cross and c.strip().isdecimal() and k.strip().isdecimal()):
            from isonn.errors import InputError

            raise InputError(
                f"--layers {text!r} is not a list of layers; write 2x3,3x4 for 2 templates of 3, then 3 of 4"
            )
        layers.append((int(c), int(k)))
    return tuple(layers)
