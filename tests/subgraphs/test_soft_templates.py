from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from isonn.matching.permutations import GraphLayout
from isonn.subgraphs.soft import TEMPERATURES, PooledTemplates

LAYOUT = GraphLayout(k=3, node_channels=2, edge_channels=2)
KINDS = [2, 3] * 3 + [0, 1] * 3
ZERO_ONE = [True, False] * 3 + [True, True] * 3


@pytest.fixture
def module(generator):
    templates = torch.randn(4, LAYOUT.width, dtype=torch.float64, generator=generator)
    pooled = PooledTemplates(LAYOUT, KINDS, ZERO_ONE, (2.0, 0.5, 1.0, 3.0), templates)
    with torch.no_grad():
        pooled.log_width.copy_(torch.randn(4, generator=generator) / 3)
    return pooled


@pytest.fixture
def regions(generator):
    return torch.randn(6, LAYOUT.width, dtype=torch.float64, generator=generator)


@pytest.fixture
def counts():
    return csr_array(np.array([[1, 0, 2, 0, 0, 3], [0, 0, 0, 0, 0, 0], [0, 2.5, 0, 1, 1, 0]], dtype=np.float64))


def distance_by_definition(template, region, weights):
    """The module's z, entry by entry, over all orders of three nodes."""
    pairs = list(itertools.combinations(range(3), 2))
    best = math.inf
    for order in itertools.permutations(range(3)):
        moved = [template[2 * v + channel] for v in order for channel in (0, 1)]
        for a, b in pairs:
            place = 6 + 2 * pairs.index(tuple(sorted((order[a], order[b]))))
            moved += [template[place], template[place + 1]]
        gaps = [weights[kind] * (m - r) ** 2 for kind, m, r in zip(KINDS, moved, region, strict=True)]
        best = min(best, sum(gaps))
    return best


def test_soft_counts_equal_their_equation(module, regions, counts):
    weights, widths = module.log_weight.exp().tolist(), module.log_width.exp().tolist()
    expected = np.zeros((3, 4, len(TEMPERATURES)))
    for g, i, (place, s) in itertools.product(range(3), range(4), enumerate(TEMPERATURES)):
        for r in range(6):
            z = distance_by_definition(module.templates[i].tolist(), regions[r].tolist(), weights)
            expected[g, i, place] += counts.toarray()[g, r] * math.exp(-s * widths[i] * z)
    np.testing.assert_allclose(module(regions, counts).detach().numpy(), expected, rtol=1e-10)


def test_weights_start_where_they_are_told(module):
    torch.testing.assert_close(module.log_weight.exp(), torch.tensor([2.0, 0.5, 1.0, 3.0], dtype=torch.float64))


def test_gradients_reach_templates_weights_and_widths(module, regions, counts):
    names = ("templates", "log_weight", "log_width")
    values = tuple(getattr(module, name).detach().clone().requires_grad_() for name in names)

    def sums(*parameters):
        return torch.func.functional_call(module, dict(zip(names, parameters, strict=True)), (regions, counts))

    assert torch.autograd.gradcheck(sums, values)


def test_relabelling_the_nodes_of_a_region_changes_no_sum(module, regions, counts):
    cells = LAYOUT.cells(torch.tensor([[2, 0, 1]]))[0]
    torch.testing.assert_close(module(regions[:, cells], counts), module(regions, counts))


def test_no_regions_give_sums_of_zero(module, regions):
    sums = module(regions[:0], csr_array((2, 0)))
    torch.testing.assert_close(sums, torch.zeros(2, 4, len(TEMPERATURES), dtype=torch.float64))


def test_a_perfect_match_counts_once_at_every_temperature(module):
    sums = module(module.templates.detach()[:1], csr_array(np.ones((1, 1))))
    torch.testing.assert_close(sums[0, 0], torch.ones(len(TEMPERATURES), dtype=torch.float64))


def test_the_penalty_is_zero_exactly_for_templates_one_can_draw(module):
    with torch.no_grad():
        module.templates.copy_((module.templates > 0).double())
        module.templates[:, 1] = 0.4  # an entry that is a number in graphs, too
    assert module.penalty().item() == 0
    with torch.no_grad():
        module.templates[0, 0] = 0.5
    assert module.penalty().item() == pytest.approx(0.25**2)
