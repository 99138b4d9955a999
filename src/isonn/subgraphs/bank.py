"""Banks: the distinct subgraphs of graphs, up to relabelling, with their counts in each graph.

A graph is given as integer codes of its nodes and edges, such as a label, a level of a weight, or a degree. Edge code 0
means no edge. Graphs can have several views (`Codes`): subgraphs are cut once, and merged by the codes of each view.
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

#: Number of nodes below which another thread costs more than it saves.
NODES_PER_BLOCK = 2**14
#: Number of graphs that the numpy path cuts at once.
GRAPHS_PER_BLOCK = 512
#: Largest edge code of the compiled path; a test compares it with the kernels' own.
MAX_EDGE_CODE = 2**12 - 1
#: Largest node code of the compiled path, which uses 32-bit integers.
MAX_NODE_CODE = 2**31 - 2
#: Largest number of node pairs in a block for a lookup table; above it edges are found by binary search.
MOST_PAIRS = 2**22
#: Number of regions that are merged at once with the known ones.
REGIONS_AT_ONCE = 2**20


@dataclass(frozen=True, eq=False)
class Codes:
    """Graphs in the codes of one view.

    Attributes:
        node_codes: code of each node, ``(nodes,)``, from 0.
        edge_codes: code of each edge, ``(edges,)``, from 1.
        sizes: sizes of the subgraphs to count.
        radii: radii of the neighbourhoods to count.
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
        edges: each edge once, with nodes numbered from 0 within their graph, ``(edges, 2)``.
        views: the codes of each view.
    """

    node_offsets: IntArray
    edge_offsets: IntArray
    edges: IntArray
    views: tuple[Codes, ...]

    def __len__(self) -> int:
        return len(self.node_offsets) - 1

    def part(self, start: int, stop: int) -> CodedGraphs:
        """Return graphs ``start`` to ``stop``."""
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
    """The distinct k-node subgraphs of some graphs in one view.

    Attributes:
        k: their size.
        regions: canonical rows, ``(d, k + k*(k-1)/2)``: node codes, then edge codes in the order of the upper triangle,
            row by row.
        counts: how often each graph contains each of them, sparse, ``(g, d)``.
    """

    k: int
    regions: IntArray
    counts: csr_array


@dataclass(frozen=True, eq=False)
class Banked:
    """The result of `bank_subgraphs`.

    Attributes:
        banks: banks by view, then by size.
        sampled: the share of subgraphs that was sampled, by graph and size, for those with too many to list.
        neighbourhoods: banks by view, then by radius; a region is its 124-bit code in two columns.
    """

    banks: tuple[dict[int, SubgraphBank], ...]
    sampled: dict[tuple[int, int], float]
    neighbourhoods: tuple[dict[int, SubgraphBank], ...] = ()


def bank_subgraphs(
    graphs: CodedGraphs, limit: int = 100_000, seed: int = 0, n_jobs: int = 1, report: Report = silent
) -> Banked:
    """Cut and merge the connected subgraphs of graphs.

    Args:
        limit: subgraphs per size and graph above which they are sampled.
        seed: seed of the samples.
        n_jobs: number of threads; it does not change the result.
        report: called with the number of graphs that are done.
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

    if len(bounds) == 1:  # in this thread, which receives Ctrl-C
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
    """Return the banks of some graphs, with regions canonical and sorted; compiled if numba is installed.

    After another thread sets ``stop``, a compiled count ends within a second.
    """
    if fits_kernels(graphs):
        return _bank_compiled(graphs, limit, seed, stop)
    bounds = list(itertools.pairwise([*range(0, len(graphs), GRAPHS_PER_BLOCK), len(graphs)]))
    return join_banks([bank_in_numpy(graphs.part(*bound), limit, seed) for bound in bounds], bounds)


def neighbourhood_codes_of(ends: IntArray, node_codes: IntArray, edge_codes: IntArray, radius: int) -> IntArray:
    """Compute `isonn.subgraphs.enumerate.neighbourhood_codes`, compiled if numba is installed."""
    if not compiled():
        return neighbourhood_codes(ends, node_codes, edge_codes, radius)
    from isonn.subgraphs import kernels

    return kernels.neighbourhood_codes(ends, node_codes, edge_codes, radius)


