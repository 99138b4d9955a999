from __future__ import annotations

import pytest
import torch
from reference import layer_by_definition

from isonn.errors import InputError
from isonn.nn import IsoLayer, IsoNN, IsoStack
from isonn.windows.bank import bank_windows
from isonn.windows.network import map_shape


@pytest.mark.parametrize("normalize", ["positions", "templates", "relative"])
def test_the_layer_equals_the_definition(normalize, dtype, generator):
    layer = IsoLayer(k=3, c=2, normalize=normalize, generator=generator).to(dtype)
    adjacency = torch.randn(2, 6, 6, dtype=dtype, generator=generator)
    expected = torch.stack([layer_by_definition(layer.templates.detach(), graph, normalize) for graph in adjacency])
    torch.testing.assert_close(layer(adjacency).detach(), expected)


def test_a_bank_of_windows_gives_the_same_maps_and_gradients(generator):
    layer = IsoLayer(k=3, c=2, generator=generator)
    adjacency = (torch.rand(20, 7, 7, generator=generator) < 0.3).float()
    weights = torch.randn(20, 2, 5, 5, generator=generator)
    plain, banked = layer(adjacency), layer(bank_windows(adjacency, k=3))
    torch.testing.assert_close(plain, banked)
    torch.testing.assert_close(
        torch.autograd.grad((plain * weights).sum(), layer.templates),
        torch.autograd.grad((banked * weights).sum(), layer.templates),
    )


def test_maps_are_distributions_over_positions(generator):
    maps = IsoLayer(k=2, c=3, generator=generator)(torch.randn(4, 5, 5, generator=generator))
    torch.testing.assert_close(maps.sum((2, 3)), torch.ones(4, 3))


def test_relative_maps_have_the_mean_1_however_large_the_graph(generator):
    maps = IsoLayer(k=2, c=3, normalize="relative", generator=generator)(torch.randn(4, 40, 40, generator=generator))
    torch.testing.assert_close(maps.mean((2, 3)), torch.ones(4, 3))


@pytest.mark.parametrize("normalize", ["positions", "relative"])
def test_a_stack_feeds_every_map_to_every_template_of_the_next_layer(normalize, dtype, generator):
    stack = IsoStack(((2, 2), (3, 3)), normalize=normalize, generator=generator).to(dtype)
    adjacency = torch.randn(2, 6, 6, dtype=dtype, generator=generator)
    first, second = (layer.templates.detach() for layer in stack)
    expected = torch.stack(
        [
            torch.cat([layer_by_definition(second, m, normalize) for m in layer_by_definition(first, graph, normalize)])
            for graph in adjacency
        ]
    )
    torch.testing.assert_close(stack(adjacency).detach(), expected)


def test_gradients_of_a_deep_model_reach_its_first_templates(generator):
    model = IsoNN(8, 2, layers=((2, 3), (2, 3)), hidden=(4,), generator=generator).double()
    adjacency = torch.randn(3, 8, 8, dtype=torch.float64, generator=generator)
    templates = model.features[0].templates

    def loss(values):
        templates.data.copy_(values)
        return torch.nn.functional.cross_entropy(model(adjacency), torch.tensor([0, 1, 1]))

    start = templates.detach().clone()
    gradient = torch.autograd.grad(loss(start), templates)[0]
    assert gradient.abs().max() > 0
    direction = torch.randn(start.shape, dtype=torch.float64, generator=generator)
    step = 1e-5
    slope = (loss(start + step * direction) - loss(start - step * direction)).item() / (2 * step)
    assert slope == pytest.approx((gradient * direction).sum().item(), rel=1e-4)


@pytest.mark.parametrize(
    ("k", "c", "depth"), [(1, 1, 1), (3, 2, 1), (4, 1, 2), (4, 2, 2), (9, 4, 2), (10, 4, 3), (3, 5, 3), (243, 1, 5)]
)
def test_the_deep_counterpart_has_the_depth_of_the_paper(k, c, depth):
    assert IsoNN.deep_equivalent(k, c) == ((2, 3),) * depth


def test_layers_that_leave_no_region_are_refused_by_name():
    with pytest.raises(InputError, match="layer 2 of 2 has templates of k=4 nodes but is given maps of side 3"):
        map_shape(5, ((2, 3), (3, 4)))
    with pytest.raises(InputError, match="layer 1 of 1 has templates of k=4 nodes but is given graphs of 3 nodes"):
        IsoNN(3, 2, layers=((1, 4),))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0, "c": 1}, "k=0 is not a number of nodes"),
        ({"k": 2, "c": -1}, "c=-1 is not a number of templates"),
        ({"k": 2.5, "c": 1}, "k=2.5"),
        ({"k": 2, "c": 1, "matching": "magic"}, "matching='magic' is unknown; use one of 'exact'"),
        ({"k": 2, "c": 2, "normalize": "rows"}, "normalize='rows'"),
        ({"k": 2, "c": 1, "normalize": "templates"}, "c=1 makes every feature 1"),
        ({"k": 11, "c": 1}, "k=11 means 39,916,800 permutations"),
    ],
)
def test_impossible_layers_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        IsoLayer(**settings)


def test_a_graph_smaller_than_the_template_is_refused():
    with pytest.raises(InputError, match="graphs of 3 nodes are too small for templates of k=4 nodes; use k <= 3"):
        IsoLayer(k=4, c=1)(torch.zeros(2, 3, 3))


def test_the_same_generator_gives_the_same_weights():
    def weights():
        return IsoNN(6, 2, generator=torch.Generator().manual_seed(3)).state_dict()

    torch.testing.assert_close(dict(weights()), dict(weights()), rtol=0, atol=0)


def test_two_layers_see_the_sum_of_their_sizes_less_one(generator):
    """The paper's deep example, sizes 3 and 4, sees 6 x 6 entries of the graph, not 12 x 12."""
    first, second = IsoLayer(3, 1, generator=generator), IsoLayer(4, 1, generator=generator)
    adjacency = torch.randn(1, 14, 14, generator=generator, requires_grad=True)
    entry = second.distances(-first.distances(adjacency)[:, 0])[0, 0, 2, 5]  # before the softmax, which sees all
    seen = torch.autograd.grad(entry, adjacency)[0][0].nonzero()
    assert seen.min(0).values.tolist() == [2, 5]
    assert (seen.max(0).values - seen.min(0).values + 1).tolist() == [6, 6]
