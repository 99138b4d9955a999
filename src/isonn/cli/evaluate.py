"""``isonn evaluate``: methods judged on one dataset, every result kept."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isonn.cli.options import AsJson, Data, parse_layers

if TYPE_CHECKING:  # what runs is imported when it runs: `isonn --help` waits for nothing
    from isonn.data.graphs import GraphSet
    from isonn.experiments.run import Task
    from isonn.experiments.spec import Spec
    from isonn.experiments.store import Store
    from isonn.experiments.tables import Row


def evaluate(
    data: Data,
    methods: Annotated[str, typer.Option(help="Methods, separated by commas, or all.")] = "isonn,majority,size,degrees",
    protocol: Annotated[
        str, typer.Option(help="paper: balanced 3-fold; released: the folds released with the data.")
    ] = "paper",
    seeds: Annotated[int, typer.Option(help="How many seeds; all are reported.")] = 10,
    jobs: Annotated[int | None, typer.Option(help="Processes.", show_default="one per core")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the results; a run goes on where it stopped.", show_default="runs/DATA-PROTOCOL"),
    ] = None,
    k: Annotated[int | None, typer.Option(help="Nodes per template.", show_default="the paper's")] = None,
    c: Annotated[int | None, typer.Option(help="Templates.", show_default="the paper's")] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs of training.", show_default="the paper's")] = None,
    matching: Annotated[str | None, typer.Option(help="exact, fast or assigned.", show_default="exact")] = None,
    layers: Annotated[str | None, typer.Option(help="Deep IsoNN instead of --k and --c, such as 2x3,3x4.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train and test methods on the folds of a dataset and print how they compare.

    Finished tasks are kept: the same command again runs what is missing, more seeds or methods what is new.
    """
    from isonn.data import load
    from isonn.experiments.methods import resolve_methods
    from isonn.experiments.protocols import find_protocol
    from isonn.experiments.run import plan
    from isonn.experiments.spec import load_spec
    from isonn.experiments.store import Store

    names = resolve_methods(methods)
    about = find_protocol(protocol).about
    spec = load_spec("table")
    changes = _changes(names, {"k": k, "c": c, "epochs": epochs, "matching": matching, "layers": parse_layers(layers)})
    processes = _processes(jobs)
    graphs = load(data)
    settings = {name: spec.settings_for(graphs.name, name, changes if _is_isonn(name) else None) for name in names}
    if layers is not None:  # they replace k and c, those of the spec included
        settings = {
            name: {key: value for key, value in s.items() if key not in ("k", "c")} for name, s in settings.items()
        }
    left_out = _left_out(names, settings, graphs)
    tasks = plan(graphs, [name for name in names if name not in left_out], settings, protocol, seeds)
    store = Store(out if out is not None else Path("runs") / f"{_file_name(graphs.name)}-{protocol}")

    dataset = _about(graphs)
    if not as_json:
        typer.echo(_sentence(dataset))
    _run(tasks, graphs, store, processes)
    rows = _summary(tasks, store, spec)
    summary = {
        "dataset": dataset,
        "protocol": {"name": protocol, "about": about},
        "seeds": seeds,
        "rows": [row.as_dict() for row in rows],
        "left_out": left_out,
    }
    written = _write(store.folder / "results.json", summary)
    if as_json:
        sys.stdout.write(written)
    else:
        _print(rows, left_out, seeds, protocol, about, store.folder)
    if any(row.finished < row.tasks for row in rows):
        raise typer.Exit(1)


def _run(tasks: list[Task], graphs: GraphSet, store: Store, jobs: int) -> None:
    """Run what is missing; Ctrl-C says what is kept and leaves with 130."""
    from isonn.experiments.execute import execute
    from isonn.progress import bar

    missing = store.missing(tasks)
    for path in store.set_aside:
        typer.echo(f"A result file is damaged: set aside as {path}, its task runs again.", err=True)
    try:
        with bar(graphs.name, len(missing), show=bool(missing)) as report:
            for done, outcome in enumerate(execute(missing, {graphs.name: graphs}, store, jobs), start=1):
                report(done, outcome["task"]["method"])
    except KeyboardInterrupt:
        kept = len(tasks) - len(store.missing(tasks))
        typer.echo(
            f"Stopped: {kept} of {len(tasks)} tasks are finished and kept in {store.folder}; "
            f"run the same command again to go on.",
            err=True,
        )
        raise typer.Exit(130) from None


