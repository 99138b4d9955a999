"""`isonn fit`: train a model and save it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isonn.cli import options as opt
from isonn.cli.options import MODEL, RUNNING, flag, option
from isonn.cli.reading import check_target, is_large, list_changes, reader_at, reading, takes_option
from isonn.cli.summary import model_facts, sentences
from isonn.errors import InputError

if TYPE_CHECKING:
    from isonn.graphs.graph import GraphSet

#: Methods that can be saved, with the prefix of their estimators' names.
_ESTIMATORS = {"isonn-subgraph": "Subgraph", "isonn": "IsoNN", "isonn-aligned": "Aligned"}
#: Parameters of estimators that have an option of their own; others are given with --set.
_OPTIONS = ("max_nodes", "n_templates", "head", "keep_examples", "class_weight", "harmonize")


def fit(
    data: opt.Data,
    out: Annotated[Path, option(None, "Folder to write the model to; must not exist.", default=False)],
    smiles: opt.SmilesColumn = None,
    target: opt.TargetColumns = None,
    numbers: opt.Numbers = None,
    standardize: opt.Standardize = None,
    changes: opt.Changes = None,
    censored: opt.Censored = None,
    values: opt.Values = None,
    skip_bad: opt.SkipBad = False,
    method: Annotated[
        str | None,
        option(
            MODEL,
            "isonn-subgraph: subgraphs, independent of node order; isonn: the paper's windows of the adjacency matrix; "
            "isonn-aligned: graphs on the same nodes, such as connectomes.",
            default="isonn-aligned for connectomes, else isonn-subgraph",
        ),
    ] = None,
    seed: Annotated[int, option(MODEL, "The same seed gives the same model.")] = 0,
    max_nodes: Annotated[
        int | None, option(MODEL, "Nodes of the largest subgraphs, 1 to 6.", default="6, fewer for dense graphs")
    ] = None,
    templates: Annotated[int | None, option(MODEL, "Keep a short list of this many subgraphs.", default="all")] = None,
    head: Annotated[str | None, option(MODEL, "auto (sums and logic), linear or trees.")] = None,
    class_weight: Annotated[
        str | None, option(MODEL, "balanced: rare classes count as much as frequent ones.", default="none")
    ] = None,
    keep_examples: Annotated[
        str | None,
        option(
            MODEL,
            "Store ids or smiles of training graphs with their true values in the model, for `predict --neighbours`. "
            "Whoever gets the model can read them.",
            default="nothing",
        ),
    ] = None,
    settings: opt.Settings = None,
    resume: Annotated[bool, flag(MODEL, "Continue a stopped run of the paper's model.", "--resume")] = False,
    bank: Annotated[
        Path | None,
        option(
            RUNNING,
            "Folder for counted subgraphs, from which the same command continues, and which the workers of --cluster "
            "share; default for large DATA: MODEL.bank, removed at the end.",
        ),
    ] = None,
    jobs: opt.Jobs = None,
    scheduler: opt.Scheduler = None,
    confounds: opt.Confounds = None,
    harmonize: opt.Harmonize = None,
    group: opt.Group = None,
    select: opt.Select = None,
    atlas: opt.Atlas = None,
    runs: opt.Runs = None,
    missing: opt.Missing = None,
    join_case: opt.JoinCase = False,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Train a model on DATA and save it as a folder.

    A stopped fit of the paper's model continues with --resume; one of data too large for memory with the same command.
    """
    import isonn
    from isonn.cli.running import processes
    from isonn.experiments.cluster import calls_on_cluster
    from isonn.experiments.source import predicts_numbers
    from isonn.files import remove_strays

    files = _Files(out, bank, resume)
    if keep_examples not in (None, "ids", "smiles"):
        raise InputError(f"--keep-examples {keep_examples} is unknown; use ids or smiles")
    parameters = opt.given(
        settings,
        max_nodes=max_nodes,
        n_templates=templates,
        head=head,
        class_weight=class_weight,
        keep_examples=True if keep_examples == "ids" else keep_examples,
        harmonize=harmonize,
        random_state=seed,
        verbose=int(not as_json),
    )
    molecules = {"standardize": standardize, "censored": censored, "values": values, "skip_bad": skip_bad}
    connectomes = {"select": select, "atlas": atlas, "runs": runs, "missing": missing, "join_case": join_case}
    options = reading(smiles, target, **molecules, **connectomes)
    if numbers is not None and takes_option(data, "numbers"):
        options["numbers"] = numbers
    load = cache(lambda: isonn.load(data, **options))  # read once
    if method is None:
        method = _usual_method(data, load)
        if method == "isonn-aligned" and not as_json:
            print("graphs on one atlas: fitting isonn-aligned (--method isonn-subgraph for subgraphs)")
    _check_method(method, "isonn-aligned", {"--confounds": confounds, "--harmonize": harmonize, "--group": group})
    large = {"--bank": bank, "--jobs": jobs, "--cluster": scheduler}
    _check_method(method, "isonn-subgraph", large)
    streamed = method == "isonn-subgraph" and (any(value is not None for value in large.values()) or is_large(data))
    if not streamed and files.checkpoint.exists() and not (resume or files.finished):
        raise InputError(f"{files.checkpoint} holds a stopped run; add --resume to continue, or remove it")
    training: Any = isonn.stream(data, **options) if streamed else load()
    if not streamed:
        check_target(training, data)
    pieces = training if streamed else [training]
    if files.finished:
        _tidy_up(parameters, files, pieces)
        return
    remove_strays(out.parent, out.name)
    if confounds is not None:
        training = training.with_confounds(list(opt.split_names(confounds)))
    if numbers is None:
        first = next(iter(pieces), None)
        numbers = first is not None and first.y is not None and predicts_numbers(first)
    model = _estimator(method, parameters, numbers)
    arguments: dict[str, Any] = {} if group is None else {"groups": group}
    if hasattr(model, "epochs"):
        arguments |= {"checkpoint": files.checkpoint, "resume": resume}
    workers: Any = nullcontext(processes(jobs)) if scheduler is None else calls_on_cluster(scheduler)
    try:
        with workers as run:
            if streamed:
                training.bank, training.workers = files.bank, run
            _fit(model, training, files, arguments)
        changed = list_changes(changes, () if streamed and changes is None else pieces)
        model.save(out)
    finally:
        if out.exists():  # saved here or by another process, so this run is not resumed
            files.remove()
    graphs = training.graphs if streamed else len(training)
    facts = {"model": str(out), "data": training.name, "graphs": graphs}
    facts |= model_facts(model, None if streamed else training)
    if as_json:
        print(json.dumps({**facts, **changed}))
        return
    print(f"{training.name}: {graphs} graphs")
    print(*sentences(facts), sep="\n")
    print(f"saved in {out}; isonn predict {out} DATA predicts new graphs")


