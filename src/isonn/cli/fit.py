"""`isonn fit`: train a model and save it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from isonn.cli.options import AsJson, Data, parse_layers, parse_sizes


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
    head: Annotated[str | None, typer.Option(help="isonn-subgraph: linear, mlp or ensemble.")] = None,
    frozen: Annotated[bool, typer.Option("--frozen", help="isonn-subgraph: leave templates where they start.")] = False,
    epochs: Annotated[int | None, typer.Option(help="Passes over the graphs.", show_default="100; 40")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Step size of Adam.", show_default="0.001; 0.005")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Graphs per step; all at once if not given.")] = None,
    patience: Annotated[int | None, typer.Option(help="Stop after this many epochs without a lower loss.")] = None,
    size: Annotated[int | None, typer.Option(help="isonn: nodes to leave room for, if larger graphs may come.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train a model on DATA and save it as a folder.

    Ctrl-C finishes the epoch and keeps the run; the same command with --resume goes on where it stopped.
    """
    import isonn
    from isonn.errors import InputError

    checkpoint = out.with_name(out.name + ".checkpoint")
    if out.exists():
        raise InputError(f"{out} exists already; choose another --out, or remove it first")
    if checkpoint.exists() and not resume:
        raise InputError(f"{checkpoint} holds a run that was stopped; add --resume to go on, or remove it")
    graphs = isonn.load(data)
    settings = {
        "k": parse_sizes(k),
        "c": c,
        "layers": parse_layers(layers),
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
    try:
        clf.fit(graphs, checkpoint=checkpoint, resume=resume)
    except KeyboardInterrupt:
        kept = f"the run is kept in {checkpoint}; add --resume to the same command to go on"
        print(f"isonn: stopped; {kept if checkpoint.exists() else 'nothing was kept'}", file=sys.stderr)
        raise typer.Exit(130) from None
    clf.save(out)
    checkpoint.unlink(missing_ok=True)
    _report(clf, graphs, out, as_json)


def _estimator(method: str, settings: dict[str, Any]) -> Any:
    """The estimator of a method with the settings that were given; refuses those it does not have."""
    import isonn
    from isonn.errors import InputError

    estimators = {"isonn": isonn.IsoNNClassifier, "isonn-subgraph": isonn.SubgraphIsoNNClassifier}
    if method not in estimators:
        raise InputError(f"method {method!r} cannot be saved as a model; use --method {' or '.join(estimators)}")
    if method == "isonn" and "k" in settings:
        if len(settings["k"]) > 1:
            raise InputError(f"--k {settings['k']} are several sizes; isonn has one, or use --method isonn-subgraph")
        settings["k"] = settings["k"][0]
    clf = estimators[method]()
    unknown = sorted(set(settings) - set(clf.get_params()))
    if unknown:
        option = "frozen" if unknown[0] == "learn_templates" else unknown[0].replace("_", "-")
        raise InputError(f"--{option} is no option of --method {method}; leave it out")
    return clf.set_params(**settings)


def _report(clf: Any, graphs: Any, out: Path, as_json: bool) -> None:
    accuracy = float(clf.score(graphs, graphs.y))
    if as_json:
        facts = {"model": str(out), "data": graphs.name, "graphs": len(graphs), "training_accuracy": accuracy}
        loss = clf.history_.loss[-1] if clf.history_.loss else None
        print(json.dumps({**facts, "epochs": len(clf.history_), "loss": loss}))
        return
    print(f"{graphs!r}")
    if clf.history_.loss:  # a frozen model with a linear head is solved for, not trained
        print(f"{len(clf.history_)} epochs in {sum(clf.history_.seconds):.1f} s, last loss {clf.history_.loss[-1]:.4f}")
    print(f"training accuracy {100 * accuracy:.1f} % (of the graphs it learned from: no estimate for new ones)")
    print(f"saved in {out}; isonn predict {out} DATA classifies new graphs")
