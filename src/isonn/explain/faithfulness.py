r"""Faithfulness of explanations: predictions without the important part of a graph, and with it alone.

With :math:`f(G)` the probability of the class predicted for graph G, :math:`m` the important part of G (its edges or
nodes of largest importance) and M all of them, after Pope et al. (CVPR 2019) and Yuan et al. (TPAMI 2022):

.. math::
    \text{fidelity}^+ = \frac1N \sum_i f(G_i) - f(G_i \setminus m_i), \qquad
    \text{fidelity}^- = \frac1N \sum_i f(G_i) - f(m_i), \qquad
    \text{sparsity} = \frac1N \sum_i 1 - |m_i| / |M_i|

A faithful explanation has a high fidelity+ (the prediction needs its part) and a low fidelity- (the part alone
suffices) at a high sparsity. Removing an edge sets both of its cells to 0, and removing a node removes its edges. Nodes
keep their positions, so that models that depend on node order can be measured too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.metrics import roc_auc_score

from isonn.errors import InputError
from isonn.graphs.columns import columns_at
from isonn.graphs.convert import as_graphset, as_one_graph
from isonn.graphs.graph import Graph
from isonn.graphs.join import join_graphs


class ProbabilisticClassifier(Protocol):
    """Any classifier with a probability for every class."""

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return probabilities of shape (g, classes)."""


@dataclass(frozen=True)
class Faithfulness:
    """How faithful a set of explanations is.

    Attributes:
        fidelity_plus: mean drop of the predicted class's probability without the important part.
        fidelity_minus: mean drop with only the important part.
        flips_plus: share of graphs whose class changes without the important part.
        flips_minus: share of graphs whose class changes with only the important part.
        sparsity: mean share of edges (or nodes) outside the important part.

    Example:
        >>> it = Faithfulness(fidelity_plus=0.4, fidelity_minus=0.05, flips_plus=0.7, flips_minus=0.1, sparsity=0.75)
        >>> it.fidelity_plus > it.fidelity_minus  # as it should be
        True
    """

    fidelity_plus: float
    fidelity_minus: float
    flips_plus: float
    flips_minus: float
    sparsity: float


def faithfulness(
    clf: ProbabilisticClassifier, graphs: Any, importances: Sequence[NDArray[np.floating]], keep: float = 0.25
) -> Faithfulness:
    """Measure fidelity and sparsity of any explanations of any classifier.

    Args:
        clf: the classifier that was explained.
        graphs: the graphs that were explained.
        importances: for each graph, importances of its edges, shape (n, n), or of its nodes, shape (n,). The importance
            of an edge is the sum of its two cells. Signs count, so negative evidence is not important.
        keep: share of the edges (or nodes) in the important part, rounded up.

    Returns:
        `Faithfulness`: both fidelities, the shares of predictions that flip, and the sparsity.

    Example:
        >>> graphs = isonn.load("MUTAG")[:20]
        >>> clf = isonn.IsoNNClassifier(k=3, c=1, hidden=(8,), epochs=2, random_state=0).fit(graphs, graphs.y)
        >>> faithfulness(clf, graphs, [clf.explain(graph).edge_importance for graph in graphs]).sparsity > 0.7
        True
    """
    graphs = as_graphset(graphs)
    if len(importances) != len(graphs):
        raise InputError(f"importances has {len(importances)} entries for {len(graphs)} graphs; give one per graph")
    if not 0 < keep <= 1:
        raise InputError(f"keep={keep!r} is not a share of the edges; use 0 < keep <= 1")
    rest, kept, sparsity = [], [], []
    for i, (graph, importance) in enumerate(zip(graphs, importances, strict=True)):
        important, share = _important_cells(graph, np.asarray(importance), keep, f"graph {i} of {len(graphs)}")
        rest.append(with_cells(graph, ~important[0]))
        kept.append(with_cells(graph, important[1]))
        sparsity.append(1 - share)
    before = clf.predict_proba(graphs)
    label, every = before.argmax(axis=1), np.arange(len(graphs))
    without, alone = clf.predict_proba(join_graphs(rest)), clf.predict_proba(join_graphs(kept))
    return Faithfulness(
        fidelity_plus=float((before - without)[every, label].mean()),
        fidelity_minus=float((before - alone)[every, label].mean()),
        flips_plus=float((without.argmax(axis=1) != label).mean()),
        flips_minus=float((alone.argmax(axis=1) != label).mean()),
        sparsity=float(np.mean(sparsity)),
    )


