"""Merge subgraphs: every distinct one once, up to relabelling and codes included, and how often each graph has it.

A graph is given as integer codes: what its nodes and edges are (a label, a level of a weight, a degree) is a
number here, and code 0 of an edge means that there is none. Graphs can be looked at in several ways at once
(`Codes`): the subgraphs are cut once, and merged for each view by its own codes.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, hstack

from isonn.errors import IsoNNWarning
from isonn.packing import IntArray, bits_of, merge_equal, row_words, words_of
from isonn.progress import Report, silent
from isonn.subgraphs.enumerate import (
    Cut,
    canonical_regions,
    cut_subgraphs,
    list_subgraphs,
    neighbourhood_codes,
    roughly_sorted,
    sample_subgraphs,
)

if TYPE_CHECKING:
    from isonn.subgraphs.kernels import Counter

#: Nodes below which a further thread costs more than it saves.
NODES_PER_BLOCK = 2**14
#: Graphs that the numpy path cuts in one go.
GRAPHS_PER_BLOCK = 512
#: The largest edge code the compiled path takes; a test holds it to the kernels' own.
MAX_EDGE_CODE = 2**12 - 1
#: The largest node code the compiled path takes: codes are 32-bit integers there.
MAX_NODE_CODE = 2**31 - 2
#: Pairs of nodes of a block for which a table is made; beyond, edges are looked up by binary search.
MOST_PAIRS = 2**22
#: Regions of blocks that are merged with those known already in one go.
REGIONS_AT_ONCE = 2**20


@dataclass(frozen=True, eq=False)
class Codes:
    """Graphs as one view codes them.

    Attributes:
        node_codes: what each node is, ``(nodes,)``, from 0.
        edge_codes: what each edge is, ``(edges,)``, from 1.
        sizes: the sizes of subgraphs that are cut for it.
        radii: the radii of neighbourhoods that are counted for it.
    """

    node_codes: IntArray
    edge_codes: IntArray
    sizes: tuple[int, ...]
    radii: tuple[int, ...] = ()


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
    views: tuple[Codes, ...]

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
            tuple(
                replace(view, node_codes=view.node_codes[nodes], edge_codes=view.edge_codes[edges])
                for view in self.views
            ),
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
        neighbourhoods: by view, then by radius; a region is its 124-bit code in two columns.
    """

    banks: tuple[dict[int, SubgraphBank], ...]
    sampled: dict[tuple[int, int], float]
    neighbourhoods: tuple[dict[int, SubgraphBank], ...] = ()


def bank_subgraphs(
    graphs: CodedGraphs, limit: int = 100_000, seed: int = 0, n_jobs: int = 1, report: Report = silent
) -> Banked:
    """Cut and merge the connected subgraphs of graphs.

    Args:
        limit: subgraphs of one size a graph may have before they are sampled.
        seed: of the samples.
        n_jobs: threads; the result does not depend on it.
        report: told how many graphs are done.
    """
    bounds = blocks(graphs, n_jobs)
    parts: list[Banked] = []
    stop = threading.Event()

    def banked(bound: tuple[int, int]) -> Banked:
        return bank_block(graphs.part(*bound), limit, seed, stop)

    def gather(every: Iterable[Banked]) -> None:
        for part in every:
            parts.append(part)
            report(bounds[len(parts) - 1][1], "graphs cut")

    if len(bounds) == 1:  # in this thread, which is the one that hears Ctrl-C
        gather(map(banked, bounds))
    else:
        with ThreadPoolExecutor(n_jobs) as threads:
            try:
                gather(threads.map(banked, bounds))
            except BaseException:
                stop.set()
                threads.shutdown(wait=False, cancel_futures=True)
                raise
    return join_banks(parts, bounds)


