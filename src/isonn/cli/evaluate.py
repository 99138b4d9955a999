"""``isonn evaluate``: methods judged on one dataset, every result kept."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isonn.cli.options import (
    AsJson,
    Data,
    Jobs,
    Scheduler,
    SmilesColumn,
    TargetColumns,
    check_either,
    dataset_sentence,
    file_name,
    over_seeds,
    parse_layers,
    print_rows,
    processes,
    reading,
    run_missing,
    write_json,
    write_text,
)

if TYPE_CHECKING:  # what runs is imported when it runs: `isonn --help` waits for nothing
    from isonn.experiments.tables import Row
    from isonn.graphs.graph import GraphSet

Settings = dict[str, Any]


def evaluate(
    data: Data,
    methods: Annotated[
        str, typer.Option(help="Methods, separated by commas, or all.")
    ] = "isonn,isonn-subgraph,isonn-subgraph-frozen,majority,size,degrees",
    protocol: Annotated[
        str,
        typer.Option(
            help="paper: balanced 3-fold; fair: 10-fold over all graphs, twins together, settings chosen inside; "
            "released: the folds released with the data."
        ),
    ] = "paper",
    seeds: Annotated[int, typer.Option(help="How many seeds; all are reported.")] = 10,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the results; a run goes on where it stopped.", show_default="runs/DATA-PROTOCOL"),
    ] = None,
    k: Annotated[int | None, typer.Option(help="Nodes per template.", show_default="the paper's")] = None,
    c: Annotated[int | None, typer.Option(help="Templates.", show_default="the paper's")] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs of training.", show_default="the paper's")] = None,
    matching: Annotated[str | None, typer.Option(help="exact, fast or assigned.", show_default="exact")] = None,
    layers: Annotated[str | None, typer.Option(help="Deep IsoNN instead of --k and --c, such as 2x3,3x4.")] = None,
    normalize: Annotated[
        str | None, typer.Option(help="positions, templates or relative.", show_default="positions")
    ] = None,
    smiles: SmilesColumn = None,
    target: TargetColumns = None,
    as_json: AsJson = False,
) -> None:
    """Train and test methods on the folds of a dataset and print how they compare.

    Finished jobs are kept: the same command again runs what is missing, more seeds or methods what is new.
    """
    from isonn.experiments.jobs import plan
    from isonn.experiments.methods import resolve_methods
    from isonn.experiments.protocols import find_protocol
    from isonn.experiments.spec import load_spec
    from isonn.experiments.store import Store
    from isonn.experiments.study import about, check_seeds, stored_rows, table_settings
    from isonn.experiments.tables import as_csv, failures, legend, markdown, remarks
    from isonn.graphs import load

    names = resolve_methods(methods)
    rules = find_protocol(protocol).about
    spec = load_spec("table")
    check_either(layers, k, c)
    given = {"k": k, "c": c, "epochs": epochs, "matching": matching, "normalize": normalize}
    changes = _changes(names, {**given, "layers": parse_layers(layers)})
    n_jobs = processes(jobs)
    graphs = load(data, **reading(smiles, target))
    settings, candidates = {}, {}
    for name in names:
        fixed = changes if _is_isonn(name) else {}
        found = table_settings(spec, graphs.name, name, protocol, fixed)
        settings[name], candidates[name] = _without_sizes(*found) if "layers" in fixed else found
        _check_kept(name, settings[name], fixed)
    left_out = _left_out(names, settings, candidates, graphs)
    planned = plan(graphs, [name for name in names if name not in left_out], settings, protocol, seeds, candidates)
    store = Store(out if out is not None else Path("runs") / f"{file_name(graphs.name)}-{protocol}")

    dataset = about(graphs)
    if not as_json:
        typer.echo(dataset_sentence(dataset))
    run_missing(graphs.name, planned, {graphs.name: graphs}, store, n_jobs, scheduler)
    rows = stored_rows(planned, store, spec)
    summary = {
        "dataset": dataset,
        "protocol": {"name": protocol, "about": rules},
        "seeds": seeds,
        "rows": [row.as_dict() for row in rows],
        "left_out": left_out,
    }
    written = write_json(store.folder / "results.json", summary)
    write_text(store.folder / "results.csv", as_csv([("table", rows)]))
    few = check_seeds(protocol, seeds)
    notes = [
        *failures(rows),
        *(f"{name} is left out: {reason}." for name, reason in left_out.items()),
        f"In percent, {over_seeds(seeds)}. Protocol {protocol}: {rules}.",
        *([f"A quick look only: {few}."] if few else []),
        *legend(rows),
        *remarks(rows),
    ]
    write_text(store.folder / "results.md", f"# {graphs.name}\n\n{markdown(rows)}\n" + "\n\n".join(notes) + "\n")
    if as_json:
        sys.stdout.write(written)
    else:
        _print(rows, notes, store.folder)
    if any(row.finished < row.jobs for row in rows):
        raise typer.Exit(1)


def _print(rows: list[Row], notes: list[str], folder: Path) -> None:
    print_rows(rows)
    for sentence in notes:
        typer.echo(sentence)
    typer.echo(f"Results: {folder / 'results.json'}, .md, .csv, and one file a job in {folder / 'jobs'}.")


def _left_out(
    methods: tuple[str, ...],
    settings: dict[str, Settings],
    candidates: dict[str, tuple[Settings, ...]],
    graphs: GraphSet,
) -> dict[str, str]:
    """Methods that cannot be used on these graphs, and why; settings that mean nothing are refused."""
    from isonn.errors import InputError
    from isonn.experiments.study import why_not

    reasons = {}
    for name in methods:
        for candidate in candidates[name] or ({},):
            reason = why_not(name, {**settings[name], **candidate}, graphs)
            if reason is not None:
                reasons[name] = reason
    if len(reasons) == len(methods):
        raise InputError("; ".join(reasons.values()))
    return reasons


def _check_kept(method: str, settings: Settings, given: Settings) -> None:
    """Refuse options that the method's name contradicts."""
    from isonn.errors import InputError

    for option in ("matching", "normalize"):
        if option in given and settings.get(option) != given[option]:
            raise InputError(
                f"--{option} {given[option]} contradicts method {method}, which has {option} {settings.get(option)}; "
                f"leave one of them out"
            )


def _without_sizes(settings: Settings, candidates: tuple[Settings, ...]) -> tuple[Settings, tuple[Settings, ...]]:
    """Layers replace k and c, those of the spec included; then there is nothing to choose."""
    whole = {**settings, **(candidates[0] if candidates else {})}
    return {key: value for key, value in whole.items() if key not in ("k", "c")}, ()


def _is_isonn(method: str) -> bool:
    from isonn.experiments.methods import METHODS

    return METHODS[method].estimator == "IsoNNClassifier"


def _changes(methods: tuple[str, ...], given: Settings) -> Settings:
    """Settings from the command line; they are for the methods that are the paper's IsoNN, on windows."""
    from isonn.errors import InputError

    values = {name: value for name, value in given.items() if value is not None}
    if values and not any(map(_is_isonn, methods)):
        raise InputError(
            f"--{next(iter(values))} is a setting of isonn, which is not among the methods {', '.join(methods)}; "
            f"add it or leave the option out"
        )
    return values
