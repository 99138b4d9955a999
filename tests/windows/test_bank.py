from __future__ import annotations

import itertools

import networkx
import pytest
import torch

from isonn.matching import exact_distance, matcher_named
from isonn.nn import IsoLayer
from isonn.windows import bank
from isonn.windows.bank import all_windows, bank_windows
from isonn.windows.cut import cut_windows


def zero_one(generator, g=4, n=9, density=0.3):
    return (torch.rand(g, n, n, generator=generator) < density).float()


def distances(adjacency, k, templates):
    windows = cut_windows(adjacency, k)
    return exact_distance(templates, windows.reshape(-1, k, k)).view(*windows.shape[:3], -1)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_merging_changes_no_distance(k, generator):
    adjacency = zero_one(generator, g=30)
    templates = torch.randn(2, k, k, generator=generator)
    merged = bank_windows(adjacency, k)
    torch.testing.assert_close(
        exact_distance(templates, merged.regions)[merged.index], distances(adjacency, k, templates)
    )


def test_regions_are_as_many_as_there_are_isomorphism_classes(generator):
    adjacency = zero_one(generator, g=8)
    merged = bank_windows(adjacency, 3)
    graphs = []
    for window in cut_windows(adjacency, 3).reshape(-1, 3, 3):
        graph = networkx.from_numpy_array(window.numpy(), create_using=networkx.DiGraph)
        if not any(networkx.is_isomorphic(graph, other) for other in graphs):
            graphs.append(graph)
    assert len(merged.regions) == len(graphs)


def test_relabelled_windows_share_one_region_in_its_canonical_order(generator):
    region = torch.tensor([[0.0, 1, 1], [0, 0, 1], [0, 0, 1]])
    orders = [torch.tensor(order) for order in itertools.permutations(range(3))]
    copies = torch.stack([region[order][:, order] for order in orders])
    first = bank_windows(copies, 3)
    assert len(first.regions) == 1
    torch.testing.assert_close(bank_windows(copies.flip(0), 3).regions, first.regions)


def test_values_other_than_zero_and_one_are_kept(generator):
    adjacency = 0.25 * torch.randint(-1, 3, (40, 5, 5), generator=generator)
    templates = torch.randn(2, 2, 2, generator=generator)
    merged = bank_windows(adjacency, 2)
    torch.testing.assert_close(
        exact_distance(templates, merged.regions)[merged.index], distances(adjacency, 2, templates)
    )


def test_windows_that_need_more_than_one_integer_are_told_apart():
    adjacency = torch.zeros(4, 9, 9)
    adjacency[1, 8, 8] = 1  # the last of 81 cells
    adjacency[2, 0, 0] = 1  # the first
    adjacency[3, 0, 1] = 1
    number, place = bank.merge_equal(bank._window_words(adjacency.numpy().astype("uint8"), 9, 2))
    assert sorted(number.tolist()) == [0, 1, 2, 3]
    assert number[place].tolist() == [0, 1, 2, 3]


def test_without_the_merging_of_copies_nothing_changes_but_the_number_of_regions(generator, monkeypatch):
    adjacency = zero_one(generator, g=60, density=0.1)
    templates = torch.randn(2, 4, 4, generator=generator)
    merged = bank_windows(adjacency, 4)
    monkeypatch.setattr(bank, "MAX_MERGING_COST", 0)
    plain = bank_windows(adjacency, 4)
    assert len(plain.regions) > len(merged.regions)
    torch.testing.assert_close(
        exact_distance(templates, plain.regions)[plain.index], exact_distance(templates, merged.regions)[merged.index]
    )


def test_weighted_graphs_have_no_bank(generator):
    assert bank_windows(torch.randn(3, 9, 9, generator=generator), 3) is None


def test_graphs_whose_windows_hardly_repeat_have_no_bank(generator):
    assert bank_windows(zero_one(generator, g=1, n=9, density=0.5), 5) is None


@pytest.mark.parametrize("rows", [[0], [2, 0], [3, 3, 1]])
def test_selecting_graphs_of_a_bank_is_the_bank_of_the_selected_graphs(rows, generator):
    adjacency = zero_one(generator)
    templates = torch.randn(2, 3, 3, generator=generator)
    chosen = bank_windows(adjacency, 3)[torch.tensor(rows)]
    torch.testing.assert_close(
        exact_distance(templates, chosen.regions)[chosen.index], distances(adjacency[rows], 3, templates)
    )


def test_a_small_batch_of_a_large_bank_holds_only_its_own_regions():
    whole = bank.WindowBank(torch.arange(20.0).view(20, 1, 1), torch.arange(20).view(20, 1, 1))
    batch = whole[torch.tensor([7, 3])]
    assert batch.regions.flatten().tolist() == [3, 7]
    assert batch.regions[batch.index].flatten().tolist() == [7, 3]


@pytest.mark.parametrize("weighted", [False, True])
def test_eigenvectors_computed_once_match_as_those_of_every_epoch(weighted, generator):
    adjacency = torch.rand(4, 7, 7, generator=generator)
    adjacency = adjacency if weighted else (adjacency < 0.4).float()
    layer = IsoLayer(k=3, c=2, matching="fast", generator=generator)
    merged = all_windows(adjacency, k=3)
    torch.testing.assert_close(layer(merged.prepared_for(matcher_named("fast"))), layer(adjacency), rtol=0, atol=0)
    some = torch.tensor([2, 0])
    torch.testing.assert_close(layer(merged.prepared_for(matcher_named("fast"))[some]), layer(adjacency[some]))


def test_values_are_spread_to_every_position_and_their_gradient_is_added_up(generator, dtype):
    adjacency = zero_one(generator).to(dtype)
    merged = bank_windows(adjacency, 3)
    values = torch.randn(2, len(merged.regions), dtype=dtype, generator=generator, requires_grad=True)
    weights = torch.randn(2, 4, 7, 7, dtype=dtype, generator=generator)
    for some, rows in ((merged, slice(None)), (merged[torch.tensor([2, 0])], [2, 0])):
        chosen = values if some is merged else values[:, : len(some.regions)]
        torch.testing.assert_close(some.spread(chosen), chosen[:, some.index], rtol=0, atol=0)
        part = weights[:, rows]
        ours = torch.autograd.grad((some.spread(chosen) * part).sum(), values)[0]
        torch.testing.assert_close(ours, torch.autograd.grad((chosen[:, some.index] * part).sum(), values)[0])
