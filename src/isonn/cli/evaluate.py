"""``isonn evaluate``: compare methods on one dataset."""

from __future__ import annotations

import sys
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
    from isonn.experiments.spec import Spec

Parameters = dict[str, Any]

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
        option(FOLDS, "random, scaffold, or a column of DATA whose values are the folds (or train and test)."),
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
    from isonn.experiments import study
    from isonn.experiments.jobs import permuted, plan
    from isonn.experiments.methods import default_methods, resolve_methods, takes_confounds
    from isonn.experiments.protocols import about_run, find_protocol
    from isonn.experiments.source import Source
    from isonn.experiments.spec import load_spec
    from isonn.experiments.store import Store
    from isonn.experiments.tables import failures, legend, markdown, remarks
    from isonn.params import check_count

    spec = load_spec("table")
    if permutations:
        check_count("permutations", permutations)
    fixed = opt.given(settings)
    names = None if methods is None else resolve_methods(methods)
    chosen = _protocol(protocol, split, group, test)
    n_jobs = running.processes(jobs)
    molecules = {"standardize": standardize, "censored": censored, "values": values, "skip_bad": skip_bad}
    connectomes = {"select": select, "atlas": atlas, "runs": runs, "missing": missing, "join_case": join_case}
    options = reading(smiles, target, **molecules, **connectomes)
    source = Source(data, options, test, numbers, opt.split_names(confounds))
    graphs = source.load()
    check_target(graphs, data)
    list_changes(changes, [graphs])
    names = default_methods(graphs) if names is None else names
    if fixed and not any(map(_is_isonn, names)):
        raise InputError(
            f"{next(iter(fixed))} is a setting of isonn, which is not among the methods {', '.join(names)}; "
            f"add it or leave the option out"
        )
    blind = [name for name in names if name != "majority" and not takes_confounds(name)]
    for what, asked in (("--confounds", confounds), ("--harmonize", harmonize)):
        if asked and not any(map(takes_confounds, names)):
            raise InputError(f"{what} has no effect on these methods; add isonn-aligned or edges, or leave it out")
    chosen = chosen or ("random" if graphs.kind == "molecules" else "fair")
    if group is None and chosen in ("fair", "random") and graphs.kind == "connectomes" and "subject" in graphs.table:
        chosen = f"{chosen}:subject"  # sessions of a subject stay in one fold
    parameters, candidates = {}, {}
    for name in names:
        if _is_isonn(name):
            parameters[name], candidates[name] = _isonn_settings(spec, graphs.name, name, chosen, fixed)
        else:
            parameters[name], candidates[name] = study.table_settings(spec, graphs.name, name, chosen)
        if harmonize is not None and takes_confounds(name):
            parameters[name] = {**parameters[name], "harmonize": harmonize}
    reasons = {name: study.unsupported_reason(name, parameters[name], graphs, candidates[name]) for name in names}
    left_out = {name: reason for name, reason in reasons.items() if reason is not None}
    if len(left_out) == len(names):
        raise InputError("; ".join(left_out.values()))
    planned = plan(graphs, [name for name in names if name not in left_out], parameters, chosen, seeds, candidates)
    rules = about_run(find_protocol(chosen).about, 1 + max((job.fold for job in planned), default=0))
    store = Store(
        out if out is not None else Path("runs") / f"{running.file_name(graphs.name)}-{running.file_name(chosen)}"
    )

    dataset = study.about(graphs)
    if not as_json:
        typer.echo(running.dataset_sentence(dataset))
    run = partial(running.run_missing, datasets={graphs.name: graphs}, store=store, n_jobs=n_jobs, scheduler=scheduler)
    run(graphs.name, planned)
    slow: list[str] = []
    if permutations:
        again = permuted(planned, permutations)
        slow = _slow(study.stored_rows(planned, store, spec), again, n_jobs)
        planned += [job for job in again if job.method not in slow]
        run(f"{graphs.name}, permuted", planned)
    rows = study.stored_rows(planned, store, spec)
    summary = {
        "dataset": dataset,
        "source": source.as_json(store.folder),
        "protocol": {"name": chosen, "about": rules},
        "seeds": seeds,
        "rows": [row.as_dict() for row in rows],
        "left_out": left_out,
    }
    few = study.check_seeds(chosen, seeds)
    notes = [
        *failures(rows),
        *(f"{name} is left out: {reason}." for name, reason in left_out.items()),
        *([f"No permutations for {', '.join(slow)}: too slow."] if slow else []),
        f"{_units(rows)}, {running.over_seeds(seeds)}. Protocol {chosen}: {rules}.",
        *([f"A quick look only: {few}."] if few else []),
        *([f"Confounds are not regressed out by {', '.join(blind)}."] if blind and confounds else []),
        *([f"Sites are not harmonised by {', '.join(blind)}."] if blind and harmonize else []),
    ]
    more = remarks(rows)
    text = "\n\n".join([*notes, *legend(rows), *more]).rstrip()
    page = f"# {graphs.name}\n\n{markdown(rows)}\n{text}\n"
    written = running.write_results(store.folder, summary, page)
    if as_json:
        sys.stdout.write(written)
    else:
        running.print_rows(rows)
        for sentence in [*notes, *legend(rows, running.terminal_width()), *more]:
            typer.echo(sentence)
        folder = store.folder
        typer.echo(f"Results: {folder / 'results.json'}, .md, and one file per job in {folder / 'jobs'}.")
    if any(row.finished < row.jobs for row in rows):
        raise typer.Exit(1)


