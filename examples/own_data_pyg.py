"""Your own graphs from PyTorch Geometric: a list or Dataset of Data goes in as it is."""

import torch
from torch_geometric.data import Data

import isonn
from isonn.explain import edge_removal

torch.manual_seed(0)
ROADS = torch.tensor([[i, i + 1] for i in range(9)] + [[0, 5], [2, 7], [4, 9]]).T
EDGES = torch.cat([ROADS, ROADS.flip(0)], dim=1)


def hour(jam: bool) -> Data:
    """Ten crossings and the traffic between them; in a jam the two roads at crossing 4 fill up."""
    traffic = torch.rand(ROADS.shape[1])
    if jam:
        traffic[3:5] += 1.5  # roads 3-4 and 4-5
    return Data(edge_index=EDGES, edge_weight=traffic.repeat(2), y=torch.tensor([int(jam)]), num_nodes=10)


dataset = [hour(jam=i % 2 == 1) for i in range(90)]
train, test = dataset[:60], dataset[60:]

clf = isonn.IsoNNClassifier(k=3, c=2, epochs=60, random_state=0).fit(train)  # classes come from data.y
labels = torch.cat([data.y for data in test]).numpy()
print(f"accuracy on {len(test)} unseen hours: {clf.score(test, labels):.2f}")

jams = [data for data in test if int(data.y) == 1]
print(clf.explain(jams[0]).summary(top=3))

# Importance as PyTorch Geometric's own explainers give it, one number per column of edge_index: what each edge
# adds to the log-odds of class 1, found by taking it away and asking again.
row, column = EDGES.numpy()
masks = [torch.from_numpy(edge_removal(clf, data, column=1)[row, column]) for data in jams]
edge_mask = torch.stack(masks).mean(dim=0)
print("roads that say so, mean over the unseen jams:")
by_road = edge_mask[: ROADS.shape[1]]  # both directions of a road have the same
for road in by_road.argsort(descending=True)[:3].tolist():
    print(f"  {by_road[road]:+.3f}  {ROADS[0, road]} - {ROADS[1, road]}")
