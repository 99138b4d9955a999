"""The explainers that `explanations.py` compares: each learns from graphs, then rates every edge of one.

All explain class 1, the class with the motif. PyTorch Geometric's explainers use its default settings.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections import Counter
from types import SimpleNamespace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import isonn
from isonn.baselines import GINClassifier
from isonn.explain import edge_removal
from isonn.graphs import Graph, GraphSet

Importance = NDArray[np.float64]


class Model:
    """A classifier shared by several explainers, fitted once, with the time of its fit."""

    def __init__(self, classifier) -> None:
        self.classifier, self.seconds = classifier, None

    def fit(self, graphs: GraphSet) -> float:
        if self.seconds is None:
            self.seconds, _ = seconds(lambda: self.classifier.fit(graphs, graphs.y))
        return self.seconds


class OurMatches:
    """A template classifier with its own explanations; ``collect`` is the attribute with edge importance."""

    def __init__(self, model: Model, collect: str) -> None:
        self.model, self.collect = model, collect

    def prepare(self, graphs: GraphSet) -> None:
        """Do nothing, because the model explains itself."""

    def importance(self, graph: Graph) -> Importance:
        return getattr(self.model.classifier.explain(graph, label=1, top=0), self.collect)


class EdgeRemoval:
    """Any classifier, predicting again without each edge."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def prepare(self, graphs: GraphSet) -> None:
        """Do nothing."""

    def importance(self, graph: Graph) -> Importance:
        return edge_removal(self.model.classifier, graph, column=1)


class GeometricExplainer:
    """One of PyTorch Geometric's explainers on our GIN."""

    def __init__(self, gin: Model, kind: str, seed: int, epochs: int) -> None:
        self.model, self.kind, self.seed, self.epochs = gin, kind, seed, epochs

    def prepare(self, graphs: GraphSet) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it compiles classes on import, and converts losses to numbers
            self._prepare(graphs)

    def _prepare(self, graphs: GraphSet) -> None:
        from torch_geometric import explain

        torch.manual_seed(self.seed)
        # One copy each, because PGExplainer learns the opposite on a model that GNNExplainer has run on.
        network = GINOnEdges(copy.deepcopy(self.model.classifier.model_)).eval()
        config = {"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"}
        algorithm = getattr(explain, self.kind)(epochs=self.epochs)
        self.explainer = explain.Explainer(
            network, algorithm, explanation_type="phenomenon", edge_mask_type="object", model_config=config
        )
        if self.kind == "PGExplainer":
            data = [self._inputs(graphs[i : i + 1]) for i in range(len(graphs))]
            for epoch in range(self.epochs):
                for (x, edges), y in zip(data, graphs.y.tolist(), strict=True):
                    algorithm.train(epoch, network, x, edges, target=torch.tensor([y]))

    def importance(self, graph: Graph) -> Importance:
        x, edges = self._inputs(isonn.as_graphset([graph]))
        mask = self.explainer(x, edges, target=torch.tensor([1])).edge_mask
        importance = np.zeros((graph.n, graph.n))
        importance[edges[0].numpy(), edges[1].numpy()] = mask.detach().numpy()
        return importance

    def _inputs(self, graphs: GraphSet) -> tuple[Tensor, Tensor]:
        batch = self.model.classifier._inputs(graphs)
        return batch.x, batch.links()


class GINOnEdges(nn.Module):
    """A fitted GIN with the interface of PyTorch Geometric's explainers: node features and edges of one graph."""

    def __init__(self, gin: nn.Module) -> None:
        super().__init__()
        self.gin = gin

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        batch = SimpleNamespace(x=x, links=lambda: edge_index, pool=lambda h: h.sum(0, keepdim=True))
        return self.gin(batch)


class EdgeKinds:
    """The excess frequency of an edge's kind in class 1 over class 0, without any network.

    The kind of an edge is the labels of its two ends or, without labels, their degrees.
    """

    model = None

    def prepare(self, graphs: GraphSet) -> None:
        counts = {label: Counter() for label in (0, 1)}
        for graph, label in zip(graphs, graphs.y.tolist(), strict=True):
            counts[label].update(self._kinds(graph))
        totals = {label: sum(counter.values()) for label, counter in counts.items()}
        self.worth = {
            kind: np.log((counts[1][kind] + 1) / (totals[1] + 1)) - np.log((counts[0][kind] + 1) / (totals[0] + 1))
            for kind in counts[0] | counts[1]
        }

    def importance(self, graph: Graph) -> Importance:
        importance = np.zeros((graph.n, graph.n))
        importance[graph.edges[:, 0], graph.edges[:, 1]] = [self.worth.get(kind, 0.0) for kind in self._kinds(graph)]
        return importance

    def _kinds(self, graph: Graph) -> list[tuple]:
        known = (graph.adjacency != 0).sum(axis=1) if graph.node_labels is None else graph.node_labels
        return [tuple(sorted(known[edge].tolist())) for edge in graph.edges]


def explainers(seed: int) -> dict[str, object]:
    """Return all explainers by the name of their row."""
    gin = Model(GINClassifier(features="degree", random_state=seed))
    windows = Model(isonn.IsoNNClassifier(k=4, c=4, random_state=seed))
    rows: dict[str, object] = {
        "edge kinds, no network": EdgeKinds(),
        "GIN, GNNExplainer": GeometricExplainer(gin, "GNNExplainer", seed, epochs=100),
        "GIN, PGExplainer": GeometricExplainer(gin, "PGExplainer", seed, epochs=30),
        "GIN, edge removal": EdgeRemoval(gin),
        "isonn, shares": OurMatches(windows, "edge_importance"),
        "isonn, edge removal": EdgeRemoval(windows),
    }
    if hasattr(isonn, "SubgraphClassifier"):
        subgraphs = Model(isonn.SubgraphClassifier(max_nodes=5, random_state=seed))
        rows["isonn-subgraph, shares"] = OurMatches(subgraphs, "edge_importance")
        rows["isonn-subgraph, means"] = OurMatches(subgraphs, "edge_means")
        rows["isonn-subgraph, edge removal"] = EdgeRemoval(subgraphs)
    return rows


def seconds(run) -> tuple[float, object]:
    """Return the duration and the result of a call."""
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result
