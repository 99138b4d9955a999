"""What users at a terminal see while they wait: progress bars and notes. Elsewhere nothing is shown."""

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
    """Show no bars from now on; ``hide(False)`` shows them again."""
    global _hidden
    _hidden = hidden


def silent(done: int, text: str = "") -> None:
    """A report that shows nothing."""


@contextmanager
def bar(title: str, total: int | None, show: bool = True) -> Iterator[Report]:
    """A progress bar with the time left, on standard error; nothing when that is not a terminal.

    Args:
        total: steps in all, or None if unknown.
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
    """Say once that the first call of a numba kernel takes some seconds to compile, unless it is in the cache."""
    if what in _announced:
        return
    _announced.add(what)
    folder = kernel.stats.cache_path
    cached = folder is not None and any(Path(folder).glob(f"*.{kernel.py_func.__name__}-*.nbi"))
    if not cached and not kernel.signatures and sys.stderr.isatty():
        sys.stderr.write(f"isonn: compiling the loops that {what}, once, about ten seconds\n")
