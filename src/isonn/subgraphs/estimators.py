"""`SubgraphClassifier` and `SubgraphRegressor`: counts of connected subgraphs, and a head that weighs them."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, vstack
from typing_extensions import Self

from isonn.domain import Domain, Neighbour, distances
from isonn.errors import InputError, IsoNNWarning, naming_the_extra
from isonn.estimator import GraphClassifier, GraphEstimator, GraphRegressor
from isonn.explain.explanation import Explanation, explain_matched
from isonn.explain.reasons import ClassReason
from isonn.explain.suggest import Suggestion, suggest
from isonn.explain.template import Template
from isonn.graphs.convert import as_graphs, as_graphset, as_one_graph, standardization_of
from isonn.graphs.graph import Graph, GraphSet
from isonn.graphs.stream import GraphStream, as_stream
from isonn.heads import (
    Distinct,
    Head,
    Inputs,
    LinearHead,
    StackedHead,
    TreesHead,
    get_head,
    held_out_loss,
    join_groups,
    prefers_logarithm,
)
from isonn.heads.boosting import trained_by
from isonn.heads.scores import Scores, held_out_scores
from isonn.heads.trees import training_rows
from isonn.params import check_class_weight, check_count, check_plain
from isonn.processes import in_threads, limit_threads
from isonn.seeding import derive_seed, resolve_seed
from isonn.subgraphs.count import list_subgraphs
from isonn.subgraphs.encode import Encoding
from isonn.subgraphs.explain import GraphTerms, SubgraphMatches
from isonn.subgraphs.features import COUNT, LOG, NORM, SumFeatures
from isonn.subgraphs.marks import Mark, class_marks, presence_by_class
from isonn.subgraphs.select import auto_size, short_list
from isonn.subgraphs.survey import Survey, directed_error, directed_graph
from isonn.subgraphs.table import CountTable, tell_apart
from isonn.subgraphs.terms import NumberTerms, SizeTerms, term_table, terms_of
from isonn.subgraphs.trust import Assessed, Trust, examples_of, unknown_nodes
from isonn.subgraphs.vectorizer import SubgraphVectorizer, in_chunks
from isonn.subgraphs.views import View, view_param_from_json
from isonn.subgraphs.vocabulary import Block, Vocabulary
from isonn.targets import Numbers, Target, as_y

#: A graph is unusual if more than this share of its pieces of up to four nodes is unknown (larger pieces often are, in
#: small sets). A warning appears if most graphs are.
STRANGE, STRANGE_NODES = 0.5, 4
#: Number of training graphs used to measure the coverage of a short list.
COVERAGE_GRAPHS = 100

#: The features of a model, and its head.
Model = tuple[SumFeatures, Head]


@dataclass(frozen=True, eq=False)
class Training:
    """The training graphs of a fit.

    Attributes:
        survey: what a pass over them found.
        y, targets: as given, and encoded.
        weights: of the graphs, or None.
        digests: equal for equal graphs.
        groups: equal for graphs that are held out together.
    """

    survey: Survey
    y: NDArray[Any]
    targets: NDArray[Any]
    weights: NDArray[np.float64] | None
    digests: NDArray[np.uint64]
    groups: NDArray[np.int64]

    @property
    def distinct(self) -> NDArray[np.bool_]:
        """The first of equal graphs with a weight above 0."""
        rows = np.arange(len(self.groups)) if self.weights is None else np.flatnonzero(self.weights > 0)
        distinct = np.zeros(len(self.groups), dtype=bool)
        distinct[rows[np.unique(self.digests[rows], return_index=True)[1]]] = True
        return distinct

    def inputs(self, features: csr_array, counts: csr_array) -> Inputs:
        """Return features and counts with what graphs are equal and stay together."""
        return Inputs(features, counts, self.digests, self.groups)


class SubgraphEstimator(GraphEstimator):
    """The common base of the classifier and the regressor: a vectorizer, features and a head."""

    max_nodes: int | str
    n_templates: int | str | None
    view: str | View | Sequence[str | View]
    head: str
    min_support: int
    max_subgraphs: int
    keep_examples: bool | str
    n_jobs: int
    random_state: Any
    verbose: int

    vectorizer_: SubgraphVectorizer
    features_: SumFeatures
    head_: Head
    seed_: int
    coverage_: float
    held_out_score_: Scores | None
    _held_out_columns: list[Scores]
    kind_: str
    _calibration: NDArray[np.float64] | None
    _trust: Trust | None = None
    _presence: NDArray[np.int32]
    _graphs_by_class: NDArray[np.int64]
    _marks: list[Mark]
    _examples: list[str]

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, sample_weight: Any = None) -> Self:
        """Fit to graphs ``X`` and targets ``y``.

        A stream (`isonn.stream`) is read twice, a few thousand graphs at a time, and its counts are kept on disk. The
        model is the same as for graphs in memory.

        Args:
            X: a `GraphSet`, anything `isonn.as_graphset` takes, or a stream.
            y: one class or number per graph, shape (g,), or a column per label or measurement, shape (g, t).
            groups: scaffolds, patients or sites, one per graph. Graphs of a group, and equal graphs, are held out
                together when penalties, weights of heads and probabilities are chosen.
            sample_weight: one weight per graph; a weight of 2 means the graph twice.
        """
        self._check_params()
        self._fitted = False
        self.seed_ = resolve_seed(self.random_state)
        graphs = as_stream(X)
        self.vectorizer_ = self._vectorizer()
        survey = self.vectorizer_.survey(graphs)
        training = self._training(survey, y, groups, sample_weight)
        with self.vectorizer_.tables(graphs, survey) as tables:
            digests = tell_apart(survey.hashes, tables, self.vectorizer_.sampled_)
            training = replace(training, digests=digests, groups=join_groups(digests, groups))
            inputs = self._fit_head(tables, training, graphs)
        self._warn_of_repeats(inputs, training, graphs.name)
        linear = self._linear_head(inputs, training)
        self._learn_trust(inputs, training, linear, graphs)
        self._mark_classes(inputs, training, linear)
        self._remember(survey.hashes)
        self._fitted = True
        return self

    def transform(self, X: Any) -> csr_array:
        """Return the features of the linear head, sparse, one row per graph."""
        chunks = in_chunks(self._checked(X))
        features = [self._inputs(chunk, self.vectorizer_.count(chunk)).features for chunk in chunks]
        return csr_array(vstack(features, format="csr"))

    def count(self, X: Any) -> csr_array:
        """Return how often each graph contains each template, sparse, shape (g, templates)."""
        graphs = self._checked(X)
        return self.vectorizer_.transform(graphs)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return a unique name for each column of `transform`: what its template requires, then the size terms."""
        self._require_fit()
        names = [name for terms in terms_of(self.kind_) for name in terms.names]
        number = dict.fromkeys(names, 0)
        columns = []
        for term in self.features_.term_of.tolist():
            number[names[term]] += 1  # a term and its steps
            columns.append(f"{names[term]} {number[names[term]]}")
        return np.array([*self.vectorizer_.get_feature_names_out(), *columns], dtype=object)

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
        graphs = as_graphs(X, self.standardize_)
        explained = [self._explain(graphs[i : i + 1], label, top) for i in range(len(graphs))]
        return explained[0] if len(explained) == 1 else explained

    def _explain(self, graph: GraphSet, label: Any, top: int | None) -> Explanation:
        """Explain the prediction for a set of one graph."""
        explanation = explain_matched(self._matched_graph(graph), self.target_, label, top, self.label_names_)
        return replace(explanation, assess=lambda: self.assess(graph))

    def suggest(self, X: Any, goal: Any, *, label: Any = None, steps: int = 2, top: int = 10) -> list[Suggestion]:
        """Return small edits of one graph that move its prediction to a goal, each re-scored by the model.

        Molecules lose or exchange a functional group, ring or chain, or get one of about 60 replacements that medicinal
        chemists try; other graphs lose or gain nodes and edges, or get other labels. Results outside the domain of the
        model are left out. Edits that reach the goal come first, then those with the largest change per edit.

        Args:
            X: one graph, as in `explain`.
            goal: the class to reach; for numbers, the number to get to or past; for several labels, 0 or 1.
            label: the label or column of ``y`` that ``goal`` is about, if there are several.
            steps: most edits of a suggestion. Two edits are tried if one reaches the goal in fewer than ``top`` ways.
            top: most suggestions.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs)
            >>> best = clf.suggest(graphs[0], goal=-1)[0]
            >>> best.edits
            ('relabel node 14 as C',)
        """
        self._require_fit()
        return suggest(self, X, goal, label=label, steps=steps, top=top)

    @property
    def templates_(self) -> Sequence[Template]:
        """The templates, in feature order."""
        self._require_fit()
        return self.vectorizer_.templates_

    @property
    def weights_(self) -> dict[Any, Any]:
        """The weights of sums and logic, ``{"linear": 0.6, "trees": 0.4}``; by label or column if there are several.

        Beyond 200,000 distinct graphs the trees are trained on a sample of them (``head_.trees.graphs`` graphs).
        """
        self._require_fit()
        weights = self.head_.weights
        if self.target_.exclusive or len(weights) == 1:
            return weights[0]
        names = self.label_names_.get("target", {})
        return {names.get(i, i): weight for i, weight in enumerate(weights)}

    @property
    def calibration_(self) -> dict[Any, float]:
        """The expected calibration error of each class or label, from held-out probabilities; {} for numbers."""
        self._require_fit()
        errors = self._calibration
        if errors is None or self.target_.numeric:
            return {}
        names = self.label_names_.get("class" if self.target_.exclusive else "target", {})
        return {names.get(c, c): float(e) for c, e in zip(self.target_.classes.tolist(), errors, strict=True)}

    @property
    def held_out_by_target_(self) -> dict[Any, Scores]:
        """The scores of each of several labels or numbers, by name (or column number): AUROC and counts, or errors."""
        self._require_fit()
        names = self.label_names_.get("target", {})
        return {names.get(i, i): scores for i, scores in enumerate(self._held_out_columns)}

    @property
    def max_nodes_(self) -> int:
        """Nodes of the largest templates."""
        self._require_fit()
        return max(block.size for block in self.vectorizer_.vocabulary_.blocks)

    @property
    def sampled_(self) -> dict[int, float]:
        """The training graphs whose subgraphs were sampled, with the share sampled."""
        self._require_fit()
        return self.vectorizer_.sampled_

    @property
    def reasons_(self) -> dict[Any, list[ClassReason]]:
        """The pieces that mark each class in the training graphs, by class, strongest first."""
        self._require_fit()
        templates, classes = self.templates_, self.target_.classes.tolist()
        reasons: dict[Any, list[ClassReason]] = {value: [] for value in classes}
        rows = ["all graphs"] if self.target_.numeric else classes
        for mark in self._marks:
            template = templates[mark.column]
            counts = zip(rows, self._presence[:, mark.column].tolist(), self._graphs_by_class.tolist(), strict=True)
            reasons[classes[mark.output]].append(
                ClassReason(
                    classes[mark.output],
                    template.text(),
                    template,
                    mark.column,
                    mark.effect,
                    mark.alike,
                    {value: (held, of) for value, held, of in counts},
                    mark.weight,
                    tuple(self._examples[i] for i in mark.examples) if self._examples else (),
                )
            )
        return reasons

    def unseen_share(self, X: Any) -> NDArray[np.float64]:
        """Return the share of each graph's subgraphs that no training graph has, shape (g,); high if it is unusual."""
        chunks = in_chunks(self._checked(X))
        vectorizer = self.vectorizer_
        return np.concatenate([vectorizer.vocabulary_.unseen(vectorizer.count(chunk)) for chunk in chunks])

    def _check_params(self) -> None:
        check_plain(self.get_params(deep=False))
        self._vectorizer().check_params()
        if self.n_templates is not None and self.n_templates != "auto":
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

    def _training(self, survey: Survey, y: Any, groups: Any, sample_weight: Any) -> Training:
        """Encode the targets, and keep what later predictions need to know about the training graphs."""
        self.size_, self.label_names_, self.kind_ = survey.largest, survey.names_for(y), survey.kind
        self.standardize_ = standardization_of(survey.sample) if survey.kind == "molecules" else None
        y = survey.y if y is None else y
        if y is None:
            raise InputError(f"{type(self).__name__}.fit needs y; pass it, or graphs that have it")
        targets = self._encode(y, len(survey))
        weights = self._weights(sample_weight, targets)
        if weights is not None:
            weights = np.where(weights > 1e-9 * weights.max(), weights, 0.0)
        together = join_groups(survey.hashes, groups)
        return Training(survey, as_y(y, len(survey)), targets, weights, survey.hashes, together)

    def _fit_head(self, tables: Sequence[CountTable], training: Training, graphs: GraphStream) -> Inputs:
        """Learn templates, features and head; return the inputs of the training graphs."""
        distinct = training.distinct
        places = self.vectorizer_.learn(tables, graphs.name, distinct)
        vocabulary, terms, seed = self.vectorizer_.vocabulary_, training.survey.terms, derive_seed(self.seed_, "head")

        self.features_ = SumFeatures.learn(vocabulary, tables, terms, distinct, NORM)
        rows = self._rows_with_counts(training, seed)
        counts = _with_terms(vocabulary.counts(tables, places, rows), self.features_, terms, rows)
        inputs = training.inputs(self.features_.of(tables, terms, places), counts)
        if isinstance(self.target_, Numbers):
            training = self._choose_scale(inputs, training, seed)
        if self.target_.numeric:
            # held-out data decide whether features are divided by their norm, and whether they are logarithms
            least = held_out_loss(inputs, training.targets, self.target_, training.weights, seed)
            for transform in (LOG, COUNT):
                sums = SumFeatures.learn(vocabulary, tables, terms, distinct, transform)
                other = training.inputs(sums.of(tables, terms, places), counts)
                loss = held_out_loss(other, training.targets, self.target_, training.weights, seed)
                if loss < least:
                    self.features_, inputs, least = sums, other, loss
        if self.n_templates is not None:
            inputs = self._shorten(tables, inputs, training, graphs)
        with trained_by(graphs.workers if callable(graphs.workers) else None):
            self.head_ = get_head(self.head)().fit(inputs, training.targets, self.target_, training.weights, seed)
        self._calibration = None if self.target_.numeric else getattr(self.head_, "calibration", None)
        # a short list is chosen on all graphs, so its held-out score would be too good
        self.held_out_score_, self._held_out_columns = (
            (None, []) if self.n_templates is not None else self._held_out_scores(training)
        )
        self._training_targets = training.targets
        return inputs

    def _rows_with_counts(self, training: Training, seed: int) -> NDArray[np.bool_] | None:
        """Return the training graphs whose counts the head reads, None for all: sums read features, trees a sample."""
        head, none = get_head(self.head), csr_array((len(training.y), 0))
        if head.additive:
            return np.zeros(len(training.y), dtype=bool)
        if head not in (StackedHead, TreesHead):
            return None
        return training_rows(training.inputs(none, none), training.targets, self.target_, training.weights, seed)

    def _warn_of_repeats(self, inputs: Inputs, training: Training, name: str) -> None:
        """Warn if equal graphs have different targets, which no model can predict."""
        distinct = Distinct.of(inputs, training.weights)
        if number := distinct.disagreeing(training.targets):
            warnings.warn(
                f"{number} of {len(distinct.rows)} distinct graphs of {name} occur more than once, with different "
                f"targets; check them, or merge repeats before fitting",
                IsoNNWarning,
                stacklevel=3,
            )

    def _choose_scale(self, inputs: Inputs, training: Training, seed: int) -> Training:
        """Learn numbers as logarithms where held-out data prefer it."""
        logs = prefers_logarithm(inputs, training.y, training.weights, seed)
        if logs.any():
            self.target_ = Numbers.fit(training.y, logs)
            training = replace(training, targets=self.target_.encode(training.y))
        return training

    def _shorten(self, tables: Sequence[CountTable], inputs: Inputs, training: Training, graphs: GraphStream) -> Inputs:
        """Replace the vocabulary by a short list; return the inputs of its templates."""
        before, target = self.features_, self.target_
        wanted = _as_numbers(training.targets, target)
        full = LinearHead().fit(inputs, training.targets, target, training.weights, derive_seed(self.seed_, "head"))
        every = replace(
            before,
            scales=np.ones(len(before.vocabulary)),
            transform=LOG,
            size=SizeTerms.empty(),
            further=NumberTerms.empty(),
        )
        features = every.of(tables, training.survey.terms)
        count = self.n_templates
        with limit_threads(1, "blas"):  # with hundreds of small systems, threads would wait for each other
            if count == "auto":
                count = auto_size(features, wanted, self._losses(full, training.targets), training.digests)
            assert isinstance(count, (int, np.integer))
            chosen = np.sort(short_list(features, wanted, int(count)))
        kept = replace(every, vocabulary=every.vocabulary.keep(chosen), scales=every.scales[chosen])
        self.features_, features = kept.standardised(csr_array(features[:, chosen]))
        self.vectorizer_.vocabulary_ = self.features_.vocabulary
        short = training.inputs(features, csr_array(inputs.counts[:, chosen]))
        head = LinearHead().fit(short, training.targets, target, training.weights, derive_seed(self.seed_, "head"))
        some = replace(next(iter(graphs)), name=graphs.name)
        self.coverage_ = self._coverage(some, (before, full), (self.features_, head))
        return short

    def _held_out_scores(self, training: Training) -> tuple[Scores | None, list[Scores]]:
        """Return the scores of the held-out predictions for the training graphs, and those of several columns."""
        if self.head_.held_out is None:
            return None, []
        rows = np.isfinite(self.head_.held_out).any(axis=1)
        if not rows.any():
            return None, []
        answers = self.target_.link(np.nan_to_num(self.head_.held_out[rows]))
        return held_out_scores(self.target_, self.target_.decode(training.targets[rows]), answers)

    def _losses(self, head: LinearHead, targets: NDArray[Any]) -> NDArray[np.float64]:
        """Return the squared leave-one-out error of each graph, for targets from `_as_numbers`."""
        wanted = _as_numbers(targets, self.target_)
        guess = head.held_out
        if not self.target_.numeric:
            guess = self.target_.link(np.nan_to_num(guess))
        return np.asarray(np.nan_to_num((wanted - guess) ** 2).mean(axis=1))

    def _coverage(self, graphs: GraphSet, full: Model, short: Model) -> float:
        """Return the share of important edges that the short list covers with the same sign, on a few training graphs.

        The important edges of a graph are the tenth with the largest importance in the full vocabulary.
        """
        covered = total = 0
        for i in range(min(len(graphs), COVERAGE_GRAPHS)):
            by_full = explain_matched(self._matches(graphs[i : i + 1], full), self.target_, None, 0)
            by_short = explain_matched(self._matches(graphs[i : i + 1], short), self.target_, by_full.explained, 0)
            rows, columns = np.nonzero(np.triu(graphs[i].adjacency != 0, 1))
            if not len(rows):
                continue
            value = by_full.edge_importance[rows, columns]
            top = np.argsort(-np.abs(value), kind="stable")[: max(1, len(rows) // 10)]
            covered += int((np.sign(value[top]) == np.sign(by_short.edge_importance[rows[top], columns[top]])).sum())
            total += len(top)
        return covered / total if total else 1.0

    def _linear_head(self, inputs: Inputs, training: Training) -> LinearHead:
        """Return the linear part of the head, fitted now if the head has none."""
        linear = getattr(self.head_, "linear", self.head_)
        if isinstance(linear, LinearHead):
            return linear
        seed = derive_seed(self.seed_, "head")
        return LinearHead().fit(inputs, self._training_targets, self.target_, training.weights, seed)

    def _learn_trust(self, inputs: Inputs, training: Training, linear: LinearHead, graphs: GraphStream) -> None:
        """Learn from held-out outputs how wrong predictions are, and for which graphs."""
        self._trust = self._conformal = None
        # a short list is chosen on all graphs, so its held-out errors would be too small
        if self.head_.held_out is None or self.n_templates is not None:
            return
        describe = None
        if self.keep_examples:
            names = self._example_names(training, graphs)
            describe = examples_of(inputs.features, names, _values_of(training.y), self.features_.vocabulary)
        self._trust = Trust.learn(
            inputs,
            self.head_.held_out,
            self._training_targets,
            self.target_,
            training.weights,
            linear.coef,
            training.survey.terms,
            describe,
        )
        self._conformal = None if self._trust is None else self._trust.conformal

    def _example_names(self, training: Training, graphs: GraphStream) -> NDArray[Any]:
        """Return the id, number or SMILES of every training graph, as ``keep_examples`` asks for."""
        if self.keep_examples != "smiles":
            return np.arange(len(training.groups)) if training.survey.ids is None else training.survey.ids
        chunks = list(graphs) if self.kind_ == "molecules" else []
        if not chunks or any("smiles" not in chunk.table for chunk in chunks):
            raise InputError("keep_examples='smiles' needs molecules given as SMILES; use keep_examples=True for ids")
        return np.concatenate([chunk.table["smiles"] for chunk in chunks])

    def _mark_classes(self, inputs: Inputs, training: Training, linear: LinearHead) -> None:
        """Find the templates behind ``reasons_``."""
        vocabulary, encoding, targets = self.features_.vocabulary, self.vectorizer_.encoding_, self._training_targets
        del self._training_targets
        self._presence, self._graphs_by_class = presence_by_class(
            inputs.features, targets, self.target_, len(vocabulary)
        )
        labelled = [np.full(len(block), encoding.views[block.view].labelled) for block in vocabulary.blocks]
        self._marks = class_marks(inputs.features, linear, targets, self.target_, np.concatenate(labelled), self.seed_)
        shown = {i for mark in self._marks for i in mark.examples} if self.keep_examples else set()
        ids = np.arange(len(targets)) if training.survey.ids is None else training.survey.ids
        self._examples = [str(ids[i]) if i in shown else "" for i in range(len(targets))] if shown else []

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        """Return the answers of the head, read by ``n_jobs`` threads; warn if most graphs are unusual."""

        def read(chunk: GraphSet, vectorizer: SubgraphVectorizer) -> tuple[NDArray[np.float64], int]:
            tables = vectorizer.count(chunk)
            unseen = vectorizer.vocabulary_.unseen(tables, STRANGE_NODES)
            return self.head_.outputs(self._inputs(chunk, tables)), int((unseen > STRANGE).sum())

        outputs, strange = zip(*self._in_chunks(read, graphs), strict=True)
        self.vectorizer_.warn_of_unseen(graphs, sum(strange) if sum(strange) > len(graphs) / 2 else 0)
        return self.target_.link(np.concatenate(outputs))

    def _judge(self, graphs: GraphSet) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, Domain | None]:
        assert self._trust is not None
        assessed = self._assess(graphs, self._trust)
        signals = self._trust.references.signals(assessed.near) if self.target_.numeric else None
        return assessed.outputs, signals, self._domain_of(graphs, assessed, self._trust)

    def _assess(self, graphs: GraphSet, trust: Trust) -> Assessed:
        """Return outputs with what intervals and the domain need, counting once."""

        def read(chunk: GraphSet, vectorizer: SubgraphVectorizer) -> Assessed:
            tables = vectorizer.count(chunk)
            terms = term_table(chunk, self.kind_)
            inputs = self._inputs(chunk, tables, terms)
            near = trust.references.nearest(trust.references.sketch(inputs.features))
            unknown = unknown_nodes(tables, vectorizer.vocabulary_)
            shared = trust.shared(inputs.features, near)
            return Assessed(self.head_.outputs(inputs), near, terms, unknown, shared)

        return Assessed.join(list(self._in_chunks(read, graphs)))

    def domain(self, X: Any) -> Domain:
        """Return whether the model knows such graphs: verdict, distance, unseen pieces and the nearest known graphs.

        Args:
            X: graphs.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(head="linear", random_state=0).fit(graphs[graphs.sizes < 20])
            >>> clf.domain(graphs[graphs.sizes == 28]).verdict.tolist()
            ['out', 'out', 'out']
        """
        self._require_fit()
        if self._trust is None:
            raise InputError(
                f"this {type(self).__name__} has no held-out errors, which domain needs; {self._no_errors()}"
            )
        domain = self._judge(self._checked(X))[2]
        assert domain is not None
        return domain

    def _domain_of(self, graphs: GraphSet, assessed: Assessed, trust: Trust) -> Domain:
        distance = distances(trust.references, assessed.near)
        names = [name for terms in terms_of(self.kind_) for name in terms.names]
        piece_names: dict[int, str] = {}

        def name_of(column: int) -> str:
            if column not in piece_names:
                piece_names[column] = self.templates_[column].text()
            return piece_names[column]

        def neighbours_of(i: int) -> list[Neighbour]:
            if trust.examples is None:
                return []
            near = assessed.near
            return trust.examples.neighbours(near.similarity[i], near.reference[i], assessed.shared[i], name_of)

        return Domain(
            trust.limits.verdicts(distance, assessed.terms, assessed.unknown),
            distance,
            trust.limits.outside(assessed.terms, names),
            lambda i: self.vectorizer_.unseen_pieces(graphs[i : i + 1], STRANGE_NODES),
            neighbours_of,
        )

    def _no_errors(self) -> str:
        if self.n_templates is not None:
            return "a short list is chosen on all graphs, so fit with n_templates=None"
        return "give more training graphs or groups, or use head='auto'"

    def _in_chunks(self, read: Callable[[GraphSet, SubgraphVectorizer], Any], graphs: GraphSet) -> Iterator[Any]:
        """Yield what ``read`` returns for a few graphs at a time, in ``n_jobs`` threads."""
        chunks = in_chunks(graphs, self.n_jobs)
        # a thread for each chunk, or several threads for the only one
        vectorizer = self.vectorizer_.with_jobs(1 if len(chunks) > 1 else self.n_jobs)
        return in_threads(lambda chunk: read(chunk, vectorizer), chunks, self.n_jobs)

    def _inputs(
        self, graphs: GraphSet, tables: Sequence[CountTable], terms: NDArray[np.float64] | None = None
    ) -> Inputs:
        terms = term_table(graphs, self.kind_) if terms is None else terms
        places = self.features_.vocabulary.places(tables)
        features = self.features_.of(tables, terms, places)
        if self.head_.additive:  # sums read features alone
            return Inputs(features, csr_array(features.shape))
        counts = self.features_.vocabulary.counts(tables, places)
        return Inputs(features, _with_terms(counts, self.features_, terms))

    def _matched_graph(self, X: Any) -> SubgraphMatches:
        graphs = self._checked(as_one_graph(X, self.standardize_))
        self.vectorizer_.warn_of_unseen(graphs)
        matched = self._matches(graphs, (self.features_, self.head_))
        matched.predict = self._answer
        return matched

    def _answer(self, graph: Graph) -> NDArray[np.float64]:
        """Return the answers for an edited graph, without the warnings of `predict`."""
        graphs = as_graphset([graph])
        outputs = self.head_.outputs(self._inputs(graphs, self.vectorizer_.count(graphs)))
        return np.asarray(self.target_.link(outputs)[0])

    def _matches(self, graphs: GraphSet, model: Model) -> SubgraphMatches:
        """Match a model with a set of one graph."""
        features, head = model
        vectorizer = self.vectorizer_.with_vocabulary(features.vocabulary)
        listed = list_subgraphs(vectorizer.encoding_.encode(graphs), self.max_subgraphs, vectorizer.cut_seed)
        columns = vectorizer.columns_of(listed.rows)
        terms = graph_terms(graphs, self.kind_)
        matches = SubgraphMatches(
            graphs[0], vectorizer.templates_, features, head, self.target_, listed, columns, terms
        )
        matches.reads = {*vectorizer.encoding_.labels, *vectorizer.encoding_.levels}
        return matches

    @classmethod
    def _params_from_json(cls, stored: dict[str, Any]) -> dict[str, Any]:
        return {**super()._params_from_json(stored), "view": view_param_from_json(stored["view"])}

    def _description(self) -> dict[str, Any]:
        return {
            "encoding": self.vectorizer_.encoding_.as_json(),
            "blocks": [[block.view, block.size] for block in self.features_.vocabulary.blocks],
            "transform": self.features_.transform,
            "kind": self.kind_,
            "head": self.head_.name,
            "sampled": sorted(self.sampled_.items()),
            "marks": [list(astuple(mark)) for mark in self._marks],
            "examples": self._examples,
            "neighbours": None if self._trust is None else self._trust.describe(),
            "held_out_score": self.held_out_score_,
            "held_out_columns": self._held_out_columns,
            "calibration": None if self._calibration is None else _as_json(self._calibration),
            "coverage": getattr(self, "coverage_", None),
        }

    def _tensors(self) -> dict[str, NDArray[Any]]:
        tensors: dict[str, NDArray[Any]] = {
            "scales": self.features_.scales,
            "presence": self._presence,
            "graphs_by_class": self._graphs_by_class,
        }
        for i, block in enumerate(self.features_.vocabulary.blocks):
            tensors[f"rows.{i}"], tensors[f"seen.{i}"] = block.rows, block.seen
        parts: dict[str, Any] = {"head": self.head_, "size": self.features_.size, "further": self.features_.further}
        if self._trust is not None:
            parts["trust"] = self._trust
        for prefix, part in parts.items():
            tensors.update({f"{prefix}.{name}": tensor for name, tensor in part.tensors().items()})
        return tensors

    def _restore(self, details: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        encoding = Encoding.from_json(details["encoding"])
        vocabulary = _restored_vocabulary(encoding, details["blocks"], tensors)

        def below(prefix: str) -> dict[str, NDArray[Any]]:
            return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}

        size, further = SizeTerms.restore(below("size.")), NumberTerms.restore(below("further."))
        scales = tensors["scales"].astype(np.float64)
        if details["transform"] not in (NORM, LOG, COUNT):
            raise ValueError(f"{details['transform']!r} is not a transform")
        self.features_ = SumFeatures(vocabulary, scales, details["transform"], size, further)
        self.kind_ = str(details["kind"])
        self.vectorizer_ = self._vectorizer()
        self.vectorizer_.seed_, self.vectorizer_.encoding_, self.vectorizer_.vocabulary_ = (
            self.seed_,
            encoding,
            vocabulary,
        )
        self.vectorizer_.label_names_ = {kind: self.label_names_[kind] for kind in ("node", "edge")}
        self.vectorizer_.sampled_ = {int(graph): float(share) for graph, share in details["sampled"]}
        self.head_ = get_head(details["head"]).restore(below("head."))
        self._presence, self._graphs_by_class = tensors["presence"], tensors["graphs_by_class"]
        self._marks = [Mark(*mark) for mark in details["marks"]]
        self._examples = list(details["examples"])
        self.held_out_score_ = details["held_out_score"]
        self._held_out_columns = [dict(scores) for scores in details["held_out_columns"]]
        errors = details["calibration"]
        self._calibration = None if errors is None else np.array(errors, dtype=np.float64)
        if self._calibration is not None and self._calibration.shape != self.target_.classes.shape:
            raise ValueError("each class has one calibration error")
        if details["coverage"] is not None:
            self.coverage_ = float(details["coverage"])
        linear = getattr(self.head_, "linear", self.head_).coefficients()
        if scales.shape != (len(vocabulary),) or (
            linear is not None and linear[0].shape != (self.target_.outputs, self.features_.columns)
        ):
            raise ValueError("weights and vocabulary differ in size")
        if "trust.limits.low" in tensors:
            terms = sum(len(group.names) for group in terms_of(self.kind_))
            self._trust = Trust.restore(
                below("trust."), details["neighbours"], self.target_, self.features_.columns, terms
            )
            self._conformal = self._trust.conformal


class SubgraphClassifier(SubgraphEstimator, GraphClassifier):
    """Classify graphs by the connected subgraphs they contain, and show which of them decide.

    Every connected subgraph of up to ``max_nodes`` nodes that occurs in at least two training graphs is a template. The
    head weighs their counts by sums and logic. Predictions do not depend on node numbering. Use this model for
    molecules, social networks and other graphs whose node order has no meaning. It does not need torch.

    Graphs must be undirected, and may have any size and be disconnected. Self-loops are ignored.

    Args:
        max_nodes: nodes of the largest templates, 1 to 6. "auto" takes up to six if the graphs have few enough
            subgraphs, as molecules do, and four for dense graphs.
        n_templates: number of templates. None uses the whole vocabulary, a number keeps a short list of at most that
            length, and "auto" keeps the shortest list within one standard error of the whole vocabulary.
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
        templates_: the templates. reasons_: the pieces that mark each class.
        vectorizer_: the fitted `SubgraphVectorizer`. head_: the fitted head.
        max_nodes_: nodes of the largest templates.
        weights_: the weights of sums and logic. calibration_: the expected calibration error of each class.
        held_out_score_: metrics of predictions for the training graphs by models that saw neither the graph nor an
            equal one nor its group; None for a short list. held_out_by_target_: the same for each of several labels.
        coverage_: for a short list, the share of the whole vocabulary's important edges that it covers.
        sampled_: training graphs whose subgraphs were sampled, with the share sampled.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(random_state=0).fit(graphs)
        >>> isonn.testing.assert_relabelling_invariant(clf, graphs[:20])
    """

    _supports_gaps = True

    def __init__(
        self,
        max_nodes: int | str = "auto",
        n_templates: int | str | None = None,
        *,
        view: str | View | Sequence[str | View] = "auto",
        head: str = "auto",
        min_support: int = 2,
        max_subgraphs: int = 100_000,
        class_weight: str | Mapping[Any, float] | None = None,
        keep_examples: bool | str = False,
        n_jobs: int = 1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_nodes = max_nodes
        self.n_templates = n_templates
        self.view = view
        self.head = head
        self.min_support = min_support
        self.max_subgraphs = max_subgraphs
        self.class_weight = class_weight
        self.keep_examples = keep_examples
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def alerts(self, X: Any, y: Any = None, *, label: Any = None, top: int = 50, min_support: int = 5) -> Any:
        """Find structural alerts: groups and pieces of molecules that warn of a class, as SMARTS.

        Candidates are named functional groups, families of them, and the pieces of this model; ``y`` decides. The list
        is chosen again without each fold of ``X``, and an alert is judged on a fold only if it was chosen without it.
        Needs the extra ``molecules``.

        Args:
            X: molecules: SMILES, or a `GraphSet` of them.
            y: their classes; not needed for a `GraphSet` with ``y``.
            label: the class to warn of, or one of several labels by its name or number; None uses the second of two
                classes.
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
        with naming_the_extra("alerts"):
            find = importlib.import_module("isonn.molecules.alerts").find_alerts
        return find(self, X, y, label, top, min_support)

    def _check_params(self) -> None:
        super()._check_params()
        check_class_weight(self.class_weight)


class SubgraphRegressor(SubgraphEstimator, GraphRegressor):
    """Predict numbers from the connected subgraphs of a graph, and show each one's effect in the units of ``y``.

    This is the model of `SubgraphClassifier` for numbers, one per graph or one column per measurement, with NaN for
    missing values. Held-out data decide whether positive numbers are learned as logarithms, and whether counts enter as
    they are, as logarithms, or divided by their norm, so that large graphs do not count more than small ones.

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

    def __init__(
        self,
        max_nodes: int | str = "auto",
        n_templates: int | str | None = None,
        *,
        view: str | View | Sequence[str | View] = "auto",
        head: str = "auto",
        min_support: int = 2,
        max_subgraphs: int = 100_000,
        keep_examples: bool | str = False,
        n_jobs: int = 1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_nodes = max_nodes
        self.n_templates = n_templates
        self.view = view
        self.head = head
        self.min_support = min_support
        self.max_subgraphs = max_subgraphs
        self.keep_examples = keep_examples
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def alerts(self, *_: Any, **__: Any) -> NoReturn:
        """Raise `InputError`: alerts warn of a class. ``reasons_`` has the pieces that raise and lower a number."""
        raise InputError(
            "alerts warn of a class, and this model predicts numbers; use reasons_ for the pieces that raise or lower "
            "them, or fit classes, such as values above a threshold"
        )


def _restored_vocabulary(encoding: Encoding, keys: Sequence[Any], tensors: dict[str, NDArray[Any]]) -> Vocabulary:
    """Return the templates of a saved model; raise ValueError if they do not fit its encoding."""
    blocks: list[Block] = []
    first = 0
    for i, (view, size) in enumerate(keys):
        rows = tensors[f"rows.{i}"]
        if not 0 <= view < len(encoding.views) or size not in encoding.sizes[view]:
            raise ValueError(f"the encoding has no block {i}")
        if rows.shape[1:] != (size * (size + 1) // 2,) or rows.dtype.kind not in "iu":
            raise ValueError(f"the rows of block {i} have shape {rows.shape}")
        blocks.append(Block(int(view), int(size), rows, first, tensors[f"seen.{i}"].astype(np.uint64)))
        first += len(rows)
    return Vocabulary(tuple(blocks))


def _values_of(y: NDArray[Any]) -> list[Any]:
    """Return targets as JSON, with None for NaN."""
    return [_without_nan(value) for value in y.tolist()]


def _without_nan(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_nan(entry) for entry in value]
    return None if isinstance(value, float) and value != value else value


def _as_json(numbers: NDArray[np.float64]) -> list[float | None]:
    """Return numbers with None for NaN, which JSON does not have."""
    return [float(number) if np.isfinite(number) else None for number in numbers]


def _as_numbers(targets: NDArray[Any], target: Target) -> NDArray[np.float64]:
    """Return targets as columns of numbers, one per class."""
    if target.exclusive:
        return np.asarray(targets[:, None] == np.arange(len(target.classes)), dtype=np.float64)
    return np.asarray(targets, dtype=np.float64)


def _with_terms(
    counts: csr_array, features: SumFeatures, terms: NDArray[np.float64], rows: NDArray[np.bool_] | None = None
) -> csr_array:
    """Return counts of templates with the terms of the graphs to their right, for the trees; of some rows or of all."""
    if not features.size.columns:  # a short list
        return counts
    table = features.further.filled(terms).astype(counts.dtype)
    if rows is not None:
        table[~rows] = 0
    return csr_array(hstack([counts, csr_array(table)], format="csr"))


def graph_terms(graphs: GraphSet, kind: str) -> GraphTerms:
    """Return the terms of a set of one graph."""
    groups = terms_of(kind)
    starts = np.cumsum([0, *(len(terms.names) for terms in groups)])
    places = [start + np.arange(terms.shared) for start, terms in zip(starts, groups, strict=False)]
    values, per_node = zip(*(terms.of_graph(graphs) for terms in groups), strict=True)
    return GraphTerms(
        [name for terms in groups for name in terms.names],
        np.concatenate(values),
        np.concatenate(places).astype(np.int64),
        np.concatenate(per_node),
    )
