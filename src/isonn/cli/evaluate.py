"""``isonn evaluate``: compare methods on one dataset."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isonn.cli import options as opt
from isonn.cli import running
from isonn.cli.options import FOLDS, METHODS, option
from isonn.cli.reading import check_target, list_changes, reading
from isonn.errors import InputError

if TYPE_CHECKING:  # imported when needed, so that `isonn --help` is fast
    from isonn.experiments.jobs import Job
    from isonn.experiments.rows import Row
    from isonn.experiments.source import Source
    from isonn.experiments.store import Store
    from isonn.graphs.graph import GraphSet

#: Seconds that the permutations of one method may take, estimated from its fits.
PERMUTATION_SECONDS = 600


def evaluate(
    data: opt.Data,
    methods: Annotated[
        str | None, option(METHODS, "Methods, separated by commas, or all.", default="by the kind of graphs")
    ] = None,
    protocol: Annotated[
        str | None,
        option(
            FOLDS,
            "fair: 10 folds, twins together, settings chosen within folds; random: 5 folds, duplicates together; "
            "scaffold; paper: balanced, 3 folds; released: the folds released with the data.",
            default="fair; random for molecules",
        ),
    ] = None,
    split: Annotated[
        str | None,
        option(FOLDS, "A column of DATA whose values are the folds (or train and test)."),
    ] = None,
    group: opt.Group = None,
    test: Annotated[str | None, option(FOLDS, "Another dataset to test on; DATA is the training set.")] = None,
    permutations: Annotated[
        int, option(FOLDS, "Permutations of the target for a p-value, for fast methods; try 200.")
    ] = 0,
    seeds: Annotated[int, option(FOLDS, "Number of seeds; results cover all of them.")] = 1,
    jobs: opt.Jobs = None,
    scheduler: opt.Scheduler = None,
    out: opt.Results = None,
    settings: opt.Settings = None,
    smiles: opt.SmilesColumn = None,
    target: opt.TargetColumns = None,
    numbers: opt.Numbers = None,
    standardize: opt.Standardize = None,
    changes: opt.Changes = None,
    censored: opt.Censored = None,
    values: opt.Values = None,
    skip_bad: opt.SkipBad = False,
    confounds: opt.Confounds = None,
    harmonize: opt.Harmonize = None,
    select: opt.Select = None,
    atlas: opt.Atlas = None,
    runs: opt.Runs = None,
    missing: opt.Missing = None,
    join_case: opt.JoinCase = False,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Train and test methods on the folds of a dataset and print a table.

    Finished jobs are kept. Running the command again, also with more seeds or methods, runs only missing jobs.
    """
    from isonn.experiments.methods import default_methods, resolve_methods
    from isonn.experiments.source import Source
    from isonn.experiments.store import Store
    from isonn.experiments.study import about
    from isonn.params import check_count

    if permutations:
        check_count("permutations", permutations)
    n_jobs, given = running.processes(jobs), opt.given(settings)
    names = None if methods is None else resolve_methods(methods)
    molecules = {"standardize": standardize, "censored": censored, "values": values, "skip_bad": skip_bad}
    connectomes = {"select": select, "atlas": atlas, "runs": runs, "missing": missing, "join_case": join_case}
    options = reading(smiles, target, **molecules, **connectomes)
    source = Source(data, options, test, numbers, opt.split_names(confounds))
    graphs = source.load()
    check_target(graphs, data)
    list_changes(changes, [graphs])

    names = default_methods(graphs) if names is None else names
    ignored = _ignored_confounds(names, confounds, harmonize)
    chosen = _protocol(graphs, protocol, split, group, test)
    asked = _plan(graphs, names, chosen, seeds, given if harmonize is None else {**given, "harmonize": harmonize})
    folder = f"{running.file_name(graphs.name)}-{running.file_name(chosen)}"
    store = Store(out if out is not None else Path("runs") / folder)

    if not as_json:
        typer.echo(running.dataset_sentence(about(graphs)))
    run = partial(running.run_missing, datasets={graphs.name: graphs}, store=store, n_jobs=n_jobs, scheduler=scheduler)
    run(graphs.name, asked.jobs)
    permuted, slow = _permutations(asked, permutations, store, n_jobs)
    if permuted:
        run(f"{graphs.name}, permuted", [*asked.jobs, *permuted])

    rows = _rows([*asked.jobs, *permuted], store)
    notes = [*_notes(asked, rows, slow), *ignored]
    written = running.write_results(store.folder, _summary(asked, rows, source, store), _page(asked, rows, notes))
    if as_json:
        sys.stdout.write(written)
    else:
        _print(rows, notes, store)
    if any(row.finished < row.jobs for row in rows):
        raise typer.Exit(1)


