"""Freq: features are the most frequent subgraphs, mined by gBolt (fast-gspan) and matched by VF2 (igraph)."""

from __future__ import annotations

import math
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from isonn.baselines.shapes import Shape, ShapeReader
from isonn.errors import InputError, MissingDependencyError, naming_the_extra
from isonn.estimator import GraphClassifier
from isonn.graphs.graph import GraphSet
from isonn.seeding import derive_seed, resolve_seed

#: Small matrix products are fastest on one thread (on two busy cores: 2 s instead of 12). The setting applies to the
#: whole process, so two threads must not change and restore it at the same time.
_TRAINING = threading.Lock()
#: gBolt stores every place where a pattern occurs. Patterns with more places than this (its own constant), and their
#: extensions, are missing from its output. This happens for 4 nodes in a brain of 90 nodes and 400 edges.
MAX_PLACES = 500_000


@dataclass(eq=False, repr=False)
class FrequentClassifier(GraphClassifier):
    """A multilayer perceptron on 0/1 features for the most frequent subgraphs of the training graphs.

    The paper's Freq, after Wang et al., "Structural Deep Brain Network Mining" (KDD 2017): the 100 most frequent
    subgraphs, then layers of 1024, 128 and one unit per class. Patterns are mined from the training graphs only, by
    gSpan (Yan and Han, ICDM 2002; the gBolt of fast-gspan). Subgraph isomorphism (VF2 of igraph) decides whether a
    graph contains a pattern, for training and new graphs alike. The paper leaves open the following choices. A pattern
    is a connected subgraph, induced or not, of ``min_nodes`` to ``max_nodes`` nodes; ties in frequency go to the
    smaller pattern. Node labels must agree if there are any; edge labels and directions are ignored. Graphs with
    weights keep the strongest tenth of their pairs as edges. Without labels, graphs as dense as brains contain every
    small pattern, so all features are equal.

    Mining stops early (``stopped_`` has the reason) after ``time_limit`` seconds, or at the first size whose patterns
    may occur more often than gBolt can count. At the time limit the patterns depend on the speed of the machine, but
    either all patterns of a size are found or none.

    Args:
        n_patterns: largest number of patterns.
        min_support: smallest share of training graphs that contain a pattern (at least 2 graphs), from 0.01 to 1.
        min_nodes, max_nodes: smallest and largest number of nodes of a pattern.
        time_limit: time limit for mining, in seconds.
        hidden: units of the hidden layers.
        epochs: training epochs of Adam (learning rate 0.001).
        random_state: seed of the weights and the batches.

    Attributes set by ``fit``:
        patterns_: list of `Pattern`, most frequent first.
        stopped_: why mining stopped early, or None.

    Example:
        >>> graphs = isonn.load("MUTAG")[:40]
        >>> clf = FrequentClassifier(n_patterns=5, max_nodes=3, hidden=(8,), epochs=2, random_state=0).fit(graphs)
        >>> clf.predict(graphs[:3]).shape
        (3,)
    """

    n_patterns: int = 100
    min_support: float = 0.1
    _: KW_ONLY
    min_nodes: int = 2
    max_nodes: int = 10
    time_limit: float = 60.0
    hidden: tuple[int, ...] = (1024, 128)
    epochs: int = 100
    random_state: Any = None

    def _check_params(self) -> None:
        """Validate parameters."""
        for name, least in (("n_patterns", 1), ("min_nodes", 2), ("max_nodes", self.min_nodes), ("epochs", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
                raise InputError(f"{name}={value!r} must be an integer >= {least}")
        if not _is_number(self.min_support) or not 0.01 <= self.min_support <= 1:
            raise InputError(f"min_support={self.min_support!r} must be from 0.01 to 1, the shares gBolt can mine")
        if not _is_number(self.time_limit) or not self.time_limit > 0:
            raise InputError(f"time_limit={self.time_limit!r} must be above 0 seconds")
        if not all(isinstance(units, Integral) and units >= 1 for units in self.hidden):
            raise InputError(f"hidden={self.hidden!r} has a layer without units; give integers >= 1")

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        self.reader_ = ShapeReader(graphs, type(self).__name__)
        shapes = self.reader_.read(graphs)
        support = max(2, math.ceil(self.min_support * len(shapes)))
        self.patterns_, self.stopped_ = mine(
            shapes, self.n_patterns, support, self.min_nodes, self.max_nodes, self.time_limit
        )
        if not self.patterns_:
            raise InputError(
                f"no subgraph of {self.min_nodes} to {self.max_nodes} nodes was found in {support} of "
                f"{len(shapes)} training graphs{f' ({self.stopped_})' if self.stopped_ else ''}; "
                f"lower min_support or min_nodes, or raise time_limit"
            )
        seed = derive_seed(resolve_seed(self.random_state), "mlp") % 2**32  # the largest seed scikit-learn accepts
        # A generator, because partial_fit would restart a seed and shuffle alike in every epoch. Unlike fit,
        # partial_fit does not warn about convergence, and silencing warnings is not thread-safe.
        self.mlp_ = MLPClassifier(tuple(self.hidden), random_state=np.random.RandomState(seed))
        features, wanted = presence(shapes, self.patterns_), targets.astype(np.int64)
        with _TRAINING, threadpool_limits(1):
            for _ in range(self.epochs):
                self.mlp_.partial_fit(features, wanted, classes=np.arange(len(self.classes_)))

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        held = presence(self.reader_.read(graphs), self.patterns_)
        probabilities: NDArray[np.float64] = self.mlp_.predict_proba(held)
        return probabilities


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


@dataclass(frozen=True)
class Pattern:
    """A connected graph that occurs, as a subgraph, in ``support`` training graphs.

    Attributes:
        labels: the label number of each node.
        edges: the edges, each once.
    """

    support: int
    labels: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]


def mine(
    shapes: Sequence[Shape], n_patterns: int, support: int, min_nodes: int, max_nodes: int, time_limit: float
) -> tuple[list[Pattern], str | None]:
    """Mine the ``n_patterns`` most frequent patterns that occur in at least ``support`` graphs.

    Sizes are mined in increasing order, and ties go to the smaller pattern. So a pattern of the next size counts only
    if it is more frequent than the last of the ``n_patterns`` found so far. This bound rises with each size and keeps
    mining short. gBolt runs in a separate process. At the time limit it is stopped, and the patterns of the completed
    sizes are returned.

    Returns:
        the most frequent patterns in order, and why others may be missing, or None.
    """
    deadline = time.monotonic() + time_limit
    best: list[Pattern] = []
    for size in range(min_nodes, max_nodes + 1):
        if len(best) == n_patterns:
            support = max(support, best[-1].support + 1)
        if support > len(shapes):
            return best, None
        left = deadline - time.monotonic()
        all_found = _patterns_up_to(shapes, size, support, left) if left > 0 else None
        died = not all_found and any(pattern.support >= support for pattern in best)  # gBolt ran out of memory
        if all_found is None or died:
            return best, f"gBolt was stopped at patterns of {size} nodes, limit {time_limit:g} s"
        new = [pattern for pattern in all_found if len(pattern.labels) == size]
        best = sorted(best + new, key=_rank)[:n_patterns]
        if _count_walks(shapes, size) > MAX_PLACES:
            return best, f"some patterns of {size} nodes may occur in more than {MAX_PLACES} places, gBolt's limit"
        if not new:
            break  # a larger pattern contains one of this size, at least as frequent
    return best, None


def presence(shapes: Sequence[Shape], patterns: Sequence[Pattern]) -> NDArray[np.float64]:
    """Return 1 where a graph contains a pattern as a subgraph, induced or not, shape (shapes, patterns)."""
    import igraph

    wanted = [(igraph.Graph(len(p.labels), p.edges), list(p.labels)) for p in patterns]
    held: NDArray[np.float64] = np.zeros((len(shapes), len(wanted)))
    for i, shape in enumerate(shapes):
        graph, colors = igraph.Graph(len(shape.labels), shape.edges.tolist()), shape.labels.tolist()
        for j, (pattern, pattern_colors) in enumerate(wanted):
            held[i, j] = graph.subisomorphic_vf2(pattern, color1=colors, color2=pattern_colors)
    return held


def _rank(pattern: Pattern) -> tuple[Any, ...]:
    return -pattern.support, len(pattern.labels), len(pattern.edges), pattern.labels, pattern.edges


def _patterns_up_to(shapes: Sequence[Shape], size: int, support: int, seconds: float) -> list[Pattern] | None:
    """Return all patterns of at most ``size`` nodes with that support, or None if gBolt was stopped."""
    with naming_the_extra("FrequentClassifier"):
        import fast_gspan
        import networkx
    graphs = []
    for shape in shapes:
        graph = networkx.Graph()
        graph.add_nodes_from((node, {"label": label}) for node, label in enumerate(shape.labels.tolist()))
        graph.add_edges_from(shape.edges.tolist())
        graphs.append(graph)
    # gBolt rounds the share it is given; half a graph less is safe.
    try:
        wrapper = fast_gspan.GBoltWrapper(min_support=support - 0.5, max_vertices=size, num_threads=1, timeout=seconds)
    except RuntimeError as error:
        raise MissingDependencyError(f"the gBolt of fast-gspan does not run here: {error}") from error
    try:
        mined = wrapper.mine_frequent_subgraphs(graphs)
    except RuntimeError as error:
        if isinstance(error.__context__, (subprocess.TimeoutExpired, RuntimeWarning)):
            return None
        raise
    return [
        Pattern(
            support=pattern["support"],
            labels=tuple(label for _, label in sorted(pattern["vertices"])),
            edges=tuple((source, target) for source, target, _ in pattern["edges"]),
        )
        for pattern in mined
        if pattern["support"] >= support
    ]


def _count_walks(shapes: Sequence[Shape], size: int) -> float:
    """Count non-backtracking walks of ``size`` nodes in all graphs, which estimates how often a pattern can occur."""
    total = 0.0
    for shape in shapes:
        n = len(shape.labels)
        if len(np.unique(shape.labels)) == n:
            total += 1  # if all labels differ, a pattern occurs at most once
            continue
        half = coo_array((np.ones(len(shape.edges)), (shape.edges[:, 0], shape.edges[:, 1])), shape=(n, n)).tocsr()
        adjacency = half + half.T
        before, walks = np.zeros(n), np.ones(n)
        degree = adjacency @ walks
        for step in range(size - 1):
            turning_back = degree if step == 1 else degree - 1
            before, walks = walks, adjacency @ walks - turning_back * before
        total += float(walks.sum())
    return total
