"""`isonn fit`: train a model and save it."""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isonn.cli.fit_summary import model_facts, sentences
from isonn.cli.options import (
    CONNECTOMES,
    MODEL,
    PAPER,
    SUBGRAPHS,
    AsJson,
    C,
    Censored,
    Changes,
    Confounds,
    Data,
    Epochs,
    Harmonize,
    JoinCase,
    K,
    Layers,
    Matching,
    Missing,
    Numbers,
    Quiet,
    Runs,
    Select,
    Settings,
    SkipBad,
    SmilesColumn,
    Standardize,
    TargetColumns,
    Values,
    option,
)
from isonn.cli.reading import is_large, reading, takes_option
from isonn.cli.settings import examples_kept, given, only_size
from isonn.errors import InputError

if TYPE_CHECKING:
    from isonn.graphs import GraphStream
    from isonn.graphs.graph import GraphSet

_LARGE = "Large data"
#: Methods that can be saved, with the prefix of their estimators' names.
_ESTIMATORS = {"isonn-subgraph": "Subgraph", "isonn": "IsoNN", "isonn-aligned": "Aligned"}
#: Parameters of estimators that have an option of their own; others are given with --set.
_OPTIONS = {"max_nodes", "n_templates", "view", "head", "keep_examples", "class_weight", "k", "c", "layers", "matching"}
_OPTIONS |= {"epochs", "harmonize", "shuffles"}


