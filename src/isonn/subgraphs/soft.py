"""Soft templates: learned templates whose counts over a graph's subgraphs do not depend on node numbering."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from typing_extensions import Self

from isonn import progress
from isonn.errors import InputError
from isonn.estimator import GraphClassifier
from isonn.explain.explanation import Logits, MatchedGraph, Occurrences, Template
from isonn.graphs.convert import as_graphset
from isonn.graphs.graph import Graph, GraphSet
from isonn.graphs.stream import GraphStream, stream
from isonn.heads import TREES, Trees
from isonn.matching.exact import exact_flat_distance, exact_flat_winners
from isonn.matching.permutations import GraphLayout, permutations
from isonn.packing import IntArray
from isonn.params import check_count, check_subgraph_sizes, check_widths, sizes_of
from isonn.processes import limit_threads
from isonn.seeding import derive_seed, numpy_stream, resolve_seed, torch_threads
from isonn.subgraphs.bank import (
    Banked,
    CodedGraphs,
    bank_subgraphs,
    cut_graph,
    edge_numbers,
    region_codes,
    sampled_shares,
)
from isonn.subgraphs.enumerate import canonical_regions
from isonn.subgraphs.select import starting_subgraphs
from isonn.subgraphs.store import (
    Run,
    bank_digest,
    bank_folder,
    banks_of,
    cut_to_folder,
    look,
    pieces_in,
)
from isonn.subgraphs.views import (
    COLUMNS,
    START_WEIGHTS,
    DistinctValues,
    Encoding,
    check_undirected,
    columns_to_read,
    encoding_from_json,
    encoding_of,
    fit_encoding,
    used_columns,
)
from isonn.torch_estimator import MLP, PREDICTION_CELLS, TorchEstimator
from isonn.training import Checkpoint

#: How sharply a soft count falls off with distance. At 0.5 a wrong edge still counts 0.4, at 8 nothing.
TEMPERATURES = (0.5, 2.0, 8.0)


class PooledTemplates(nn.Module):
    r"""Soft counts of ``c`` learnable templates over the k-node subgraphs of graphs.

    With :math:`M_r` the distinct subgraphs, :math:`n_{gr}` how often graph g has each, :math:`K_i` template i,
    w a weight per kind of entry and :math:`\sigma_i` a width per template,

    .. math::
        z_{ri} = \min_P \lVert \sqrt{w} \, (P K_i P^\top - M_r) \rVert^2, \qquad
        S_{gis} = \sum_r n_{gr} \, e^{-s \sigma_i z_{ri}}

    for each temperature s. :math:`S` is the number of matches, in which near misses count less the farther they are. A
    sum over all subgraphs does not change when nodes are relabelled.

    Args:
        layout: the layout of the entries of regions and templates.
        kinds: the kind of each entry, ``(layout.width,)``, from 0; entries of one kind share a weight.
        zero_one: whether each entry of a region is 0 or 1, ``(layout.width,)``.
        weights: the initial weight of each kind.
        templates: the initial templates, ``(c, layout.width)``.

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
        """Return the distances :math:`z_{ri}`, ``(d, c)``."""
        weights = (self.log_weight / 2).exp()[self.kinds]
        return exact_flat_distance(self.templates * weights, regions * weights, self.layout)

    def terms(self, distances: Tensor) -> Tensor:
        """Return the term that a subgraph at each distance adds to the sums: ``(d, c)`` to ``(d, c, temperatures)``."""
        scaled = distances * self.log_width.exp()
        return torch.exp(-scaled[:, :, None] * scaled.new_tensor(TEMPERATURES))

    def forward(self, regions: Tensor, counts: csr_array) -> Tensor:
        terms = self.terms(self.distances(regions))
        sums: Tensor = _SparseProduct.apply(counts, terms.flatten(1))
        return sums.view(-1, self.c, len(TEMPERATURES))

    def penalty(self) -> Tensor:
        """Return how far the templates are from drawable graphs, in which certain entries are 0 or 1."""
        entries = self.templates[:, self.zero_one]
        return (entries * (1 - entries)).square().sum()

    def extra_repr(self) -> str:
        return f"{self.layout}, c={self.c}"


class _SparseProduct(torch.autograd.Function):
    """Product of a SciPy sparse matrix and a tensor; on the CPU several times as fast as torch's own."""

    @staticmethod
    def forward(ctx: Any, matrix: csr_array, tensor: Tensor) -> Tensor:
        ctx.matrix = matrix
        return _times(matrix, tensor)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
        return None, _times(ctx.matrix.T, grad)


def _times(matrix: csr_array, tensor: Tensor) -> Tensor:
    # counts may be stored in a smaller type than their sums need
    return torch.from_numpy(matrix.astype(np.float64, copy=False) @ tensor.detach().cpu().numpy()).to(tensor)