def _ignored_confounds(names: Sequence[str], confounds: str | None, harmonize: str | None) -> list[str]:
    """Return notes on the methods that ignore confounds or sites; raise `InputError` if all do."""
    from isonn.experiments.methods import takes_confounds

    takes = {name: takes_confounds(name) for name in names}
    blind = ", ".join(name for name in names if name != "majority" and not takes[name])
    notes = []
    for option_name, value, sentence in (
        ("--confounds", confounds, "Confounds are not regressed out by"),
        ("--harmonize", harmonize, "Sites are not harmonised by"),
    ):
        if value and not any(takes.values()):
            raise InputError(
                f"{option_name} has no effect on these methods; add isonn-aligned or edges, or leave it out"
            )
        if value and blind:
            notes.append(f"{sentence} {blind}.")
    return notes


def _protocol(graphs: GraphSet, protocol: str | None, split: str | None, group: str | None, test: str | None) -> str:
    """Return the protocol given by the options, or that for the kind of graphs."""
    from isonn.experiments.protocols import PROTOCOLS
    from isonn.experiments.source import TEST_COLUMN

    given = {"--protocol": protocol, "--split": split, "--test": test}
    asked = [name for name, value in given.items() if value is not None]
    if len(asked) > 1:
        raise InputError(f"{asked[0]} and {asked[1]} both set the folds; give one of them")
    if test is not None or split is not None:
        if group is not None:
            raise InputError("--group has no effect on given folds; leave it out")
        if split in PROTOCOLS and split not in graphs.table:
            raise InputError(
                f"--split names a column, and {graphs.name} has no column {split!r}; use --protocol {split}"
            )
        return f"column:{TEST_COLUMN if split is None else split}"
    if group is not None:
        if protocol in ("paper", "released", "scaffold"):
            raise InputError(f"--group cannot change the folds of {protocol}; use fair or random")
        return f"{protocol or 'fair'}:{group}"
    chosen = protocol or ("random" if graphs.kind == "molecules" else "fair")
    if chosen in ("fair", "random") and graphs.kind == "connectomes" and "subject" in graphs.table:
        return f"{chosen}:subject"  # sessions of a subject stay in one fold
    return chosen


@dataclass(frozen=True)
class _Asked:
    """What was asked for.

    Attributes:
        rules: a sentence about the protocol, with the number of folds that were made.
        jobs: one per method, fold and seed.
        left_out: methods that cannot be used on the graphs, with the reason.
    """

    graphs: GraphSet
    protocol: str
    rules: str
    seeds: int
    jobs: Sequence[Job]
    left_out: Mapping[str, str]


