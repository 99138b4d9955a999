r"""Exact matching: every permutation of the template's nodes, as one product and one maximum.

.. math::
    \min_P \lVert P K P^\top - M \rVert^2
        = \lVert K \rVert^2 + \lVert M \rVert^2 - 2 \max_P \langle P K P^\top, M \rangle

so the best of the k! permutations is found by multiplying the flat regions with the k! relabelled templates and taking
the maximum. The product is computed in blocks that stay in the cache. The distance of the winner is then computed from
the definition, which avoids cancellation and gives 0 for a perfect match. The backward pass needs only the winner.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor
from torch.autograd.function import once_differentiable

from isonn.errors import IsoNNWarning
from isonn.matching.matcher import Matcher, check_pair
from isonn.matching.permutations import cells_of_all, check_enumerable, permutations
from isonn.seeding import torch_threads

#: Numbers in one block of the product. Blocks of 2^19 to 2^20 float32 (2 to 4 MB), which stay in the cache, were
#: fastest for k = 4 to 7.
BLOCK_NUMBERS = 2**20
#: Permutations in one block, so that at k >= 7 a block still has enough regions for an efficient product. A divisor of
#: 7!, so that no block is nearly empty.
BLOCK_PERMUTATIONS = 1008
#: Multiplications per second of one core of the development machine; only used to warn about long passes.
MULTIPLICATIONS_A_SECOND = 2.5e10
#: Expected seconds of a pass over all regions above which a warning appears: ten minutes.
LONG_SECONDS = 600.0
#: Largest number of values of all template-region pairs to compute their gradients at once; measured, for more values
#: it takes up to nine times as long as adding regions by winner.
SMALL_GRADIENT = 2**15
#: Products computed at once, 512 kB: the distinct windows of 0/1 graphs up to k = 5 or 6.
SMALL_PRODUCT = 2**17
#: If the mean of a template's entries is this many times their spread, it is subtracted before the products.
FAR_FROM_ZERO = 8.0
#: Up to this many permutations (k <= 4) three vectorised passes find the winner faster than argmax.
FEW_PERMUTATIONS = 24


def exact_distance(templates: Tensor, regions: Tensor) -> Tensor:
    r"""Return the squared distance of every region to every template, over all permutations of its nodes.

    .. math:: z_{wi} = \min_P \lVert P K_i P^\top - M_w \rVert_F^2

    Gradients flow to both arguments, through the winning permutation.

    Args:
        templates: the templates :math:`K_i`.
        regions: the regions :math:`M_w`.

    Shapes:
        - templates ``(c, k, k)``
        - regions ``(w, k, k)``
        - output ``(w, c)``

    Example:
        >>> edge = torch.tensor([[[0.0, 1.0], [0.0, 0.0]]])
        >>> exact_distance(edge, edge.transpose(1, 2))
        tensor([[0.]])
    """
    check_pair(templates, regions)
    warn_of_cost(templates.shape[-1], len(templates), len(regions))
    distance: Tensor = _ExactDistance.apply(templates.flatten(1), regions.flatten(1))
    return distance


def exact_winners(templates: Tensor, regions: Tensor) -> Tensor:
    """Return the winning permutation of each pair as a row of `permutations`; shapes as in `exact_distance`."""
    check_pair(templates, regions)
    warn_of_cost(templates.shape[-1], len(templates), len(regions))
    return _match(templates.detach().flatten(1), regions.detach().flatten(1))[1].t()


def warn_of_cost(k: int, c: int, regions: int) -> None:
    """Raise `InputError` for k beyond enumeration; warn if a pass takes longer than LONG_SECONDS."""
    check_enumerable(k)
    seconds = math.factorial(k) * k * k * c * regions / MULTIPLICATIONS_A_SECOND
    if seconds > LONG_SECONDS:
        warnings.warn(
            f"exact matching of c={c} templates of k={k} nodes with {regions:,} regions tries {math.factorial(k):,} "
            f"permutations of each, about {seconds / 60:,.0f} minutes a pass on one core; matching='assigned' or a "
            f"smaller k is faster",
            IsoNNWarning,
            stacklevel=3,
        )


class ExactMatcher(Matcher):
    """The best of all k! permutations, by definition."""

    name = "exact"
    exact = True

    def check(self, k: int) -> None:
        """Raise `InputError` for more than 9 nodes."""
        check_enumerable(k)

    def distance(self, templates: Tensor, regions: Tensor, prepared: Tensor | None = None) -> Tensor:
        """Compute `exact_distance`."""
        return exact_distance(templates, regions)

    def permutations(self, templates: Tensor, regions: Tensor) -> Tensor:
        """Return the best permutation of each pair, the first of equals."""
        return permutations(templates.shape[-1]).to(regions.device)[exact_winners(templates, regions)]


class _ExactDistance(torch.autograd.Function):
    """`exact_distance` of flat matrices; stores the winners, not the k! axis, for the backward pass."""

    @staticmethod
    def forward(ctx: Any, templates: Tensor, regions: Tensor) -> Tensor:
        distance, winners = _match(templates.detach(), regions.detach())
        ctx.save_for_backward(templates, regions, winners)
        return distance.t()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        templates, regions, winners = ctx.saved_tensors  # winners (c, w)
        grad_templates = grad_regions = None
        if ctx.needs_input_grad[0]:
            by = _template_gradient_at_once if _is_small(templates, regions) else _template_gradient
            grad_templates = by(templates, regions, winners, grad)
        if ctx.needs_input_grad[1]:
            grad_regions = _region_gradient(templates, regions, winners, grad)
        return grad_templates, grad_regions


def _is_small(templates: Tensor, regions: Tensor) -> bool:
    """Return whether a gather over all pairs is faster than sums by winner."""
    few = math.factorial(_side(templates)) <= BLOCK_PERMUTATIONS
    on_cpu = regions.device.type == "cpu" and regions.is_contiguous()
    return few and on_cpu and templates.numel() * len(regions) <= SMALL_GRADIENT


def _template_gradient(templates: Tensor, regions: Tensor, winners: Tensor, grad: Tensor) -> Tensor:
    """Compute d/dK sum_w g_w |K - P'M_wP|^2 = 2 K sum(g) - 2 sum_w g_w P'M_wP, by permutation."""
    # Regions with the same winner are added before relabelling, so entries are permuted once per permutation.
    every = torch.from_numpy(cells_of_all(_side(templates)))
    gradient = 2 * templates * grad.sum(0)[:, None]
    by_winner = _sum_by_winner(regions, grad, winners, len(every))
    for i in range(len(templates)):
        cells, sums = every, by_winner[i]
        if len(every) > BLOCK_PERMUTATIONS:  # with fewer, finding the unused ones costs more than it saves
            used = torch.bincount(winners[i], minlength=len(every)).nonzero().squeeze(1)
            cells, sums = every[used.cpu()], sums[used]
        cells = cells.to(templates.device, torch.int64)
        gradient[i].index_add_(0, cells.flatten(), sums.flatten(), alpha=-2)
    return gradient


def _region_gradient(templates: Tensor, regions: Tensor, winners: Tensor, grad: Tensor) -> Tensor:
    """Compute d/dM sum_i g_i |PK_iP' - M|^2 = 2 M sum(g) - 2 sum_i g_i PK_iP', with the winning permutations."""
    table = relabelled(templates)
    if regions.device.type == "cpu":
        won = torch.from_numpy(_membership(grad, winners, len(table)) @ table.numpy())
    else:
        won = (grad[:, :, None] * table[_numbers(winners, len(table))]).sum(1)
    return torch.addcmul(won.mul_(-2), regions, grad.sum(1, keepdim=True), value=2)


def _template_gradient_at_once(templates: Tensor, regions: Tensor, winners: Tensor, grad: Tensor) -> Tensor:
    """Compute the same by one numpy gather over all pairs: fewer steps, more memory."""
    places = _all_cells_back(_side(templates))[winners.numpy()]  # (c, w, entries)
    places += np.arange(len(regions))[:, None] * regions.shape[1]
    gap = templates.detach().numpy()[:, None] - regions.numpy().ravel().take(places)
    return torch.from_numpy(2 * np.einsum("wc,cwe->ce", grad.numpy(), gap))


@lru_cache(maxsize=16)
def _all_cells_back(k: int) -> NDArray[np.int64]:
    """Return the inverse map, from an entry of the template to that of the relabelled region."""
    return cells_of_all(k).argsort(1)


def _match(templates: Tensor, regions: Tensor) -> tuple[Tensor, Tensor]:
    """Return distance and winning permutation of every pair, each ``(c, w)``, contiguous per template."""
    (c, area), w = templates.shape, len(regions)
    count = math.factorial(_side(templates))
    if c > 1 and count > BLOCK_PERMUTATIONS:  # one template fills its blocks; more at once would only use more memory
        each = [_match(template[None], regions) for template in templates]
        return torch.cat([distance for distance, _ in each]), torch.cat([winners for _, winners in each])
    table = relabelled(templates)  # (c * k!, entries)
    ranked = table if (middle := centred(templates)) is None else relabelled(middle)
    if templates.device.type == "cpu" and len(table) * w <= SMALL_PRODUCT:
        return _match_at_once(table, ranked, regions, c)
    parts = ranked.split(c * BLOCK_PERMUTATIONS)
    distance = templates.new_empty(c, w)
    winners = torch.empty(c, w, dtype=torch.int64, device=templates.device)
    rows = max(1, min(w, BLOCK_NUMBERS // len(parts[0])))

    def new_worker() -> Callable[[slice], None]:
        # Allocate once per thread, because new pages for every block would cost more than the arithmetic.
        products = templates.new_empty(len(parts[0]) * rows)
        difference = templates.new_empty(rows, area)
        ones = templates.new_ones(area)

        def work(block: slice) -> None:
            winner = winners[:, block] = _winners_of_block(parts, regions[block], c, products)
            for i in range(c):
                gap = difference[: winner.shape[1]]
                torch.index_select(table[i * count : (i + 1) * count], 0, winner[i], out=gap)
                gap.sub_(regions[block]).square_()
                torch.mv(gap, ones, out=distance[i, block])  # a product, because sum(1) over so short an axis is slow

        return work

    for_each_block(new_worker, w, rows)
    return distance, winners


def centred(templates: Tensor) -> Tensor | None:
    """Subtract the means of the templates if they would cause large rounding errors, else return None.

    A number added to all entries adds the same to the product with every permutation, so the winner stays the same.
    """
    values = templates.cpu().numpy()
    mean = values.sum(1, keepdims=True) / max(1, values.shape[1])
    off = np.abs(mean) > FAR_FROM_ZERO * np.linalg.norm(values - mean, axis=1, keepdims=True)
    return templates - torch.from_numpy(np.where(off, mean, 0)).to(templates) if off.any() else None


def _match_at_once(table: Tensor, ranked: Tensor, regions: Tensor, c: int) -> tuple[Tensor, Tensor]:
    """Compute the same without blocks, in a few numpy steps, whose overhead is half that of torch."""
    product = torch.mm(regions, ranked.t()).numpy()  # numpy's product would start its own threads
    count = len(table) // c
    winners = product.reshape(-1, c, count).argmax(2).T
    first = np.arange(0, len(table), count)[:, None]
    gap = table.numpy().take(winners + first, axis=0)
    gap -= regions.numpy()
    return torch.from_numpy(np.einsum("cwe,cwe->cw", gap, gap)), torch.from_numpy(winners)


def relabelled(templates: Tensor) -> Tensor:
    """Return every flat template, ``(c, k*k)``, under every permutation, ``(c * k!, k*k)``."""
    cells = cells_of_all(_side(templates))
    if templates.device.type == "cpu":
        table = torch.from_numpy(templates.detach().numpy().take(cells, axis=1))
    else:
        table = templates[:, torch.from_numpy(cells).to(templates.device, torch.int64)]
    return table.view(-1, templates.shape[1])


def _side(templates: Tensor) -> int:
    """Return k of flat templates, ``(c, k*k)``."""
    return math.isqrt(templates.shape[1])


def _winners_of_block(parts: Sequence[Tensor], regions: Tensor, c: int, buffer: Tensor) -> Tensor:
    """Return the permutation with the largest product of each template and region, ``(c, rows)``, first of equals."""
    if len(parts[0]) <= c * FEW_PERMUTATIONS and len(parts) == 1:
        return _winners_of_few(parts[0], regions, c, buffer)
    best, winners, first = None, regions.new_empty(0, dtype=torch.int64), 0
    for some in parts:
        f, rows = len(some) // c, len(regions)
        product = torch.mm(regions, some.t(), out=buffer[: c * f * rows].view(rows, c * f)).view(rows, c, f)
        winner = argmax(product)  # (rows, c)
        if len(parts) == 1:
            return winner.t()
        top = product.gather(2, winner[:, :, None]).squeeze(2)
        if best is None:
            best, winners = top, winner
        else:
            better = top > best
            best, winners = torch.where(better, top, best), torch.where(better, winner + first, winners)
        first += f
    return winners.t()


def _winners_of_few(relabelled: Tensor, regions: Tensor, c: int, buffer: Tensor) -> Tensor:
    """Compute the same for a few permutations, by passes along the regions."""
    f, rows = len(relabelled) // c, len(regions)
    product = torch.mm(relabelled, regions.t(), out=buffer[: c * f * rows].view(c * f, rows)).view(c, f, rows)
    top = product.amax(1)
    return f - 1 - product.eq_(top[:, None]).mul_(_countdown(f, product.dtype, product.device)).amax(1).long()


@lru_cache(maxsize=16)
def _countdown(f: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.arange(f - 1, -1, -1, dtype=dtype, device=device)[:, None]


def _sum_by_winner(regions: Tensor, factors: Tensor, winners: Tensor, f: int) -> Tensor:
    """Sum ``factor * region`` over the regions each permutation won, ``(c, f, k*k)``; factors are ``(w, c)``."""
    c = factors.shape[1]
    if regions.device.type == "cpu":
        # on the CPU, index_add_ takes six times as long on such short rows as a product with a sparse matrix
        return torch.from_numpy(_membership(factors, winners, c * f).T @ regions.numpy()).view(c, f, -1)
    weighted = (factors[:, :, None] * regions[:, None]).flatten(0, 1)
    number = _numbers(winners, c * f).flatten()
    return regions.new_zeros(c * f, regions.shape[1]).index_add_(0, number, weighted).view(c, f, -1)


def _membership(factors: Tensor, winners: Tensor, relabelled: int) -> csr_array:
    """Return which relabelled templates won each region, ``(w, relabelled)``, with the factors, ``(w, c)``."""
    w, c = factors.shape
    number = _numbers(winners, relabelled).numpy().ravel()
    rows = np.arange(0, w * c + 1, c, dtype=np.int32 if w * c < 2**31 else np.int64)
    return csr_array((factors.contiguous().numpy().ravel(), number, rows), shape=(w, relabelled))


def _numbers(winners: Tensor, relabelled: int) -> Tensor:
    """Return the winners, ``(c, w)``, as rows of the table of all relabelled templates, ``(w, c)``."""
    c = len(winners)
    first = torch.arange(0, relabelled, relabelled // c, dtype=torch.int32, device=winners.device)[:, None]
    return (winners.int() + first).t().contiguous()


def argmax(values: Tensor) -> Tensor:
    """Return the index of the maximum along the last axis, the first of equals."""
    # numpy's argmax is vectorised and torch's on the CPU is not: 12 times as fast over the 720 permutations of k = 6.
    return torch.from_numpy(values.numpy().argmax(-1)) if values.device.type == "cpu" else values.argmax(-1)


# Blocks of work over the cores: one thread per block beats all threads on every small operation of a block.


#: Minimum number of blocks for which threads are started.
MIN_BLOCKS = 4


def for_each_block(new_worker: Callable[[], Callable[[slice], None]], count: int, size: int) -> None:
    """Process the slices of ``range(count)`` of the given size, on as many threads as torch would use.

    The blocks do not depend on the number of threads, so neither do the bits of the result.

    Args:
        new_worker: called once per thread; returns the function that processes a block, with its own memory.
    """
    blocks = [slice(start, min(start + size, count)) for start in range(0, count, size)]
    threads = min(torch.get_num_threads(), len(blocks)) if len(blocks) >= MIN_BLOCKS else 1
    to_do = iter(blocks)  # whoever is free takes the next: torch's own threads may still be spinning on a core

    def work() -> None:
        with torch.no_grad():  # new threads do not inherit it
            worker = new_worker()
            for block in to_do:
                worker(block)

    if threads == 1:
        work()
        return
    with torch_threads(1), ThreadPoolExecutor(threads - 1) as pool:  # one thread inside a block
        others = [pool.submit(work) for _ in range(threads - 1)]
        try:
            work()
        finally:
            list(to_do)  # after an error, nobody starts another block
        for other in others:
            other.result()
