"""Windows matched in place by compiled loops, against the definition and against cutting them out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from reference import distance_by_definition, layer_by_definition, relabelled

from isonn.matching import exact_distance
from isonn.matching.exact import exact_winners
from isonn.nn import IsoLayer, IsoStack
from isonn.windows import kernels, match
from isonn.windows.cut import cut_half, cut_windows
from isonn.windows.match import Windows, window_distance

SINGLE, DOUBLE = torch.float32, torch.float64
#: Loops are compiled for each k and precision, a second each. Every k is tested in one precision, 3 and 4 in both.
CASES = [(1, SINGLE), (2, DOUBLE), (3, SINGLE), (3, DOUBLE), (4, SINGLE), (4, DOUBLE), (5, SINGLE)]


@pytest.fixture(autouse=True)
def always_in_place(monkeypatch):
    monkeypatch.setattr(match, "MIN_MULTIPLICATIONS", 0)


def draw(generator, dtype, k, c=2, graphs=2, n=7):
    templates = torch.randn(c, k, k, dtype=dtype, generator=generator)
    return templates, torch.randn(graphs, n, n, dtype=dtype, generator=generator)


def regions_of(adjacency, k):
    return cut_windows(adjacency, k).reshape(-1, k, k)


def winners_of(template, adjacency, half=False):
    windows = Windows.of(adjacency, len(template), half)
    winners, distance = np.empty(len(windows), windows.number), np.empty(len(windows), windows.flat.dtype)
    windows.match(template.flatten(), winners, distance)
    return winners


@pytest.mark.parametrize(("k", "dtype"), CASES)
def test_distances_equal_the_definition(k, dtype, generator):
    templates, adjacency = draw(generator, dtype, k, graphs=1, n=k + 1)
    expected = distance_by_definition(templates, regions_of(adjacency, k)).t()
    torch.testing.assert_close(window_distance(templates, adjacency), expected)


@pytest.mark.parametrize(("k", "dtype"), [*CASES, (6, DOUBLE), (7, SINGLE)])
def test_winners_are_those_of_the_blocked_product(k, dtype, generator):
    templates, adjacency = draw(generator, dtype, k, c=1, n=40)  # several runs a graph
    assert (40 - k) * 40 > kernels.RUN
    np.testing.assert_array_equal(
        winners_of(templates[0], adjacency), exact_winners(templates, regions_of(adjacency, k))[:, 0]
    )


@pytest.mark.parametrize(("k", "dtype"), CASES)
def test_gradients_of_templates_and_graphs_are_those_of_the_definition(k, dtype, generator):
    templates, adjacency = draw(generator, dtype, k, graphs=2, n=k + 2)
    templates.requires_grad_()
    adjacency.requires_grad_()
    weights = torch.randn(2, 2 * 9, dtype=dtype, generator=generator)
    ours = torch.autograd.grad((window_distance(templates, adjacency) * weights).sum(), (templates, adjacency))
    slow = distance_by_definition(templates, regions_of(adjacency, k)) if k < 5 else None
    slow = exact_distance(templates, regions_of(adjacency, k)) if slow is None else slow
    expected = torch.autograd.grad((slow.t() * weights).sum(), (templates, adjacency))
    torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("k", [3, 4])
def test_gradients_pass_gradcheck(k, generator):
    templates, adjacency = draw(generator, torch.float64, k, graphs=1, n=k + 1)
    assert torch.autograd.gradcheck(window_distance, (templates.requires_grad_(), adjacency.requires_grad_()))


@pytest.mark.parametrize(("k", "dtype"), CASES[2:])
def test_half_of_the_windows_gives_what_cutting_them_gives(k, dtype, generator):
    templates, adjacency = draw(generator, dtype, k, n=30)
    adjacency = adjacency + adjacency.mT
    regions = cut_half(adjacency, k).reshape(-1, k, k)
    expected = exact_distance(templates, regions).t()
    torch.testing.assert_close(window_distance(templates, adjacency, half=True), expected)
    for template, winners in zip(templates, exact_winners(templates, regions).t(), strict=True):
        np.testing.assert_array_equal(winners_of(template, adjacency, half=True), winners)


@pytest.mark.parametrize(("k", "dtype"), CASES[2:])
def test_zero_one_windows_with_many_ties_equal_the_definition_and_the_first_wins(k, dtype, generator):
    templates = torch.randint(0, 2, (1, k, k), generator=generator).to(dtype)
    adjacency = torch.randint(0, 2, (1, k + 1, k + 1), generator=generator).to(dtype)
    regions = regions_of(adjacency, k)
    torch.testing.assert_close(
        window_distance(templates, adjacency).t(), distance_by_definition(templates, regions), rtol=0, atol=0
    )
    orders = [torch.tensor(order) for order in itertools.permutations(range(k))]
    table = torch.stack([relabelled(templates[0], order) for order in orders])
    first = (table[None] - regions[:, None]).square().sum((2, 3)).argmin(1)  # of equals the first
    np.testing.assert_array_equal(winners_of(templates[0], adjacency), first)


def test_weights_with_a_common_offset_are_matched_as_without_it(generator):
    templates, adjacency = draw(generator, torch.float32, 4, n=12)
    plain = window_distance(templates.double(), adjacency.double()).float()
    torch.testing.assert_close(window_distance(templates + 2.0**13, adjacency + 2.0**13), plain, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("half", [False, True])
def test_the_number_of_threads_does_not_change_the_bits(half, generator, monkeypatch):
    monkeypatch.setattr(match, "BLOCK_WINDOWS", 100)
    templates, adjacency = draw(generator, torch.float32, 4, graphs=6, n=33)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            one, other = templates.clone().requires_grad_(), adjacency.clone().requires_grad_()
            distance = window_distance(one, other, half)
            distance.sum().backward()
            results.append((distance.detach(), one.grad, other.grad))
    finally:
        torch.set_num_threads(before)
    for result in results[1:]:
        torch.testing.assert_close(result, results[0], rtol=0, atol=0)


def test_a_graph_is_matched_as_it_is_alone(generator):
    templates, adjacency = draw(generator, torch.float32, 4, graphs=3, n=20)
    alone = torch.cat([window_distance(templates, graph[None]) for graph in adjacency], dim=1)
    torch.testing.assert_close(window_distance(templates, adjacency), alone, rtol=0, atol=0)


def test_a_number_that_is_none_spoils_its_own_windows_only(generator):
    templates, adjacency = draw(generator, torch.float32, 3, graphs=1)
    expected = window_distance(templates, adjacency)
    adjacency[0, 0, 0] = torch.nan
    found = window_distance(templates, adjacency)
    assert found[:, 0].isnan().all()
    torch.testing.assert_close(found[:, 1:], expected[:, 1:])


def test_no_graphs_and_transposed_graphs_are_taken(generator):
    templates, adjacency = draw(generator, torch.float32, 3)
    assert window_distance(templates, adjacency[:0]).shape == (2, 0)
    torch.testing.assert_close(
        window_distance(templates, adjacency.mT), window_distance(templates, adjacency.mT.clone())
    )


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_layer_gives_the_same_in_place_and_by_cutting(symmetric, generator, dtype, monkeypatch):
    layer = IsoLayer(4, 2, generator=generator, symmetric=symmetric).to(dtype)
    adjacency = torch.randn(3, 9, 9, dtype=dtype, generator=generator)
    adjacency = adjacency + adjacency.mT
    weights = torch.randn(3, 2, 6, 6, dtype=dtype, generator=generator)
    results = []
    for least in (0, 2**62):
        monkeypatch.setattr(match, "MIN_MULTIPLICATIONS", least)
        layer.zero_grad()
        maps = layer(adjacency)
        (maps * weights).sum().backward()
        results.append((maps.detach(), [parameter.grad.clone() for parameter in layer.parameters()]))
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-6)
    if not symmetric:
        expected = torch.stack([layer_by_definition(layer.templates.detach(), graph) for graph in adjacency])
        torch.testing.assert_close(results[0][0], expected)


def test_gradients_reach_the_first_templates_of_a_stack_through_the_second(generator, monkeypatch):
    stack = IsoStack(((2, 3), (2, 3)), normalize="relative", generator=generator).double()
    adjacency = torch.randn(2, 8, 8, dtype=torch.float64, generator=generator)
    gradients = []
    for least in (0, 2**62):
        monkeypatch.setattr(match, "MIN_MULTIPLICATIONS", least)
        stack.zero_grad()
        stack(adjacency).square().sum().backward()
        gradients.append([layer.templates.grad.clone() for layer in stack])
    torch.testing.assert_close(*gradients)
