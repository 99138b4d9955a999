from __future__ import annotations

import pytest
import torch
from reference import distance_by_definition, relabelled

from isonn.errors import InputError, IsoNNWarning
from isonn.matching import exact, exact_distance


@pytest.fixture(params=[0, exact.SMALL_PRODUCT], ids=["in blocks", "at once"], autouse=True)
def both_ways(request, monkeypatch):
    """Small problems are matched at once; here they are matched in blocks, too."""
    monkeypatch.setattr(exact, "SMALL_PRODUCT", request.param)


def draw(generator, dtype, c, w, k):
    templates = torch.randn(c, k, k, dtype=dtype, generator=generator)
    return templates, torch.randn(w, k, k, dtype=dtype, generator=generator)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6])
def test_equals_the_definition(k, dtype, generator):
    templates, regions = draw(generator, dtype, 3, 5, k)
    torch.testing.assert_close(exact_distance(templates, regions), distance_by_definition(templates, regions))


@pytest.mark.parametrize("k", [3, 4, 5])
def test_zero_one_regions_with_many_ties_equal_the_definition(k, dtype, generator):
    templates = torch.randint(0, 2, (2, k, k), generator=generator).to(dtype)
    regions = torch.randint(0, 2, (8, k, k), generator=generator).to(dtype)
    torch.testing.assert_close(
        exact_distance(templates, regions), distance_by_definition(templates, regions), rtol=0, atol=0
    )


@pytest.mark.parametrize("k", [3, 4, 7])
def test_weights_with_a_common_offset_are_matched_as_without_it(k, generator):
    templates, regions = torch.randn(2, k, k, generator=generator), torch.randn(40, k, k, generator=generator)
    exact_sums = exact_distance(templates.double(), regions.double()).float()
    offset = 2.0**13  # the sums of products are near 1e9 then, and float32 keeps seven digits of them
    shifted = exact_distance((templates + offset), (regions + offset))
    torch.testing.assert_close(shifted, exact_sums, rtol=0.02, atol=0.02)


def test_a_relabelled_copy_of_the_template_is_at_distance_zero_exactly(dtype, generator):
    template = 1000 * torch.randn(5, 5, dtype=dtype, generator=generator)
    copy = relabelled(template, torch.randperm(5, generator=generator))
    assert exact_distance(template[None], copy[None]).item() == 0


@pytest.mark.parametrize(
    ("k", "numbers", "permutations"),
    [(4, 1, 1), (4, 7, 5), (4, 2**30, 2**30), (6, 2**12, 64), (7, 2**12, 999), (7, 2**30, 2**30)],
)
def test_chunking_changes_nothing(k, numbers, permutations, dtype, generator, monkeypatch):
    templates, regions = draw(generator, dtype, 2, 30, k)
    expected = exact_distance(templates, regions)
    monkeypatch.setattr(exact, "BLOCK_NUMBERS", numbers)
    monkeypatch.setattr(exact, "BLOCK_PERMUTATIONS", permutations)
    torch.testing.assert_close(exact_distance(templates, regions), expected)


@pytest.mark.parametrize("small", [0, 2**20], ids=["by permutation", "at once"])
@pytest.mark.parametrize("k", [1, 3, 5])
def test_gradients_of_both_arguments_are_those_of_the_definition(k, small, generator, monkeypatch):
    monkeypatch.setattr(exact, "SMALL_GRADIENT", small)
    templates, regions = draw(generator, torch.float64, 2, 4, k)
    templates.requires_grad_()
    regions.requires_grad_()
    assert torch.autograd.gradcheck(exact_distance, (templates, regions))
    weights = torch.randn(4, 2, dtype=torch.float64, generator=generator)
    ours = torch.autograd.grad((exact_distance(templates, regions) * weights).sum(), (templates, regions))
    slow = torch.autograd.grad((distance_by_definition(templates, regions) * weights).sum(), (templates, regions))
    torch.testing.assert_close(ours, slow)


def test_the_number_of_threads_does_not_change_the_bits(generator, monkeypatch):
    templates, regions = draw(generator, torch.float32, 2, 3000, 5)
    monkeypatch.setattr(exact, "BLOCK_NUMBERS", 2**14)
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(exact_distance(templates, regions))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        torch.testing.assert_close(other, results[0], rtol=0, atol=0)


def test_transposed_regions_give_the_same_as_a_copy(dtype, generator):
    templates, regions = draw(generator, dtype, 2, 6, 4)
    view = regions.transpose(1, 2)
    torch.testing.assert_close(exact_distance(templates, view), exact_distance(templates, view.contiguous()))


def test_k_8_runs_exactly(generator):
    template = torch.randn(8, 8, generator=generator)
    copies = torch.stack([relabelled(template, torch.randperm(8, generator=generator)) for _ in range(5)])
    torch.testing.assert_close(exact_distance(template[None], copies), torch.zeros(5, 1))


@pytest.mark.parametrize(
    ("templates", "regions", "message"),
    [
        (torch.zeros(2, 3, 4), torch.zeros(1, 3, 3), r"templates have shape \(2, 3, 4\)"),
        (torch.zeros(2, 3, 3), torch.zeros(3, 3), r"regions have shape \(3, 3\)"),
        (torch.zeros(2, 3, 3), torch.zeros(1, 4, 4), "k=3 nodes and regions 4"),
        (torch.zeros(2, 3, 3), torch.zeros(1, 3, 3, dtype=torch.float64), "float32.*float64"),
        (torch.zeros(2, 3, 3, dtype=torch.int64), torch.zeros(1, 3, 3), "convert them to float32"),
        (torch.zeros(1, 12, 12), torch.zeros(1, 12, 12), "k=12 means 479,001,600 permutations.*matching='assigned'"),
    ],
)
def test_refuses_what_it_cannot_match(templates, regions, message):
    with pytest.raises(InputError, match=message):
        exact_distance(templates, regions)


def test_a_long_pass_is_warned_of_and_not_refused(generator, dtype, monkeypatch):
    templates, regions = draw(generator, dtype, 2, 4, 3)
    monkeypatch.setattr(exact, "LONG_SECONDS", 0)
    with pytest.warns(IsoNNWarning, match="about 0 minutes a pass on one core; matching='assigned'"):
        found = exact_distance(templates, regions)
    torch.testing.assert_close(found, distance_by_definition(templates, regions))