def bank_block(graphs: CodedGraphs, limit: int, seed: int, stop: threading.Event | None = None) -> Banked:
    """The banks of some graphs, regions canonical and sorted; compiled where numba is installed.

    Once ``stop`` is set by another thread, a compiled count gives up within a second.
    """
    if fits_kernels(graphs):
        return _bank_compiled(graphs, limit, seed, stop)
    bounds = list(itertools.pairwise([*range(0, len(graphs), GRAPHS_PER_BLOCK), len(graphs)]))
    return join_banks([bank_in_numpy(graphs.part(*bound), limit, seed) for bound in bounds], bounds)


def neighbourhood_codes_of(ends: IntArray, node_codes: IntArray, edge_codes: IntArray, radius: int) -> IntArray:
    """`isonn.subgraphs.enumerate.neighbourhood_codes`, compiled where numba is installed."""
    if not compiled():
        return neighbourhood_codes(ends, node_codes, edge_codes, radius)
    from isonn.subgraphs import kernels

    return kernels.neighbourhood_codes(ends, node_codes, edge_codes, radius)


def bank_neighbourhoods(graphs: CodedGraphs) -> tuple[dict[int, SubgraphBank], ...]:
    """The distinct rooted neighbourhoods of graphs, by view and radius."""
    if not any(view.radii for view in graphs.views):
        return tuple({} for _ in graphs.views)
    owner = np.repeat(np.arange(len(graphs)), np.diff(graphs.node_offsets))
    cells = np.repeat(np.arange(len(graphs)), np.diff(graphs.edge_offsets))
    ends = graphs.edges + graphs.node_offsets[cells, None]
    banks: tuple[dict[int, SubgraphBank], ...] = tuple({} for _ in graphs.views)
    for bank, view in zip(banks, graphs.views, strict=True):
        if not view.radii:
            continue
        codes = neighbourhood_codes_of(ends, view.node_codes, view.edge_codes, max(view.radii))
        for r in view.radii:
            number, place = merge_equal(iter(codes[r]))
            counts = coo_array((np.ones(len(number)), (owner, number)), shape=(len(graphs), len(place))).tocsr()
            bank[r] = SubgraphBank(r, codes[r][:, place].T.copy(), _compact(counts))
    return banks


def compiled() -> bool:
    """Whether the compiled kernels can be used."""
    return importlib.util.find_spec("numba") is not None


def fits_kernels(graphs: CodedGraphs) -> bool:
    """Whether the compiled kernels can be used for these graphs: numba is installed and no code is too large."""
    if not compiled():
        return False
    largest = [int(view.edge_codes.max(initial=0)) for view in graphs.views]
    if max(largest) > MAX_EDGE_CODE or any(view.node_codes.max(initial=0) > MAX_NODE_CODE for view in graphs.views):
        return False
    # the views are coded together
    return (
        math.prod(largest) <= MAX_EDGE_CODE or _joint_codes([v.edge_codes for v in graphs.views]).max() < MAX_EDGE_CODE
    )


def counter_of(graphs: CodedGraphs, limit: int) -> Counter:
    """The compiled counter of coded graphs."""
    from isonn.subgraphs.kernels import Counter

    owner = np.repeat(np.arange(len(graphs)), np.diff(graphs.edge_offsets))
    ends = graphs.edges + graphs.node_offsets[owner, None]
    codes = [view.edge_codes for view in graphs.views]
    if len(ends) and ((ends[:, 0] > ends[:, 1]).any() or (np.diff(ends[:, 0]) < 0).any() or _unsorted(ends)):
        ends = np.sort(ends, axis=1)
        order = np.lexsort((ends[:, 1], ends[:, 0]))
        ends, codes = ends[order], [column[order] for column in codes]
    node_codes = np.stack([view.node_codes for view in graphs.views])
    return Counter(graphs.node_offsets, ends, node_codes, np.stack(codes), tuple(v.sizes for v in graphs.views), limit)


def _unsorted(ends: IntArray) -> bool:
    step = np.diff(ends, axis=0)
    return bool(((step[:, 0] == 0) & (step[:, 1] <= 0)).any())


