r"""Approximate matching by true permutations, for k too large to enumerate.

Starting permutations come from two sources: the spectral P of IsoNN-fast, rounded to a permutation, and the best of a
fixed set of permutations, screened with one matrix product as in exact matching. From each start, the best swap of two
nodes is applied until no swap helps, and the best result is kept. All regions, templates and starts are processed as
one batch.

Every result is a real permutation, so the distance is never below the exact one, and it can be explained. For small k
exact matching is used, because trying all permutations is cheaper than searching.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from isonn.errors import InputError
from isonn.matching.exact import argmax, exact_distance, exact_winners
from isonn.matching.matcher import Matcher, check_pair
from isonn.matching.permutations import MAX_ENUMERABLE_K, cells_of, permutations
from isonn.matching.spectral import absolute_eigenvectors
from isonn.seeding import torch_stream

#: Number of permutations screened per region. If k! is not larger (k <= 6), exact matching tries them all.
SCREENED = 720
#: Numbers in one block of problems improved together.
BLOCK_NUMBERS = 2**21


def assigned_distance(templates: Tensor, regions: Tensor) -> Tensor:
    """Return the squared distance of every region to every template under the best permutation found.

    It is an upper bound of `exact_distance`, equal for nearly all pairs at small k, with the same gradients.

    Shapes:
        - templates ``(c, k, k)``, k >= 2
        - regions ``(w, k, k)``
        - output ``(w, c)``

    Example:
        >>> path = torch.tensor([[[0.0, 1.0], [0.0, 0.0]]])
        >>> assigned_distance(path, path.mT)
        tensor([[0.]])
    """
    _check(templates, regions)
    if _few_permutations(templates.shape[-1]):
        return exact_distance(templates, regions)
    orders = assigned_permutations(templates, regions)
    # the region as the template sees it; gathered, so that autograd computes both gradients
    back = cells_of(orders.argsort(2).flatten(0, 1)).view(*orders.shape[:2], templates[0].numel())
    seen = regions.flatten(1)[:, None].expand(-1, len(templates), -1).gather(2, back)
    return (templates.flatten(1) - seen).square().sum(2)


def assigned_permutations(templates: Tensor, regions: Tensor) -> Tensor:
    """Return the permutation found for each pair, ``(w, c, k)``; ``template[p][:, p]`` is near the region."""
    _check(templates, regions)
    k = templates.shape[-1]
    if _few_permutations(k):
        return permutations(k).to(regions.device)[exact_winners(templates, regions)]
    if len(regions) == 0:
        return torch.empty(0, len(templates), k, dtype=torch.int64, device=regions.device)
    with torch.no_grad():
        rows = max(1, BLOCK_NUMBERS // (len(templates) * (_starts(k) + 1) * k * (2 * k + 1)))
        return torch.cat([_order_block(templates, block) for block in regions.split(rows)])


def _check(templates: Tensor, regions: Tensor) -> None:
    check_pair(templates, regions)
    _check_size(templates.shape[-1])


def _check_size(k: int) -> None:
    if k < 2:
        raise InputError("matching='assigned' needs k >= 2, got k=1; use matching='exact'")


def _few_permutations(k: int) -> bool:
    return k <= MAX_ENUMERABLE_K and math.factorial(k) <= SCREENED


def _starts(k: int) -> int:
    """Return the number of starts to improve by swaps, besides the spectral one.

    The cost of a start grows as k^3. Compared with exact matching, 14 starts at k = 8 find the optimum of about eight
    pairs in ten and narrowly miss the rest; at k = 12 each start costs about a hundredth of a millisecond.
    """
    return max(4, 900 // k**2)


def _order_block(templates: Tensor, regions: Tensor) -> Tensor:
    k = templates.shape[-1]
    starts = torch.cat([_screened(templates, regions), _spectral(templates, regions)[:, :, None]], dim=2)
    orders = _improve(starts.flatten(1, 2), templates, regions).view(starts.shape)  # (w, c, starts, k)
    products = torch.einsum("wcsa,wa->wcs", _relabel(templates, orders), regions.flatten(1))
    best = products.argmax(2)[:, :, None, None].expand(-1, -1, 1, k)
    return orders.gather(2, best).squeeze(2)


def _relabel(templates: Tensor, orders: Tensor) -> Tensor:
    """Return every flat template in each of its orders: ``(w, c, s, k)`` to ``(w, c, s, k*k)``."""
    w, c, s, k = orders.shape
    cells = cells_of(orders.reshape(-1, k)).view(w, c, s * k * k)
    return templates.flatten(1).expand(w, -1, -1).gather(2, cells).view(w, c, s, k * k)


def _screened(templates: Tensor, regions: Tensor) -> Tensor:
    """Return the best of each of several groups of fixed permutations, ``(w, c, starts, k)``."""
    k = templates.shape[-1]
    groups = _starts(k)
    each = math.ceil(SCREENED / groups)
    generator = torch_stream(0, "screened orderings", k)  # always the same ones
    orders = torch.rand(groups * each, k, generator=generator).argsort(1).to(templates.device)
    relabelled = templates.flatten(1)[:, cells_of(orders)].flatten(0, 1)  # (c * orders, k*k)
    products = (regions.flatten(1) @ relabelled.t()).view(len(regions), len(templates), groups, -1)
    number = argmax(products) + torch.arange(groups, device=orders.device) * each
    return orders[number]


def _spectral(templates: Tensor, regions: Tensor) -> Tensor:
    """Return the spectral P of each pair, rounded to a permutation from its largest entry down, ``(w, c, k)``."""
    profit = absolute_eigenvectors(regions)[:, None] @ absolute_eigenvectors(templates).mT
    w, c, k, _ = profit.shape
    order = torch.empty(w * c, k, dtype=torch.int64, device=profit.device)
    profit = profit.view(w * c, k, k)
    problem = torch.arange(w * c, device=profit.device)
    for _ in range(k):
        largest = profit.flatten(1).argmax(1)
        row, column = largest // k, largest % k
        order[problem, row] = column
        profit[problem, row] = -1  # entries are products of absolute values, so -1 is below all
        profit[problem, :, column] = -1
    return order.view(w, c, k)


def _improve(orders: Tensor, templates: Tensor, regions: Tensor) -> Tensor:
    r"""Swap pairs of nodes, the best swap first, until none helps; ``(w, c * starts, k)`` in and out.

    With A the region, B the template in its current order, both without their diagonals a and b, and :math:`S = A
    B^\top + A^\top B + a b^\top`, swapping nodes r and s changes :math:`\langle A, B \rangle` by

    .. math:: S_{rs} + S_{sr} - S_{rr} - S_{ss} + (A + A^\top)_{rs} (B + B^\top)_{rs}

    so one batched product gives the effect of all swaps at once.
    """
    w, p, k = orders.shape
    orders, problem = orders.flatten(0, 1).clone(), torch.arange(w * p, device=orders.device)
    a = _rows_and_columns(regions)  # (w, k, 2k+1)
    both = (a[:, :, :k] + a[:, :, k : 2 * k]).repeat_interleave(p, dim=0)
    a = a.repeat_interleave(p, dim=0)
    b = _rows_and_columns(_relabel(templates, orders.view(w, len(templates), -1, k)).view(w * p, k, k))
    # A gain must exceed rounding errors, or two equal orders could be swapped forever.
    tolerance = 1e-5 * regions.flatten(1).norm(dim=1).repeat_interleave(p) * templates.flatten(1).norm(dim=1).max()
    while len(problem):
        s = torch.bmm(a, b.mT)
        gain = s + s.mT
        diagonal = gain.diagonal(dim1=1, dim2=2) / 2
        gain -= diagonal[:, :, None]
        gain -= diagonal[:, None, :]
        gain.addcmul_(both, b[:, :, :k] + b[:, :, k : 2 * k])
        pair = argmax(gain.flatten(1))
        helpful = gain.flatten(1).gather(1, pair[:, None]).squeeze(1) > tolerance
        rest = helpful.nonzero().squeeze(1)
        if len(rest) < len(problem):
            problem, pair, a, b, both, tolerance = (
                tensor.index_select(0, rest) for tensor in (problem, pair, a, b, both, tolerance)
            )
        _swap(orders, b, problem, pair)
    return orders.view(w, p, k)


def _rows_and_columns(matrices: Tensor) -> Tensor:
    """Concatenate row, column and diagonal entry of each node, the first two without the diagonal."""
    diagonal = matrices.diagonal(dim1=1, dim2=2)
    off = matrices - torch.diag_embed(diagonal)
    return torch.cat([off, off.mT, diagonal[..., None]], dim=2)


def _swap(orders: Tensor, b: Tensor, problem: Tensor, pair: Tensor) -> None:
    """Swap two nodes of each problem in place, in its order and in its rows and columns ``b``."""
    k = orders.shape[1]
    r, s = pair // k, pair % k
    every, nodes = torch.arange(len(b), device=b.device), slice(None)
    for tensor, one, two in (
        (orders, (problem, r), (problem, s)),
        (b, (every, r), (every, s)),
        (b, (every, nodes, r), (every, nodes, s)),
        (b, (every, nodes, k + r), (every, nodes, k + s)),
    ):
        kept = tensor[one].clone()
        tensor[one] = tensor[two]
        tensor[two] = kept


class AssignmentMatcher(Matcher):
    """The best permutation found by a search, for k up to 20."""

    name = "assigned"

    def check(self, k: int) -> None:
        """Raise `InputError` for fewer than 2 nodes."""
        _check_size(k)

    def distance(self, templates: Tensor, regions: Tensor, prepared: Tensor | None = None) -> Tensor:
        """Compute `assigned_distance`."""
        return assigned_distance(templates, regions)

    def permutations(self, templates: Tensor, regions: Tensor) -> Tensor:
        """Compute `assigned_permutations`."""
        return assigned_permutations(templates, regions)
