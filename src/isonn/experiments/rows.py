"""Rows of results: per method the mean over seeds, its spread, and a test against a reference method."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from isonn.experiments.jobs import Job
from isonn.experiments.protocols import find_protocol
from isonn.experiments.spec import Settings, Spec
from isonn.experiments.statistics import corrected_interval, corrected_t_test
from isonn.scores import METRICS, Metric, shown

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
        interval: 95 % interval of the mean over all folds of all seeds, corrected for training graphs that they share
            (`statistics.corrected_interval`); None for one fold.
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
        printed: the paper's accuracy and f1 for these settings, in percent, or None.
        fit_seconds: processor time of a fit, the median over jobs.
        jobs, finished: number of jobs planned, and number with a result.
        errors: the distinct errors of failed jobs.
        p: p-value of the difference in the first metric from the reference; None if they cannot be compared.
        difference: mean of this difference over folds and the ends of its corrected 95 % interval, in the units of
            ``metrics``, above 0 where this row is better; both ends are the mean for a single fold.
        against: the reference method.
        permutation_ps: share of permuted targets with at least as good a result, by metric; {} if none were run.
        flip_rate: mean percentage of predictions that change when test graphs are relabelled.
        candidates: number of settings to choose from.
        chosen: how often each setting was chosen, most frequent first.
        loss: mean training loss by epoch, if requested.
        final_loss: median over jobs of the training loss in the last epoch; None without a network.
        epochs: median number of epochs that were trained.
        one_class: percentage of folds in which every test graph got the same class.
        absent: why no result was requested, such as "data not public".
        warnings: each warning with its number of jobs, most frequent first.
        sources: the number of results per isonn version, with the commit if known.
    """

    dataset: str
    method: str
    settings: Settings
    protocol: str
    metrics: Mapping[str, Spread] = field(default_factory=dict)
    printed: Settings | None = None
    fit_seconds: float | None = None
    jobs: int = 0
    finished: int = 0
    errors: tuple[str, ...] = ()
    target: str = ""
    p: float | None = None
    difference: tuple[float, float, float] | None = None
    against: str = ""
    permutation_ps: Mapping[str, float] = field(default_factory=dict)
    flip_rate: float | None = None
    candidates: int = 0
    chosen: tuple[tuple[str, int], ...] = ()
    loss: tuple[float, ...] | None = None
    final_loss: float | None = None
    epochs: float | None = None
    one_class: float | None = None
    absent: str = ""
    warnings: tuple[tuple[str, int], ...] = ()
    sources: tuple[tuple[str, int], ...] = ()

    @property
    def accuracy(self) -> Spread | None:
        """Accuracy in percent."""
        return self.metrics.get("accuracy")

    @property
    def first(self) -> Spread | None:
        """The metric that is tested."""
        return next(iter(self.metrics.values()), None)

    @property
    def seeds(self) -> int:
        """Number of seeds whose folds are all finished."""
        return 0 if self.first is None else len(self.first.by_seed)

    @property
    def permutation_p(self) -> float | None:
        """The permutation p of the first metric; None if no permutations were run."""
        return next(iter(self.permutation_ps.values()), None)

    @property
    def larger(self) -> bool:
        """Whether larger values of the first metric are better."""
        return METRICS[next(iter(self.metrics), "accuracy")].larger

    @property
    def goodness(self) -> float:
        """The first metric, with a sign such that larger is better; minus infinity without a result."""
        return -math.inf if self.first is None else self.first.mean if self.larger else -self.first.mean

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
        content["permutation_p"] = self.permutation_p
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
    determine the ``permutation_p`` of their method.

    Args:
        results, errors: results and errors by job id; a job may have neither.
        spec: the source of the printed numbers.
        losses: whether rows include the training loss.
    """
    groups: dict[tuple[str, ...], tuple[list[Job], list[Job]]] = {}
    for job in jobs:
        key = (job.dataset, job.method, repr((sorted(job.settings.items()), job.candidates)), job.protocol)
        groups.setdefault(key, ([], []))[job.permutation > 0].append(job)
    planned = [(group, permuted) for group, permuted in groups.values() if group]
    rows = []
    for group, permuted in planned:
        reference = _reference(group[0], [other for other, _ in planned])
        for target in _targets(group, results):
            row = _row(group, results, errors, spec, losses, target)
            ps = _permutation_ps(group, permuted, results, row)
            if reference is not None and reference is not group:
                p, difference = _compared(group, reference, results, row)
                row = replace(row, p=p, difference=difference, against=reference[0].method)
            rows.append(replace(row, permutation_ps=ps))
    if any(row.target for row in rows):  # grouped by target, with the methods next to each other
        order = {target: place for place, target in enumerate(dict.fromkeys(row.target for row in rows))}
        rows.sort(key=lambda row: (row.dataset, order[row.target]))
    return rows


def _reference(job: Job, groups: Iterable[Sequence[Job]]) -> Sequence[Job] | None:
    """Return the jobs of the reference method on the job's dataset; None if it has several settings, as in a sweep."""
    names = PAPER_REFERENCES if job.protocol == "paper" else REFERENCES
    here = [group for group in groups if (group[0].dataset, group[0].protocol) == (job.dataset, job.protocol)]
    name = next((name for name in names if any(group[0].method == name for group in here)), None)
    same = [group for group in here if group[0].method == name]
    return same[0] if len(same) == 1 else None


