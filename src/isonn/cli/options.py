"""Arguments shared by several commands, and their parsing."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from isonn.experiments.jobs import Job
    from isonn.experiments.rows import Row
    from isonn.experiments.store import Store
    from isonn.graphs import GraphStream
    from isonn.graphs.graph import GraphSet
    from isonn.graphs.io.registry import Problem, Reader

#: Groups of options in the help of every command.
DATA, METHODS, FOLDS, RUNNING, PAPER = "Data", "Methods", "Folds", "Running", "The paper's model (isonn)"
Data = Annotated[
    str,
    typer.Argument(metavar="DATA", help="A known dataset (see `isonn data list`) or a path.", show_default=False),
]
Model = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="A model folder written by `isonn fit`.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def _apply_quiet(quiet: bool) -> bool:
    """Act on --quiet, before the command runs."""
    if quiet:
        from isonn import progress

        progress.hide()
        warnings.simplefilter("ignore")
    return quiet


#: Works after every command, and before it as an option of `isonn`.
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Hide warnings and progress bars; errors are still printed.", callback=_apply_quiet
    ),
]
SmilesColumn = Annotated[
    str | None,
    typer.Option(
        "--smiles", help="Column of DATA that holds SMILES; guessed when only one fits.", rich_help_panel=DATA
    ),
]
TargetColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        help="Column of DATA to predict, guessed when only one fits; repeat it, or write A,B, for several; all: every "
        "column but ids and structures.",
        rich_help_panel=DATA,
    ),
]

TrueColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        help="Column of DATA with the true values, if known; repeat it, or write A,B, for several.",
        show_default="those the model was fitted to",
        rich_help_panel=DATA,
    ),
]

Numbers = Annotated[
    bool | None,
    typer.Option(
        "--numbers/--classes",
        help="What to predict; default: numbers if the targets are not whole, or have more than 20 values.",
        show_default=False,
        rich_help_panel=DATA,
    ),
]

#: Options for tables of molecules.
MOLECULES = "Molecules"
Standardize = Annotated[
    str | None,
    typer.Option(
        metavar="none|salts|full",
        help="salts: main fragment, neutral, without isotopes; full: also the canonical tautomer.",
        show_default="salts",
        rich_help_panel=MOLECULES,
    ),
]
Changes = Annotated[
    Path | None,
    typer.Option(help="CSV file to list the molecules that standardisation changed.", rich_help_panel=MOLECULES),
]
Censored = Annotated[
    str | None,
    typer.Option(
        metavar="drop|bound",
        help="Targets such as >100: leave their rows out, or use 100.",
        show_default="drop",
        rich_help_panel=MOLECULES,
    ),
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT=VALUE",
        help="Read a text of the target as another value, such as inconclusive=no, or leave its rows out: "
        "inconclusive=; may be repeated.",
        rich_help_panel=MOLECULES,
    ),
]
SkipBad = Annotated[
    bool,
    typer.Option(
        "--skip-bad", help="Go on where 30 % of the rows or more are not molecules.", rich_help_panel=MOLECULES
    ),
]


#: Options for connectomes.
CONNECTOMES = "Connectomes"
Confounds = Annotated[
    str | None,
    typer.Option(
        help="Columns of the participants (age,sex,site) to regress out of the connections.",
        rich_help_panel=CONNECTOMES,
    ),
]
Harmonize = Annotated[
    str | None,
    typer.Option(
        help="A column, such as site, whose differences in mean and spread are removed (ComBat).",
        rich_help_panel=CONNECTOMES,
    ),
]
Select = Annotated[
    str | None,
    typer.Option(help="Entities of the files to read: 'desc=denoised task=rest'.", rich_help_panel=CONNECTOMES),
]
JoinCase = Annotated[
    bool,
    typer.Option("--join-case", help="Classes that differ only in case are one class.", rich_help_panel=CONNECTOMES),
]


def reading(smiles: str | None = None, target: Sequence[str] | None = None, **more: Any) -> dict[str, Any]:
    """Return the options that were given, for readers of tables and folders; those left at None or False are not.

    Example:
        >>> reading("structure", ["a", "b"], censored="bound", skip_bad=False)
        {'smiles': 'structure', 'target': ['a', 'b'], 'censored': 'bound'}
    """
    options = {"smiles": smiles, "target": target, **more}
    return {name: value for name, value in options.items() if value not in (None, False, [])}


# Data that may be too large for memory: read whole or in pieces.


#: Larger datasets, in bytes of a TU folder, are read in pieces: some fifty thousand molecules.
LARGE = 64 * 2**20


def stream_of(data: str, always: bool = False, **options: Any) -> GraphStream | None:
    """Return the graphs of DATA in pieces if there are many, or None to read them whole."""
    import isonn

    return isonn.stream(data, **options) if always or _bytes(data) >= LARGE else None


def rows_of(data: str, clf: Any, **options: Any) -> Iterator[tuple[GraphSet | None, list[Problem] | None]]:
    """Yield DATA in pieces, for a fitted model: graphs and unusable rows (None for formats without such rows)."""
    import isonn
    from isonn.graphs.stream import AT_ONCE

    reader = _row_reader(data, options)
    if reader is not None:
        options = {**_stored_options(clf, reader), **options}
        yield from reader.rows(Path(data).expanduser(), AT_ONCE, likely=targets_of(clf), **options)
    else:
        for graphs in stream_of(data, **options) or [isonn.load(data, **options)]:
            yield graphs, None


def graphs_of(data: str, clf: Any, **options: Any) -> GraphSet:
    """Read DATA whole, for a fitted model: graphs with or without a target; warn about unusable rows."""
    import isonn
    from isonn.errors import DatasetError, IsoNNWarning
    from isonn.graphs.io.registry import left_out

    if _row_reader(data, options) is None:
        return isonn.load(data, **options)
    pieces, problems = [], []
    for graphs, unusable in rows_of(data, clf, **options):
        pieces += [] if graphs is None else [graphs]
        problems += unusable or []
    if not pieces:
        first = f" ({problems[0]})" if problems else ""
        raise DatasetError(f"{data} has no usable molecules{first}; correct the file")
    if problems:
        warnings.warn(left_out(Path(data), problems, len(problems)), IsoNNWarning, stacklevel=2)
    return isonn.GraphSet.concat(pieces)


def given_graphs(data: Sequence[str], clf: Any, **options: Any) -> GraphSet:
    """Read DATA for a fitted model: a dataset or path, or molecules written as SMILES."""
    if len(data) == 1 and not _is_molecule(data[0]):
        return graphs_of(data[0], clf, **options)
    import isonn
    from isonn.errors import InputError

    other = next((text for text in data if Path(text).expanduser().exists()), None)
    if other is not None:
        raise InputError(f"{other} is a file, and {len(data)} items are given; give one file, or only SMILES")
    if options:
        raise InputError(f"--{next(iter(options)).replace('_', '-')} is for a file; leave it out beside SMILES")
    return isonn.as_graphset(list(data), ids=list(data), standardize=clf.standardize_)


def _is_molecule(text: str) -> bool:
    """Return whether a text is a SMILES, and not a path or the name of a dataset."""
    from isonn.graphs import known

    if Path(text).expanduser().exists() or text.casefold() in {entry.name.casefold() for entry in known()}:
        return False
    try:
        from isonn.molecules.convert import is_smiles
    except ImportError:
        return False
    return is_smiles(text) or re.search(r"[()\[\]=#@]", text) is not None  # a damaged SMILES gets its own error


def label_of(clf: Any, text: str | None) -> Any:
    """Return the class or the column of a model that a text names; None for None."""
    if text is None:
        return None
    from isonn.errors import InputError

    values = clf.target_.classes.tolist()
    names = clf.label_names_.get("class" if clf.target_.exclusive else "target", {})
    called = {str(value): value for value in values} | {str(names[value]): value for value in values if value in names}
    if text not in called:
        shown = [str(names.get(value, value)) for value in values]
        more = ", ..." if len(shown) > 10 else ""
        raise InputError(f"--label {text} is not a class of the model; use one of {', '.join(shown[:10])}{more}")
    return called[text]


def _stored_options(clf: Any, reader: Reader) -> dict[str, Any]:
    """Return the options that a model was fitted with, so that DATA is read like its training data."""
    from isonn.graphs.io.registry import option_names

    mode = clf.standardize_
    return {} if mode is None or "standardize" not in option_names(reader) else {"standardize": mode}


def takes_option(data: str, option: str) -> bool:
    """Return whether the format of DATA has an option."""
    from isonn.graphs.io.registry import option_names, reader_of

    path = Path(data).expanduser()
    reader = reader_of(path) if path.exists() else None
    return reader is not None and option in option_names(reader)


def targets_of(clf: Any) -> list[str]:
    """Return the columns that a model was fitted to; [] if they had no names."""
    return [name for _, name in sorted(clf.label_names_.get("target", {}).items())]


def _row_reader(data: str, options: dict[str, Any]) -> Reader | None:
    """Return the reader of a file that may have unusable rows; None for other formats."""
    from isonn.graphs.io.registry import check_options, reader_of

    path = Path(data).expanduser()
    reader = reader_of(path) if path.is_file() else None
    if reader is None or not reader.keeps_rows:
        return None
    check_options(reader, options)
    return reader


def _bytes(data: str) -> int:
    from isonn.errors import DatasetError
    from isonn.graphs import find, known
    from isonn.graphs.io.registry import reader_of, size_of

    if data.casefold() in {entry.name.casefold() for entry in known()}:
        return 0  # named datasets are small
    path: Path | None = Path(data).expanduser()
    if path is not None and not path.exists():
        try:
            path = find(data)
        except DatasetError:  # not a dataset name; loading it raises the error
            path = None
    if path is None:
        return 0
    reader = reader_of(path) if path.is_file() else None
    return size_of(path) * (1 if reader is None else reader.growth)


# Shared by the commands that run many jobs: processes, progress bar, Ctrl-C and output files.


Jobs = Annotated[
    int | None, typer.Option(help="Number of processes.", show_default="one per core", rich_help_panel=RUNNING)
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        "--scheduler",
        help="Address of a dask scheduler, such as tcp://host:8786, whose workers run the jobs.",
        rich_help_panel=RUNNING,
    ),
]


def processes(jobs: int | None) -> int:
    """Return the number of processes, by default one per core."""
    if jobs is None:
        from joblib import cpu_count

        return int(cpu_count())
    from isonn.errors import InputError
    from isonn.params import check_count

    if jobs < 1:
        raise InputError(f"--jobs must be at least 1, got {jobs}")
    check_count("--jobs", jobs, "n_jobs")
    return jobs


def run_missing(
    title: str,
    jobs: Sequence[Job],
    datasets: Mapping[str, GraphSet],
    store: Store,
    n_jobs: int,
    scheduler: str | None = None,
) -> None:
    """Run the jobs without a result; Ctrl-C reports what is kept and exits with 130."""
    from isonn.experiments.run import execute
    from isonn.progress import bar

    missing = store.missing(jobs)
    say_set_aside(store)
    try:
        with bar(title, len(missing), show=bool(missing)) as report:
            for done, outcome in enumerate(execute(missing, datasets, store, n_jobs, scheduler=scheduler), start=1):
                report(done, f"{outcome['job']['dataset']}, {outcome['job']['method']}")
    except KeyboardInterrupt:
        kept = len(jobs) - len(store.missing(jobs))
        typer.echo(
            f"Stopped: {kept} of {len(jobs)} jobs are finished and kept in {store.folder}; "
            f"run the same command again to continue.",
            err=True,
        )
        raise typer.Exit(130) from None


def say_set_aside(store: Store) -> None:
    """Print the damaged files found so far."""
    for path in store.set_aside:
        typer.echo(f"A result file is damaged or was edited; it is kept as {path} and its job runs again.", err=True)


def print_rows(rows: Sequence[Row]) -> None:
    """Print a table, with an empty line before and after."""
    from rich.console import Console

    from isonn.experiments.tables import render

    typer.echo("")
    Console(highlight=False).print(render(rows, terminal_width()))
    typer.echo("")


def terminal_width() -> int:
    """Return the width of the terminal in columns."""
    from rich.console import Console

    return Console().width


def over_seeds(seeds: int) -> str:
    """Describe the seeds of a mean."""
    return "one seed" if seeds == 1 else f"mean ± sd over {seeds} seeds"


def dataset_sentence(dataset: Mapping[str, Any]) -> str:
    """Describe a dataset in one line, from `study.about`."""
    low, high = dataset["smallest"], dataset["largest"]
    sizes = f"{low} nodes" if low == high else f"{low} to {high} nodes"
    counts = " / ".join(map(str, dataset["graphs_by_class"].values()))
    if dataset["target"] == "classes":
        predicted = f"{dataset['classes']} classes ({counts})"
    else:
        columns = len(dataset["targets"])
        predicted = {"numbers": "numbers to predict", "labels": "labels to predict"}.get(
            dataset["target"], "no targets"
        )
        predicted = f"{columns} {predicted}" if columns > 1 else predicted
    return f"{dataset['name']}: {dataset['graphs']} graphs of {sizes}, {predicted}"


def file_name(name: str) -> str:
    """Convert a name to a file name."""
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.") or "graphs"


def write_text(path: Path, text: str) -> str:
    """Write a file atomically and return its text."""
    from isonn.files import atomic_file

    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return text


def write_json(path: Path, content: Mapping[str, Any]) -> str:
    """Write indented JSON and return its text."""
    return write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
