"""Compiled loops over windows in place, inside the adjacency matrix.

A window is given by the position of its first cell in the flat stack of matrices; its cell (x, y) lies x rows and y
columns further. Windows are not cut out, and the k! products of a window are never written. Each row of four relabelled
templates at a time is multiplied with a run of adjacent windows, so that one number of the matrix serves many windows
while it is in a register.

Every function takes ``size``, a tuple of k zeros. numba knows the length of a tuple when it compiles, and unrolls loops
of known length. ``table`` is one template under all permutations, ``(permutations, k*k)``. ``ranked`` is the same for
the products, padded to a multiple of four rows with copies of the first.
"""

from __future__ import annotations

import numpy as np

from isonn.compiled import compiled

#: Windows in one run; their sums for four permutations take 16 kB of float32, half of an L1 cache.
RUN = 1024
#: Windows of a run that are copied together first if they are not adjacent.
COPIED = 512
#: Permutations multiplied at once; tables are padded to a multiple of it.
AT_ONCE = 4

# Sums may be fused (a * b + c rounded once) but not reordered, so a compiler cannot change which permutation wins.
_FAST = {"contract"}
# Helpers are inlined before compiling, so that LLVM optimises each loop once, not once for every caller above it.


@compiled(inline="always")
def _add_row(size, matrix, at, step, rows, sums, length, fresh):  # type: ignore[no-untyped-def]
    """Add to ``sums`` (4, length) one row of each template times cells ``at + j + y * step`` of the matrix."""
    t0, t1, t2, t3 = rows[0], rows[1], rows[2], rows[3]
    s0, s1, s2, s3 = sums[0], sums[1], sums[2], sums[3]
    cells = matrix[at:]
    zero = matrix.dtype.type(0)
    for j in range(length):
        a0, a1, a2, a3 = zero, zero, zero, zero
        if not fresh:
            a0, a1, a2, a3 = s0[j], s1[j], s2[j], s3[j]
        for y in range(len(size)):
            v = cells[j + y * step]
            a0 += t0[y] * v
            a1 += t1[y] * v
            a2 += t2[y] * v
            a3 += t3[y] * v
        s0[j], s1[j], s2[j], s3[j] = a0, a1, a2, a3


@compiled(inline="always")
def _keep_best(sums, length, first, best, winner):  # type: ignore[no-untyped-def]
    """Update the best score and winner with four permutations; of equals the first stays."""
    s0, s1, s2, s3 = sums[0], sums[1], sums[2], sums[3]
    for j in range(length):
        high, which = s0[j], np.int32(first)
        if s1[j] > high:
            high, which = s1[j], np.int32(first + 1)
        if s2[j] > high:
            high, which = s2[j], np.int32(first + 2)
        if s3[j] > high:
            high, which = s3[j], np.int32(first + 3)
        if high > best[j]:
            best[j], winner[j] = high, which


@compiled(inline="always")
def _score_four(size, matrix, start, row_step, step, table, first, sums, length):  # type: ignore[no-untyped-def]
    """Return the products of a run of windows with four permutations, ``(4, length)``."""
    k = len(size)
    for x in range(k):
        rows = table[first : first + 4, x * k : x * k + k]
        _add_row(size, matrix, start + x * row_step, step, rows, sums, length, x == 0)


@compiled(inline="always")
def _cell(start, x, y, n):  # type: ignore[no-untyped-def]
    """Return the position of a cell of a window; unsigned, so that numba does not check for negative indices."""
    return np.uint64(start) + np.uint64(x) * np.uint64(n) + np.uint64(y)


@compiled(inline="always")
def _distance(size, flat, start, n, table, p):  # type: ignore[no-untyped-def]
    """Return the squared distance of one window to the template under permutation ``p``, by the definition."""
    k = len(size)
    total = flat.dtype.type(0)
    for x in range(k):
        for y in range(k):
            gap = table[np.uint64(p), _cell(0, x, y, k)] - flat[_cell(start, x, y, n)]
            total += gap * gap
    return total


