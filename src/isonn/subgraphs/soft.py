"""Templates pooled over the subgraphs of a graph: features that do not know in which order nodes are numbered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from isonn.heads.forest import Forest
from isonn.heads.mlp import Head
from isonn.matching.exact import exact_flat_distance
from isonn.matching.permutations import GraphLayout
from isonn.packing import IntArray
from isonn.seeding import numpy_stream

#: How sharply a soft count falls off with the distance. At 0.5 a wrong edge still counts for 0.4, at 8 for nothing.
TEMPERATURES = (0.5, 2.0, 8.0)


class PooledTemplates(nn.Module):
    r"""Soft counts of ``c`` learnable templates over the k-node subgraphs of graphs.

    With :math:`M_r` the distinct subgraphs, :math:`n_{gr}` how often graph g has each, :math:`K_i` template i,
    w a weight per kind of entry and :math:`\sigma_i` a width per template,

    .. math::
        z_{ri} = \min_P \lVert \sqrt{w} \, (P K_i P^\top - M_r) \rVert^2, \qquad
        S_{gis} = \sum_r n_{gr} \, e^{-s \sigma_i z_{ri}}

    for each temperature s: :math:`S` is how often the template is found, counting near misses the less the further
    they are. A sum over all subgraphs does not change when nodes are relabelled.

    Args:
        layout: what the entries of regions and templates are.
        kinds: the kind of each entry, ``(layout.width,)``, from 0; the entries of one kind share a weight.
        zero_one: whether each entry of a region is 0 or 1, ``(layout.width,)``.
        weights: where the weight of each kind starts.
        templates: where the templates start, ``(c, layout.width)``.

    Shapes:
        - regions ``(d, layout.width)``
        - counts: sparse ``(graphs, d)``
        - output ``(graphs, c, len(TEMPERATURES))``
    """

    kinds: Tensor
    zero_one: Tensor

    def __init__(
        self,
        layout: GraphLayout,
        kinds: Sequence[int],
        zero_one: Sequence[bool],
        weights: Sequence[float],
        templates: Tensor,
    ) -> None:
        super().__init__()
        self.layout = layout
        self.templates = nn.Parameter(templates)
        self.log_width = nn.Parameter(templates.new_zeros(len(templates)))
        self.log_weight = nn.Parameter(torch.tensor(list(weights), dtype=templates.dtype).log())
        self.register_buffer("kinds", torch.tensor(list(kinds), dtype=torch.int64))
        self.register_buffer("zero_one", torch.tensor(list(zero_one), dtype=torch.bool))

    @property
    def c(self) -> int:
        """Number of templates."""
        return len(self.templates)

    def distances(self, regions: Tensor) -> Tensor:
        """The :math:`z_{ri}`, ``(d, c)``."""
        weights = (self.log_weight / 2).exp()[self.kinds]
        return exact_flat_distance(self.templates * weights, regions * weights, self.layout)

    def terms(self, distances: Tensor) -> Tensor:
        """What one subgraph at each distance adds to the sums: ``(d, c)`` to ``(d, c, temperatures)``."""
        scaled = distances * self.log_width.exp()
        return torch.exp(-scaled[:, :, None] * scaled.new_tensor(TEMPERATURES))

    def forward(self, regions: Tensor, counts: csr_array) -> Tensor:
        terms = self.terms(self.distances(regions))
        sums: Tensor = _SparseProduct.apply(counts, terms.flatten(1))
        return sums.view(-1, self.c, len(TEMPERATURES))

    def penalty(self) -> Tensor:
        """How far the templates are from graphs one can draw: entries that are 0 or 1 in graphs, and neither here."""
        entries = self.templates[:, self.zero_one]
        return (entries * (1 - entries)).square().sum()

    def extra_repr(self) -> str:
        return f"{self.layout}, c={self.c}"


class _SparseProduct(torch.autograd.Function):
    """A sparse matrix of SciPy times a tensor; on the CPU several times as fast as torch's own."""

    @staticmethod
    def forward(ctx: Any, matrix: csr_array, tensor: Tensor) -> Tensor:
        ctx.matrix = matrix
        return _times(matrix, tensor)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
        return None, _times(ctx.matrix.T, grad)


def _times(matrix: csr_array, tensor: Tensor) -> Tensor:
    # counts may be kept in less than they are added up in
    return torch.from_numpy(matrix.astype(np.float64, copy=False) @ tensor.detach().cpu().numpy()).to(tensor)


# Templates over connected subgraphs, and the heads that read their soft counts.


