"""Count the connected subgraphs of coded graphs, in this process or in threads."""

from __future__ import annotations

import itertools
import threading
import warnings
from contextlib import closing

import numpy as np
from scipy.sparse import csr_array

from isonn.errors import IsoNNWarning
from isonn.packing import smallest_type
from isonn.processes import in_threads
from isonn.progress import Report, silent
from isonn.subgraphs.counter import Counter
from isonn.subgraphs.encode import CodedGraphs
from isonn.subgraphs.table import CountTable, compact

#: Number of nodes below which another thread costs more than it saves.
NODES_PER_BLOCK = 2**14


def count_in_threads(
    graphs: CodedGraphs, limit: int = 100_000, seed: int = 0, n_jobs: int = 1, report: Report = silent
) -> list[CountTable]:
    """Count the connected subgraphs of graphs; the chunks follow each other.

    Args:
        limit: subgraphs per size and graph above which they are sampled.
        seed: seed of the samples.
        n_jobs: number of threads; it does not change the result.
        report: called with the number of graphs that are done.
    """
    bounds, stop = _blocks(graphs, n_jobs), threading.Event()
    tables: list[CountTable] = []

    def count(bound: tuple[int, int]) -> CountTable:
        return count_chunk(graphs.slice(*bound), limit, seed, stop)

    with closing(in_threads(count, bounds, n_jobs, stop)) as counted:
        for (_, end), table in zip(bounds, counted, strict=True):
            tables.append(table)
            report(end, "graphs cut")
    return tables


def count_chunk(graphs: CodedGraphs, limit: int, seed: int, stop: threading.Event | None = None) -> CountTable:
    """Count the subgraphs of some graphs; after another thread sets ``stop``, it ends within a second."""
    found = Counter(graphs.view_sizes).count(graphs, limit, seed, stop=stop)
    (counts,) = found.chunks()
    pieces = found.pieces()
    # columns are ordered by view, size and code
    met = np.flatnonzero(np.bincount(counts.indices, minlength=counts.shape[1]))  # samples may leave unused columns
    order = met[np.lexsort(pieces[met].T[::-1])]
    places = np.empty(counts.shape[1], dtype=np.int32)
    places[order] = np.arange(len(order))
    sorted_counts = csr_array((counts.data, places[counts.indices], counts.indptr), shape=(len(graphs), len(order)))
    sorted_counts.sort_indices()
    rows, chunk = smallest_type(pieces[order]), compact(sorted_counts)
    return CountTable(graphs.view_sizes, len(graphs), found.sampled, lambda: rows, lambda: [chunk])


def _blocks(graphs: CodedGraphs, n_jobs: int) -> list[tuple[int, int]]:
    """Return bounds of runs of graphs: a few per thread, so that threads end together, and none tiny."""
    nodes = int(graphs.node_offsets[-1])
    wanted = 1 if n_jobs == 1 else min(4 * n_jobs, max(1, nodes // NODES_PER_BLOCK))
    stops = np.searchsorted(graphs.node_offsets, np.linspace(0, nodes, wanted + 1)[1:]).tolist()
    return list(itertools.pairwise(sorted({0, *stops[:-1], len(graphs)})))


#: ``max_nodes="auto"``: subgraphs per graph and in all graphs that may be counted on average, entries of the table of
#: counts (eight bytes each), the number of one size above which a graph counts as too dense, and the share of such
#: graphs that is accepted.
MOST_PER_GRAPH, MOST_IN_ALL, MOST_ENTRIES, TOO_DENSE, DENSE_SHARE = 5_000, 4e8, 2.5e8, 20_000, 0.02
#: The sizes that it chooses from.
SIZES = (4, 5, 6)


def affordable_size(sample: CodedGraphs, graphs: int) -> int:
    """Return the largest size of subgraphs whose number stays within the budget; nothing is timed.

    Args:
        sample: some of the graphs, coded for the largest of SIZES.
        graphs: number of all graphs.
    """
    table = Counter(sample.view_sizes).count(sample, TOO_DENSE, seed=None)
    (counts,) = table.chunks()
    view, nodes = table.pieces()[counts.indices, :2].T
    first = view == 0  # each subgraph has a column in every view
    by_size = np.bincount(nodes[first], counts.data[first], minlength=SIZES[-1] + 1)
    entries = np.bincount(nodes, minlength=SIZES[-1] + 1)
    affordable = SIZES[0]
    for size in SIZES[1:]:
        mean, stored = by_size[: size + 1].sum() / len(sample), entries[: size + 1].sum() / len(sample)
        dense = len({graph for graph, too_many in table.sampled if too_many <= size}) / len(sample)
        if mean > MOST_PER_GRAPH or mean * graphs > MOST_IN_ALL or stored * graphs > MOST_ENTRIES:
            break
        if dense > DENSE_SHARE:
            break
        affordable = size
    return affordable


def warn_of_samples(sampled: dict[tuple[int, int], float], graphs: int, name: str) -> dict[int, float]:
    """Return the graphs whose subgraphs were sampled with the smallest share of any size, and warn once."""
    shares: dict[int, float] = {}
    for (graph, _), share in sampled.items():
        shares[graph] = min(share, shares.get(graph, 1.0))
    if shares:
        warnings.warn(
            f"{name}: {len(shares)} of {graphs} graphs have more subgraphs than max_subgraphs and were sampled, the "
            f"largest at {100 * min(shares.values()):.2g}%; expected counts stay correct",
            IsoNNWarning,
            stacklevel=2,
        )
    return shares