def _bank_compiled(graphs: CodedGraphs, limit: int, seed: int, stop: threading.Event | None) -> Banked:
    from isonn.subgraphs.kernels import counts_by_level

    counter = counter_of(graphs, limit)
    stops, columns, counts, skipped = counter.count(stop=stop)
    more: list[tuple[IntArray, IntArray, NDArray[np.float64]]] = []  # graph, column and weight of what was sampled
    sampled: dict[tuple[int, int], float] = {}
    cuts: dict[tuple[int, int], tuple[Cut, IntArray]] = {}  # equal graphs have equal samples
    sizes = sorted({k for view in graphs.views for k in view.sizes})
    least = {i: min(size for graph, size in skipped if graph == i) for i, _ in skipped}
    for i in least:
        for k in (k for k in sizes if k >= least[i]):
            twin = int(counter.twins[i])
            if twin == i:
                cut = cut_graph(graphs, i, k, limit, seed, sample=k == least[i])
                found = counter.columns_of(cut.nodes + graphs.node_offsets[i]).astype(np.int64)
                cuts[i, k] = cut, found
            cut, found = cuts[twin, k]
            weights = np.ones(len(cut.nodes)) if cut.weights is None else cut.weights
            if cut.weights is not None:
                sampled[i, k] = cut.share
            for number, view in enumerate(graphs.views):
                if k in view.sizes:
                    distinct, which = np.unique(found[:, number], return_inverse=True)
                    summed = np.bincount(which.reshape(-1), weights).astype(np.float64)
                    more.append((np.full(len(distinct), i), distinct, summed))
    owner = np.repeat(np.arange(len(graphs), dtype=np.int32), np.diff(stops, prepend=0))
    if more:
        owner = np.concatenate([owner, *(part[0].astype(np.int32) for part in more)])
        columns = np.concatenate([columns, *(part[1] for part in more)])
        counts = np.concatenate([counts, *(part[2] for part in more)])
    # columns in the order of views, sizes and codes: every level is then a run of them
    met = np.flatnonzero(np.bincount(columns, minlength=len(counter.columns)))  # a sampled graph may leave others
    order = met[np.lexsort(list(row_words(counter.columns[met].astype(np.int64)))[::-1])]
    rows, places = counter.columns[order], np.empty(len(counter.columns), dtype=np.int32)
    places[order] = np.arange(len(order))
    levels = [(number, k) for number, view in enumerate(graphs.views) for k in sorted(view.sizes)]
    numbers = np.zeros((len(graphs.views), sizes[-1] + 1), dtype=np.int64)
    numbers[tuple(np.transpose(levels))] = np.arange(len(levels))
    level_of = numbers[rows[:, 0], rows[:, 1]]
    bounds = np.searchsorted(level_of, np.arange(len(levels) + 1))
    tables = counts_by_level(owner, places[columns], counts, level_of, len(levels), len(graphs))
    banks: tuple[dict[int, SubgraphBank], ...] = tuple({} for _ in graphs.views)
    for (number, k), table, start, end in zip(levels, tables, bounds[:-1], bounds[1:], strict=True):
        regions = rows[start:end, 2 : 2 + k + k * (k - 1) // 2]
        banks[number][k] = SubgraphBank(
            k, _small(regions), _compact(csr_array(table, shape=(len(graphs), end - start)))
        )
    return Banked(banks, sampled, bank_neighbourhoods(graphs))


def join_banks(parts: Sequence[Banked], bounds: Sequence[tuple[int, int]]) -> Banked:
    """The banks of runs of graphs as one; the parts are used up. Codes and counts keep their small types."""
    sampled = {
        (start + graph, k): share
        for (start, _), part in zip(bounds, parts, strict=True)
        for (graph, k), share in part.sampled.items()
    }
    banks = tuple(map(_joined, zip(*(part.banks for part in parts), strict=True)))
    hoods = tuple(map(_joined, zip(*(part.neighbourhoods for part in parts), strict=True)))
    return Banked(banks, sampled, hoods)


def _joined(parts: Sequence[dict[int, SubgraphBank]]) -> dict[int, SubgraphBank]:
    """The banks of one view of runs of graphs as one."""
    joined = {}
    for k in tuple(parts[0]):
        regions, numbers = merge_regions(part[k].regions for part in parts)
        dtype = np.result_type(*(part[k].counts.dtype for part in parts))
        counts = join_counts((part.pop(k).counts for part in parts), numbers, len(regions), dtype)
        joined[k] = SubgraphBank(k, regions, counts)
    return joined


def region_codes(cut: IntArray, edge_number: csr_array, view: Codes) -> IntArray:
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


def cut_graph(graphs: CodedGraphs, i: int, k: int, limit: int, seed: int, sample: bool = False) -> Cut:
    """The subgraphs of graph i, nodes numbered within it; ``sample`` where they are known to be too many to list."""
    nodes = slice(graphs.node_offsets[i], graphs.node_offsets[i + 1])
    edges = slice(graphs.edge_offsets[i], graphs.edge_offsets[i + 1])
    node_codes, edge_codes = (
        _joint_codes([view.node_codes[nodes] for view in graphs.views]),
        _joint_codes([view.edge_codes[edges] for view in graphs.views]),
    )
    n = int(nodes.stop - nodes.start)
    cut = sample_subgraphs if sample else cut_subgraphs
    return cut(n, graphs.edges[edges], k, limit, node_codes, edge_codes, seed)


def blocks(graphs: CodedGraphs, n_jobs: int = 1) -> list[tuple[int, int]]:
    """Bounds of runs of graphs: a few per thread, so that threads end together, and none tiny."""
    nodes = int(graphs.node_offsets[-1])
    wanted = 1 if n_jobs == 1 else min(4 * n_jobs, max(1, nodes // NODES_PER_BLOCK))
    stops = np.searchsorted(graphs.node_offsets, np.linspace(0, nodes, wanted + 1)[1:]).tolist()
    return list(itertools.pairwise(sorted({0, *stops[:-1], len(graphs)})))


def bank_in_numpy(graphs: CodedGraphs, limit: int, seed: int) -> Banked:
    """`bank_block` without compiled code: the oracle of its tests, and slower."""
    owner = np.repeat(np.arange(len(graphs)), np.diff(graphs.edge_offsets))
    edges = graphs.edges + graphs.node_offsets[owner, None]
    pairs = _pair_lookup(graphs, edges)
    banks: tuple[dict[int, SubgraphBank], ...] = tuple({} for _ in graphs.views)
    sampled: dict[tuple[int, int], float] = {}
    for k in sorted({k for view in graphs.views for k in view.sizes}):
        parts: list[list[SubgraphBank]] = [[] for _ in graphs.views]
        for nodes, owner, weights in _cut(graphs, edges, k, limit, seed, sampled):
            numbers = pairs(nodes)
            for view, merged in zip(graphs.views, parts, strict=True):
                if k in view.sizes:
                    merged.append(_merged(nodes, numbers, view, owner, weights, len(graphs)))
        for bank, merged in zip(banks, parts, strict=True):
            if merged:
                bank[k] = _canonical(merged)
    return Banked(banks, sampled, bank_neighbourhoods(graphs))


def _cut(
    graphs: CodedGraphs, edges: IntArray, k: int, limit: int, seed: int, sampled: dict[tuple[int, int], float]
) -> Iterator[tuple[IntArray, IntArray, NDArray[np.float64]]]:
    """Nodes, graph and weight of all subgraphs of a size, as many at once as there is room for.

    Args:
        edges: nodes numbered over all graphs.
        sampled: shares of sampled graphs are put here.
    """
    start = 0
    while start < len(graphs):
        first = graphs.node_offsets[start]
        listed = list_subgraphs(
            graphs.node_offsets[start:] - first, edges[graphs.edge_offsets[start] :] - first, k, limit
        )
        yield listed.nodes + first, listed.owner + start, np.ones(len(listed.nodes))
        for i in listed.too_many:
            cut = cut_graph(graphs, start + i, k, limit, seed, sample=True)
            assert cut.weights is not None
            sampled[start + i, k] = cut.share
            nodes = cut.nodes + graphs.node_offsets[start + i]
            yield nodes, np.full(len(nodes), start + i), cut.weights
        start += listed.done


def _pair_lookup(graphs: CodedGraphs, edges: IntArray) -> Callable[[IntArray], list[IntArray]]:
    """A function from the nodes of regions, ``(w, k)``, to the edges between them.

    It returns, for every pair of places in turn, one more than the number of the edge, or 0, each ``(w,)``.
    """
    sizes = np.diff(graphs.node_offsets)
    squares = np.concatenate([[0], np.cumsum(sizes * sizes)])
    if squares[-1] > MOST_PAIRS:
        numbers = edge_numbers(graphs)
        return lambda nodes: [
            np.asarray(numbers[nodes[:, i], nodes[:, j]])
            for i, j in zip(*np.triu_indices(nodes.shape[1], 1), strict=True)
        ]
    # node a of a graph has the n numbers of its edges in a row of the table; a row starts where its node 0 is
    within = np.arange(graphs.node_offsets[-1]) - np.repeat(graphs.node_offsets[:-1], sizes)
    row = np.repeat(squares[:-1] - graphs.node_offsets[:-1], sizes) + within * np.repeat(sizes, sizes)
    table = np.zeros(squares[-1], dtype=np.int32)
    table[row[edges[:, 0]] + edges[:, 1]] = table[row[edges[:, 1]] + edges[:, 0]] = np.arange(1, len(edges) + 1)

    def look_up(nodes: IntArray) -> list[IntArray]:
        columns = list(np.ascontiguousarray(nodes.T))
        starts = [row[column] for column in columns]
        return [table[starts[i] + columns[j]] for i, j in itertools.combinations(range(len(columns)), 2)]

    return look_up


def _merged(
    nodes: IntArray,
    numbers: Sequence[IntArray],
    view: Codes,
    owner: IntArray,
    weights: NDArray[np.float64],
    graphs: int,
) -> SubgraphBank:
    """The bank of regions, each once; most that are equal up to relabelling are merged already."""
    w, k = nodes.shape
    edge_codes = np.concatenate([np.zeros(1, dtype=np.int64), view.edge_codes])
    columns = [view.node_codes[column] for column in nodes.T] + [edge_codes[number] for number in numbers]
    if not w:
        return SubgraphBank(k, np.zeros((0, len(columns)), dtype=np.int64), csr_array((graphs, 0)))
    bits = [bits_of(view.node_codes)] * k + [bits_of(edge_codes)] * len(numbers)
    number, place = merge_equal(words_of(columns, bits))
    codes = roughly_sorted(np.stack([column[place] for column in columns], axis=1), k)
    again, place = merge_equal(row_words(codes))
    counts = coo_array((weights, (owner, np.arange(w))), (graphs, w))
    return SubgraphBank(k, codes[place], _added(counts, again[number], len(place)))


def _canonical(parts: Sequence[SubgraphBank]) -> SubgraphBank:
    """The bank of what was cut from the same graphs in several goes, every region in canonical order, sorted."""
    k, regions = parts[0].k, canonical_regions(np.concatenate([part.regions for part in parts]), parts[0].k)
    counts = hstack([part.counts for part in parts], format="coo")
    if not len(regions):
        return SubgraphBank(k, regions, counts.tocsr())
    number, place = merge_equal(row_words(regions))
    return SubgraphBank(k, _small(regions[place]), _compact(_added(counts, number, len(place))))


def _small(codes: NDArray[Any]) -> IntArray:
    """The same numbers in the smallest type that holds them: what waits for the other blocks should wait in little."""
    largest = int(codes.max(initial=0))
    small = next((kind for kind in (np.uint8, np.uint16, np.uint32) if largest <= np.iinfo(kind).max), np.int64)
    return codes.astype(small)


def _compact(counts: csr_array) -> csr_array:
    """Counts with small types; weights of samples stay as they are."""
    data, largest = counts.data, np.iinfo(np.uint16).max
    if data.max(initial=0) <= largest and (data.dtype.kind in "iu" or (data == np.rint(data)).all()):
        data = data.astype(np.uint16)
    return csr_array((data, counts.indices.astype(np.int32), counts.indptr.astype(np.int32)), shape=counts.shape)


def merge_regions(parts: Iterable[IntArray]) -> tuple[IntArray, list[NDArray[np.int32]]]:
    """Each of the regions once, sorted by their codes, and for every part where its regions are among them.

    Some parts are merged at a time, so that what is held is little more than the distinct regions.
    """
    known: IntArray | None = None
    numbers: list[NDArray[np.int32]] = []
    waiting: list[IntArray] = []

    def merge() -> None:
        nonlocal known
        before = 0 if known is None else len(known)
        regions = np.concatenate(waiting if known is None else [known, *waiting])
        if not len(regions):
            number, place = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        else:
            number, place = merge_equal(row_words(regions))
        number32 = number.astype(np.int32)
        numbers[:] = [number32[earlier] for earlier in numbers]
        numbers.extend(np.split(number32, np.cumsum([before, *map(len, waiting)]))[1:-1])
        known = regions[place]
        waiting.clear()

    for part in parts:
        waiting.append(part)
        if sum(map(len, waiting)) > max(REGIONS_AT_ONCE, 0 if known is None else len(known)):
            merge()
    if waiting:
        merge()
    assert known is not None
    return known, numbers


def join_counts(
    parts: Iterable[csr_array], numbers: Sequence[NDArray[np.int32]], columns: int, dtype: Any
) -> csr_array:
    """The counts of parts of the graphs one below the other, every column at its place among all.

    The regions of each part are sorted as all are, so that columns keep their order.
    """
    data, indices, rows = [], [], [np.zeros(1, dtype=np.int64)]
    for part, number in zip(parts, numbers, strict=True):
        data.append(part.data.astype(dtype))
        indices.append(number[part.indices])
        rows.append(np.diff(part.indptr))
    indptr = np.concatenate(rows).cumsum()
    indptr = indptr.astype(np.int32) if indptr[-1] <= np.iinfo(np.int32).max else indptr
    # one after the other: a million graphs would not fit in memory twice
    joined = np.concatenate(indices) if indices else np.zeros(0, dtype=np.int32)
    del indices
    values = np.concatenate(data) if data else np.zeros(0, dtype=dtype)
    del data
    return csr_array((values, joined, indptr), shape=(len(indptr) - 1, columns))


def _added(counts: coo_array, number: IntArray, columns: int) -> csr_array:
    """Counts with every column moved to ``number[column]``, and those that meet there added up."""
    moved = csr_array((counts.data, (counts.row, number[counts.col])), shape=(counts.shape[0], columns))
    moved.sum_duplicates()
    return moved


def _joint_codes(columns: Sequence[IntArray]) -> IntArray:
    """One code for what several views see."""
    return np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].reshape(-1)


def sampled_shares(banked: Banked, graphs: int, name: str) -> dict[int, float]:
    """The graphs whose subgraphs were sampled, with the smallest share of any size; said once."""
    shares: dict[int, float] = {}
    for (graph, _), share in banked.sampled.items():
        shares[graph] = min(share, shares.get(graph, 1.0))
    if shares:
        warnings.warn(
            f"{len(shares)} of {graphs} graphs of {name} have more subgraphs than max_subgraphs and were "
            f"sampled, the largest at {100 * min(shares.values()):.2g}%; expected counts stay right",
            IsoNNWarning,
            stacklevel=2,
        )
    return shares