# Templates over connected subgraphs, and the heads that read their soft counts.


HEADS = ("linear", "mlp", "ensemble")
#: Features of a template: its count at every temperature, and its presence at all but the softest.
FEATURES = 2 * len(TEMPERATURES) - 1
#: Added to every variance, in training and prediction alike, so that the head sees the features it was trained on. It
#: is large enough that a template in nearly all graphs does not count hundreds where it is missing.
SMALLEST_VARIANCE = 1e-2


@dataclass(frozen=True, eq=False)
class SubgraphInputs:
    """Graphs in the form a `SubgraphModel` reads; indexing selects graphs, as in a tensor.

    Attributes:
        regions: the distinct subgraphs for each group of templates, ``(d, entries)``.
        counts: how often each graph contains each of them, sparse, ``(graphs, d)``.
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
    """Standardised features: over the batch in training, over the training graphs afterwards."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("deviation", torch.ones(inputs))

    def settle(self, features: Tensor) -> None:
        """Fix mean and deviation to those of these features; features that hardly vary are not scaled up."""
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
    """Return the log count and the presence of each template, before they are standardised.

    Shapes:
        - sums ``(graphs, templates, temperatures)``
        - output ``(graphs, templates * FEATURES)``
    """
    return torch.cat([sums.log1p(), -torch.expm1(-sums[:, :, 1:])], dim=2).flatten(1)


