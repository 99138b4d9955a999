"""`isonn fit`: train a model and save it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isonn.cli import options as opt
from isonn.cli.options import MODEL, RUNNING, option
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

    A stopped fit of data too large for memory continues with the same command.
    """
    import isonn
    from isonn.files import check_new

    check_new(out, "another --out")
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
    graphs: Any = isonn.stream(data, **options) if streamed else load()
    chunks = graphs if streamed else [graphs]
    if not streamed:
        check_target(graphs, data)
    if confounds is not None:
        graphs = graphs.with_confounds(list(opt.split_names(confounds)))

    model = _estimator(method, parameters, _has_numbers(chunks) if numbers is None else numbers)
    with ExitStack() as stack:
        if streamed:
            graphs.bank = bank or stack.enter_context(_bank_beside(out))
            graphs.workers = stack.enter_context(_workers(jobs, scheduler))
        _fit(model, graphs, group)
        changed = list_changes(changes, () if streamed and changes is None else chunks)
        model.save(out)

    number = graphs.graphs if streamed else len(graphs)
    facts = {"model": str(out), "data": graphs.name, "graphs": number}
    facts |= model_facts(model, None if streamed else graphs)
    if as_json:
        print(json.dumps({**facts, **changed}))
        return
    print(f"{graphs.name}: {number:,} graphs")
    print(*sentences(facts), sep="\n")
    print(f"saved in {out}; isonn predict {out} DATA predicts new graphs")


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


def _has_numbers(chunks: Iterable[GraphSet]) -> bool:
    """Return whether the targets of the first chunk are numbers to predict, not classes."""
    from isonn.experiments.source import predicts_numbers

    first = next(iter(chunks), None)
    return first is not None and first.y is not None and predicts_numbers(first)


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


@contextmanager
def _bank_beside(out: Path) -> Iterator[Path]:
    """Yield the usual folder for counted subgraphs; remove it once a model is saved, by this process or another."""
    folder = out.parent / f"{out.name}.bank"
    try:
        yield folder
    finally:
        if out.exists():
            shutil.rmtree(folder, ignore_errors=True)


def _workers(jobs: int | None, scheduler: str | None) -> AbstractContextManager[Any]:
    """Return the workers of a stream: those of a cluster, or a number of threads."""
    from isonn.cli.running import processes
    from isonn.experiments.cluster import calls_on_cluster

    return nullcontext(processes(jobs)) if scheduler is None else calls_on_cluster(scheduler)


def _fit(model: Any, graphs: Any, group: str | None) -> None:
    """Fit a model; Ctrl-C says what is kept and exits with 130."""
    groups = {} if group is None else {"groups": group}
    try:
        model.fit(graphs, **groups)
    except KeyboardInterrupt:
        bank = getattr(graphs, "bank", None)
        parts = 0 if bank is None else len(list(bank.glob("part-*.safetensors")))
        kept = "nothing was kept"
        if parts:
            kept = f"{parts} parts of subgraphs are kept in {bank}; run the same command again to continue"
        print(f"isonn: stopped; {kept}", file=sys.stderr)
        raise typer.Exit(130) from None
