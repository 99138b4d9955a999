"""Constants of the formulas in docs/method.md: `OMP_NUM_THREADS=1 python benchmarks/constants.py`, processor time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import torch

import isonn
from isonn.matching import matcher_named
from isonn.nn import MLP, IsoLayer, IsoStack
from isonn.windows.bank import all_windows

GRAPHS = 24


def best(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the shortest processor time of some calls, after one that does not count."""
    work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def exact(adjacency: torch.Tensor, k: int) -> None:
    """Print forward and backward passes of exact matching."""
    layer, w = IsoLayer(k, 1), len(adjacency) * (adjacency.shape[-1] - k + 1) ** 2
    forward = best(lambda: layer.distances(adjacency))
    backward = best(lambda: layer.distances(adjacency).sum().backward()) - forward
    rates = math.factorial(k) * k * k * w / forward, k * k * w / backward
    print(f"exact, k={k}: forward {forward:.4f} s, {rates[0]:.1e}/s; backward {backward:.4f} s, {rates[1]:.1e}/s")


def fast(adjacency: torch.Tensor, k: int, name: str) -> None:
    """Print the preparation and a training step of fast matching."""
    matcher, regions = matcher_named(name), all_windows(adjacency, k).regions
    templates = torch.randn(1, k, k, requires_grad=True)
    once = best(lambda: matcher.prepare(regions), 2)
    prepared = matcher.prepare(regions)
    step = best(lambda: matcher.distance(templates, regions, prepared).sum().backward(), 3)
    print(f"{name}, k={k}: once {once:.3f} s, {1e6 * once / len(regions):.2f} µs a window; a step {step:.3f} s")


def main() -> None:
    """Print all constants."""
    torch.set_num_threads(1)
    adjacency = torch.from_numpy(isonn.load("HIV-fMRI")[:GRAPHS].dense(90))
    for k in (2, 3, 4, 5, 6):
        exact(adjacency, k)
    for name in ("fast", "fast-authors"):
        for k in (2, 4, 6):
            fast(adjacency, k, name)
    stack = IsoStack(((2, 3), (2, 3)))
    print(f"deep, 2 layers: a step {best(lambda: stack(adjacency).sum().backward(), 2):.3f} s")
    maps = torch.rand(GRAPHS, 2 * 87 * 87)
    head = MLP(maps.shape[1], (1024, 128), 2)
    optimizer = torch.optim.Adam(head.parameters(), fused=True)

    def train() -> None:
        optimizer.zero_grad()
        head(maps).sum().backward()
        optimizer.step()

    print(f"head of {sum(part.numel() for part in head.parameters()):,} weights: a step {best(train):.3f} s")


if __name__ == "__main__":
    main()
