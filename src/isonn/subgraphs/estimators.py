"""`SubgraphClassifier` and `SubgraphRegressor`: counts of connected subgraphs, and a head that weighs them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from typing_extensions import Self

from isonn.errors import InputError, naming_the_extra
from isonn.estimator import GraphClassifier, GraphEstimator, GraphRegressor
from isonn.explain.explanation import Explanation, explain_matched
from isonn.explain.reasons import ClassReason
from isonn.explain.template import Template
from isonn.graphs.convert import as_one_graph
from isonn.graphs.graph import GraphSet
from isonn.graphs.stream import GraphStream, as_stream
from isonn.heads import Head, LinearHead, get_head
from isonn.params import check_class_weight, check_count, check_plain
from isonn.processes import limit_threads
from isonn.seeding import derive_seed, resolve_seed
from isonn.subgraphs.count import list_subgraphs
from isonn.subgraphs.encode import Encoding
from isonn.subgraphs.explain import SubgraphMatches
from isonn.subgraphs.features import SumFeatures
from isonn.subgraphs.marks import Mark, class_marks, presence_by_class
from isonn.subgraphs.select import auto_size, short_list
from isonn.subgraphs.survey import Survey, directed_error, directed_graph
from isonn.subgraphs.table import CountTable
from isonn.subgraphs.terms import SizeTerms, size_counts
from isonn.subgraphs.vectorizer import SubgraphVectorizer, in_chunks
from isonn.subgraphs.views import View, view_param_from_json
from isonn.subgraphs.vocabulary import Block, Vocabulary
from isonn.targets import Target

#: A graph is unusual if more than this share of its pieces is unknown. A warning appears if most graphs are.
STRANGE = 0.5
#: Number of training graphs used to measure the coverage of a short list.
COVERAGE_GRAPHS = 100

#: The features of a model, and its head.
Model = tuple[SumFeatures, Head]


class SubgraphEstimator(GraphEstimator):
    """The common base of the classifier and the regressor: a vectorizer, features and a head."""

    max_nodes: int
    n_templates: int | str | None
    view: str | View | Sequence[str | View]
    head: str
    min_support: int
    max_subgraphs: int
    keep_examples: bool
    n_jobs: int
    random_state: Any
    verbose: int

    vectorizer_: SubgraphVectorizer
    features_: SumFeatures
    head_: Head
    seed_: int
    coverage_: float
    held_out_score_: dict[str, float] | None
    _presence: NDArray[np.int32]
    _graphs_by_class: NDArray[np.int64]
    _marks: list[Mark]
    _examples: list[str]

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Fit to graphs ``X`` and targets ``y``.

        A stream (`isonn.stream`) is read twice, a few thousand graphs at a time, and its counts are kept on disk. The
        model is the same as for graphs in memory.

        Args:
            X: a `GraphSet`, anything `isonn.as_graphset` takes, or a stream.
            y: one class or number per graph, shape (g,), or a column per label or measurement, shape (g, t).
            sample_weight: one weight per graph.
        """
        self._check_params()
        self._fitted = False
        self.seed_ = resolve_seed(self.random_state)
        graphs = as_stream(X)
        self.vectorizer_ = self._vectorizer()
        survey = self.vectorizer_.survey(graphs)
        targets = self._targets(survey, y)
        weights = self._weights(sample_weight, targets)
        with self.vectorizer_.tables(graphs, survey) as tables:
            features = self._fit_head(tables, survey, targets, weights, graphs)
        self._mark_classes(features, targets, survey)
        self._remember(survey.hashes)
        self._fitted = True
        return self

    def transform(self, X: Any) -> csr_array:
        """Return the features of the head, sparse, one row per graph."""
        chunks = in_chunks(self._checked(X))
        return csr_array(vstack([self._features(chunk) for chunk in chunks], format="csr"))

    def count(self, X: Any) -> csr_array:
        """Return how often each graph contains each template, sparse, shape (g, templates)."""
        graphs = self._checked(X)
        return self.vectorizer_.transform(graphs)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return a unique name for each column of `transform`: what its template requires, then the size terms."""
        self._require_fit()
        sizes = [f"size {i}" for i in range(self.features_.terms.columns)]
        return np.array([*self.vectorizer_.get_feature_names_out(), *sizes], dtype=object)

    def explain(self, X: Any, label: Any = None, top: int | None = 100) -> Explanation:
        """Explain the prediction for one graph by reasons, matches with contributions, and importances.

        With ``head="linear"`` the contributions of all pieces sum to ``score - base`` exactly. The contributions of
        other heads are computed by removing pieces, and need not add up.

        Args:
            X: one graph: a `Graph`, a NetworkX graph, a matrix, or a set of one.
            label: the class (or the column of ``y``) to explain; None explains the predicted class.
            top: number of matches to list; None lists all. The importances always count all matches.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(random_state=0).fit(graphs)
            >>> e = clf.explain(graphs[0])
            >>> bool(abs(e.node_importance.sum() - (e.score - e.base)) < 1e-9)
            True
        """
        return explain_matched(self._matched_graph(X), self.target_, label, top, self.label_names_)

    @property
    def templates_(self) -> Sequence[Template]:
        """The templates, in feature order."""
        self._require_fit()
        return self.vectorizer_.templates_

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
        """Return the share of each graph's subgraphs that are not templates, shape (g,); high if it is unusual."""
        chunks = in_chunks(self._checked(X))
        vectorizer = self.vectorizer_
        return np.concatenate([vectorizer.vocabulary_.unseen(vectorizer.count(chunk)) for chunk in chunks])

    def _check_params(self) -> None:
        check_plain(self.get_params(deep=False))
        self._vectorizer().check_params()
        if self.n_templates is not None and self.n_templates != "auto":
            check_count("n_templates", self.n_templates)
        get_head(self.head)

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

    def _targets(self, survey: Survey, y: Any) -> NDArray[Any]:
        """Encode the targets, and keep what later predictions need to know about the training graphs."""
        self.size_, self.label_names_ = survey.largest, survey.names_for(y)
        y = survey.y if y is None else y
        if y is None:
            raise InputError(f"{type(self).__name__}.fit needs y; pass it, or graphs that have it")
        return self._encode(y, len(survey))

    def _fit_head(
        self,
        tables: Sequence[CountTable],
        survey: Survey,
        targets: NDArray[Any],
        weights: NDArray[np.float64] | None,
        graphs: GraphStream,
    ) -> csr_array:
        """Learn templates, features and head; return the features of the training graphs."""
        places = self.vectorizer_.learn(tables, graphs.name)
        seed = derive_seed(self.seed_, "head")
        best: tuple[SumFeatures, csr_array, LinearHead] | None = None
        for row_norm in (True, False) if self.target_.numeric else (True,):
            # for numbers, leave-one-out decides whether features are divided by their norm
            sums = SumFeatures.learn(self.vectorizer_.vocabulary_, tables, survey.sizes, row_norm)
            features = sums.of(tables, survey.sizes, places)
            head = LinearHead().fit(features, targets, self.target_, weights, seed)
            if best is None or head.loss < best[2].loss:
                best = sums, features, head
        assert best is not None
        self.features_, features, linear = best
        if self.n_templates is not None:
            features, linear = self._shorten(tables, survey, targets, weights, linear, graphs)
        self._linear: LinearHead = linear
        self.head_ = linear
        # a short list is chosen on all graphs, so the leave-one-out score of its head would be too good
        honest = self.n_templates is None and self.head == LinearHead.name
        self.held_out_score_ = self._held_out_score(linear, targets) if honest else None
        if self.head != LinearHead.name:
            self.head_ = get_head(self.head)().fit(features, targets, self.target_, weights, seed)
        return features

    def _shorten(
        self,
        tables: Sequence[CountTable],
        survey: Survey,
        targets: NDArray[Any],
        weights: NDArray[np.float64] | None,
        full: LinearHead,
        graphs: GraphStream,
    ) -> tuple[csr_array, LinearHead]:
        """Replace the vocabulary by a short list; return its features and linear head."""
        wanted, before = _as_numbers(targets, self.target_), self.features_
        every = SumFeatures(before.vocabulary, np.ones(len(before.vocabulary)), False, SizeTerms.empty())
        features = every.of(tables, survey.sizes)
        count = self.n_templates
        with limit_threads(1, "blas"):  # with hundreds of small systems, threads would wait for each other
            if count == "auto":
                count = auto_size(features, wanted, self._losses(full, targets), survey.hashes)
            assert isinstance(count, (int, np.integer))
            chosen = np.sort(short_list(features, wanted, int(count)))
        kept = SumFeatures(every.vocabulary.keep(chosen), every.scales[chosen], False, every.terms)
        self.features_, features = kept.standardised(csr_array(features[:, chosen]))
        self.vectorizer_.vocabulary_ = self.features_.vocabulary
        head = LinearHead().fit(features, targets, self.target_, weights, derive_seed(self.seed_, "head"))
        some = replace(next(iter(graphs)), name=graphs.name)
        self.coverage_ = self._coverage(some, (before, full), (self.features_, head))
        return features, head

    def _held_out_score(self, head: LinearHead, targets: NDArray[Any]) -> dict[str, float] | None:
        """Return the metrics of the leave-one-out predictions for the training graphs."""
        rows = np.isfinite(head.held_out).any(axis=1)
        if not rows.any():
            return None
        answers = self.target_.link(np.nan_to_num(head.held_out[rows]))
        return self.target_.metrics(self.target_.decode(targets[rows]), self.target_.decide(answers))

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

    def _mark_classes(self, features: csr_array, targets: NDArray[Any], survey: Survey) -> None:
        """Find the templates behind ``reasons_``."""
        vocabulary, encoding = self.features_.vocabulary, self.vectorizer_.encoding_
        self._presence, self._graphs_by_class = presence_by_class(features, targets, self.target_, len(vocabulary))
        labelled = [np.full(len(block), encoding.views[block.view].labelled) for block in vocabulary.blocks]
        self._marks = class_marks(features, self._linear, targets, self.target_, np.concatenate(labelled), self.seed_)
        del self._linear  # the leave-one-out outputs of all training graphs need not be kept
        shown = {i for mark in self._marks for i in mark.examples} if self.keep_examples else set()
        ids = np.arange(len(survey)) if survey.ids is None else survey.ids
        self._examples = [str(ids[i]) if i in shown else "" for i in range(len(survey))] if shown else []

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        outputs, strange = [], 0
        for chunk in in_chunks(graphs):
            tables = self.vectorizer_.count(chunk)
            if self.n_templates is None:
                strange += int((self.vectorizer_.vocabulary_.unseen(tables) > STRANGE).sum())
            outputs.append(self.head_.outputs(self.features_.of(tables, size_counts(chunk))))
        self.vectorizer_.warn_of_unseen(graphs, strange if strange > len(graphs) / 2 else 0)
        return self.target_.link(np.concatenate(outputs))

    def _features(self, graphs: GraphSet) -> csr_array:
        return self.features_.of(self.vectorizer_.count(graphs), size_counts(graphs))

    def _matched_graph(self, X: Any) -> SubgraphMatches:
        graphs = self._checked(as_one_graph(X))
        self.vectorizer_.warn_of_unseen(graphs)
        return self._matches(graphs, (self.features_, self.head_))

    def _matches(self, graphs: GraphSet, model: Model) -> SubgraphMatches:
        """Match a model with a set of one graph."""
        features, head = model
        vectorizer = self.vectorizer_.with_vocabulary(features.vocabulary)
        listed = list_subgraphs(vectorizer.encoding_.encode(graphs), self.max_subgraphs, vectorizer.cut_seed)
        columns = vectorizer.columns_of(listed.rows)
        terms = features.terms.features(size_counts(graphs))
        return SubgraphMatches(graphs[0], vectorizer.templates_, features, head, self.target_, listed, columns, terms)

    @classmethod
    def _params_from_json(cls, stored: dict[str, Any]) -> dict[str, Any]:
        return {**super()._params_from_json(stored), "view": view_param_from_json(stored["view"])}

    def _description(self) -> dict[str, Any]:
        return {
            "encoding": self.vectorizer_.encoding_.as_json(),
            "blocks": [[block.view, block.size] for block in self.features_.vocabulary.blocks],
            "row_norm": self.features_.row_norm,
            "head": self.head_.name,
            "sampled": sorted(self.sampled_.items()),
            "marks": [list(astuple(mark)) for mark in self._marks],
            "examples": self._examples,
            "held_out_score": self.held_out_score_,
            "coverage": getattr(self, "coverage_", None),
        }

    def _tensors(self) -> dict[str, NDArray[Any]]:
        tensors: dict[str, NDArray[Any]] = {
            "scales": self.features_.scales,
            "presence": self._presence,
            "graphs_by_class": self._graphs_by_class,
        }
        for i, block in enumerate(self.features_.vocabulary.blocks):
            tensors[f"rows.{i}"] = block.rows
        for prefix, part in (("head.", self.head_.tensors()), ("size.", self.features_.terms.tensors())):
            tensors.update({prefix + name: tensor for name, tensor in part.items()})
        return tensors

    def _restore(self, details: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        encoding = Encoding.from_json(details["encoding"])
        vocabulary = _restored_vocabulary(encoding, details["blocks"], tensors)

        def below(prefix: str) -> dict[str, NDArray[Any]]:
            return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}

        terms, scales = SizeTerms.restore(below("size.")), tensors["scales"].astype(np.float64)
        self.features_ = SumFeatures(vocabulary, scales, bool(details["row_norm"]), terms)
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
        if details["coverage"] is not None:
            self.coverage_ = float(details["coverage"])
        linear = self.head_.coefficients()
        if scales.shape != (len(vocabulary),) or (
            linear is not None and linear[0].shape != (self.target_.outputs, self.features_.columns)
        ):
            raise ValueError("weights and vocabulary differ in size")


