"""Match learned templates inside a PyTorch Geometric network, beside GIN: a planted motif, or a dataset.

python examples/pyg_readout.py             # trees with a house or a bowtie, whose nodes have consecutive numbers
python examples/pyg_readout.py PROTEINS    # any dataset of two classes that isonn.load knows
"""

import sys
import time

import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GIN, global_add_pool

import isonn
from isonn.nn import MLP, IsoReadout


class Network(torch.nn.Module):
    def __init__(self, readout, width):
        super().__init__()
        self.readout, self.norm, self.head = readout, torch.nn.BatchNorm1d(width), MLP(width, (32,), 2)

    def forward(self, data):
        if isinstance(self.readout, IsoReadout):
            return self.head(self.norm(self.readout(data.edge_index, data.batch)))
        return self.head(self.norm(global_add_pool(self.readout(data.x, data.edge_index), data.batch)))


def as_data(adjacency, label):
    degree = (adjacency != 0).sum(1, keepdim=True).float()
    return Data(x=degree, edge_index=adjacency.nonzero().T, y=torch.tensor([int(label)]))


torch.manual_seed(0)
if len(sys.argv) > 1:
    graphs = isonn.load(sys.argv[1])
    data = [as_data(torch.tensor(g.adjacency), y) for g, y in zip(graphs, graphs.y == graphs.y.max(), strict=True)]
else:
    planted = isonn.graphs.synthetic.planted_motifs(200, motif="house", control="bowtie", seed=0)
    data = []
    for graph, motif, label in zip(planted.graphs, planted.motif_nodes, planted.graphs.y, strict=True):
        order = [*motif, *(node for node in range(graph.n) if node not in motif)]
        data.append(as_data(torch.tensor(graph.adjacency)[order][:, order], label))
order, cut = torch.randperm(len(data)).tolist(), len(data) // 5
training, test = [data[i] for i in order[cut:]], [data[i] for i in order[:cut]]
iso = IsoReadout(k=3, c=8, symmetric=True) if len(sys.argv) > 1 else IsoReadout(k=5, c=4, symmetric=True)
gin = GIN(1, 32, num_layers=5, norm="batch_norm")
for name, network in {"IsoReadout": Network(iso, iso.out_features), "GIN": Network(gin, 32)}.items():
    optimizer, start = torch.optim.Adam(network.parameters(), lr=0.01), time.perf_counter()
    for batch in (batch for _ in range(30) for batch in DataLoader(training, batch_size=32, shuffle=True)):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(batch), batch.y).backward()
        optimizer.step()
    seconds = (time.perf_counter() - start) / 30
    network.eval()
    right = [next(iter(DataLoader(part, len(part)))) for part in (training, test)]
    right = [float((network(batch).argmax(1) == batch.y).float().mean()) for batch in right]
    print(f"{name:10}  train {right[0]:.3f}  test {right[1]:.3f}  {seconds:.2f} s per epoch")
