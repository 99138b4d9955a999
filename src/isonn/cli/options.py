"""Arguments and options that several commands share, and settings that are given as text."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from isonn.errors import InputError

#: Groups of options in the help of every command.
DATA, METHODS, FOLDS, RUNNING = "Data", "Methods", "Folds", "Running"
MOLECULES, CONNECTOMES = "Molecules", "Connectomes"
MODEL = "Model"


def argument(name: str, text: str) -> Any:
    """Declare an argument: its name in capitals, and its help."""
    return typer.Argument(metavar=name, help=text, show_default=False)


def option(panel: str | None, text: str, *names: str, default: bool | str = True, **more: Any) -> Any:
    """Declare an option: the group it is listed in, its help, its names unless the parameter's will do, its default."""
    return typer.Option(*names, help=text, rich_help_panel=panel, show_default=default, **more)


def flag(panel: str | None, text: str, *names: str, **more: Any) -> Any:
    """Declare an option without a value."""
    return option(panel, text, *names, metavar="", **more)


def new_path(panel: str | None, text: str, *names: str, **more: Any) -> Any:
    """Declare an option with a file or folder to write; one that exists is refused before the command runs."""
    return option(panel, f"{text}; must not exist.", *names, callback=_check_new, **more)


def _check_new(path: Path | None) -> Path | None:
    from isonn.files import check_new

    if path is not None:
        check_new(path)
    return path


def _apply_quiet(quiet: bool) -> bool:
    """Act on --quiet, before the command runs."""
    if quiet:
        from isonn import progress

        progress.hide()
        warnings.simplefilter("ignore")
    return quiet


Data = Annotated[str, argument("DATA", "A known dataset (see `isonn data list`) or a path.")]
Model = Annotated[Path, argument("MODEL", "A model folder written by `isonn fit`.")]
AsJson = Annotated[bool, flag(None, "Print JSON instead of text.", "--json")]
#: Works after every command, and before it as an option of `isonn`.
Quiet = Annotated[
    bool,
    flag(None, "Hide warnings and progress bars; errors are still printed.", "--quiet", "-q", callback=_apply_quiet),
]

SmilesColumn = Annotated[
    str | None,
    option(DATA, "Column of DATA that holds SMILES; guessed when only one fits.", "--smiles", metavar="COLUMN"),
]
TargetColumns = Annotated[
    list[str] | None,
    option(
        DATA,
        "Column of DATA to predict, guessed when only one fits; repeat it, or write A,B, for several; all: every "
        "column but ids and structures.",
        "--target",
        metavar="COLUMN",
    ),
]
TrueColumns = Annotated[
    list[str] | None,
    option(
        DATA,
        "Column of DATA with the true values, if known; repeat it, or write A,B, for several.",
        "--target",
        metavar="COLUMN",
        default="those the model was fitted to",
    ),
]
Numbers = Annotated[
    bool | None,
    flag(
        DATA,
        "What to predict; default: numbers if the targets are not whole, or have more than 20 values, or more than 10 "
        "of which half occur in fewer than five graphs.",
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
Changes = Annotated[Path | None, new_path(MOLECULES, "CSV file to list the molecules that standardisation changed")]
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
SkipBad = Annotated[bool, flag(MOLECULES, "Go on where 30 % of the rows or more are not molecules.", "--skip-bad")]

Confounds = Annotated[
    str | None,
    option(CONNECTOMES, "Columns of the participants (age,sex,site) to regress out of the connections."),
]
Harmonize = Annotated[
    str | None,
    option(CONNECTOMES, "A column, such as site, whose differences in mean and spread are removed (ComBat)."),
]
Select = Annotated[str | None, option(CONNECTOMES, "Entities of the files to read: 'desc=denoised task=rest'.")]
Atlas = Annotated[
    str | None,
    option(
        CONNECTOMES,
        "Names, networks and coordinates of the regions: a file, or a name such as schaefer-200-7.",
        default="atlas.csv of DATA",
    ),
]
JoinCase = Annotated[bool, flag(CONNECTOMES, "Classes that differ only in case are one class.", "--join-case")]

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

Group = Annotated[
    str | None,
    option(
        DATA,
        "A column of DATA, such as the subject: graphs with the same value stay together.",
        default="subject, if subjects have several sessions",
    ),
]
Label = Annotated[str | None, option(None, "A class or target, by name.", default=False)]
Goal = Annotated[
    str | None,
    option(None, "The class to reach, or the number to get to or past.", default="the other of two classes"),
]

Results = Annotated[
    Path | None,
    option(RUNNING, "Folder for the results; a stopped run continues from there.", "--out", default="a folder in runs"),
]
Jobs = Annotated[int | None, option(RUNNING, "Number of processes; of threads in fit.", default="one per core")]
Scheduler = Annotated[
    str | None,
    option(
        RUNNING,
        "Address of a dask scheduler, such as tcp://host:8786, whose workers run the jobs.",
        "--cluster",
    ),
]

Settings = Annotated[
    list[str] | None,
    option(
        MODEL,
        "A parameter of the estimator, such as min_support=3 or view=labels; of the paper's model k=3, epochs=50 or "
        "layers=[[2,3],[3,4]]. `evaluate` gives it to every method that has it. May be repeated.",
        "--set",
        metavar="NAME=VALUE",
    ),
]


def given(also: Sequence[str] | None = None, **settings: Any) -> dict[str, Any]:
    """Return the settings of an estimator that were given.

    Args:
        also: more settings, from ``--set NAME=VALUE``.

    Example:
        >>> given(["symmetric=true", "layers=[[2,3]]"], max_nodes=None, head="linear")
        {'head': 'linear', 'symmetric': True, 'layers': ((2, 3),)}
    """
    chosen = {name: value for name, value in settings.items() if value is not None}
    chosen |= dict(map(parse_setting, also or ()))
    if "layers" in chosen and {"k", "c"} & set(chosen):
        raise InputError("layers replaces k and c; give one or the other")
    return chosen


def parse_setting(text: str) -> tuple[str, Any]:
    """Parse ``NAME=VALUE``; the value is JSON (3, 0.5, true, [1, 2]), or else a text.

    Example:
        >>> parse_setting("learning-rate=0.01"), parse_setting("normalize=relative"), parse_setting("k=[3, 4]")
        (('learning_rate', 0.01), ('normalize', 'relative'), ('k', (3, 4)))
    """
    name, equals, value = text.partition("=")
    if not (equals and name.strip()):
        raise InputError(f"--set {text!r} is not a setting; write NAME=VALUE, such as normalize=relative")
    try:
        parsed = _as_tuples(json.loads(value))
    except ValueError:
        parsed = value
    return name.strip().replace("-", "_"), parsed


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def split_names(text: str | None) -> tuple[str, ...]:
    """Return the names in a text that are separated by commas.

    Example:
        >>> split_names("age, site,age"), split_names(None)
        (('age', 'site'), ())
    """
    return tuple(dict.fromkeys(name.strip() for name in (text or "").split(",") if name.strip()))