def bank_neighbourhoods(graphs: CodedGraphs) -> tuple[dict[int, SubgraphBank], ...]:
    """Return the distinct rooted neighbourhoods of graphs, by view and radius."""
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
    """Return whether the compiled kernels can be used."""
    return importlib.util.find_spec("numba") is not None


def fits_kernels(graphs: CodedGraphs) -> bool:
    """Return whether numba is installed and all codes fit the compiled kernels."""
    if not compiled():
        return False
    largest = [int(view.edge_codes.max(initial=0)) for view in graphs.views]
    if max(largest) > MAX_EDGE_CODE or any(view.node_codes.max(initial=0) > MAX_NODE_CODE for view in graphs.views):
        return False
    # the views are coded together
    return (
        math.prod(largest) <= MAX_EDGE_CODE or _joint_codes([v.edge_codes for v in graphs.views]).max() < MAX_EDGE_CODE
    )


def counter_of(graphs: CodedGraphs, limit: int, by_code: bool = False) -> Counter:
    """Create the compiled counter of coded graphs."""
    from isonn.subgraphs.kernels import Counter

    owner = np.repeat(np.arange(len(graphs)), np.diff(graphs.edge_offsets))
    ends = graphs.edges + graphs.node_offsets[owner, None]
    codes = [view.edge_codes for view in graphs.views]
    if len(ends) and ((ends[:, 0] > ends[:, 1]).any() or (np.diff(ends[:, 0]) < 0).any() or _unsorted(ends)):
        ends = np.sort(ends, axis=1)
        order = np.lexsort((ends[:, 1], ends[:, 0]))
        ends, codes = ends[order], [column[order] for column in codes]
    node_codes = np.stack([view.node_codes for view in graphs.views])
    sizes = tuple(view.sizes for view in graphs.views)
    return Counter(graphs.node_offsets, ends, node_codes, np.stack(codes), sizes, limit, by_code=by_code)


def _unsorted(ends: IntArray) -> bool:
    step = np.diff(ends, axis=0)
    return bool(((step[:, 0] == 0) & (step[:, 1] <= 0)).any())