def edge_auroc(graph: Graph, importance: NDArray[np.floating], truth: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve of importance for the edges in ``truth`` against all other edges.

    Args:
        graph: the graph; each pair of nodes with an edge in either direction counts once.
        importance: shape (n, n); the two cells of an edge are added.
        truth: whether each cell belongs to the true explanation, shape (n, n).

    Returns:
        the area under the ROC curve.

    Example:
        >>> path = isonn.as_graphset([[[0, 1, 0], [1, 0, 1], [0, 1, 0]]])[0]
        >>> edge_auroc(path, np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]]), np.eye(3, k=1) * [[1], [0], [0]] > 0)
        1.0
    """
    links = links_of(graph)
    true = truth[links[:, 0], links[:, 1]] | truth[links[:, 1], links[:, 0]]
    if true.all() or not true.any():
        raise InputError(
            f"truth contains {int(true.sum())} of {len(true)} edges; an AUROC needs some edges in it and some outside"
        )
    both = importance + importance.T
    return float(roc_auc_score(true, both[links[:, 0], links[:, 1]]))


def links_of(graph: Graph) -> NDArray[np.int64]:
    """Return pairs of nodes with an edge in either direction, smaller first, each once, shape (l, 2)."""
    return np.unique(np.sort(graph.edges, axis=1), axis=0)


def _important_cells(
    graph: Graph, importance: NDArray[Any], keep: float, where: str
) -> tuple[tuple[NDArray[np.bool_], NDArray[np.bool_]], float]:
    """Return the cells that touch the important part, the cells within it, and its share of the graph."""
    ends = graph.edges
    if importance.shape == (graph.n,):
        chosen = np.zeros(graph.n, dtype=bool)
        chosen[_top(importance, keep)] = True
        first, second = chosen[ends].T
        return (first | second, first & second), float(chosen.mean())
    if importance.shape != (graph.n, graph.n):
        raise InputError(
            f"{where} has {graph.n} nodes and importances of shape {importance.shape}; "
            f"give ({graph.n},) for nodes or ({graph.n}, {graph.n}) for edges"
        )
    links = links_of(graph)
    top = links[_top((importance + importance.T)[links[:, 0], links[:, 1]], keep)]
    inside = np.zeros((graph.n, graph.n), dtype=bool)
    inside[top[:, 0], top[:, 1]] = inside[top[:, 1], top[:, 0]] = True
    cells = inside[ends[:, 0], ends[:, 1]]
    return (cells, cells), len(top) / max(1, len(links))


def _top(values: NDArray[Any], keep: float) -> NDArray[np.int64]:
    """Return the given share of entries with the largest values, at least one, the first of equals."""
    return np.argsort(-values, kind="stable")[: math.ceil(keep * len(values))]


def with_cells(graph: Graph, cells: NDArray[np.bool_]) -> Graph:
    """Return the graph with only some of its cells."""
    columns = columns_at(graph, cells, slice(None))
    return graph.but_with(edges=graph.edges[cells], kind="", row={}, id=None, **columns)


# Edge importance of any classifier, by predicting again without each edge.


#: Number of graphs with one edge removed that are predicted at a time.
BLOCK_GRAPHS = 256


def edge_removal(clf: ProbabilisticClassifier, X: Any, column: int | None = None) -> NDArray[np.float64]:
    """Return the effect of each edge on the log-odds of a class: those of the graph minus those without the edge.

    This measures the effect of an edge on the whole model, while a match's contribution measures one match; see
    docs/explanations.md on when the two differ.

    Args:
        clf: any classifier of graphs.
        X: one graph: a `Graph`, a NetworkX graph, a matrix, or a set of one.
        column: the class, as a column of ``predict_proba``; None uses the predicted class.

    Returns:
        ndarray of shape (n, n), symmetric, 0 where there is no edge. Both directions of an edge are removed together,
        and each of its two cells has the whole effect.

    Example:
        >>> graphs = isonn.load("MUTAG")[:20]
        >>> clf = isonn.IsoNNClassifier(k=3, c=1, hidden=(8,), epochs=2, random_state=0).fit(graphs, graphs.y)
        >>> edge_removal(clf, graphs[0]).shape
        (17, 17)
    """
    graphs = as_one_graph(X)
    graph, before = graphs[0], clf.predict_proba(graphs)[0]
    column = int(before.argmax()) if column is None else column
    links = links_of(graph)
    ends = np.sort(graph.edges, axis=1)
    effect = np.zeros((graph.n, graph.n))
    for start in range(0, len(links), BLOCK_GRAPHS):
        block = links[start : start + BLOCK_GRAPHS]
        rest = join_graphs([with_cells(graph, (ends != link).any(axis=1)) for link in block])
        change = _log_odds(before[column]) - _log_odds(clf.predict_proba(rest)[:, column])
        effect[block[:, 0], block[:, 1]] = effect[block[:, 1], block[:, 0]] = change
    return effect


def _log_odds(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    # unless saturated, float32 logits do not give probabilities closer to 0 or 1 than this
    return np.asarray(logit(np.clip(probability, 1e-12, 1 - 1e-12)))
