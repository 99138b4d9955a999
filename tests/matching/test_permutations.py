from __future__ import annotations

import itertools

import pytest
import torch
from reference import distance_by_definition

from isonn.matching import exact, exact_distance
from isonn.matching.exact import exact_flat_distance, exact_flat_winners
from isonn.matching.permutations import GraphLayout, MatrixLayout, permutations

SHAPES = [(1, 0, 1), (1, 2, 1), (2, 0, 1), (2, 3, 2), (3, 0, 2), (3, 2, 1), (4, 2, 3), (4, 0, 1)]


@pytest.fixture(params=[0, exact.SMALL_PRODUCT], ids=["in blocks", "at once"], autouse=True)
def both_ways(request, monkeypatch):
    """Small problems are matched at once; here they are matched in blocks, too."""
    monkeypatch.setattr(exact, "SMALL_PRODUCT", request.param)


def unpacked(flat, layout):
    """Node channels (k, a) and pair channels (k, k, b) of a flat region."""
    first = layout.k * layout.node_channels
    nodes = flat[:first].view(layout.k, layout.node_channels)
    pairs = flat.new_zeros(layout.k, layout.k, layout.edge_channels)
    rows = flat[first:].view(layout.pairs, layout.edge_channels)
    for row, (a, b) in zip(rows, itertools.combinations(range(layout.k), 2), strict=True):
        pairs[a, b] = pairs[b, a] = row
    return nodes, pairs


def flat_distance_by_definition(template, region, layout):
    (nodes, pairs), (region_nodes, region_pairs) = unpacked(template, layout), unpacked(region, layout)
    candidates = []
    for order in itertools.permutations(range(layout.k)):
        gap = ((nodes[list(order)] - region_nodes) ** 2).sum()
        for a, b in itertools.combinations(range(layout.k), 2):
            gap = gap + ((pairs[order[a], order[b]] - region_pairs[a, b]) ** 2).sum()
        candidates.append(gap)
    return torch.stack(candidates).min()


def some(layout, c, w, generator, dtype=torch.float64):
    return (torch.randn(rows, layout.width, dtype=dtype, generator=generator) for rows in (c, w))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_distance_is_the_smallest_over_all_orders_of_the_nodes(shape, dtype, generator):
    layout = GraphLayout(*shape)
    templates, regions = some(layout, 3, 5, generator, dtype)
    expected = [[flat_distance_by_definition(t, r, layout) for t in templates] for r in regions]
    torch.testing.assert_close(exact_flat_distance(templates, regions, layout), torch.tensor(expected, dtype=dtype))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_winning_order_is_one_with_that_distance(shape, generator):
    layout = GraphLayout(*shape)
    templates, regions = some(layout, 2, 4, generator)
    winners = exact_flat_winners(templates, regions, layout)
    distance = exact_flat_distance(templates, regions, layout)
    for w, i in itertools.product(range(4), range(2)):
        cells = layout.cells(permutations(layout.k)[winners[w, i]][None])[0]
        torch.testing.assert_close((templates[i][cells] - regions[w]).square().sum(), distance[w, i])


@pytest.mark.parametrize("small", [0, 2**20], ids=["by permutation", "at once"])
@pytest.mark.parametrize("layout", [GraphLayout(3, 2, 2), GraphLayout(4, 0, 1), GraphLayout(1, 2, 1), MatrixLayout(3)])
def test_gradients_to_templates_and_regions_are_right_on_both_paths(layout, small, generator, monkeypatch):
    monkeypatch.setattr(exact, "SMALL_GRADIENT", small)
    width = layout.k**2 if isinstance(layout, MatrixLayout) else layout.width
    templates = torch.randn(2, width, dtype=torch.float64, generator=generator, requires_grad=True)
    regions = torch.randn(4, width, dtype=torch.float64, generator=generator, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t, r: exact_flat_distance(t, r, layout), (templates, regions))


def test_a_matrix_matched_flat_is_the_matrix_matched(dtype, generator):
    templates, regions = (torch.randn(n, 4, 4, dtype=dtype, generator=generator) for n in (2, 6))
    flat = exact_flat_distance(templates.flatten(1), regions.flatten(1), MatrixLayout(4))
    torch.testing.assert_close(flat, exact_distance(templates, regions), rtol=0, atol=0)
    torch.testing.assert_close(flat, distance_by_definition(templates, regions))


@pytest.mark.parametrize("k", [1, 2, 5])
def test_cells_relabel_a_region_as_its_nodes_are(k, generator):
    layout = GraphLayout(k, 2, 3)
    (region,) = torch.randn(1, layout.width, generator=generator)
    nodes, pairs = unpacked(region, layout)
    for order in permutations(k)[:: max(1, len(permutations(k)) // 10)]:
        new_nodes, new_pairs = unpacked(region[layout.cells(order[None])[0]], layout)
        torch.testing.assert_close(new_nodes, nodes[order])
        torch.testing.assert_close(new_pairs, pairs[order][:, order])


@pytest.mark.parametrize("layout", [GraphLayout(3, 1, 1), GraphLayout(1, 0, 1)])
def test_no_regions_and_regions_without_entries_are_matched_like_any_other(layout, generator):
    templates, regions = (part.requires_grad_() for part in some(layout, 2, 0, generator))
    distance = exact_flat_distance(templates, regions, layout)
    assert distance.shape == (0, 2)
    distance.sum().backward()
    torch.testing.assert_close(templates.grad, torch.zeros_like(templates))


def test_layouts_that_mean_the_same_are_equal():
    assert hash(GraphLayout(3, 2, 1)) == hash(GraphLayout(3, 2, 1))
    assert GraphLayout(3, 2, 1) == GraphLayout(3, 2, 1) != GraphLayout(3, 1, 2)
