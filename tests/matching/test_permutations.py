from __future__ import annotations

import itertools

import pytest
import torch
from reference import distance_by_definition

from isonn.matching import exact, exact_distance
from isonn.matching.exact import exact_winners
from isonn.matching.permutations import permutations


@pytest.fixture(params=[0, exact.SMALL_PRODUCT], ids=["in blocks", "at once"], autouse=True)
def both_ways(request, monkeypatch):
    """Small problems are matched at once; here they are matched in blocks, too."""
    monkeypatch.setattr(exact, "SMALL_PRODUCT", request.param)


def some(k, c, w, generator, dtype=torch.float64):
    return (torch.randn(rows, k, k, dtype=dtype, generator=generator) for rows in (c, w))


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_winning_order_is_one_with_that_distance(k, generator):
    templates, regions = some(k, 2, 4, generator)
    winners, distance = exact_winners(templates, regions), exact_distance(templates, regions)
    for w, i in itertools.product(range(4), range(2)):
        p = permutations(k)[winners[w, i]]
        torch.testing.assert_close((templates[i][p][:, p] - regions[w]).square().sum(), distance[w, i])


@pytest.mark.parametrize("small", [0, 2**20], ids=["by permutation", "at once"])
@pytest.mark.parametrize("k", [1, 3, 4])
def test_gradients_to_templates_and_regions_are_right_on_both_paths(k, small, generator, monkeypatch):
    monkeypatch.setattr(exact, "SMALL_GRADIENT", small)
    templates, regions = (x.requires_grad_() for x in some(k, 2, 4, generator))
    assert torch.autograd.gradcheck(exact_distance, (templates, regions))


@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_distance_is_the_smallest_over_all_orders_of_the_nodes(k, dtype, generator):
    templates, regions = some(k, 3, 5, generator, dtype)
    torch.testing.assert_close(exact_distance(templates, regions), distance_by_definition(templates, regions))


def test_no_regions_give_an_empty_distance_and_no_gradient(generator):
    templates, regions = (part.requires_grad_() for part in some(3, 2, 0, generator))
    distance = exact_distance(templates, regions)
    assert distance.shape == (0, 2)
    distance.sum().backward()
    torch.testing.assert_close(templates.grad, torch.zeros_like(templates))
