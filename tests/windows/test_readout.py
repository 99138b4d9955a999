"""The layer in other people's networks: padding, PyTorch Geometric, autocast, compile, double."""

from __future__ import annotations

import pytest
import torch
from reference import distance_by_definition, layer_by_definition

import isonn
from isonn.errors import InputError
from isonn.nn import MLP, IsoLayer, IsoReadout
from isonn.windows.cut import cut_windows

SIZES = (6, 2, 9, 3)
K = 3


@pytest.fixture
def graphs(generator):
    """Matrices of several sizes, some of fewer nodes than a template."""
    return [torch.randn(n, n, generator=generator) for n in SIZES]


def as_batch(graphs, dtype=torch.float32):
    """Return edge_index, batch and weights as PyTorch Geometric's Batch has them."""
    edges, weights, first = [], [], 0
    for matrix in graphs:
        edges.append(matrix.nonzero().T + first)
        weights.append(matrix[matrix != 0])
        first += len(matrix)
    batch = torch.repeat_interleave(torch.arange(len(graphs)), torch.tensor([len(m) for m in graphs]))
    return torch.cat(edges, dim=1), batch, torch.cat(weights).to(dtype)


def pooled_by_definition(templates, matrix):
    k = templates.shape[-1]
    padded = torch.zeros(max(k, len(matrix)), max(k, len(matrix)), dtype=templates.dtype)
    padded[: len(matrix), : len(matrix)] = matrix
    z = distance_by_definition(templates, cut_windows(padded[None], k).reshape(-1, k, k))
    return torch.cat([-z.min(0).values, (-z).exp().sum(0).log()])


def test_the_readout_pools_the_distances_of_every_window(graphs, dtype, generator):
    readout = IsoReadout(k=K, c=2, generator=generator).to(dtype)
    edge_index, batch, weights = as_batch(graphs, dtype)
    expected = torch.stack([pooled_by_definition(readout.layer.templates.detach(), g.to(dtype)) for g in graphs])
    torch.testing.assert_close(readout(edge_index, batch, weights).detach(), expected)


def test_a_graph_has_the_same_features_in_every_batch(graphs, generator):
    readout = IsoReadout(k=K, c=2, generator=generator)
    together = readout(*as_batch(graphs))
    alone = torch.cat([readout(*as_batch([graph])) for graph in graphs])
    torch.testing.assert_close(together, alone)
    torch.testing.assert_close(readout(*as_batch(graphs[::-1])), together.flip(0))


def test_without_batch_all_nodes_are_of_one_graph(graphs, generator):
    readout = IsoReadout(k=K, c=2, generator=generator)
    for graph in graphs:
        edge_index, batch, weights = as_batch([graph])
        expected = readout(edge_index, batch, weights)
        torch.testing.assert_close(readout(edge_index, edge_weight=weights), expected, rtol=0, atol=0)
    no_edges = torch.zeros(2, 0, dtype=torch.long)
    torch.testing.assert_close(readout(no_edges), readout(no_edges, torch.zeros(K, dtype=torch.long)))


@pytest.mark.parametrize("normalize", ["positions", "relative", "templates"])
def test_padding_changes_nothing_with_a_mask(normalize, dtype, generator):
    layer = IsoLayer(k=K, c=2, normalize=normalize, generator=generator).to(dtype)
    graph = torch.randn(6, 6, dtype=dtype, generator=generator)
    padded = torch.zeros(2, 9, 9, dtype=dtype)
    padded[0, :6, :6] = graph
    padded[1] = torch.randn(9, 9, dtype=dtype, generator=generator)
    mask = torch.arange(9) < torch.tensor([[6], [9]])
    maps = layer(padded, mask=mask).detach()
    torch.testing.assert_close(maps[0, :, :4, :4], layer_by_definition(layer.templates.detach(), graph, normalize))
    assert maps[0, :, 4:].abs().sum() == maps[0, :, :, 4:].abs().sum() == 0
    torch.testing.assert_close(maps[1], layer(padded[1:])[0].detach())


def test_a_graph_that_holds_no_window_has_no_share_and_a_finite_gradient(generator):
    layer = IsoLayer(k=K, c=1, generator=generator)
    maps = layer(torch.zeros(2, 4, 4), mask=torch.arange(4) < torch.tensor([[2], [4]]))
    assert maps[0].abs().sum() == 0
    maps.square().sum().backward()
    assert layer.templates.grad.isfinite().all()


def test_gradients_reach_templates_and_edge_weights(graphs, generator):
    readout = IsoReadout(k=K, c=1, generator=generator).double()
    edge_index, batch, weights = as_batch(graphs, torch.float64)

    def features(templates, weights):
        return torch.func.functional_call(readout, {"layer.templates": templates}, (edge_index, batch, weights))

    templates = readout.layer.templates.detach().requires_grad_()
    assert torch.autograd.gradcheck(features, (templates, weights.requires_grad_()))


def test_the_layer_passes_gradcheck_in_double(generator):
    layer = IsoLayer(k=K, c=2, generator=generator).double()
    adjacency = torch.randn(2, 5, 5, dtype=torch.float64, generator=generator, requires_grad=True)
    mask = torch.arange(5) < torch.tensor([[4], [5]])
    assert torch.autograd.gradcheck(lambda a: layer(a, mask=mask), (adjacency,))