HEADS = ("linear", "mlp", "ensemble")
#: Features of a template: how many, at every temperature, and whether any, at all but the softest.
FEATURES = 2 * len(TEMPERATURES) - 1
#: Added to every variance, the same in training and in prediction: a head must meet features as it learned them. Large
#: enough that a template which nearly all graphs hold does not count for hundreds where it is missing.
SMALLEST_VARIANCE = 1e-2


@dataclass(frozen=True, eq=False)
class SubgraphInputs:
    """Graphs as a `SubgraphModel` reads them; indexing selects graphs, as it does in a tensor.

    Attributes:
        regions: the distinct subgraphs for each group of templates, ``(d, entries)``.
        counts: how often each graph has each of them, sparse, ``(graphs, d)``.
    """

    regions: tuple[Tensor, ...]
    counts: tuple[csr_array, ...]
    graphs: int

    def __len__(self) -> int:
        return self.graphs

    def __getitem__(self, rows: Tensor) -> SubgraphInputs:
        chosen = rows.cpu().numpy()
        regions, counts = [], []
        for all_regions, all_counts in zip(self.regions, self.counts, strict=True):
            part = all_counts[chosen]
            used, column = np.unique(part.indices, return_inverse=True)
            regions.append(all_regions[torch.from_numpy(used).to(all_regions.device)])
            counts.append(csr_array((part.data, column.reshape(-1), part.indptr), shape=(len(chosen), len(used))))
        return SubgraphInputs(tuple(regions), tuple(counts), len(chosen))


class Standardize(nn.Module):
    """Features with mean 0 and deviation 1: over the batch while training, over the training graphs afterwards."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("deviation", torch.ones(inputs))

    def settle(self, features: Tensor) -> None:
        """Take mean and deviation from these features from now on; one that hardly varies is not blown up."""
        self.mean.copy_(features.mean(0))
        self.deviation.copy_((features.var(0, correction=0) + SMALLEST_VARIANCE).sqrt())

    def forward(self, features: Tensor) -> Tensor:
        if self.training:
            with torch.no_grad():
                self.settle(features.detach())
            centred = features - features.mean(0)
            return centred / (centred.square().mean(0) + SMALLEST_VARIANCE).sqrt()
        return (features - self.mean) / self.deviation


def raw_features(sums: Tensor) -> Tensor:
    """How many of each template there are, as a logarithm, and whether there is any, before they are standardised.

    Shapes:
        - sums ``(graphs, templates, temperatures)``
        - output ``(graphs, templates * FEATURES)``
    """
    return torch.cat([sums.log1p(), -torch.expm1(-sums[:, :, 1:])], dim=2).flatten(1)


class SubgraphModel(nn.Module):
    """Soft counts of templates; of each how many, as a logarithm, and whether any; standardised; and a head.

    Args:
        groups: the templates, one module per size and view.
        outputs: classes, or labels of a multi-label task.
        hidden: widths of the head's hidden layers; none makes it linear.
        multilabel: whether outputs are independent of each other.

    Shapes:
        - inputs: `SubgraphInputs`
        - output ``(graphs, outputs)``, logits
    """

    def __init__(
        self,
        groups: Sequence[PooledTemplates],
        outputs: int,
        hidden: Sequence[int] = (),
        multilabel: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.groups = nn.ModuleList(groups)
        self.multilabel = multilabel
        inputs = sum(group.c for group in groups) * FEATURES
        self.standardize = Standardize(inputs)
        self.head = Head(inputs, hidden, outputs, generator)
        self.forest: Forest | None = None  # votes along in an ensemble

    def forward(self, inputs: SubgraphInputs) -> Tensor:
        return self.logits(self.sums(inputs))

    def sums(self, inputs: SubgraphInputs) -> Tensor:
        """How often each template is found in each graph, softly: ``(graphs, templates, temperatures)``."""
        return torch.cat(
            [
                group(regions, counts)
                for group, regions, counts in zip(self.groups, inputs.regions, inputs.counts, strict=True)
            ],
            dim=1,
        )

    def features(self, inputs: SubgraphInputs) -> Tensor:
        """What the head sees, ``(graphs, templates * FEATURES)``."""
        features: Tensor = self.standardize(raw_features(self.sums(inputs)))
        return features

    def logits(self, sums: Tensor) -> Tensor:
        """The logits that belong to such sums."""
        features = self.standardize(raw_features(sums))
        logits: Tensor = self.head(features)
        if self.forest is None:
            return logits
        votes: Tensor = self.forest(features)
        if self.multilabel:
            return ((logits.sigmoid() + votes) / 2).clamp(1e-6, 1 - 1e-6).logit().to(logits)
        return ((logits.softmax(1) + votes) / 2).clamp(min=1e-6).log().to(logits)

    def penalty(self) -> Tensor:
        """How far all templates are from graphs one can draw."""
        parts = [group.penalty() for group in self.groups if isinstance(group, PooledTemplates)]
        return torch.stack(parts).sum()


# What is solved for once templates are learned, with the features of a few thousand graphs in memory at a time.
#
# Everything here gives the same for graphs that were in memory and for those that came from a folder of banks.


#: Graphs whose features are computed together.
GRAPHS_AT_ONCE = 2**14
#: Numbers that a linear head is solved for from (512 MB), and that a forest is grown on, which copies them. A larger
#: set is sampled: hundreds of thousands of graphs determine some hundred weights.
LINEAR_NUMBERS, FOREST_NUMBERS = 2**27, 2**25


def settle(model: SubgraphModel, inputs: SubgraphInputs) -> None:
    """Standardise features by their mean and deviation over all these graphs from now on."""
    if len(inputs) <= GRAPHS_AT_ONCE:
        model.standardize.settle(next(_raw_parts(model, inputs))[1])
        return
    count, mean, squares = 0, torch.zeros(()), torch.zeros(())
    for _, raw in _raw_parts(model, inputs):  # Chan, Golub, LeVeque: means and squares of parts, joined
        part = raw.double()
        apart = part.mean(0) - mean
        total = count + len(part)
        squares = squares + (part - part.mean(0)).square().sum(0) + apart.square() * (count * len(part) / total)
        mean = mean + apart * (len(part) / total)
        count = total
    model.standardize.mean.copy_(mean)
    model.standardize.deviation.copy_((squares / count + SMALLEST_VARIANCE).sqrt())


def head_features(model: SubgraphModel, inputs: SubgraphInputs, rows: IntArray | None = None) -> NDArray[np.float32]:
    """What the head sees of the given graphs, or of all; ``rows`` are sorted."""
    if rows is None:
        rows = np.arange(len(inputs))
    features = np.empty((len(rows), len(model.standardize.mean)), dtype=np.float32)
    for first, raw in _raw_parts(model, inputs):
        start, stop = np.searchsorted(rows, [first, first + len(raw)])
        chosen = torch.from_numpy(rows[start:stop] - first).to(raw.device)
        features[start:stop] = model.standardize(raw[chosen]).cpu().numpy()
    return features


def solved_from(
    model: SubgraphModel, inputs: SubgraphInputs, targets: NDArray[Any], numbers: int, seed: int
) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Features and targets of all graphs, or of a sample of them when there are more than so many numbers."""
    rows = sampled_rows(targets, len(model.standardize.mean), numbers, seed)
    with torch.no_grad():
        features = head_features(model, inputs, rows)
    return features, targets if rows is None else targets[rows]


