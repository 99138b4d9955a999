"""``isonn reproduce``: reproduce a table or figure of the paper, next to the printed numbers."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isonn.cli import options as opt
from isonn.cli import running
from isonn.cli.options import DATA, FOLDS, METHODS, RUNNING, argument, flag, option
from isonn.errors import InputError

if TYPE_CHECKING:  # imported when needed, so that `isonn --help` is fast
    from isonn.experiments.rows import Row
    from isonn.experiments.spec import Spec, Sweep
    from isonn.experiments.study import Datasets, Part

    Shown = list[tuple[Part, list[Row]]]


def reproduce(
    experiment: Annotated[str, argument("NAME", "table, kernel-size, channels, time or convergence.")],
    datasets: Annotated[str | None, option(DATA, "Datasets, separated by commas.", default="the paper's")] = None,
    methods: Annotated[
        str | None, option(METHODS, "Methods, separated by commas, or all.", default="the experiment's")
    ] = None,
    seeds: Annotated[
        int | None, option(FOLDS, "Number of seeds; results cover all of them.", default="the experiment's")
    ] = None,
    jobs: opt.Jobs = None,
    scheduler: opt.Scheduler = None,
    protocol: Annotated[
        str | None, option(FOLDS, "paper, fair, random or released.", default="the experiment's")
    ] = None,
    out: opt.Results = None,
    stored: Annotated[bool, flag(RUNNING, "Run nothing; show finished seeds.", "--stored")] = False,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Run an experiment of the paper and print the results next to the paper's numbers.

    Finished jobs are kept. Running the command again, also with more seeds, methods or datasets, runs only missing
    jobs.
    """
    from isonn.experiments.methods import resolve_methods
    from isonn.experiments.protocols import find_protocol
    from isonn.experiments.spec import load_spec
    from isonn.experiments.store import Store
    from isonn.experiments.study import check_jobs, load_datasets, part_rows, plan_study, stored_parts

    spec = load_spec(experiment)
    chosen = protocol if protocol is not None else spec.protocol
    rules = find_protocol(chosen)
    number = _seeds(seeds, spec, chosen)
    asked = None if methods is None else resolve_methods(methods)
    n_jobs = running.processes(jobs if jobs is not None else spec.jobs)
    names = spec.datasets if datasets is None else list(opt.split_names(datasets))
    if not names:
        raise InputError("--datasets is empty; give names or paths, separated by commas")
    loaded = load_datasets(names, download=not stored)
    default = spec.name if chosen == spec.protocol else f"{spec.name}-{chosen}"
    folder = out if out is not None else Path("runs") / default

    unfinished: list[str] = []
    if stored:
        if not (folder / "run.json").is_file():
            raise InputError(
                f"{folder} holds no results to show; name their folder with --out, leave --stored out to compute them, "
                "or unpack docs/results/*.tar.gz of isonn's source repository into the folder above it"
            )
        store = Store(folder)
        parts = stored_parts(spec, loaded, asked, chosen, number, store)
        running.say_set_aside(store)
        unfinished = _unfinished(parts)
    else:
        parts = plan_study(spec, loaded, asked, chosen, number)
        check_jobs(parts, loaded)
        store = Store(folder)
        planned = list({job.id: job for part in parts for job in part.jobs}.values())  # figures may share jobs
        running.run_missing(spec.name, planned, loaded.graphs, store, n_jobs, scheduler)
    shown = [(part, part_rows(part, store, spec, loaded)) for part in parts]
    about = {"name": chosen, "about": rules.about}
    summary = _summary(spec, shown, loaded, about, number)
    over = f"{running.over_seeds(number)} or as many as are finished" if stored else running.over_seeds(number)
    first = f"In percent, {over}. Protocol {chosen}: {rules.about}."
    command = _command(experiment, datasets, methods, number, protocol)
    page = _markdown(spec, shown, loaded, [first, *_notes(shown, loaded), *unfinished], command)
    written = running.write_results(store.folder, summary, page)
    plots = _plots(shown, store.folder)
    if as_json:
        sys.stdout.write(written)
    else:
        _print(spec, shown, loaded, [first, *_notes(shown, loaded, running.terminal_width()), *unfinished])
        typer.echo(f"Results: {store.folder / 'results.md'}, .json; one file per job in {store.folder / 'jobs'}.")
        if plots:
            typer.echo(f"Plots: {', '.join(map(str, plots))}, and .svg.")
    public = set() if stored else set(loaded.absent) - loaded.private
    if public or any(row.finished < row.jobs for _, rows in shown for row in rows):
        raise typer.Exit(1)


def _seeds(seeds: int | None, spec: Spec, protocol: str) -> int:
    from isonn.experiments.protocols import find_protocol
    from isonn.experiments.study import check_seeds

    if seeds is None:
        least = find_protocol(protocol).seeds
        return spec.seeds if protocol == spec.protocol or least == 1 else least
    if seeds < 1:
        raise InputError(f"--seeds must be at least 1, got {seeds}")
    few = check_seeds(protocol, seeds)
    if few is not None:
        raise InputError(f"{few}; use more seeds, or isonn evaluate for a quick look")
    return seeds


def _unfinished(parts: Sequence[Part]) -> list[str]:
    """Return a note on methods without a finished seed, by dataset."""
    notes = []
    for part in parts:
        missing = [method for method in part.methods if method not in {job.method for job in part.jobs}]
        if part.jobs and missing:
            notes.append(f"No finished seed on {part.dataset}: {', '.join(missing)}.")
    return notes


