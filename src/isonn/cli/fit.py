"""`isonn fit`: train a model and save it."""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from isonn.cli.options import (
    CONNECTOMES,
    AsJson,
    Confounds,
    Data,
    Harmonize,
    JoinCase,
    Numbers,
    Quiet,
    Select,
    SmilesColumn,
    TargetColumns,
    check_either,
    parse_layers,
    parse_sizes,
    reading,
)

_MODEL, _SUBGRAPHS, _PAPER = "Model", "Subgraph models (isonn-subgraph)", "The paper's model (isonn)"
_LARGE = "Large data"


def fit(
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder to write the model to; must not exist.", show_default=False)],
    smiles: SmilesColumn = None,
    target: TargetColumns = None,
    numbers: Numbers = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="isonn-subgraph: subgraphs, independent of node order; isonn: the paper's windows of the adjacency "
            "matrix; isonn-aligned: graphs on the same nodes, such as connectomes.",
            rich_help_panel=_MODEL,
            show_default="isonn-aligned for connectomes, else isonn-subgraph",
        ),
    ] = None,
    max_nodes: Annotated[
        int | None,
        typer.Option(
            help="Nodes of the largest subgraphs, 1 to 6.",
            show_default="6, fewer for dense graphs",
            rich_help_panel=_SUBGRAPHS,
        ),
    ] = None,
    templates: Annotated[
        str | None,
        typer.Option(
            help="Keep a short list of this many subgraphs, or auto for the fewest with nearly the same score.",
            show_default="all",
            rich_help_panel=_SUBGRAPHS,
        ),
    ] = None,
    k: Annotated[
        str | None,
        typer.Option(
            help="Nodes per template; several sizes for isonn-aligned.", show_default="4", rich_help_panel=_PAPER
        ),
    ] = None,
    c: Annotated[
        int | None, typer.Option(help="Number of templates.", show_default="2", rich_help_panel=_PAPER)
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model.", rich_help_panel=_MODEL)] = 0,
    view: Annotated[
        str | None,
        typer.Option(
            help="Information on nodes and edges: auto, or some of labels, refined, degrees.",
            rich_help_panel=_SUBGRAPHS,
        ),
    ] = None,
    class_weight: Annotated[
        str | None,
        typer.Option(
            help="balanced: rare classes count as much as frequent ones.", show_default="none", rich_help_panel=_MODEL
        ),
    ] = None,
    head: Annotated[
        str | None,
        typer.Option(help="auto (sums and logic), linear or trees.", rich_help_panel=_SUBGRAPHS),
    ] = None,
    matching: Annotated[
        str | None,
        typer.Option(
            help="How templates are matched: exact, fast (the paper's IsoNN-fast), assigned (for k > 9).",
            show_default="exact",
            rich_help_panel=_PAPER,
        ),
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(help="Deep IsoNN instead of --k and --c, such as 2x3,3x4.", rich_help_panel=_PAPER),
    ] = None,
    normalize: Annotated[
        str | None,
        typer.Option(
            help="positions, templates, or relative (needed for deep models on larger graphs).",
            show_default="positions",
            rich_help_panel=_PAPER,
        ),
    ] = None,
    symmetric: Annotated[
        bool,
        typer.Option(
            "--symmetric",
            help="Symmetric templates; half the work on undirected weighted graphs.",
            rich_help_panel=_PAPER,
        ),
    ] = False,
    size: Annotated[
        int | None, typer.Option(help="Nodes to reserve, if new graphs may be larger.", rich_help_panel=_PAPER)
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Training epochs.", show_default="100", rich_help_panel=_PAPER)
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(help="Step size of Adam.", show_default="0.001", rich_help_panel=_PAPER),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(help="Graphs per step; default: all.", rich_help_panel=_PAPER)
    ] = None,
    patience: Annotated[
        int | None, typer.Option(help="Stop after this many epochs without a lower loss.", rich_help_panel=_PAPER)
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a stopped run.", rich_help_panel=_PAPER)] = False,
    bank: Annotated[
        Path | None,
        typer.Option(
            help="Folder for counted subgraphs, from which the same command continues; default for large DATA: "
            "MODEL.bank, removed at the end.",
            rich_help_panel=_LARGE,
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Number of processes that count subgraphs.", show_default="one per core", rich_help_panel=_LARGE
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Address of a dask scheduler whose workers count subgraphs; they share the folder of --bank.",
            rich_help_panel=_LARGE,
        ),
    ] = None,
    confounds: Confounds = None,
    harmonize: Harmonize = None,
    group: Annotated[
        str | None,
        typer.Option(
            help="A column with the subject or family of each graph.",
            show_default="subject, if subjects have several sessions",
            rich_help_panel=CONNECTOMES,
        ),
    ] = None,
    shuffles: Annotated[
        int | None,
        typer.Option(help="Shuffles for p-values.", show_default="99", rich_help_panel=CONNECTOMES),
    ] = None,
    select: Select = None,
    join_case: JoinCase = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a model on DATA and save it as a folder.

    After Ctrl-C, add --resume to the same command to continue. Data too large for memory resumes automatically.
    """
    from isonn.cli.options import stream_of
    from isonn.errors import InputError
    from isonn.files import remove_strays
    from isonn.graphs.io.tu_graphs import UnsortedError

    checkpoint = out.parent / f"{out.name}.checkpoint"
    kept_beside = [checkpoint, *([_bank_beside(out)] if bank is None else [])]
    # killed after saving: finish the run with --resume, or without it if there are files to remove
    finished = out.is_dir() and (resume or any(path.exists() for path in kept_beside))
    if (out.exists() and not finished) or not out.name:
        raise InputError(f"{out} exists already; choose another --out, or remove it first")
    check_either(layers, k, c)
    asked = {"--bank": bank, "--jobs": jobs, "--scheduler": scheduler}
    banked = [option for option, value in asked.items() if value is not None]
    options = reading(smiles, target, select, join_case)
    if method is None:
        method = _method(data, options)
        if method == "isonn-aligned" and not as_json:
            print("graphs on one atlas: fitting isonn-aligned (--method isonn-subgraph for subgraphs)")
    design = {"--confounds": confounds, "--harmonize": harmonize, "--group": group}
    if method != "isonn-aligned" and (given_design := [name for name, value in design.items() if value is not None]):
        raise InputError(f"{given_design[0]} is for --method isonn-aligned; leave it out")
    if banked and method != "isonn-subgraph":
        raise InputError(f"{banked[0]} is for --method isonn-subgraph; leave it out")
    graphs = stream_of(data, always=bool(banked), **options) if method == "isonn-subgraph" else None
    if checkpoint.exists() and not resume and not finished and graphs is None:
        raise InputError(f"{checkpoint} holds a stopped run; add --resume to continue, or remove it")
    settings = {
        "max_nodes": max_nodes,
        "n_templates": _templates(templates),
        "k": parse_sizes(k),
        "c": c,
        "view": tuple(view.split(",")) if view is not None and "," in view else view,
        "class_weight": class_weight,
        "head": head,
        "matching": matching,
        "layers": parse_layers(layers),
        "normalize": normalize,
        "symmetric": symmetric or None,
        "size": size,
        "epochs": epochs,
        "learning_rate": learning_rate,
        "batch_size": batch_size,
        "patience": patience,
        "harmonize": harmonize,
        "shuffles": shuffles,
        "random_state": seed,
        "verbose": 0 if as_json else 1,
    }
    given = {name: value for name, value in settings.items() if value is not None}
    if finished:
        _tidy_up(given, out, kept_beside, graphs or [_load(data, options)])
        return
    model = None
    remove_strays(out.parent, out.name)
    try:
        if graphs is not None:
            model = _estimator(method, given, _streams_numbers(graphs) if numbers is None else numbers)
            try:
                _fit_streamed(model, graphs, bank, out, jobs, scheduler)
            except UnsortedError:
                if banked:
                    raise
                graphs = None  # streaming was not requested, and the data can be read whole
        if graphs is not None:
            count, name, about = graphs.graphs, graphs.name, f"{graphs.name}: {graphs.graphs} graphs"
        else:
            held = _load(data, options)
            model = _estimator(method, given, _are_numbers(held.y) if numbers is None else numbers)
            keeps: dict[str, Any] = {"checkpoint": checkpoint, "resume": resume} if hasattr(model, "epochs") else {}
            keeps |= {} if group is None else {"groups": group}
            held = held if confounds is None else held.with_confounds([one.strip() for one in confounds.split(",")])
            try:
                model.fit(held, **keeps)
            except KeyboardInterrupt:
                kept = f"the run is kept in {checkpoint}; add --resume to the same command to continue"
                print(f"isonn: stopped; {kept if checkpoint.exists() else 'nothing was kept'}", file=sys.stderr)
                raise typer.Exit(130) from None
            count, name, about = len(held), held.name, repr(held)
        assert model is not None
        model.save(out)
    finally:
        if out.exists():  # saved here or by another process, so this run is not resumed
            _remove(kept_beside)
    facts: dict[str, Any] = {"model": str(out), "data": name, "graphs": count}
    facts.update(_facts(model, None if graphs is not None else held))
    if as_json:
        print(json.dumps(facts))
    else:
        print(about)
        for line in _sentences(facts):
            print(line)
        print(f"saved in {out}; isonn predict {out} DATA predicts new graphs")


def _method(data: str, options: dict[str, Any]) -> str:
    """Return the method for DATA: sets of regions for graphs on one atlas, else subgraphs."""
    import isonn
    from isonn.graphs.io.registry import reader_of

    path = Path(data).expanduser()
    reader = reader_of(path) if path.exists() else None
    if reader is None or reader.name not in ("connectomes", "matrices", "saved"):
        return "isonn-subgraph"
    if reader.name == "connectomes":
        return "isonn-aligned"
    graphs = isonn.load(data, **options)
    named = reader.name == "matrices" and graphs.node_names is not None and graphs.weights is not None
    return "isonn-aligned" if graphs.kind == "connectomes" or named else "isonn-subgraph"


def _load(data: str, options: dict[str, Any]) -> Any:
    import isonn
    from isonn.errors import InputError

    held = isonn.load(data, **options)
    if held.y is None:
        raise InputError(
            f"{held.name} has no targets to learn; add labels (.npz, .mat), a labels.csv (folder of matrices), a "
            f"_graph_labels.txt (TU folder), or name a column with --target"
        )
    return held


def _streams_numbers(graphs: Any) -> bool:
    """Return whether the first targets of a stream are measurements."""
    from isonn.graphs.io.tu_graphs import UnsortedError

    try:
        first = next(iter(graphs), None)
    except UnsortedError:
        return False  # the reader raises the error
    return first is not None and first.y is not None and _are_numbers(first.y)


def _are_numbers(y: Any) -> bool:
    """Return whether targets are measurements: floats that are not all whole."""
    import numpy as np

    values = np.asarray(y)
    if values.dtype.kind != "f":
        return False
    known = values[np.isfinite(values)]
    return bool((known % 1 != 0).any())


def _templates(text: str | None) -> int | str | None:
    if text is None or text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        from isonn.errors import InputError

        raise InputError(
            f"--templates {text!r} is not a number of templates; write a number such as 32, or auto"
        ) from None


def _facts(model: Any, held: Any) -> dict[str, Any]:
    """Return the facts to print about a fitted model."""
    facts: dict[str, Any] = {}
    history = getattr(model, "history_", None)
    if history is not None and history.loss:
        facts.update(epochs=len(history), seconds=round(sum(history.seconds), 1), loss=history.loss[-1])
    score = getattr(model, "held_out_score_", None)
    if score is not None:
        facts.update(held_out=score)
    elif held is not None:
        facts.update(training_score=float(model.score(held, held.y)))
    templates = getattr(model, "templates_", None)
    if templates is not None:
        facts.update(templates=len(templates))
    if getattr(model, "coverage_", None) is not None:
        facts.update(coverage=model.coverage_)
    return facts


def _sentences(facts: dict[str, Any]) -> list[str]:
    lines = []
    if "epochs" in facts:
        lines.append(f"{facts['epochs']} epochs in {facts['seconds']:.1f} s, last loss {facts['loss']:.4f}")
    if "templates" in facts:
        lines.append(f"{facts['templates']:,} templates")
    if "coverage" in facts:
        lines.append(f"they cover {facts['coverage']:.0%} of the edges that matter most to the full vocabulary")
    if "held_out" in facts:
        shown = ", ".join(
            f"{name} {100 * value:.1f} %" if name in ("accuracy", "f1") else f"{name.upper()} {value:.3g}"
            for name, value in facts["held_out"].items()
        )
        lines.append(f"held out: {shown} (isonn evaluate DATA compares methods)")
    elif "training_score" in facts:
        lines.append(f"training score {facts['training_score']:.3f} (not an estimate for new graphs)")
    return lines


def _tidy_up(settings: dict[str, Any], out: Path, kept_beside: list[Path], parts: Any) -> None:
    """Finish a run that was killed after saving: check that the model is from this run, and remove other files."""
    import isonn
    from isonn.errors import InputError
    from isonn.files import remove_strays

    model = isonn.load_model(out)
    saved = model.get_params()
    wanted = {name: value for name, value in settings.items() if name != "verbose" and name in saved}
    if isinstance(wanted.get("k"), tuple) and not isinstance(saved["k"], (tuple, list)):
        wanted["k"] = wanted["k"][0]
    if any(saved[name] != value for name, value in wanted.items()):
        raise InputError(f"{out} exists already and has other settings; choose another --out, or remove it first")
    if not all(model.seen_in_training(part).all() for part in parts):
        raise InputError(f"{out} exists already and was fitted to other data; choose another --out, or remove it first")
    remove_strays(out.parent, out.name)
    _remove(kept_beside)
    print(f"saved in {out}; isonn predict {out} DATA predicts new graphs")


def _remove(paths: list[Path]) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _bank_beside(out: Path) -> Path:
    return out.parent / f"{out.name}.bank"


def _fit_streamed(
    model: Any, graphs: Any, bank: Path | None, out: Path, jobs: int | None, scheduler: str | None
) -> None:
    """Fit a model to a stream; Ctrl-C reports what is kept and exits with 130."""
    from isonn.cli.options import processes

    graphs.bank = folder = _bank_beside(out) if bank is None else bank
    workers: AbstractContextManager[Any] = nullcontext(processes(jobs))
    if scheduler is not None:
        from isonn.experiments.cluster import calls_on_cluster

        workers = calls_on_cluster(scheduler)
    try:
        with workers as run:
            graphs.workers = run
            model.fit(graphs)
    except KeyboardInterrupt:
        parts = len(list(folder.glob("part-*.safetensors")))
        print(
            f"isonn: stopped; {parts} parts of subgraphs are kept in {folder}; run the same command again to continue",
            file=sys.stderr,
        )
        raise typer.Exit(130) from None


#: Methods that can be saved, with the prefix of their estimators' names.
_ESTIMATORS = {"isonn-subgraph": "Subgraph", "isonn": "IsoNN", "isonn-aligned": "Aligned"}


def _estimator(method: str, settings: dict[str, Any], numbers: bool) -> Any:
    """Build the estimator of a method; raise an error for settings it does not have."""
    import isonn
    from isonn.errors import InputError

    if method not in _ESTIMATORS:
        raise InputError(f"method {method!r} cannot be saved as a model; use --method {' or '.join(_ESTIMATORS)}")
    settings = dict(settings)
    if method == "isonn" and "k" in settings:
        if len(settings["k"]) > 1:
            raise InputError(f"--k {settings['k']} are several sizes, but isonn has one; give one")
        settings["k"] = settings["k"][0]
    name = _ESTIMATORS[method] + ("Regressor" if numbers else "Classifier")
    model = getattr(isonn, name)()  # imported by name, because only some need torch
    known = model.get_params()
    if "verbose" not in known:
        settings.pop("verbose", None)
    unknown = sorted(set(settings) - set(known))
    if unknown:
        option = unknown[0].removeprefix("n_").replace("_", "-")
        raise InputError(f"--{option} is not an option of {name}; leave it out")
    return model.set_params(**settings)