class SubgraphModel(nn.Module):
    """Soft counts of templates, then their log counts and presence, standardised, then a head.

    Args:
        groups: the templates, one module per size and view.
        outputs: number of classes, or of labels in a multi-label problem.
        hidden: widths of the head's hidden layers; an empty tuple makes it linear.
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
        self.head = MLP(inputs, hidden, outputs, generator)
        self.forest: Forest | None = None  # adds its vote in an ensemble

    def forward(self, inputs: SubgraphInputs) -> Tensor:
        return self.logits(self.sums(inputs))

    def sums(self, inputs: SubgraphInputs) -> Tensor:
        """Return the soft count of each template in each graph, ``(graphs, templates, temperatures)``."""
        return torch.cat(
            [
                group(regions, counts)
                for group, regions, counts in zip(self.groups, inputs.regions, inputs.counts, strict=True)
            ],
            dim=1,
        )

    def features(self, inputs: SubgraphInputs) -> Tensor:
        """Return the inputs of the head, ``(graphs, templates * FEATURES)``."""
        features: Tensor = self.standardize(raw_features(self.sums(inputs)))
        return features

    def logits(self, sums: Tensor) -> Tensor:
        """Return the logits for given sums."""
        features = self.standardize(raw_features(sums))
        logits: Tensor = self.head(features)
        if self.forest is None:
            return logits
        votes: Tensor = self.forest(features)
        if self.multilabel:
            return ((logits.sigmoid() + votes) / 2).clamp(1e-6, 1 - 1e-6).logit().to(logits)
        return ((logits.softmax(1) + votes) / 2).clamp(min=1e-6).log().to(logits)

    def penalty(self) -> Tensor:
        """Return how far all templates are from drawable graphs."""
        parts = [group.penalty() for group in self.groups if isinstance(group, PooledTemplates)]
        return torch.stack(parts).sum()


# Heads that are solved once templates are learned, with the features of a few thousand graphs in memory at a time.
# Graphs in memory and graphs from a folder of banks give the same results.


#: Number of graphs whose features are computed together.
GRAPHS_AT_ONCE = 2**14
#: Largest number of values to solve a linear head from (512 MB), and to grow a forest on, which copies them. Larger
#: sets are sampled, because hundreds of thousands of graphs determine a few hundred weights.
LINEAR_NUMBERS, FOREST_NUMBERS = 2**27, 2**25


def settle(model: SubgraphModel, inputs: SubgraphInputs) -> None:
    """Fix the standardisation of features to their mean and deviation over all these graphs."""
    if len(inputs) <= GRAPHS_AT_ONCE:
        model.standardize.settle(next(_raw_parts(model, inputs))[1])
        return
    count, mean, squares = 0, torch.zeros(()), torch.zeros(())
    for _, raw in _raw_parts(model, inputs):  # Chan, Golub, LeVeque: join means and squares of parts
        part = raw.double()
        apart = part.mean(0) - mean
        total = count + len(part)
        squares = squares + (part - part.mean(0)).square().sum(0) + apart.square() * (count * len(part) / total)
        mean = mean + apart * (len(part) / total)
        count = total
    model.standardize.mean.copy_(mean)
    model.standardize.deviation.copy_((squares / count + SMALLEST_VARIANCE).sqrt())


def head_features(model: SubgraphModel, inputs: SubgraphInputs, rows: IntArray | None = None) -> NDArray[np.float32]:
    """Return the inputs of the head for some graphs (sorted ``rows``), or for all."""
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
    """Return features and targets of all graphs, or of a sample if there are more than ``numbers`` values."""
    rows = sampled_rows(targets, len(model.standardize.mean), numbers, seed)
    with torch.no_grad():
        features = head_features(model, inputs, rows)
    return features, targets if rows is None else targets[rows]


def sampled_rows(targets: NDArray[Any], width: int, numbers: int, seed: int) -> IntArray | None:
    """Return a sorted sample of graphs with about ``numbers`` values and every class, or None for all."""
    if len(targets) * width <= numbers:
        return None
    rows = numpy_stream(seed, "rows").choice(len(targets), max(1, numbers // width), replace=False)
    first = np.unique(targets, return_index=True)[1] if targets.ndim == 1 else rows[:0]
    return np.unique(np.concatenate([rows, first]))


def accuracy(model: SubgraphModel, inputs: SubgraphInputs, targets: NDArray[Any]) -> float:
    """Return the share of graphs whose class, or all of whose labels, are predicted correctly."""
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
    """Yield a few thousand graphs at a time, with the number of the first."""
    if len(inputs) <= GRAPHS_AT_ONCE:
        yield 0, inputs
        return
    for first in range(0, len(inputs), GRAPHS_AT_ONCE):
        yield first, inputs[torch.arange(first, min(first + GRAPHS_AT_ONCE, len(inputs)))]


class Forest(nn.Module):
    """The mean vote of decision trees grown by scikit-learn.

    Args:
        trees, nodes: number of trees, and number of nodes of the largest.
        outputs: number of classes, or of labels in a multi-label problem.

    Shapes:
        - features ``(batch, inputs)``
        - output ``(batch, outputs)``, probabilities
    """

    feature: Tensor
    threshold: Tensor
    left: Tensor
    right: Tensor
    votes: Tensor

    def __init__(self, trees: int, nodes: int, outputs: int) -> None:
        super().__init__()
        for name in ("feature", "left", "right"):
            self.register_buffer(name, torch.zeros(trees, nodes, dtype=torch.int32))
        self.register_buffer("threshold", torch.zeros(trees, nodes, dtype=torch.float64))
        self.register_buffer("votes", torch.zeros(trees, nodes, outputs))

    @classmethod
    def of(cls, forest: Any) -> Forest:
        """Convert a fitted ``RandomForestClassifier``."""
        trees = Trees.of(forest)
        made = cls(*trees.votes.shape)
        made.load_state_dict({name: torch.from_numpy(array) for name, array in vars(trees).items()})
        return made

    def forward(self, features: Tensor) -> Tensor:
        trees = Trees(*(getattr(self, field.name).cpu().numpy() for field in fields(Trees)))
        return torch.from_numpy(trees.mean_vote(features.detach().cpu().numpy())).to(features.device)


#: L2 penalty of the regression on standardised features per graph, and its maximum. Many similar graphs add little
#: information, and thousands of graphs need no stronger penalty.
PENALTY_PER_GRAPH, LARGEST_PENALTY = 1 / 8, 200.0
#: Standardised features closer than this are equal up to rounding.
ROUNDING = 1e-4


def fit_linear(features: NDArray[np.float32], targets: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return weights (outputs, features) and biases (outputs,) of a logistic regression, one per label."""
    if targets.ndim == 2:
        rows = [_one_label(features, column) for column in targets.T]
        return np.stack([weights for weights, _ in rows]), np.array([bias for _, bias in rows])
    fitted = _regression(len(features)).fit(features, targets)
    weights, bias = fitted.coef_, fitted.intercept_
    if len(weights) == 1:  # two classes: split one score into half for and half against
        weights, bias = np.concatenate([-weights, weights]) / 2, np.concatenate([-bias, bias]) / 2
    return weights, bias


def _one_label(features: NDArray[np.float32], column: NDArray[Any]) -> tuple[NDArray[np.float64], float]:
    if column.min() == column.max():  # a constant label: the probability that one more graph differs
        odds = (column.sum() + 0.5) / (len(column) - column.sum() + 0.5)
        return np.zeros(features.shape[1]), float(np.log(odds))
    fitted = _regression(len(features)).fit(features, column)
    return fitted.coef_[0], float(fitted.intercept_[0])


def _regression(graphs: int) -> LogisticRegression:
    return LogisticRegression(C=1 / min(PENALTY_PER_GRAPH * graphs, LARGEST_PENALTY), max_iter=1000)


