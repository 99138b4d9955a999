"""The command line: parses, calls, prints. Heavy imports wait inside the commands, so that --help is quick."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import typer

from isonn.cli.alerts import alerts
from isonn.cli.audit import audit
from isonn.cli.cost import cost
from isonn.cli.data import app as data_app
from isonn.cli.evaluate import evaluate
from isonn.cli.explain import explain
from isonn.cli.fit import fit
from isonn.cli.predict import predict
from isonn.cli.report import report
from isonn.cli.reproduce import reproduce

app = typer.Typer(
    name="isonn",
    help="Classify graphs by small templates that are learned, matched exactly, and shown.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def version(show: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    """Classify graphs by small templates that are learned, matched exactly, and shown."""
    if show:
        import isonn

        print(isonn.__version__)
        raise typer.Exit


for command in (evaluate, reproduce, fit, predict, explain, alerts, report, audit, cost):
    app.command()(command)
app.add_typer(data_app, name="data", help="List, describe and fetch datasets.")


def _say(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """A warning of isonn's as a sentence; of others, as Python shows it."""
    from isonn.errors import IsoNNWarning

    if issubclass(category, IsoNNWarning):
        print(f"isonn: {message}", file=sys.stderr)
    else:
        _SHOW(message, category, *where, **more)


_SHOW = warnings.showwarning


def main() -> None:
    """Run the command line; a mistake in the input is one sentence and exit code 2."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _say
            app()
    except Exception as error:
        from isonn.errors import IsoNNError

        if not isinstance(error, (IsoNNError, OSError)):
            raise
        print(f"isonn: {error}", file=sys.stderr)
        raise SystemExit(2) from None
