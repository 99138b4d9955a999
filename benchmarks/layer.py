"""The isomorphic layer compared with the plain definition, and with the cost of everything but matching."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import partial

import torch
from report import Row
from straightforward import straightforward_layer
from timing import best_of_each, best_seconds, peak_megabytes
from torch import Tensor, nn

import isonn
from isonn.matching import exact_distance
from isonn.nn import MLP, IsoLayer, IsoNN
from isonn.windows.bank import WindowBank, bank_windows
from isonn.windows.cut import cut_windows
from isonn.windows.match import MAX_IN_PLACE_K, window_distance

K7_IN_A_PROCESS = """
import torch
from isonn.nn import IsoLayer
layer = IsoLayer(k=7, c=1)
(layer(torch.randn(23, 90, 90)) ** 2).sum().backward()
"""


def forward_backward(layer: IsoLayer, graphs: Tensor | WindowBank) -> None:
    layer.zero_grad()
    (layer(graphs) ** 2).sum().backward()


def straightforward(templates: Tensor, adjacency: Tensor) -> None:
    templates.grad = None
    (straightforward_layer(templates, adjacency) ** 2).sum().backward()


def weighted() -> Iterator[Row]:
    """Measure cut, distances, softmax and backward of 23 weighted graphs of 90 nodes, both on the same threads."""
    adjacency = torch.randn(23, 90, 90)
    every = torch.get_num_threads()
    for threads in dict.fromkeys((1, every)):
        torch.set_num_threads(threads)
        for k, c, bar in ((4, 2, 100 if threads == 1 else 80), (5, 1, 300 if threads == 1 else 200)):
            layer = IsoLayer(k, c)
            rival_templates = layer.templates.detach().clone().requires_grad_()
            rival = best_seconds(partial(straightforward, rival_templates, adjacency), repeats=2)
            ours = best_seconds(partial(forward_backward, layer, adjacency), repeats=15)
            what = f"23 weighted graphs, n=90, k={k}, c={c}, {threads} thread{'s' if threads > 1 else ''}"
            yield Row(what, "time of the definition written straight down / ours", rival / ours, f">= {bar}")
    torch.set_num_threads(1)
    yield from in_place(adjacency)
    torch.set_num_threads(every)
    yield Row("the same, k=7, c=1", "peak memory / 1 GB", peak_megabytes(K7_IN_A_PROCESS) / 1e3, "< 1")


def in_place(adjacency: Tensor) -> Iterator[Row]:
    """Compare the two ways of matching windows at each k, which determines MAX_IN_PLACE_K."""
    for k in range(2, 9):
        graphs, templates = adjacency[: 23 if k < 7 else 1], torch.randn(1, k, k)

        def cut(graphs: Tensor = graphs, templates: Tensor = templates, k: int = k) -> None:
            exact_distance(templates, cut_windows(graphs, k).reshape(-1, k, k))

        ours, rival = best_of_each((partial(window_distance, templates, graphs), cut), repeats=3)
        what = f"{len(graphs)} weighted graphs, n=90, k={k}, c=1, 1 thread"
        wanted = ">= 1" if k <= MAX_IN_PLACE_K else ""
        yield Row(what, "windows cut and multiplied in blocks / matched in place", rival / ours, wanted)


def zero_one() -> Iterator[Row]:
    """Measure layer, softmax and backward on all of MUTAG, with the bank of distinct windows."""
    adjacency = torch.from_numpy(isonn.load("MUTAG").dense())
    passes = {}
    for k, bar in ((4, 150), (5, 800), (6, None), (8, None)):
        layer, bank = IsoLayer(k, c=1), bank_windows(adjacency, k)
        assert bank is not None
        ours = partial(forward_backward, layer, bank)
        if bar is None:
            passes[k] = best_seconds(ours, repeats=3)
            continue
        passes[k], least = best_of_each((ours, spread_alone(bank)), repeats=200)
        rival = best_seconds(partial(straightforward, layer.templates.detach().requires_grad_(), adjacency), repeats=3)
        building = best_seconds(partial(bank_windows, adjacency, k), repeats=5)
        what = f"whole MUTAG, k={k}, c=1"
        yield Row(what, "time of the definition written straight down / ours", rival / passes[k], f">= {bar}")
        yield Row("", "ours / softmax and gather alone", passes[k] / least, "<= 1.5" if k == 4 else "")
        yield Row("", "building the bank / such a pass", building / passes[k], "<= 10" if k == 4 else "")
    for k in (6, 8):
        times = math.factorial(k) // 120
        yield Row(
            f"whole MUTAG, k={k}", f"ours / ours at k=5, of {times} times the permutations", passes[k] / passes[5]
        )


def spread_alone(bank: WindowBank):
    """Return the remaining work if matching were free: copy given distances to their positions, softmax, backward."""
    distances = torch.rand(1, len(bank.regions), requires_grad=True)

    def run() -> None:
        distances.grad = None
        maps = distances.index_select(1, bank.index.flatten()).view(bank.index.shape)
        (maps.flatten(1).softmax(1) ** 2).sum().backward()

    return run


def symmetric() -> Iterator[Row]:
    """Measure undirected weighted graphs, of which symmetric templates match half the windows."""
    adjacency = torch.randn(23, 90, 90)
    adjacency = adjacency + adjacency.mT
    for k in (5, 6):
        layers = IsoLayer(k, c=1), IsoLayer(k, c=1, symmetric=True)
        whole, half = best_of_each([partial(forward_backward, layer, adjacency) for layer in layers], repeats=4)
        yield Row(f"23 undirected weighted graphs, n=90, k={k}", "time / with symmetric=True", whole / half)


def epoch() -> Iterator[Row]:
    """Measure one epoch of training on MUTAG at k=4, taken apart: each row adds one thing to the row before.

    A head on fixed features needs no gradient for its input; on top of anything that learns it does. The layer is
    defined as a softmax over windows, so no implementation can cost less than the second row, even if distances were
    free.
    """
    graphs = isonn.load("MUTAG")
    adjacency = torch.from_numpy(graphs.dense())
    targets = torch.from_numpy((graphs.y > 0).astype("int64"))
    bank = bank_windows(adjacency, 4)
    assert bank is not None
    model = IsoNN(28, 2, layers=((1, 4),))
    distances = model.features[0].distances(bank).detach().flatten(1)
    features = (-distances).softmax(1)
    of_regions = torch.rand(1, len(bank.regions))
    head = MLP(features.shape[1], (1024, 128), 2)
    runs = (
        step(head, features, targets),
        step(head, features.clone().requires_grad_(), targets),
        step(nn.Sequential(nn.Softmax(1), head), (-distances).requires_grad_(), targets),
        step(nn.Sequential(_Spread(bank, of_regions), nn.Softmax(1), head), features, targets),
        step(model, bank, targets),
    )
    fixed, passing, softmax, spread, ours = best_of_each(runs, repeats=60, clock=time.process_time)  # one thread
    yield Row("epoch on MUTAG, k=4, c=1", "ours / head on fixed features", ours / fixed, "<= 1.3")
    yield Row("", "head that passes gradients on / on fixed features", passing / fixed)
    yield Row("", "the same and softmax over windows / head on fixed features", softmax / fixed)
    yield Row("", "the same and distances gathered / head on fixed features", spread / fixed)
    yield Row("", "ours / the same: matching and the templates' gradient", ours / spread, "<= 1.1")


class _Spread(nn.Module):
    """Distances of distinct windows that learn by themselves, at every window; the input is ignored."""

    def __init__(self, bank: WindowBank, distances: Tensor) -> None:
        super().__init__()
        self.bank, self.distances = bank, nn.Parameter(distances)

    def forward(self, ignored: Tensor) -> Tensor:
        return self.bank.spread(-self.distances).flatten(2)[0]


def step(model: nn.Module, inputs: Tensor | WindowBank, targets: Tensor):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def run() -> None:
        optimizer.zero_grad()
        if isinstance(inputs, Tensor):
            inputs.grad = None  # otherwise a head that passes gradients on would add them up
        nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()

    return run