def set_linear(head: MLP, solution: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
    """Set the weights and biases of a head with one layer."""
    layer = head[0]
    assert isinstance(layer, torch.nn.Linear)
    with torch.no_grad():
        for parameter, values in zip((layer.weight, layer.bias), solution, strict=True):
            parameter.copy_(torch.from_numpy(values))


def grow_forest(features: NDArray[np.float32], targets: NDArray[Any], seed: int) -> RandomForestClassifier:
    """Grow a random forest; ``targets`` as in `fit_linear`."""
    classes = targets if targets.ndim == 1 else targets.astype(np.int64)
    return RandomForestClassifier(TREES, random_state=seed % 2**32).fit(_without_noise(features), classes)


def _without_noise(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """Make values of a feature equal that differ only by rounding, so that no tree splits between them."""
    order = features.argsort(axis=0, kind="stable")
    values = np.take_along_axis(features, order, axis=0)
    new = np.diff(values, axis=0, prepend=-np.inf) > ROUNDING
    start = np.take_along_axis(values, _last_true(new), axis=0)
    # with many graphs, long runs of values can be this close, so each step from the start of a run begins a new value
    new |= np.diff(np.floor((values - start) / ROUNDING), axis=0, prepend=0) > 0
    first = _last_true(new)
    merged = np.empty_like(features)
    np.put_along_axis(merged, order, np.take_along_axis(values, first, axis=0), axis=0)
    return merged


def _last_true(marks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return, for every entry of a column, the row of the last mark up to it."""
    found: NDArray[np.int64] = np.maximum.accumulate(np.where(marks, np.arange(len(marks))[:, None], 0), axis=0)
    return found


#: Number of values in one block of sums with a match left out: 64 MB of float64.
BLOCK_NUMBERS = 2**23


class PooledMatches(MatchedGraph):
    """The matches of soft templates in one graph.

    Args:
        graph: the graph.
        templates: the model's c templates.
        occurrences: the matches.
        terms: the terms that each match adds to the sums of its template, shape (r, temperatures).
        codes: one hashable value per region, R in all. Two regions, of the same or of different graphs, have equal
            codes exactly if they are equal up to relabelling.
        logits_of: the rest of the model, from sums (b, c, temperatures) to logits (b, outputs), in float64.
        order: returns the position in its region of each template node, given the row of a match.
        weights: number of regions each one stands for if they were sampled, shape (R,), already included in ``terms``;
            None if every region occurs once.
    """

    def __init__(
        self,
        graph: Graph,
        templates: list[Template],
        occurrences: Occurrences,
        terms: NDArray[np.float64],
        codes: Sequence[Any] | NDArray[Any],
        logits_of: Callable[[NDArray[np.float64]], Logits],
        order: Callable[[int], IntArray | None],
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        self.graph, self.templates, self.occurrences = graph, templates, occurrences
        self._terms, self._codes, self._logits_of, self._order = terms, list(codes), logits_of, order
        # equal regions add equal terms, unless they stand for different numbers of regions
        kinds = self._codes if weights is None else list(zip(self._codes, weights.tolist(), strict=True))
        numbers = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
        self._kind = np.array([numbers[kind] for kind in kinds], dtype=np.int64)
        self._weights = np.ones(len(self._codes)) if weights is None else weights
        self._sums = self._summed(np.arange(len(occurrences)))

    def logits(self) -> Logits:
        """Return the outputs for the graph as it is."""
        return np.asarray(self._logits_of(self._sums[None])[0])

    def base_logits(self) -> Logits:
        """Return the outputs when all sums are empty."""
        return np.asarray(self._logits_of(np.zeros_like(self._sums)[None])[0])

    def logits_without(self, rows: IntArray) -> Logits:
        """Return the outputs without the terms of these matches."""
        kept = np.ones(len(self.occurrences), dtype=bool)
        kept[rows] = False
        return np.asarray(self._logits_of(self._summed(np.flatnonzero(kept))[None])[0])

    def logits_without_template(self) -> Logits:
        """Return the outputs when the sums of one template are empty, for each template."""
        others = 1 - np.eye(len(self._sums))
        return self._logits_of(self._sums * others[:, :, None])

    def logits_without_each(self) -> tuple[IntArray, Logits]:
        """Return the outputs without the terms of one match, for each match."""
        found = self.occurrences
        rows = np.arange(len(found))
        # equal matches give equal outputs, which are computed once
        match_kind = found.template * (int(self._kind.max(initial=0)) + 1) + self._kind[found.region]
        _, first, inverse = np.unique(match_kind, return_index=True, return_inverse=True)
        step = max(1, BLOCK_NUMBERS // max(self._sums.size, 1))
        parts = [self._without_one(first[start : start + step]) for start in range(0, len(first), step)]
        return rows, np.concatenate(parts)[inverse.reshape(-1)] if parts else self.logits()[None][:0]

    def order(self, row: int) -> IntArray | None:
        """Return the position in the region of each template node."""
        return self._order(row)

    def cells(self, row: int) -> NDArray[np.float64]:
        """Return the adjacency matrix of a match's region."""
        nodes = self.occurrences.nodes[self.occurrences.region[row]]
        nodes = nodes[nodes >= 0]
        return self.graph.adjacency[np.ix_(nodes, nodes)]

    def count_equal(self, other: MatchedGraph, row: int) -> int:
        """Return how many regions have the code of a match's region, estimated if they were sampled."""
        assert isinstance(other, PooledMatches)
        return round(self._often[other._codes[int(other.occurrences.region[row])]])

    @cached_property
    def _often(self) -> Counter[Any]:
        often: Counter[Any] = Counter()
        for code, weight in zip(self._codes, self._weights.tolist(), strict=True):
            often[code] += weight
        return often

    def _summed(self, rows: IntArray) -> NDArray[np.float64]:
        """Return the sums over some of the matches, shape (c, temperatures)."""
        sums = np.zeros((len(self.templates), self._terms.shape[1]))
        np.add.at(sums, self.occurrences.template[rows], self._terms[rows])
        return sums

    def _without_one(self, rows: IntArray) -> Logits:
        template = self.occurrences.template[rows]
        sums = np.repeat(self._sums[None], len(rows), axis=0)
        # rounding must not turn an empty sum negative before the logarithm
        left = np.maximum(self._sums[template] - self._terms[rows], 0)
        sums[np.arange(len(rows)), template] = left
        return self._logits_of(sums)


# The matches of a subgraph model in one graph: every template in every connected subgraph, with its terms.


def subgraph_matches(
    graph: Graph,
    coded: CodedGraphs,
    encoding: Encoding,
    sizes: list[tuple[int, int]],
    model: SubgraphModel,
    templates: list[Template],
    limit: int,
    seed: int,
) -> MatchedGraph:
    """Match one graph, keeping the nodes of every subgraph.

    Args:
        coded: the encoded graph, as a set of one.
        sizes: view and size of each group of templates.
        limit, seed: as in `bank_subgraphs`, so that the same subgraphs are sampled.
    """
    numbers = edge_numbers(coded)
    widest = max(k for _, k in sizes)
    nodes, counts, regions, owners, distances, terms = [], [], [], [], [], []
    codes: list[tuple[int, int, bytes]] = []  # equal in two graphs exactly if the regions are, up to relabelling
    orders: list[IntArray] = []
    first_region = first_template = 0
    for (view, k), group in zip(sizes, model.groups, strict=True):
        assert isinstance(group, PooledTemplates)
        cut = cut_graph(coded, 0, k, limit, seed)
        raw = region_codes(cut.nodes, numbers, coded.views[view])
        vectors = torch.from_numpy(encoding.vectors(view, raw, k)).to(group.templates.device)
        with torch.no_grad():
            distance = group.distances(vectors)
            term = group.terms(distance).cpu().double().numpy()
            weights = (group.log_weight / 2).exp()[group.kinds]
            winners = exact_flat_winners(group.templates * weights, vectors * weights, group.layout)
        if cut.weights is not None:
            term *= cut.weights[:, None, None]
        w, c = distance.shape
        nodes.append(np.pad(cut.nodes, ((0, 0), (0, widest - k)), constant_values=-1))
        codes += [(view, k, row.tobytes()) for row in canonical_regions(raw, k)] if w else []
        counts.append(np.ones(w) if cut.weights is None else cut.weights)
        regions.append(np.repeat(first_region + np.arange(w), c))
        owners.append(np.tile(first_template + np.arange(c), w))
        distances.append(distance.cpu().double().numpy().ravel())
        terms.append(term.reshape(w * c, term.shape[2]))
        # node a of the region is node p[a] of the template, so template node j is at the position where p is j
        orders += list(permutations(k).numpy()[winners.cpu().numpy().ravel()].argsort(axis=1)) if w else []
        first_region, first_template = first_region + w, first_template + c
    head = copy.deepcopy(model).cpu().double().eval()

    def logits_of(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        with torch.inference_mode():
            return head.logits(torch.from_numpy(sums)).numpy()

    return PooledMatches(
        graph,
        templates,
        Occurrences(
            np.concatenate(nodes), None, np.concatenate(regions), np.concatenate(owners), np.concatenate(distances)
        ),
        np.concatenate(terms),
        codes,
        logits_of,
        lambda row: orders[row],
        np.concatenate(counts),
    )


#: Number of graphs cut and matched together in prediction.
PREDICTED_AT_ONCE = 4096
#: Largest number of graphs in one step if no batch size is given, and the batch size for more.
MOST_AT_ONCE, LARGE_SET_BATCH = 2**14, 1024
#: Weight of the penalty on entries away from 0 and 1; the loss is about 0.5.
READABILITY = 1e-3


class SoftTemplateClassifier(TorchEstimator, GraphClassifier):
    """Classify graphs by learned templates, matched exactly with their connected subgraphs over all permutations.

    The paper matches templates with blocks of consecutive node numbers, so relabelling the nodes changes its
    predictions. Here a region is a connected induced subgraph of k nodes. Templates are compared with all regions over
    all permutations, and the head sees the soft count of each template. Predictions do not depend on node numbering.
    Use this model for molecules and social networks.

    Graphs must be undirected, and may have any size and be disconnected. Self-loops are ignored. Several edges between
    two nodes become one with the sum of their weights, and must have the same label. A graph with fewer than k nodes
    has no subgraphs of that size.

    Args:
        k: nodes per template, 1 to 6, or several sizes.
        c: number of templates in each of the two views (labels and degrees).
        node_labels, edge_labels: whether templates carry them: True, False, or "auto" if the graphs have them.
        node_attributes: the same; "auto" uses them if there are no node labels. They are rounded to a few levels.
        edge_weights: the same as for labels.
        degrees: whether to also match subgraphs by the degrees of their nodes in the whole graph; "auto" does.
        head: "linear" (contributions add up), "mlp" (as in the paper) or "ensemble" (the mean of logistic regression
            and a random forest).
        learn_templates: False keeps the initial templates, which are subgraphs of the training graphs.
        hidden: widths of the hidden layers of ``head="mlp"``.
        max_subgraphs: subgraphs per size and graph above which they are sampled; nodes and edges never are.
        epochs: number of passes over the training graphs.
        learning_rate: learning rate of Adam.
        batch_size: graphs per step, at least 2 because features are standardised within a batch. None uses all graphs
            at once, or 1,024 if there are more than 16,384.
        patience: stop after this many epochs without a lower training loss; None runs all epochs.
        device: torch device.
        random_state: seed of all random draws; None draws one.
        n_jobs: number of torch threads, and of processes that cut large sets.
        verbose: 1 shows a progress bar.

    Attributes set by ``fit``:
        encoding_: the meaning of the entries of templates.
        sampled_: training graphs whose subgraphs were sampled, with the share sampled.
        training_accuracy_: for a model fitted on a stream, its accuracy on the graphs of the stream.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(epochs=5, random_state=0).fit(graphs, graphs.y)
        >>> isonn.testing.assert_relabelling_invariant(clf, graphs[:20])
    """

    model_: SubgraphModel
    encoding_: Encoding
    sampled_: dict[int, float]
    training_accuracy_: float
    groups_: tuple[tuple[int, int, int], ...]
    forest_shape_: tuple[int, int] | None

    def __init__(
        self,
        k: int | Sequence[int] = (1, 2, 3, 4),
        c: int = 32,
        node_labels: bool | str = "auto",
        edge_labels: bool | str = "auto",
        degrees: bool | str = "auto",
        head: str = "linear",
        learn_templates: bool = True,
        max_subgraphs: int = 100_000,
        epochs: int = 40,
        learning_rate: float = 5e-3,
        batch_size: int | None = None,
        node_attributes: bool | str = "auto",
        edge_weights: bool | str = "auto",
        hidden: Sequence[int] = (1024, 128),
        patience: int | None = None,
        device: str = "cpu",
        random_state: Any = None,
        n_jobs: int = 1,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.c = c
        self.node_labels = node_labels
        self.edge_labels = edge_labels
        self.degrees = degrees
        self.head = head
        self.learn_templates = learn_templates
        self.max_subgraphs = max_subgraphs
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.node_attributes = node_attributes
        self.edge_weights = edge_weights
        self.hidden = hidden
        self.patience = patience
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_params(self) -> None:
        """Validate parameters."""
        super()._check_params()
        check_subgraph_sizes(self.k)
        for name in ("c", "max_subgraphs"):
            check_count(name, getattr(self, name))
        if self.head not in HEADS:
            raise InputError(f"head={self.head!r} is unknown; use one of {', '.join(map(repr, HEADS))}")
        for name in (*COLUMNS, "degrees"):
            if getattr(self, name) not in (True, False, "auto"):
                raise InputError(f"{name}={getattr(self, name)!r} is unknown; use True, False or 'auto'")
        check_widths("hidden", self.hidden)
        if self.batch_size == 1:
            raise InputError("batch_size must be at least 2, or None, got 1")

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        bank: str | Path | None = None,
        workers: int | Run | None = None,
    ) -> Self:
        """Learn templates and head from graphs ``X`` and classes ``y``.

        A stream (`isonn.stream`) is read twice, a few thousand graphs at a time, and its subgraphs are kept on disk.
        The model is the same as for graphs in memory.

        Args:
            X: a `GraphSet`, anything `isonn.as_graphset` takes, or a stream.
            y: classes of any type, shape (g,), or an indicator matrix of shape (g, labels).
            checkpoint: a file for the training state; Ctrl-C finishes the epoch and saves.
            resume: continue from ``checkpoint`` if it exists. The result is bit-identical to a run without a stop.
            bank: a folder for the subgraphs, so that a stopped run, or one with other templates or epochs, does not cut
                them again. None uses a temporary folder for streams, and memory for other graphs.
            workers: number of processes that cut graphs into ``bank``, or a function that runs them on a cluster
                (`isonn.experiments.cluster.calls_on_cluster`); None uses ``n_jobs``.
        """
        if bank is None and not isinstance(X, GraphStream):
            return super().fit(X, y, checkpoint=checkpoint, resume=resume)
        self._check_params()
        self._fitted = False
        self.seed_ = resolve_seed(self.random_state)
        source = X if isinstance(X, GraphStream) else stream(as_graphset(X))
        with bank_folder(bank) as folder:
            count = self.n_jobs if workers is None else workers
            seen = look(source, partial(columns_to_read, self), self.verbose > 0, count)
            classes = seen.y if y is None else y
            if classes is None:
                raise InputError(f"{type(self).__name__}.fit needs classes; pass y, or a stream that has them")
            targets = self._encode(classes, seen.graphs)
            self.size_ = seen.largest
            self.label_names_ = seen.names_for(y)
            self._remember(seen.hashes)
            use = used_columns(self, seen.known.has)
            self.encoding_ = encoding_of(seen.known, use, sizes_of(self.k), self._views, source.name)
            settings = (
                self.max_subgraphs,
                self._cut_seed,
                count,
                self.verbose > 0,
            )
            cut_to_folder(source, self.encoding_, folder, seen, *settings)
            identity = self._identity(bank_digest(folder), targets)
            saved = None if checkpoint is None else Checkpoint(Path(checkpoint), identity)
            inputs = self._begin(banks_of(*pieces_in(folder, seen, source.name)), targets, source.name)
        self._train(lambda: inputs, targets, saved, resume)
        with torch_threads(self.n_jobs):
            self.training_accuracy_ = accuracy(self.model_, inputs, targets)
        self._fitted = True
        return self

    def _prepare(self, graphs: GraphSet, targets: NDArray[Any]) -> SubgraphInputs:
        """Cut the training graphs, learn the encoding and choose the initial templates."""
        check_undirected(graphs)
        use = used_columns(self, DistinctValues(()).add(graphs).has)
        self.encoding_ = fit_encoding(graphs, use, sizes_of(self.k), self._views)
        return self._begin(self._bank(graphs), targets, graphs.name)

    def _begin(self, banked: Banked, targets: NDArray[Any], name: str) -> SubgraphInputs:
        """Choose the initial templates."""
        self.sampled_ = sampled_shares(banked.sampled, len(targets), name)
        self._starts, self.forest_shape_ = {}, None
        for view, banks in enumerate(banked.banks):
            for k, rows in starting_subgraphs(banks, targets, self.c).items():
                if len(rows):
                    regions = self.encoding_.vectors(view, banks[k].regions[rows], k)
                    self._starts[view, k] = torch.from_numpy(regions)
        self.groups_ = tuple((view, k, len(start)) for (view, k), start in self._starts.items())
        if not self.groups_:
            raise InputError(
                f"no graph of {name} has a connected subgraph of k={self.k} nodes; use a smaller k, such as k=1"
            )
        return self._bank_tensors(banked, len(targets))

    def _build(self, generator: torch.Generator | None) -> SubgraphModel:
        groups = []
        for view, k, c in self.groups_:
            layout = self.encoding_.layout(view, k)
            start = self._starts[view, k].clone() if self._starts else torch.empty(c, layout.width)
            group = PooledTemplates(layout, *self.encoding_.entry_kinds(view, k), START_WEIGHTS, start)
            groups.append(group.requires_grad_(self.learn_templates))
        hidden = self.hidden if self.head == "mlp" else ()
        model = SubgraphModel(groups, len(self.classes_), hidden, self.multilabel_, generator)
        if self.forest_shape_ is not None:
            model.forest = Forest(*self.forest_shape_, len(self.classes_))
        return model

    def _epochs(self) -> int:
        """Return 0 if there is nothing to train by gradient, because `_finish` solves for a linear head."""
        return self.epochs if self.learn_templates or self.head == "mlp" else 0

    def _graphs_per_step(self, graphs: int) -> int | None:
        return LARGE_SET_BATCH if self.batch_size is None and graphs > MOST_AT_ONCE else self.batch_size

    def _loss(self, model: nn.Module, targets: NDArray[Any]) -> Callable[[Tensor, Tensor], Tensor]:
        assert isinstance(model, SubgraphModel)
        loss = super()._loss(model, targets)
        return lambda logits, targets: loss(logits, targets) + READABILITY * model.penalty()

    def _finish(self, inputs: SubgraphInputs, targets: NDArray[Any]) -> None:
        """Solve for the linear head, and grow the forest, on the current templates."""
        model = self.model_.eval()
        with torch.no_grad():
            settle(model, inputs)
        if self.head != "mlp":
            features, known = solved_from(model, inputs, targets, LINEAR_NUMBERS, self._sample_seed)
            with limit_threads(int(self.n_jobs)):  # torch's thread limit does not apply to scikit-learn
                set_linear(model.head, fit_linear(features, known))
        if self.head == "ensemble":
            features, known = solved_from(model, inputs, targets, FOREST_NUMBERS, self._sample_seed)
            model.forest = Forest.of(grow_forest(features, known, derive_seed(self.seed_, "forest"))).to(self.device)
            trees, nodes = model.forest.feature.shape
            self.forest_shape_ = trees, nodes

    def _inputs(self, graphs: GraphSet) -> SubgraphInputs:
        return self._bank_tensors(self._bank(graphs), len(graphs))

    def _cells_per_graph(self) -> int:
        return PREDICTION_CELLS // PREDICTED_AT_ONCE

    def _features(self, inputs: Any) -> Tensor:
        return self.model_.features(inputs)

    def _templates(self) -> list[Template]:
        return [
            self.encoding_.soft_template(view, k, entries)
            for (view, k, _), group in zip(self.groups_, self._groups(), strict=True)
            for entries in group.templates.detach().cpu().numpy()
        ]

    def _warn_of_unusual(self, graphs: GraphSet) -> None:
        self.encoding_.warn_of_unseen(graphs)

    def _matched(self, graphs: GraphSet) -> MatchedGraph:
        self._warn_of_unusual(graphs)
        coded = self.encoding_.encode(graphs)
        sizes = [(view, k) for view, k, _ in self.groups_]
        return subgraph_matches(
            graphs[0], coded, self.encoding_, sizes, self.model_, self._templates(), self.max_subgraphs, self._cut_seed
        )

    def _description(self) -> dict[str, Any]:
        sampled = sorted(self.sampled_.items())
        return super()._description() | {
            "encoding": self.encoding_.as_json(),
            "groups": self.groups_,
            "forest": self.forest_shape_,
            "sampled": sampled,
        }

    def _restore(self, stored: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        self.encoding_ = encoding_from_json(stored["encoding"])
        self.groups_ = tuple((view, k, c) for view, k, c in stored["groups"])
        for view, k, c in self.groups_:
            check_count("c", c)
            if ("subgraphs", view, k) not in self.encoding_.groups:
                raise ValueError(f"the encoding has no subgraphs of {k} nodes in view {view}")
        trees, nodes = stored["forest"] or (0, 0)
        self.forest_shape_ = (int(trees), int(nodes)) if trees else None
        self._starts = {}
        self.sampled_ = {int(graph): float(share) for graph, share in stored["sampled"]}
        super()._restore(stored, tensors)

    def _groups(self) -> list[PooledTemplates]:
        return [group for group in self.model_.groups if isinstance(group, PooledTemplates)]

    @property
    def _views(self) -> tuple[str, ...]:
        return ("labels", "degrees") if self.degrees else ("labels",)

    @property
    def _sample_seed(self) -> int:
        return derive_seed(self.seed_, "solve")

    @property
    def _cut_seed(self) -> int:
        return derive_seed(self.seed_, "cut")

    def _bank(self, graphs: GraphSet) -> Banked:
        coded = self.encoding_.encode(graphs)
        with progress.bar("cutting", len(graphs), show=self.verbose > 0) as report:
            return bank_subgraphs(coded, self.max_subgraphs, self._cut_seed, n_jobs=self.n_jobs, report=report)

    def _bank_tensors(self, banked: Banked, graphs: int) -> SubgraphInputs:
        banks = [(view, banked.banks[view][k]) for view, k, _ in self.groups_]
        regions = [self.encoding_.vectors(view, bank.regions, bank.k) for view, bank in banks]
        return SubgraphInputs(
            tuple(torch.from_numpy(part).to(self.device) for part in regions),
            tuple(bank.counts for _, bank in banks),
            graphs,
        )
