"""Merge subgraphs: every distinct one once, up to renumbering and codes included, and how often each graph has it.

A graph is given as integer codes: what its nodes and edges are (a label, a level of a weight, a degree) is a
number here, and code 0 of an edge means that there is none. Graphs can be looked at in several ways at once
(`View`): the subgraphs are cut once, and merged for each view by its own codes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, vstack

from isonn.matching.bank import merge_equal
from isonn.matching.permutations import permutations
from isonn.matching.subgraphs import Cut, cut_subgraphs
from isonn.progress import Report, silent

IntArray = NDArray[np.int64]

#: Nodes of the graphs that are cut in one go: some ten thousand subgraphs, whose arrays stay small.
NODES_PER_BLOCK = 2048
#: Blocks below which further processes cost more than they save: they take a second to start.
MIN_BLOCKS_PER_PROCESS = 8
#: Orderings of regions looked at at once while one is chosen.
ORDERINGS_AT_ONCE = 2**20


@dataclass(frozen=True, eq=False)
class View:
    """One way to look at graphs.

    Attributes:
        node_codes: what each node is, ``(nodes,)``, from 0.
        edge_codes: what each edge is, ``(edges,)``, from 1.
        sizes: the sizes of subgraphs that are cut for it.
    """

    node_codes: IntArray
    edge_codes: IntArray
    sizes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CodedGraphs:
    """Undirected graphs as flat columns.

    Attributes:
        node_offsets, edge_offsets: where the nodes and edges of each graph start, ``(g + 1,)``.
        edges: every edge once, nodes numbered from 0 within their graph, ``(edges, 2)``.
        views: how to look at them.
    """

    node_offsets: IntArray
    edge_offsets: IntArray
    edges: IntArray
    views: tuple[View, ...]

    def __len__(self) -> int:
        return len(self.node_offsets) - 1

    def part(self, start: int, stop: int) -> CodedGraphs:
        """Graphs ``start`` to ``stop``."""
        nodes = slice(self.node_offsets[start], self.node_offsets[stop])
        edges = slice(self.edge_offsets[start], self.edge_offsets[stop])
        return CodedGraphs(
            self.node_offsets[start : stop + 1] - nodes.start,
            self.edge_offsets[start : stop + 1] - edges.start,
            self.edges[edges],
            tuple(View(view.node_codes[nodes], view.edge_codes[edges], view.sizes) for view in self.views),
        )


@dataclass(frozen=True, eq=False)
class SubgraphBank:
    """The distinct k-node subgraphs of some graphs, as one view sees them.

    Attributes:
        k: their size.
        regions: in canonical order, ``(d, k + k*(k-1)/2)``: the codes of the nodes, then those of the edges, row by
            row of the upper triangle.
        counts: how often each graph has each of them, sparse, ``(g, d)``.
    """

    k: int
    regions: IntArray
    counts: csr_array


@dataclass(frozen=True, eq=False)
class Banked:
    """What `bank_subgraphs` made of some graphs.

    Attributes:
        banks: by view, then by size.
        sampled: the share of its subgraphs that was sampled, by graph and size, of those with too many to list.
    """

    banks: tuple[dict[int, SubgraphBank], ...]
    sampled: dict[tuple[int, int], float]


def bank_subgraphs(
    graphs: CodedGraphs, limit: int = 100_000, seed: int = 0, jobs: int = 1, report: Report = silent
) -> Banked:
    """Cut and merge the connected subgraphs of graphs.

    Args:
        limit: subgraphs of one size a graph may have before they are sampled.
        seed: of the samples.
        jobs: processes; the result does not depend on it.
        report: told how many graphs are done.
    """
    bounds = _blocks(graphs)
    work = (delayed(_bank_block)(graphs.part(*bound), limit, seed) for bound in bounds)
    jobs = min(jobs, max(1, len(bounds) // MIN_BLOCKS_PER_PROCESS))
    parts = []
    for (_, stop), part in zip(bounds, Parallel(n_jobs=jobs, return_as="generator")(work), strict=True):
        parts.append(part)
        report(stop, "graphs cut")
    sampled = {
        (start + graph, k): share
        for (start, _), part in zip(bounds, parts, strict=True)
        for (graph, k), share in part.sampled.items()
    }
    banks = tuple(
        {k: _canonical(_join([part.banks[number][k] for part in parts])) for k in view.sizes}
        for number, view in enumerate(graphs.views)
    )
    return Banked(banks, sampled)


def region_codes(cut: IntArray, edge_number: csr_array, view: View) -> IntArray:
    """The regions on the given nodes, in the order of these, as one view sees them: ``(w, k + k*(k-1)/2)``.

    Args:
        cut: nodes of each region, ``(w, k)``.
        edge_number: one more than the number of the edge between two nodes, 0 where there is none, ``(n, n)``.
    """
    w, k = cut.shape
    if k == 1 or not w:
        return np.concatenate([view.node_codes[cut], np.zeros((w, k * (k - 1) // 2), dtype=np.int64)], axis=1)
    rows, columns = np.triu_indices(k, 1)
    number = np.asarray(edge_number[cut[:, rows].ravel(), cut[:, columns].ravel()]).reshape(w, len(rows))
    codes = np.concatenate([np.zeros(1, dtype=np.int64), view.edge_codes])[number]
    return np.concatenate([view.node_codes[cut], codes], axis=1)


def edge_numbers(graphs: CodedGraphs) -> csr_array:
    """One more than the number of the edge between two nodes, over all graphs, 0 where there is none."""
    owner = np.repeat(np.arange(len(graphs)), np.diff(graphs.edge_offsets))
    ends = graphs.edges + graphs.node_offsets[owner, None]
    rows, columns = np.concatenate([ends, ends[:, ::-1]]).T
    n = int(graphs.node_offsets[-1])
    numbers = csr_array((np.tile(np.arange(1, len(ends) + 1), 2), (rows, columns)), shape=(n, n))
    numbers.sum_duplicates()  # sorts, too: looking up is then a binary search
    return numbers


def cut_graph(graphs: CodedGraphs, i: int, k: int, limit: int, seed: int) -> Cut:
    """The subgraphs of graph i, nodes numbered within it."""
    nodes = slice(graphs.node_offsets[i], graphs.node_offsets[i + 1])
    edges = slice(graphs.edge_offsets[i], graphs.edge_offsets[i + 1])
    node_codes, edge_codes = (
        _joint_codes([view.node_codes[nodes] for view in graphs.views]),
        _joint_codes([view.edge_codes[edges] for view in graphs.views]),
    )
    n = int(nodes.stop - nodes.start)
    return cut_subgraphs(n, graphs.edges[edges], k, limit, node_codes, edge_codes, seed)


def canonical_regions(regions: IntArray, k: int) -> IntArray:
    """Each region in the order of its nodes that makes its row of codes smallest.

    Example:
        >>> canonical_regions(np.array([[7, 5, 1], [5, 7, 1]]), k=2).tolist()
        [[5, 7, 1], [5, 7, 1]]
    """
    places = _places(k)
    best = np.empty_like(regions)
    rows = max(1, ORDERINGS_AT_ONCE // len(places))
    for start in range(0, len(regions), rows):
        part = regions[start : start + rows]
        open_orders = np.ones((len(part), len(places)), dtype=bool)
        for word in _words([part[:, column] for column in places.T], int(regions.max())):
            smallest = np.where(open_orders, word, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
            open_orders &= word == smallest
        best[start : start + rows] = np.take_along_axis(part, places[open_orders.argmax(axis=1)], axis=1)
    return best


def _places(k: int) -> IntArray:
    """Where each entry of a renumbered region comes from, for all orderings: ``(k!, k + k*(k-1)/2)``."""
    orders = permutations(k).numpy()
    rows, columns = np.triu_indices(k, 1)
    number = np.zeros((k, k), dtype=np.int64)
    number[rows, columns] = number[columns, rows] = k + np.arange(len(rows))
    return np.concatenate([orders, number[orders[:, rows], orders[:, columns]]], axis=1)


def _words(columns: Sequence[IntArray], largest: int) -> Iterator[IntArray]:
    """Columns of codes packed into 63-bit integers, the first column in the highest bits."""
    bits = max(1, int(largest).bit_length())
    for start in range(0, len(columns), 63 // bits):
        word = np.zeros(columns[0].shape, dtype=np.int64)
        for column in columns[start : start + 63 // bits]:
            word = (word << bits) | column
        yield word


def _blocks(graphs: CodedGraphs) -> list[tuple[int, int]]:
    """Bounds of runs of graphs with about NODES_PER_BLOCK nodes; they depend on the graphs alone."""
    number = graphs.node_offsets[1:] // NODES_PER_BLOCK
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    return list(itertools.pairwise([*starts.tolist(), len(graphs)]))


def _bank_block(graphs: CodedGraphs, limit: int, seed: int) -> Banked:
    numbers = edge_numbers(graphs)
    banks: tuple[dict[int, SubgraphBank], ...] = tuple({} for _ in graphs.views)
    sampled = {}
    for k in sorted({k for view in graphs.views for k in view.sizes}):
        cuts = [cut_graph(graphs, i, k, limit, seed) for i in range(len(graphs))]
        sampled.update({(i, k): cut.share for i, cut in enumerate(cuts) if cut.weights is not None})
        owner = np.repeat(np.arange(len(graphs)), [len(cut.nodes) for cut in cuts])
        nodes = np.concatenate([cut.nodes for cut in cuts]) + graphs.node_offsets[owner, None]
        weights = np.concatenate([np.ones(len(cut.nodes)) if cut.weights is None else cut.weights for cut in cuts])
        for view, bank in zip(graphs.views, banks, strict=True):
            if k in view.sizes:
                codes = region_codes(nodes, numbers, view)
                bank[k] = _merged(
                    k, codes, coo_array((weights, (owner, np.arange(len(owner)))), (len(graphs), len(owner)))
                )
    return Banked(banks, sampled)


def _merged(k: int, codes: IntArray, counts: coo_array) -> SubgraphBank:
    """The bank of regions, each once; most that are equal up to renumbering are merged already."""
    if not len(codes):
        return SubgraphBank(k, codes, counts.tocsr())
    number, place = merge_equal(_words(list(codes.T), int(codes.max())))
    codes = _roughly_sorted(codes[place], k)
    again, place = merge_equal(_words(list(codes.T), int(codes.max())))
    return SubgraphBank(k, codes[place], _added(counts, again[number], len(place)))


def _canonical(bank: SubgraphBank) -> SubgraphBank:
    """The bank with every region in canonical order. Trying all orderings is dear: it comes last, when few are left."""
    return _join([SubgraphBank(bank.k, canonical_regions(bank.regions, bank.k), bank.counts)])


def _roughly_sorted(regions: IntArray, k: int) -> IntArray:
    """Each region with its nodes ordered by their codes and, among equals, by the codes of their edges."""
    rows, columns = np.triu_indices(k, 1)
    links = np.zeros((len(regions), k, k), dtype=np.int64)
    links[:, rows, columns] = links[:, columns, rows] = regions[:, k:]
    weight = (links * links * k).sum(axis=2)
    key = regions[:, :k] * (weight.max() + 1) + weight
    order = key.argsort(axis=1, kind="stable")
    at = np.arange(len(regions))[:, None]
    sorted_links = links[at[:, :, None], order[:, :, None], order[:, None, :]]
    return np.concatenate([regions[at, order], sorted_links[:, rows, columns]], axis=1)


def _join(parts: Sequence[SubgraphBank]) -> SubgraphBank:
    """The bank of several runs of graphs."""
    k, regions = parts[0].k, np.concatenate([part.regions for part in parts])
    if not len(regions):
        return SubgraphBank(k, regions, vstack([part.counts for part in parts], format="csr"))
    # ordered by their codes, so that it does not matter how the graphs were divided
    order = np.lexsort(regions.T[::-1])
    new = np.ones(len(regions), dtype=bool)
    new[1:] = (regions[order][1:] != regions[order][:-1]).any(axis=1)
    number = np.empty(len(regions), dtype=np.int64)
    number[order] = new.cumsum() - 1
    bounds = itertools.pairwise(itertools.accumulate((len(part.regions) for part in parts), initial=0))
    counts = [
        _added(part.counts.tocoo(), number[slice(*bound)], int(new.sum()))
        for part, bound in zip(parts, bounds, strict=True)
    ]
    return SubgraphBank(k, regions[order][new], vstack(counts, format="csr"))


def _added(counts: coo_array, number: IntArray, columns: int) -> csr_array:
    """Counts with every column moved to ``number[column]``, and those that meet there added up."""
    moved = csr_array((counts.data, (counts.row, number[counts.col])), shape=(counts.shape[0], columns))
    moved.sum_duplicates()
    return moved


def _joint_codes(columns: Sequence[IntArray]) -> IntArray:
    """One code for what several views see."""
    return np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].reshape(-1)
