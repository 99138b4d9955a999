"""`AlignedClassifier` and `AlignedRegressor`: templates over chosen regions, for graphs on the same nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from typing_extensions import Self

from isonn.aligned.cells import ALIGNMENTS, SCALES, Layout, Scaling
from isonn.aligned.effects import false_discovery
from isonn.aligned.exchange import as_groups
from isonn.aligned.explain import AlignedMatches
from isonn.aligned.harmonize import Combat
from isonn.aligned.model import ColumnModel, Geometry, Sample, SetTemplate, Settings, count_folds, fit_column
from isonn.aligned.select import RegionSet, Shuffled, exceedance, search_shuffled
from isonn.aligned.study import Study, class_codes, explained, held_out_score
from isonn.conformal import Conformal
from isonn.confounds import Confounds, Nuisance, adjustment, check_determined, subtract
from isonn.errors import InputError
from isonn.estimator import GraphClassifier, GraphEstimator, GraphRegressor
from isonn.explain.explanation import Explanation, explain_matched
from isonn.explain.template import Template
from isonn.graphs.convert import as_graphset, as_one_graph
from isonn.graphs.graph import GraphSet
from isonn.heads import temperature
from isonn.heads.head import below, prefixed
from isonn.packing import Floats
from isonn.params import check_class_weight, check_count, check_plain, sizes_of
from isonn.seeding import numpy_stream, resolve_seed
from isonn.targets import Numbers

APART = ("connections", "regions", "nothing")
UNSEEN = ("mean", "error")
#: Sets with less than this share of the weight of all sets are left out, unless their family-wise p-value is up to
#: `LISTED`.
LEAST_SHARE, LISTED = 0.02, 0.05
#: The statistics that a saved model keeps.
STATISTICS = (
    "statistics",
    "fwer",
    "fdr",
    "difference",
    "effects",
    "connection_effects",
    "owner",
    "best_ranks",
    "other_ranks",
)
#: Largest set matched under permutations, which tries k! of them.
MAX_PERMUTED_K = 6


class AlignedEstimator(TransformerMixin, GraphEstimator):
    """The common base of the classifier and the regressor."""

    takes_confounds = True
    seed_: int
    layout_: Layout
    scaling_: Scaling
    sets_: list[SetTemplate]
    coef_: Floats
    connection_coef_: Floats
    intercept_: Floats
    p_values_: Floats
    shares_: list[dict[str, float]]
    confounds_: Confounds
    slopes_: Floats
    combat_: Combat | None
    confounding_: list[dict[str, Any]]
    held_out_score_: dict[str, float]
    statistics_: Floats
    fwer_: Floats
    fdr_: Floats
    difference_: Floats
    effects_: Floats
    connection_effects_: Floats
    owner_: NDArray[np.int64]
    best_ranks_: Floats
    other_ranks_: Floats
    networks_: list[str] | None
    coordinates_: Floats | None

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
        harmonize: str | None = None,
        confounds_from: Any = None,
        squared: Sequence[str] = (),
        unseen: str = "mean",
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
        self.harmonize = harmonize
        self.confounds_from = confounds_from
        self.squared = squared
        self.unseen = unseen
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, *, confounds: Any = None, groups: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to graphs ``X`` and targets ``y``.

        Args:
            X: a `GraphSet`, or anything `isonn.as_graphset` takes, such as an array of matrices of shape (g, n, n).
            y: one class or number per graph, shape (g,), or a column per label or measurement, shape (g, t).
            confounds: what to regress out of the connections, as in `GraphSet.with_confounds`: columns of ``X.table``
                by name, a DataFrame, a dict or an array. None uses the confounds of ``X``, if it has any.
            groups: the subject (or family, or site) of each graph, shape (g,), or a column of ``X.table`` by name.
                None uses the column ``subject`` of connectomes with several sessions. Graphs of a group stay in one
                inner fold. If every group has one target, whole groups are exchanged in
                permutations; otherwise graphs are exchanged within groups.
            sample_weight: one weight per graph.
        """
        self._check_params()
        self._fitted = False
        self.seed_ = resolve_seed(self.random_state)
        X = as_graphset(X)
        graphs, targets = self._start(X if confounds is None else X.with_confounds(confounds), y)
        values, known = self._learn_table(graphs, targets)
        given = self._weights(sample_weight, targets)
        weights = np.ones(len(targets)) if given is None else given
        study = Study(
            self.scaling_.standardised(values, known, out=values),
            self.target_.columns(targets),
            weights,
            self.target_.numeric,
            self.confounds_.matrix(graphs) if self.confounds_.parts else None,
            self._source(targets),
            as_groups(groups, graphs),
            self.confounds_.strata(graphs),
        )
        if study.confounds is not None:
            check_determined(study.confounds, study.columns, self.confounds_.names, self._column_names())
        merged = study.merged()
        self._fit_columns(merged)
        self._describe_effects(graphs, study)
        self.confounding_ = [] if merged.confounds is None else self._confounding(merged)
        self._fitted = True
        return self

    def _learn_table(self, graphs: GraphSet, targets: NDArray[Any]) -> tuple[Floats, NDArray[np.bool_] | None]:
        """Learn regions, sites, confounds and scaling; return the connections without what they explain."""
        self.layout_ = Layout.learn(graphs, self.align, self.scale, self.diagonal)
        self.size_ = self.layout_.n
        self.networks_, self.coordinates_ = self.layout_.anatomy(graphs)
        names = list(graphs.confounds)
        if self.harmonize is not None and self.harmonize not in names:
            if self.harmonize not in graphs.table:
                columns = ", ".join(map(str, graphs.table)) or "none"
                raise InputError(
                    f"harmonize={self.harmonize!r} is not a column of {graphs.name}; its columns are: {columns}"
                )
            names.append(self.harmonize)
        self.confounds_ = Confounds.learn(graphs, names, self.squared, self.unseen)
        values, known = self.layout_.table(graphs)
        if known is not None:
            mean = Scaling.learn(values, known).mean
            values = np.where(known, values, mean)
        self.combat_ = None
        if self.harmonize is not None:
            sites, covariates = graphs.table[self.harmonize], self._covariates(graphs)
            self.combat_ = Combat.learn(values, sites, covariates)
            values = self.combat_.apply(values, sites, covariates)
        self.slopes_ = np.zeros((0, values.shape[1]))
        if self.confounds_.parts:
            confounds = self.confounds_.matrix(graphs)
            self.slopes_ = adjustment(confounds, self._source(targets)) @ values
            subtract(values, confounds, self.slopes_)
        self.scaling_ = Scaling.learn(values, known)
        return values, known

    def _source(self, targets: NDArray[Any]) -> NDArray[np.bool_]:
        """Return the graphs that effects of confounds are estimated from."""
        if self.confounds_from is None:
            return np.ones(len(targets), dtype=bool)
        if not self.target_.exclusive or self.confounds_from not in self.target_.classes.tolist():
            known = ", ".join(map(repr, self.target_.classes.tolist())) if self.target_.exclusive else "none"
            raise InputError(f"confounds_from={self.confounds_from!r} is not a class of y; the classes are {known}")
        return np.asarray(self.target_.classes[targets] == self.confounds_from)

    def _covariates(self, graphs: GraphSet) -> Floats:
        """Return the confounds other than the site, whose effect harmonising keeps."""
        kept = Confounds(
            tuple(part for part in self.confounds_.parts if part.name != self.harmonize), self.confounds_.unseen
        )
        return kept.matrix(graphs)

    def _column_names(self) -> list[str]:
        """Return a name for each column that is learned."""
        classes = [str(self.label_names_.get("class", {}).get(value, value)) for value in self.target_.classes.tolist()]
        names = self.label_names_.get("target", {})
        if self.target_.exclusive:
            return classes if len(classes) > 2 else classes[1:]
        return [str(names.get(i, "the target" if len(classes) == 1 else f"column {i}")) for i in range(len(classes))]

    def _fit_columns(self, study: Study) -> None:
        """Search sets in all columns, compare them with shuffled data together, and learn each column."""
        settings, geometry = self._settings(), self._geometry()
        sizes = settings.set_sizes(geometry.n)
        exchange = study.exchange()
        samples = [study.sample(number, exchange) for number in range(study.columns.shape[1])]
        orders: dict[tuple[int, ...], Any] = {}
        searches: list[Shuffled | None] = []
        for number, sample in enumerate(samples):
            if sample.constant or count_folds(sample) < 2:
                searches.append(None)
                continue
            rows = tuple(study.rows(number).tolist())  # columns of the same graphs share their shuffles
            if rows not in orders:
                draw = numpy_stream(self.seed_, "shuffles", len(orders))
                orders[rows] = sample.exchange.draw(self.shuffles + 1, draw, len(rows))
            searches.append(
                search_shuffled(sample.statistics(), orders[rows], geometry.pairs, geometry.n, sizes or [2])
            )
        self._family(searches, samples)
        found = [search.best[1:] for search in searches if search is not None]
        self.best_ranks_ = np.max(found, axis=0) if found else np.zeros(0)
        others = [search.others for search in searches if search is not None]
        self.other_ranks_ = np.max(others, axis=0) if others else np.zeros(0)
        raw = self.scaling_.raw_factor()
        columns = [
            fit_column(
                sample,
                raw,
                geometry,
                settings,
                search if sizes else None,
                numpy_stream(self.seed_, "aligned", number),
            )
            for number, (sample, search) in enumerate(zip(samples, searches, strict=True))
        ]
        self._combine(columns, study)

    def _family(self, searches: list[Shuffled | None], samples: list[Sample]) -> None:
        """Compute the statistics of every connection, family-wise over all columns."""
        p = len(self.scaling_.mean)
        self.statistics_, uncorrected = np.zeros((len(samples), p)), np.ones((len(samples), p))
        for number, (search, sample) in enumerate(zip(searches, samples, strict=True)):
            if search is not None:
                self.statistics_[number] = sample.observed()
                uncorrected[number] = search.uncorrected(self.statistics_[number])
        found = [search.strongest[1:] for search in searches if search is not None]
        strongest = np.max(found, axis=0) if found else np.zeros(0)
        self.fwer_ = exceedance(strongest, np.abs(self.statistics_).ravel()).reshape(self.statistics_.shape)
        self.fdr_ = false_discovery(uncorrected.reshape(-1)).reshape(uncorrected.shape)

    def _describe_effects(self, graphs: GraphSet, study: Study) -> None:
        """Compute the difference (or slope) of every connection in the user's units."""
        self.difference_ = np.zeros_like(self.statistics_)
        for number in range(study.columns.shape[1]):
            rows = study.rows(number)
            target = study.columns[rows, number]
            # classes differ by 1; numbers are in the units of y
            target = target * self.target_.scale[number] if isinstance(self.target_, Numbers) else target / 2
            weights = study.weights[rows]
            nuisance = Nuisance.of(None if study.confounds is None else study.confounds[rows], weights)
            rest = nuisance.residuals(target[:, None])[:, 0] * nuisance.root**2
            total = float(rest @ target)
            if total > 1e-300:
                self.difference_[number] = self.layout_.weighted_sum(graphs, rows, rest / total)

    def _confounding(self, study: Study) -> list[dict[str, Any]]:
        """Return how well each confound predicts each column, and how well the model predicts the confound."""
        assert study.confounds is not None
        found, held_out = [], self._held_out.mean(axis=0)
        for number, name in enumerate(self._column_names()):
            rows = study.rows(number)
            for confound, columns in self.confounds_.slices().items():
                part = study.confounds[rows][:, columns]
                found.append(
                    {
                        "target": name,
                        "confound": confound,
                        "confound_to_target": explained(part, study.columns[rows, number]),
                        "confound_to_score": explained(part, held_out[rows, number]),
                    }
                )
        return found

    def predict(self, X: Any, confounds: Any = None, *, on_error: str = "raise") -> NDArray[Any]:
        """Predict graphs; the result has the shape of ``y``.

        Args:
            X: the graphs.
            confounds: their confounds, as in ``fit``; None uses those of ``X``.
            on_error: as in other estimators; only molecules have rows that cannot be read.
        """
        return super().predict(_with_confounds(X, confounds), on_error=on_error)

    def predict_interval(self, X: Any, coverage: float = 0.9, confounds: Any = None) -> Floats:
        """Return an interval for each number that contains the truth with probability ``coverage``.

        Args:
            X: the graphs.
            coverage: between 0 and 1; too few training graphs or groups give infinite intervals, with a warning.
            confounds: the confounds of ``X``, as in ``fit``; None uses those that it has.

        Returns:
            ndarray of shape (g, 2), or (g, t, 2) for several columns, in the units of ``y``.
        """
        return super().predict_interval(_with_confounds(X, confounds), coverage)

    def predict_set(self, X: Any, coverage: float = 0.9, confounds: Any = None) -> NDArray[np.bool_]:
        """Return a set of classes for each graph that contains the true one with probability ``coverage``.

        Args:
            X: the graphs.
            coverage: between 0 and 1; it holds for each class by itself.
            confounds: the confounds of ``X``, as in ``fit``; None uses those that it has.

        Returns:
            ndarray of booleans of shape (g, classes), or (g, labels, 2) for several labels: absent, present.
        """
        return super().predict_set(_with_confounds(X, confounds), coverage)

    def transform(self, X: Any, confounds: Any = None) -> Floats:
        """Return the strength of every set of regions in each graph, then the sum of single connections per output."""
        cells = self._cells(self._checked(_with_confounds(X, confounds)))
        return np.column_stack([self._set_values(cells), cells @ self.connection_coef_.T])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return a name for each column of `transform`, such as the regions of the set."""
        self._require_fit()
        sets = [" + ".join(template.texts or ()) for template in self.templates_[: len(self.sets_)]]
        return np.array([*sets, *(f"connections {name}" for name in self.target_.classes)], dtype=object)

    def explain(self, X: Any, label: Any = None, top: int | None = 100, confounds: Any = None) -> Explanation:
        """Explain the prediction for one graph by contributions of sets of regions and connections.

        Contributions sum to ``score - base`` exactly. The base is the score of the average training graph.

        Args:
            X: one graph: a `Graph`, a matrix, or a set of one.
            label: the class (or the column of ``y``) to explain; None explains the predicted class.
            top: number of matches to list; None lists all. The importances always count all matches.
            confounds: the confounds of this graph, as in ``fit``; None uses those that it has.
        """
        self._require_fit()
        graph = _with_confounds(as_one_graph(X), confounds)
        explanation = explain_matched(self._matched_graph(graph), self.target_, label, top, self.label_names_)
        return replace(explanation, assess=lambda: self.assess(graph))

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
        for name, known in (("apart", APART), ("scale", SCALES), ("align", ALIGNMENTS), ("unseen", UNSEEN)):
            if getattr(self, name) not in known:
                raise InputError(f"{name}={getattr(self, name)!r} is unknown; use one of {', '.join(map(repr, known))}")
        if not isinstance(self.squared, (list, tuple)) or not all(isinstance(name, str) for name in self.squared):
            raise InputError(f"squared={self.squared!r:.60} is not a list of confounds; write squared=['age']")
        if self.harmonize is not None and not isinstance(self.harmonize, str):
            raise InputError(f"harmonize={self.harmonize!r:.60} is not the name of a column; write harmonize='site'")
        for name in ("ridge", "permute", "diagonal"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise InputError(f"{name}={getattr(self, name)!r} is unknown; use True or False")

    def _settings(self) -> Settings:
        sizes = tuple(sorted({int(k) for k in sizes_of(self.k)}))
        return Settings(sizes, self.c, self.connections, self.ridge, self.permute, self.apart)

    def _geometry(self) -> Geometry:
        return Geometry(self.layout_.connections(), self.layout_.cell_numbers(), self.layout_.directed)

    def _combine(self, columns: list[ColumnModel], study: Study) -> None:
        """Compute outputs from columns: one each, or half of one for each of two classes; classes become log-odds."""
        outputs = np.eye(len(columns))
        if self.target_.exclusive and len(self.target_.classes) == 2:
            outputs = np.array([[-0.5], [0.5]])
        splits = max(len(column.held_out) for column in columns)
        held_out = np.full((splits, *study.columns.shape), np.nan)
        for number, column in enumerate(columns):
            held_out[:, study.rows(number), number] = column.held_out
        if not self.target_.numeric:
            stacked = (held_out @ outputs.T).reshape(-1, len(outputs))
            codes = class_codes(study.columns, self.target_.exclusive)
            outputs = outputs * temperature(stacked, np.concatenate([codes] * splits), self.target_)
        self._held_out = held_out
        self.held_out_score_ = held_out_score(held_out, study.columns, outputs, self.target_)
        self._learn_errors(held_out @ outputs.T, study)
        self.sets_ = [one for column in columns for one in column.sets]
        owner = np.repeat(np.arange(len(columns)), [len(column.sets) for column in columns])
        self.coef_ = outputs[:, owner] * np.concatenate([column.coef for column in columns])
        ranks = np.array([one.found.rank for one in self.sets_])
        self.p_values_ = self._set_p_values(ranks)
        self.effects_ = np.concatenate([column.effects for column in columns], axis=1)
        self.connection_effects_ = np.stack([column.connection_effects for column in columns], axis=1)
        self.connection_coef_ = outputs @ np.stack([column.connections + column.ridge for column in columns])
        self.intercept_ = outputs @ np.array([column.intercept for column in columns])
        self.shares_ = [column.shares for column in columns]
        shares = [column.coef / max(column.coef.sum(), 1e-300) for column in columns]
        listed = (np.concatenate(shares) > LEAST_SHARE) | (self.p_values_ <= LISTED)
        order = np.argsort(-np.abs(self.coef_).max(axis=0, initial=0.0), kind="stable")
        order = order[listed[order]]
        self.sets_, self.coef_ = [self.sets_[i] for i in order], self.coef_[:, order]
        self.p_values_, self.effects_, self.owner_ = self.p_values_[order], self.effects_[:, order], owner[order]

    def _learn_errors(self, held_out: Floats, study: Study) -> None:
        """Learn from held-out outputs, shape (splits, g, outputs), how wrong predictions are; splits share a graph."""
        splits, g = held_out.shape[:2]
        columns = study.columns
        targets = columns if self.target_.numeric else class_codes(columns, self.target_.exclusive)
        digests = [blake2b(row.tobytes(), digest_size=8).digest() for row in study.cells]
        graph = np.unique(digests, return_inverse=True)[1].reshape(-1)
        group = graph if study.groups is None else study.groups
        self._conformal = Conformal.fit(
            held_out.reshape(splits * g, -1),
            np.concatenate([targets] * splits),
            self.target_,
            np.tile(graph, splits),
            np.tile(group, splits),
        )

    def _set_p_values(self, ranks: Floats) -> Floats:
        """Return the p-value of each set: exact for the best of all, and never smaller for the others."""
        if not len(ranks):
            return np.zeros(0)
        first = exceedance(self.best_ranks_, ranks.max(keepdims=True))[0]
        p = np.maximum(exceedance(self.other_ranks_, ranks), first)
        p[ranks.argmax()] = first
        return np.asarray(p)

    def _cells(self, graphs: GraphSet) -> Floats:
        values, known = self.layout_.table(graphs)
        if self.combat_ is not None and self.harmonize is not None:
            covariates = self._covariates(graphs)
            if self.harmonize not in graphs.table:
                raise InputError(f"{graphs.name} has no column {self.harmonize!r}, which the model harmonises; add it")
            values = self.combat_.apply(values, graphs.table[self.harmonize], covariates, self.unseen)
        if self.confounds_.parts:
            subtract(values, self.confounds_.matrix(graphs), self.slopes_)
        return self.scaling_.standardised(values, known, out=values)

    def _set_values(self, cells: Floats) -> Floats:
        geometry = self._geometry()
        values = [one.values(cells, geometry, self.permute) for one in self.sets_]
        return np.stack(values, axis=1) if values else np.zeros((len(cells), 0))

    def _answers(self, graphs: GraphSet) -> Floats:
        return self.target_.link(self._judge(graphs)[0])

    def _judge(self, graphs: GraphSet) -> tuple[Floats, None, None]:
        cells = self._cells(graphs)
        outputs = self.intercept_ + self._set_values(cells) @ self.coef_.T + cells @ self.connection_coef_.T
        return outputs, None, None

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
        return {
            "layout": self.layout_.describe(),
            "sets": sets,
            "shares": self.shares_,
            "whole": self.scaling_.whole,
            "confounds": self.confounds_.describe(),
            "confounding": self.confounding_,
            "sites": [] if self.combat_ is None else list(self.combat_.sites),
            "held_out_score": self.held_out_score_,
            "networks": self.networks_,
        }

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
            "slopes": self.slopes_,
            **{name: getattr(self, f"{name}_") for name in STATISTICS},
            **({} if self.combat_ is None else self.combat_.tensors()),
            **({} if self.coordinates_ is None else {"coordinates": self.coordinates_}),
            **({} if self._conformal is None else prefixed("conformal", self._conformal.tensors())),
            **patterns,
        }

    def _restore(self, details: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        self.layout_ = Layout.restore(details["layout"])
        self.scaling_ = Scaling(tensors["mean"], tensors["spread"], float(details["whole"]))
        self.coef_, self.connection_coef_ = tensors["coef"], tensors["connections"]
        self.intercept_, self.p_values_ = tensors["intercept"], tensors["p_values"]
        self.shares_, self.confounding_ = details["shares"], details["confounding"]
        self.held_out_score_, self.networks_ = details["held_out_score"], details["networks"]
        self.coordinates_ = tensors.get("coordinates")
        self.confounds_, self.slopes_ = Confounds.restore(details["confounds"]), tensors["slopes"]
        for name in STATISTICS:
            setattr(self, f"{name}_", tensors[name])
        sites = tuple(map(str, details["sites"]))
        parts = {name.removeprefix("combat."): part for name, part in tensors.items() if name.startswith("combat.")}
        self.combat_ = Combat(sites, **parts) if sites else None
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
        if self.scaling_.mean.shape != (p,) or self.scaling_.spread.shape != (p,) or self.slopes_.shape[1] != p:
            raise ValueError("means and regions differ in size")
        for part, shape in ((self.networks_, (self.layout_.n,)), (self.coordinates_, (self.layout_.n, 3))):
            if part is not None and np.shape(part) != shape:
                raise ValueError("networks or coordinates and regions differ in number")
        if self.effects_.shape != (4, len(self.sets_)) or self.owner_.shape != (len(self.sets_),):
            raise ValueError("sets and their effects differ in number")
        if "conformal.sizes" in tensors:
            self._conformal = Conformal.restore(below("conformal", tensors), self.target_)


def _with_confounds(X: Any, confounds: Any) -> Any:
    return X if confounds is None else as_graphset(X).with_confounds(confounds)


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
        shuffles: number of shuffles that sets and connections are compared with.
        harmonize: a column of the table, such as "site", whose differences in mean and spread are removed (ComBat). It
            is also a confound.
        confounds_from: a class, such as "control", whose graphs alone determine the effects of confounds; None uses
            all.
        squared: numeric confounds whose square is regressed out, too.
        unseen: how to treat a site or category that was not in training: "mean" (as the average, with a warning) or
            "error".
        class_weight: None, "balanced", or a dict from class to weight.
        random_state: seed of shuffles and inner folds; None draws one.

    Attributes set by ``fit``:
        templates_: the sets of regions by weight.
        p_values_: for each set, the share of shuffles that give any set as good, of any size, class or column.
        effects_: for each set, the effect size on held-out graphs, its 95 % interval and the share of folds that find
            the set, shape (4, sets): Cohen's d for classes, the partial correlation for numbers.
        statistics_, fwer_, fdr_: partial t of every connection with its p-values, family-wise and by false discovery
            rate, shape (columns, connections).
        difference_: mean difference (for numbers, slope) of every connection in its own units, given the confounds.
        confounding_: for each confound, the share of the target and of the model's held-out score that it explains.
        held_out_score_: accuracy and AUROC, or Pearson's r, R² and MAE, on inner folds.
        networks_, coordinates_: of each region, if the graphs were made with an atlas; else None.
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
        harmonize: str | None = None,
        confounds_from: Any = None,
        squared: Sequence[str] = (),
        unseen: str = "mean",
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
            harmonize=harmonize,
            confounds_from=confounds_from,
            squared=squared,
            unseen=unseen,
            random_state=random_state,
        )
        self.class_weight = class_weight

    def predict_proba(self, X: Any, confounds: Any = None, *, on_error: str = "raise") -> Floats:
        """Return probabilities of shape (g, n_classes); each row sums to 1 unless ``multilabel_``.

        Args:
            X, confounds, on_error: as in `predict`.
        """
        return super().predict_proba(_with_confounds(X, confounds), on_error=on_error)

    def _check_params(self) -> None:
        super()._check_params()
        check_class_weight(self.class_weight)


class AlignedRegressor(AlignedEstimator, GraphRegressor):
    """Predict numbers from graphs on the same nodes, such as age from connectomes, by sets of regions.

    This is `AlignedClassifier` for numbers, one per graph or one column per measurement; NaN marks missing values.

    Args:
        k, c, connections, ridge, permute, apart: as in `AlignedClassifier`.
        scale, align, diagonal, shuffles, random_state: as in `AlignedClassifier`.
        harmonize, squared, unseen: as in `AlignedClassifier`.
        confounds_from: for classes only.

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