def _plan(graphs: GraphSet, names: Sequence[str], protocol: str, seeds: int, given: Mapping[str, Any]) -> _Asked:
    """Plan the jobs of the methods that can be used; raise `InputError` if none can."""
    from isonn.experiments.jobs import plan
    from isonn.experiments.protocols import about_run, find_protocol
    from isonn.experiments.spec import load_spec
    from isonn.experiments.study import given_settings, unsupported_reason

    settings, candidates, left_out = {}, {}, {}
    for name, (common, choices) in given_settings(load_spec("table"), graphs, names, protocol, given).items():
        reason = unsupported_reason(name, common, graphs, choices)
        if reason is None:
            settings[name], candidates[name] = common, choices
        else:
            left_out[name] = reason
    if not settings:
        raise InputError("; ".join(left_out.values()))
    jobs = plan(graphs, list(settings), settings, protocol, seeds, candidates)
    rules = about_run(find_protocol(protocol).about, 1 + max((job.fold for job in jobs), default=0))
    return _Asked(graphs, protocol, rules, seeds, jobs, left_out)


def _rows(jobs: Sequence[Job], store: Store) -> list[Row]:
    from isonn.experiments.spec import load_spec
    from isonn.experiments.study import stored_rows

    return stored_rows(jobs, store, load_spec("table"))


def _permutations(asked: _Asked, number: int, store: Store, n_jobs: int) -> tuple[list[Job], list[str]]:
    """Return the jobs with permuted targets, and the methods for which they would take too long."""
    from isonn.experiments.jobs import permuted

    if not number:
        return [], []
    every = permuted(asked.jobs, number)
    slow = [
        row.method
        for row in _rows(asked.jobs, store)
        if (row.fit_seconds or 0.0) * sum(job.method == row.method for job in every) / n_jobs > PERMUTATION_SECONDS
    ]
    return [job for job in every if job.method not in slow], slow


def _summary(asked: _Asked, rows: Sequence[Row], source: Source, store: Store) -> dict[str, Any]:
    """Return the content of results.json."""
    from isonn.experiments.study import about

    return {
        "dataset": about(asked.graphs),
        "source": source.as_json(store.folder),
        "protocol": {"name": asked.protocol, "about": asked.rules},
        "seeds": asked.seeds,
        "rows": [row.as_dict() for row in rows],
        "left_out": dict(asked.left_out),
    }


def _notes(asked: _Asked, rows: Sequence[Row], slow: Sequence[str]) -> list[str]:
    """Return the sentences below the table on what was run."""
    from isonn.experiments.study import check_seeds
    from isonn.experiments.tables import failures

    few = check_seeds(asked.protocol, asked.seeds)
    return [
        *failures(rows),
        *(f"{name} is left out: {reason}." for name, reason in asked.left_out.items()),
        *([f"No permutations for {', '.join(slow)}: too slow."] if slow else []),
        f"{_units(rows)}, {running.over_seeds(asked.seeds)}. Protocol {asked.protocol}: {asked.rules}.",
        *([f"A quick look only: {few}."] if few else []),
    ]


def _page(asked: _Asked, rows: Sequence[Row], notes: Sequence[str]) -> str:
    """Return the content of results.md."""
    from isonn.experiments.tables import legend, markdown, remarks

    text = "\n\n".join([*notes, *legend(rows), *remarks(rows)])
    return f"# {asked.graphs.name}\n\n{markdown(rows)}\n{text}\n"


def _print(rows: Sequence[Row], notes: Sequence[str], store: Store) -> None:
    from isonn.experiments.tables import legend, remarks

    running.print_rows(rows)
    for sentence in [*notes, *legend(rows, running.terminal_width()), *remarks(rows)]:
        typer.echo(sentence)
    folder = store.folder
    typer.echo(f"Results: {folder / 'results.json'}, .md, and one file per job in {folder / 'jobs'}.")


def _units(rows: Sequence[Row]) -> str:
    from isonn.scores import METRICS

    shown = dict.fromkeys(METRICS[name] for row in rows for name in row.metrics)
    percents = [metric.heading for metric in shown if metric.percent]
    if not percents:
        return "In units of the target"
    named = " and ".join(filter(None, [", ".join(percents[:-1]), percents[-1]]))
    return "In percent" if len(percents) == len(shown) else f"Columns {named} in percent"