def fit(
    data: Data,
    out: Annotated[Path, option(None, "Folder to write the model to; must not exist.", default=False)],
    smiles: SmilesColumn = None,
    target: TargetColumns = None,
    numbers: Numbers = None,
    standardize: Standardize = None,
    changes: Changes = None,
    censored: Censored = None,
    values: Values = None,
    skip_bad: SkipBad = False,
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
    class_weight: Annotated[
        str | None, option(MODEL, "balanced: rare classes count as much as frequent ones.", default="none")
    ] = None,
    settings: Settings = None,
    max_nodes: Annotated[
        int | None, option(SUBGRAPHS, "Nodes of the largest subgraphs, 1 to 6.", default="6, fewer for dense graphs")
    ] = None,
    templates: Annotated[
        int | None,
        option(
            SUBGRAPHS,
            "Keep a short list of this many subgraphs.",
            default="all",
        ),
    ] = None,
    view: Annotated[
        str | None,
        option(SUBGRAPHS, "Information on nodes and edges: auto, or some of labels, refined, degrees."),
    ] = None,
    head: Annotated[str | None, option(SUBGRAPHS, "auto (sums and logic), linear or trees.")] = None,
    keep_examples: Annotated[
        str | None,
        option(
            SUBGRAPHS,
            "Store ids or smiles of training graphs with their true values in the model, for `predict --neighbours`. "
            "Whoever gets the model can read them.",
            default="nothing",
        ),
    ] = None,
    k: K = None,
    c: C = None,
    layers: Layers = None,
    matching: Matching = None,
    epochs: Epochs = None,
    resume: Annotated[bool, option(PAPER, "Continue a stopped run.", "--resume")] = False,
    bank: Annotated[
        Path | None,
        option(
            _LARGE,
            "Folder for counted subgraphs, from which the same command continues; default for large DATA: MODEL.bank, "
            "removed at the end.",
        ),
    ] = None,
    jobs: Annotated[
        int | None, option(_LARGE, "Number of processes that count subgraphs.", default="one per core")
    ] = None,
    scheduler: Annotated[
        str | None,
        option(
            _LARGE,
            "Address of a dask scheduler whose workers count subgraphs; they share the folder of --bank.",
            "--cluster",
            "--scheduler",
        ),
    ] = None,
    confounds: Confounds = None,
    harmonize: Harmonize = None,
    group: Annotated[
        str | None,
        option(
            CONNECTOMES,
            "A column with the subject or family of each graph.",
            default="subject, if subjects have several sessions",
        ),
    ] = None,
    shuffles: Annotated[int | None, option(CONNECTOMES, "Shuffles for p-values.", default="99")] = None,
    select: Select = None,
    runs: Runs = None,
    missing: Missing = None,
    join_case: JoinCase = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a model on DATA and save it as a folder.

    After Ctrl-C, add --resume to the same command to continue. Data too large for memory resumes automatically.
    """
    from isonn.cli.changes import listing_changes
    from isonn.experiments.metrics import predicts_numbers
    from isonn.files import check_new, remove_strays

    files = _Files(out, bank, resume)
    files.check()
    if changes is not None:
        check_new(changes)
    parameters = given(
        settings,
        max_nodes=max_nodes,
        n_templates=templates,
        k=k,
        c=c,
        view=view,
        class_weight=class_weight,
        head=head,
        keep_examples=examples_kept(keep_examples),
        matching=matching,
        layers=layers,
        epochs=epochs,
        harmonize=harmonize,
        shuffles=shuffles,
        random_state=seed,
        verbose=int(not as_json),
    )
    options = reading(smiles, target, select=select, runs=runs, missing=missing, join_case=join_case)
    options |= reading(standardize=standardize, censored=censored, values=values, skip_bad=skip_bad)
    if numbers is not None and takes_option(data, "numbers"):
        options["numbers"] = numbers
    source = _Source(data, options)
    if method is None:
        method = source.usual_method()
        if method == "isonn-aligned" and not as_json:
            print("graphs on one atlas: fitting isonn-aligned (--method isonn-subgraph for subgraphs)")
    _check_method(method, "isonn-aligned", {"--confounds": confounds, "--harmonize": harmonize, "--group": group})
    large = {"--bank": bank, "--jobs": jobs, "--cluster": scheduler}
    _check_method(method, "isonn-subgraph", large)
    streamed = any(value is not None for value in large.values())
    stream = source.stream(always=streamed) if method == "isonn-subgraph" else None
    if stream is None:
        files.check_checkpoint()
    if files.finished:
        _tidy_up(parameters, files, [source.graphs()] if stream is None else stream)
        return
    remove_strays(out.parent, out.name)
    try:
        if stream is not None:
            model = _fit_stream(method, parameters, numbers, stream, files, jobs, scheduler)
        else:
            graphs = source.graphs()
            if confounds is not None:
                graphs = graphs.with_confounds([name.strip() for name in confounds.split(",")])
            model = _estimator(method, parameters, predicts_numbers(graphs) if numbers is None else numbers)
            _fit_whole(model, graphs, files, {} if group is None else {"groups": group})
        with listing_changes(changes) as changed:
            for piece in ([graphs] if stream is None else stream) if changes or stream is None else ():
                changed.add(piece)
        model.save(out)
    finally:
        if out.exists():  # saved here or by another process, so this run is not resumed
            files.remove()
    facts: dict[str, Any] = {"model": str(out)}
    if stream is None:
        facts |= {"data": graphs.name, "graphs": len(graphs), **model_facts(model, graphs)}
    else:
        facts |= {"data": stream.name, "graphs": stream.graphs, **model_facts(model, None)}
    if as_json:
        print(json.dumps({**facts, **changed.facts()}))
        return
    print(f"{facts['data']}: {facts['graphs']} graphs")
    print(*sentences(facts), sep="\n")
    print(f"saved in {out}; isonn predict {out} DATA predicts new graphs")


@dataclass(frozen=True)
class _Files:
    """What a run writes: the model, and what a stopped run keeps beside it."""

    out: Path
    given_bank: Path | None
    resume: bool

    @property
    def checkpoint(self) -> Path:
        return self.out.parent / f"{self.out.name}.checkpoint"

    @property
    def bank(self) -> Path:
        return self.given_bank or self.out.parent / f"{self.out.name}.bank"

    @property
    def beside(self) -> list[Path]:
        return [self.checkpoint, *([self.bank] if self.given_bank is None else [])]

    @property
    def finished(self) -> bool:
        """Whether a run was killed after saving: --resume finishes it, or the same command if files are left."""
        return self.out.is_dir() and (self.resume or any(path.exists() for path in self.beside))

    def check(self) -> None:
        """Raise `InputError` if the model exists and is not one of a stopped run."""
        from isonn.files import check_new

        if not self.finished:
            check_new(self.out, "another --out")

    def check_checkpoint(self) -> None:
        """Raise `InputError` if there is a checkpoint that would be ignored."""
        if self.checkpoint.exists() and not self.resume and not self.finished:
            raise InputError(f"{self.checkpoint} holds a stopped run; add --resume to continue, or remove it")

    def remove(self) -> None:
        """Remove what a stopped run would need."""
        for path in self.beside:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


class _Source:
    """DATA, read once."""

    def __init__(self, data: str, options: dict[str, Any]) -> None:
        self.data, self.options = data, options
        self._graphs: GraphSet | None = None

    def load(self) -> GraphSet:
        """Return the graphs."""
        if self._graphs is None:
            import isonn

            self._graphs = isonn.load(self.data, **self.options)
        return self._graphs

    def graphs(self) -> GraphSet:
        """Return the graphs with targets; raise `InputError` if there are none."""
        graphs = self.load()
        if graphs.y is None and takes_option(self.data, "target"):
            raise InputError(
                f"{graphs.name} has no column that may be the target (dates, ids and unique texts are none); "
                f"name it with --target"
            )
        if graphs.y is None:
            raise InputError(
                f"{graphs.name} has no targets to learn; add labels (.npz, .mat), a labels.csv (folder of matrices), a "
                f"_graph_labels.txt (TU folder), or name a column with --target"
            )
        return graphs

    def stream(self, always: bool) -> GraphStream | None:
        """Return the graphs in pieces if there are many, or always."""
        import isonn

        return isonn.stream(self.data, **self.options) if always or is_large(self.data) else None

    def usual_method(self) -> str:
        """Return the method for the graphs: sets of regions for graphs on one atlas, else subgraphs."""
        from isonn.graphs.io.registry import reader_of

        path = Path(self.data).expanduser()
        reader = reader_of(path) if path.exists() else None
        if reader is None or reader.name not in ("connectomes", "matrices", "saved"):
            return "isonn-subgraph"
        if reader.name == "connectomes":
            return "isonn-aligned"
        graphs = self.load()
        named = reader.name == "matrices" and graphs.node_names is not None and graphs.weights is not None
        return "isonn-aligned" if graphs.kind == "connectomes" or named else "isonn-subgraph"


def _check_method(method: str, needed: str, options: dict[str, Any]) -> None:
    """Raise `InputError` for options of another method."""
    for name, value in options.items():
        if value is not None and method != needed:
            raise InputError(f"{name} is for --method {needed}; leave it out")


def _stream_has_numbers(stream: GraphStream) -> bool:
    from isonn.experiments.metrics import predicts_numbers

    first = next(iter(stream), None)
    return first is not None and first.y is not None and predicts_numbers(first)


def _fit_stream(
    method: str,
    settings: dict[str, Any],
    numbers: bool | None,
    stream: GraphStream,
    files: _Files,
    jobs: int | None,
    scheduler: str | None,
) -> Any:
    """Return a model of a stream.

    Ctrl-C reports what is kept and exits with 130.
    """
    from isonn.cli.running import processes

    model = _estimator(method, settings, _stream_has_numbers(stream) if numbers is None else numbers)
    stream.bank = files.bank
    workers: AbstractContextManager[Any] = nullcontext(processes(jobs))
    if scheduler is not None:
        from isonn.experiments.cluster import calls_on_cluster

        workers = calls_on_cluster(scheduler)
    try:
        with workers as run:
            stream.workers = run
            return model.fit(stream)
    except KeyboardInterrupt:
        parts = len(list(stream.bank.glob("part-*.safetensors")))
        kept = f"{parts} parts of subgraphs are kept in {stream.bank}; run the same command again to continue"
        print(f"isonn: stopped; {kept}", file=sys.stderr)
        raise typer.Exit(130) from None


def _fit_whole(model: Any, graphs: GraphSet, files: _Files, arguments: dict[str, Any]) -> None:
    """Fit a model to graphs in memory; Ctrl-C reports what is kept and exits with 130."""
    if hasattr(model, "epochs"):
        arguments = {**arguments, "checkpoint": files.checkpoint, "resume": files.resume}
    try:
        model.fit(graphs, **arguments)
    except KeyboardInterrupt:
        kept = f"the run is kept in {files.checkpoint}; add --resume to the same command to continue"
        print(f"isonn: stopped; {kept if files.checkpoint.exists() else 'nothing was kept'}", file=sys.stderr)
        raise typer.Exit(130) from None


def _estimator(method: str, settings: dict[str, Any], numbers: bool) -> Any:
    """Build the estimator of a method; raise `InputError` for settings it does not have."""
    import isonn

    if method not in _ESTIMATORS:
        raise InputError(f"method {method!r} cannot be saved as a model; use --method {' or '.join(_ESTIMATORS)}")
    settings = dict(settings)
    if method == "isonn" and "k" in settings:
        settings["k"] = only_size(settings["k"])
    name = _ESTIMATORS[method] + ("Regressor" if numbers else "Classifier")
    model = getattr(isonn, name)()  # imported by name, because only some need torch
    params = model.get_params()
    if "verbose" not in params:
        settings.pop("verbose", None)
    unknown = sorted(set(settings) - set(params))
    if unknown:
        named = unknown[0].removeprefix("n_").replace("_", "-")
        flag = f"--{named}" if unknown[0] in _OPTIONS else f"--set {unknown[0]}"
        raise InputError(f"{flag} is not an option of {name}; leave it out")
    return model.set_params(**settings)


def _tidy_up(settings: dict[str, Any], files: _Files, pieces: Any) -> None:
    """Finish a run that was killed after saving: check that the model is from this run, and remove other files."""
    import isonn
    from isonn.files import remove_strays

    out = files.out
    model = isonn.load_model(out)
    saved = model.get_params()
    wanted = {name: value for name, value in settings.items() if name != "verbose" and name in saved}
    if isinstance(wanted.get("k"), tuple) and not isinstance(saved["k"], (tuple, list)):
        wanted["k"] = wanted["k"][0]
    if any(saved[name] != value for name, value in wanted.items()):
        raise InputError(f"{out} exists already and has other settings; choose another --out, or remove it first")
    if not all(model.seen_in_training(piece).all() for piece in pieces):
        raise InputError(f"{out} exists already and was fitted to other data; choose another --out, or remove it first")
    remove_strays(out.parent, out.name)
    files.remove()
    print(f"saved in {out}; isonn predict {out} DATA predicts new graphs")
