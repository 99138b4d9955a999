"""`AlignedClassifier` and `AlignedRegressor`: templates over chosen regions, for graphs on the same nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from typing_extensions import Self

from isonn.aligned.column import Learner, fit_column, join_columns, set_sizes
from isonn.aligned.encoder import Encoder
from isonn.aligned.exchange import Exchange, as_groups
from isonn.aligned.explain import AlignedMatches
from isonn.aligned.inference import Family, class_codes, confounding, differences, held_out_score
from isonn.aligned.layout import SCALES
from isonn.aligned.model import AlignedModel
from isonn.aligned.sample import Sample
from isonn.conformal import Conformal
from isonn.confounds import check_determined, confound_strata
from isonn.errors import InputError
from isonn.estimator import GraphClassifier, GraphEstimator, GraphRegressor
from isonn.explain.explanation import Explanation
from isonn.explain.template import Template
from isonn.graphs.convert import as_graphset, as_one_graph
from isonn.graphs.graph import GraphSet
from isonn.heads import temperature
from isonn.packing import Floats, below, prefixed
from isonn.params import check_class_weight, check_count, check_plain, sizes_of
from isonn.seeding import numpy_stream, resolve_seed
from isonn.targets import Target

#: The attributes that a saved model keeps as JSON, and as arrays.
FACTS = ("shares", "confounding", "held_out_score", "networks")
STATISTICS = ("statistics", "fwer", "fdr", "difference", "p_values", "effects", "connection_effects", "owner")


@dataclass(eq=False, repr=False)
class AlignedEstimator(TransformerMixin, GraphEstimator):
    """The common base of the classifier and the regressor."""

    k: int | Sequence[int] = (2, 3, 4, 5, 6)
    c: int = 8
    _: KW_ONLY
    scale: str = "auto"
    shuffles: int = 99
    harmonize: str | None = None
    confounds_from: Any = None
    squared: Sequence[str] = ()
    random_state: Any = None

    takes_confounds = True

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
            sample_weight: one weight per graph; 0 leaves it out.

        Returns:
            The fitted estimator.

        Example:
            >>> from isonn.connectomes import planted_connectomes
            >>> graphs = planted_connectomes(n_subjects=40, n_regions=12, effect=0.8, seed=1).graphs
            >>> clf = isonn.AlignedClassifier(shuffles=9, random_state=0).fit(graphs, confounds=["age", "site"])
            >>> sorted({line["confound"] for line in clf.confounding_})
            ['age', 'site']
        """
        self._check_params()
        self._fitted = False
        self.seed_ = resolve_seed(self.random_state)
        graphs, targets = self._start(with_confounds(as_graphset(X), confounds), y)
        given = self._weights(sample_weight, targets)
        kept = np.arange(len(graphs)) if given is None else np.flatnonzero(given)
        blocks = as_groups(groups, graphs, kept)
        if given is not None and len(kept) < len(graphs):
            graphs, targets, given = graphs[kept], targets[kept], given[kept]
        source = _source(self.confounds_from, targets, self.target_)
        encoder, cells = Encoder.learn(graphs, self.scale, source, self.harmonize, self.squared)
        self.size_ = encoder.layout.n
        self.networks_, self.coordinates_ = encoder.layout.anatomy(graphs)
        removed, columns = encoder.adjustment.confounds, self.target_.columns(targets)
        study = Sample(
            cells,
            columns,
            np.ones(len(targets)) if given is None else given,
            self.target_.numeric,
            encoder.adjustment.matrix(graphs),
            source,
            Exchange.of(blocks, columns, confound_strata(removed, graphs)),
        )
        names = column_names(self.target_, self.label_names_)
        check_determined(study.confounds, columns, [confound.name for confound in removed], names)
        self.difference_ = differences(encoder.layout, graphs, study, self.target_)
        study = study.merged()
        held_out = self._fit_columns(study, encoder)
        self.confounding_ = confounding(study, held_out.mean(axis=0), removed, names)
        self._fitted = True
        return self

    def _fit_columns(self, study: Sample, encoder: Encoder) -> Floats:
        """Search sets in all columns together, and learn each column; return held-out predictions (splits, g, t)."""
        sizes, layout = tuple(sorted({int(k) for k in sizes_of(self.k)})), encoder.layout
        family = Family.search(study, layout, set_sizes(sizes, layout.n), self.shuffles, self.seed_)
        columns = []
        for number, sample in enumerate(study.samples()):
            search = family.searches.get(number) if set_sizes(sizes, layout.n) else None
            learner = Learner(layout, sizes, self.c, encoder.raw_factor(), search)
            columns.append(fit_column(sample, learner, numpy_stream(self.seed_, "aligned", number)))
        splits = max(len(column.held_out) for column in columns)
        held_out = np.zeros((splits, *study.columns.shape))  # where a target is unknown, nothing reads it
        for number, column in enumerate(columns):
            rows = study.rows(number)
            # columns of fewer known graphs may have more splits; those of others repeat
            held_out[:, rows, number] = np.resize(column.held_out, (splits, len(rows)))
        outputs = _outputs(held_out, study, self.target_)
        self.held_out_score_ = held_out_score(held_out, study.columns, outputs, self.target_)
        self._conformal = _held_out_errors(held_out @ outputs.T, study, self.target_)
        self.shares_ = [column.shares for column in columns]
        self.statistics_, self.fwer_, self.fdr_ = family.statistics, family.fwer, family.fdr
        self.best_ranks_ = family.best_ranks
        self.connection_effects_ = np.stack([column.connection_effects for column in columns], axis=1)
        self.model_, self.p_values_, self.owner_, self.effects_ = join_columns(columns, outputs, encoder, family)
        return held_out

    def predict(self, X: Any, confounds: Any = None, *, on_error: str = "raise") -> NDArray[Any]:
        """Predict graphs; the result has the shape of ``y``.

        Args:
            X: the graphs.
            confounds: their confounds, as in ``fit``; None uses those of ``X``.
            on_error: as in other estimators; only molecules have rows that cannot be read.

        Returns:
            ndarray of shape (g,), or (g, columns) for several labels or numbers.

        Example:
            >>> from isonn.connectomes import planted_connectomes
            >>> graphs = planted_connectomes(n_subjects=40, n_regions=12, effect=0.8, seed=1).graphs
            >>> isonn.AlignedClassifier(shuffles=9, random_state=0).fit(graphs[:30]).predict(graphs[30:]).shape
            (10,)
        """
        return super().predict(with_confounds(X, confounds), on_error=on_error)

    def transform(self, X: Any) -> Floats:
        """Return the strength of every set of regions in each graph, then the sum of single connections per output.

        Args:
            X: the graphs, with their confounds if there are any.

        Returns:
            ndarray of shape (g, sets + outputs); `get_feature_names_out` names its columns.

        Example:
            >>> from isonn.connectomes import planted_connectomes
            >>> graphs = planted_connectomes(n_subjects=40, n_regions=12, effect=0.8, seed=1).graphs
            >>> clf = isonn.AlignedClassifier(shuffles=9, random_state=0).fit(graphs)
            >>> clf.transform(graphs).shape == (40, len(clf.get_feature_names_out()))
            True
        """
        return np.column_stack(self.model_.terms(self._checked(X)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return a name for each column of `transform`, such as the regions of the set.

        Args:
            input_features: ignored; scikit-learn passes it.

        Returns:
            ndarray of strings, one per column.

        Example:
            >>> from isonn.connectomes import planted_connectomes
            >>> graphs = planted_connectomes(n_subjects=40, n_regions=12, effect=0.8, seed=1).graphs
            >>> clf = isonn.AlignedClassifier(shuffles=9, random_state=0).fit(graphs)
            >>> clf.get_feature_names_out()[-1]
            'connections patient'
        """
        self._require_fit()
        sets = [" + ".join(template.texts or ()) for template in self.templates_[: len(self.model_.sets)]]
        return np.array([*sets, *(f"connections {name}" for name in self.target_.classes)], dtype=object)

    def explain(self, X: Any, label: Any = None, top: int | None = 100, confounds: Any = None) -> Explanation:
        """Explain the prediction for one graph by contributions of sets of regions and connections.

        Contributions sum to ``score - base`` exactly. The base is the score of the average training graph.

        Args:
            X: one graph: a `Graph`, a matrix, or a set of one.
            label: the class (or the column of ``y``) to explain; None explains the predicted class.
            top: number of matches to list; None lists all. The importances always count all matches.
            confounds: the confounds of this graph, as in ``fit``; None uses those that it has.

        Returns:
            An `Explanation`; its ``units`` are sets of regions, strong single connections, and all the others.

        Example:
            >>> from isonn.connectomes import planted_connectomes
            >>> graphs = planted_connectomes(n_subjects=40, n_regions=12, effect=0.8, seed=1).graphs
            >>> why = isonn.AlignedClassifier(shuffles=9, random_state=0).fit(graphs).explain(graphs[0])
            >>> bool(abs(sum(unit.contribution for unit in why.units) - (why.score - why.base)) < 1e-9)
            True
        """
        self._require_fit()
        graph = with_confounds(as_one_graph(X), confounds)
        matched = self._matched_graph(graph)
        return Explanation(matched, label, top, self.label_names_, assess=lambda: self.assess(graph))

    @property
    def templates_(self) -> list[Template]:
        """The sets of regions by weight, then a template that stands for any single connection."""
        self._require_fit()
        sets = [
            Template(
                (regions.weight * (1 - np.eye(len(regions.nodes)))).astype(np.float32),
                texts=tuple(self.model_.layout.names[node] for node in regions.nodes),
            )
            for regions in self.model_.sets
        ]
        pair = Template(np.array([[0, 1], [1, 0]], dtype=np.float32), texts=("any region", "another"))
        return [*sets, pair]

    @property
    def regions_(self) -> NDArray[Any]:
        """The name, label or number of each region, shape (n,)."""
        self._require_fit()
        return self.model_.layout.regions

    @property
    def connections_(self) -> Floats:
        """The contribution of one standard deviation of every connection to each output, shape (outputs, n, n).

        It includes sets and single connections.
        """
        self._require_fit()
        return self.model_.contributions()

    def _check_params(self) -> None:
        check_plain(self.get_params(deep=False))
        sizes = sizes_of(self.k)
        if not sizes or any(isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 2 for k in sizes):
            raise InputError(f"k must contain integers >= 2, such as (2, 3, 4), got {self.k!r}")
        for name in ("c", "shuffles"):
            check_count(name, getattr(self, name))
        if self.scale not in SCALES:
            raise InputError(f"scale={self.scale!r} is unknown; use one of {', '.join(map(repr, SCALES))}")
        if not isinstance(self.squared, (list, tuple)) or not all(isinstance(name, str) for name in self.squared):
            raise InputError(f"squared={self.squared!r:.60} is not a list of confounds; write squared=['age']")
        if self.harmonize is not None and not isinstance(self.harmonize, str):
            raise InputError(f"harmonize={self.harmonize!r:.60} is not the name of a column; write harmonize='site'")

    def _answers(self, graphs: GraphSet) -> Floats:
        return self.target_.link(self.model_.outputs(graphs))

    def _judge(self, graphs: GraphSet) -> tuple[Floats, None, None]:
        return self.model_.outputs(graphs), None, None

    def _matched_graph(self, X: Any) -> AlignedMatches:
        return AlignedMatches(self._checked(as_one_graph(X)), self.templates_, self.model_, self.target_)

    def _description(self) -> dict[str, Any]:
        return {**self.model_.describe(), **{name: getattr(self, f"{name}_") for name in FACTS}}

    def _tensors(self) -> dict[str, NDArray[Any]]:
        return {
            **self.model_.tensors(),
            **{name: getattr(self, f"{name}_") for name in STATISTICS},
            **({} if self.coordinates_ is None else {"coordinates": self.coordinates_}),
            **({} if self._conformal is None else prefixed("conformal", self._conformal.tensors())),
        }

    def _restore(self, details: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        self.model_ = AlignedModel.restore(details, tensors, self.target_.outputs)
        self.coordinates_ = tensors.get("coordinates")
        for name in (*FACTS, *STATISTICS):
            setattr(self, f"{name}_", details[name] if name in FACTS else tensors[name])
        n, sets = self.model_.layout.n, len(self.model_.sets)
        sizes = {
            "networks": (self.networks_, (n,)),
            "coordinates": (self.coordinates_, (n, 3)),
            "effects": (self.effects_, (4, sets)),
            "owners": (self.owner_, (sets,)),
        }
        for name, (values, shape) in sizes.items():
            if values is not None and np.shape(values) != shape:
                raise ValueError(f"{name} and regions or sets differ in number")
        if "conformal.sizes" in tensors:
            self._conformal = Conformal.restore(below("conformal", tensors), self.target_)


def column_names(target: Target, label_names: Mapping[str, Mapping[Any, str]]) -> list[str]:
    """Return a name for each column that is learned: the second of two classes, every class, or every target."""
    classes = [str(label_names.get("class", {}).get(value, value)) for value in target.classes.tolist()]
    if target.exclusive:
        return classes if len(classes) > 2 else classes[1:]
    names = label_names.get("target", {})
    return [str(names.get(i, "the target" if len(classes) == 1 else f"column {i}")) for i in range(len(classes))]


def _source(confounds_from: Any, targets: NDArray[Any], target: Target) -> NDArray[np.bool_]:
    """Return the graphs that effects of confounds are estimated from, shape (g,)."""
    if confounds_from is None:
        return np.ones(len(targets), dtype=bool)
    if not target.exclusive or confounds_from not in target.classes.tolist():
        classes = ", ".join(map(repr, target.classes.tolist())) if target.exclusive else "none"
        raise InputError(f"confounds_from={confounds_from!r} is not a class of y; the classes are {classes}")
    return np.asarray(target.classes[targets] == confounds_from)


def with_confounds(X: Any, confounds: Any) -> Any:
    """Return the graphs with their confounds; as they are if none are given."""
    return X if confounds is None else as_graphset(X).with_confounds(confounds)


def _outputs(held_out: Floats, study: Sample, target: Target) -> Floats:
    """Return the matrix from columns to outputs: one each, or half of one for each of two classes, as log-odds."""
    two = target.exclusive and len(target.classes) == 2
    outputs = np.array([[-0.5], [0.5]]) if two else np.eye(study.columns.shape[1])
    if target.numeric:
        return outputs
    codes = class_codes(study.columns, target.exclusive)
    stacked = (held_out @ outputs.T).reshape(-1, len(outputs))
    return np.asarray(outputs * temperature(stacked, np.concatenate([codes] * len(held_out)), target))


def _held_out_errors(outputs: Floats, study: Sample, target: Target) -> Conformal:
    """Learn from held-out outputs, shape (splits, g, outputs), how wrong predictions are; splits share a graph."""
    splits, g = outputs.shape[:2]
    targets = study.columns if target.numeric else class_codes(study.columns, target.exclusive)
    digests = [blake2b(row.tobytes(), digest_size=8).digest() for row in study.cells]
    graph = np.unique(digests, return_inverse=True)[1].reshape(-1)
    group = graph if study.exchange.groups is None else study.exchange.groups
    return Conformal.fit(
        outputs.reshape(splits * g, -1),
        np.concatenate([targets] * splits),
        target,
        np.tile(graph, splits),
        np.tile(group, splits),
    )


@dataclass(eq=False, repr=False)
class AlignedClassifier(AlignedEstimator, GraphClassifier):
    """Classify graphs on the same nodes, such as connectomes on one atlas, by sets of regions and their connections.

    A template is a set of k regions, anywhere in the atlas, whose connections change together. Sets are found in the
    training graphs only. They are combined with single connections and a ridge part for effects that are spread out,
    and inner folds choose how many of each. The score is a sum over connections, so explanations add up exactly.

    Matrices of the same size are aligned by position, graphs with node names (or ids of NetworkX that all share) by
    name, and graphs of different sizes by node label. If a graph lacks a region, its connections count as average.
    Weights may have any sign.

    Args:
        k: regions per set, one size or several; 2 stands for single connections.
        c: maximum number of sets; inner folds choose how many.
        scale: transformation of the weights: "fisher" (arctanh) for correlations, "log" for counts, "none", or "auto".
            "auto" is "fisher" if weights have both signs within [-1, 1], and "log" if the largest is 50 times the
            median.
        shuffles: number of shuffles that sets and connections are compared with.
        harmonize: a column of the table, such as "site", whose differences in mean and spread are removed (ComBat). It
            is also a confound.
        confounds_from: a class, such as "control", whose graphs alone determine the effects of confounds; None uses
            all.
        squared: numeric confounds whose square is regressed out, too.
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
        held_out_score_: accuracy, F1 and AUROC, or RMSE, MAE, R² and Pearson's r, on inner folds.
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

    _: KW_ONLY
    class_weight: str | Mapping[Any, float] | None = None

    _supports_gaps = True

    def predict_proba(self, X: Any, confounds: Any = None, *, on_error: str = "raise") -> Floats:
        """Return probabilities of shape (g, n_classes); each row sums to 1 unless ``multilabel_``.

        Args:
            X, confounds, on_error: as in `predict`.

        Returns:
            ndarray of shape (g, n_classes), columns as in ``classes_``.

        Example:
            >>> from isonn.connectomes import planted_connectomes
            >>> graphs = planted_connectomes(n_subjects=40, n_regions=12, effect=0.8, seed=1).graphs
            >>> isonn.AlignedClassifier(shuffles=9, random_state=0).fit(graphs[:30]).predict_proba(graphs[30:]).shape
            (10, 2)
        """
        return super().predict_proba(with_confounds(X, confounds), on_error=on_error)

    def _check_params(self) -> None:
        super()._check_params()
        check_class_weight(self.class_weight)


@dataclass(eq=False, repr=False)
class AlignedRegressor(AlignedEstimator, GraphRegressor):
    """Predict numbers from graphs on the same nodes, such as age from connectomes, by sets of regions.

    This is `AlignedClassifier` for numbers, one per graph or one column per measurement; NaN marks missing values.

    Args:
        k, c, scale, shuffles, random_state: as in `AlignedClassifier`.
        harmonize, squared: as in `AlignedClassifier`.
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
