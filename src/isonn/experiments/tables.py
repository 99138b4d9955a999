"""Tables of results: per method the mean over seeds, its spread, and a test against a reference method."""

from __future__ import annotations

import csv
import io
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from isonn.experiments.jobs import Job
from isonn.experiments.metrics import METRICS, shown
from isonn.experiments.protocols import find_protocol
from isonn.experiments.spec import Printed, Spec, Sweep
from isonn.experiments.statistics import SIGNIFICANT, corrected_interval, corrected_t_test, interval

if TYPE_CHECKING:
    from rich.table import Table

#: Reference methods, in order of preference; a table uses the first that it contains.
REFERENCES = ("isonn-aligned", "isonn", "isonn-subgraph")
#: The same for the paper's tables.
PAPER_REFERENCES = ("isonn", "isonn-subgraph")
#: The target name of a row with the mean over targets.
MEAN = "(mean)"
#: A loss has settled when the rest of its decrease is less than this share of the total decrease.
SETTLED = 0.05
LAST = 0.8

Results = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Spread:
    """A metric over seeds, in percent if it is a share; the value of a seed is the mean over its folds.

    Attributes:
        sd: standard deviation with n - 1 degrees of freedom; None for one seed.
        by_seed: the value of each seed.
        interval: 95 % interval of the mean: over seeds (`statistics.interval`), or, for one seed, over its folds
            (`statistics.corrected_interval`); None for one value.
        digits: number of decimals shown.
    """

    mean: float
    sd: float | None
    by_seed: Mapping[int, float]
    interval: tuple[float, float] | None = None
    digits: int = 1

    def __str__(self) -> str:
        return self.text(self.mean) if self.sd is None else f"{self.text(self.mean)} ± {self.text(self.sd)}"

    def text(self, value: float) -> str:
        """Format a value with the digits of this metric."""
        return f"{value:.{self.digits}f}"


@dataclass(frozen=True)
class Row:
    """One method with its settings on one dataset.

    Attributes:
        metrics: the metrics by name, over the seeds whose folds are all finished; the first one is tested.
        target: the name of the target, `MEAN` for the mean of several, "" if there is only one.
        printed: the paper's numbers for these settings, or None.
        fit_seconds: median fit time over jobs, which ignores import time and pauses.
        jobs, finished: number of jobs planned, and number with a result.
        errors: the distinct errors of failed jobs.
        p: p-value of the difference in the first metric from the reference; None if they cannot be compared.
        against: the reference method.
        permutation_p: share of permuted targets with at least as good a result; None if none were run.
        flip_rate: mean percentage of predictions that change when test graphs are relabelled.
        candidates: number of settings to choose from.
        chosen: how often each setting was chosen, most frequent first.
        loss: mean training loss by epoch, if requested.
        absent: why no result was requested, such as "data not public".
        warned: number of jobs with warnings.
        warnings: each warning with its number of jobs, most frequent first.
        sources: the number of results per isonn version, with the commit if known.
    """

    dataset: str
    method: str
    settings: Mapping[str, Any]
    protocol: str
    metrics: Mapping[str, Spread]
    printed: Printed | None
    fit_seconds: float | None
    jobs: int
    finished: int
    errors: tuple[str, ...]
    target: str = ""
    p: float | None = None
    against: str = ""
    permutation_p: float | None = None
    flip_rate: float | None = None
    candidates: int = 0
    chosen: tuple[tuple[str, int], ...] = ()
    loss: tuple[float, ...] | None = None
    absent: str = ""
    warned: int = 0
    warnings: tuple[tuple[str, int], ...] = ()
    sources: tuple[tuple[str, int], ...] = ()

    @property
    def accuracy(self) -> Spread | None:
        """Accuracy in percent."""
        return self.metrics.get("accuracy")

    @property
    def f1(self) -> Spread | None:
        """F1 in percent."""
        return self.metrics.get("f1")

    @property
    def first(self) -> Spread | None:
        """The metric that is tested."""
        return next(iter(self.metrics.values()), None)

    @property
    def larger(self) -> bool:
        """Whether larger values of the first metric are better."""
        return METRICS[next(iter(self.metrics), "accuracy")].larger

    @property
    def settings_text(self) -> str:
        """The settings as text, with the number of candidates if they were chosen."""
        text = in_words(self.settings)
        if not self.candidates:
            return text
        return f"{text}{', ' if text else ''}chosen from {self.candidates}"

    @property
    def settled(self) -> int | None:
        """The epoch (from 1) after which the loss decreases by less than 5 % of its total decrease.

        None if it still decreased in the last fifth of the epochs.
        """
        if not self.loss:
            return None
        limit = self.loss[-1] + SETTLED * (max(self.loss) - self.loss[-1])
        above = [epoch for epoch, loss in enumerate(self.loss, start=1) if loss > limit]
        settled = above[-1] + 1 if above else 1
        return settled if settled <= LAST * len(self.loss) else None

    def as_dict(self) -> dict[str, Any]:
        """Return the row for JSON."""
        content = {**asdict(self), "errors": list(self.errors)}
        content |= {name: content["metrics"].get(name) for name in ("accuracy", "f1")}
        content |= {"chosen": dict(self.chosen), "warnings": dict(self.warnings), "sources": dict(self.sources)}
        if self.loss is not None:
            content |= {"loss": list(self.loss), "settled": self.settled}
        return content


