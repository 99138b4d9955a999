"""Results as rows: per method the mean over seeds with its spread, and whether it differs from IsoNN's."""

from __future__ import annotations

import csv
import io
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from isonn.experiments.jobs import Job
from isonn.experiments.spec import Printed, Spec, Sweep
from isonn.experiments.statistics import SIGNIFICANT, corrected_t_test, interval

if TYPE_CHECKING:
    from rich.table import Table

#: The method every other is compared with.
REFERENCE = "isonn"
#: A loss has settled when what is left to fall is less than this share of its whole fall.
SETTLED = 0.05
LAST = 0.8

Results = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Spread:
    """A metric over seeds, in percent; a seed's value is the mean over its folds.

    Attributes:
        sd: with one degree of freedom less than seeds; None for one seed.
        by_seed: the values themselves.
        interval: 95 % interval of the mean (see `statistics.interval`), as far as it is within 0 and 100; None for
            one seed.
    """

    mean: float
    sd: float | None
    by_seed: Mapping[int, float]
    interval: tuple[float, float] | None = None

    def __str__(self) -> str:
        return f"{self.mean:.1f}" if self.sd is None else f"{self.mean:.1f} ± {self.sd:.1f}"


@dataclass(frozen=True)
class Row:
    """One method with its settings on one dataset.

    Attributes:
        accuracy, f1: over the seeds whose folds are all finished; None when there is none.
        printed: the paper's numbers for these settings, or None.
        fit_seconds: median over jobs: neither the one that loaded the libraries nor one that was paused counts.
        jobs, finished: how many were asked for, how many have a result.
        errors: why jobs failed, each sentence once.
        p: of the test whether accuracy differs from IsoNN's on this dataset; None where there is nothing to compare.
        flip_rate: percent of predictions that change when test graphs are relabelled, mean over jobs.
        candidates: how many settings there were to choose from.
        chosen: how often each was, most often first.
        loss: mean training loss by epoch, where it was asked for.
        absent: why there is no result and none was asked for ("data not public").
        warned: how many jobs isonn warned in.
        warnings: what of, each sentence with the number of jobs, most often first.
        sources: the versions of isonn the results are of, with their commit if known, and how many are of each.
    """

    dataset: str
    method: str
    settings: Mapping[str, Any]
    protocol: str
    accuracy: Spread | None
    f1: Spread | None
    printed: Printed | None
    fit_seconds: float | None
    jobs: int
    finished: int
    errors: tuple[str, ...]
    p: float | None = None
    flip_rate: float | None = None
    candidates: int = 0
    chosen: tuple[tuple[str, int], ...] = ()
    loss: tuple[float, ...] | None = None
    absent: str = ""
    warned: int = 0
    warnings: tuple[tuple[str, int], ...] = ()
    sources: tuple[tuple[str, int], ...] = ()

    @property
    def settings_text(self) -> str:
        """The settings for people; of those that were chosen, how many there were."""
        text = in_words(self.settings)
        if not self.candidates:
            return text
        return f"{text}{', ' if text else ''}chosen of {self.candidates}"

    @property
    def settled(self) -> int | None:
        """The epoch (from 1) after which the loss falls by less than a twentieth of its whole fall.

        None for a loss that still fell in the last fifth of its epochs: where it ends is not known.
        """
        if not self.loss:
            return None
        limit = self.loss[-1] + SETTLED * (max(self.loss) - self.loss[-1])
        above = [epoch for epoch, loss in enumerate(self.loss, start=1) if loss > limit]
        settled = above[-1] + 1 if above else 1
        return settled if settled <= LAST * len(self.loss) else None

    def as_dict(self) -> dict[str, Any]:
        """The row for JSON."""
        content = {**asdict(self), "errors": list(self.errors)}
        content |= {"chosen": dict(self.chosen), "warnings": dict(self.warnings), "sources": dict(self.sources)}
        if self.loss is not None:
            content |= {"loss": list(self.loss), "settled": self.settled}
        return content


