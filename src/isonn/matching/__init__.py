"""Matchers: distances between templates and regions, over permutations of the template's nodes."""

from isonn.errors import naming_the_extra

with naming_the_extra("isonn.matching"):
    from isonn.matching.assignment import AssignmentMatcher, assigned_distance
    from isonn.matching.definition import DefinitionMatcher
    from isonn.matching.exact import ExactMatcher, exact_distance
    from isonn.matching.matcher import MATCHERS, Matcher, best_permutation, matcher_named, register_matcher
    from isonn.matching.spectral import AuthorsSpectralMatcher, SpectralMatcher, authors_fast_distance, fast_distance

register_matcher(ExactMatcher())
register_matcher(SpectralMatcher())
register_matcher(AuthorsSpectralMatcher())
register_matcher(AssignmentMatcher())
register_matcher(DefinitionMatcher())

__all__ = [
    "MATCHERS",
    "Matcher",
    "assigned_distance",
    "authors_fast_distance",
    "best_permutation",
    "exact_distance",
    "fast_distance",
    "matcher_named",
    "register_matcher",
]