class SubgraphClassifier(SubgraphEstimator, GraphClassifier):
    """Classify graphs by the connected subgraphs they contain, and show which of them decide.

    Every connected subgraph of up to ``max_nodes`` nodes that occurs in at least two training graphs is a template. The
    features are the counts of each template, and a linear head weighs them. Predictions do not depend on node
    numbering. Use this model for molecules, social networks and other graphs whose node order has no meaning. It does
    not need torch.

    Graphs must be undirected, and may have any size and be disconnected. Self-loops are ignored.

    Args:
        max_nodes: nodes of the largest templates, 1 to 6.
        n_templates: number of templates. None uses the whole vocabulary, a number keeps a short list of at most that
            length, and "auto" keeps the shortest list within one standard error of the whole vocabulary.
        view: the information that nodes and edges carry: one or several names from `isonn.subgraphs.views.VIEWS`, or
            `View` objects such as ``LabelsView(edge_labels=False)``. "auto" uses labels together with labels refined by
            degree and cycles; for molecules, elements and labels.
        head: "linear" (contributions add up), "forest", or "ensemble" (the mean of both).
        min_support: minimum number of training graphs that contain a template.
        max_subgraphs: subgraphs per size and graph above which they are sampled; nodes and edges never are.
        class_weight: weights of classes: None, "balanced", or a dict from class to weight.
        keep_examples: whether to store the ids of training graphs that show the reasons of each class.
        n_jobs: number of threads that count subgraphs. It does not change the result.
        random_state: seed of all random draws; None draws one.
        verbose: 1 shows a progress bar.

    Attributes set by ``fit``:
        templates_: the templates. reasons_: the pieces that mark each class.
        vectorizer_: the fitted `SubgraphVectorizer`. head_: the fitted head.
        held_out_score_: leave-one-out metrics on the training graphs, for the whole vocabulary with a linear head.
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
        max_nodes: int = 4,
        n_templates: int | str | None = None,
        *,
        view: str | View | Sequence[str | View] = "auto",
        head: str = "linear",
        min_support: int = 2,
        max_subgraphs: int = 100_000,
        class_weight: str | Mapping[Any, float] | None = None,
        keep_examples: bool = False,
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

    def alerts(self, X: Any, y: Any = None, *, label: Any = None, top: int = 30, min_support: int = 5) -> Any:
        """Find structural alerts: the pieces of molecules that make this model predict a class, as SMARTS.

        Alerts are chosen by the model's predictions for the molecules of ``X``, and judged by ``y`` on molecules that
        were not in the training set. Training molecules are recognised by salted hashes stored in the model, and judged
        by cross-fitting. Needs the extra ``molecules``.

        Args:
            X: molecules: SMILES, or a `GraphSet` of them.
            y: their classes; not needed for a `GraphSet` with ``y``.
            label: the class to warn of, or one of several labels by its name or number; None uses the second of two
                classes.
            top: maximum number of alerts.
            min_support: minimum number of molecules of ``X`` that contain an alert.

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
    missing values. Leave-one-out decides whether features are divided by their norm, so that large graphs do not count
    more than small ones.

    Args:
        max_nodes: nodes of the largest templates, 1 to 6.
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
        max_nodes: int = 4,
        n_templates: int | str | None = None,
        *,
        view: str | View | Sequence[str | View] = "auto",
        head: str = "linear",
        min_support: int = 2,
        max_subgraphs: int = 100_000,
        keep_examples: bool = False,
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
        blocks.append(Block(int(view), int(size), rows, first))
        first += len(rows)
    return Vocabulary(tuple(blocks))


def _as_numbers(targets: NDArray[Any], target: Target) -> NDArray[np.float64]:
    """Return targets as columns of numbers, one per class."""
    if target.exclusive:
        return np.asarray(targets[:, None] == np.arange(len(target.classes)), dtype=np.float64)
    return np.asarray(targets, dtype=np.float64)