@pytest.mark.parametrize("batch", [1, 64])
def test_autocast_changes_no_number(batch, generator):
    layer = IsoLayer(k=4, c=2, generator=generator)
    adjacency = torch.randn(batch, 12, 12, generator=generator)
    expected = layer(adjacency)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = layer(adjacency)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    assert layer(adjacency.bfloat16()).dtype == torch.float32  # matched in the precision of the templates


def test_a_state_dict_restores_the_readout(graphs, generator):
    one, other = IsoReadout(k=K, c=2, generator=generator), IsoReadout(k=K, c=2)
    other.load_state_dict(one.state_dict())
    torch.testing.assert_close(other(*as_batch(graphs)), one(*as_batch(graphs)), rtol=0, atol=0)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")  # of torch's compiler
def test_compiled_modules_give_the_same_numbers_and_gradients(graphs, generator):
    for module, inputs in (
        (IsoReadout(k=K, c=2, generator=generator), as_batch(graphs)),
        (IsoLayer(k=K, c=2, generator=generator), (torch.randn(3, 6, 6, generator=generator),)),
    ):
        compiled = torch.compile(module, backend="aot_eager")  # needs no C++ compiler
        torch.testing.assert_close(compiled(*inputs), module(*inputs))
        gradients = []
        for form in (module, compiled):
            module.zero_grad()
            form(*inputs).square().sum().backward()
            gradients.append([parameter.grad.clone() for parameter in module.parameters()])
        torch.testing.assert_close(*gradients)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch Geometric scripts classes as it loads
def test_a_network_of_pyg_trains_end_to_end_on_a_planted_motif(generator):
    loader = pytest.importorskip("torch_geometric.loader")
    data = pytest.importorskip("torch_geometric.data")
    planted = isonn.graphs.synthetic.planted_motifs(60, motif="house", control="bowtie", n_nodes=(12, 16), seed=0)
    items = []
    for graph, nodes, label in zip(planted.graphs, planted.motif_nodes, planted.graphs.y, strict=True):
        rest = [node for node in range(graph.n) if node not in set(nodes.tolist())]
        matrix = torch.tensor(graph.adjacency)[[*nodes, *rest]][:, [*nodes, *rest]]  # the motif's nodes in a row
        items.append(data.Data(edge_index=matrix.nonzero().T, num_nodes=graph.n, y=torch.tensor([int(label)])))
    readout = IsoReadout(k=5, c=4, generator=generator, symmetric=True)
    head = torch.nn.Sequential(torch.nn.BatchNorm1d(8, track_running_stats=False), MLP(8, (32,), 2, generator))
    optimizer = torch.optim.Adam([*readout.parameters(), *head.parameters()], lr=0.03)
    batches = loader.DataLoader(items, batch_size=30, shuffle=False)
    for _ in range(30):
        for batch in batches:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(head(readout(batch.edge_index, batch.batch)), batch.y).backward()
            optimizer.step()
    right = [
        bool(answer == wanted)
        for batch in batches
        for answer, wanted in zip(head(readout(batch.edge_index, batch.batch)).argmax(1), batch.y, strict=True)
    ]
    assert sum(right) / len(right) > 0.95
    with pytest.raises(InputError, match="got DataBatch; use isonn.nn.IsoReadout for PyTorch Geometric data"):
        readout.layer(batch)
    with pytest.raises(InputError, match=r"IsoReadout takes tensors, got DataBatch; call it with data.edge_index"):
        readout(batch)


def test_what_is_not_a_batch_gets_a_sentence(graphs):
    readout = IsoReadout(k=K, c=1)
    edge_index, batch, weights = as_batch(graphs)
    with pytest.raises(InputError, match=r"IsoLayer takes a tensor of shape \(batch, n, n\), got list"):
        readout.layer([torch.zeros(3, 3)])
    with pytest.raises(InputError, match=r"got GraphSet; .* torch.from_numpy\(graphs.dense\(n\)\) for a GraphSet"):
        readout.layer(isonn.load("MUTAG"))
    with pytest.raises(InputError, match="mask is torch.float32 of shape"):
        readout.layer(torch.zeros(2, 4, 4), mask=torch.ones(2, 4))
    with pytest.raises(InputError, match=r"give \(2, edges\) and \(nodes,\)"):
        readout(edge_index.T, batch)
    with pytest.raises(InputError, match="batch is not ascending"):
        readout(edge_index, batch.flip(0))
    with pytest.raises(InputError, match="give one weight per edge"):
        readout(edge_index, batch, weights[1:])
    with pytest.raises(InputError, match="edge_index names a node beyond the 20 of batch"):
        readout(edge_index + 1, batch)
    with pytest.raises(InputError, match="edge_index joins nodes of two graphs"):
        readout(torch.stack([edge_index[0], edge_index[1].flip(0)]), batch)


def test_an_empty_batch_gives_no_rows():
    empty = torch.zeros(2, 0, dtype=torch.int64)
    assert IsoReadout(k=2, c=3)(empty, torch.zeros(0, dtype=torch.int64)).shape == (0, 6)
