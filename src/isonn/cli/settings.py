"""Settings of models as commands get them: as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from isonn.errors import InputError


def given(also: Sequence[str] | None = None, **settings: Any) -> dict[str, Any]:
    """Return the settings that were given, parsed: sizes, layers, views and short lists are written as text.

    Args:
        also: more settings, from ``--set NAME=VALUE``.

    Example:
        >>> given(["symmetric=true"], k="3,4", c=None, view="labels,degrees", random_state=0)
        {'k': (3, 4), 'view': ('labels', 'degrees'), 'random_state': 0, 'symmetric': True}
    """
    if settings.get("layers") is not None and not settings.get("k") is settings.get("c") is None:
        raise InputError("--layers replaces --k and --c; give one or the other")
    chosen = {name: value for name, value in settings.items() if value is not None}
    for name, parse in (("k", parse_sizes), ("layers", parse_layers)):
        if name in chosen:
            chosen[name] = parse(chosen[name])
    if "," in chosen.get("view", ""):
        chosen["view"] = tuple(chosen["view"].split(","))
    return chosen | dict(map(parse_setting, also or ()))


def parse_setting(text: str) -> tuple[str, Any]:
    """Parse ``NAME=VALUE``; the value is JSON (3, 0.5, true, [1, 2]), or else a text.

    Example:
        >>> parse_setting("learning-rate=0.01"), parse_setting("normalize=relative")
        (('learning_rate', 0.01), ('normalize', 'relative'))
    """
    name, equals, value = text.partition("=")
    if not (equals and name.strip()):
        raise InputError(f"--set {text!r} is not a setting; write NAME=VALUE, such as normalize=relative")
    try:
        parsed = json.loads(value)
    except ValueError:
        parsed = value
    return name.strip().replace("-", "_"), parsed


def parse_sizes(text: str) -> tuple[int, ...]:
    """Parse ``"1,2,3"`` as (1, 2, 3).

    Example:
        >>> parse_sizes("1,2,3")
        (1, 2, 3)
    """
    try:
        return tuple(int(size) for size in text.split(","))
    except ValueError:
        raise InputError(f"--k {text!r} is not a number of nodes; write 4, or 1,2,3,4 for several sizes") from None


def parse_layers(text: str) -> tuple[tuple[int, int], ...]:
    """Parse ``"2x3,3x4"`` as ((2, 3), (3, 4)): 2 templates of size 3, then 3 of size 4.

    Example:
        >>> parse_layers("2x3,3x4")
        ((2, 3), (3, 4))
    """
    layers = []
    for layer in text.split(","):
        c, cross, k = layer.partition("x")
        if not (cross and c.strip().isdecimal() and k.strip().isdecimal()):
            raise InputError(
                f"--layers {text!r} is not a list of layers; write 2x3,3x4 for 2 templates of 3, then 3 of 4"
            )
        layers.append((int(c), int(k)))
    return tuple(layers)


def only_size(sizes: tuple[int, ...]) -> int:
    """Return the size of the templates of isonn, which are all of one size."""
    if len(sizes) > 1:
        raise InputError(f"--k {sizes} are several sizes, but isonn has one; give one")
    return sizes[0]


def examples_kept(text: str | None) -> bool | str | None:
    """Return --keep-examples as the parameter of models; raise `InputError` for other words than ids and smiles."""
    if text not in (None, "ids", "smiles"):
        raise InputError(f"--keep-examples {text} is unknown; use ids or smiles")
    return True if text == "ids" else text
