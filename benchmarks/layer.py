"""Exact matching against the definition written straight down, and an epoch against its head alone."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from report import Row
from straightforward import straightforward_layer
from timing import best_seconds, peak_megabytes
from torch import Tensor, nn

import isonn
from isonn.matching import WindowBank, bank_windows
from isonn.nn import Head, IsoLayer, IsoNN

K7_IN_A_PROCESS = """
import torch
from isonn.nn import IsoLayer
layer = IsoLayer(k=7, c=1)
(layer(torch.randn(23, 90, 90)) ** 2).sum().backward()
"""


def forward_backward(layer: IsoLayer, graphs: Tensor | WindowBank) -> None:
    layer.templates.grad = None
    (layer(graphs) ** 2).sum().backward()


def straightforward(templates: Tensor, adjacency: Tensor) -> None:
    templates.grad = None
    (straightforward_layer(templates, adjacency) ** 2).sum().backward()


def weighted() -> Iterator[Row]:
    """23 weighted graphs of 90 nodes: cut, distances, softmax and backward, both sides on the same threads."""
    adjacency = torch.randn(23, 90, 90)
    every = torch.get_num_threads()
    for threads in dict.fromkeys((1, every)):
        torch.set_num_threads(threads)
        for k, c, bar in ((4, 2, 80), (5, 1, 200)):
            layer = IsoLayer(k, c)
            rival_templates = layer.templates.detach().clone().requires_grad_()
            rival = best_seconds(lambda t=rival_templates: straightforward(t, adjacency), repeats=3)
            ours = best_seconds(lambda x=layer: forward_backward(x, adjacency), repeats=15)
            what = f"23 weighted graphs, n=90, k={k}, c={c}, {threads} thread{'s' if threads > 1 else ''}"
            yield Row(what, "straightforward / ours", rival / ours, f">= {bar}")
    yield Row("23 weighted graphs, n=90, k=7, c=1", "peak MB of the process", peak_megabytes(K7_IN_A_PROCESS), "< 1000")


def zero_one() -> Iterator[Row]:
    """Whole MUTAG: layer, softmax and backward, on one thread."""
    adjacency = torch.from_numpy(isonn.load("MUTAG").dense())
    for k, bar in ((4, 150), (5, 800)):
        layer = IsoLayer(k, c=1)
        bank = bank_windows(adjacency, k)
        assert bank is not None
        rival_templates = layer.templates.detach().clone().requires_grad_()
        rival = best_seconds(lambda t=rival_templates: straightforward(t, adjacency), repeats=3)
        ours = best_seconds(lambda x=layer, b=bank: forward_backward(x, b), repeats=20)
        building = best_seconds(lambda k=k: bank_windows(adjacency, k), repeats=5)
        yield Row(f"whole MUTAG, k={k}, c=1, one thread", "straightforward / ours", rival / ours, f">= {bar}")
        yield Row(f"building MUTAG's bank, k={k}", "cost in such passes", building / ours, "< 10" if k == 4 else "")
    base = ours
    for k in (6, 8):
        layer, bank = IsoLayer(k, c=1), bank_windows(adjacency, k)
        seconds = best_seconds(lambda x=layer, b=bank: forward_backward(x, b), repeats=2)
        orderings = math.factorial(k) // 120
        yield Row(f"whole MUTAG, k={k} ({orderings}x the orderings)", "pass / pass at k=5", seconds / base, "runs")


def epoch() -> Iterator[Row]:
    """One epoch of training on MUTAG at k=4 against the head alone on features of the same size.

    A head on fixed features needs no gradient for its input, which is a third of its large products; below
    anything that learns it does. Both are shown.
    """
    graphs = isonn.load("MUTAG")
    adjacency = torch.from_numpy(graphs.dense())
    targets = torch.from_numpy((graphs.y > 0).astype("int64"))
    bank = bank_windows(adjacency, 4)
    model = IsoNN(28, 2, layers=((1, 4),))
    features = model.features(bank).detach().flatten(1)
    head = Head(features.shape[1], (1024, 128), 2)
    ours = best_seconds(step(model, bank, targets), repeats=40)
    fixed = best_seconds(step(head, features, targets), repeats=40)
    passing = best_seconds(step(head, features.requires_grad_(), targets), repeats=40)
    yield Row("epoch on MUTAG, k=4, c=1", "ours / head on fixed features", ours / fixed, "<= 1.3")
    yield Row("", "ours / head that passes gradients on", ours / passing, "<= 1.3")


def step(model: nn.Module, inputs: Tensor | WindowBank, targets: Tensor):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def run() -> None:
        optimizer.zero_grad()
        if isinstance(inputs, Tensor):
            inputs.grad = None  # or a head that passes gradients on would add them up
        nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()

    return run