def _summary(tasks: list[Task], store: Store, spec: Spec) -> list[Row]:
    from isonn.experiments.tables import summarize

    results, errors = {}, {}
    for task in tasks:
        result = store.get(task)
        if result is not None:
            results[task.id] = result
        else:
            errors[task.id] = store.error(task) or "the result was removed while the command ran"
    return summarize(tasks, results, errors, spec)


def _print(rows: list[Row], left_out: dict[str, str], seeds: int, protocol: str, about: str, folder: Path) -> None:
    from rich.console import Console

    from isonn.experiments.tables import failures, render

    over = "one seed" if seeds == 1 else f"mean ± sd over {seeds} seeds"
    typer.echo("")
    Console(highlight=False).print(render(rows))
    typer.echo("")
    for sentence in [*failures(rows), *(f"{name} is left out: {reason}." for name, reason in left_out.items())]:
        typer.echo(sentence)
    typer.echo(f"In percent, {over}. Protocol {protocol}: {about}.")
    typer.echo(f"Results: {folder / 'results.json'}, and one file a task in {folder / 'tasks'}.")


def _left_out(methods: tuple[str, ...], settings: dict[str, dict[str, Any]], graphs: GraphSet) -> dict[str, str]:
    """Methods that cannot be used on these graphs, and why; settings that mean nothing are refused."""
    from isonn.errors import InputError
    from isonn.experiments.methods import build

    reasons = {}
    for name in methods:
        estimator = build(name, settings[name], seed=0, size=int(graphs.sizes.max()))
        estimator.check_settings()
        reason = estimator.why_not(graphs)
        if reason is not None:
            reasons[name] = reason
    if len(reasons) == len(methods):
        raise InputError("; ".join(reasons.values()))
    return reasons


def _is_isonn(method: str) -> bool:
    return method == "isonn" or method.startswith("isonn-")


def _changes(methods: tuple[str, ...], given: dict[str, Any]) -> dict[str, Any]:
    """Settings from the command line; they are for the methods that are IsoNN."""
    from isonn.errors import InputError

    values = {name: value for name, value in given.items() if value is not None}
    if "layers" in values and not values.keys().isdisjoint({"k", "c"}):
        raise InputError("--layers replaces --k and --c; give either the one or the others")
    if values and not any(map(_is_isonn, methods)):
        raise InputError(
            f"--{next(iter(values))} is a setting of isonn, which is not among the methods {', '.join(methods)}; "
            f"add it or leave the option out"
        )
    return values


def _processes(jobs: int | None) -> int:
    from isonn.errors import InputError

    if jobs is None:
        from joblib import cpu_count

        return int(cpu_count())
    if jobs < 1:
        raise InputError(f"--jobs {jobs} cannot run anything; use at least 1")
    return jobs


def _about(graphs: GraphSet) -> dict[str, Any]:
    import numpy as np

    counts: dict[str, int] = {}
    if graphs.y is not None and graphs.y.ndim == 1:
        labels, numbers = np.unique(graphs.y, return_counts=True)
        counts = {str(label): int(number) for label, number in zip(labels, numbers, strict=True)}
    return {
        "name": graphs.name,
        "digest": graphs.digest,
        "graphs": len(graphs),
        "classes": 0 if graphs.classes is None else len(graphs.classes),
        "graphs_by_class": counts,
        "smallest": int(graphs.sizes.min()),
        "largest": int(graphs.sizes.max()),
    }


def _sentence(dataset: dict[str, Any]) -> str:
    low, high = dataset["smallest"], dataset["largest"]
    sizes = f"{low} nodes" if low == high else f"{low} to {high} nodes"
    counts = " / ".join(map(str, dataset["graphs_by_class"].values()))
    split = f" ({counts})" if counts else ""
    return f"{dataset['name']}: {dataset['graphs']} graphs of {sizes}, {dataset['classes']} classes{split}"


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.") or "graphs"


def _write(path: Path, content: dict[str, Any]) -> str:
    from isonn.files import atomic_file

    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return text