def _summary(spec: Spec, shown: Shown, loaded: Datasets, protocol: Mapping[str, str], seeds: int) -> dict[str, Any]:
    from isonn.experiments.study import about

    return {
        "experiment": spec.name,
        "title": spec.title,
        "protocol": protocol,
        "seeds": seeds,
        "datasets": [about(graphs) for graphs in loaded.graphs.values()],
        "absent": dict(loaded.absent),
        "rows": [{"part": part.name, **row.as_dict()} for part, rows in shown for row in rows],
        "left_out": {f"{name} on {part.dataset}": why for part, _ in shown for name, why in part.left_out.items()},
    }


def _figures(shown: Shown) -> list[tuple[Sweep, list[Row]]]:
    """Return the rows of each figure over all its datasets."""
    figures: dict[str, tuple[Sweep, list[Row]]] = {}
    for part, rows in shown:
        if part.sweep is not None:
            figures.setdefault(part.sweep.name, (part.sweep, []))[1].extend(rows)
    return list(figures.values())


def _notes(shown: Shown, loaded: Datasets, width: int | None = None) -> list[str]:
    """Return the notes below the tables; ``width`` as in `legend`."""
    from isonn.experiments.findings import findings
    from isonn.experiments.methods import METHODS
    from isonn.experiments.tables import failures, legend, remarks

    rows = [row for _, rows in shown for row in rows]
    notes = legend(rows, width, _besides(part for part, _ in shown))
    for sweep, of_sweep in _figures(shown):
        if sweep.claim:
            notes.append(f'{sweep.title}; the paper: "{sweep.claim}".')
        notes += [f"{sentence}." for sentence in findings(sweep, of_sweep)]
    notes += [
        f"{name} on {part.dataset} is left out: {why}." for part, _ in shown for name, why in part.left_out.items()
    ]
    stored = {row.dataset for row in rows if row.finished}
    notes += [f"{name}: {why}." for name, why in loaded.absent.items() if name not in stored]
    gone = dict.fromkeys(row.method for row in rows if row.method not in METHODS)
    if gone:
        notes.append(f"Rows of isonn 0.1 or 0.2, of methods that isonn no longer has: {', '.join(gone)}.")
    return [*notes, *remarks(rows), *failures(rows)]


def _heading(part: Part, loaded: Datasets) -> str:
    from isonn.experiments.study import about

    if part.dataset not in loaded.graphs:
        if part.jobs:
            return f"{part.dataset}: stored results; the data is not here"
        return f"{part.dataset}: {'data not public' if part.dataset in loaded.private else 'not loaded'}"
    return running.dataset_sentence(about(loaded.graphs[part.dataset]))


#: Columns that a study of running time leaves out.
_NOT_TIME = ("accuracy", "95 %", "F1", "flips", "one class", "loss")


def _besides(parts: Iterable[Part]) -> tuple[str, ...]:
    """Return the columns that these parts do not need."""
    return _NOT_TIME if all(part.sweep is not None and part.sweep.measure == "seconds" for part in parts) else ()


def _tables(shown: Shown, loaded: Datasets) -> Iterator[tuple[Sweep | None, Part, str, list[Row]]]:
    """Yield each table with its part and its heading; the first of a figure also with the figure."""
    figure = None
    for part, rows in shown:
        if rows:
            yield (part.sweep if part.sweep != figure else None), part, _heading(part, loaded), rows
            figure = part.sweep


def _markdown(spec: Spec, shown: Shown, loaded: Datasets, foot: Sequence[str], command: str) -> str:
    from isonn.experiments.tables import markdown

    text = [f"# {spec.title}", f"`{command}`"]
    for figure, part, heading, rows in _tables(shown, loaded):
        if figure is not None:
            text += [f"## {figure.title}", f"![{figure.title}]({figure.name}.svg)"]
        level = "##" if part.sweep is None else "###"
        text += [f"{level} {part.dataset}", heading, markdown(rows, _besides([part]))]
    text.append("\n".join(f"- {note}" for note in foot))
    return "\n\n".join(paragraph.strip() for paragraph in text) + "\n"


def _plots(shown: Shown, folder: Path) -> list[Path]:
    from isonn.errors import MissingDependencyError
    from isonn.report.plots import plot_sweep

    try:
        return [path for sweep, rows in _figures(shown) if (path := plot_sweep(sweep, rows, folder)) is not None]
    except MissingDependencyError as error:  # the numbers are written; the same command can draw them later
        typer.echo(f"No plots: {error}", err=True)
        return []


def _print(spec: Spec, shown: Shown, loaded: Datasets, foot: Sequence[str]) -> None:
    typer.echo(spec.title)
    for figure, _, heading, rows in _tables(shown, loaded):
        if figure is not None:
            typer.echo(f"\n{figure.title}")
        typer.echo(f"\n{heading}")
        running.print_rows(rows)
    for sentence in foot:
        typer.echo(sentence)


def _command(name: str, datasets: str | None, methods: str | None, seeds: int, protocol: str | None) -> str:
    options = {"datasets": datasets, "methods": methods, "seeds": seeds, "protocol": protocol}
    given = [f"--{key} {value}" for key, value in options.items() if value is not None]
    return " ".join(["isonn reproduce", name, *given])
