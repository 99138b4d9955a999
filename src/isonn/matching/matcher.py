"""The `Matcher` extension point: how a template is compared with a region.

To add a matcher, subclass `Matcher` in one file and register it in one line::

    register_matcher(MyMatcher())

Estimators, `isonn.nn.IsoLayer` and the command line then accept its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import Tensor

from isonn.errors import InputError
from isonn.plugins import Registry


class Matcher(ABC):
    r"""Base class of matchers, which compare templates with regions: distances and their permutations.

    Templates are ``(c, k, k)``, regions ``(w, k, k)``, with one floating dtype on one device.
    tests/matching/test_matcher.py checks these rules for every registered matcher:

    - ``distance`` has shape ``(w, c)`` and no negative entry. Each region is compared on its own, so other regions in
      the call change nothing. Gradients reach both arguments.
    - ``distance(templates, regions, prepare(regions))`` equals ``distance(templates, regions)``.
    - ``permutations`` attains the distance: :math:`\lVert K_{pp} - M \rVert^2`, with p its entry for a pair.
    - A matcher that does not depend on node order gives a region and its relabelled copy the same distance.
    - An exact matcher returns the minimum over all permutations.

    Example:
        >>> class InOrder(Matcher):  # node 1 with node 1, 2 with 2, and so on
        ...     name, depends_on_order = "in order", True
        ...
        ...     def distance(self, templates, regions, prepared=None):
        ...         return (templates[None] - regions[:, None]).square().sum(dim=(2, 3))
        >>> InOrder().distance(torch.zeros(1, 2, 2), torch.ones(3, 2, 2)).tolist()
        [[4.0], [4.0], [4.0]]
    """

    #: The value of ``matching`` that selects it.
    name: ClassVar[str]
    #: Whether the result is the minimum over all k! permutations. Training may then use certificates, and symmetric
    #: templates only half of the windows.
    exact: ClassVar[bool] = False
    #: Whether relabelling a region may change its distance. Regions equal up to relabelling are then not merged.
    depends_on_order: ClassVar[bool] = False
    #: Whether estimators may match equal regions once.
    merges: ClassVar[bool] = True
    #: Whether `prepare` computes anything.
    prepares: ClassVar[bool] = False

    def check(self, k: int) -> None:  # noqa: B027 (most matchers take every k)
        """Raise `InputError` for unsupported template sizes.

        Args:
            k: nodes per template.
        """

    def prepare(self, regions: Tensor) -> Tensor | None:
        """Return the part of ``distance`` that depends only on the regions, one row each; computed once in training.

        Args:
            regions: shape (regions, k, k).

        Returns:
            anything that `distance` takes as ``prepared``; None if there is nothing to prepare.
        """
        return None

    @abstractmethod
    def distance(self, templates: Tensor, regions: Tensor, prepared: Tensor | None = None) -> Tensor:
        """Return the squared distance of every region to every template, ``(w, c)``.

        Args:
            templates: shape (c, k, k).
            regions: shape (regions, k, k).
            prepared: what `prepare` returned for these regions, or None.

        Returns:
            Tensor of shape (regions, c).
        """

    def permutations(self, templates: Tensor, regions: Tensor) -> Tensor | None:
        """Return the permutation p of each pair, ``(w, c, k)``, with ``template[p][:, p]`` compared to the region.

        None if P is not a permutation; explanations then list the nodes of a match without their positions.

        Args:
            templates: shape (c, k, k).
            regions: shape (regions, k, k).

        Returns:
            integer Tensor of shape (regions, c, k), or None if the matcher finds no permutation.
        """
        return None


#: All matchers by name.
MATCHERS: Registry[Matcher] = Registry("matchers")


def register_matcher(matcher: Matcher) -> None:
    """Register a matcher under its name for estimators, layers and the command line.

    Args:
        matcher: an instance of a subclass of `Matcher`.

    Example:
        >>> exact = isonn.matching.matcher_named("exact")
        >>> register_matcher(exact)  # `matching="exact"` now means this one
    """
    MATCHERS[matcher.name] = matcher


def matcher_named(name: str) -> Matcher:
    """Return the registered matcher with this name.

    Args:
        name: a name such as "exact", or that of an installed extension.

    Returns:
        the matcher.

    Example:
        >>> isonn.matching.matcher_named("exact").exact
        True
    """
    return MATCHERS.named(name, "matching")


def best_permutation(template: Tensor, region: Tensor, matching: str = "exact") -> Tensor:
    """Return the permutation ``p`` for which ``template[p][:, p]`` is nearest to the region.

    Node a of the region is node ``p[a]`` of the template. With P the permutation matrix that has
    ``P[a, p[a]] = 1``, this is the P of the paper: ``P @ template @ P.T == template[p][:, p]``.

    Args:
        matching: the name of a matcher that finds permutations.

    Shapes:
        - template ``(k, k)``
        - region ``(k, k)``
        - output ``(k,)``

    Example:
        >>> template = torch.tensor([[0.0, 1.0], [0.0, 0.0]])
        >>> isonn.matching.best_permutation(template, template.T).tolist()
        [1, 0]
    """
    permutation = matcher_named(matching).permutations(template[None], region[None])
    if permutation is None:
        raise InputError(f"matching={matching!r} does not give permutations; use 'exact' or 'assigned'")
    return permutation[0, 0]


def check_pair(templates: Tensor, regions: Tensor) -> None:
    """Raise `InputError` unless these are ``(c, k, k)`` templates and ``(w, k, k)`` regions of one dtype and device."""
    for name, tensor in (("templates", templates), ("regions", regions)):
        if tensor.ndim != 3 or tensor.shape[1] != tensor.shape[2]:
            raise InputError(f"{name} have shape {tuple(tensor.shape)}; give a stack of square matrices (count, k, k)")
        if not tensor.dtype.is_floating_point:
            raise InputError(f"{name} are {tensor.dtype}; convert them to float32 or float64")
    if templates.shape[1] != regions.shape[1]:
        raise InputError(
            f"templates have k={templates.shape[1]} nodes and regions {regions.shape[1]}; cut both with one k"
        )
    if templates.dtype != regions.dtype or templates.device != regions.device:
        raise InputError(
            f"templates are {templates.dtype} on {templates.device} and regions {regions.dtype} on {regions.device}; "
            f"convert one to match the other"
        )