@compiled(fastmath=_FAST, error_model="numpy")
def match_runs(size, matrices, n, ranked, table, winners, distance, first, last):  # type: ignore[no-untyped-def]
    """Match every window in the runs from ``first`` to ``last``.

    A run follows the rows of a flat matrix from one row into the next. The few windows that would cross the edge are
    computed and dropped.

    Args:
        matrices: flat graphs, ``(graphs, n*n)``.
        winners, distance: output, ``(graphs * m * m,)``.
    """
    m = n - len(size) + 1
    places = (m - 1) * n + m
    runs = (places + RUN - 1) // RUN
    sums = np.empty((AT_ONCE, RUN), matrices.dtype)
    best = np.empty(RUN, matrices.dtype)
    winner = np.empty(RUN, np.int32)
    for run in range(first, last):
        matrix, start = matrices[run // runs], run % runs * RUN
        length = min(RUN, places - start)
        best[:length] = -np.inf
        winner[:length] = 0
        for p in range(0, len(ranked), AT_ONCE):
            _score_four(size, matrix, start, n, 1, ranked, p, sums, length)
            _keep_best(sums, length, p, best, winner)
        row, column = start // n, start % n
        for j in range(length):
            if column < m:
                w = (run // runs * m + row) * m + column
                winners[w] = winner[j]
                distance[w] = _distance(size, matrix, start + j, n, table, winner[j])
            column += 1
            if column == n:
                row, column = row + 1, 0


@compiled(inline="always")
def _copy_windows(size, flat, starts, n, copied):  # type: ignore[no-untyped-def]
    """Copy windows next to each other, one line per cell: ``(k*k * COPIED,)``."""
    k = len(size)
    for j in range(len(starts)):
        for x in range(k):
            for y in range(k):
                copied[(x * k + y) * COPIED + j] = flat[starts[j] + x * n + y]


@compiled(fastmath=_FAST, error_model="numpy")
def match_at(size, flat, starts, n, ranked, table, winners, distance):  # type: ignore[no-untyped-def]
    """Match windows anywhere in a flat stack of graphs and write ``winners`` and ``distance``, ``(windows,)``."""
    k = len(size)
    copied = np.empty(k * k * COPIED, flat.dtype)
    sums = np.empty((AT_ONCE, COPIED), flat.dtype)
    best = np.empty(COPIED, flat.dtype)
    winner = np.empty(COPIED, np.int32)
    for start in range(0, len(starts), COPIED):
        length = min(COPIED, len(starts) - start)
        _copy_windows(size, flat, starts[start : start + length], n, copied)
        best[:length] = -np.inf
        winner[:length] = 0
        for p in range(0, len(ranked), AT_ONCE):
            _score_four(size, copied, 0, k * COPIED, COPIED, ranked, p, sums, length)
            _keep_best(sums, length, p, best, winner)
        for j in range(length):
            winners[start + j] = winner[j]
            distance[start + j] = _distance(size, flat, starts[start + j], n, table, winner[j])


@compiled(fastmath=_FAST, error_model="numpy")
def measure(size, flat, starts, n, table, winners, distance, first, last):  # type: ignore[no-untyped-def]
    """Write the squared distances of windows ``first`` to ``last`` under given permutations, ``(windows,)``."""
    for w in range(first, last):
        distance[w] = _distance(size, flat, starts[w], n, table, winners[w])


@compiled(fastmath=_FAST, error_model="numpy")
def certain_below(coefficients, least, columns, lengths, drift, snapshots, scores, room):  # type: ignore[no-untyped-def]
    """Write the distance below which each window's last winner is certain to win again, ``(windows,)``.

    This is 2 (least + coefficients . facts - score of the rivals - how far they can have moved since).
    """
    a, b, c = coefficients
    for w in range(len(room)):
        least_score = least + a * columns[0, w] + b * columns[1, w] + c * columns[2, w]
        room[w] = 2 * (least_score - (scores[w] + drift[snapshots[w]] * lengths[w]))


@compiled(fastmath=_FAST, error_model="numpy")
def add_to_template(size, flat, starts, n, cells, winners, factors, sums, first, last):  # type: ignore[no-untyped-def]
    """Add ``factor * window`` to the template cells that the winning permutation maps it to.

    Args:
        cells: the source of each cell of a relabelled template, ``(permutations, k*k)``.
        sums: output, ``(k*k,)``, in double precision because it sums over all windows.
    """
    k = len(size)
    for w in range(first, last):
        p, start, factor = np.uint64(winners[w]), starts[w], np.float64(factors[w])
        for x in range(k):
            for y in range(k):
                sums[cells[p, _cell(0, x, y, k)]] += factor * flat[_cell(start, x, y, n)]


@compiled(fastmath=_FAST, error_model="numpy")
def add_to_matrices(size, flat, starts, n, table, winners, factors, gradient, first, last):  # type: ignore[no-untyped-def]
    """Add the gradient of ``factor * distance`` of every window to the gradient of its matrix."""
    k = len(size)
    for w in range(first, last):
        p, start, factor = np.uint64(winners[w]), starts[w], 2 * factors[w]
        for x in range(k):
            for y in range(k):
                at = _cell(start, x, y, n)
                gradient[at] += factor * (flat[at] - table[p, _cell(0, x, y, k)])
