"""`SubgraphVectorizer`: graphs to counts of subgraphs, as `CountVectorizer` turns texts to counts of words."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from sklearn.base import BaseEstimator, TransformerMixin
from typing_extensions import Self

from isonn import progress
from isonn.domain import UnseenPiece
from isonn.errors import InputError, IsoNNWarning, NotFittedError
from isonn.estimator import for_graphs
from isonn.explain.template import Template
from isonn.explain.text import template_name
from isonn.graphs.convert import as_graphset, as_one_graph, standardization_of
from isonn.graphs.graph import GraphSet
from isonn.graphs.stream import GraphStream, as_stream
from isonn.params import check_count, check_subgraph_size
from isonn.processes import in_threads
from isonn.seeding import derive_seed, resolve_seed
from isonn.subgraphs.bank import bank_folder, count_to_folder
from isonn.subgraphs.count import SIZES, affordable_size, count_in_threads, warn_of_samples
from isonn.subgraphs.counter import Listed
from isonn.subgraphs.encode import Encoding
from isonn.subgraphs.survey import Survey, check_undirected
from isonn.subgraphs.table import CountTable, first_of_equal, join_tables, tell_apart
from isonn.subgraphs.views import View, views_of
from isonn.subgraphs.vocabulary import Templates, Vocabulary

#: Number of graphs counted together when they are transformed.
GRAPHS_AT_ONCE = 4096
#: Maximum number of unseen pieces of a graph that are told.
MOST_UNSEEN = 5


@dataclass(frozen=True, eq=False)
class Occurrence:
    """One template at certain nodes of a graph.

    Attributes:
        column: the number of the template.
        nodes: the graph nodes that match the template's nodes, as a set.
        weight: number of subgraphs it stands for; 1 unless the graph's subgraphs were sampled.
    """

    column: int
    nodes: tuple[int, ...]
    weight: float


@dataclass(eq=False, repr=False)
class SubgraphVectorizer(TransformerMixin, BaseEstimator):
    """Convert graphs to counts of small connected subgraphs.

    Every connected induced subgraph of up to ``max_nodes`` nodes that occurs in at least ``min_support`` training
    graphs is a template, and becomes a column. Counts do not depend on node numbering. Graphs must be undirected, and
    may have any size and be disconnected. Self-loops are ignored.

    Args:
        max_nodes: nodes of the largest templates, 1 to 6. "auto" takes up to six if the graphs have few enough
            subgraphs, as molecules do, and four for dense graphs.
        view: the information that nodes and edges carry: one or several names from `isonn.subgraphs.views.VIEWS`, or
            `View` objects such as ``LabelsView(edge_labels=False)``. "auto" uses labels together with labels refined by
            degree and cycles; for molecules, elements and labels.
        min_support: minimum number of training graphs that contain a template.
        max_subgraphs: subgraphs per size and graph above which they are sampled; nodes and edges never are.
        n_jobs: number of threads that count subgraphs. It does not change the result.
        random_state: seed of the samples; None draws one.
        verbose: 1 shows a progress bar.

    Attributes set by ``fit``:
        templates_: the templates, one per column.
        max_nodes_: nodes of the largest templates.
        sampled_: training graphs whose subgraphs were sampled, with the share sampled.
        standardize_: how molecules are standardised, as in training; None for other graphs.

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> graphs = isonn.load("MUTAG")
        >>> model = make_pipeline(isonn.SubgraphVectorizer(max_nodes=3), LogisticRegression(max_iter=10_000))
        >>> model.fit(graphs, graphs.y).score(graphs, graphs.y) > 0.9
        True
    """

    max_nodes: int | str = 4
    _: KW_ONLY
    view: str | View | Sequence[str | View] = "auto"
    min_support: int = 2
    max_subgraphs: int = 100_000
    n_jobs: int = 1
    random_state: Any = 0
    verbose: int = 0

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the templates of graphs.

        Args:
            X: a `GraphSet`, anything `isonn.as_graphset` takes, or a stream (`isonn.stream`).
            y: ignored.

        Returns:
            the fitted vectorizer.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> isonn.SubgraphVectorizer(max_nodes=1, view="labels").fit(graphs).templates_
            Templates(6: 6 of 1 node)
        """
        self.__dict__.pop("vocabulary_", None)  # a fit that fails leaves no templates of an earlier one
        graphs = as_stream(X)
        self.check_params()
        survey = self.survey(graphs)
        with self.table(graphs, survey) as table:
            self.learn(table, graphs.name, first_of_equal(tell_apart(survey.hashes, table, self.sampled_)))
        return self

    def transform(self, X: Any) -> csr_array:
        """Return how often each graph contains each template, sparse, shape (g, templates).

        Args:
            X: a `GraphSet`, anything `isonn.as_graphset` takes, or a stream.

        Returns:
            sparse array of integers.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> isonn.SubgraphVectorizer(max_nodes=2, view="labels").fit(graphs).transform(graphs[:3]).shape[0]
            3
        """
        self._require_fit()
        parts = X if isinstance(X, GraphStream) else [X]
        graphsets = (as_graphset(part, standardize=self.standardize_) for part in parts)
        chunks = (chunk for graphs in graphsets for chunk in in_chunks(graphs, self.n_jobs))
        counts = in_threads(lambda chunk: self.vocabulary_.counts(self.count(chunk)), chunks, self.n_jobs)
        table = csr_array(vstack(list(counts), format="csr"))
        if table.nnz <= np.iinfo(np.int32).max:  # trees of scikit-learn take no other indices
            table.indices, table.indptr = table.indices.astype(np.int32), table.indptr.astype(np.int32)
        return table

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return a unique name for each column that says everything its template requires.

        Args:
            input_features: ignored; scikit-learn passes it.

        Returns:
            ndarray of strings, shape (templates,).

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> isonn.SubgraphVectorizer(max_nodes=2, view="labels").fit(graphs).get_feature_names_out()[-1]
            'labels [N]-double-[O]'
        """
        self._require_fit()
        names: dict[str, int] = {}
        for template in self.templates_:
            name = f"{template.view} {template_name(template)}"
            while name in names:  # labels of the user may have equal names
                names[name] += 1
                name = f"{name} ({names[name]})"
            names[name] = 1
        return np.array(list(names), dtype=object)

    def occurrences(self, graph: Any) -> list[Occurrence]:
        """Return every occurrence of a template in one graph.

        Args:
            graph: a `Graph`, a NetworkX graph, a matrix, a SMILES string, or a set of one.

        Returns:
            a list of `Occurrence`: the number of a template, and its nodes in the graph.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> vectorizer = isonn.SubgraphVectorizer(max_nodes=2).fit(graphs)
            >>> len(vectorizer.occurrences(graphs[0])), int(vectorizer.transform(graphs[:1]).sum())
            (72, 72)
        """
        self._require_fit()
        listed = self.list_pieces(as_one_graph(graph, self.standardize_))
        columns = listed.columns[listed.piece]
        return [
            Occurrence(column, tuple(node for node in nodes if node >= 0), weight)
            for column, nodes, weight in zip(
                columns.tolist(), listed.nodes.tolist(), listed.weights.tolist(), strict=True
            )
            if column >= 0
        ]

    @property
    def templates_(self) -> Sequence[Template]:
        """The templates, in the order of columns."""
        self._require_fit()
        return Templates(self.vocabulary_, self.encoding_, self.label_names_)

    def check_params(self) -> None:
        """Validate parameters."""
        if self.max_nodes != "auto":
            check_subgraph_size(self.max_nodes)
        for name in ("max_subgraphs", "min_support", "n_jobs"):
            check_count(name, getattr(self, name))
        views_of(self.view)

    def survey(self, graphs: GraphStream) -> Survey:
        """Read the graphs once, and learn the encoding."""
        self.seed_ = derive_seed(resolve_seed(self.random_state), "cut")
        show = self.verbose > 0 and graphs.whole is None
        survey = Survey.of(graphs, views_of(self.view), show)
        views = views_of(self.view, survey.kind)
        self.max_nodes_ = self.max_nodes
        if self.max_nodes == "auto":
            widest = Encoding.fit(survey.values, views, SIZES[-1], graphs.name)
            self.max_nodes_ = affordable_size(widest.encode(survey.sample), len(survey))
        self.encoding_ = Encoding.fit(survey.values, views, int(self.max_nodes_), graphs.name)
        if not self.encoding_.views:
            raise _nothing_to_count(self, graphs.name)
        self.label_names_ = {kind: survey.label_names[kind] for kind in ("node", "edge")}
        self.standardize_ = standardization_of(survey.sample) if survey.kind == "molecules" else None
        undecided = all(view.node_attributes == "auto" for view in views)
        if undecided and survey.values.has["node_attributes"] and survey.values.has["node_labels"]:
            warnings.warn(
                f"{graphs.name} has node attributes beside labels, and view={self.view!r} uses the labels alone; "
                f"use view=LabelsView(node_attributes=True) for both",
                IsoNNWarning,
                stacklevel=2,
            )
        return survey

    @contextmanager
    def table(self, graphs: GraphStream, survey: Survey) -> Iterator[CountTable]:
        """Count the subgraphs of the training graphs: in memory, or in a folder for a stream."""
        limit, seed, show = self.max_subgraphs, self.seed_, self.verbose > 0
        whole = graphs.whole if graphs.bank is None else None
        with bank_folder(graphs.bank) if whole is None else nullcontext(Path()) as folder:
            if whole is not None:
                coded = self.encoding_.encode(whole)
                with progress.bar("counting", len(coded), show=show) as report:
                    tables = count_in_threads(coded, limit, seed, self.n_jobs, report)
            else:
                with progress.bar("cutting", len(survey), show=show) as report:
                    workers = self.n_jobs if graphs.workers is None else graphs.workers
                    tables = count_to_folder(graphs, self.encoding_, folder, limit, seed, workers, report)
            table = join_tables(tables)
            if table.graphs != len(survey):
                raise InputError(
                    f"{graphs.name} held {len(survey)} graphs when first read and {table.graphs} afterwards; do not "
                    f"change it while it is being read"
                )
            self.sampled_ = warn_of_samples(table.sampled, table.graphs, graphs.name)
            yield table

    def learn(self, table: CountTable, name: str, distinct: NDArray[np.bool_]) -> CountTable:
        """Choose the templates among the subgraphs of distinct graphs; return the counts with their columns."""
        if not len(table.support):
            raise _nothing_to_count(self, name)
        vocabulary, counted = Vocabulary.learn(table, self.min_support, distinct)
        if not len(vocabulary):
            raise InputError(
                f"{name}: no subgraph occurs in {self.min_support} different graphs (equal graphs count once); "
                f"use a lower min_support, more graphs, or labels that nodes share (measurements are node_attributes)"
            )
        self.vocabulary_ = vocabulary
        return counted

    def count(self, graphs: GraphSet) -> CountTable:
        """Count the subgraphs of new graphs."""
        check_undirected(graphs)
        with self.vocabulary_.counter() as counter:
            return counter.count(self.encoding_.encode(graphs), self.max_subgraphs, self.seed_)

    def list_pieces(self, graphs: GraphSet) -> Listed:
        """List the subgraphs of a set of one graph."""
        check_undirected(graphs)
        with self.vocabulary_.counter() as counter:
            return counter.list_pieces(self.encoding_.encode(graphs), self.max_subgraphs, self.seed_)

    def _require_fit(self) -> None:
        if not hasattr(self, "vocabulary_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted; call fit first")

    def __sklearn_tags__(self) -> Any:
        return for_graphs(super().__sklearn_tags__())


def _nothing_to_count(vectorizer: SubgraphVectorizer, name: str) -> InputError:
    return InputError(
        f"{name}: no graph has a connected subgraph of at most {vectorizer.max_nodes} nodes in "
        f"view={vectorizer.view!r}; use a larger max_nodes or view='auto'"
    )


def in_chunks(graphs: GraphSet, jobs: int = 1) -> list[GraphSet]:
    """Return the graphs a few thousand at a time, and if there are enough of them at least as many chunks as jobs."""
    size = min(GRAPHS_AT_ONCE, max(64, -(-len(graphs) // jobs)))
    if len(graphs) <= size:
        return [graphs]
    return [graphs[start : start + size] for start in range(0, len(graphs), size)]


def warn_of_unseen(encoding: Encoding, graphs: GraphSet, strange: int = 0) -> None:
    """Warn once about labels never seen in training, and about graphs of mostly unseen subgraphs.

    Args:
        strange: number of graphs that consist mostly of subgraphs that no training graph has; 0 to say nothing.
    """
    facts = []
    if unseen := encoding.unseen_labels(graphs):
        facts.append(
            f"{' and '.join(unseen)} of {graphs.name} have a label never seen in training; they are matched as if they "
            f"had none"
        )
    if strange:
        facts.append(
            f"{strange} of {len(graphs)} graphs consist mostly of subgraphs that no training graph has; predictions "
            f"for them are guesses"
        )
    if facts:
        warnings.warn("; ".join(facts), IsoNNWarning, stacklevel=2)


def unseen_pieces(vectorizer: SubgraphVectorizer, graphs: GraphSet) -> list[UnseenPiece]:
    """Return pieces of a set of one graph, of up to SMALL nodes, that no training graph has, at most MOST_UNSEEN.

    Pieces that contain a smaller one are left out.
    """
    listed = vectorizer.list_pieces(graphs)
    rows = np.flatnonzero(listed.unseen[listed.piece])
    rows = rows[np.lexsort((rows, listed.pieces[listed.piece[rows], 1]))]
    names, degrees = vectorizer.label_names_["node"], np.bincount(graphs.edges[:, 0], minlength=graphs.sizes.sum())
    known = Counter(names.get(label) for label in vectorizer.encoding_.labels.get("node_labels", np.empty(0)).tolist())
    labels = degrees if graphs.node_labels is None else graphs.node_labels
    degree_of = dict(zip(labels.tolist(), degrees.tolist(), strict=True))  # labels of atoms also tell their neighbours
    pieces: list[UnseenPiece] = []
    for row in rows.tolist():
        nodes = tuple(node for node in listed.nodes[row].tolist() if node >= 0)
        if any(set(piece.nodes) <= set(nodes) for piece in pieces):
            continue
        piece = listed.pieces[listed.piece[row]]
        if piece[1] == 1 and graphs.node_labels is not None:  # a label that the encoding may not know
            label = graphs.node_labels[nodes[0]].item()
            name = str(graphs.node_label_names.get(label, label))
            if name in known:
                name += f" with {degree_of[label]} neighbour{'s' * (degree_of[label] != 1)}"
        else:
            template = vectorizer.encoding_.template(piece, vectorizer.label_names_)
            if any(known[names[node.label]] > 1 for node in template.nodes if node.label in names):
                told = tuple(node._replace(degree=degree_of[node.label]) for node in template.nodes)
                template = replace(template, nodes=told)
            name = template.text()
        pieces.append(UnseenPiece(name, nodes))
        if len(pieces) == MOST_UNSEEN:
            break
    return pieces
