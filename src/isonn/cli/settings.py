"""Settings of models, declared once for the commands that fit them, and their parsing."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from isonn.cli.options import CONNECTOMES, PAPER

MODEL, SUBGRAPHS = "Model", "Subgraph models (isonn-subgraph)"

Seed = Annotated[int, typer.Option(help="The same seed gives the same model.", rich_help_panel=MODEL)]
ClassWeight = Annotated[
    str | None,
    typer.Option(
        help="balanced: rare classes count as much as frequent ones.", show_default="none", rich_help_panel=MODEL
    ),
]

MaxNodes = Annotated[
    int | None,
    typer.Option(
        help="Nodes of the largest subgraphs, 1 to 6.",
        show_default="6, fewer for dense graphs",
        rich_help_panel=SUBGRAPHS,
    ),
]
Templates = Annotated[
    str | None,
    typer.Option(
        help="Keep a short list of this many subgraphs, or auto for the fewest with nearly the same score.",
        show_default="all",
        rich_help_panel=SUBGRAPHS,
    ),
]
View = Annotated[
    str | None,
    typer.Option(
        help="Information on nodes and edges: auto, or some of labels, refined, degrees.", rich_help_panel=SUBGRAPHS
    ),
]
HeadName = Annotated[
    str | None,
    typer.Option("--head", help="auto (sums and logic), linear or trees.", rich_help_panel=SUBGRAPHS),
]
KeepExamples = Annotated[
    str | None,
    typer.Option(
        help="Store ids or smiles of training graphs with their true values in the model, for `predict --neighbours`. "
        "Whoever gets the model can read them.",
        show_default="nothing",
        rich_help_panel=SUBGRAPHS,
    ),
]

K = Annotated[
    str | None,
    typer.Option(
        "--k",
        help="Nodes per template; several sizes (3,4) for isonn-aligned.",
        show_default="4; in evaluate the paper's",
        rich_help_panel=PAPER,
    ),
]
C = Annotated[
    int | None,
    typer.Option("--c", help="Number of templates.", show_default="2; in evaluate the paper's", rich_help_panel=PAPER),
]
Layers = Annotated[
    str | None,
    typer.Option(help="Deep IsoNN instead of --k and --c, such as 2x3,3x4.", rich_help_panel=PAPER),
]
Matching = Annotated[
    str | None,
    typer.Option(
        help="How templates are matched: exact, fast (the paper's IsoNN-fast), assigned (for k > 9).",
        show_default="exact",
        rich_help_panel=PAPER,
    ),
]
Normalize = Annotated[
    str | None,
    typer.Option(
        help="positions, templates, or relative (needed for deep models on larger graphs).",
        show_default="positions",
        rich_help_panel=PAPER,
    ),
]
Epochs = Annotated[
    int | None,
    typer.Option(help="Training epochs.", show_default="100; in evaluate the paper's", rich_help_panel=PAPER),
]
Symmetric = Annotated[
    bool,
    typer.Option(
        "--symmetric",
        help="Symmetric templates; half the work on undirected weighted graphs.",
        rich_help_panel=PAPER,
    ),
]
Size = Annotated[int | None, typer.Option(help="Nodes to reserve, if new graphs may be larger.", rich_help_panel=PAPER)]
LearningRate = Annotated[
    float | None, typer.Option(help="Step size of Adam.", show_default="0.001", rich_help_panel=PAPER)
]
BatchSize = Annotated[int | None, typer.Option(help="Graphs per step; default: all.", rich_help_panel=PAPER)]
Patience = Annotated[
    int | None, typer.Option(help="Stop after this many epochs without a lower loss.", rich_help_panel=PAPER)
]

Shuffles = Annotated[
    int | None,
    typer.Option(help="Shuffles for p-values.", show_default="99", rich_help_panel=CONNECTOMES),
]


def given(**settings: Any) -> dict[str, Any]:
    """Return the settings that were given, parsed: sizes, layers, views and short lists are written as text.

    Example:
        >>> given(k="3,4", c=None, view="labels,degrees", symmetric=False, random_state=0)
        {'k': (3, 4), 'view': ('labels', 'degrees'), 'random_state': 0}
    """
    if settings.get("layers") is not None and not settings.get("k") is settings.get("c") is None:
        from isonn.errors import InputError

        raise InputError("--layers replaces --k and --c; give one or the other")
    chosen = {name: value for name, value in settings.items() if value is not None and value is not False}
    for name, parse in (
        ("k", parse_sizes),
        ("layers", parse_layers),
        ("n_templates", parse_templates),
        ("view", _parse_view),
    ):
        if name in chosen:
            chosen[name] = parse(chosen[name])
    return chosen


def parse_sizes(text: str) -> tuple[int, ...]:
    """Parse ``"1,2,3"`` as (1, 2, 3).

    Example:
        >>> parse_sizes("1,2,3")
        (1, 2, 3)
    """
    try:
        return tuple(int(size) for size in text.split(","))
    except ValueError:
        from isonn.errors import InputError

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
            from isonn.errors import InputError

            raise InputError(
                f"--layers {text!r} is not a list of layers; write 2x3,3x4 for 2 templates of 3, then 3 of 4"
            )
        layers.append((int(c), int(k)))
    return tuple(layers)


def parse_templates(text: str) -> int | str:
    """Parse the length of a short list, or "auto"."""
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        from isonn.errors import InputError

        raise InputError(
            f"--templates {text!r} is not a number of templates; write a number such as 32, or auto"
        ) from None


def _parse_view(text: str) -> str | tuple[str, ...]:
    return tuple(text.split(",")) if "," in text else text


def only_size(sizes: tuple[int, ...]) -> int:
    """Return the size of the templates of isonn, which are all of one size."""
    if len(sizes) > 1:
        from isonn.errors import InputError

        raise InputError(f"--k {sizes} are several sizes, but isonn has one; give one")
    return sizes[0]


def examples_kept(text: str | None) -> bool | str | None:
    """Return --keep-examples as the parameter of models; raise `InputError` for other words than ids and smiles."""
    from isonn.errors import InputError

    if text not in (None, "ids", "smiles"):
        raise InputError(f"--keep-examples {text} is unknown; use ids or smiles")
    return True if text == "ids" else text
