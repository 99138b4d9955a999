"""The network-based statistic (NBS): connected components of edges that differ, compared with permutations."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from isonn.baselines.linear_edges import LinearEdgesClassifier
from isonn.graphs.graph import GraphSet
from isonn.packing import Floats, IntArray
from isonn.params import check_count
from isonn.seeding import numpy_stream, resolve_seed


@dataclass(frozen=True, eq=False)
class Component:
    """A connected component of edges.

    Attributes:
        edges: the numbers of its edges.
        p_value: share of permutations whose largest component has as many edges (family-wise).
    """

    edges: IntArray
    p_value: float


def network_based_statistic(
    features: Floats,
    classes: IntArray,
    pairs: IntArray,
    threshold: float = 3.0,
    permutations: int = 199,
    seed: int = 0,
) -> list[Component]:
    """Return the components of edges whose t (for more classes, the root of F) is beyond a threshold, largest first.

    As in Zalesky et al., "Network-based statistic: identifying differences in brain networks" (NeuroImage 2010): the
    size of a component is its number of edges, and classes are permuted to get the largest size under the null.

    Args:
        features: edge weights, shape (g, p).
        classes: class numbers, shape (g,).
        pairs: the two nodes of each edge, shape (p, 2).
        threshold: primary threshold.
        permutations: number of permutations of the classes.
        seed: seed of the permutations.

    Returns:
        a list of `Component`, each with its edges and its family-wise p-value.

    Example:
        >>> draw = np.random.default_rng(0)
        >>> classes, pairs = np.arange(40) % 2, np.array([[0, 1], [0, 2], [1, 2], [2, 3]])
        >>> features = draw.normal(size=(40, 4))
        >>> features[:, :3] += 3 * classes[:, None]
        >>> [(one.edges.tolist(), one.p_value) for one in network_based_statistic(features, classes, pairs)]
        [([0, 1, 2], 0.005)]
    """
    components = _components(_strength(features, classes), pairs, threshold)
    draw = numpy_stream(seed, "nbs")
    largest = np.zeros(permutations)
    for number in range(permutations):
        others = _components(_strength(features, draw.permutation(classes)), pairs, threshold)
        largest[number] = max((len(edges) for edges in others), default=0)
    return [Component(edges, float((1 + (largest >= len(edges)).sum()) / (1 + permutations))) for edges in components]


def _strength(features: Floats, classes: IntArray) -> Floats:
    """Return the root of the F statistic of each edge: for two classes, the absolute t."""
    groups = [features[classes == number] for number in np.unique(classes)]
    mean = features.mean(axis=0)
    between = sum(len(group) * (group.mean(axis=0) - mean) ** 2 for group in groups) / (len(groups) - 1)
    within = sum(((group - group.mean(axis=0)) ** 2).sum(axis=0) for group in groups)
    within = within / max(len(features) - len(groups), 1)
    return np.asarray(np.sqrt(np.divide(between, within, out=np.zeros_like(mean), where=within > 1e-300)))


def _components(strength: Floats, pairs: IntArray, threshold: float) -> list[IntArray]:
    beyond = np.flatnonzero(strength > threshold)
    if not len(beyond):
        return []
    n = int(pairs.max()) + 1
    links = coo_array((np.ones(len(beyond)), (pairs[beyond, 0], pairs[beyond, 1])), (n, n))
    component = connected_components(links, directed=False)[1][pairs[beyond, 0]]
    components = [beyond[component == number] for number in np.unique(component)]
    return sorted(components, key=lambda edges: -len(edges))


@dataclass(eq=False, repr=False)
class NBSClassifier(LinearEdgesClassifier):
    """Ridge regression on the components of the network-based statistic, for aligned graphs.

    Components with a family-wise p of at most 0.05 are kept, else the largest one, else the single best edge; see
    `network_based_statistic`.

    Args:
        alpha: strength of the L2 penalty.
        threshold: primary threshold of |t|.
        permutations: number of permutations of the classes.
        fisher, size, harmonize: as in `LinearEdgesClassifier`.
        random_state: seed of the permutations.

    Attributes set by ``fit``:
        components_: the components, largest first.
        edges_: ndarray of shape (m, 2): the selected edges.

    Example:
        >>> draw = np.random.default_rng(0)
        >>> y = np.arange(40) % 2
        >>> matrices = draw.normal(size=(40, 6, 6))
        >>> matrices[:, 1, 4] += 4 * y
        >>> matrices += matrices.transpose(0, 2, 1)
        >>> NBSClassifier(threshold=5).fit(matrices, y).edges_.tolist()
        [[1, 4]]
    """

    _supports_multilabel = False

    threshold: float = 3.0
    _: KW_ONLY
    permutations: int = 199
    random_state: Any = 0

    def _check_params(self) -> None:
        super()._check_params()
        check_count("permutations", self.permutations)

    def _prepare(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        super()._prepare(graphs, targets)
        features, pairs = super()._features(graphs), np.column_stack(self._cells)
        links = np.flatnonzero(pairs[:, 0] != pairs[:, 1])
        features, seed = features[:, links], resolve_seed(self.random_state)
        self.components_ = network_based_statistic(
            features, targets, pairs[links], self.threshold, self.permutations, seed
        )
        significant = [component for component in self.components_ if component.p_value <= 0.05]
        kept = [component.edges for component in significant or self.components_[:1]]
        if not kept and len(links):
            kept = [np.array([_strength(features, targets).argmax()])]
        self.kept_ = links[np.concatenate(kept) if kept else []]
        self.edges_ = pairs[self.kept_]

    def _features(self, graphs: GraphSet) -> Floats:
        return super()._features(graphs)[:, self.kept_]
