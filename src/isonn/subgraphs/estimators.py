"""`SubgraphIsoNNClassifier`: templates matched against connected subgraphs, in any order of nodes."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from torch import Tensor, nn
from typing_extensions import Self

from isonn import progress
from isonn.errors import InputError, IsoNNWarning
from isonn.estimator import GraphClassifier
from isonn.explain.explanation import MatchedGraph, Template
from isonn.graphs.convert import as_graphset
from isonn.graphs.graph import GraphSet
from isonn.graphs.stream import GraphStream, stream
from isonn.heads.forest import Forest
from isonn.heads.linear import fit_linear, grow_forest, set_linear
from isonn.params import check_count, check_widths
from isonn.seeding import derive_seed, resolve_seed
from isonn.subgraphs import soft
from isonn.subgraphs.bank import Banked, bank_subgraphs
from isonn.subgraphs.enumerate import check_subgraph_size
from isonn.subgraphs.explain import subgraph_matches
from isonn.subgraphs.select import starting_subgraphs
from isonn.subgraphs.soft import HEADS, PooledTemplates, SubgraphInputs, SubgraphModel
from isonn.subgraphs.store import Run, bank_digest, bank_to_folder, read_banks
from isonn.subgraphs.views import (
    COLUMNS,
    START_WEIGHTS,
    Encoding,
    Gathering,
    check_undirected,
    directed_graph,
    encoding_from_json,
    encoding_of,
    fit_encoding,
)
from isonn.threads import torch_threads
from isonn.torch_estimator import PREDICTION_CELLS, TorchEstimator
from isonn.training import Checkpoint

#: Graphs that are cut and matched together when predicting.
GRAPHS_AT_ONCE = 4096
#: Graphs a step may take at once where no batch size is given, and how many it takes of more than that.
MOST_AT_ONCE, LARGE_SET_BATCH = 2**14, 1024
#: What the distance of a template's entries from 0 and 1 costs, beside a loss of about 0.5.
READABILITY = 1e-3


class SubgraphIsoNNClassifier(TorchEstimator, GraphClassifier):
    """Classify graphs by templates matched against their connected subgraphs, exactly and in any order of nodes.

    The paper matches templates with blocks of consecutive node numbers, so that relabelling the nodes changes its
    predictions. Here a region is a connected induced subgraph of k nodes: templates are compared with all of them,
    over all orderings, and what the head sees is how often each template is found, softly. Nothing of it depends on how
    nodes are numbered. This is the model for molecules and social networks.

    Graphs are undirected (directed ones are refused), of any size, connected or not. An edge from a node to itself is
    left out, several edges between two nodes are one with the sum of their weights, and must agree in their label. A
    graph with fewer than k nodes has no subgraph of that size.

    Args:
        k: nodes per template, 1 to 6, or several sizes at once.
        c: number of templates, for each of the two ways to look at a graph (labels; degrees).
        matching: "exact"; up to k = 6 the same as "assigned".
        node_labels, edge_labels: whether templates carry them: True, False, or "auto" for what the graphs have.
        node_attributes: likewise; "auto" uses them when there are no node labels. They are brought to a few levels.
        edge_weights: likewise.
        degrees: whether to match subgraphs by the degrees of their nodes in the whole graph, too; "auto" does.
        head: "linear" (what templates contribute adds up), "mlp" (the paper's) or "ensemble" (logistic regression and
            a random forest, averaged).
        learn_templates: False leaves templates where they start: subgraphs of the training graphs.
        hidden: widths of the hidden layers of ``head="mlp"``.
        max_subgraphs: subgraphs of one size a graph may have before they are sampled; single nodes and edges never are.
        epochs: passes over the training graphs.
        learning_rate: of Adam.
        batch_size: graphs per step, at least 2, for features are compared within a batch; None takes all at once, and
            1,024 of more than 16,384.
        patience: stop after this many epochs without a lower training loss; None runs all epochs.
        device: where torch computes.
        random_state: seed of everything that is drawn; None draws one.
        n_jobs: torch threads, and processes that cut large sets.
        verbose: 1 shows a progress bar.

    Attributes set by ``fit``:
        encoding_: what the entries of templates mean.
        sampled_: graphs of the training set whose subgraphs were sampled, with the share that was.
        training_accuracy_: of a model that was fitted on a stream: the share of its graphs that it classifies right.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphIsoNNClassifier(epochs=5, random_state=0).fit(graphs, graphs.y)
        >>> isonn.testing.assert_relabelling_invariant(clf, graphs[:20])
    """

    model_: SubgraphModel
    encoding_: Encoding
    sampled_: dict[int, float]
    training_accuracy_: float
    groups_: tuple[tuple[int, int, int], ...]
    forest_shape_: tuple[int, int] | None

    def __init__(
        self,
        k: int | Sequence[int] = (1, 2, 3, 4),
        c: int = 32,
        matching: str = "exact",
        node_labels: bool | str = "auto",
        edge_labels: bool | str = "auto",
        degrees: bool | str = "auto",
        head: str = "linear",
        learn_templates: bool = True,
        max_subgraphs: int = 100_000,
        epochs: int = 40,
        learning_rate: float = 5e-3,
        batch_size: int | None = None,
        node_attributes: bool | str = "auto",
        edge_weights: bool | str = "auto",
        hidden: Sequence[int] = (1024, 128),
        patience: int | None = None,
        device: str = "cpu",
        random_state: Any = None,
        n_jobs: int = 1,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.c = c
        self.matching = matching
        self.node_labels = node_labels
        self.edge_labels = edge_labels
        self.degrees = degrees
        self.head = head
        self.learn_templates = learn_templates
        self.max_subgraphs = max_subgraphs
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.node_attributes = node_attributes
        self.edge_weights = edge_weights
        self.hidden = hidden
        self.patience = patience
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_params(self) -> None:
        """Refuse constructor arguments that mean nothing."""
        super()._check_params()
        if not self._sizes:
            raise InputError("k=() holds no size; give at least one number of nodes")
        for k in self._sizes:
            check_subgraph_size(k)
        for name in ("c", "max_subgraphs"):
            check_count(name, getattr(self, name))
        if self.matching not in ("exact", "assigned"):
            raise InputError(f"matching={self.matching!r} is not possible for subgraphs; use 'exact'")
        if self.head not in HEADS:
            raise InputError(f"head={self.head!r} is unknown; use one of {', '.join(map(repr, HEADS))}")
        for name in (*COLUMNS, "degrees"):
            if getattr(self, name) not in (True, False, "auto"):
                raise InputError(f"{name}={getattr(self, name)!r} is unknown; use True, False or 'auto'")
        check_widths("hidden", self.hidden)
        if self.batch_size == 1:
            raise InputError("batch_size=1 leaves no two graphs to compare features of; use at least 2, or None")

    def _unsupported(self, graphs: GraphSet) -> str | None:
        """Directed graphs have no place here."""
        i = directed_graph(graphs)
        if i is not None:
            return f"graph {i} is directed, and subgraph regions are for undirected graphs"
        return super()._unsupported(graphs)

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(np.atleast_1d(np.asarray(self.k, dtype=object)).tolist())

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        bank: str | Path | None = None,
        jobs: int | Run | None = None,
    ) -> Self:
        """Learn templates and head from graphs ``X`` and classes ``y``.

        A stream (`isonn.stream`) is read twice, a few thousand graphs at a time, and its subgraphs are kept on disk.
        The model is the one that the same graphs in memory give.

        Args:
            X: a `GraphSet`, anything `isonn.as_graphset` takes, or a stream.
            y: classes of any type, shape (g,), or an indicator matrix of shape (g, labels).
            checkpoint: a file to save the run to as it goes; Ctrl-C then finishes the epoch and saves.
            resume: go on from ``checkpoint`` if it exists. The result is the same, to the bit, as without a stop.
            bank: a folder to keep the subgraphs in: a run that was stopped does not cut them again, nor does one with
                other templates or epochs. None takes a temporary one for streams, and memory for other graphs.
            jobs: processes that cut graphs into ``bank``, or a function that has it done on a cluster
                (`isonn.experiments.cluster.calls_on_cluster`); None takes ``n_jobs``.
        """
        if bank is None and not isinstance(X, GraphStream):
            return super().fit(X, y, checkpoint=checkpoint, resume=resume)
        self._check_params()
        self._fitted = False
        self.seed_ = resolve_seed(self.random_state)
        source = X if isinstance(X, GraphStream) else stream(as_graphset(X))
        with bank_folder(bank) as folder:
            seen = look(source, self._gathered, self.verbose > 0)
            classes = seen.y if y is None else y
            if classes is None:
                raise InputError(f"{type(self).__name__}.fit needs classes; pass y, or a stream that carries them")
            targets = self._encode(classes, seen.graphs)
            self.size_ = seen.largest
            self.label_names_ = {"node": {}, "edge": {}}
            use = self._columns(seen.known.has)
            self.encoding_ = encoding_of(seen.known, use, self._sizes, bool(self.degrees), source.name)
            settings = (self.max_subgraphs, self._cut_seed, self.n_jobs if jobs is None else jobs, self.verbose > 0)
            cut_to_folder(source, self.encoding_, folder, seen, *settings)
            identity = self._identity(bank_digest(folder), targets)
            saved = None if checkpoint is None else Checkpoint(Path(checkpoint), identity)
            inputs = self._begin(banks_of(folder, seen, source.name), targets, source.name)
        self._train(lambda: inputs, targets, saved, resume)
        with torch_threads(self.n_jobs):
            self.training_accuracy_ = soft.accuracy(self.model_, inputs, targets)
        self._fitted = True
        return self

    def _prepare(self, graphs: GraphSet, targets: NDArray[Any]) -> SubgraphInputs:
        """Cut the training graphs, choose what the entries of templates mean and where templates start."""
        check_undirected(graphs)
        use = self._columns(Gathering(()).add(graphs).has)
        self.encoding_ = fit_encoding(graphs, use, self._sizes, bool(self.degrees))
        return self._begin(self._bank(graphs), targets, graphs.name)

    def _begin(self, banked: Banked, targets: NDArray[Any], name: str) -> SubgraphInputs:
        """Choose where templates start."""
        self.sampled_ = sampled_shares(banked, len(targets), name)
        self._starts, self.forest_shape_ = {}, None
        for view, banks in enumerate(banked.banks):
            for k, rows in starting_subgraphs(banks, targets, self.c).items():
                if len(rows):
                    regions = self.encoding_.vectors(view, banks[k].regions[rows], k)
                    self._starts[view, k] = torch.from_numpy(regions)
        self.groups_ = tuple((view, k, len(start)) for (view, k), start in self._starts.items())
        if not self.groups_:
            raise InputError(
                f"no graph of {name} has a connected subgraph of k={self.k} nodes; use a smaller k, such as k=1"
            )
        return self._bank_tensors(banked, len(targets))

    def _build(self, generator: torch.Generator | None) -> SubgraphModel:
        groups = []
        for view, k, c in self.groups_:
            layout = self.encoding_.layout(view, k)
            start = self._starts[view, k].clone() if self._starts else torch.empty(c, layout.width)
            group = PooledTemplates(layout, *self.encoding_.entries(view, k), START_WEIGHTS, start)
            groups.append(group.requires_grad_(self.learn_templates))
        hidden = self.hidden if self.head == "mlp" else ()
        model = SubgraphModel(groups, len(self.classes_), hidden, self.multilabel_, generator)
        if self.forest_shape_ is not None:
            model.forest = Forest(*self.forest_shape_, len(self.classes_))
        return model

    def _epochs(self) -> int:
        """None, when there is nothing that gradients have to find: `_finish` solves for a linear head."""
        return self.epochs if self.learn_templates or self.head == "mlp" else 0

    def _graphs_per_step(self, graphs: int) -> int | None:
        return LARGE_SET_BATCH if self.batch_size is None and graphs > MOST_AT_ONCE else self.batch_size

    def _loss(self, model: nn.Module, targets: NDArray[Any]) -> Callable[[Tensor, Tensor], Tensor]:
        assert isinstance(model, SubgraphModel)
        loss = super()._loss(model, targets)
        return lambda logits, targets: loss(logits, targets) + READABILITY * model.penalty()

    def _finish(self, inputs: SubgraphInputs, targets: NDArray[Any]) -> None:
        """Solve for the linear head, and grow the forest, on the templates as they are now."""
        model = self.model_.eval()
        with torch.no_grad():
            soft.settle(model, inputs)
        if self.head != "mlp":
            features, known = soft.solved_from(model, inputs, targets, soft.LINEAR_NUMBERS, self._sample_seed)
            with threadpool_limits(self.n_jobs):  # the products of scikit-learn are none of torch's
                set_linear(model.head, fit_linear(features, known))
        if self.head == "ensemble":
            features, known = soft.solved_from(model, inputs, targets, soft.FOREST_NUMBERS, self._sample_seed)
            model.forest = Forest.of(grow_forest(features, known, derive_seed(self.seed_, "forest"))).to(self.device)
            trees, nodes = model.forest.feature.shape
            self.forest_shape_ = trees, nodes

    def _inputs(self, graphs: GraphSet) -> SubgraphInputs:
        return self._bank_tensors(self._bank(graphs), len(graphs))

    def _cells_per_graph(self) -> int:
        return PREDICTION_CELLS // GRAPHS_AT_ONCE

    def _features(self, inputs: Any) -> Tensor:
        return self.model_.features(inputs)

    def _templates(self) -> list[Template]:
        return [
            self.encoding_.template(view, k, entries)
            for (view, k, _), group in zip(self.groups_, self._groups(), strict=True)
            for entries in group.templates.detach().cpu().numpy()
        ]

    def _look_over(self, graphs: GraphSet) -> None:
        self.encoding_.warn_of_unseen(graphs)

    def _matched(self, graphs: GraphSet) -> MatchedGraph:
        self._look_over(graphs)
        coded = self.encoding_.encode(graphs)
        sizes = [(view, k) for view, k, _ in self.groups_]
        return subgraph_matches(
            graphs[0], coded, self.encoding_, sizes, self.model_, self._templates(), self.max_subgraphs, self._cut_seed
        )

    def _description(self) -> dict[str, Any]:
        sampled = sorted(self.sampled_.items())
        return super()._description() | {
            "encoding": self.encoding_.as_json(),
            "groups": self.groups_,
            "forest": self.forest_shape_,
            "sampled": sampled,
        }

    def _restore(self, stored: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        self.encoding_ = encoding_from_json(stored["encoding"])
        self.groups_ = tuple((int(view), int(k), int(c)) for view, k, c in stored["groups"])
        trees, nodes = stored["forest"] or (0, 0)
        self.forest_shape_ = (int(trees), int(nodes)) if trees else None
        self._starts = {}
        self.sampled_ = {int(graph): float(share) for graph, share in stored["sampled"]}
        super()._restore(stored, tensors)

    def _groups(self) -> list[PooledTemplates]:
        return [group for group in self.model_.groups if isinstance(group, PooledTemplates)]

    @property
    def _sample_seed(self) -> int:
        return derive_seed(self.seed_, "solve")

    @property
    def _cut_seed(self) -> int:
        return derive_seed(self.seed_, "cut")

    def _columns(self, has: dict[str, bool]) -> dict[str, bool]:
        """Which columns templates carry, of those that the graphs have."""
        use = {name: has[name] if getattr(self, name) == "auto" else bool(getattr(self, name)) for name in COLUMNS}
        if self.node_attributes == "auto" and use["node_labels"]:
            use["node_attributes"] = False  # labels say what a node is; levels besides leave hardly two subgraphs equal
        return use

    def _gathered(self, graphs: GraphSet) -> list[str]:
        """Which columns of a stream that starts with these graphs have to be looked at."""
        use = self._columns(Gathering(()).add(graphs).has)
        use["edge_weights"] = self.edge_weights is not False  # graphs further on may have some
        return [name for name in COLUMNS if use[name]]

    def _bank(self, graphs: GraphSet) -> Banked:
        coded = self.encoding_.encode(graphs)
        with progress.bar("cutting", len(graphs), show=self.verbose > 0) as report:
            return bank_subgraphs(coded, self.max_subgraphs, self._cut_seed, self.n_jobs, report)

    def _bank_tensors(self, banked: Banked, graphs: int) -> SubgraphInputs:
        banks = [(view, banked.banks[view][k]) for view, k, _ in self.groups_]
        regions = [self.encoding_.vectors(view, bank.regions, bank.k) for view, bank in banks]
        return SubgraphInputs(
            tuple(torch.from_numpy(part).to(self.device) for part in regions),
            tuple(bank.counts for _, bank in banks),
            graphs,
        )


# Graphs too many to hold: read twice, a few thousand at a time, and kept on disk as banks of subgraphs.


@dataclass(frozen=True, eq=False)
class Seen:
    """What a first look at a stream found.

    Attributes:
        known: labels and values.
        y: the classes, or None when the graphs have none.
        graphs: how many there are.
        largest: nodes of the largest.
    """

    known: Gathering
    y: NDArray[Any] | None
    graphs: int
    largest: int


def look(stream: GraphStream, wanted: Callable[[GraphSet], list[str]], show: bool) -> Seen:
    """Read a stream once.

    Args:
        wanted: which columns to gather, from the first chunk.
        show: whether to show a progress bar.
    """
    known: Gathering | None = None
    classes: list[NDArray[Any] | None] = []
    graphs = largest = 0
    with progress.bar("reading", None, show=show) as report:
        for chunk in stream:
            known = known or Gathering(wanted(chunk))
            i = directed_graph(chunk)
            if i is not None:
                raise InputError(
                    f"graph {graphs + i} of {stream.name} is directed: an edge differs from the one back; subgraph "
                    f"regions are for undirected graphs, so make it symmetric, or use IsoNNClassifier"
                )
            known.add(chunk)
            classes.append(chunk.y)
            graphs, largest = graphs + len(chunk), max(largest, int(chunk.sizes.max()))
            report(graphs, "graphs read")
    if known is None:
        raise InputError(f"{stream.name} holds no graph; give at least one")
    y = (
        None
        if any(part is None for part in classes)
        else np.concatenate([part for part in classes if part is not None])
    )
    return Seen(known, y, graphs, largest)


def cut_to_folder(
    stream: GraphStream,
    encoding: Encoding,
    folder: Path,
    seen: Seen,
    limit: int,
    seed: int,
    jobs: int | Run,
    show: bool,
) -> None:
    """Read a stream again and keep its subgraphs in a folder; what is there already is not cut again."""
    with progress.bar("cutting", seen.graphs, show=show) as report:
        bank_to_folder((encoding.encode(chunk) for chunk in stream), folder, limit, seed, jobs, report)


def banks_of(folder: Path, seen: Seen, name: str) -> Banked:
    """The banks that `cut_to_folder` made."""
    banked = read_banks(folder)
    found = next(iter(banked.banks[0].values())).counts.shape[0]
    if found != seen.graphs:
        raise InputError(
            f"{name} held {seen.graphs} graphs when it was read first and {found} afterwards; leave it as it is while "
            f"it is being read"
        )
    return banked


@contextmanager
def bank_folder(given: str | Path | None) -> Iterator[Path]:
    """The folder for banks: the one given, or one that is gone afterwards."""
    if given is not None:
        yield Path(given)
        return
    with tempfile.TemporaryDirectory(prefix="isonn-bank-") as folder:
        yield Path(folder)


def sampled_shares(banked: Banked, graphs: int, name: str) -> dict[int, float]:
    """The graphs whose subgraphs were sampled, with the smallest share of any size; said once."""
    shares: dict[int, float] = {}
    for (graph, _), share in banked.sampled.items():
        shares[graph] = min(share, shares.get(graph, 1.0))
    if shares:
        warnings.warn(
            f"{len(shares)} of {graphs} graphs of {name} have more subgraphs than max_subgraphs and were "
            f"sampled, the largest at {min(shares.values()):.1%}; expected counts stay right",
            IsoNNWarning,
            stacklevel=2,
        )
    return shares
