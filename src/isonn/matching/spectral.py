r"""The paper's IsoNN-fast: eigenvectors instead of permutations.

For symmetric matrices the orthogonal matrix that maps K nearest to M consists of their eigenvectors (Umeyama's
theorem); the paper uses :math:`P = |U_M| |U_K|^\top`. Windows off the diagonal are not symmetric. For those the
eigenvectors of the Hermitian form :math:`(M + M^\top)/2 + i (M - M^\top)/2` are used, which is M itself for a symmetric
M.
"""

from __future__ import annotations

import torch
from torch import Tensor

from isonn.errors import InputError
from isonn.matching.matcher import Matcher, check_pair


def fast_distance(templates: Tensor, regions: Tensor, vectors: Tensor | None = None) -> Tensor:
    r"""Return the squared distance under the spectral P of the paper, which is not a permutation.

    .. math:: z_{wi} = \lVert P K_i P^\top - M_w \rVert_F^2, \qquad P = |U_{M_w}| |U_{K_i}|^\top

    with eigenvalues in ascending order. The gradient treats P as a constant. The result is neither a lower nor an upper
    bound of the exact distance; `isonn cost` measures how well it ranks regions. For repeated eigenvalues it depends on
    the eigenvectors that LAPACK chooses, but is finite and the same in every run.

    Args:
        vectors: ``absolute_eigenvectors(regions)`` if known; they cost more than all the rest.

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
    """Return absolute eigenvectors of each matrix's Hermitian form as columns, by ascending eigenvalue.

    Shapes:
        - matrices ``(count, k, k)``
        - output ``(count, k, k)``
    """
    if not matrices.isfinite().all():
        raise InputError(f"{name} contain NaN or infinity and have no eigenvectors; replace these values")
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
    """The paper's IsoNN-fast. It depends on node order, as the eigenvectors of repeated eigenvalues do."""

    name = "fast"
    depends_on_order = True
    prepares = True

    def prepare(self, regions: Tensor) -> Tensor:
        """Compute `absolute_eigenvectors`."""
        return absolute_eigenvectors(regions, "regions")

    def distance(self, templates: Tensor, regions: Tensor, prepared: Tensor | None = None) -> Tensor:
        """Compute `fast_distance`."""
        return fast_distance(templates, regions, prepared)
