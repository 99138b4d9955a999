"""`AlignedClassifier` and `AlignedRegressor`: templates over chosen regions, for graphs on the same nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from typing_extensions import Self

from isonn.aligned.cells import ALIGNMENTS, SCALES, Layout, Scaling
from isonn.aligned.explain import AlignedMatches
from isonn.aligned.model import ColumnModel, Geometry, SetTemplate, Settings, fit_column
from isonn.aligned.select import RegionSet
from isonn.errors import InputError
from isonn.estimator import GraphClassifier, GraphEstimator, GraphRegressor
from isonn.explain.explanation import Explanation, explain_matched
from isonn.explain.template import Template
from isonn.graphs.convert import as_one_graph
from isonn.graphs.graph import GraphSet
from isonn.heads import temperature
from isonn.packing import Floats
from isonn.params import check_class_weight, check_count, check_plain, sizes_of
from isonn.seeding import numpy_stream, resolve_seed

APART = ("connections", "regions", "nothing")
#: Largest set matched under permutations, which tries k! of them.
MAX_PERMUTED_K = 6


class AlignedEstimator(TransformerMixin, GraphEstimator):
    """The common base of the classifier and the regressor."""

    seed_: int
    layout_: Layout
    scaling_: Scaling
    sets_: list[SetTemplate]
    coef_: Floats
    connection_coef_: Floats
    intercept_: Floats
    p_values_: Floats
    shares_: list[dict[str, float]]

    def __init__(
        self,
        k: int | Sequence[int] = (2, 3, 4, 5, 6),
        c: int = 8,
        *,
        connections: int = 64,
        ridge: bool = True,
        permute: bool = False,
        apart: str = "connections",
        scale: str = "auto",
        align: str = "auto",
        diagonal: bool = False,
        shuffles: int = 99,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.c = c
        self.connections = connections
        self.ridge = ridge
        self.permute = permute
        self.apart = apart
        self.scale = scale
        self.align = align
        self.diagonal = diagonal
        self.shuffles = shuffles
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Fit to graphs ``X`` and targets ``y``.

        Args:
            X: a `GraphSet`, or anything `isonn.as_graphset` takes, such as an array of matrices of shape (g, n, n).
            y: one class or number per graph, shape (g,), or a column per label or measurement, shape (g, t).
            sample_weight: one weight per graph.
        """
        self._check_params()
        self._fitted = False
        self.seed_ = resolve_seed(self.random_state)
        graphs, targets = self._start(X, y)
        self.layout_ = Layout.learn(graphs, self.align, self.scale, self.diagonal)
        self.size_ = self.layout_.n
        values, known = self.layout_.table(graphs)
        self.scaling_ = Scaling.learn(values, known)
        cells = self.scaling_.standardised(values, known)
        given = self._weights(sample_weight, targets)
        weights = np.ones(len(targets)) if given is None else given
        wanted = self.target_.columns(targets)
        numeric = self.target_.numeric
        columns, held_out = [], np.full(wanted.shape, np.nan)
        for number in range(wanted.shape[1]):
            rows = np.flatnonzero(np.isfinite(wanted[:, number]))
            columns.append(
                fit_column(
                    cells[rows],
                    self.scaling_.raw_factor(),
                    wanted[rows, number],
                    weights[rows],
                    numeric,
                    self._geometry(),
                    self._settings(),
                    numpy_stream(self.seed_, "aligned", number),
                )
            )
            held_out[rows, number] = columns[-1].held_out
        self._combine(columns, held_out, targets)
        self._fitted = True
        return self

    def transform(self, X: Any) -> Floats:
        """Return the strength of every set of regions in each graph, then the sum of single connections per output."""
        cells = self._cells(self._checked(X))
        return np.column_stack([self._set_values(cells), cells @ self.connection_coef_.T])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return a name for each column of `transform`, such as the regions of the set."""
        self._require_fit()
        sets = [" + ".join(template.texts or ()) for template in self.templates_[: len(self.sets_)]]
        return np.array([*sets, *(f"connections {name}" for name in self.target_.classes)], dtype=object)

    def explain(self, X: Any, label: Any = None, top: int | None = 100) -> Explanation:
        """Explain the prediction for one graph by contributions of sets of regions and connections.

        Contributions sum to ``score - base`` exactly. The base is the score of the average training graph.

        Args:
            X: one graph: a `Graph`, a matrix, or a set of one.
            label: the class (or the column of ``y``) to explain; None explains the predicted class.
            top: number of matches to list; None lists all. The importances always count all matches.
        """
        self._require_fit()
        return explain_matched(self._matched_graph(X), self.target_, label, top, self.label_names_)

    @property
    def templates_(self) -> list[Template]:
        """The sets of regions by weight, then a template that stands for any single connection."""
        self._require_fit()
        names = self.region_names_
        sets = [
            Template(one.pattern.astype(np.float32), texts=tuple(str(names[node]) for node in one.found.nodes))
            for one in self.sets_
        ]
        pair = Template(np.array([[0, 1], [1, 0]], dtype=np.float32), texts=("any region", "another"))
        loop = [Template(np.ones((1, 1), dtype=np.float32), texts=("any region",))] if self.layout_.diagonal else []
        return [*sets, pair, *loop]

    @property
    def regions_(self) -> NDArray[Any]:
        """The name, label or number of each region, shape (n,)."""
        self._require_fit()
        return self.layout_.regions

    @property
    def region_names_(self) -> list[str]:
        """The name of each region."""
        names = self.label_names_["node"] if self.layout_.align == "labels" else {}
        return [str(names.get(region, region)) for region in self.layout_.regions.tolist()]

    @property
    def connections_(self) -> Floats:
        """The contribution of one standard deviation of every connection to each output, shape (outputs, n, n).

        It includes sets and single connections. With ``permute=True`` sets count in the learned order.
        """
        self._require_fit()
        geometry, total = self._geometry(), self.connection_coef_.copy()
        for number, one in enumerate(self.sets_):
            a, b, inside = geometry.inside(one.found.nodes)
            total[:, inside] += self.coef_[:, number, None] * one.pattern[a, b]
        matrices = np.zeros((len(total), self.layout_.n, self.layout_.n))
        i, j = geometry.pairs.T
        matrices[:, i, j] = total
        if not self.layout_.directed:
            matrices[:, j, i] = total
        return matrices

    def _check_params(self) -> None:
        check_plain(self.get_params(deep=False))
        sizes = sizes_of(self.k)
        if not sizes or any(isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 2 for k in sizes):
            raise InputError(f"k must contain integers >= 2, such as (2, 3, 4), got {self.k!r}")
        if self.permute and max(sizes) > MAX_PERMUTED_K:
            raise InputError(f"permute=True tries k! permutations; use k <= {MAX_PERMUTED_K}, got {max(sizes)}")
        for name in ("c", "connections", "shuffles"):
            check_count(name, getattr(self, name))
        for name, known in (("apart", APART), ("scale", SCALES), ("align", ALIGNMENTS)):
            if getattr(self, name) not in known:
                raise InputError(f"{name}={getattr(self, name)!r} is unknown; use one of {', '.join(map(repr, known))}")
        for name in ("ridge", "permute", "diagonal"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise InputError(f"{name}={getattr(self, name)!r} is unknown; use True or False")

    def _settings(self) -> Settings:
        sizes = tuple(sorted({int(k) for k in sizes_of(self.k)}))
        return Settings(sizes, self.c, self.connections, self.ridge, self.permute, self.apart, self.shuffles)

    def _geometry(self) -> Geometry:
        return Geometry(self.layout_.connections(), self.layout_.cell_numbers(), self.layout_.directed)

    def _combine(self, columns: list[ColumnModel], held_out: Floats, targets: NDArray[Any]) -> None:
        """Compute outputs from columns: one each, or half of one for each of two classes; classes become log-odds."""
        outputs = np.eye(len(columns))
        if self.target_.exclusive and len(self.target_.classes) == 2:
            outputs = np.array([[-0.5], [0.5]])
        if not self.target_.numeric:
            outputs = outputs * temperature(held_out @ outputs.T, targets, self.target_)
        self.sets_ = [one for column in columns for one in column.sets]
        owner = np.repeat(np.arange(len(columns)), [len(column.sets) for column in columns])
        self.coef_ = outputs[:, owner] * np.concatenate([column.coef for column in columns])
        self.p_values_ = np.concatenate([column.p_values for column in columns])
        self.connection_coef_ = outputs @ np.stack([column.connections + column.ridge for column in columns])
        self.intercept_ = outputs @ np.array([column.intercept for column in columns])
        self.shares_ = [column.shares for column in columns]
        order = np.argsort(-np.abs(self.coef_).max(axis=0), kind="stable")
        self.sets_, self.coef_ = [self.sets_[i] for i in order], self.coef_[:, order]
        self.p_values_ = self.p_values_[order]

    def _cells(self, graphs: GraphSet) -> Floats:
        return self.scaling_.standardised(*self.layout_.table(graphs))

    def _set_values(self, cells: Floats) -> Floats:
        geometry = self._geometry()
        values = [one.values(cells, geometry, self.permute) for one in self.sets_]
        return np.stack(values, axis=1) if values else np.zeros((len(cells), 0))

    def _answers(self, graphs: GraphSet) -> Floats:
        cells = self._cells(graphs)
        outputs = self.intercept_ + self._set_values(cells) @ self.coef_.T + cells @ self.connection_coef_.T
        return self.target_.link(outputs)

    def _matched_graph(self, X: Any) -> AlignedMatches:
        graphs = self._checked(as_one_graph(X))
        cells, geometry = self._cells(graphs), self._geometry()
        region = self.layout_.region_of_node(graphs)
        node_of_region = np.full(self.layout_.n, -1, dtype=np.int64)
        node_of_region[region[region >= 0]] = np.flatnonzero(region >= 0)
        graph = graphs[0]
        if graph.node_names is None and self.layout_.align != "order":
            names = [self.region_names_[number] if number >= 0 else "unknown region" for number in region.tolist()]
            graph = replace(graph, node_names=np.array(names, dtype=np.str_))
        orders = [
            one.best(cells, geometry)[0][0] if self.permute else np.arange(len(one.pattern)) for one in self.sets_
        ]
        centres = np.array([one.centre for one in self.sets_])
        return AlignedMatches(
            graph,
            self.templates_,
            self.sets_,
            self.coef_,
            self.connection_coef_,
            self.intercept_ - self.coef_ @ centres,
            cells[0],
            node_of_region,
            orders,
            geometry,
            self.target_,
        )

    def _description(self) -> dict[str, Any]:
        sets = [
            {"nodes": one.found.nodes, "sign": one.found.sign, "score": one.found.score, "rank": one.found.rank}
            for one in self.sets_
        ]
        return {"layout": self.layout_.describe(), "sets": sets, "shares": self.shares_, "whole": self.scaling_.whole}

    def _tensors(self) -> dict[str, NDArray[Any]]:
        patterns = {f"pattern.{i}": one.pattern for i, one in enumerate(self.sets_)}
        return {
            "coef": self.coef_,
            "connections": self.connection_coef_,
            "intercept": self.intercept_,
            "p_values": self.p_values_,
            "centres": np.array([one.centre for one in self.sets_]),
            "mean": self.scaling_.mean,
            "spread": self.scaling_.spread,
            **patterns,
        }

    def _restore(self, details: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        self.layout_ = Layout.restore(details["layout"])
        self.scaling_ = Scaling(tensors["mean"], tensors["spread"], float(details["whole"]))
        self.coef_, self.connection_coef_ = tensors["coef"], tensors["connections"]
        self.intercept_, self.p_values_ = tensors["intercept"], tensors["p_values"]
        self.shares_ = details["shares"]
        self.sets_ = [
            SetTemplate(
                RegionSet(tuple(map(int, one["nodes"])), int(one["sign"]), float(one["score"]), float(one["rank"])),
                tensors[f"pattern.{i}"],
                float(tensors["centres"][i]),
            )
            for i, one in enumerate(details["sets"])
        ]
        p, outputs = len(self.layout_.connections()), self.target_.outputs
        if self.connection_coef_.shape != (outputs, p) or self.coef_.shape != (outputs, len(self.sets_)):
            raise ValueError("weights and regions differ in size")
        if self.scaling_.mean.shape != (p,) or self.scaling_.spread.shape != (p,):
            raise ValueError("means and regions differ in size")


class AlignedClassifier(AlignedEstimator, GraphClassifier):
    """Classify graphs on the same nodes, such as connectomes on one atlas, by sets of regions and their connections.

    A template is a set of k regions, anywhere in the atlas, whose connections change together. Sets are found in the
    training graphs only. They are combined with single connections and a ridge part for effects that are spread out,
    and inner folds choose how many of each. The score is a sum over connections, so explanations add up exactly.

    Matrices of the same size are aligned by position, graphs with node names by name, and graphs of different sizes by
    node label. If a graph lacks a region, its connections count as average. Weights may have any sign.

    Args:
        k: regions per set, one size or several; 2 stands for single connections.
        c: maximum number of sets; inner folds choose how many.
        connections: maximum number of single connections.
        ridge: whether to add small weights for all connections.
        permute: match a set's pattern of connections under all permutations of its regions, as in the paper.
        apart: what two sets must not share: "connections", "regions", or "nothing", which allows nested sets.
        scale: transformation of the weights: "fisher" (arctanh) for correlations, "log" for counts, "none", or "auto".
            "auto" is "fisher" if weights have both signs within [-1, 1], and "log" if the largest is 50 times the
            median.
        align: how nodes are identified: "names", "labels", "order" or "auto".
        diagonal: whether a region's connection to itself counts.
        shuffles: number of shuffled targets that sets are compared with.
        class_weight: None, "balanced", or a dict from class to weight.
        random_state: seed of shuffles and inner folds; None draws one.

    Attributes set by ``fit``:
        templates_: the sets of regions by weight.
        p_values_: for each set, the share of shuffled targets that give any set as good.
        connections_: contribution of one standard deviation of each connection, shape (outputs, n, n).
        regions_: the name, label or number of each region.
        shares_: the shares of sets, single connections and ridge in the score, for each column of targets.

    Example:
        >>> draw = np.random.default_rng(0)
        >>> y = np.arange(40) % 2
        >>> noise = draw.normal(size=(40, 20, 20))
        >>> matrices = noise + noise.transpose(0, 2, 1)
        >>> matrices[np.ix_(y == 1, [2, 9, 17], [2, 9, 17])] += 2.0
        >>> clf = isonn.AlignedClassifier(random_state=0).fit(matrices, y)
        >>> sorted(clf.templates_[0].texts)
        ['17', '2', '9']
    """

    _supports_gaps = True

    def __init__(
        self,
        k: int | Sequence[int] = (2, 3, 4, 5, 6),
        c: int = 8,
        *,
        connections: int = 64,
        ridge: bool = True,
        permute: bool = False,
        apart: str = "connections",
        scale: str = "auto",
        align: str = "auto",
        diagonal: bool = False,
        shuffles: int = 99,
        class_weight: str | Mapping[Any, float] | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            k,
            c,
            connections=connections,
            ridge=ridge,
            permute=permute,
            apart=apart,
            scale=scale,
            align=align,
            diagonal=diagonal,
            shuffles=shuffles,
            random_state=random_state,
        )
        self.class_weight = class_weight

    def _check_params(self) -> None:
        super()._check_params()
        check_class_weight(self.class_weight)


class AlignedRegressor(AlignedEstimator, GraphRegressor):
    """Predict numbers from graphs on the same nodes, such as age from connectomes, by sets of regions.

    This is `AlignedClassifier` for numbers, one per graph or one column per measurement; NaN marks missing values.

    Args:
        k, c, connections, ridge, permute, apart: as in `AlignedClassifier`.
        scale, align, diagonal, shuffles, random_state: as in `AlignedClassifier`.

    Example:
        >>> draw = np.random.default_rng(0)
        >>> age = draw.uniform(20, 80, size=60)
        >>> noise = draw.normal(size=(60, 20, 20))
        >>> matrices = noise + noise.transpose(0, 2, 1)
        >>> matrices[:, [[2], [9], [17]], [2, 9, 17]] += (age - 50)[:, None, None] / 10
        >>> reg = isonn.AlignedRegressor(random_state=0).fit(matrices, age)
        >>> sorted(reg.templates_[0].texts)
        ['17', '2', '9']
    """
