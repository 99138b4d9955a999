"""Choose alerts by the classes of some molecules.

Candidates whose precision is above the class's share are merged where one lies within the other and their precision
does not differ. Then the surest come first, and each has to explain molecules that no earlier one warns of. What is
left is searched for pieces of the model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, fisher_exact

from isonn.molecules.alerts.candidates import Candidate, Candidates, Rows

#: Normal quantiles of 95 % intervals, and of the 80 % intervals by which alerts are chosen: generously, because a list
#: is judged by 95 % intervals of molecules that took no part.
Z_SHOWN, Z_CHOSEN = 1.959963984540054, 1.2815515655446004
#: Two shares differ if the p value of Fisher's exact test is below this.
DIFFERENT = 0.01
#: A piece is chosen if its p value times the number of pieces is below this.
PIECE_LEVEL = 0.05


def wilson(hits: Any, support: Any, z: float = Z_SHOWN) -> tuple[Any, Any]:
    """Return the interval of a share (Wilson's score interval), 95 % by default; (0, 1) without any counts.

    Args:
        hits, support: numbers or arrays of counts.
        z: the normal quantile of the interval.

    Returns:
        Its lower and its upper end.

    Example:
        >>> low, high = wilson(8, 10)
        >>> round(float(low), 3), round(float(high), 3)
        (0.49, 0.943)
    """
    hits, support = np.asarray(hits, dtype=np.float64), np.asarray(support, dtype=np.float64)
    count = np.maximum(support, 1)
    share = hits / count
    centre = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * np.sqrt(share * (1 - share) / count + z * z / (4 * count**2)) / (1 + z * z / count)
    low = np.where(support > 0, np.clip(centre - half, 0, 1), 0.0)
    high = np.where(support > 0, np.clip(centre + half, 0, 1), 1.0)
    return low[()], high[()]


#: The chosen candidates, each with those that are merged into it.
Chosen = dict[Candidate, list[Candidate]]


def choose(candidates: Candidates, truth: Rows, rows: Rows, min_support: int) -> Chosen:
    """Choose alerts from some molecules.

    Args:
        candidates: those of all molecules.
        truth: which molecules are of the class, shape (g,).
        rows: which molecules take part, shape (g,).
        min_support: minimum number of molecules with an alert that none before it warns of.

    Returns:
        the alerts, those of named groups first.
    """
    merged = _merged(candidates, truth, rows, min_support)
    left = rows.copy()
    share = float(truth[rows].mean())
    chosen: Chosen = {}
    waiting = list(merged)
    while waiting:
        i = waiting.pop(0)
        candidate, members = candidates.named[i], merged.get(i, [])
        if _explains(candidate.held, truth, left, share, min_support):
            chosen[candidate] = [candidates.named[j] for j in members]
            left &= ~candidate.held
        else:
            waiting += members  # what a family does not explain, a member may
    return chosen | _pieces(candidates, truth, rows, left, min_support)


def _merged(candidates: Candidates, truth: Rows, rows: Rows, min_support: int) -> dict[int, list[int]]:
    """Return named candidates whose precision is above the class's share, each with those merged into it.

    The surest come first, those that contain a candidate of another precision after the others.
    """
    held, truth = candidates.held[rows], truth[rows]
    support, hits = held.sum(axis=0), held[truth].sum(axis=0)
    earned = np.flatnonzero((support >= min_support) & (wilson(hits, support, Z_CHOSEN)[0] > truth.mean()))
    members: dict[int, list[int]] = {}
    split: set[int] = set()
    for i in earned[np.argsort(-support[earned], kind="stable")].tolist():
        for outer in members:
            if not candidates.within[i, outer]:
                continue
            rest = truth[held[:, outer] & ~held[:, i]]
            table = [[hits[i], support[i] - hits[i]], [rest.sum(), len(rest) - rest.sum()]]
            if float(fisher_exact(table)[1]) >= DIFFERENT:
                members[outer].append(i)
                break
            split.add(outer)
        else:
            members[i] = []
    low, _ = wilson(hits, support)
    return {i: members[i] for i in sorted(members, key=lambda i: (i in split, -low[i], i))}


def _explains(held: Rows, truth: Rows, left: Rows, share: float, min_support: int) -> bool:
    """Whether a candidate says something about molecules that no earlier alert warns of.

    There, it has to be more precise than guessing, and not less than the class's share among all molecules.
    """
    fresh = held & left
    support, hits = int(fresh.sum()), int(truth[fresh].sum())
    low, high = wilson(hits, support, Z_CHOSEN)
    return bool(support >= min_support and low > truth[left].mean() and high > share)


def _pieces(candidates: Candidates, truth: Rows, rows: Rows, left: Rows, min_support: int) -> Chosen:
    """Choose pieces that warn of the molecules left, as long as chance does not explain them."""

    def count(some: Rows) -> NDArray[np.float64]:
        return np.asarray(candidates.pieces.T @ some.astype(np.float64))

    chosen: Chosen = {}
    if not candidates.pieces.shape[1]:
        return chosen
    share = float(truth[rows].mean())
    earned = wilson(count(rows & truth), count(rows))[0] > share
    while truth[left].any():
        support, hits = count(left), count(left & truth)
        usable = support >= min_support
        chance = np.where(usable & earned, binom.sf(hits - 1, support, truth[left].mean()), 1.0)
        best = int(chance.argmin())
        if chance[best] * usable.sum() > PIECE_LEVEL:
            break
        earned[best] = False
        piece = candidates.piece(best)
        if _explains(piece.held, truth, left, share, min_support):
            chosen[piece] = []
            left = left & ~piece.held
    return chosen
