"""Your own graphs from NetworkX: weights, names and classes go in as they are."""

import networkx as nx
import numpy as np

import isonn

draw = np.random.default_rng(0)
STATIONS = ["pump", "valve", "tank", "filter", "meter", "drain"]


def plant(closed: bool) -> nx.Graph:
    """A chain of stations; in a closed plant the tank, filter and meter are joined in a loop."""
    graph = nx.path_graph(STATIONS)
    if closed:
        graph.add_edge("tank", "meter")
    for _, _, edge in graph.edges(data=True):
        edge["weight"] = draw.uniform(0.8, 1.2)
    return graph


graphs = [plant(closed=i % 2 == 1) for i in range(40)]
y = ["closed" if i % 2 else "open" for i in range(40)]

# A list of NetworkX graphs is all that fit needs: edge attribute "weight" is read, string nodes are names.
clf = isonn.IsoNNClassifier(k=3, c=2, epochs=60, random_state=0).fit(graphs[:30], y[:30])
print("accuracy on 10 unseen plants:", clf.score(graphs[30:], y[30:]))

explanation = clf.explain(plant(closed=True))
print(explanation.summary(top=3))

print("\nedges that say so:")
names, importance = explanation.graph.node_names, explanation.edge_importance + explanation.edge_importance.T
edges = sorted(((importance[a, b], a, b) for a, b in explanation.graph.edges if a < b), reverse=True)
for value, a, b in edges[:3]:
    print(f"  {value:+.3f}  {names[a]} - {names[b]}")

# Templates are graphs, too.
for i, template in enumerate(clf.templates_):
    nearest = min((match for match in explanation.matches if match.template == i), key=lambda match: match.distance)
    print(f"template {i}: {template.to_networkx(threshold=0.5)}; like {' '.join(nearest.names)}")
