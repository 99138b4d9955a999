"""The three matchers: their time and agreement with exact matching, by k."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import torch
from report import Row
from scipy.optimize import quadratic_assignment
from scipy.stats import spearmanr
from timing import best_seconds
from torch import Tensor

import isonn
from isonn.matching import MATCHERS, assigned_distance, exact_distance, fast_distance
from isonn.matching import assignment as assigned
from isonn.windows.bank import bank_windows
from isonn.windows.cut import cut_windows


def exact_against_fast() -> Iterator[Row]:
    """Measure forward and backward of the distances of 23 weighted graphs of 90 nodes."""
    adjacency = torch.randn(23, 90, 90)
    for k in range(2, 7):
        regions = cut_windows(adjacency, k).reshape(-1, k, k)
        seconds = {
            name: best_seconds(lambda n=name, r=regions, k=k: pass_over(n, r, k), repeats=3)
            for name in ("exact", "fast")
        }
        what = f"exact matching, 23 weighted graphs, n=90, k={k}, c=1"
        yield Row(what, "time of the paper's fast variant / ours", seconds["fast"] / seconds["exact"], ">= 1")


def pass_over(name: str, regions: Tensor, k: int) -> None:
    templates = torch.rand(1, k, k, requires_grad=True)
    MATCHERS[name].distance(templates, regions).sum().backward()


def agreement() -> Iterator[Row]:
    """Measure how often "assigned" finds the exact distance, and how it and "fast" rank regions."""
    mutag = torch.from_numpy(isonn.load("MUTAG").dense())
    for k in (6, 7, 8):
        count = 500 if k < 8 else 100
        bank = bank_windows(mutag, k).regions
        samples = {
            "MUTAG": bank[torch.randperm(len(bank))[:count]],
            "random weighted": torch.randn(count, k, k),
        }
        templates = torch.rand(4, k, k)
        for name, regions in samples.items():
            exact = exact_distance(templates, regions)
            # up to k = 6 all permutations are screened; with 24 of them, swaps have to find the optimum
            found = searched(templates, regions) if k == 6 else assigned_distance(templates, regions)
            screened = ", 24 permutations screened" if k == 6 else ""
            yield Row(
                f"assigned, {name} regions, k={k}{screened}", "share with the exact distance", equal_share(found, exact)
            )
            yield Row("", "rank correlation with exact", rank(found, exact))
            yield Row("", "the same of the fast variant", rank(fast_distance(templates, regions), exact))


def equal_share(found: Tensor, exact: Tensor) -> float:
    return (found <= exact + 1e-4 * (1 + exact)).double().mean().item()


def searched(templates: Tensor, regions: Tensor, screened: int = 24) -> Tensor:
    usual, assigned.SCREENED = assigned.SCREENED, screened
    try:
        return assigned.assigned_distance(templates, regions)
    finally:
        assigned.SCREENED = usual


def rank(one: Tensor, other: Tensor) -> float:
    return float(spearmanr(one.flatten(), other.flatten()).statistic)


def against_scipy(sample: int = 200) -> Iterator[Row]:
    """Measure every window of a weighted graph of 90 nodes at k=12; scipy on a sample, one call per region."""
    k = 12
    regions = cut_windows(torch.randn(1, 90, 90), k).reshape(-1, k, k)
    template = torch.rand(1, k, k)
    ours = best_seconds(lambda: assigned_distance(template, regions), repeats=2) / len(regions)
    chosen = torch.randperm(len(regions))[:sample]
    rng = np.random.default_rng(0)
    distances = []
    start = time.perf_counter()
    for region in regions[chosen]:
        found = quadratic_assignment(
            region.double().numpy(), template[0].double().numpy(), method="2opt", options={"maximize": True, "rng": rng}
        )
        distances.append(template.square().sum().item() + region.square().sum().item() - 2 * found.fun)
    scipys = (time.perf_counter() - start) / sample
    mean = assigned_distance(template, regions[chosen]).mean().item()
    what = "assigned, windows of one weighted graph, n=90, k=12"
    yield Row(what, "time of scipy's quadratic_assignment, 2opt / ours", scipys / ours, ">= 20")
    yield Row("", "mean distance, ours / scipy's", mean / float(np.mean(distances)), "<= 1")


def by_k(ks: tuple[int, ...] = (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20), sample: int = 400) -> dict[str, dict[int, tuple]]:
    """Return microseconds per region and rank correlation with exact, by matcher and k, on random weighted regions."""
    curves: dict[str, dict[int, tuple]] = {name: {} for name in MATCHERS}
    for k in ks:
        count = sample if k <= 7 else 60
        regions, templates = torch.randn(count, k, k), torch.rand(1, k, k)
        exact = exact_distance(templates, regions) if k <= 8 else None
        for name, match in ((name, matcher.distance) for name, matcher in MATCHERS.items()):
            if name == "exact" and exact is None:
                continue
            seconds = best_seconds(lambda m=match, t=templates, r=regions: m(t, r), repeats=2)
            correlation = None if exact is None else rank(match(templates, regions), exact)
            curves[name][k] = (1e6 * seconds / count, correlation)
    return curves
