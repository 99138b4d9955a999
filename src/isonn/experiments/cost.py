"""Estimate the cost of matching templates against a dataset from a sample."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter

import torch
from scipy.stats import spearmanr
from torch import Tensor

from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.matching import MATCHERS
from isonn.matching.definition import DefinitionMatcher
from isonn.seeding import torch_stream, torch_threads
from isonn.windows.bank import bank_windows
from isonn.windows.cut import cut_windows
from isonn.windows.layer import check_sizes
from isonn.windows.network import map_shape

#: Largest product of permutations and cells of a sample, so that an estimate takes seconds.
SAMPLE_COST = 2e9
MAX_SAMPLE = 2000
#: Number of times a sample is matched; the shortest time is used, since other programs may slow down the rest.
REPEATS = 3


@dataclass(frozen=True)
class MatchingCost:
    """Cost of one matching: seconds per pass over the data, and agreement with "exact".

    Attributes:
        seconds: estimated time of one forward and backward pass, or None if it is not possible.
        rank_correlation: Spearman's correlation with the exact distances of the sample; None if unavailable.
        reason: why it is not possible, or None.
    """

    seconds: float | None = None
    rank_correlation: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Cost:
    """Cost of ``c`` templates of ``k`` nodes on a dataset.

    Attributes:
        permutations: number of permutations, k!.
        regions: number of windows of all graphs.
        distinct: number of regions to match: the distinct ones up to relabelling, or all of a weighted dataset.
        memory: bytes of the regions, of their index, and of the maps.
        matchings: cost by name of `isonn.matching.MATCHERS`, without "definition".
    """

    permutations: int
    regions: int
    distinct: int
    memory: int
    matchings: dict[str, MatchingCost]


def estimate_cost(graphs: GraphSet, k: int, c: int) -> Cost:
    """Measure matching on a sample of regions and extrapolate to all of them."""
    check_sizes(k, c)
    map_shape(int(graphs.sizes.max()), ((c, k),))
    adjacency = torch.from_numpy(graphs.dense())
    bank = bank_windows(adjacency, k)
    windows = cut_windows(adjacency, k)
    n_regions = math.prod(windows.shape[:3])
    generator = torch_stream(0, "cost")
    if bank is None:
        chosen = torch.randint(n_regions, (MAX_SAMPLE,), generator=generator)
        sample = windows[torch.unravel_index(chosen, windows.shape[:3])]
        distinct, index = n_regions, 0
    else:
        sample = bank.regions[torch.randperm(len(bank.regions), generator=generator)[:MAX_SAMPLE]]
        distinct, index = len(bank.regions), 8 * n_regions
    return Cost(
        permutations=math.factorial(k),
        regions=n_regions,
        distinct=distinct,
        memory=4 * distinct * k * k + index + 4 * c * n_regions,
        matchings=_measure(torch.rand(c, k, k, generator=generator), sample, distinct),
    )


def _timed(match: Callable[[Tensor, Tensor], Tensor], templates: Tensor, regions: Tensor) -> tuple[Tensor, float]:
    """Return distances, and the seconds of a forward and backward pass with one thread, as in ``fit``."""
    with torch_threads(1):
        start = time.perf_counter()
        distances = match(templates, regions)
        distances.sum().backward()
        return distances.detach(), time.perf_counter() - start


def _measure(templates: Tensor, sample: Tensor, distinct: int) -> dict[str, MatchingCost]:
    c, k, _ = templates.shape
    exact = None
    costs = {}
    for name, matcher in MATCHERS.items():
        if isinstance(matcher, DefinitionMatcher):
            continue  # all permutations of a sample at once need gigabytes from k = 7 on, and nobody trains with it
        most = max(20, int(SAMPLE_COST / (c * math.factorial(k) * k * k)))
        regions, match = sample[: most if matcher.exact else None], matcher.distance
        learnable = templates.clone().requires_grad_()
        try:
            match(learnable, regions[:2])  # tables computed once are not part of a pass
        except InputError as error:
            costs[name] = MatchingCost(reason=str(error))
            continue
        distances, seconds = min((_timed(match, learnable, regions) for _ in range(REPEATS)), key=itemgetter(1))
        exact = distances if matcher.exact else exact
        costs[name] = MatchingCost(seconds * distinct / len(regions), _agreement(distances, exact))
    return costs


def _agreement(distances: Tensor, exact: Tensor | None) -> float | None:
    """Return the rank correlation on common regions; None if it is undefined."""
    if exact is None:
        return None
    ours, other = distances[: len(exact)].flatten(), exact.flatten()
    if ours.min() == ours.max() or other.min() == other.max():
        return None
    return float(spearmanr(ours, other).statistic)