def _targets(group: Sequence[Job], results: Results) -> list[str]:
    """Return the targets of a method's results: "" for one target, else each name and `MEAN`."""
    names: list[str] = next((results[job.id]["targets"] for job in group if "targets" in results.get(job.id, {})), [])
    return [*names, MEAN] if len(names) > 1 else names or [""]


def absent_rows(dataset: str, methods: Iterable[str], spec: Spec, why: str) -> list[Row]:
    """Return rows for a dataset that cannot be loaded, with the paper's numbers and the reason."""
    return [
        Row(dataset, method, {}, spec.protocol, printed=printed, absent=why)
        for method in methods
        if (printed := spec.printed_for(dataset, method)) is not None
    ]


def _row(
    jobs: Sequence[Job], results: Results, errors: Mapping[str, str], spec: Spec, losses: bool, target: str
) -> Row:
    first = jobs[0]
    finished = [results[job.id] for job in jobs if job.id in results]
    flips = [result["audit"]["flip_rate"] for result in finished if "audit" in result]
    curves = [result["loss"] for result in finished if result.get("loss")]
    timings = [result["timings"] for result in finished]
    # the paper's number applies to the method with any chosen settings
    printed = spec.printed_for(first.dataset, first.method, None if first.candidates else first.settings)
    return Row(
        dataset=first.dataset,
        method=first.method,
        settings=dict(first.settings),
        protocol=first.protocol,
        metrics=_metrics(jobs, results, target),
        printed=printed,
        # by the clock in results from before processor time was measured
        fit_seconds=_median(float(times.get("cpu_seconds", times["fit_seconds"])) for times in timings),
        jobs=len(jobs),
        finished=len(finished),
        errors=tuple(dict.fromkeys(errors[job.id] for job in jobs if job.id in errors)),
        target=target,
        flip_rate=100 * statistics.fmean(flips) if flips else None,
        candidates=len(first.candidates),
        chosen=_counted(in_words(result["chosen"]) for result in finished if "chosen" in result),
        loss=_mean_loss(curves) if losses and curves else None,
        final_loss=_median(curve[-1] for curve in curves),
        epochs=_median(map(len, curves)),
        one_class=_one_class(finished),
        warnings=_counted(sentence for result in finished for sentence in result.get("warnings", ())),
        sources=_counted(map(_source, finished)),
    )


def _median(values: Iterable[float]) -> float | None:
    present = list(values)
    return statistics.median(present) if present else None


