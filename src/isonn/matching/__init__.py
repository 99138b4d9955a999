"""From k-node regions to distances: cut, merge, match. Takes tensors only, never files or estimators."""

from collections.abc import Callable

from torch import Tensor

from isonn.matching.assigned import assigned_distance
from isonn.matching.bank import WindowBank, all_windows, bank_windows
from isonn.matching.best import best_permutation
from isonn.matching.certified import CertifiedWindows
from isonn.matching.exact import exact_distance
from isonn.matching.spectral import fast_distance
from isonn.matching.windows import cut_windows

#: Every way to match, by the name estimators and the command line know it by.
MATCHERS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "exact": exact_distance,
    "fast": fast_distance,
    "assigned": assigned_distance,
}

__all__ = [
    "MATCHERS",
    "CertifiedWindows",
    "WindowBank",
    "all_windows",
    "assigned_distance",
    "bank_windows",
    "best_permutation",
    "cut_windows",
    "exact_distance",
    "fast_distance",
]
