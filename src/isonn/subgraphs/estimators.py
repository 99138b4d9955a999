"""`SubgraphClassifier` and `SubgraphRegressor`: counts of connected subgraphs, and a head that weighs them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from typing_extensions import Self

from isonn.domain import Domain
from isonn.errors import InputError, naming_the_extra
from isonn.estimator import GraphClassifier, GraphEstimator, GraphRegressor, check_in_memory
from isonn.explain.explanation import Explanation
from isonn.explain.reasons import ClassReason
from isonn.explain.suggest import Suggestions, suggest
from isonn.explain.template import Template
from isonn.graphs.convert import as_graphs, as_one_graph
from isonn.graphs.graph import GraphSet
from isonn.graphs.stream import as_stream
from isonn.heads import LinearHead, get_head, join_groups
from isonn.heads.boosting import trained_by
from isonn.packing import below, prefixed
from isonn.params import check_class_weight, check_count, check_plain
from isonn.seeding import derive_seed, resolve_seed
from isonn.subgraphs.explain import SubgraphMatches
from isonn.subgraphs.marks import ClassMarks
from isonn.subgraphs.model import SubgraphModel
from isonn.subgraphs.survey import Survey, directed_error, directed_graph
from isonn.subgraphs.terms import term_names
from isonn.subgraphs.training import Training, fit_model
from isonn.subgraphs.trust import Trust, example_names
from isonn.subgraphs.vectorizer import SubgraphVectorizer, in_chunks, warn_of_unseen
from isonn.subgraphs.views import View, view_param_from_json
from isonn.targets import as_y


@dataclass(eq=False, repr=False)
class SubgraphEstimator(GraphEstimator):
    """The common base of the classifier and the regressor: a vectorizer, features and a head."""

    max_nodes: int | str = "auto"
    n_templates: int | None = None
    _: KW_ONLY
    view: str | View | Sequence[str | View] = "auto"
    head: str = "auto"
    min_support: int = 2
    max_subgraphs: int = 100_000
    keep_examples: bool | str = False
    n_jobs: int = 1
    random_state: Any = None
    verbose: int = 0

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, sample_weight: Any = None) -> Self:
        """Fit to graphs ``X`` and targets ``y``.

        A stream (`isonn.stream`) is read twice, a few thousand graphs at a time, and its counts are kept on disk. The
        model is the same as for graphs in memory.

        Args:
            X: a `GraphSet`, anything `isonn.as_graphset` takes, or a stream.
            y: one class or number per graph, shape (g,), or a column per label or measurement, shape (g, t).
            groups: scaffolds, patients or sites, one per graph. Graphs of a group, and equal graphs, are held out
                together when penalties, weights of heads and probabilities are chosen.
            sample_weight: one weight per graph; a weight of 2 means the graph twice, 0 leaves it out.

        Returns:
            the fitted estimator.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs[:150])
            >>> clf.predict(graphs[150:153]).shape
            (3,)
        """
        self._check_params()
        self._fitted = False
        self.seed_ = resolve_seed(self.random_state)
        graphs, vectorizer = as_stream(X), self._vectorizer()
        survey = vectorizer.survey(graphs)
        if graphs.whole is not None and y is graphs.whole.y:
            y = None  # the graphs have the names of its classes
        self.standardize_ = vectorizer.standardize_
        training = self._training(survey, y, groups, sample_weight, graphs.name)
        cluster = graphs.workers if callable(graphs.workers) else None
        with vectorizer.table(graphs, survey) as table, trained_by(cluster):
            training = training.tell_apart(table, vectorizer.sampled_, groups)
            model, training, inputs = fit_model(vectorizer, table, training, self.head, self.n_templates)
        training.warn_of_repeats(inputs)
        self.target_, head = training.target, model.head
        # a short list is chosen on all graphs, so its held-out errors would be too small
        held_out = head.held_out if self.n_templates is None else None
        self.held_out_score_, columns = training.scores(held_out)
        self._publish(model, columns, None if held_out is None or self.target_.numeric else head.calibration)
        linear = getattr(head, "linear", head)
        if not isinstance(linear, LinearHead):
            linear = training.fit(LinearHead(), inputs)
        self._trust = None
        if held_out is not None:
            names = example_names(self.keep_examples, training, graphs)
            self._trust = Trust.learn(inputs, held_out, training, linear.coef, vectorizer.vocabulary_, names)
        self._conformal = None if self._trust is None else self._trust.conformal
        self._marks = ClassMarks.learn(inputs, linear, training, vectorizer, bool(self.keep_examples), self.seed_)
        self._remember(survey.hashes)
        self._fitted = True
        return self

    def transform(self, X: Any) -> csr_array:
        """Return the features of the linear head, sparse, one row per graph.

        Args:
            X: graphs, as in ``fit``.

        Returns:
            sparse array of shape (g, features), columns as in `get_feature_names_out`.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(max_nodes=2, random_state=0).fit(graphs)
            >>> clf.transform(graphs).shape == (188, len(clf.get_feature_names_out()))
            True
        """
        tables = [self._model.read(chunk)[0].features for chunk in in_chunks(self._checked(X, "transform"))]
        return csr_array(vstack(tables, format="csr"))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return a unique name for each column of `transform`: what its template requires; then the terms of molecules.

        Args:
            input_features: ignored; scikit-learn passes it.

        Returns:
            ndarray of strings.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(max_nodes=2, view="labels", head="linear", random_state=0).fit(graphs)
            >>> "labels [N]-double-[O]" in clf.get_feature_names_out()
            True
        """
        self._require_fit()
        terms = np.array(term_names(self.kind_), dtype=object)[self._model.features.term_of]
        return np.concatenate([self.vectorizer_.get_feature_names_out(), terms])

    def explain(self, X: Any, label: Any = None, top: int | None = 100) -> Any:
        """Explain the prediction for a graph by reasons, matches with contributions, and importances.

        Node importances and the contributions of absent pieces and of terms sum to ``score - base`` exactly.

        Args:
            X: one graph (a `Graph`, a SMILES, a NetworkX graph, a matrix, or a set of one), or several.
            label: the class to explain, or the column of ``y``, by number or name; None explains the predicted class.
            top: number of matches to list; None lists all. The importances always count all matches.

        Returns:
            An `Explanation`, or a list of them for several graphs.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(random_state=0).fit(graphs)
            >>> e = clf.explain(graphs[0])
            >>> rest = sum(part.contribution for part in e.absent + e.terms)
            >>> bool(abs(e.node_importance.sum() + rest - (e.score - e.base)) < 1e-9)
            True
        """
        self._require_fit()
        check_in_memory(X, "explain")
        graphs = as_graphs(X, self.standardize_)
        explained = []
        for graph in (graphs[i : i + 1] for i in range(len(graphs))):
            matched = self._matched_graph(graph)
            explained.append(Explanation(matched, label, top, self.label_names_, partial(self.assess, graph)))
        return explained[0] if len(explained) == 1 else explained

    def suggest(self, X: Any, goal: Any, *, label: Any = None, steps: int = 2, top: int = 10) -> Suggestions:
        """Return small edits of one graph that move its prediction to a goal, each re-scored by the model.

        Molecules lose or exchange a functional group, ring or chain, or get one of about 70 replacements that medicinal
        chemists try; other graphs lose or gain nodes and edges, or get other labels. Results outside the domain of the
        model are left out. Edits that reach the goal come first: those in the domain before borderline ones, fewer
        before more, then those with the largest change; for numbers, where the goal is a bound, those that keep the
        graph most similar.

        Args:
            X: one graph, as in `explain`.
            goal: the class to reach; for numbers, the number to get to or past; for several labels, 0 or 1.
            label: the label or column of ``y`` that ``goal`` is about, if there are several.
            steps: most edits of a suggestion. Two edits are tried if one reaches the goal in fewer than ``top`` ways.
            top: most suggestions.

        Returns:
            a list of `isonn.explain.suggest.Suggestion`, the best first. Its ``out_of_domain`` is the number of results
            that were left out because they are outside the domain.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs)
            >>> best = clf.suggest(graphs[0], goal=-1)[0]
            >>> best.edits
            ('delete node 8',)
        """
        self._require_fit()
        return suggest(self, X, goal, label=label, steps=steps, top=top)

    def domain(self, X: Any) -> Domain:
        """Return whether the model knows such graphs: verdict, distance, unseen pieces and the nearest known graphs.

        Args:
            X: graphs.

        Returns:
            `isonn.domain.Domain`, one entry per graph.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(head="linear", random_state=0).fit(graphs[graphs.sizes < 20])
            >>> clf.domain(graphs[graphs.sizes == 28]).verdict.tolist()
            ['out', 'out', 'out']
        """
        self._require_fit()
        graphs = self._checked(X, "domain")
        if self._trust is None:
            raise InputError(
                f"this {type(self).__name__} has no held-out errors, which domain needs; {self._no_errors()}"
            )
        return self._judge(graphs)[2]

    @property
    def templates_(self) -> Sequence[Template]:
        """The templates, in feature order."""
        return self.vectorizer_.templates_

    @property
    def reasons_(self) -> dict[Any, list[ClassReason]]:
        """The pieces that mark each class in the training graphs, strongest first; weights in texts are levels."""
        return self._marks.reasons(self.templates_, self.target_)

    def _publish(
        self, model: SubgraphModel, columns: list[dict[str, float]], calibration: NDArray[np.float64] | None
    ) -> None:
        """Set what `fit` and loading have learned, by the names that users read."""
        self._model, self._held_out_columns, self._calibration = model, columns, calibration
        self.vectorizer_, self.head_, self.kind_ = model.vectorizer, model.head, model.kind
        self.max_nodes_ = model.vectorizer.vocabulary_.max_nodes
        self.sampled_ = model.vectorizer.sampled_
        targets, classes = (self.label_names_.get(kind, {}) for kind in ("target", "class"))
        weights = model.head.weights
        single = self.target_.exclusive or len(weights) == 1
        self.weights_ = weights[0] if single else {targets.get(i, i): weight for i, weight in enumerate(weights)}
        self.held_out_by_target_ = {targets.get(i, i): scores for i, scores in enumerate(columns)}
        names = classes if self.target_.exclusive else targets
        errors = [] if calibration is None else zip(self.target_.classes.tolist(), calibration.tolist(), strict=True)
        self.calibration_ = {names.get(c, c): error for c, error in errors}

    def _check_params(self) -> None:
        check_plain(self.get_params(deep=False))
        self._vectorizer().check_params()
        if self.n_templates is not None:
            check_count("n_templates", self.n_templates)
        get_head(self.head)
        if self.keep_examples not in (False, True, "smiles"):
            raise InputError(f"keep_examples={self.keep_examples!r:.40} is unknown; use False, True or 'smiles'")

    def _unsupported(self, graphs: GraphSet) -> str | None:
        i = directed_graph(graphs)
        if i is not None:
            return directed_error(i, len(graphs))
        return super()._unsupported(graphs)

    def _vectorizer(self) -> SubgraphVectorizer:
        return SubgraphVectorizer(
            self.max_nodes,
            view=self.view,
            min_support=self.min_support,
            max_subgraphs=self.max_subgraphs,
            n_jobs=self.n_jobs,
            random_state=getattr(self, "seed_", None),
            verbose=self.verbose,
        )

    def _training(self, survey: Survey, y: Any, groups: Any, sample_weight: Any, name: str) -> Training:
        """Encode the targets, and keep what later predictions need to know about the training graphs."""
        self.size_, self.label_names_ = survey.largest, survey.names_for(y)
        y = survey.y if y is None else y
        if y is None:
            raise InputError(f"{type(self).__name__}.fit needs y; pass it, or graphs that have it")
        targets = self._encode(y, len(survey))
        weights = self._weights(sample_weight, targets)
        return Training(
            survey,
            name,
            as_y(y, len(survey)),
            targets,
            self.target_,
            weights,
            survey.hashes,
            join_groups(survey.hashes, groups),
            derive_seed(self.seed_, "head"),
        )

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        return self.target_.link(self._model.outputs_in_threads(graphs, self.n_jobs))

    def _judge(self, graphs: GraphSet) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, Domain]:
        assert self._trust is not None
        return self._trust.judge(self._model, graphs, self.target_.numeric, self.n_jobs)

    def _no_errors(self) -> str:
        if self.n_templates is not None:
            return "a short list is chosen on all graphs, so fit with n_templates=None"
        return "give more training graphs or groups, or use head='auto'"

    def _matched_graph(self, X: Any) -> SubgraphMatches:
        graphs = self._checked(as_one_graph(X, self.standardize_))
        warn_of_unseen(self.vectorizer_.encoding_, graphs)
        return SubgraphMatches(self._model, graphs, self.target_)

    @classmethod
    def _params_from_json(cls, stored: dict[str, Any]) -> dict[str, Any]:
        return {**super()._params_from_json(stored), "view": view_param_from_json(stored["view"])}

    def _description(self) -> dict[str, Any]:
        errors = [] if self._calibration is None else self._calibration.tolist()
        return {
            **self._model.describe(),
            **self._marks.describe(),
            "neighbours": None if self._trust is None else self._trust.describe(),
            "held_out_score": self.held_out_score_,
            "held_out_columns": self._held_out_columns,
            "calibration": [error if np.isfinite(error) else None for error in errors],
        }

    def _tensors(self) -> dict[str, NDArray[Any]]:
        trust = {} if self._trust is None else prefixed("trust", self._trust.tensors())
        return self._model.tensors() | prefixed("marks", self._marks.tensors()) | trust

    def _restore(self, details: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        vectorizer = self._vectorizer()
        vectorizer.seed_ = derive_seed(self.seed_, "cut")
        vectorizer.label_names_ = {kind: self.label_names_[kind] for kind in ("node", "edge")}
        vectorizer.standardize_ = self.standardize_
        model = SubgraphModel.restore(details, tensors, vectorizer, self.target_.outputs)
        self._marks = ClassMarks.restore(details, below("marks", tensors), len(vectorizer.vocabulary_), self.target_)
        self.held_out_score_ = details["held_out_score"]
        calibration = np.array(details["calibration"], dtype=np.float64) if details["calibration"] else None
        if calibration is not None and calibration.shape != self.target_.classes.shape:
            raise ValueError("each class has one calibration error")
        self._publish(model, [dict(scores) for scores in details["held_out_columns"]], calibration)
        self._trust = self._conformal = None
        if trust := below("trust", tensors):
            columns, terms = self._model.features.columns, len(term_names(self.kind_))
            self._trust = Trust.restore(trust, details["neighbours"], self.target_, columns, terms)
            self._conformal = self._trust.conformal


@dataclass(eq=False, repr=False)
class SubgraphClassifier(SubgraphEstimator, GraphClassifier):
    """Classify graphs by the connected subgraphs they contain, and show which of them decide.

    Every connected subgraph of up to ``max_nodes`` nodes that occurs in at least two training graphs is a template. A
    linear model (sums) and boosted trees (logic) predict from their counts. Predictions do not depend on node
    numbering. Use this model for molecules, social networks and other graphs whose node order has no meaning. It does
    not need torch.

    Graphs must be undirected, and may have any size and be disconnected. Self-loops are ignored.

    Args:
        max_nodes: nodes of the largest templates, 1 to 6. "auto" takes up to six if the graphs have few enough
            subgraphs, as molecules do, and four for dense graphs.
        n_templates: number of templates. None uses the whole vocabulary, a number keeps a short list of at most that
            length.
        view: the information that nodes and edges carry: one or several names from `isonn.subgraphs.views.VIEWS`, or
            `View` objects such as ``LabelsView(edge_labels=False)``. "auto" uses labels together with labels refined by
            degree and cycles; for molecules, elements and labels.
        head: "auto" weighs sums and logic by held-out data; "linear" takes only sums (ridge regression), "trees" only
            logic (boosted trees). "linear" works without LightGBM.
        min_support: minimum number of training graphs that contain a template.
        max_subgraphs: subgraphs per size and graph above which they are sampled; nodes and edges never are.
        class_weight: weights of classes: None, "balanced", or a dict from class to weight.
        keep_examples: what to store of training graphs, for the examples of ``reasons_`` and the nearest graphs of
            `domain`: False stores neither ids nor values, True ids (or numbers) and true values, "smiles" SMILES and
            true values. Whoever gets the model can read them, so keep confidential data out.
        n_jobs: number of threads that count subgraphs. It does not change the result.
        random_state: seed of all random draws; None draws one.
        verbose: 1 shows a progress bar.

    Attributes set by ``fit``:
        templates_: the templates.
        reasons_: the pieces that mark each class.
        vectorizer_: the fitted `SubgraphVectorizer`.
        head_: the fitted head.
        max_nodes_: nodes of the largest templates.
        weights_: the weights of sums and logic, ``{"linear": 0.6, "trees": 0.4}``; by label or column if there are
            several. Beyond 200,000 distinct graphs the trees are trained on a sample (``head_.trees.graphs`` graphs).
        calibration_: the expected calibration error of each class or label, from held-out probabilities; empty for a
            short list.
        held_out_score_: metrics of predictions for the training graphs by models that saw neither the graph nor an
            equal one nor its group; None for a short list.
        held_out_by_target_: the scores of each of several labels, by name or column: AUROC and counts, or errors.
        kind_: the kind of the training graphs, such as "molecules".
        sampled_: training graphs whose subgraphs were sampled, with the share sampled.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(random_state=0).fit(graphs)
        >>> isonn.testing.assert_relabelling_invariant(clf, graphs[:20])
    """

    _: KW_ONLY
    class_weight: str | Mapping[Any, float] | None = None

    _supports_gaps = True

    def alerts(self, X: Any, y: Any = None, *, label: Any = None, top: int = 50, min_support: int = 5) -> Any:
        """Find structural alerts: groups and pieces of molecules that warn of a class, as SMARTS.

        Candidates are named functional groups, families of them, and the pieces of this model; ``y`` decides. The list
        is chosen again without each fold of ``X``, and an alert is judged on a fold only if it was chosen without it.
        Needs the extra ``molecules``.

        Args:
            X: molecules: SMILES, or a `GraphSet` of them.
            y: their classes; not needed for a `GraphSet` with ``y``.
            label: the class to warn of, or one of several labels by its name or number; None uses the positive
                one of two classes: "active" beside "inactive", 1 beside 0, else the second.
            top: maximum number of alerts.
            min_support: minimum number of molecules that an alert is judged on.

        Returns:
            `isonn.molecules.alerts.Alerts`, the surest first.

        Example:
            >>> smiles = [f"{'C' * n}{end}" for n in range(3, 15) for end in ("C(=O)O", "CO", "CN", "C(=O)OC")]
            >>> y = [int(s.endswith("(=O)O")) for s in smiles]
            >>> clf = isonn.SubgraphClassifier(random_state=0).fit(smiles, y)
            >>> clf.alerts(smiles, y)[0].name
            'carboxylic acid'
        """
        self._require_fit()
        with naming_the_extra("a list of alerts"):
            find = importlib.import_module("isonn.molecules.alerts").find_alerts
        return find(self, X, y, label, top, min_support)

    def _check_params(self) -> None:
        super()._check_params()
        check_class_weight(self.class_weight)


@dataclass(eq=False, repr=False)
class SubgraphRegressor(SubgraphEstimator, GraphRegressor):
    """Predict numbers from the connected subgraphs of a graph, and show each one's effect in the units of ``y``.

    This is the model of `SubgraphClassifier` for numbers, one per graph or one column per measurement, with NaN for
    missing values. Held-out data decide whether positive numbers are learned as logarithms, and whether sums read
    counts or their logarithms.

    Args:
        max_nodes: nodes of the largest templates, 1 to 6. "auto" takes up to six if the graphs have few enough
            subgraphs, as molecules do, and four for dense graphs.
        n_templates: number of templates; None uses the whole vocabulary.
        view, head, min_support, max_subgraphs, keep_examples, n_jobs, random_state, verbose: as in
            `SubgraphClassifier`.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> nodes = graphs.sizes.astype(float)
        >>> isonn.SubgraphRegressor(random_state=0).fit(graphs, nodes).score(graphs, nodes) > 0.95
        True
    """

    def alerts(self, *_: Any, **__: Any) -> NoReturn:
        """Raise `InputError`: alerts warn of a class. ``reasons_`` has the pieces that raise and lower a number."""
        raise InputError(
            "alerts warn of a class, and this model predicts numbers; use reasons_ for the pieces that raise or lower "
            "them, or fit classes, such as values above a threshold"
        )