def sampled_rows(targets: NDArray[Any], width: int, numbers: int, seed: int) -> IntArray | None:
    """Graphs to solve from, sorted, so that there are about so many numbers; every class is there. None takes all."""
    if len(targets) * width <= numbers:
        return None
    rows = numpy_stream(seed, "rows").choice(len(targets), max(1, numbers // width), replace=False)
    first = np.unique(targets, return_index=True)[1] if targets.ndim == 1 else rows[:0]
    return np.unique(np.concatenate([rows, first]))


def accuracy(model: SubgraphModel, inputs: SubgraphInputs, targets: NDArray[Any]) -> float:
    """The share of graphs that get their class, or all of their labels."""
    right = 0
    for first, part in _parts(inputs):
        with torch.no_grad():
            logits = model(part).cpu().numpy()
        truth = targets[first : first + len(part)]
        if targets.ndim == 1:
            right += int((logits.argmax(axis=1) == truth).sum())
        else:
            right += int(((logits > 0) == (truth > 0)).all(axis=1).sum())
    return right / len(targets)


def _raw_parts(model: SubgraphModel, inputs: SubgraphInputs) -> Iterator[tuple[int, Tensor]]:
    for first, part in _parts(inputs):
        yield first, raw_features(model.sums(part))


def _parts(inputs: SubgraphInputs) -> Iterator[tuple[int, SubgraphInputs]]:
    """The graphs a few thousand at a time, each time with the number of the first."""
    if len(inputs) <= GRAPHS_AT_ONCE:
        yield 0, inputs
        return
    for first in range(0, len(inputs), GRAPHS_AT_ONCE):
        yield first, inputs[torch.arange(first, min(first + GRAPHS_AT_ONCE, len(inputs)))]
