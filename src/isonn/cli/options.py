"""Arguments and options that several commands share."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

#: Groups of options in the help of every command.
DATA, METHODS, FOLDS, RUNNING = "Data", "Methods", "Folds", "Running"
MOLECULES, CONNECTOMES = "Molecules", "Connectomes"
MODEL, SUBGRAPHS, PAPER = "Model", "Subgraph models (isonn-subgraph)", "The paper's model (isonn)"


def option(panel: str | None, text: str, *names: str, default: bool | str = True, **more: Any) -> Any:
    """Declare an option: the group it is listed in, its help, its names unless the parameter's will do, its default."""
    return typer.Option(*names, help=text, rich_help_panel=panel, show_default=default, **more)


def _apply_quiet(quiet: bool) -> bool:
    """Act on --quiet, before the command runs."""
    if quiet:
        from isonn import progress

        progress.hide()
        warnings.simplefilter("ignore")
    return quiet


Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A known dataset (see `isonn data list`) or a path.", show_default=False)
]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model folder written by `isonn fit`.", show_default=False)
]
AsJson = Annotated[bool, option(None, "Print JSON instead of text.", "--json")]
#: Works after every command, and before it as an option of `isonn`.
Quiet = Annotated[
    bool,
    option(None, "Hide warnings and progress bars; errors are still printed.", "--quiet", "-q", callback=_apply_quiet),
]

SmilesColumn = Annotated[
    str | None, option(DATA, "Column of DATA that holds SMILES; guessed when only one fits.", "--smiles")
]
TargetColumns = Annotated[
    list[str] | None,
    option(
        DATA,
        "Column of DATA to predict, guessed when only one fits; repeat it, or write A,B, for several; all: every "
        "column but ids and structures.",
        "--target",
    ),
]
TrueColumns = Annotated[
    list[str] | None,
    option(
        DATA,
        "Column of DATA with the true values, if known; repeat it, or write A,B, for several.",
        "--target",
        default="those the model was fitted to",
    ),
]
Numbers = Annotated[
    bool | None,
    option(
        DATA,
        "What to predict; default: numbers if the targets are not whole, or have more than 20 values.",
        "--numbers/--classes",
        default=False,
    ),
]

Standardize = Annotated[
    str | None,
    option(
        MOLECULES,
        "salts: main fragment, neutral, without isotopes; full: also the canonical tautomer.",
        metavar="none|salts|full",
        default="salts",
    ),
]
Changes = Annotated[Path | None, option(MOLECULES, "CSV file to list the molecules that standardisation changed.")]
Censored = Annotated[
    str | None,
    option(MOLECULES, "Targets such as >100: leave their rows out, or use 100.", metavar="drop|bound", default="drop"),
]
Values = Annotated[
    list[str] | None,
    option(
        MOLECULES,
        "Read a text of the target as another value, such as inconclusive=no, or leave its rows out: inconclusive=; "
        "may be repeated.",
        metavar="TEXT=VALUE",
    ),
]
SkipBad = Annotated[bool, option(MOLECULES, "Go on where 30 % of the rows or more are not molecules.", "--skip-bad")]

Confounds = Annotated[
    str | None,
    option(CONNECTOMES, "Columns of the participants (age,sex,site) to regress out of the connections."),
]
Harmonize = Annotated[
    str | None,
    option(CONNECTOMES, "A column, such as site, whose differences in mean and spread are removed (ComBat)."),
]
Select = Annotated[str | None, option(CONNECTOMES, "Entities of the files to read: 'desc=denoised task=rest'.")]
JoinCase = Annotated[bool, option(CONNECTOMES, "Classes that differ only in case are one class.", "--join-case")]

Runs = Annotated[
    str | None,
    option(
        CONNECTOMES, "A graph for every run (rows), or the mean of the runs of a session (average).", default="rows"
    ),
]
Missing = Annotated[
    str | None,
    option(CONNECTOMES, "NaN in a matrix: error, or drop the region from this subject.", default="error"),
]

Jobs = Annotated[int | None, option(RUNNING, "Number of processes.", default="one per core")]
Scheduler = Annotated[
    str | None,
    option(
        RUNNING,
        "Address of a dask scheduler, such as tcp://host:8786, whose workers run the jobs.",
        "--cluster",
        "--scheduler",
    ),
]

K = Annotated[
    str | None,
    option(
        PAPER,
        "Nodes per template; several sizes (3,4) for isonn-aligned.",
        "--k",
        default="4; in evaluate the paper's",
    ),
]
C = Annotated[int | None, option(PAPER, "Number of templates.", "--c", default="2; in evaluate the paper's")]
Layers = Annotated[str | None, option(PAPER, "Deep IsoNN instead of --k and --c, such as 2x3,3x4.")]
Matching = Annotated[
    str | None,
    option(
        PAPER,
        "How templates are matched: exact, fast (the paper's IsoNN-fast), assigned (for k > 9).",
        default="exact",
    ),
]
Epochs = Annotated[int | None, option(PAPER, "Training epochs.", default="100; in evaluate the paper's")]
Settings = Annotated[
    list[str] | None,
    option(
        MODEL,
        "Another parameter of the estimator, such as normalize=relative or min_support=3; may be repeated.",
        "--set",
        metavar="NAME=VALUE",
    ),
]