def _protocol(protocol: str | None, split: str | None, group: str | None, test: str | None) -> str | None:
    """Return the protocol given by the options, or None to choose by the data."""
    given = {"--protocol": protocol, "--split": split, "--test": test}
    asked = [name for name, value in given.items() if value is not None]
    if len(asked) > 1:
        raise InputError(f"{asked[0]} and {asked[1]} both set the folds; give one of them")
    if test is not None or (split is not None and split not in ("random", "scaffold")):
        if group is not None:
            raise InputError("--group has no effect on given folds; leave it out")
        from isonn.experiments.source import TEST_COLUMN

        return f"column:{TEST_COLUMN if split is None else split}"
    chosen = protocol if protocol is not None else split
    if group is None:
        return chosen
    if chosen in ("paper", "released", "scaffold"):
        raise InputError(f"--group cannot change the folds of {chosen}; use fair or random")
    return f"{chosen or 'fair'}:{group}"


def _slow(rows: list[Row], permutations: list[Job], n_jobs: int) -> list[str]:
    """Return the methods whose permutations would take too long."""
    return [
        row.method
        for row in rows
        if (row.fit_seconds or 0.0) * sum(job.method == row.method for job in permutations) / n_jobs
        > PERMUTATION_SECONDS
    ]


def _units(rows: list[Row]) -> str:
    from isonn.scores import METRICS

    kinds = {METRICS[name].percent for row in rows for name in row.metrics}
    return (
        "In percent" if kinds == {True} else "Accuracy and F1 in percent" if True in kinds else "In units of the target"
    )


def _is_isonn(method: str) -> bool:
    from isonn.experiments.methods import METHODS

    return METHODS[method].estimator == "IsoNNClassifier"


def _isonn_settings(
    spec: Spec, dataset: str, method: str, protocol: str, given: Parameters
) -> tuple[Parameters, tuple[Parameters, ...]]:
    """Return the settings of the paper's model and the candidates to choose from, with those that --set gives."""
    from isonn.experiments.study import table_settings

    settings, candidates = table_settings(spec, dataset, method, protocol, given)
    if "layers" in given:  # they replace k and c, and with them the candidates
        whole = {**settings, **(candidates[0] if candidates else {})}
        settings, candidates = {key: value for key, value in whole.items() if key not in ("k", "c")}, ()
    for name in ("matching", "normalize"):
        if name in given and settings.get(name) != given[name]:
            raise InputError(
                f"{name} {given[name]} contradicts method {method}, which has {name} {settings.get(name)}; "
                f"leave one of them out"
            )
    return settings, candidates
