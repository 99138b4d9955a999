"""The command line. Commands import heavy packages when they run, so that --help is fast."""

from __future__ import annotations

import errno
import importlib
import inspect
import os
import re
import signal
import sys
import threading
import warnings
from typing import Annotated, Any

import typer

from isonn.cli.data import app as data_app
from isonn.cli.options import Quiet, flag

#: Every command, in the order of `isonn --help`: a function in a file of the same name.
COMMANDS = "evaluate reproduce fit predict explain suggest findings alerts report dossier serve audit cost doctor"

app = typer.Typer(
    name="isonn",
    help="Predict classes and numbers for graphs and show the subgraphs behind each prediction.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


#: Printed by `isonn` without arguments.
START = """\
isonn evaluate DATA            how well methods predict DATA: MUTAG, data.csv, a folder
isonn fit DATA --out MODEL     train a model; then isonn explain MODEL DATA --graph 0 --out why.html
isonn --help                   every command; isonn doctor lists what is installed"""


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    show: Annotated[bool, flag(None, "Print the version and exit.", "--version")] = False,
    quiet: Quiet = False,
) -> None:
    """Predict classes and numbers for graphs and show the subgraphs behind each prediction."""
    if show:
        import isonn

        print(isonn.__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(START)
        raise typer.Exit
    _handle_signals()
    from isonn import progress

    progress.hide(quiet)  # an earlier command in this process may have hidden them


for name in COMMANDS.split():
    command = getattr(importlib.import_module(f"isonn.cli.{name}"), name)
    # a paragraph is one line, which the width of the terminal breaks
    app.command(help=re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.getdoc(command) or ""))(command)
app.add_typer(data_app, name="data", help="List, describe and fetch datasets.")


def _say(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Print a warning of isonn once, as a sentence; those of other libraries only if Python's options ask for them."""
    from isonn.errors import IsoNNWarning

    if issubclass(category, IsoNNWarning):
        if str(message) not in _said:  # files read twice warn twice
            print(f"isonn: {_as_options(str(message))}", file=sys.stderr)
        _said.add(str(message))
    elif sys.warnoptions:
        _SHOW(message, category, *where, **more)


_SHOW = warnings.showwarning
_said: set[str] = set()


def main() -> None:
    """Run the command line; an input error prints one sentence and exits with code 2."""
    _signals.clear()
    _said.clear()
    # joblib may warn at shutdown, after the block below
    warnings.filterwarnings("ignore", r"\d+ tasks (which were still|have been successfully)", UserWarning)
    before, sys.unraisablehook = sys.unraisablehook, _unraisable
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _say
            app()
    except KeyboardInterrupt:  # in commands that do not report what was kept
        raise SystemExit(130) from None
    except Exception as error:
        if _signals:  # a compiled module that is interrupted while it is imported says ImportError
            raise SystemExit(130) from None
        from isonn.errors import IsoNNError

        if not isinstance(error, (IsoNNError, OSError, MemoryError)):
            raise
        print(f"isonn: {_sentence(error)}", file=sys.stderr)
        raise SystemExit(2) from None
    finally:
        sys.unraisablehook = before


def _handle_signals() -> None:
    """Treat SIGTERM and SIGHUP like Ctrl-C: stop workers and keep finished work."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:  # as `isonn.__main__` leaves it
        signal.signal(signal.SIGINT, _stop)
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _interrupt)


#: Signals received by this process.
_signals: list[int] = []


def _stop(number: int, _: object) -> None:
    _signals.append(number)
    raise KeyboardInterrupt


def _interrupt(number: int, frame: object) -> None:
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a script started us in the background
        _stop(number, frame)
    signal.raise_signal(signal.SIGINT)


def _unraisable(what: Any) -> None:
    """Send a signal again that arrived where Python prints exceptions and goes on, as in a callback of the compiler."""
    if not issubclass(what.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(what)
        return
    again = threading.Timer(0.05, os.kill, (os.getpid(), _signals[-1] if _signals else signal.SIGINT))
    again.daemon = True
    again.start()


def _sentence(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return (
            f"there is not enough memory ({error or 'none is left'}); use smaller settings, or fewer or smaller graphs"
        )
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        where = f" of {error.filename}" if error.filename else ""
        return f"the disk{where} is full; finished work is kept, so free some space and run the same command again"
    return _as_options(str(error))


def _as_options(text: str) -> str:
    """Write options that a sentence names as in Python, such as ``skip_bad=True``, as those of a command.

    Example:
        >>> _as_options("give skip_bad=True, or values='weak=' to leave these out")
        "give --skip-bad, or --values 'weak=' to leave these out"
    """
    names = {"numbers=True": "--numbers", "numbers=False": "--classes", "skip_bad=True": "--skip-bad"}
    for parameter, option in names.items():
        text = text.replace(parameter, option)
    return re.sub(r"\b(smiles|target|standardize|censored|values|label|goal)=('[^']*')", r"--\1 \2", text)