def in_words(settings: Mapping[str, Any]) -> str:
    """Format settings as ``k=4, c=1``."""
    return ", ".join(f"{key}={value}" for key, value in settings.items())


def summarize(
    jobs: Iterable[Job], results: Results, errors: Mapping[str, str], spec: Spec, losses: bool = False
) -> list[Row]:
    """Make one row per dataset, method, settings and target, in the order of the jobs.

    With several targets, each has a row, and their mean comes last. Jobs with permuted targets have no rows; they
    determine the ``permutation_p`` of their method. Jobs of learning curves have no rows; see `learning_curve`.

    Args:
        results, errors: results and errors by job id; a job may have neither.
        spec: the source of the printed numbers.
        losses: whether rows include the training loss.
    """
    groups: dict[tuple[str, str, str, str], list[Job]] = {}
    permuted: dict[tuple[str, str, str, str], list[Job]] = {}
    for job in (job for job in jobs if job.share == 1):
        settings = repr((sorted(job.settings.items()), job.candidates))
        key = (job.dataset, job.method, settings, job.protocol)
        (permuted if job.permutation else groups).setdefault(key, []).append(job)
    references = _references(groups)
    rows = []
    for key, group in groups.items():
        reference = references.get((group[0].dataset, group[0].protocol))
        for target in _targets(group, results):
            row = _row(group, results, errors, spec, losses, target)
            if reference is not None and reference is not group:
                p = _compared(group, reference, results, row)
                row = replace(row, p=p, against=reference[0].method)
            if key in permuted:
                row = replace(row, permutation_p=_permutation_p(group, permuted[key], results, row))
            rows.append(row)
    if any(row.target for row in rows):  # grouped by target, with the methods next to each other
        order = {target: place for place, target in enumerate(dict.fromkeys(row.target for row in rows))}
        rows.sort(key=lambda row: (row.dataset, order[row.target]))
    return rows


def learning_curve(jobs: Iterable[Job], results: Results, metric: str) -> dict[int, float]:
    """Return the mean of a metric by number of training graphs (mean over folds); {} if there is only one number.

    Args:
        jobs: the jobs of one row, of every share.
    """
    shares: dict[float, list[Job]] = {}
    for job in jobs:
        if not job.permutation:
            shares.setdefault(job.share, []).append(job)
    points = {}
    for _, own in sorted(shares.items()):
        found = [results[job.id] for job in own if job.id in results]
        values = [value for result in found if (value := shown(metric, result["metrics"])) is not None]
        if values and len(found) == len(own):  # with a fold missing, sizes would be compared on other graphs
            points[round(statistics.fmean(result["n_train"] for result in found))] = statistics.fmean(values)
    return points if len(points) > 1 else {}


