"""`isonn predict`: predict graphs with a saved model, from one SMILES to files larger than memory."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isonn.cli import options as opt
from isonn.cli.options import RUNNING, argument, flag, new_path, option

if TYPE_CHECKING:
    from isonn.screening import Screened
    from isonn.screening.sources import Piece

ADDED, BEST = "Columns to add", "The best rows"


def predict(
    model: opt.Model,
    data: Annotated[
        list[str], argument("DATA", "Files, folders of files, known datasets (see `isonn data list`), or SMILES.")
    ],
    out: Annotated[
        Path | None,
        option(
            None,
            "File to write: .csv, .tsv or .json, also with .gz, or .parquet; must not exist.",
            default="standard output",
        ),
    ] = None,
    smiles: opt.SmilesColumn = None,
    target: opt.TrueColumns = None,
    censored: opt.Censored = None,
    values: opt.Values = None,
    changes: opt.Changes = None,
    select: opt.Select = None,
    runs: opt.Runs = None,
    missing: opt.Missing = None,
    reasons: Annotated[
        int | None, option(ADDED, "Add the strongest reasons of each prediction, at most this many.")
    ] = None,
    interval: Annotated[
        bool,
        flag(
            ADDED,
            "Add the interval of each number, or the set of classes, that holds the truth with --coverage. Each class "
            "is covered by itself, so the set of a rare label may leave out the predicted value.",
            "--interval",
        ),
    ] = False,
    coverage: Annotated[float, option(ADDED, "Probability with which intervals and sets hold the truth.")] = 0.9,
    domain: Annotated[
        bool,
        flag(ADDED, "Add whether the model knows such graphs (in, borderline, out), and what is new.", "--domain"),
    ] = False,
    neighbours: Annotated[
        bool,
        flag(ADDED, "Add the nearest training graphs and true values, if the model keeps them.", "--neighbours"),
    ] = False,
    dossier: Annotated[
        Path | None,
        new_path(None, "Folder for a draft dossier of each row that is written (QPRF), a page per graph"),
    ] = None,
    top: Annotated[
        int | None,
        option(BEST, "Write only the best rows, by the class or target of --label, with their reasons."),
    ] = None,
    label: opt.Label = None,
    lowest: Annotated[bool, flag(BEST, "The smallest values are the best.", "--lowest")] = False,
    jobs: opt.Jobs = None,
    cluster: opt.Scheduler = None,
    resume: Annotated[bool, flag(RUNNING, "Continue a run that was stopped; its rows are kept.", "--resume")] = False,
    as_json: Annotated[bool, flag(None, "Print JSON instead of CSV, where there is no --out.", "--json")] = False,
    quiet: opt.Quiet = False,
) -> None:
    """Predict graphs: keep the columns of DATA and add the class with all probabilities, or the value.

    Rows without a valid molecule are kept, with the error in the column "problem". Where DATA has true values, metrics
    are printed. --top ranks by the positive one of two classes (active, yes, 1), or by the only target, unless --label
    names another.
    """
    from isonn.cli.reading import reading
    from isonn.cli.running import processes
    from isonn.conformal import check_coverage
    from isonn.errors import InputError
    from isonn.experiments.cluster import calls_on_cluster
    from isonn.screening import Best, screen
    from isonn.screening.partial import partial_folder

    if resume and out is None:
        raise InputError("--resume needs --out, the file that was being written; give it")
    if out is not None and not _is_new(out, resume):
        if dossier is not None:
            raise InputError(f"{out} is complete, and dossiers are written with its rows; choose another --out")
        return
    if cluster is not None and jobs is not None:
        raise InputError("--cluster runs on the workers of the cluster; leave out --jobs")
    trust = {"interval": interval, "domain": domain, "neighbours": neighbours}
    added: dict[str, Any] = {name: check_coverage(coverage) for name, wanted in trust.items() if wanted}
    if reasons is not None or top is not None:
        added = {"reasons": [3 if reasons is None else reasons, label], **added}
    options = reading(smiles, target, censored=censored, values=values, select=select, runs=runs, missing=missing)
    with ExitStack() as stack:
        path = out
        if path is None:  # print nothing yet, because the last line of the data may be unusable
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            path = Path(folder) / ("predictions.json" if as_json else "predictions.csv")
        run: Any = processes(jobs) if cluster is None else stack.enter_context(calls_on_cluster(cluster))
        try:
            best = None if top is None else Best(top, label, lowest)
            pages = None if dossier is None else partial(_write_dossiers, model, dossier, label)
            done = screen(
                model, data, path, options=options, extras=added, best=best, changes=changes, pages=pages, jobs=run
            )
        except KeyboardInterrupt:
            if out is not None and partial_folder(out).exists():
                kept = f"Stopped: finished rows are kept in {partial_folder(out)}"
                typer.echo(f"{kept}; the same command with --resume continues.", err=True)
            raise typer.Exit(130) from None
        if out is None:
            with path.open(encoding="utf-8", newline="") as file:
                shutil.copyfileobj(file, sys.stdout)
    _tell(done, out, top)


def _write_dossiers(model: Path, folder: Path, label: str | None, pieces: Iterator[Piece]) -> None:
    """Write the dossier of each row that is a graph, a page named by its number."""
    import isonn
    from isonn.files import atomic_directory
    from isonn.report.prediction_dossier import facts_of, prediction_dossier
    from isonn.screening.sources import target_names

    clf = isonn.load_model(model)
    endpoint, about = ", ".join(target_names(clf)), None if clf.target_.exclusive else label
    count = 0
    with atomic_directory(folder) as pages:
        for piece in pieces:
            graphs, problems = piece.parse(clf.standardize_)
            if graphs is None:
                continue
            bad = {problem.row for problem in problems}
            numbers = [number for place, number in enumerate(piece.numbers) if place not in bad]
            rules, standard = _rules(graphs)
            for i, number in enumerate(numbers):
                facts = facts_of(graphs[i].row or {}, None if standard is None else standard[i])
                warned = None if rules is None else rules[i]
                explanation = clf.explain(graphs[i : i + 1], about)
                page = prediction_dossier(explanation, str(number), facts, warned, endpoint)
                page.to_html(pages / f"{number}.html")
            count += len(numbers)
    print(f"{count} dossiers in {folder}: drafts for an expert, not regulatory statements", file=sys.stderr)


def _rules(graphs: Any) -> tuple[list[list[str]] | None, list[str] | None]:
    """Return the toxicophores of each molecule and its standardised SMILES; None for other graphs."""
    if graphs.kind != "molecules":
        return None, None
    from isonn.molecules import canonical_smiles, to_mol
    from isonn.molecules.toxicophores import toxicophores_in

    return [toxicophores_in(to_mol(graph)) for graph in graphs], canonical_smiles(graphs).tolist()


def _is_new(out: Path, resume: bool) -> bool:
    """Return whether there is something left to do; raise `InputError` if files are in the way."""
    from isonn.errors import InputError
    from isonn.files import check_new
    from isonn.screening.partial import partial_folder

    kept = partial_folder(out)
    if resume and out.exists():
        shutil.rmtree(kept, ignore_errors=True)  # of a run that was killed at its very end
        print(f"{out} is complete", file=sys.stderr)
        return False
    check_new(out, "another --out")
    if kept.exists() and not resume:
        raise InputError(f"{kept} holds the rows of a run that was stopped; --resume continues it, or remove it first")
    return True


def _tell(done: Screened, out: Path | None, top: int | None) -> None:
    """Print what was done on standard error."""
    from isonn.graphs.io.registry import listed
    from isonn.graphs.io.target_column import unit_of
    from isonn.scores import mean_score, scores_text

    def say(text: str) -> None:
        print(text, file=sys.stderr)

    if out is not None:
        rows = (
            f"{done.rows:,} predictions"
            if top is None
            else f"the best {min(top, done.rows - done.bad):,} of {done.rows:,}"
        )
        say(f"{rows} in {out}")
    if done.changes:
        from isonn.molecules.standardizer import changes_told

        say(f"isonn: {changes_told(done.changes, done.rows - done.bad)}")
    if done.bad:
        where = "see the column problem" if top is None else "they are left out"
        say(f"isonn: {done.bad} of {done.rows} rows have a problem; {where}: {listed(done.problems, done.bad)}")
    if done.seen:
        say(
            f"isonn: {done.seen} of {done.rows} graphs are training graphs of this model; "
            f"their predictions do not show how good the model is"
        )
    if done.unknown:
        shown = ", ".join(list(done.unknown)[:3]) + (", ..." if len(done.unknown) > 3 else "")
        count = sum(done.unknown.values())
        what = "1 true value is a class" if count == 1 else f"{count} true values are classes"
        say(f"isonn: {what} that the model does not know ({shown:.100}), and not in these scores")
    for name, count, scores in done.scores:
        say(f"{scores_text(scores, unit_of(name))}{f' for {name}' if name else ''} ({count} values)")
    if len(done.scores) > 1:
        means = mean_score([scores for _, _, scores in done.scores])
        comparable = {name: value for name, value in means.items() if name not in ("mae", "rmse")}  # errors have units
        say(f"{scores_text(comparable)}, mean of {len(done.scores)} columns")
