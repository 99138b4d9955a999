"""Progress bars, shown only on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