def _references(groups: Mapping[tuple[str, str, str, str], list[Job]]) -> dict[tuple[str, str], list[Job]]:
    """Return the jobs of the reference method by dataset and protocol.

    None if it has several settings, as in a sweep.
    """
    found: dict[tuple[str, str], list[Job]] = {}
    for dataset, protocol in {(dataset, protocol) for dataset, _, _, protocol in groups}:
        for method in PAPER_REFERENCES if protocol == "paper" else REFERENCES:
            own = [group for key, group in groups.items() if (key[0], key[1], key[3]) == (dataset, method, protocol)]
            if own:
                if len(own) == 1:
                    found[dataset, protocol] = own[0]
                break
    return found


def _targets(group: Sequence[Job], results: Results) -> list[str]:
    """Return the targets of a method's results: "" for one target, else each name and `MEAN`."""
    names: list[str] = next((results[job.id]["targets"] for job in group if "targets" in results.get(job.id, {})), [])
    return [*names, MEAN] if len(names) > 1 else names or [""]


def absent_rows(dataset: str, methods: Iterable[str], spec: Spec, why: str) -> list[Row]:
    """Return rows for a dataset that cannot be loaded, with the paper's numbers and the reason."""
    return [
        Row(
            dataset=dataset,
            method=method,
            settings={},
            protocol=spec.protocol,
            metrics={},
            printed=printed,
            fit_seconds=None,
            jobs=0,
            finished=0,
            errors=(),
            absent=why,
        )
        for method in methods
        if (printed := spec.printed.get(dataset, {}).get(method)) is not None
    ]


def failures(rows: Sequence[Row]) -> list[str]:
    """Return one sentence per incomplete row."""
    several = len({row.dataset for row in rows}) > 1
    rows = [row for row in rows if row.target in ("", MEAN)] or rows
    return [
        f"{row.method}{f' on {row.dataset}' if several else ''} failed in {row.jobs - row.finished} of {row.jobs} "
        f"jobs: {row.errors[0]}" + (f" (and {len(row.errors) - 1} other errors)" if len(row.errors) > 1 else "")
        for row in rows
        if row.errors
    ]


def remarks(rows: Sequence[Row]) -> list[str]:
    """Return notes on the rows: warnings, and mixed versions of isonn."""
    several = len({row.dataset for row in rows}) > 1
    rows = [row for row in rows if row.target in ("", MEAN)] or rows
    said = [
        f"{row.method}{f' on {row.dataset}' if several else ''} warned in {row.warned} of {row.finished} jobs"
        f"{', such as' if len(row.warnings) > 1 else ''}: {row.warnings[0][0]}."
        for row in rows
        if row.warnings
    ]
    sources: Counter[str] = Counter()
    for row in rows:
        sources.update(dict(row.sources))
    if len(sources) > 1:
        parts = ", ".join(f"{name} ({number} jobs)" for name, number in sources.most_common())
        said.append(f"Results of several versions: {parts}.")
    return said


def outstanding(rows: Sequence[Row]) -> Collection[int]:
    """Return the indices of the rows to set in bold.

    For each dataset and target, this is the best row by the first metric if it differs significantly from the reference
    (p < 0.05). If the best row is the reference itself, every other row must differ from it. Without a test, nothing is
    bold.
    """
    bold = set()
    for group in dict.fromkeys((row.dataset, row.target) for row in rows):
        own = [(i, row) for i, row in enumerate(rows) if (row.dataset, row.target) == group]
        judged = [
            (i, row, row.first.mean if row.larger else -row.first.mean) for i, row in own if row.first is not None
        ]
        if len(judged) < 2:
            continue
        best, row, _ = max(judged, key=lambda entry: entry[2])
        references = {other.against for _, other, _ in judged if other.against}
        told = [other.p for _, other, _ in judged if other is not row] if row.method in references else [row.p]
        if told and all(p is not None and p < SIGNIFICANT for p in told):
            bold.add(best)
    return bold


