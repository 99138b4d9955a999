r"""The paper's IsoNN-fast: eigenvectors instead of permutations.

For symmetric matrices the orthogonal matrix that brings K nearest to M is made of their eigenvectors
(Umeyama's theorem); the paper takes :math:`P = |U_M| |U_K|^\top`. Windows off the diagonal are not symmetric:
for those the eigenvectors are those of the Hermitian form :math:`(M + M^\top)/2 + i (M - M^\top)/2`, which for a
symmetric M is M itself.
"""

from __future__ import annotations

import torch
from torch import Tensor

from isonn.errors import InputError
from isonn.matching.matcher import Matcher, check_pair


def fast_distance(templates: Tensor, regions: Tensor, vectors: Tensor | None = None) -> Tensor:
    r"""Squared distance under the spectral P of the paper, which is not a permutation.

    .. math:: z_{wi} = \lVert P K_i P^\top - M_w \rVert_F^2, \qquad P = |U_{M_w}| |U_{K_i}|^\top

    with eigenvalues in ascending order. P is a constant for the gradient. Neither a lower nor an upper bound
    of the exact distance; `isonn cost` measures how well it ranks regions. Equal eigenvalues leave their
    eigenvectors open: the result is then the one LAPACK chooses, finite and the same in every run.

    Args:
        vectors: ``absolute_eigenvectors(regions)`` where they are known; they cost more than all the rest.

    Shapes:
        - templates ``(c, k, k)``
        - regions ``(w, k, k)``
        - output ``(w, c)``

    Example:
        >>> one, other = torch.diag(torch.tensor([1.0, 2.0])), torch.diag(torch.tensor([2.0, 1.0]))
        >>> fast_distance(one[None], other[None])
        tensor([[0.]])
    """
    check_pair(templates, regions)
    with torch.no_grad():
        if vectors is None:
            vectors = absolute_eigenvectors(regions, "regions")
        p = vectors[:, None] @ absolute_eigenvectors(templates, "templates").mT  # (w, c, k, k)
    return (p @ templates @ p.mT - regions[:, None]).square().sum((2, 3))


def absolute_eigenvectors(matrices: Tensor, name: str = "matrices") -> Tensor:
    """Absolute values of the eigenvectors of each matrix's Hermitian form, by ascending eigenvalue, as columns.

    Shapes:
        - matrices ``(count, k, k)``
        - output ``(count, k, k)``
    """
    if not matrices.isfinite().all():
        raise InputError(f"{name} hold NaN or infinity, which has no eigenvectors; replace it by numbers")
    symmetric = (matrices == matrices.mT).all(dim=2).all(dim=1)
    vectors = torch.empty_like(matrices)
    if symmetric.any():
        vectors[symmetric] = torch.linalg.eigh(matrices[symmetric]).eigenvectors.abs()
    if not symmetric.all():
        rest = matrices[~symmetric]
        hermitian = torch.complex(rest + rest.mT, rest - rest.mT) / 2
        vectors[~symmetric] = torch.linalg.eigh(hermitian).eigenvectors.abs()
    return vectors


class SpectralMatcher(Matcher):
    """The paper's IsoNN-fast. Depends on order: eigenvectors of repeated eigenvalues do."""

    name = "fast"
    depends_on_order = True
    prepares = True

    def prepare(self, regions: Tensor) -> Tensor:
        """As `absolute_eigenvectors`."""
        return absolute_eigenvectors(regions, "regions")

    def distance(self, templates: Tensor, regions: Tensor, prepared: Tensor | None = None) -> Tensor:
        """As `fast_distance`."""
        return fast_distance(templates, regions, prepared)