def _bank_compiled(graphs: CodedGraphs, limit: int, seed: int, stop: threading.Event | None) -> Banked:
    from isonn.subgraphs.kernels import counts_by_level

    counter = counter_of(graphs, limit, by_code=True)
    stops, columns, counts, skipped = counter.count(stop=stop)
    more: list[tuple[IntArray, IntArray, NDArray[np.float64]]] = []  # graph, column and weight of samples
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
    # columns are ordered by view, size and code, so that each group is a run of them
    met = np.flatnonzero(np.bincount(columns, minlength=len(counter.columns)))  # sampling may leave unused columns
    order = met[np.lexsort(counter.columns[met].T[::-1])]
    rows, places = counter.rows(order), np.empty(len(counter.columns), dtype=np.int32)
    places[order] = np.arange(len(order))
    groups = [(number, k) for number, view in enumerate(graphs.views) for k in sorted(view.sizes)]
    numbers = np.zeros((len(graphs.views), sizes[-1] + 1), dtype=np.int64)
    numbers[tuple(np.transpose(groups))] = np.arange(len(groups))
    group_of = numbers[rows[:, 0], rows[:, 1]]
    bounds = np.searchsorted(group_of, np.arange(len(groups) + 1))
    tables = counts_by_level(owner, places[columns], counts, group_of, len(groups), len(graphs))
    banks: tuple[dict[int, SubgraphBank], ...] = tuple({} for _ in graphs.views)
    for (number, k), table, start, end in zip(groups, tables, bounds[:-1], bounds[1:], strict=True):
        regions = rows[start:end, 2 : 2 + k + k * (k - 1) // 2]
        banks[number][k] = SubgraphBank(
            k, _small(regions), _compact(csr_array(table, shape=(len(graphs), end - start)))
        )
    return Banked(banks, sampled, bank_neighbourhoods(graphs))


def join_banks(parts: Sequence[Banked], bounds: Sequence[tuple[int, int]]) -> Banked:
    """Join the banks of runs of graphs, which are consumed; codes and counts keep their small types."""
    sampled = {
        (start + graph, k): share
        for (start, _), part in zip(bounds, parts, strict=True)
        for (graph, k), share in part.sampled.items()
    }
    banks = tuple(map(_joined, zip(*(part.banks for part in parts), strict=True)))
    hoods = tuple(map(_joined, zip(*(part.neighbourhoods for part in parts), strict=True)))
    return Banked(banks, sampled, hoods)


def _joined(parts: Sequence[dict[int, SubgraphBank]]) -> dict[int, SubgraphBank]:
    """Join the banks of runs of graphs in one view."""
    joined = {}
    for k in tuple(parts[0]):
        regions, numbers = merge_regions(part[k].regions for part in parts)
        dtype = np.result_type(*(part[k].counts.dtype for part in parts))
        counts = join_counts((part.pop(k).counts for part in parts), numbers, len(regions), dtype)
        joined[k] = SubgraphBank(k, regions, counts)
    return joined


def region_codes(cut: IntArray, edge_number: csr_array, view: Codes) -> IntArray:
    """Return the regions on the given nodes, in that order, in the codes of one view: ``(w, k + k*(k-1)/2)``.

    Args:
        cut: nodes of each region, ``(w, k)``.
        edge_number: number of the edge between two nodes plus 1, or 0 if there is none, ``(n, n)``.
    """
    w, k = cut.shape
    if k == 1 or not w:
        return np.concatenate([view.node_codes[cut], np.zeros((w, k * (k - 1) // 2), dtype=np.int64)], axis=1)
    rows, columns = np.triu_indices(k, 1)
    number = np.asarray(edge_number[cut[:, rows].ravel(), cut[:, columns].ravel()]).reshape(w, len(rows))
    codes = np.concatenate([np.zeros(1, dtype=np.int64), view.edge_codes])[number]
    return np.concatenate([view.node_codes[cut], codes], axis=1)


def edge_numbers(graphs: CodedGraphs) -> csr_array:
    """Return the number of the edge between two nodes plus 1, over all graphs, or 0 if there is none."""
    owner = np.repeat(np.arange(len(graphs)), np.diff(graphs.edge_offsets))
    ends = graphs.edges + graphs.node_offsets[owner, None]
    rows, columns = np.concatenate([ends, ends[:, ::-1]]).T
    n = int(graphs.node_offsets[-1])
    numbers = csr_array((np.tile(np.arange(1, len(ends) + 1), 2), (rows, columns)), shape=(n, n))
    numbers.sum_duplicates()  # also sorts, so that lookups are binary searches
    return numbers


def cut_graph(graphs: CodedGraphs, i: int, k: int, limit: int, seed: int, sample: bool = False) -> Cut:
    """Cut graph i, with nodes numbered within it; ``sample`` if it is known to have too many subgraphs to list."""
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
    """Return bounds of runs of graphs: a few per thread, so that threads end together, and none tiny."""
    nodes = int(graphs.node_offsets[-1])
    wanted = 1 if n_jobs == 1 else min(4 * n_jobs, max(1, nodes // NODES_PER_BLOCK))
    stops = np.searchsorted(graphs.node_offsets, np.linspace(0, nodes, wanted + 1)[1:]).tolist()
    return list(itertools.pairwise(sorted({0, *stops[:-1], len(graphs)})))


def bank_in_numpy(graphs: CodedGraphs, limit: int, seed: int) -> Banked:
    """Compute `bank_block` without compiled code; slower, and the oracle of its tests."""
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
    """Yield nodes, graph and weight of all subgraphs of a size, as many at once as fit.

    Args:
        edges: nodes numbered over all graphs.
        sampled: filled with the shares of sampled graphs.
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
    """Return a function from the nodes of regions, ``(w, k)``, to the edges between them.

    It returns, for each pair of positions, the number of the edge plus 1, or 0, each ``(w,)``.
    """
    sizes = np.diff(graphs.node_offsets)
    squares = np.concatenate([[0], np.cumsum(sizes * sizes)])
    if squares[-1] > MOST_PAIRS:
        numbers = edge_numbers(graphs)
        return lambda nodes: [
            np.asarray(numbers[nodes[:, i], nodes[:, j]])
            for i, j in zip(*np.triu_indices(nodes.shape[1], 1), strict=True)
        ]
    # node a of a graph has a row of n edge numbers in the table; a row starts at its node 0
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
    """Return the bank of regions; most that are equal up to relabelling are already merged."""
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
    """Join banks of subgraphs that were cut from the same graphs in several steps, canonical and sorted."""
    k, regions = parts[0].k, canonical_regions(np.concatenate([part.regions for part in parts]), parts[0].k)
    counts = hstack([part.counts for part in parts], format="coo")
    if not len(regions):
        return SubgraphBank(k, regions, counts.tocsr())
    number, place = merge_equal(row_words(regions))
    return SubgraphBank(k, _small(regions[place]), _compact(_added(counts, number, len(place))))


def _small(codes: NDArray[Any]) -> IntArray:
    """Convert numbers to the smallest type that holds them, to save memory until all blocks are done."""
    largest = int(codes.max(initial=0))
    small = next((kind for kind in (np.uint8, np.uint16, np.uint32) if largest <= np.iinfo(kind).max), np.int64)
    return codes.astype(small)


def _compact(counts: csr_array) -> csr_array:
    """Convert counts to small types; weights of samples stay as they are."""
    data, largest = counts.data, np.iinfo(np.uint16).max
    if data.max(initial=0) <= largest and (data.dtype.kind in "iu" or (data == np.rint(data)).all()):
        data = data.astype(np.uint16)
    return csr_array((data, counts.indices.astype(np.int32), counts.indptr.astype(np.int32)), shape=counts.shape)


def merge_regions(parts: Iterable[IntArray]) -> tuple[IntArray, list[NDArray[np.int32]]]:
    """Return the distinct regions, sorted by their codes, and the position of each part's regions among them.

    Parts are merged a few at a time, so memory holds little more than the distinct regions.
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
    """Stack the counts of parts of the graphs, each column at its position among all.

    The regions of each part are sorted like all regions, so columns keep their order.
    """
    data, indices, rows = [], [], [np.zeros(1, dtype=np.int64)]
    for part, number in zip(parts, numbers, strict=True):
        data.append(part.data.astype(dtype))
        indices.append(number[part.indices])
        rows.append(np.diff(part.indptr))
    indptr = np.concatenate(rows).cumsum()
    indptr = indptr.astype(np.int32) if indptr[-1] <= np.iinfo(np.int32).max else indptr
    # one after the other, because a million graphs would not fit in memory twice
    joined = np.concatenate(indices) if indices else np.zeros(0, dtype=np.int32)
    del indices
    values = np.concatenate(data) if data else np.zeros(0, dtype=dtype)
    del data
    return csr_array((values, joined, indptr), shape=(len(indptr) - 1, columns))


def _added(counts: coo_array, number: IntArray, columns: int) -> csr_array:
    """Move every column to ``number[column]`` and add up those with the same number."""
    moved = csr_array((counts.data, (counts.row, number[counts.col])), shape=(counts.shape[0], columns))
    moved.sum_duplicates()
    return moved


def _joint_codes(columns: Sequence[IntArray]) -> IntArray:
    """Combine the codes of several views into one."""
    return np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].reshape(-1)


def sampled_shares(sampled: dict[tuple[int, int], float], graphs: int, name: str) -> dict[int, float]:
    """Return the graphs whose subgraphs were sampled with the smallest share of any size, and warn once."""
    shares: dict[int, float] = {}
    for (graph, _), share in sampled.items():
        shares[graph] = min(share, shares.get(graph, 1.0))
    if shares:
        warnings.warn(
            f"{len(shares)} of {graphs} graphs of {name} have more subgraphs than max_subgraphs and were "
            f"sampled, the largest at {100 * min(shares.values()):.2g}%; expected counts stay correct",
            IsoNNWarning,
            stacklevel=2,
        )
    return shares
