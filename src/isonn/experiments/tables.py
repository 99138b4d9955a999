"""Results as a table: per method the mean and the standard deviation over seeds, in percent."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from isonn.experiments.run import Task
from isonn.experiments.spec import Printed, Spec

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Spread:
    """A metric over seeds, in percent; a seed's value is the mean over its folds.

    Attributes:
        sd: with one degree of freedom less than seeds; None for one seed.
        by_seed: the values themselves.
    """

    mean: float
    sd: float | None
    by_seed: Mapping[int, float]

    def __str__(self) -> str:
        return f"{self.mean:.1f}" if self.sd is None else f"{self.mean:.1f} ± {self.sd:.1f}"


@dataclass(frozen=True)
class Row:
    """One method with its settings on one dataset.

    Attributes:
        accuracy, f1: over the seeds whose folds are all finished; None when there is none.
        printed: the paper's numbers for these settings, or None.
        fit_seconds: mean over tasks.
        tasks, finished: how many were asked for, how many have a result.
        errors: why tasks failed, each sentence once.
    """

    dataset: str
    method: str
    settings: Mapping[str, Any]
    protocol: str
    accuracy: Spread | None
    f1: Spread | None
    printed: Printed | None
    fit_seconds: float | None
    tasks: int
    finished: int
    errors: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The row for JSON."""
        return {**asdict(self), "errors": list(self.errors)}


def summarize(
    tasks: Iterable[Task], results: Mapping[str, Mapping[str, Any]], errors: Mapping[str, str], spec: Spec
) -> list[Row]:
    """One row per dataset, method and settings, in the order of the tasks.

    Args:
        results, errors: by task id; a task may have neither.
        spec: where the printed numbers are.
    """
    groups: dict[tuple[str, str, str, str], list[Task]] = {}
    for task in tasks:
        key = (task.dataset, task.method, repr(sorted(task.settings.items())), task.protocol)
        groups.setdefault(key, []).append(task)
    return [_row(group, results, errors, spec) for group in groups.values()]


def _row(tasks: Sequence[Task], results: Mapping[str, Mapping[str, Any]], errors: Mapping[str, str], spec: Spec) -> Row:
    first = tasks[0]
    finished = [results[task.id] for task in tasks if task.id in results]
    return Row(
        dataset=first.dataset,
        method=first.method,
        settings=dict(first.settings),
        protocol=first.protocol,
        accuracy=_spread(tasks, results, "accuracy"),
        f1=_spread(tasks, results, "f1"),
        printed=spec.printed_for(first.dataset, first.method, first.settings),
        fit_seconds=statistics.fmean(r["timings"]["fit_seconds"] for r in finished) if finished else None,
        tasks=len(tasks),
        finished=len(finished),
        errors=tuple(dict.fromkeys(errors[task.id] for task in tasks if task.id in errors)),
    )


def _spread(tasks: Sequence[Task], results: Mapping[str, Mapping[str, Any]], metric: str) -> Spread | None:
    folds: dict[int, list[float | None]] = {}
    for task in tasks:
        result = results.get(task.id)
        folds.setdefault(task.seed, []).append(None if result is None else result["metrics"][metric])
    by_seed = {}
    for seed, values in folds.items():
        known = [value for value in values if value is not None]
        if len(known) == len(values):  # a seed with a fold missing would be compared on other graphs
            by_seed[seed] = 100 * statistics.fmean(known)
    if not by_seed:
        return None
    sd = statistics.stdev(by_seed.values()) if len(by_seed) > 1 else None
    return Spread(statistics.fmean(by_seed.values()), sd, by_seed)


def render(rows: Sequence[Row]) -> Table:
    """The rows for a terminal; `failures` says why a row is incomplete."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in ("method", "accuracy", "F1", "the paper", "s per fit"):
        # where the terminal is narrow, settings go over two lines; a number is never cut
        table.add_column(heading, justify="left" if heading == "method" else "right", no_wrap=heading != "method")
    for row in rows:
        settings = ", ".join(f"{key}={value}" for key, value in row.settings.items())
        cells = [
            f"{row.method} ({settings})" if settings else row.method,
            str(row.accuracy or "failed"),
            str(row.f1 or "failed"),
            f"{row.printed.accuracy:.1f} / {row.printed.f1:.1f}" if row.printed else "-",
            f"{row.fit_seconds:.3f}" if row.fit_seconds is not None else "-",
        ]
        table.add_row(*map(Text, cells))  # Text: brackets in a setting are no markup
    return table


def failures(rows: Sequence[Row]) -> list[str]:
    """One sentence per row that is incomplete."""
    return [
        f"{row.method} failed in {row.tasks - row.finished} of {row.tasks} tasks: {row.errors[0]}"
        + (f" (and {len(row.errors) - 1} other errors)" if len(row.errors) > 1 else "")
        for row in rows
        if row.errors
    ]
