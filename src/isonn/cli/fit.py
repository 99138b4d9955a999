"""`isonn fit`: train a model and save it."""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from isonn.cli.options import AsJson, Data, check_either, parse_layers, parse_sizes


def fit(
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder to write the model to; must not exist.", show_default=False)],
    method: Annotated[
        str,
        typer.Option(
            help="isonn: templates on windows of the adjacency matrix; isonn-subgraph: on connected subgraphs, "
            "whatever the order of nodes."
        ),
    ] = "isonn",
    k: Annotated[
        str | None,
        typer.Option(help="Nodes per template; several sizes for isonn-subgraph.", show_default="4; 1,2,3,4"),
    ] = None,
    c: Annotated[int | None, typer.Option(help="Number of templates.", show_default="2; 32")] = None,
    matching: Annotated[
        str, typer.Option(help="How templates are matched: exact, fast (the paper's IsoNN-fast), assigned (for k > 9).")
    ] = "exact",
    layers: Annotated[str | None, typer.Option(help="Deep IsoNN instead of --k and --c, such as 2x3,3x4.")] = None,
    normalize: Annotated[
        str | None,
        typer.Option(
            help="isonn: positions, templates, or relative, which deep models of larger graphs need.",
            show_default="positions",
        ),
    ] = None,
    symmetric: Annotated[
        bool,
        typer.Option("--symmetric", help="isonn: symmetric templates; half the work on undirected weighted graphs."),
    ] = False,
    head: Annotated[str | None, typer.Option(help="isonn-subgraph: linear, mlp or ensemble.")] = None,
    frozen: Annotated[bool, typer.Option("--frozen", help="isonn-subgraph: leave templates where they start.")] = False,
    epochs: Annotated[int | None, typer.Option(help="Passes over the graphs.", show_default="100; 40")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Step size of Adam.", show_default="0.001; 0.005")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Graphs per step; all at once if not given.")] = None,
    patience: Annotated[int | None, typer.Option(help="Stop after this many epochs without a lower loss.")] = None,
    size: Annotated[int | None, typer.Option(help="isonn: nodes to leave room for, if larger graphs may come.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    bank: Annotated[
        Path | None,
        typer.Option(
            help="isonn-subgraph: folder to keep subgraphs in, for graphs too many to hold; the same command again "
            "goes on with it. Of large DATA they are kept in MODEL.bank while it runs."
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Processes that cut subgraphs into the bank.", show_default="one per core")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a dask scheduler whose workers cut subgraphs into the bank, a shared folder."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train a model on DATA and save it as a folder.

    Ctrl-C finishes the epoch and keeps the run (a second one stops at once and keeps what was saved before); the same
    command with --resume goes on where it stopped. With --bank, or where DATA is too large to hold, --resume goes
    without saying.
    """
    import isonn
    from isonn.cli.options import stream_of
    from isonn.errors import InputError
    from isonn.files import remove_strays
    from isonn.graphs.io.tu import UnsortedError

    checkpoint = out.parent / f"{out.name}.checkpoint"
    finished = resume and out.is_dir() and checkpoint.exists()  # killed after saving, before tidying up
    if (out.exists() and not finished) or not out.name:
        raise InputError(f"{out} exists already; choose another --out, or remove it first")
    check_either(layers, k, c)
    asked = {"--bank": bank, "--jobs": jobs, "--scheduler": scheduler}
    banked = [option for option, value in asked.items() if value is not None]
    if banked and method != "isonn-subgraph":
        raise InputError(f"{banked[0]} is for --method isonn-subgraph; leave it out")
    graphs = stream_of(data, always=bool(banked)) if method == "isonn-subgraph" else None
    if checkpoint.exists() and not resume and graphs is None:
        raise InputError(f"{checkpoint} holds a run that was stopped; add --resume to go on, or remove it")
    settings = {
        "k": parse_sizes(k),
        "c": c,
        "layers": parse_layers(layers),
        "normalize": normalize,
        "symmetric": symmetric or None,
        "head": head,
        "learn_templates": False if frozen else None,
        "epochs": epochs,
        "learning_rate": learning_rate,
        "batch_size": batch_size,
        "patience": patience,
        "size": size,
    }
    given = {name: value for name, value in settings.items() if value is not None}
    clf = _estimator(method, given)
    clf.set_params(matching=matching, random_state=seed, verbose=0 if as_json else 1)
    if finished:
        _tidy_up(clf, out, checkpoint)
        return
    if graphs is not None:
        try:
            _fit_streamed(clf, graphs, bank, out, checkpoint, jobs, scheduler)
        except UnsortedError:
            if banked:
                raise
            graphs = None  # nobody asked for pieces, and as a whole it can be read
    if graphs is not None:
        accuracy, about = clf.training_accuracy_, f"{graphs.name}: {graphs.graphs} graphs, {len(clf.classes_)} classes"
        count, name = graphs.graphs, graphs.name
    else:
        held = isonn.load(data)
        if held.y is None:
            raise InputError(
                f"{held.name} has no classes; add labels (.npz, .mat), a labels.csv (folder of matrices) or a "
                f"_graph_labels.txt (TU folder)"
            )
        try:
            clf.fit(held, checkpoint=checkpoint, resume=resume)
        except KeyboardInterrupt:
            kept = f"the run is kept in {checkpoint}; add --resume to the same command to go on"
            print(f"isonn: stopped; {kept if checkpoint.exists() else 'nothing was kept'}", file=sys.stderr)
            raise typer.Exit(130) from None
        accuracy, about = float(clf.score(held, held.y)), repr(held)
        count, name = len(held), held.name
    remove_strays(out)
    try:
        clf.save(out)
    finally:
        if out.exists():  # saved, or another fit was quicker: either way nobody resumes this run
            checkpoint.unlink(missing_ok=True)
    if graphs is not None and bank is None:
        shutil.rmtree(_bank_beside(out), ignore_errors=True)
    if as_json:
        facts = {"model": str(out), "data": name, "graphs": count, "training_accuracy": accuracy}
        loss = clf.history_.loss[-1] if clf.history_.loss else None
        print(json.dumps({**facts, "epochs": len(clf.history_), "loss": loss}))
    else:
        _print(clf, about, accuracy, out)


def _tidy_up(clf: Any, out: Path, checkpoint: Path) -> None:
    """End a run that was killed once its model was saved: check that it is this run's, remove the checkpoint."""
    import isonn
    from isonn.errors import InputError
    from isonn.files import remove_strays

    saved = isonn.load_model(out)
    if type(saved) is not type(clf) or saved.set_params(verbose=clf.verbose).get_params() != clf.get_params():
        raise InputError(f"{out} exists already and has other settings; choose another --out, or remove it first")
    remove_strays(out)
    checkpoint.unlink(missing_ok=True)
    print(f"saved in {out}; isonn predict {out} DATA classifies new graphs")


def _bank_beside(out: Path) -> Path:
    return out.with_name(out.name + ".bank")


def _fit_streamed(
    clf: Any, graphs: Any, bank: Path | None, out: Path, checkpoint: Path, jobs: int | None, scheduler: str | None
) -> None:
    """Learn from a stream; Ctrl-C says what is kept and leaves with 130."""
    from isonn.cli.options import processes

    folder = _bank_beside(out) if bank is None else bank
    workers: AbstractContextManager[Any] = nullcontext(processes(jobs))
    if scheduler is not None:
        from isonn.experiments.cluster import calls_on_cluster

        workers = calls_on_cluster(scheduler)
    try:
        with workers as run:
            clf.fit(graphs, checkpoint=checkpoint, resume=True, bank=folder, jobs=run)
    except KeyboardInterrupt:
        parts = len(list(folder.glob("part-*.safetensors")))
        also = f", and the run in {checkpoint}" if checkpoint.exists() else ""
        print(
            f"isonn: stopped; {parts} parts of subgraphs are kept in {folder}{also}; the same command again goes on",
            file=sys.stderr,
        )
        raise typer.Exit(130) from None


def _estimator(method: str, settings: dict[str, Any]) -> Any:
    """The estimator of a method with the settings that were given; refuses those it does not have."""
    import isonn
    from isonn.errors import InputError

    estimators = {"isonn": "IsoNNClassifier", "isonn-subgraph": "SubgraphIsoNNClassifier"}
    if method not in estimators:
        raise InputError(f"method {method!r} cannot be saved as a model; use --method {' or '.join(estimators)}")
    if method == "isonn" and "k" in settings:
        if len(settings["k"]) > 1:
            raise InputError(f"--k {settings['k']} are several sizes; isonn has one, or use --method isonn-subgraph")
        settings["k"] = settings["k"][0]
    clf = getattr(isonn, estimators[method])()  # imported by name: only one of them needs torch
    unknown = sorted(set(settings) - set(clf.get_params()))
    if unknown:
        option = "frozen" if unknown[0] == "learn_templates" else unknown[0].replace("_", "-")
        raise InputError(f"--{option} is no option of --method {method}; leave it out")
    return clf.set_params(**settings)


def _print(clf: Any, about: str, accuracy: float, out: Path) -> None:
    print(about)
    if clf.history_.loss:  # a frozen model with a linear head is solved for, not trained
        print(f"{len(clf.history_)} epochs in {sum(clf.history_.seconds):.1f} s, last loss {clf.history_.loss[-1]:.4f}")
    print(f"training accuracy {100 * accuracy:.1f} % (of the graphs it learned from: no estimate for new ones)")
    print(f"saved in {out}; isonn predict {out} DATA classifies new graphs")
