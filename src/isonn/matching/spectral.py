r"""The paper's IsoNN-fast: eigenvectors instead of permutations, as the paper states it and as its authors compute it.

For symmetric matrices the orthogonal matrix that maps K nearest to M consists of their eigenvectors (Umeyama's
theorem); the paper uses :math:`P = |U_M| |U_K|^\top`. Windows off the diagonal are not symmetric, and two readings
differ there:

- "fast": the eigenvectors of the Hermitian form :math:`(M + M^\top)/2 + i (M - M^\top)/2`, which is M itself for a
  symmetric M, by ascending eigenvalue. This is the paper's formula, with Umeyama's own extension to such matrices.
- "fast-authors": the eigenvectors of M itself, in the order in which LAPACK's general solver returns them. This is what
  the authors' published code computes. The columns of the two factors then need not belong to each other, and the
  eigenvectors are not orthogonal.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from isonn.errors import InputError
from isonn.matching.matcher import Matcher, check_pair


def fast_distance(templates: Tensor, regions: Tensor) -> Tensor:
    r"""Return the squared distance under the spectral P of the paper, which is not a permutation.

    .. math:: z_{wi} = \lVert P K_i P^\top - M_w \rVert_F^2, \qquad P = |U_{M_w}| |U_{K_i}|^\top

    with eigenvalues in ascending order. The gradient treats P as a constant. The result is neither a lower nor an upper
    bound of the exact distance; `isonn cost` measures how well it ranks regions. For repeated eigenvalues it depends on
    the eigenvectors that LAPACK chooses, but is finite and the same in every run.

    Shapes:
        - templates ``(c, k, k)``
        - regions ``(w, k, k)``
        - output ``(w, c)``

    Example:
        >>> one, other = torch.diag(torch.tensor([1.0, 2.0])), torch.diag(torch.tensor([2.0, 1.0]))
        >>> fast_distance(one[None], other[None])
        tensor([[0.]])
    """
    return _distance(templates, regions, None, absolute_eigenvectors)


def authors_fast_distance(templates: Tensor, regions: Tensor) -> Tensor:
    r"""Return the squared distance under the P that the authors' code computes for IsoNN-fast.

    As `fast_distance`, with the eigenvectors of NumPy's ``eig`` in the order it returns them. Eigenvalues are not
    sorted, so the result depends on the LAPACK that NumPy uses wherever that order or the choice of an eigenvector is
    free.

    Shapes:
        - templates ``(c, k, k)``
        - regions ``(w, k, k)``
        - output ``(w, c)``

    Example:
        >>> one, other = torch.diag(torch.tensor([1.0, 2.0])), torch.diag(torch.tensor([2.0, 1.0]))
        >>> authors_fast_distance(one[None], other[None])  # a relabelled copy, yet not at distance 0
        tensor([[2.]])
    """
    return _distance(templates, regions, None, general_eigenvectors)


def _distance(
    templates: Tensor, regions: Tensor, vectors: Tensor | None, eigenvectors: Callable[[Tensor, str], Tensor]
) -> Tensor:
    """Return the distances; ``vectors`` are those of the regions, None if they are not known yet."""
    check_pair(templates, regions)
    with torch.no_grad():
        if vectors is None:
            vectors = eigenvectors(regions, "regions")
        p = vectors[:, None] @ eigenvectors(templates, "templates").mT  # (w, c, k, k)
    return (p @ templates @ p.mT - regions[:, None]).square().sum((2, 3))


def general_eigenvectors(matrices: Tensor, name: str = "matrices") -> Tensor:
    """Return absolute eigenvectors of each matrix as columns, in the order of NumPy's ``eig``.

    NumPy and not torch, because the order is that of the LAPACK each of them links, and the authors use NumPy.

    Shapes:
        - matrices ``(count, k, k)``
        - output ``(count, k, k)``
    """
    _check_finite(matrices, name)
    if len(matrices) == 0:
        return matrices.clone()
    vectors = np.abs(np.linalg.eig(matrices.detach().cpu().numpy())[1])
    return torch.from_numpy(vectors).to(matrices)


def absolute_eigenvectors(matrices: Tensor, name: str = "matrices") -> Tensor:
    """Return absolute eigenvectors of each matrix's Hermitian form as columns, by ascending eigenvalue.

    Shapes:
        - matrices ``(count, k, k)``
        - output ``(count, k, k)``
    """
    _check_finite(matrices, name)
    symmetric = (matrices == matrices.mT).all(dim=2).all(dim=1)
    vectors = torch.empty_like(matrices)
    if symmetric.any():
        vectors[symmetric] = torch.linalg.eigh(matrices[symmetric]).eigenvectors.abs()
    if not symmetric.all():
        rest = matrices[~symmetric]
        hermitian = torch.complex(rest + rest.mT, rest - rest.mT) / 2
        vectors[~symmetric] = torch.linalg.eigh(hermitian).eigenvectors.abs()
    return vectors


def _check_finite(matrices: Tensor, name: str) -> None:
    if not matrices.isfinite().all():
        raise InputError(f"{name} contain NaN or infinity and have no eigenvectors; replace these values")


class SpectralMatcher(Matcher):
    """The paper's IsoNN-fast. It depends on node order, as the eigenvectors of repeated eigenvalues do."""

    name = "fast"
    depends_on_order = True
    prepares = True
    _eigenvectors = staticmethod(absolute_eigenvectors)

    def prepare(self, regions: Tensor) -> Tensor:
        """Compute the eigenvectors of the regions."""
        return self._eigenvectors(regions, "regions")

    def distance(self, templates: Tensor, regions: Tensor, prepared: Tensor | None = None) -> Tensor:
        """Compute `fast_distance`, or `authors_fast_distance`."""
        return _distance(templates, regions, prepared, self._eigenvectors)


class AuthorsSpectralMatcher(SpectralMatcher):
    """IsoNN-fast as the authors' published code computes it."""

    name = "fast-authors"
    _eigenvectors = staticmethod(general_eigenvectors)