def _row(
    jobs: Sequence[Job], results: Results, errors: Mapping[str, str], spec: Spec, losses: bool, target: str
) -> Row:
    first = jobs[0]
    finished = [results[job.id] for job in jobs if job.id in results]
    flips = [result["audit"]["flip_rate"] for result in finished if "audit" in result]
    chosen = Counter(in_words(result["chosen"]) for result in finished if "chosen" in result)
    warnings = Counter(sentence for result in finished for sentence in result.get("warnings", ()))
    sources = Counter(_source(result) for result in finished)
    printed = spec.printed_for(first.dataset, first.method, first.settings)
    if first.candidates:  # the paper's number applies to the method with any chosen settings
        printed = spec.printed.get(first.dataset, {}).get(first.method)
    return Row(
        dataset=first.dataset,
        method=first.method,
        settings=dict(first.settings),
        protocol=first.protocol,
        metrics=_metrics(jobs, results, target),
        printed=printed,
        fit_seconds=statistics.median(r["timings"]["fit_seconds"] for r in finished) if finished else None,
        jobs=len(jobs),
        finished=len(finished),
        errors=tuple(dict.fromkeys(errors[job.id] for job in jobs if job.id in errors)),
        target=target,
        flip_rate=100 * statistics.fmean(flips) if flips else None,
        candidates=len(first.candidates),
        chosen=_most_often_first(chosen),
        loss=_loss(finished) if losses else None,
        warned=sum("warnings" in result for result in finished),
        warnings=_most_often_first(warnings),
        sources=_most_often_first(sources),
    )


