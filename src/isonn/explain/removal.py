"""Edge importance of any classifier, with no look inside: take each edge away and ask again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from isonn.data.convert import as_one_graph
from isonn.data.graphs import join_graphs
from isonn.explain.faithfulness import ProbabilisticClassifier, links_of, with_cells

#: Graphs with an edge less that are predicted at a time.
BLOCK_GRAPHS = 256


def edge_removal(clf: ProbabilisticClassifier, X: Any, column: int | None = None) -> NDArray[np.float64]:
    """How much each edge adds to the log-odds of a class: those of the graph minus those without the edge.

    This measures what an edge does through everything the model computes of it, while a match's contribution
    measures what the model reads at one place; see docs/explanations.md on when the two differ.

    Args:
        clf: any classifier of graphs.
        X: one graph: a `Graph`, a NetworkX graph, a matrix, or a set of one.
        column: the class, as a column of ``predict_proba``; None takes the predicted one.

    Returns:
        ndarray of shape (n, n), symmetric, 0 where there is no edge. Both directions of an edge go together, and
        each of its two cells has the whole effect.

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
    # float32 logits never give probabilities nearer to 0 or 1 than this without being saturated
    return np.asarray(logit(np.clip(probability, 1e-12, 1 - 1e-12)))