def in_words(settings: Mapping[str, Any]) -> str:
    """``k=4, c=1``."""
    return ", ".join(f"{key}={value}" for key, value in settings.items())


def summarize(
    jobs: Iterable[Job], results: Results, errors: Mapping[str, str], spec: Spec, losses: bool = False
) -> list[Row]:
    """One row per dataset, method and settings, in the order of the jobs.

    Args:
        results, errors: by job id; a job may have neither.
        spec: where the printed numbers are.
        losses: whether rows hold the training loss.
    """
    groups: dict[tuple[str, str, str, str], list[Job]] = {}
    for job in jobs:
        settings = repr((sorted(job.settings.items()), job.candidates))
        groups.setdefault((job.dataset, job.method, settings, job.protocol), []).append(job)
    # where IsoNN is there with several settings, as in a sweep, there is no one row to compare with
    references: dict[tuple[str, str], list[list[Job]]] = {}
    for (dataset, method, _, protocol), group in groups.items():
        if method == REFERENCE:
            references.setdefault((dataset, protocol), []).append(group)
    rows = []
    for (dataset, _, _, protocol), group in groups.items():
        row = _row(group, results, errors, spec, losses)
        found = references.get((dataset, protocol), [])
        if len(found) == 1 and found[0] is not group:
            row = replace(row, p=_compared(group, found[0], results))
        rows.append(row)
    return rows