def _most_often_first(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


def _source(result: Mapping[str, Any]) -> str:
    version, commit = result.get("versions", {}).get("isonn", "of unknown version"), result.get("commit")
    return f"isonn {version}{f' at {commit}' if commit else ''}"


def _metrics(jobs: Sequence[Job], results: Results, target: str) -> dict[str, Spread]:
    """Return the metrics of the protocol that the results contain."""
    finished = [_scores(results[job.id], target) for job in jobs if job.id in results]
    kind = "numbers" if any("rmse" in scores for scores in finished) else "classes"
    spreads = ((name, _spread(jobs, results, name, target)) for name in find_protocol(jobs[0].protocol).metrics(kind))
    return {name: spread for name, spread in spreads if spread is not None}


def _scores(result: Mapping[str, Any], target: str) -> Mapping[str, Any]:
    scores: Mapping[str, Any] = (
        result["metrics"] if target in ("", MEAN) else result.get("by_target", {}).get(target, {})
    )
    return scores


def _spread(jobs: Sequence[Job], results: Results, metric: str, target: str) -> Spread | None:
    folds: dict[int, list[float | None]] = {}
    whole: dict[int, bool] = {}
    for job in jobs:
        result = results.get(job.id)
        whole[job.seed] = whole.get(job.seed, True) and result is not None
        value = None if result is None else shown(metric, _scores(result, target))
        folds.setdefault(job.seed, []).append(value)
    by_seed = {}
    for seed, values in folds.items():
        known = [value for value in values if value is not None]
        if whole[seed] and known:  # seeds with a missing fold would be compared on other graphs
            by_seed[seed] = statistics.fmean(known)
    if not by_seed:
        return None
    values_by_seed = list(by_seed.values())
    found = interval(values_by_seed)
    if found is None:
        known = [value for value in folds[next(iter(by_seed))] if value is not None]
        found = corrected_interval(known, _test_to_train([results[job.id] for job in jobs if job.id in results]))
    percent = METRICS[metric].percent
    low, high = (limit * (100 if percent else 1) for limit in METRICS[metric].limits)
    return Spread(
        statistics.fmean(values_by_seed),
        statistics.stdev(values_by_seed) if len(by_seed) > 1 else None,
        by_seed,
        None if found is None else (max(low, found[0]), min(high, found[1])),
        1 if percent else 3,
    )


def _test_to_train(results: Sequence[Mapping[str, Any]]) -> float:
    return statistics.fmean(result["n_test"] / result["n_train"] for result in results)


def _compared(jobs: Sequence[Job], reference: Sequence[Job], results: Results, row: Row) -> float | None:
    """Return the p-value of the difference in the first metric, over all seeds and folds that both have finished.

    Seeds with the same test graphs (folds released with the data) repeat one measurement, so their mean is used.
    """
    metric = next(iter(row.metrics), None)
    theirs = {(job.seed, job.fold): results[job.id] for job in reference if job.id in results}
    pairs = [
        (results[job.id], theirs[job.seed, job.fold])
        for job in jobs
        if job.id in results and (job.seed, job.fold) in theirs
    ]
    if not pairs or metric is None:
        return None
    by_test: dict[tuple[int, ...], list[float]] = {}
    for one, other in pairs:
        ours, reference_value = _scores(one, row.target).get(metric), _scores(other, row.target).get(metric)
        if ours is not None and reference_value is not None:
            by_test.setdefault(tuple(sorted(one["test"])), []).append(ours - reference_value)
    differences = [statistics.fmean(repeated) for repeated in by_test.values()]
    return corrected_t_test(differences, _test_to_train([one for one, _ in pairs]))


def _permutation_p(jobs: Sequence[Job], permuted: Sequence[Job], results: Results, row: Row) -> float | None:
    """Return (1 + permutations at least as good) / (1 + permutations), by the first metric of seed 0."""
    metric = next(iter(row.metrics), None)
    if metric is None:
        return None
    values: dict[int, list[float]] = {}
    for job in [*(job for job in jobs if job.seed == 0), *permuted]:
        value = _scores(results[job.id], row.target).get(metric) if job.id in results else None
        if value is not None:
            values.setdefault(job.permutation, []).append(value)
    folds = len(values.get(0, ()))
    sign = 1 if METRICS[metric].larger else -1
    means = {number: sign * statistics.fmean(own) for number, own in values.items() if len(own) == folds}
    if 0 not in means or len(means) < 2:
        return None
    better = sum(mean >= means[0] - 1e-12 for number, mean in means.items() if number)
    return (1 + better) / len(means)


def _loss(finished: Sequence[Mapping[str, Any]]) -> tuple[float, ...] | None:
    """Return the mean loss over jobs, up to the shortest, rounded to six digits."""
    curves = [result["loss"] for result in finished if result.get("loss")]
    if not curves:
        return None
    return tuple(float(f"{statistics.fmean(epoch):.6g}") for epoch in zip(*curves, strict=False))


# Rows as text: for a terminal, Markdown, CSV.


#: Explanations of columns, shown below a table.
_LEGEND = {
    "p perm.": "share of permuted targets with at least as good a result",
    "flips": "percent of predictions that change when nodes are relabelled",
    "settled": "epoch after which the loss falls by less than 5 % of its total decrease",
    **{metric.heading: metric.about for metric in METRICS.values() if metric.about},
}


_ALWAYS = ("method", "s/fit")


def cells(rows: Sequence[Row], leave_out: Collection[str] = ()) -> tuple[list[str], list[list[str]]]:
    """Return headings and cells, without empty columns.

    Args:
        leave_out: headings of columns to omit.
    """
    columns: list[tuple[str, list[str]]] = [
        ("method", [f"{row.method} ({row.settings_text})" if row.settings_text else row.method for row in rows]),
        ("target", [row.target or "-" for row in rows]),
        ("seeds", _seeds(rows)),
    ]
    names = list(dict.fromkeys(name for row in rows for name in row.metrics)) or ["accuracy", "f1"]
    for place, name in enumerate(names):
        values = [_cell(row, name, place == 0) for row in rows]
        columns.append((METRICS[name].heading, values))
        if place == 0:
            columns.append(("95 %", [_interval(row.first) for row in rows]))
    columns += [
        ("paper", [f"{row.printed.accuracy:.1f}" if row.printed else "-" for row in rows]),
        ("paper's F1", [f"{row.printed.f1:.1f}" if row.printed else "-" for row in rows]),
        ("p", [_p(row.p) for row in rows]),
        ("p perm.", [_p(row.permutation_p) for row in rows]),
        ("flips", ["-" if row.flip_rate is None else f"{row.flip_rate:.1f}" for row in rows]),
        ("settled", ["-" if row.settled is None else str(row.settled) for row in rows]),
        ("s/fit", [_seconds(row.fit_seconds) for row in rows]),
    ]
    kept = [
        (name, column)
        for name, column in columns
        if name not in leave_out and (name in _ALWAYS or set(column) != {"-"})
    ]
    return [name for name, _ in kept], [list(line) for line in zip(*(column for _, column in kept), strict=True)]


def _cell(row: Row, name: str, first: bool) -> str:
    """Format a metric of a row; the first metric shows why there is no result."""
    spread = row.metrics.get(name)
    if spread is not None:
        return str(spread)
    return "-" if row.metrics or (row.absent and not first) else row.absent or "failed"


def _seeds(rows: Sequence[Row]) -> list[str]:
    """Return the number of seeds of each row, if they differ."""
    counts = [len(row.first.by_seed) if row.first is not None else 0 for row in rows]
    known = [count for count in counts if count]
    return [str(count) if count and len(set(known)) > 1 else "-" for count in counts]


def legend(rows: Sequence[Row], width: int | None = None) -> list[str]:
    """Explain the less common columns of these rows in one line, if there are any.

    Args:
        width: the width of the terminal that `render` leaves out columns for, or None for all columns.
    """
    if not rows:
        return []
    about = dict(_LEGEND)
    seeds = max((len(row.first.by_seed) for row in rows if row.first is not None), default=0)
    about["95 %"] = (
        "interval of the mean over seeds" if seeds > 1 else "interval over folds, corrected for their overlap"
    )
    first = next((METRICS[next(iter(row.metrics))].heading for row in rows if row.metrics), "accuracy")
    against = next((row.against for row in rows if row.against), "")
    about["p"] = f"corrected resampled t-test of the {first} against {against}"
    shown = [f"{name}: {about[name]}" for name in cells(rows, _hidden(rows, width))[0] if name in about]
    return ["; ".join(shown) + "."] if shown else []


def render(rows: Sequence[Row], width: int | None = None) -> Table:
    """Format the rows for a terminal.

    Args:
        width: width of the terminal; if it is too narrow, columns are omitted and settings are wrapped.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    headings, lines = cells(rows, ["paper's F1", *_hidden(rows, width)])
    for heading in headings:
        if heading == "method":
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(*map(Text, line))  # Text, so that brackets are not parsed as markup
    return table


def _hidden(rows: Sequence[Row], width: int | None) -> list[str]:
    """Return the columns that do not fit in the terminal."""
    hidden: list[str] = []
    headings, lines = cells(rows, ["paper's F1"])
    optional = [metric.heading for metric in reversed(METRICS.values()) if metric.heading != headings[1]]
    for name in ("settled", "s/fit", *optional, "95 %", "flips", "seeds"):
        if width is None or _width(headings, lines) <= width:
            break
        hidden.append(name)
        headings, lines = cells(rows, ["paper's F1", *hidden])
    return hidden


def _width(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> int:
    """Return the width of a table without wrapped numbers and method names; only settings can be wrapped."""
    names = [line[0].partition(" ")[0] for line in lines]
    numbers = [max(len(cell) for cell in column) for column in zip(headings, *lines, strict=True)][1:]
    return max(map(len, names), default=0) + sum(numbers) + 2 * len(numbers)


def markdown(rows: Sequence[Row]) -> str:
    """Format the rows as a Markdown table, with the rows of `outstanding` in bold."""
    headings, lines = cells(rows)
    first = next((METRICS[next(iter(row.metrics))].heading for row in rows if row.metrics), "")
    bold = outstanding(rows)
    text = [_line(headings), _line(["---" if heading == "method" else "---:" for heading in headings])]
    for i, line in enumerate(lines):
        marked = (
            f"**{cell}**" if i in bold and name == first else cell for name, cell in zip(headings, line, strict=True)
        )
        text.append(_line(list(marked)))
    return "\n".join(text) + "\n"


def curves_markdown(curves: Mapping[str, Mapping[int, float]], metric: str) -> str:
    """Format learning curves as an aligned Markdown table with a column per number of training graphs.

    Example:
        >>> print(curves_markdown({"size": {17: 81.4, 169: 85.1}, "majority": {169: 66.5}}, "accuracy"))
        | training graphs |   17 |  169 |
        | --------------- | ---: | ---: |
        | size            | 81.4 | 85.1 |
        | majority        |      | 66.5 |
    """
    steps = sorted({step for points in curves.values() for step in points})
    digits = 1 if METRICS[metric].percent else 3
    lines = [["training graphs", *map(str, steps)]]
    for name, points in curves.items():
        lines.append([name, *(f"{points[step]:.{digits}f}" if step in points else "" for step in steps)])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    return "\n".join(
        _line(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        )
        for line in lines
    )


def findings(sweep: Sweep, rows: Sequence[Row]) -> list[str]:
    """Compare a figure with the paper's, in one sentence per dataset."""
    sentences = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        own = [row for row in rows if row.dataset == dataset and row.method == rows[0].method]
        paper = sweep.paper.get(dataset)
        beside = "" if paper is None else f"; the paper's: {paper}"
        if sweep.measure == "loss":
            for row in own:
                if row.settled is not None:
                    sentences.append(f"{dataset}: the loss settles by epoch {row.settled}{beside}")
                elif row.loss is not None:
                    sentences.append(f"{dataset}: the loss still falls at epoch {len(row.loss)}{beside}")
        elif sweep.measure == "accuracy" and sweep.vary is not None:
            judged = [(row.accuracy.mean, row) for row in own if row.accuracy is not None]
            if judged:
                best = max(judged, key=lambda entry: entry[0])[1]
                sentences.append(
                    f"{dataset}: best {sweep.vary} = {best.settings[sweep.vary]} ({best.accuracy}){beside}"
                )
    return sentences


_NUMBERS = ("mean", "sd", "low", "high")


def as_csv(parts: Iterable[tuple[str, Sequence[Row]]]) -> str:
    """Format the rows of several parts as CSV, with unrounded numbers."""
    parts = [(part, list(rows)) for part, rows in parts]
    found = dict.fromkeys(name for _, rows in parts for row in rows for name in row.metrics)
    names = [name for name in METRICS if name in found or name in ("accuracy", "f1")]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head = [f"{metric}_{number}" for metric in names for number in _NUMBERS]
    tail = [
        "paper_accuracy",
        "paper_f1",
        "p",
        "permutation_p",
        "flip_rate",
        "fit_seconds",
        "settled",
        "jobs",
        "finished",
    ]
    writer.writerow(["part", "dataset", "method", "settings", "protocol", "target", *head, *tail, "note"])
    for part, rows in parts:
        for row in rows:
            printed = (row.printed.accuracy, row.printed.f1) if row.printed else (None, None)
            measured: list[Any] = [number for name in names for number in _numbers(row.metrics.get(name))]
            measured += [*printed, row.p, row.permutation_p, row.flip_rate, row.fit_seconds, row.settled]
            writer.writerow(
                [part, row.dataset, row.method, row.settings_text, row.protocol, row.target]
                + ["" if value is None else value for value in measured]
                + [row.jobs, row.finished, row.absent or "; ".join(row.errors)]
            )
    return out.getvalue()


def _interval(spread: Spread | None) -> str:
    if spread is None or spread.interval is None:
        return "-"
    return ", ".join(map(spread.text, spread.interval))


def _p(p: float | None) -> str:
    if p is None:
        return "-"
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0") if p < 0.9995 else "1"


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds:.0f}" if seconds >= 100 else f"{seconds:.1f}" if seconds >= 10 else f"{seconds:.3f}"


def _numbers(spread: Spread | None) -> list[float | None]:
    if spread is None:
        return [None] * len(_NUMBERS)
    low, high = spread.interval or (None, None)
    return [spread.mean, spread.sd, low, high]


def _line(parts: Iterable[str]) -> str:
    return "| " + " | ".join(part.replace("|", "\\|") for part in parts) + " |"
