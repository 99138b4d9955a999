"""`SubgraphClassifier` and `SubgraphRegressor`: templates that are connected subgraphs.

By default every subgraph of up to four nodes that occurs in two training graphs is a template, and a linear head weighs
them (`isonn.subgraphs.vocabulary`). ``c=32`` keeps a short list of 32 templates that is easy to read.
``learn_templates=True`` trains soft templates by gradient instead (`isonn.subgraphs.soft`, needs torch).
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, vstack
from typing_extensions import Self

from isonn import progress
from isonn.errors import InputError, naming_the_extra
from isonn.estimator import GraphClassifier, GraphEstimator, GraphRegressor
from isonn.explain.explanation import Explanation, MatchedGraph, Template, explain_matched, with_evidence
from isonn.explain.reasons import ClassReason
from isonn.graphs.convert import as_graphset, as_one_graph
from isonn.graphs.graph import GraphSet
from isonn.graphs.stream import GraphStream, stream
from isonn.heads import Head, LinearHead, get_head
from isonn.params import check_class_weight, check_count, check_plain, check_subgraph_sizes, check_widths, sizes_of
from isonn.processes import limit_threads
from isonn.seeding import derive_seed, resolve_seed
from isonn.subgraphs.bank import Banked, bank_subgraphs, sampled_shares
from isonn.subgraphs.explain import Templates, VocabularyMatches, find_occurrences
from isonn.subgraphs.select import Mark, auto_size, class_marks, evidence_of, presence_by_class, short_list
from isonn.subgraphs.store import Run, bank_folder, cut_to_folder, look, pieces_in
from isonn.subgraphs.views import (
    COLUMNS,
    DistinctValues,
    Encoding,
    check_folded,
    check_undirected,
    columns_to_read,
    directed_error,
    directed_graph,
    encoding_from_json,
    encoding_of,
    fit_encoding,
    fold_leaves,
    get_view,
    leaf_label,
    used_columns,
)
from isonn.subgraphs.vocabulary import (
    Pieces,
    SizeBlock,
    TemplateGroup,
    Vocabulary,
    learn_vocabulary,
    pieces_of,
    size_counts,
    standardised,
    with_wildcards,
)
from isonn.targets import Target

if TYPE_CHECKING:
    from isonn.subgraphs.soft import SoftTemplateClassifier
    from isonn.training import History

#: Number of graphs counted together in prediction.
GRAPHS_AT_ONCE = 4096
#: A graph is unusual if more than this share of its pieces is unknown. A warning appears if most graphs are.
STRANGE = 0.5
#: Number of training graphs used to measure the coverage of a short list.
COVERAGE_GRAPHS = 100
#: The views of ``view="auto"``, and those of soft templates.
AUTO_VIEWS, SOFT_VIEWS = ("labels", "refined"), ("labels", "degrees")
#: The views of ``view="auto"`` for kinds of graphs. Atom labels already contain what "refined" adds, and elements alone
#: join what they split (5 folds: RMSE 0.68 instead of 0.71 on ESOL, 1.09 instead of 1.19 on FreeSolv; same AUROC on
#: BBBP and BACE).
AUTO_VIEWS_OF = {"molecules": ("elements", "labels")}


#: Vocabulary, head and size features.
Model = tuple[Vocabulary, Head, SizeBlock]


class SubgraphEstimator(GraphEstimator):
    """The common base of the classifier and the regressor."""

    k: int | Sequence[int]
    c: int | str | None
    view: str | Sequence[str]
    regions: str
    fold: Any
    wildcards: bool
    keep_examples: bool
    head: str
    learn_templates: bool | str
    node_labels: bool | str
    edge_labels: bool | str
    node_attributes: bool | str
    edge_weights: bool | str
    min_support: int
    max_subgraphs: int
    hidden: Sequence[int]
    epochs: int
    learning_rate: float
    batch_size: int | None
    patience: int | None
    device: str
    n_jobs: int
    random_state: Any
    verbose: int

    seed_: int
    encoding_: Encoding
    vocabulary_: Vocabulary
    head_: Head
    size_block_: SizeBlock
    sampled_: dict[int, float]
    student_: LinearHead | None
    agreement_: float
    coverage_: float
    held_out_score_: dict[str, float] | None
    soft_: SoftTemplateClassifier | None
    _leaf: str
    _evidence: NDArray[np.float32]
    _presence: NDArray[np.int32]
    _graphs_by_class: NDArray[np.int64]
    _marks: list[Mark]
    _examples: list[str]

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        bank: str | Path | None = None,
        workers: int | Run | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
    ) -> Self:
        """Fit to graphs ``X`` and targets ``y``.

        A stream (`isonn.stream`) is read twice, a few thousand graphs at a time, and its subgraphs are kept on disk.
        The model is the same as for graphs in memory.

        Args:
            X: a `GraphSet`, anything `isonn.as_graphset` takes, or a stream.
            y: one class or number per graph, shape (g,), or a column per label or measurement, shape (g, t).
            sample_weight: one weight per graph.
            bank: a folder for the subgraphs, so that a stopped run does not count them again. None uses a temporary
                folder for streams, and memory for other graphs.
            workers: number of processes that count graphs into ``bank``, or a function that runs them on a cluster
                (`isonn.experiments.cluster.calls_on_cluster`); None uses ``n_jobs``.
            checkpoint: a file for the training state of soft templates; Ctrl-C finishes the epoch and saves.
            resume: continue from ``checkpoint`` if it exists.
        """
        self._check_params()
        self._fitted, self.soft_ = False, None
        self.seed_ = resolve_seed(self.random_state)
        if self.learn_templates:
            self._fit_soft(X, y, sample_weight, bank, workers, checkpoint, resume)
        elif bank is not None or isinstance(X, GraphStream):
            self._fit_stream(X, y, sample_weight, bank, workers)
        else:
            graphs, targets = self._start(X, y)
            check_undirected(graphs)
            self._leaf = leaf_label(graphs, self.fold)
            folded = self._folded(graphs)
            self.label_names_["node"] = {**self.label_names_["node"], **folded.node_label_names}
            use = used_columns(self, DistinctValues(()).add(folded).has)
            self.encoding_ = fit_encoding(
                folded, use, sizes_of(self.k), self._views_of(graphs.kind), self.regions == "both"
            )
            self._check_fold(graphs.name)
            banked = self._bank(folded)
            self._learn(pieces_of(banked), banked.sampled, size_counts(folded), targets, sample_weight, graphs)
        self._fitted = True
        return self

    def transform(self, X: Any) -> Any:
        """Return the features of the head, one row per graph; sparse, or dense for soft templates."""
        graphs = self._checked(X)
        if self.soft_ is not None:
            return self.soft_.transform(graphs)
        return csr_array(vstack([self._features(part) for part in _in_parts(self._folded(graphs))], format="csr"))

    def count(self, X: Any) -> csr_array:
        """Return how often each graph contains each subgraph of the vocabulary, shape (g, templates)."""
        graphs = self._checked(X)
        if self.soft_ is not None:
            raise InputError("soft templates are not counted; fit with learn_templates=False")
        own = self.vocabulary_.only("subgraphs")
        return csr_array(
            vstack([own.counts(self._pieces(part)) for part in _in_parts(self._folded(graphs))], format="csr")
        )

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return a name for each column of `transform`, the template's nodes in words."""
        self._require_fit()
        if self.soft_ is not None:
            return np.asarray(self.soft_.get_feature_names_out())
        names = [
            f"{i}: {template.text(self.label_names_['node'], self.label_names_['edge'])}"
            for i, template in enumerate(self.templates_)
        ]
        return np.array([*names, *(f"size{i}" for i in range(self.size_block_.columns))], dtype=object)

    def explain(self, X: Any, label: Any = None, top: int | None = 100, *, method: str = "contribution") -> Explanation:
        """Explain the prediction for one graph by reasons, matches with contributions, and importances.

        With ``head="linear"`` the contributions of all pieces sum to ``score - base`` exactly. The contributions of
        other heads are computed by removing pieces, and need not add up. With ``regions="both"`` the explanation comes
        from a student of the model that sees only subgraphs; ``agreement_`` is the share of graphs on which the two
        agree, or their correlation for numbers.

        Args:
            X: one graph: a `Graph`, a NetworkX graph, a matrix, or a set of one.
            label: the class (or the column of ``y``) to explain; None explains the predicted class.
            top: number of matches to list; None lists all. The importances always count all matches.
            method: "contribution" lists the contributions of pieces to the score. "evidence" also adds how much more
                frequent the pieces are in the class, as standard scores. That finds the true piece more often, but it
                partly describes the data and does not add up.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(random_state=0).fit(graphs)
            >>> e = clf.explain(graphs[0])
            >>> bool(abs(e.node_importance.sum() - (e.score - e.base)) < 1e-9)
            True
        """
        self._require_fit()
        if method not in ("contribution", "evidence"):
            raise InputError(f"method={method!r} is unknown; use 'contribution' or 'evidence'")
        if self.soft_ is not None:
            if method != "contribution":
                raise InputError("soft templates have no evidence; use method='contribution'")
            return self.soft_.explain(X, label, top)
        matched = self._matched_graph(X)
        found = explain_matched(matched, self.target_, label, top, self.label_names_)
        if self.student_ is not None:
            agrees = f"agrees on {100 * self.agreement_:.0f} % of graphs"
            if self.target_.numeric:
                agrees = f"has a correlation of {self.agreement_:.2f} with the whole model"
            found = replace(found, note=f"Explained by a model of subgraphs alone, which {agrees}.")
        if method == "evidence":
            assert isinstance(matched, VocabularyMatches)
            subgraphs = self._explaining()[0]
            table = self._evidence[:, : len(subgraphs)].astype(np.float64)
            return with_evidence(found, matched.occurrences.nodes, matched.evidence(table, found.column))
        return found

    @property
    def reasons_(self) -> dict[Any, list[ClassReason]]:
        """The pieces that mark each class in the training graphs, by class, strongest first."""
        self._require_fit()
        if self.soft_ is not None:
            raise InputError("soft templates have no class reasons; fit with learn_templates=False")
        templates, classes = self.templates_, self.target_.classes.tolist()
        found: dict[Any, list[ClassReason]] = {value: [] for value in classes}
        rows = ["all graphs"] if self.target_.numeric else classes
        for mark in self._marks:
            template = templates[mark.column]
            counts = zip(rows, self._presence[:, mark.column].tolist(), self._graphs_by_class.tolist(), strict=True)
            found[classes[mark.output]].append(
                ClassReason(
                    classes[mark.output],
                    template.text(self.label_names_["node"], self.label_names_["edge"]),
                    template,
                    mark.column,
                    mark.effect,
                    mark.alike,
                    {value: (held, of) for value, held, of in counts},
                    mark.weight,
                    tuple(self._examples[i] for i in mark.examples) if self._examples else (),
                )
            )
        return found

    def unseen_share(self, X: Any) -> NDArray[np.float64]:
        """Return the share of each graph's subgraphs that no training graph contains, shape (g,); high if unusual."""
        graphs = self._checked(X)
        if self.soft_ is not None:
            raise InputError("soft templates do not support unseen_share; fit with learn_templates=False")
        parts = _in_parts(self._folded(graphs))
        return np.concatenate([self.vocabulary_.unseen(self._pieces(part)) for part in parts])

    @property
    def templates_(self) -> Sequence[Template]:
        """The templates, in feature order."""
        self._require_fit()
        if self.soft_ is not None:
            return self.soft_.templates_
        return Templates(self.vocabulary_, self.encoding_, self.label_names_)

    @property
    def history_(self) -> History:
        """The loss and seconds of each epoch, for soft templates only."""
        if getattr(self, "soft_", None) is None:
            raise AttributeError(f"this {type(self).__name__} was not trained by gradient, so it has no history_")
        assert self.soft_ is not None
        return self.soft_.history_

    def _check_params(self) -> None:
        check_plain(self.get_params(deep=False))
        check_subgraph_sizes(self.k)
        for name in ("max_subgraphs", "min_support", "epochs", "n_jobs"):
            check_count(name, getattr(self, name))
        for name in ("c", "batch_size", "patience"):
            if getattr(self, name) is not None and not (name == "c" and self.c == "auto"):
                check_count(name, getattr(self, name))
        if self.regions not in ("subgraphs", "both"):
            raise InputError(f"regions={self.regions!r} is unknown; use 'subgraphs' or 'both'")
        if self.regions == "both" and (self.c is not None or self.learn_templates):
            raise InputError("regions='both' is for the whole vocabulary; use c=None and learn_templates=False")
        if self.learn_templates and self.c == "auto":
            raise InputError("c='auto' is for the vocabulary model; give soft templates a number, such as c=32")
        if self.learn_templates not in (True, False, "frozen"):
            raise InputError(f"learn_templates={self.learn_templates!r} is unknown; use True, False or 'frozen'")
        for name in ("fold", "class_weight"):
            if self.learn_templates and getattr(self, name, None) is not None:
                raise InputError(f"{name} is for the vocabulary model; leave it out, or use learn_templates=False")
        if not self.learn_templates:
            get_head(self.head)
        for view in self._views:
            get_view(view)
        for name in COLUMNS:
            if getattr(self, name) not in (True, False, "auto"):
                raise InputError(f"{name}={getattr(self, name)!r} is unknown; use True, False or 'auto'")
        check_widths("hidden", self.hidden)
        if not isinstance(self.fold, (str, int, float, np.generic, type(None))):
            raise InputError(f"fold={self.fold!r:.60} is not a node label; use a number, a string or None")

    def _unsupported(self, graphs: GraphSet) -> str | None:
        i = directed_graph(graphs)
        if i is not None:
            return directed_error(i, len(graphs))
        return super()._unsupported(graphs)

    @property
    def _views(self) -> tuple[str, ...]:
        if self.view == "auto":
            return SOFT_VIEWS if self.learn_templates else AUTO_VIEWS
        if isinstance(self.view, str):
            return (self.view,)
        if not isinstance(self.view, Sequence) or not self.view:
            raise InputError(f"view={self.view!r} is not a view; use 'auto', or one or several names")
        return tuple(self.view)

    def _views_of(self, kind: str) -> tuple[str, ...]:
        """Return the views for a kind of graphs."""
        return AUTO_VIEWS_OF.get(kind, self._views) if self.view == "auto" else self._views

    @property
    def _cut_seed(self) -> int:
        return derive_seed(self.seed_, "cut")

    def _folded(self, graphs: GraphSet) -> GraphSet:
        """Fold the leaf nodes labelled ``fold`` into their neighbours, if set."""
        if self.fold is None:
            return graphs
        return _folded(graphs, self._leaf)

    def _check_fold(self, name: str) -> None:
        if self.fold is not None:
            check_folded(self._leaf, self.encoding_.node_labels, self.label_names_["node"], name)

    def _learn(
        self,
        pieces: Sequence[Pieces],
        sampled: dict[tuple[int, int], float],
        sizes: NDArray[np.float32],
        targets: NDArray[Any],
        sample_weight: Any,
        some: GraphSet,
    ) -> None:
        """Learn vocabulary and head from banked subgraphs; ``some`` graphs are used again to measure coverage."""
        name = some.name
        self.sampled_ = sampled_shares(sampled, len(targets), name)
        if not any(len(own.rows) for own in pieces if own.kind == "subgraphs"):
            raise InputError(
                f"no graph of {name} has a connected subgraph of k={self.k} nodes; use a smaller k, such as k=1"
            )
        weights = self._weights(sample_weight, targets)
        self.size_block_ = SizeBlock.learn(sizes, len({(own.kind, own.view) for own in pieces}))
        seed = derive_seed(self.seed_, "head")
        best: tuple[Vocabulary, csr_array, LinearHead] | None = None
        for row_norm in (True, False) if self.target_.numeric else (True,):
            # for numbers, leave-one-out decides whether features are divided by their norm
            vocabulary, features = learn_vocabulary(
                pieces, self.min_support, row_norm, beside=lambda rows: self.size_block_.features(sizes[rows])
            )
            if not len(vocabulary):
                raise InputError(f"no subgraph occurs in {self.min_support} graphs of {name}; use a lower min_support")
            head = LinearHead().fit(features, targets, self.target_, weights, seed)
            if best is None or head.loss < best[2].loss:
                best = vocabulary, features, head
        assert best is not None
        self.vocabulary_, features, linear = best
        if self.c is not None:
            features, linear = self._shorten(pieces, targets, weights, linear, some)
        self.head_, self.student_ = linear, None
        # a short list is chosen on all graphs, so the leave-one-out score of its head would be too good
        honest = self.c is None and self.head == LinearHead.name
        self.held_out_score_ = self._held_out_score(linear, targets) if honest else None
        if self.head != LinearHead.name:
            self.head_ = get_head(self.head)().fit(features, targets, self.target_, weights, seed)
        if self.regions == "both":
            features, linear = self._teach(features, linear, seed)
        templates = len(self._explaining()[0])
        self._evidence = evidence_of(features, targets, self.target_, templates)
        self._presence, self._graphs_by_class = presence_by_class(features, targets, self.target_, templates)
        groups = self._explaining()[0].groups
        labelled = np.concatenate([np.full(len(group), self.encoding_.labelled(group.view)) for group in groups])
        self._marks = class_marks(features, linear, targets, self.target_, labelled, self.seed_)
        known = {i for mark in self._marks for i in mark.examples} if self.keep_examples else set()
        ids = some.ids if some.ids is not None and len(some) == len(targets) else None
        names = [str(i) if ids is None else str(ids[i]) for i in range(len(targets))] if known else []
        self._examples = [name if i in known else "" for i, name in enumerate(names)]

    def _shorten(
        self,
        pieces: Sequence[Pieces],
        targets: NDArray[Any],
        weights: NDArray[np.float64] | None,
        full: LinearHead,
        some: GraphSet,
    ) -> tuple[csr_array, LinearHead]:
        """Replace the vocabulary by a short list; return its features and linear head."""
        wanted, seed = _as_numbers(targets, self.target_), derive_seed(self.seed_, "head")
        before, size_block = self.vocabulary_, self.size_block_
        every = Vocabulary(before.only("subgraphs").groups, False)
        every = Vocabulary(tuple(replace(group, scale=1.0) for group in every.groups), False)
        if self.wildcards:
            every = with_wildcards(every, pieces, self.min_support)
        features = every.features(pieces)
        c = self.c
        with limit_threads(1, "blas"):  # with hundreds of small systems, threads would wait for each other
            if c == "auto":
                c = auto_size(features, wanted, self._losses(full, targets), derive_seed(self.seed_, "auto"))
            assert isinstance(c, (int, np.integer))
            chosen = np.sort(short_list(features, wanted, int(c)))
        self.vocabulary_, features = standardised(every.keep(chosen), csr_array(features[:, chosen]))
        self.size_block_ = SizeBlock.empty()
        head = LinearHead().fit(features, targets, self.target_, weights, seed)
        self.coverage_ = self._covered(some, (before, full, size_block), (self.vocabulary_, head, self.size_block_))
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

    def _covered(self, some: GraphSet, full: Model, short: Model) -> float:
        """Return the share of important edges that the short list covers with the same sign, on a few training graphs.

        The important edges of a graph are the tenth with the largest importance in the full vocabulary.
        """
        covered = total = 0
        for i in range(min(len(some), COVERAGE_GRAPHS)):
            one = self._explained_by(some[i : i + 1], full)
            other = self._explained_by(some[i : i + 1], short, one.explained).edge_importance
            rows, columns = np.nonzero(np.triu(some[i].adjacency != 0, 1))
            if not len(rows):
                continue
            value = one.edge_importance[rows, columns]
            top = np.argsort(-np.abs(value), kind="stable")[: max(1, len(rows) // 10)]
            covered += int((np.sign(value[top]) == np.sign(other[rows[top], columns[top]])).sum())
            total += len(top)
        return covered / total if total else 1.0

    def _teach(self, features: csr_array, head: LinearHead, seed: int) -> tuple[csr_array, LinearHead]:
        """Fit the student, a model of subgraphs alone that imitates the held-out outputs of the full model."""
        subgraphs = len(self.vocabulary_.only("subgraphs"))
        columns = np.concatenate([np.arange(subgraphs), np.arange(len(self.vocabulary_), features.shape[1])])
        own = csr_array(features[:, columns])
        student = LinearHead().fit_outputs(own, head.held_out, seed)
        if self.target_.numeric:
            self.agreement_ = _mean_correlation(student.held_out, head.held_out)
        else:
            known = np.isfinite(student.held_out) & np.isfinite(head.held_out)
            decide = [self.target_.decide(self.target_.link(np.nan_to_num(one.held_out))) for one in (student, head)]
            agrees = decide[0] == decide[1]
            self.agreement_ = float(agrees[known if agrees.ndim == 2 else known.all(axis=1)].mean())
        self.student_ = student
        return own, student

    def _explaining(self) -> Model:
        """Return the vocabulary, head and size features that explain: those of the model or of its student."""
        if self.student_ is None:
            return self.vocabulary_, self.head_, self.size_block_
        return self.vocabulary_.only("subgraphs"), self.student_, self.size_block_

    def _explained_by(self, graphs: GraphSet, model: Model, label: Any = None) -> Explanation:
        return explain_matched(self._matches(graphs, model), self.target_, label, 0)

    def _fit_stream(
        self, X: Any, y: Any, sample_weight: Any, bank: str | Path | None, workers: int | Run | None
    ) -> None:
        source = X if isinstance(X, GraphStream) else stream(as_graphset(X))
        if self.fold is not None:
            whole = source
            first = next(iter(whole), None)
            self._leaf = str(self.fold) if first is None else leaf_label(first, self.fold)
            source = whole.map(partial(_folded, leaf=self._leaf))
        with bank_folder(bank) as folder:
            count = self.n_jobs if workers is None else workers
            seen = look(source, partial(columns_to_read, self), self.verbose > 0, count)
            self.size_, self.label_names_ = seen.largest, seen.names_for(y)
            y = seen.y if y is None else y
            if y is None:
                raise InputError(f"{type(self).__name__}.fit needs y; pass it, or a stream that has it")
            targets = self._encode(y, seen.graphs)
            use = used_columns(self, seen.known.has)
            self.encoding_ = encoding_of(
                seen.known, use, sizes_of(self.k), self._views_of(seen.kind), source.name, self.regions == "both"
            )
            self._check_fold(source.name)
            cut_to_folder(
                source, self.encoding_, folder, seen, self.max_subgraphs, self._cut_seed, count, self.verbose > 0
            )
            pieces, sampled = pieces_in(folder, seen, source.name)
            self._remember(seen.hashes)
            some = replace(next(iter(source if self.fold is None else whole)), name=source.name)
            self._learn(pieces, sampled, seen.sizes, targets, sample_weight, some)

    def _fit_soft(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        bank: str | Path | None,
        workers: int | Run | None,
        checkpoint: str | Path | None,
        resume: bool,
    ) -> None:
        if not isinstance(self, GraphClassifier) or sample_weight is not None:
            raise InputError("learn_templates is for classes without sample_weight; use learn_templates=False")
        with naming_the_extra("learn_templates"):
            from isonn.subgraphs.soft import SoftTemplateClassifier
        inner = SoftTemplateClassifier(**self._soft_params())
        inner.fit(X, y, checkpoint=checkpoint, resume=resume, bank=bank, workers=workers)
        self.soft_ = inner
        self.target_, self.size_, self.label_names_ = inner.target_, inner.size_, inner.label_names_
        self.encoding_, self.sampled_, self._trained_on = inner.encoding_, inner.sampled_, inner._trained_on

    def _soft_params(self) -> dict[str, Any]:
        names = (
            *("node_labels", "edge_labels", "node_attributes", "edge_weights", "max_subgraphs", "hidden", "epochs"),
            *("learning_rate", "batch_size", "patience", "device", "n_jobs", "verbose", "head", "k"),
        )
        return {name: getattr(self, name) for name in names} | {
            "c": 32 if self.c is None else self.c,
            "degrees": "degrees" in self._views,
            "learn_templates": self.learn_templates is True,
            "random_state": self.seed_,
        }

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        if self.soft_ is not None:
            return self.soft_._answers(graphs)
        graphs = self._folded(graphs)
        outputs, strange = [], 0
        for part in _in_parts(graphs):
            pieces = self._pieces(part)
            strange += int((self.vocabulary_.unseen(pieces) > STRANGE).sum()) if self.c is None else 0
            outputs.append(self.head_.outputs(self._with_size(self.vocabulary_.features(pieces), part)))
        self.encoding_.warn_of_unseen(graphs, strange if strange > len(graphs) / 2 else 0)
        return self.target_.link(np.concatenate(outputs))

    def _bank(self, graphs: GraphSet) -> Banked:
        coded = self.encoding_.encode(graphs)
        with progress.bar("counting", len(graphs), show=self.verbose > 0) as report:
            return bank_subgraphs(coded, self.max_subgraphs, self._cut_seed, self.n_jobs, report)

    def _pieces(self, graphs: GraphSet) -> list[Pieces]:
        return pieces_of(self._bank(graphs))

    def _features(self, graphs: GraphSet) -> csr_array:
        return self._with_size(self.vocabulary_.features(self._pieces(graphs)), graphs)

    def _with_size(self, features: csr_array, graphs: GraphSet) -> csr_array:
        plain = csr_array(self.size_block_.features(size_counts(graphs)))
        return csr_array(hstack([features, plain], format="csr"))

    def _matched_graph(self, X: Any) -> MatchedGraph:
        graphs = self._checked(as_one_graph(X))
        if self.soft_ is not None:
            return self.soft_._matched_graph(graphs)
        folded = self._folded(graphs)
        self.encoding_.warn_of_unseen(folded)
        outputs = None if self.student_ is None else self.head_.outputs(self._features(folded))[0]
        return self._matches(graphs, self._explaining(), outputs)

    def _matches(self, graphs: GraphSet, model: Model, outputs: Any = None) -> VocabularyMatches:
        """Match a model of subgraphs with a set of one graph."""
        vocabulary, head, size_block = model
        graph, kept = graphs[0], None
        if self.fold is not None and graphs.node_labels is not None:
            graphs, kept = fold_leaves(graphs, self._leaf)
        found = find_occurrences(self.encoding_.encode(graphs), self.max_subgraphs, self._cut_seed)
        if kept is not None:
            found = replace(found, nodes=np.where(found.nodes >= 0, kept[found.nodes], -1))
        plain = size_block.features(size_counts(graphs))
        templates = Templates(vocabulary, self.encoding_, self.label_names_)
        return VocabularyMatches(graph, templates, vocabulary, head, self.target_, found, plain, outputs)

    def _description(self) -> dict[str, Any]:
        if self.soft_ is not None:
            return {"soft": self.soft_._description()}
        return {
            "encoding": self.encoding_.as_json(),
            "fold": None if self.fold is None else self._leaf,
            "groups": [[own.kind, own.view, own.size] for own in self.vocabulary_.groups],
            "row_norm": self.vocabulary_.row_norm,
            "head": self.head_.name,
            "sampled": sorted(self.sampled_.items()),
            "marks": [list(astuple(mark)) for mark in self._marks],
            "examples": self._examples,
            "held_out_score": self.held_out_score_,
            "agreement": None if self.student_ is None else self.agreement_,
            "coverage": getattr(self, "coverage_", None),
        }

    def _tensors(self) -> dict[str, NDArray[Any]]:
        if self.soft_ is not None:
            return self.soft_._tensors()
        found: dict[str, NDArray[Any]] = {
            "evidence": self._evidence,
            "presence": self._presence,
            "graphs_by_class": self._graphs_by_class,
        }
        for i, own in enumerate(self.vocabulary_.groups):
            found[f"rows.{i}"], found[f"scale.{i}"] = own.rows, np.atleast_1d(np.asarray(own.scale, dtype=np.float64))
            if own.members is not None:
                found[f"members.{i}"] = np.stack(own.members.nonzero()).astype(np.int64)
                found[f"templates.{i}"] = np.array([len(own)])
        parts = [("head.", self.head_.tensors()), ("size.", self.size_block_.tensors())]
        parts += [("student.", self.student_.tensors())] if self.student_ is not None else []
        return {**found, **{prefix + name: tensor for prefix, own in parts for name, tensor in own.items()}}

    def _restore(self, details: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        self.soft_ = None
        if "soft" in details:
            with naming_the_extra("this model"):
                from isonn.subgraphs.soft import SoftTemplateClassifier
            inner = SoftTemplateClassifier(**self._soft_params())
            inner.target_, inner.size_, inner.seed_ = self.target_, self.size_, self.seed_
            inner.label_names_ = self.label_names_
            inner._restore(details["soft"], tensors)
            inner._fitted = True
            self.soft_, self.encoding_, self.sampled_ = inner, inner.encoding_, inner.sampled_
            return
        self.encoding_ = encoding_from_json(details["encoding"])
        self._leaf = str(details.get("fold", self.fold))
        groups: list[TemplateGroup] = []
        first = 0
        for i, (kind, view, size) in enumerate(details["groups"]):
            rows, scale, members = tensors[f"rows.{i}"], tensors[f"scale.{i}"], None
            width = size * (size + 1) // 2 if kind == "subgraphs" else 2
            if (kind, view, size) not in self.encoding_.groups or rows.shape[1:] != (width,):
                raise ValueError(f"the encoding has no regions of group {i}")
            if f"members.{i}" in tensors:
                pairs, count = tensors[f"members.{i}"], int(tensors[f"templates.{i}"][0])
                members = csr_array((np.ones(pairs.shape[1]), (pairs[0], pairs[1])), shape=(len(rows), count))
            one = float(scale[0]) if members is None and len(scale) == 1 else scale
            groups.append(TemplateGroup(kind, int(view), int(size), rows, first, one, members))
            first += len(groups[-1])
        self.vocabulary_ = Vocabulary(tuple(groups), bool(details["row_norm"]))

        def below(part: str) -> dict[str, NDArray[Any]]:
            return {name.removeprefix(part): tensor for name, tensor in tensors.items() if name.startswith(part)}

        self.head_ = get_head(details["head"]).restore(below("head."))
        self.size_block_ = SizeBlock.restore(below("size."))
        self.sampled_ = {int(graph): float(share) for graph, share in details["sampled"]}
        self._evidence, self._presence = tensors["evidence"], tensors["presence"]
        self._graphs_by_class = tensors["graphs_by_class"]
        self._marks = [Mark(*mark) for mark in details["marks"]]
        self._examples, self.student_ = list(details["examples"]), None
        self.held_out_score_ = details["held_out_score"]
        if details["coverage"] is not None:
            self.coverage_ = float(details["coverage"])
        if details["agreement"] is not None:
            self.agreement_, self.student_ = float(details["agreement"]), LinearHead.restore(below("student."))
        linear = self.head_.coefficients()
        width = first + self.size_block_.columns
        if linear is not None and linear[0].shape != (self.target_.outputs, width):
            raise ValueError("weights and vocabulary differ in size")


class SubgraphClassifier(SubgraphEstimator, GraphClassifier):
    """Classify graphs by the connected subgraphs they contain, and show which of them decide.

    Every connected subgraph of the given sizes that occurs in at least two training graphs is a template. The features
    are the counts of each template, and a linear head weighs them. Predictions do not depend on node numbering. Use
    this model for molecules, social networks and other graphs whose node order has no meaning. It does not need torch.

    Graphs must be undirected, and may have any size and be disconnected. Self-loops are ignored.

    Args:
        k: nodes per template, 1 to 6, or several sizes.
        c: number of templates. None uses the whole vocabulary, a number keeps a short list of at most that length, and
            "auto" keeps the shortest list within one standard error of the whole vocabulary.
        view: the information that nodes and edges carry, one or several names from `isonn.subgraphs.views.VIEWS`.
            "auto" uses labels together with labels refined by degree and cycles; for molecules, elements and labels.
        regions: "subgraphs", or "both" to add rooted neighbourhoods, which are often more accurate but explained by a
            student that sees only subgraphs.
        fold: a node label or its name, such as "H" for explicit hydrogens, whose leaf nodes become a count on their
            neighbours.
        head: "linear" (contributions add up), "forest", "ensemble" (the mean of both), or "mlp" with soft templates.
        learn_templates: train soft templates by gradient (needs torch); "frozen" keeps their initial values.
        node_labels, edge_labels: whether templates carry them: True, False, or "auto" if the graphs have them.
        node_attributes: the same; "auto" uses them if there are no node labels. They are rounded to a few levels.
        edge_weights: the same as for labels.
        min_support: minimum number of training graphs that contain a template.
        max_subgraphs: subgraphs per size and graph above which they are sampled; nodes and edges never are.
        wildcards: whether templates of a short list may accept several labels at one node or edge.
        keep_examples: whether to store the ids of training graphs that show the reasons of each class.
        class_weight: weights of classes: None, "balanced", or a dict from class to weight.
        hidden, epochs, learning_rate, batch_size, patience, device: for soft templates; see `IsoNNClassifier`.
        n_jobs: number of threads that count subgraphs. It does not change the result.
        random_state: seed of all random draws; None draws one.
        verbose: 1 shows a progress bar.

    Attributes set by ``fit``:
        templates_: the templates. reasons_: the pieces that mark each class.
        held_out_score_: leave-one-out metrics on the training graphs, for the whole vocabulary with a linear head.
        coverage_: for a short list, the share of the whole vocabulary's important edges that it covers.
        agreement_: with ``regions="both"``, the share of graphs on which the student agrees with the model.
        sampled_: training graphs whose subgraphs were sampled, with the share sampled.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(random_state=0).fit(graphs)
        >>> isonn.testing.assert_relabelling_invariant(clf, graphs[:20])
    """

    _supports_gaps = True

    def __init__(
        self,
        k: int | Sequence[int] = (1, 2, 3, 4),
        c: int | str | None = None,
        *,
        view: str | Sequence[str] = "auto",
        regions: str = "subgraphs",
        fold: Any = None,
        head: str = "linear",
        learn_templates: bool | str = False,
        node_labels: bool | str = "auto",
        edge_labels: bool | str = "auto",
        node_attributes: bool | str = "auto",
        edge_weights: bool | str = "auto",
        min_support: int = 2,
        max_subgraphs: int = 100_000,
        wildcards: bool = True,
        keep_examples: bool = False,
        hidden: Sequence[int] = (1024, 128),
        class_weight: str | Mapping[Any, float] | None = None,
        epochs: int = 40,
        learning_rate: float = 5e-3,
        batch_size: int | None = None,
        patience: int | None = None,
        device: str = "cpu",
        n_jobs: int = 1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.c = c
        self.view = view
        self.regions = regions
        self.fold = fold
        self.head = head
        self.learn_templates = learn_templates
        self.node_labels = node_labels
        self.edge_labels = edge_labels
        self.node_attributes = node_attributes
        self.edge_weights = edge_weights
        self.min_support = min_support
        self.max_subgraphs = max_subgraphs
        self.wildcards = wildcards
        self.keep_examples = keep_examples
        self.hidden = hidden
        self.class_weight = class_weight
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.patience = patience
        self.device = device
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

    This is the vocabulary model of `SubgraphClassifier` for numbers, one per graph or one column per measurement,
    with NaN for missing values. Leave-one-out decides whether features are divided by their norm, so that large graphs
    do not count more than small ones.

    Args:
        k: nodes per template, 1 to 6, or several sizes.
        c: number of templates; None uses the whole vocabulary.
        view, regions, fold, head, node_labels, edge_labels, node_attributes, edge_weights, min_support, max_subgraphs,
            wildcards, keep_examples, n_jobs, random_state, verbose: as in `SubgraphClassifier`.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> nodes = graphs.sizes.astype(float)
        >>> isonn.SubgraphRegressor(random_state=0).fit(graphs, nodes).score(graphs, nodes) > 0.95
        True
    """

    learn_templates = False
    hidden, epochs, learning_rate, batch_size, patience, device = (1024, 128), 40, 5e-3, None, None, "cpu"

    def __init__(
        self,
        k: int | Sequence[int] = (1, 2, 3, 4),
        c: int | str | None = None,
        *,
        view: str | Sequence[str] = "auto",
        regions: str = "subgraphs",
        fold: Any = None,
        head: str = "linear",
        node_labels: bool | str = "auto",
        edge_labels: bool | str = "auto",
        node_attributes: bool | str = "auto",
        edge_weights: bool | str = "auto",
        min_support: int = 2,
        max_subgraphs: int = 100_000,
        wildcards: bool = True,
        keep_examples: bool = False,
        n_jobs: int = 1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.c = c
        self.view = view
        self.regions = regions
        self.fold = fold
        self.head = head
        self.node_labels = node_labels
        self.edge_labels = edge_labels
        self.node_attributes = node_attributes
        self.edge_weights = edge_weights
        self.min_support = min_support
        self.max_subgraphs = max_subgraphs
        self.wildcards = wildcards
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


def _folded(graphs: GraphSet, leaf: Any) -> GraphSet:
    return fold_leaves(graphs, leaf)[0]


def _in_parts(graphs: GraphSet) -> list[GraphSet]:
    if len(graphs) <= GRAPHS_AT_ONCE:
        return [graphs]
    return [graphs[start : start + GRAPHS_AT_ONCE] for start in range(0, len(graphs), GRAPHS_AT_ONCE)]


def _mean_correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the correlation of two sets of columns, the mean over columns; NaN entries are left out."""
    found = []
    for a, b in zip(one.T, other.T, strict=True):
        rows = np.isfinite(a) & np.isfinite(b)
        found.append(np.corrcoef(a[rows], b[rows])[0, 1])
    return float(np.mean(found))


def _as_numbers(targets: NDArray[Any], target: Target) -> NDArray[np.float64]:
    """Return targets as columns of numbers, one per class."""
    if target.exclusive:
        return np.asarray(targets[:, None] == np.arange(len(target.classes)), dtype=np.float64)
    return np.asarray(targets, dtype=np.float64)