def _one_class(finished: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the percentage of folds that answered with one class; None for numbers and for several labels."""
    answers = [result.get("predictions", []) for result in finished if "accuracy" in result["metrics"]]
    if not answers or any(isinstance(answer, list) for fold in answers for answer in fold):
        return None
    return 100 * statistics.fmean(len(set(fold)) == 1 for fold in answers)


def _counted(texts: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Return each text with its number, most frequent first."""
    return tuple(sorted(Counter(texts).items(), key=lambda entry: (-entry[1], entry[0])))


def _source(result: Mapping[str, Any]) -> str:
    version, commit = result.get("versions", {}).get("isonn", "of unknown version"), result.get("commit")
    return f"isonn {version}{f' at {commit}' if commit else ''}"


def _metrics(jobs: Sequence[Job], results: Results, target: str) -> dict[str, Spread]:
    """Return the metrics of the protocol that the results contain."""
    finished = [results[job.id] for job in jobs if job.id in results]
    kind = "numbers" if any("rmse" in _scores(result, target) for result in finished) else "classes"
    # seeds with a missing fold would be compared on other graphs
    unfinished = {job.seed for job in jobs if job.id not in results}
    whole = [(job.seed, _scores(results[job.id], target)) for job in jobs if job.seed not in unfinished]
    spreads = {}
    for name in find_protocol(jobs[0].protocol).metrics(kind):
        values: dict[int, list[float]] = {}
        for seed, scores in whole:
            if (value := shown(name, scores)) is not None:
                values.setdefault(seed, []).append(value)
        if values:
            spreads[name] = _spread(METRICS[name], values, _test_to_train(finished))
    return spreads


def _scores(result: Mapping[str, Any], target: str) -> Mapping[str, Any]:
    scores: Mapping[str, Any] = (
        result["metrics"] if target in ("", MEAN) else result.get("by_target", {}).get(target, {})
    )
    return scores


def _spread(metric: Metric, values: Mapping[int, Sequence[float]], test_to_train: float) -> Spread:
    """Return the spread of the values of each seed's folds."""
    by_seed = {seed: statistics.fmean(folds) for seed, folds in values.items()}
    interval = corrected_interval([value for folds in values.values() for value in folds], test_to_train)
    low, high = (limit * (100 if metric.percent else 1) for limit in metric.limits)
    return Spread(
        statistics.fmean(by_seed.values()),
        statistics.stdev(by_seed.values()) if len(by_seed) > 1 else None,
        by_seed,
        None if interval is None else (max(low, interval[0]), min(high, interval[1])),
        1 if metric.percent else 3,
    )


def _test_to_train(results: Sequence[Mapping[str, Any]]) -> float:
    return statistics.fmean(result["n_test"] / result["n_train"] for result in results)


def _compared(
    jobs: Sequence[Job], reference: Sequence[Job], results: Results, row: Row
) -> tuple[float | None, tuple[float, float, float] | None]:
    """Return `Row.p` and `Row.difference`, over all seeds and folds that both methods have finished.

    Seeds with the same test graphs (folds released with the data) repeat one measurement, so their mean is used.
    """
    metric = next(iter(row.metrics), "")
    theirs = {(job.seed, job.fold): results[job.id] for job in reference if job.id in results}
    by_test: dict[tuple[int, ...], list[float]] = {}
    pairs = []
    for job in jobs:
        if job.id not in results or (job.seed, job.fold) not in theirs:
            continue
        pairs.append(results[job.id])
        ours, other = (_scores(result, row.target).get(metric) for result in (pairs[-1], theirs[job.seed, job.fold]))
        if ours is not None and other is not None:
            by_test.setdefault(tuple(sorted(pairs[-1]["test"])), []).append(ours - other)
    if not by_test:
        return None, None
    values, ratio = [statistics.fmean(repeated) for repeated in by_test.values()], _test_to_train(pairs)
    mean = statistics.fmean(values)
    unit = (100 if METRICS[metric].percent else 1) * (1 if METRICS[metric].larger else -1)
    low, high = sorted(unit * end for end in corrected_interval(values, ratio) or (mean, mean))
    return corrected_t_test(values, ratio), (unit * mean, low, high)


def _permutation_ps(jobs: Sequence[Job], permuted: Sequence[Job], results: Results, row: Row) -> dict[str, float]:
    """Return (1 + permutations at least as good) / (1 + permutations) by each metric, for seed 0."""
    ps = {}
    for metric in row.metrics:
        values: dict[int, list[float]] = {}
        for job in [*(job for job in jobs if job.seed == 0), *permuted]:
            if job.id not in results:
                continue
            value = _scores(results[job.id], row.target).get(metric)
            if value is None and METRICS[metric].limits[0] == -1:
                value = 0.0  # a constant prediction has no correlation
            if value is not None:
                values.setdefault(job.permutation, []).append(value)
        folds = len(values.get(0, ()))
        sign = 1 if METRICS[metric].larger else -1
        means = {
            number: sign * statistics.fmean(folds_of) for number, folds_of in values.items() if len(folds_of) == folds
        }
        if 0 in means and len(means) > 1:
            better = sum(mean >= means[0] - 1e-12 for number, mean in means.items() if number)
            ps[metric] = (1 + better) / len(means)
    return ps


def _mean_loss(curves: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Return the mean loss over jobs, up to the shortest, rounded to six digits."""
    return tuple(float(f"{statistics.fmean(epoch):.6g}") for epoch in zip(*curves, strict=False))
