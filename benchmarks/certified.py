"""Certified against full matching while templates learn, and full matching against the peak of matrix products.

Times are CPU times of one thread, so that other load on the machine matters little.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
from report import Row
from torch import Tensor, nn

from isonn.matching import exact_distance
from isonn.nn import IsoNN
from isonn.windows.cut import cut_windows
from isonn.windows.incremental import CertifiedWindows
from isonn.windows.match import MAX_IN_PLACE_K, window_distance

ROUNDS, STEPS_A_ROUND = 3, 4


def cpu_seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def best_cpu_seconds(run: Callable[[], object], repeats: int) -> float:
    run()
    return min(cpu_seconds(run) for _ in range(repeats))


def peak() -> float:
    """Return the floating-point operations per second of a large product on one thread."""
    matrix = torch.randn(2048, 2048)
    return 2 * 2048**3 / best_cpu_seconds(lambda: torch.mm(matrix, matrix), repeats=5)


def near_peak() -> Iterator[Row]:
    """Compare the k! products of a full matching, at the speed of a large product, with its actual time."""
    for k, w, bar in ((6, 80_000, 0.5), (7, 20_000, 0.65)):
        templates, regions = torch.randn(1, k, k), torch.randn(w, k, k)
        least = 2 * w * math.factorial(k) * k * k / peak()
        ours = best_cpu_seconds(lambda t=templates, r=regions: exact_distance(t, r), repeats=4)
        yield Row(f"full matching, k={k}, {w:,} regions", "share of matrix-product peak", least / ours, f">= {bar}")


def training() -> Iterator[Row]:
    """Compare with full matching in training: weighted graphs of 90 nodes, c=1, Adam 0.001, after the first step."""
    for k, graphs, bar in ((5, 23, ""), (6, 23, ">= 10"), (7, 23, ">= 30"), (8, 2, "trains")):
        adjacency = torch.randn(graphs, 90, 90)
        Training(adjacency if k < 7 else adjacency[:1], k).step()  # compiles; too small a step would not
        run = Training(adjacency, k)
        first, steps, full = run.step(), [], []
        for _ in range(ROUNDS):  # in turns, so that both see the same load
            steps += [run.step() for _ in range(STEPS_A_ROUND)]
            full.append(cpu_seconds(run.match_in_full))
        matching, epoch = np.mean(steps, axis=0).tolist()
        rival = float(np.mean(full))
        what = f"training, {graphs} weighted graphs, n=90, k={k}, c=1"
        yield Row(what, "full matching at every step / certified, with gradient", rival / matching, bar)
        yield Row("", "whole epoch with its head, full / certified", (rival + epoch - matching) / epoch)
        yield Row("", "matching of the first epoch / full matching", first[0] / rival)


class Training:
    """A model trained on certified windows; each step returns the CPU seconds of its matching, and of all of it."""

    def __init__(self, adjacency: Tensor, k: int) -> None:
        self.windows = CertifiedWindows(adjacency, k)
        self.k, self.adjacency = k, adjacency
        self.targets = torch.arange(len(adjacency)) % 2
        self.model = IsoNN(adjacency.shape[-1], 2, layers=((1, k),))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3, fused=True)
        self.layer = self.model.features[0]

    def step(self) -> tuple[float, float]:
        start = time.process_time()
        self.optimizer.zero_grad()
        distance = self.windows.distance(self.layer.templates)
        matching = time.process_time() - start
        # the rest as in IsoLayer, split so that the gradient of the matching can be timed alone
        leaf = distance.detach().requires_grad_()
        maps = (-leaf.view(len(self.targets), -1)).softmax(1)
        nn.functional.cross_entropy(self.model.head(maps), self.targets).backward()
        before = time.process_time()
        distance.backward(leaf.grad)
        matching += time.process_time() - before
        self.optimizer.step()
        return matching, time.process_time() - start

    def match_in_full(self) -> None:
        templates = self.layer.templates.detach().clone().requires_grad_()
        if self.k <= MAX_IN_PLACE_K:
            distance = window_distance(templates, self.adjacency)
        else:
            distance = exact_distance(templates, cut_windows(self.adjacency, self.k).reshape(-1, self.k, self.k))
        distance.sum().backward()