class _Files:
    """What a run writes: the model, and what a stopped run keeps beside it.

    Attributes:
        finished: whether a run was killed after saving: --resume finishes it, or the same command if files are left.
    """

    def __init__(self, out: Path, bank: Path | None, resume: bool) -> None:
        from isonn.files import check_new

        self.out = out
        self.checkpoint = out.parent / f"{out.name}.checkpoint"
        self.bank = bank or out.parent / f"{out.name}.bank"
        self.beside = [self.checkpoint] if bank else [self.checkpoint, self.bank]
        self.finished = out.is_dir() and (resume or any(path.exists() for path in self.beside))
        if not self.finished:
            check_new(out, "another --out")

    def remove(self) -> None:
        """Remove what a stopped run would need."""
        for path in self.beside:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _usual_method(data: str, load: Callable[[], GraphSet]) -> str:
    """Return the method for the graphs: sets of regions for graphs on one atlas, else subgraphs."""
    from isonn.experiments.methods import on_one_atlas

    reader = reader_at(data)
    if is_large(data) or (reader is not None and reader.name not in ("connectomes", "matrices", "saved")):
        return "isonn-subgraph"
    return "isonn-aligned" if on_one_atlas(load()) else "isonn-subgraph"


def _check_method(method: str, needed: str, options: dict[str, Any]) -> None:
    """Raise `InputError` for options of another method."""
    for name, value in options.items():
        if value is not None and method != needed:
            raise InputError(f"{name} is for --method {needed}; leave it out")


def _fit(model: Any, training: Any, files: _Files, arguments: dict[str, Any]) -> None:
    """Fit a model; Ctrl-C reports what is kept and exits with 130."""
    try:
        model.fit(training, **arguments)
    except KeyboardInterrupt:
        parts = len(list(files.bank.glob("part-*.safetensors")))
        kept = "nothing was kept"
        if parts:
            kept = f"{parts} parts of subgraphs are kept in {files.bank}; run the same command again to continue"
        elif files.checkpoint.exists():
            kept = f"the run is kept in {files.checkpoint}; add --resume to the same command to continue"
        print(f"isonn: stopped; {kept}", file=sys.stderr)
        raise typer.Exit(130) from None


def _estimator(method: str, settings: dict[str, Any], numbers: bool) -> Any:
    """Build the estimator of a method; raise `InputError` for settings it does not have."""
    import isonn

    if method not in _ESTIMATORS:
        raise InputError(f"method {method!r} cannot be saved as a model; use --method {' or '.join(_ESTIMATORS)}")
    name = _ESTIMATORS[method] + ("Regressor" if numbers else "Classifier")
    model = getattr(isonn, name)()  # imported by name, because only some need torch
    params = model.get_params()
    unknown = sorted(set(settings) - {"verbose", *params})
    if unknown:
        named = unknown[0].removeprefix("n_").replace("_", "-")
        flag = f"--{named}" if unknown[0] in _OPTIONS else f"--set {unknown[0]}"
        raise InputError(f"{flag} is not an option of {name}; leave it out")
    return model.set_params(**{key: value for key, value in settings.items() if key in params})


def _tidy_up(settings: dict[str, Any], files: _Files, pieces: Any) -> None:
    """Finish a run that was killed after saving: check that the model is from this run, and remove other files."""
    import isonn
    from isonn.files import remove_strays

    out = files.out
    model = isonn.load_model(out)
    saved = model.get_params()
    wanted = {name: value for name, value in settings.items() if name != "verbose" and name in saved}
    if any(saved[name] != value for name, value in wanted.items()):
        raise InputError(f"{out} exists already and has other settings; choose another --out, or remove it first")
    if not all(model.seen_in_training(piece).all() for piece in pieces):
        raise InputError(f"{out} exists already and was fitted to other data; choose another --out, or remove it first")
    remove_strays(out.parent, out.name)
    files.remove()
    print(f"saved in {out}; isonn predict {out} DATA predicts new graphs")