def absent_rows(dataset: str, methods: Iterable[str], spec: Spec, why: str) -> list[Row]:
    """Rows of a dataset that cannot be had: the paper's numbers, and why there are none of ours."""
    return [
        Row(
            dataset=dataset,
            method=method,
            settings={},
            protocol=spec.protocol,
            accuracy=None,
            f1=None,
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
    """One sentence per row that is incomplete."""
    several = len({row.dataset for row in rows}) > 1
    return [
        f"{row.method}{f' on {row.dataset}' if several else ''} failed in {row.jobs - row.finished} of {row.jobs} "
        f"jobs: {row.errors[0]}" + (f" (and {len(row.errors) - 1} other errors)" if len(row.errors) > 1 else "")
        for row in rows
        if row.errors
    ]


def remarks(rows: Sequence[Row]) -> list[str]:
    """What else a reader of the rows should know: what was warned of, and whether several versions made them."""
    several = len({row.dataset for row in rows}) > 1
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
    """Which rows, by number, may be set in bold.

    Of each dataset, the row with the highest mean accuracy, provided the test tells it from IsoNN's (p < 0.05); is
    it IsoNN's own, provided the test tells every other row from it. No test, no bold.
    """
    bold = set()
    for dataset in dict.fromkeys(row.dataset for row in rows):
        own = [(i, row) for i, row in enumerate(rows) if row.dataset == dataset]
        judged = [(i, row, row.accuracy.mean) for i, row in own if row.accuracy is not None]
        if len(judged) < 2:
            continue
        best, row, _ = max(judged, key=lambda entry: entry[2])
        told = [other.p for _, other, _ in judged if other.method != REFERENCE] if row.method == REFERENCE else [row.p]
        if told and all(p is not None and p < SIGNIFICANT for p in told):
            bold.add(best)
    return bold


def _row(jobs: Sequence[Job], results: Results, errors: Mapping[str, str], spec: Spec, losses: bool) -> Row:
    first = jobs[0]
    finished = [results[job.id] for job in jobs if job.id in results]
    flips = [result["audit"]["flip_rate"] for result in finished if "audit" in result]
    chosen = Counter(in_words(result["chosen"]) for result in finished if "chosen" in result)
    warnings = Counter(sentence for result in finished for sentence in result.get("warnings", ()))
    sources = Counter(_source(result) for result in finished)
    printed = spec.printed_for(first.dataset, first.method, first.settings)
    if first.candidates:  # whatever is chosen, it is the method the paper has a number for
        printed = spec.printed.get(first.dataset, {}).get(first.method)
    return Row(
        dataset=first.dataset,
        method=first.method,
        settings=dict(first.settings),
        protocol=first.protocol,
        accuracy=_spread(jobs, results, "accuracy"),
        f1=_spread(jobs, results, "f1"),
        printed=printed,
        fit_seconds=statistics.median(r["timings"]["fit_seconds"] for r in finished) if finished else None,
        jobs=len(jobs),
        finished=len(finished),
        errors=tuple(dict.fromkeys(errors[job.id] for job in jobs if job.id in errors)),
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


def _spread(jobs: Sequence[Job], results: Results, metric: str) -> Spread | None:
    folds: dict[int, list[float | None]] = {}
    for job in jobs:
        result = results.get(job.id)
        folds.setdefault(job.seed, []).append(None if result is None else result["metrics"][metric])
    by_seed = {}
    for seed, values in folds.items():
        known = [value for value in values if value is not None]
        if len(known) == len(values):  # a seed with a fold missing would be compared on other graphs
            by_seed[seed] = 100 * statistics.fmean(known)
    if not by_seed:
        return None
    values_by_seed = list(by_seed.values())
    sd = statistics.stdev(values_by_seed) if len(by_seed) > 1 else None
    found = interval(values_by_seed)
    within = None if found is None else (max(0.0, found[0]), min(100.0, found[1]))
    return Spread(statistics.fmean(values_by_seed), sd, by_seed, within)


def _compared(jobs: Sequence[Job], reference: Sequence[Job], results: Results) -> float | None:
    """The p of the difference in accuracy, over every seed and fold that both have finished.

    Where seeds share their test graphs (folds released with the data) they are repetitions of one measurement, and
    their mean is the difference there.
    """
    theirs = {(job.seed, job.fold): results[job.id] for job in reference if job.id in results}
    pairs = [
        (results[job.id], theirs[job.seed, job.fold])
        for job in jobs
        if job.id in results and (job.seed, job.fold) in theirs
    ]
    if not pairs:
        return None
    by_test: dict[tuple[int, ...], list[float]] = {}
    for one, other in pairs:
        difference = one["metrics"]["accuracy"] - other["metrics"]["accuracy"]
        by_test.setdefault(tuple(sorted(one["test"])), []).append(difference)
    differences = [statistics.fmean(repeated) for repeated in by_test.values()]
    return corrected_t_test(differences, statistics.fmean(one["n_test"] / one["n_train"] for one, _ in pairs))


def _loss(finished: Sequence[Mapping[str, Any]]) -> tuple[float, ...] | None:
    """The mean over jobs, as far as all of them were trained; to six digits, for what comes after is noise."""
    curves = [result["loss"] for result in finished if result.get("loss")]
    if not curves:
        return None
    return tuple(float(f"{statistics.fmean(epoch):.6g}") for epoch in zip(*curves, strict=False))


# Rows for people and for other programs: a terminal, Markdown, CSV.


#: What columns mean, for the foot of a table.
_LEGEND = {
    "95 %": "interval of the mean over seeds",
    "p": "corrected resampled t-test of the accuracy against isonn's",
    "flips": "percent of predictions that change when nodes are relabelled",
    "settled": "epoch after which the loss falls by less than a twentieth of its whole fall",
}


_ALWAYS = ("method", "accuracy", "F1", "s/fit")


def cells(rows: Sequence[Row], leave_out: Collection[str] = ()) -> tuple[list[str], list[list[str]]]:
    """Headings and cells; a column nothing is known for is left out.

    Args:
        leave_out: headings of columns that are not wanted.
    """
    columns: list[tuple[str, list[str]]] = [
        ("method", [f"{row.method} ({row.settings_text})" if row.settings_text else row.method for row in rows]),
        ("seeds", _seeds(rows)),
        ("accuracy", [_mean(row, row.accuracy) for row in rows]),
        ("95 %", [_interval(row.accuracy) for row in rows]),
        ("F1", [_mean(row, row.f1) if not row.absent else "-" for row in rows]),
        ("paper", [f"{row.printed.accuracy:.1f}" if row.printed else "-" for row in rows]),
        ("paper's F1", [f"{row.printed.f1:.1f}" if row.printed else "-" for row in rows]),
        ("p", [_p(row.p) for row in rows]),
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


def _seeds(rows: Sequence[Row]) -> list[str]:
    """How many seeds each row has, where they differ."""
    counts = [len(row.accuracy.by_seed) if row.accuracy is not None else 0 for row in rows]
    known = [count for count in counts if count]
    return [str(count) if count and len(set(known)) > 1 else "-" for count in counts]


def legend(rows: Sequence[Row]) -> list[str]:
    """One line that says what the less common columns of these rows mean; none where there are no such columns."""
    shown = [f"{name}: {_LEGEND[name]}" for name in cells(rows)[0] if name in _LEGEND] if rows else []
    return ["; ".join(shown) + "."] if shown else []


def render(rows: Sequence[Row], width: int | None = None) -> Table:
    """The rows for a terminal; `tables.failures` says why a row is incomplete.

    Args:
        width: of the terminal; where it is too narrow, columns are left out, and settings go over several lines.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    hidden = ["paper's F1"]
    headings, lines = cells(rows, hidden)
    for name in ("95 %", "settled", "s/fit", "flips", "F1", "seeds"):
        if width is not None and _width(headings, lines) > width:
            hidden.append(name)
            headings, lines = cells(rows, hidden)
    for heading in headings:
        if heading == "method":
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(*map(Text, line))  # Text: brackets in a setting are no markup
    return table


def _width(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> int:
    """What a table needs: its numbers and the names of its methods whole; settings can be broken anywhere."""
    names = [line[0].partition(" ")[0] for line in lines]
    numbers = [max(len(cell) for cell in column) for column in zip(headings, *lines, strict=True)][1:]
    return max(map(len, names), default=0) + sum(numbers) + 2 * len(numbers)


def markdown(rows: Sequence[Row]) -> str:
    """The rows as a table; bold as `tables.outstanding` says."""
    headings, lines = cells(rows)
    bold = outstanding(rows)
    text = [_line(headings), _line(["---" if heading == "method" else "---:" for heading in headings])]
    for i, line in enumerate(lines):
        marked = (
            f"**{cell}**" if i in bold and name == "accuracy" else cell
            for name, cell in zip(headings, line, strict=True)
        )
        text.append(_line(list(marked)))
    return "\n".join(text) + "\n"


def findings(sweep: Sweep, rows: Sequence[Row]) -> list[str]:
    """What the figure shows in words, beside what the paper says of its own; one sentence per dataset."""
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
    """The rows of several parts, one a line, with numbers as they are."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head = [f"{metric}_{number}" for metric in ("accuracy", "f1") for number in _NUMBERS]
    tail = ["paper_accuracy", "paper_f1", "p", "flip_rate", "fit_seconds", "settled", "jobs", "finished", "note"]
    writer.writerow(["part", "dataset", "method", "settings", "protocol", *head, *tail])
    for part, rows in parts:
        for row in rows:
            printed = (row.printed.accuracy, row.printed.f1) if row.printed else (None, None)
            note = row.absent or "; ".join(row.errors)
            measured: list[Any] = [*_numbers(row.accuracy), *_numbers(row.f1), *printed, row.p, row.flip_rate]
            writer.writerow(
                [part, row.dataset, row.method, row.settings_text, row.protocol]
                + ["" if value is None else value for value in [*measured, row.fit_seconds, row.settled]]
                + [row.jobs, row.finished, note]
            )
    return out.getvalue()


def _mean(row: Row, spread: Spread | None) -> str:
    return str(spread or row.absent or "failed")


def _interval(spread: Spread | None) -> str:
    if spread is None or spread.interval is None:
        return "-"
    return f"{spread.interval[0]:.1f}, {spread.interval[1]:.1f}"


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
