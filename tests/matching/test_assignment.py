from __future__ import annotations

import numpy as np
import pytest
import torch
from reference import distance_by_definition, relabelled
from scipy.stats import spearmanr

from isonn.errors import InputError
from isonn.matching import assigned_distance, best_permutation, exact_distance
from isonn.matching import assignment as assigned
from isonn.windows.bank import bank_windows


def draw(generator, dtype, c, w, k):
    templates = torch.rand(c, k, k, dtype=dtype, generator=generator)
    return templates, torch.randn(w, k, k, dtype=dtype, generator=generator)


def at_least(distance, bound):
    return (distance >= bound - 1e-4 * (1 + bound)).all()


@pytest.mark.parametrize("k", [2, 3, 4])
def test_small_templates_are_matched_exactly(k, generator, dtype):
    templates, regions = draw(generator, dtype, 2, 6, k)
    torch.testing.assert_close(assigned_distance(templates, regions), distance_by_definition(templates, regions))


@pytest.mark.parametrize("k", [7, 8])
def test_is_an_upper_bound_that_ranks_regions_as_exact_matching_does(k, generator, dtype):
    templates, regions = draw(generator, dtype, 2, 40, k)
    found, exact = assigned_distance(templates, regions), exact_distance(templates, regions)
    assert at_least(found, exact)
    assert spearmanr(found.flatten(), exact.flatten()).statistic > 0.97
    assert (found <= exact + 1e-4 * exact).double().mean() > 0.5


@pytest.mark.parametrize("k", [4, 5, 6])
def test_the_search_alone_finds_the_optimum_of_most_windows(k, generator, mutag, monkeypatch):
    """With 24 screened permutations the swaps have to do the work that enumeration does at these k."""
    monkeypatch.setattr(assigned, "SCREENED", 24)
    templates = torch.rand(2, k, k, generator=generator)
    windows = bank_windows(torch.from_numpy(mutag.dense()), k).regions
    for regions in (windows, torch.randn(200, k, k, generator=generator)):
        found, exact = assigned_distance(templates, regions), exact_distance(templates, regions)
        assert at_least(found, exact)
        assert (found <= exact + 1e-4 * (1 + exact)).double().mean() >= 0.9
        assert spearmanr(found.flatten(), exact.flatten()).statistic >= 0.97


def test_no_swap_improves_the_answer(generator):
    templates, regions = draw(generator, torch.float64, 1, 5, 9)
    found = assigned_distance(templates, regions)[:, 0]
    orders = assigned.assigned_permutations(templates, regions)[:, 0]
    for order, region, distance in zip(orders, regions, found, strict=True):
        for r in range(9):
            for s in range(r):
                swapped = order.clone()
                swapped[[r, s]] = order[[s, r]]
                other = (relabelled(templates[0], swapped) - region).square().sum()
                assert other >= distance - 1e-3


@pytest.mark.parametrize("k", [5, 12, 20])
def test_permutations_are_permutations_that_attain_the_distance(k, generator, dtype):
    templates, regions = draw(generator, dtype, 2, 3, k)
    orders = assigned.assigned_permutations(templates, regions)
    np.testing.assert_array_equal(orders.sort(2).values, torch.arange(k).expand(3, 2, k))
    attained = torch.stack(
        [
            torch.stack([(relabelled(t, o) - r).square().sum() for t, o in zip(templates, row, strict=True)])
            for r, row in zip(regions, orders, strict=True)
        ]
    )
    torch.testing.assert_close(assigned_distance(templates, regions), attained)


@pytest.mark.parametrize("k", [8, 12])
def test_a_relabelled_copy_of_the_template_is_found(k, generator):
    template = torch.randn(k, k, generator=generator)
    copies = torch.stack([relabelled(template, torch.randperm(k, generator=generator)) for _ in range(10)])
    found = assigned_distance(template[None], copies)
    assert (found < 1e-6).double().mean() >= 0.8
    order = best_permutation(template, copies[0], matching="assigned")
    torch.testing.assert_close(relabelled(template, order), copies[0])


def test_chunking_changes_nothing(generator, monkeypatch):
    templates, regions = draw(generator, torch.float64, 2, 20, 7)
    expected = assigned_distance(templates, regions)
    monkeypatch.setattr(assigned, "BLOCK_NUMBERS", 1)
    torch.testing.assert_close(assigned_distance(templates, regions), expected)


@pytest.mark.parametrize("screened", [12, 720])
def test_gradients_are_those_of_the_winning_permutation(screened, generator, monkeypatch):
    monkeypatch.setattr(assigned, "SCREENED", screened)  # 12: fewer than there are, so that it searches
    templates, regions = draw(generator, torch.float64, 2, 4, 4)
    templates.requires_grad_()
    regions.requires_grad_()
    assert torch.autograd.gradcheck(assigned_distance, (templates, regions))
    ours = torch.autograd.grad(assigned_distance(templates, regions).sum(), (templates, regions))
    exact = torch.autograd.grad(exact_distance(templates, regions).sum(), (templates, regions))
    torch.testing.assert_close(ours, exact)


def test_zero_one_regions_with_many_equal_permutations_come_to_an_end(generator):
    regions = torch.stack([torch.zeros(10, 10), torch.ones(10, 10), torch.eye(10)])
    templates = torch.stack([torch.ones(10, 10), torch.zeros(10, 10)])
    torch.testing.assert_close(assigned_distance(templates, regions), torch.tensor([[100.0, 0], [0, 100], [90, 10]]))


def test_one_node_is_refused():
    with pytest.raises(InputError, match="needs k >= 2, got k=1; use matching='exact'"):
        assigned_distance(torch.zeros(1, 1, 1), torch.zeros(1, 1, 1))
