"""Use the isomorphic layer as the readout of a PyTorch Geometric network, beside GIN.

    python examples/pyg_readout.py             # a planted motif: house or bowtie
    python examples/pyg_readout.py PROTEINS    # a dataset that `isonn.load` knows

Each network is a readout and an MLP, trained end to end with the same loop. GIN's features are degrees.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GIN, global_add_pool

import isonn
from isonn.nn import MLP, IsoReadout

EPOCHS = 30


class IsoNetwork(nn.Module):
    """Templates of k nodes matched against the windows of each graph, then an MLP."""

    def __init__(self, k: int, c: int) -> None:
        super().__init__()
        self.readout = IsoReadout(k, c, symmetric=True)
        self.norm = nn.BatchNorm1d(self.readout.out_features)
        self.head = MLP(self.readout.out_features, (32,), 2)

    def forward(self, data: Batch) -> Tensor:
        return self.head(self.norm(self.readout(data.edge_index, data.batch)))


class GINNetwork(nn.Module):
    """Five GIN layers, the sum over nodes, then the same MLP."""

    def __init__(self) -> None:
        super().__init__()
        self.gin = GIN(1, 32, num_layers=5, norm="batch_norm")
        self.head = MLP(32, (32,), 2)

    def forward(self, data: Batch) -> Tensor:
        return self.head(global_add_pool(self.gin(data.x, data.edge_index), data.batch))


def with_motif(count: int = 200) -> Iterator[Data]:
    """Yield trees with a house (class 1) or a bowtie (class 0), whose nodes have consecutive numbers."""
    planted = isonn.graphs.synthetic.planted_motifs(count, motif="house", control="bowtie", seed=0)
    for graph, nodes, label in zip(planted.graphs, planted.motif_nodes, planted.graphs.y, strict=True):
        rest = [node for node in range(graph.n) if node not in set(nodes.tolist())]
        yield as_data(torch.tensor(graph.adjacency)[[*nodes, *rest]][:, [*nodes, *rest]], int(label))


def from_dataset(name: str) -> Iterator[Data]:
    """Yield the graphs of a dataset of two classes."""
    graphs = isonn.load(name)
    for graph, label in zip(graphs, graphs.y == graphs.y.max(), strict=True):
        yield as_data(torch.tensor(graph.adjacency), int(label))


def as_data(adjacency: Tensor, label: int) -> Data:
    """Return a graph for PyTorch Geometric, with the degree as its only node feature."""
    x = (adjacency != 0).sum(1, keepdim=True).float()
    return Data(x=x, edge_index=adjacency.nonzero().T, y=torch.tensor([label]))


def train(network: nn.Module, data: list[Data], epochs: int) -> float:
    """Train with Adam; return the seconds of an epoch."""
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    batches = DataLoader(data, batch_size=32, shuffle=True)
    start = time.perf_counter()
    for _ in range(epochs):
        for batch in batches:
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(batch), batch.y).backward()
            optimizer.step()
    return (time.perf_counter() - start) / epochs


@torch.inference_mode()
def accuracy(network: nn.Module, data: list[Data]) -> float:
    """Return the share of graphs classified correctly."""
    network.eval()
    right = [(network(batch).argmax(1) == batch.y).float() for batch in DataLoader(data, batch_size=64)]
    network.train()
    return float(torch.cat(right).mean())


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    torch.manual_seed(0)
    data = list(from_dataset(name) if name else with_motif())
    order = torch.randperm(len(data)).tolist()
    test, training = [data[i] for i in order[: len(data) // 5]], [data[i] for i in order[len(data) // 5 :]]
    k, c = (3, 8) if name else (5, 4)
    for title, network in (("IsoReadout", IsoNetwork(k, c)), ("GIN", GINNetwork())):
        seconds = train(network, training, EPOCHS)
        print(
            f"{title:10}  train {accuracy(network, training):.3f}  test {accuracy(network, test):.3f}  "
            f"{seconds:.2f} s per epoch"
        )


if __name__ == "__main__":
    main()
