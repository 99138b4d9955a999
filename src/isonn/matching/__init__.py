"""Matchers: distances between templates and regions, over permutations of the template's nodes."""

from collections.abc import Callable

from torch import Tensor

from isonn.matching.assignment import assigned_distance, best_permutation
from isonn.matching.exact import exact_distance
from isonn.matching.spectral import fast_distance

#: Every way to match, by the name estimators and the command line know it by.
MATCHERS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "exact": exact_distance,
    "fast": fast_distance,
    "assigned": assigned_distance,
}

__all__ = ["MATCHERS", "assigned_distance", "best_permutation", "exact_distance", "fast_distance"]
