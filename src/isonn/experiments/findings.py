"""What a study shows, in sentences beside what the publication says about its figure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from isonn.experiments.rows import Row, Spread
from isonn.experiments.spec import Sweep

#: Seeds below which a sentence does not tell neighbouring points apart.
FEW_SEEDS = 5
#: Times are linear in a setting if a straight line leaves less than this share of their variance.
UNEXPLAINED = 0.05
#: Times that differ by less than this factor count as equal.
EQUAL_TIMES = 1.1


def findings(sweep: Sweep, rows: Sequence[Row]) -> list[str]:
    """Compare a figure with the publication's, in one sentence per dataset or setting.

    Args:
        rows: the rows of the figure on all its datasets.
    """
    sentences = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        of_dataset = [row for row in rows if row.dataset == dataset]
        if sweep.measure == "loss":
            sentences += [_settled(row, sweep.paper.get(dataset)) for row in of_dataset if row.loss is not None]
        elif sweep.measure == "accuracy" and sweep.vary is not None:
            sentences += _best(sweep, [row for row in of_dataset if row.method == of_dataset[0].method])
        elif sweep.measure == "seconds" and sweep.vary is not None:
            timed = [row for row in of_dataset if row.fit_seconds is not None]
            sentences += _growth(sweep, dataset, timed)
            sentences += _ahead(sweep, timed)
    return sentences


def _settled(row: Row, paper: float | None) -> str:
    beside = "" if paper is None else f"; the paper's: {paper}"
    if row.settled is None:
        return f"{row.dataset}: the loss still falls at epoch {len(row.loss or ())}{beside}"
    later = ", later than the paper says" if paper is not None and row.settled > paper else ""
    return f"{row.dataset}: the loss settles by epoch {row.settled}{later}{beside}"


def _best(sweep: Sweep, rows: Sequence[Row]) -> list[str]:
    """Name the best value, and say whether the publication's value can be told from it."""
    judged = {row.settings[str(sweep.vary)]: row.accuracy for row in rows if row.accuracy is not None}
    if not judged:
        return []
    value, best = max(judged.items(), key=lambda item: item[1].mean)
    text = f"{rows[0].dataset}: best {sweep.vary} = {value} ({best})"
    paper = sweep.paper.get(rows[0].dataset)
    if paper is not None:
        text += f"; the paper's: {paper}, {_beside(best, judged.get(paper))}"
    if min(len(spread.by_seed) for spread in judged.values()) < FEW_SEEDS:
        text += f"; fewer than {FEW_SEEDS} seeds tell no two values apart"
    return [text]


def _beside(best: Spread, theirs: Spread | None) -> str:
    """Say how far the publication's best value is from ours."""
    if theirs is None:
        return "not measured"
    if theirs is best:
        return "the same"
    apart = best.mean - theirs.mean
    spreads = [spread.sd for spread in (best, theirs) if spread.sd is not None]
    if not spreads:
        return f"{apart:.1f} points less"
    return f"{apart:.1f} points less, {'less' if apart < max(spreads) else 'more'} than a standard deviation"


def _growth(sweep: Sweep, dataset: str, rows: Sequence[Row]) -> list[str]:
    """Say how the time of each method grows with the setting."""
    sentences = []
    for method in dict.fromkeys(row.method for row in rows):
        points = [
            (float(row.settings[str(sweep.vary)]), row.fit_seconds or 0.0) for row in rows if row.method == method
        ]
        if len(points) < 3:
            continue
        (first, start), (last, end) = points[0], points[-1]
        if sweep.vary == "k":
            factor = (end / start) ** (1 / (last - first))
            exact = (math.factorial(int(last)) / math.factorial(int(first))) ** (1 / (last - first))
            verdict = "as the permutations do" if factor > exact / 2 else "far less than the permutations"
            sentences.append(
                f"{method} on {dataset}: time grows by a factor of {factor:.2f} per node from k = {first:g} to "
                f"{last:g}, {verdict} ({exact:.1f})"
            )
        else:
            r = 1 if len({time for _, time in points}) == 1 else statistics.correlation(*zip(*points, strict=True))
            linear = "linear" if 1 - r * r < UNEXPLAINED else "not linear"
            slope = (end - start) / (last - first)
            sentences.append(f"{method} on {dataset}: {linear} in {sweep.vary}, {slope:.2g} s per fit and {sweep.vary}")
    return sentences


def _ahead(sweep: Sweep, rows: Sequence[Row]) -> list[str]:
    """Say for which values IsoNN-fast takes less time than IsoNN, per training epoch."""
    times = {(row.method, row.settings[str(sweep.vary)]): row.fit_seconds or 0.0 for row in rows}
    values = [value for value in sweep.values if ("isonn", value) in times and ("isonn-fast", value) in times]
    if not values:
        return []
    ahead = [v for v in values if times["isonn", v] > EQUAL_TIMES * times["isonn-fast", v]]
    behind = [v for v in values if times["isonn-fast", v] > EQUAL_TIMES * times["isonn", v]]
    parts = [
        f"{who} is ahead at {sweep.vary} = {', '.join(map(str, where))}"
        for who, where in (("fast", ahead), ("exact", behind))
        if where
    ]
    rest = len(values) - len(ahead) - len(behind)
    return [f"A training epoch, forward and backward: {'; '.join(parts) or 'no difference'}; equal at {rest} others"]
