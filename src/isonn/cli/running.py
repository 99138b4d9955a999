"""Shared by the commands that run many jobs: processes, progress bar, Ctrl-C, tables and output files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from isonn.experiments.jobs import Job
    from isonn.experiments.rows import Row
    from isonn.experiments.store import Store
    from isonn.graphs.graph import GraphSet


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


def write_results(folder: Path, summary: Mapping[str, Any], page: str) -> str:
    """Write results.json and results.md; return the first.

    Args:
        page: the content of results.md.
    """
    from isonn.files import atomic_file

    as_json = json.dumps(summary, indent=2, ensure_ascii=False) + "\n"
    for suffix, content in (("json", as_json), ("md", page)):
        with atomic_file(folder / f"results.{suffix}") as temporary:
            temporary.write_text(content, encoding="utf-8")
    return as_json
