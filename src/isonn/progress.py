"""Progress bars and notes, shown only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: Called with the number of steps done and a short text that may change ("loss 0.412").
Report = Callable[[int, str], None]


_hidden = False


def hide(hidden: bool = True) -> None:
    """Hide progress bars; ``hide(False)`` shows them again."""
    global _hidden
    _hidden = hidden


def silent(done: int, text: str = "") -> None:
    """Report nothing."""


@contextmanager
def bar(title: str, total: int | None, show: bool = True) -> Iterator[Report]:
    """Show a progress bar with the remaining time on standard error, if that is a terminal.

    Args:
        total: total number of steps, or None if unknown.
    """
    if not show or _hidden:
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[text]}"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task(title, total=total, text="")

        def report(done: int, text: str = "") -> None:
            progress.update(task, completed=done, text=text)

        yield report


_announced: set[str] = set()


def announce(what: str, kernel: Any) -> None:
    """Print a note once that a numba kernel takes some seconds to compile, unless it is cached."""
    if what in _announced:
        return
    _announced.add(what)
    folder = kernel.stats.cache_path
    cached = folder is not None and any(Path(folder).glob(f"*.{kernel.py_func.__name__}-*.nbi"))
    if not cached and not kernel.signatures and sys.stderr.isatty():
        sys.stderr.write(f"isonn: compiling the loops that {what}, once, about ten seconds\n")
