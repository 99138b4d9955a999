from __future__ import annotations

import pytest
import torch
from reference import distance_by_definition

from isonn.matching import exact, exact_distance


@pytest.fixture(params=[0, exact.SMALL_PRODUCT], ids=["in blocks", "at once"], autouse=True)
def both_ways(request, monkeypatch):
    """Small problems are matched at once; here they are matched in blocks, too."""
    monkeypatch.setattr(exact, "SMALL_PRODUCT", request.param)


def some(k, c, w, generator, dtype=torch.float64):
    return (torch.randn(rows, k, k, dtype=dtype, generator=generator) for rows in (c, w))


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
