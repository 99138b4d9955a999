"""Freq: features are the most frequent subgraphs."""

from __future__ import annotations

import math
import threading
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neural_network import MLPClassifier

from isonn.baselines.mining import mine, presence
from isonn.baselines.shapes import ShapeReader
from isonn.errors import InputError
from isonn.estimator import GraphClassifier
from isonn.graphs.graph import GraphSet
from isonn.processes import limit_threads
from isonn.seeding import derive_seed, resolve_seed

#: Small matrix products are fastest on one thread (on two busy cores: 2 s instead of 12). The setting applies to the
#: whole process, so two threads must not change and restore it at the same time.
_TRAINING = threading.Lock()


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
        with _TRAINING, limit_threads(1):
            for _ in range(self.epochs):
                self.mlp_.partial_fit(features, wanted, classes=np.arange(len(self.classes_)))

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        held = presence(self.reader_.read(graphs), self.patterns_)
        probabilities: NDArray[np.float64] = self.mlp_.predict_proba(held)
        return probabilities


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
