"""The domain of a model: whether it knows such graphs, what is new in them, and which known graphs are like them.

The distance of a graph is 0 if its nearest training graphs are equal to it and were predicted well when they were held
out, and 1 if they share nothing with it or were predicted badly: one minus the mean of similarity times reliability
over the nearest graphs, each weighed by the fourth power of its similarity. The verdict compares it with the distances
of training graphs from graphs of other groups, and with their held-out errors: "borderline" is farther than 70 % of
them, where the expected error is at least the mean, "out" farther than 90 %, where it is 1.5 times the mean, or
farther than any. A graph is also "out" if a whole-graph term, such as the number of nodes, is far outside the range of
the training graphs, or if it has a node of a kind that no training graph has. A graph that equals a training graph is
never "out".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.packing import Floats, IntArray, stored_array

#: The verdicts, from familiar to unknown.
VERDICTS = ("in", "borderline", "out")
#: "borderline" and "out" begin where the expected error is so many times the mean, and beyond this share of the
#: training graphs. Errors alone called a quarter of held-out BBBP and BACE molecules "out", most predicted well.
LEVELS, FARTHER = (1.0, 1.5), (0.7, 0.9)
#: From this similarity on, two graphs are equal for the model; stored features are rounded to half precision.
EQUAL = 1 - 1e-5
#: A term is outside if it leaves the range of the training graphs by this share of the range.
MARGIN = 0.1
#: Number of neighbours that are shown, and of pieces that they share.
SHOWN, SHARED = 3, 3


@dataclass(frozen=True)
class UnseenPiece:
    """A piece of a graph that no training graph has.

    Attributes:
        name: the piece in words.
        nodes: its nodes in the graph, where it occurs first.
    """

    name: str
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class Neighbour:
    """A training graph that is like the graph.

    Attributes:
        id: its id, its SMILES, or its number, as ``keep_examples`` asked for.
        value: its true class or value; a list for several columns, None where unknown.
        similarity: from 0 to 1, by the pieces that matter for the prediction.
        name_shared: returns `shared`. It is called when asked for, because naming pieces is slower than predicting.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(head="linear", keep_examples=True, random_state=0).fit(graphs[:150])
        >>> nearest = clf.domain(graphs[150:151]).neighbours[0][0]
        >>> 0 <= nearest.similarity <= 1, nearest.value in (-1, 1)
        (True, True)
    """

    id: str
    value: Any
    similarity: float
    name_shared: Callable[[], tuple[str, ...]] = field(repr=False, compare=False)

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """The pieces with the largest weights that both have, in words."""
        return self.name_shared()


@dataclass(frozen=True, eq=False)
class GraphDomain:
    """Whether a model knows one graph: an entry of `Domain`.

    Attributes:
        verdict: "in", "borderline" or "out".
        distance: from 0 to 1, how far the graph is from training graphs that are predicted well.
        familiar: whether similar training graphs exist, well predicted or not.
        unseen: the smallest pieces, up to four nodes, that no training graph has.
        outside: the terms outside the range of the training graphs, in words.
        neighbours: the three most similar training graphs, if the model was fitted with ``keep_examples``.
        noun: the word for a graph: "molecule" for molecules.

    Example:
        >>> GraphDomain("out", 0.9, False, [], ["nodes 60 (training: 3 to 29)"], []).reason
        'nodes 60 (training: 3 to 29)'
    """

    verdict: str
    distance: float
    familiar: bool
    unseen: list[UnseenPiece]
    outside: list[str]
    neighbours: list[Neighbour]
    noun: str = "graph"

    @property
    def reason(self) -> str:
        """What decided a verdict other than "in", in words; "" for "in"."""
        if self.verdict == "in":
            return ""
        facts = self.outside[:SHOWN]
        if kinds := _names(piece for piece in self.unseen if len(piece.nodes) == 1):
            facts.append(f"no training {self.noun} has {kinds}")
        badly = f"similar training {self.noun}s were predicted badly when held out"
        return "; ".join(facts) or (badly if self.familiar else f"no training {self.noun} is similar enough")

    @property
    def text(self) -> str:
        """The verdict with its reason, and the pieces that are new.

        Example:
            >>> GraphDomain("out", 0.9, False, [], ["nodes 60 (training: 3 to 29)"], []).text
            'Out of domain: nodes 60 (training: 3 to 29).'
        """
        verdict = {"in": "In domain", "borderline": "Borderline", "out": "Out of domain"}[self.verdict]
        reason = self.reason
        sentence = f"{verdict}: {reason}." if reason else f"{verdict}."
        new = _names(piece for piece in self.unseen if not reason or len(piece.nodes) > 1)
        return f"{sentence} New: {new}." if new else sentence

    def to_dict(self) -> dict[str, Any]:
        """Return verdict, distance, text, unseen pieces, terms out of range and neighbours as plain data.

        Returns:
            a dict of numbers, strings and lists.
        """
        neighbours = [
            {"id": case.id, "value": case.value, "similarity": case.similarity, "shared": list(case.shared)}
            for case in self.neighbours
        ]
        unseen = [asdict(piece) for piece in self.unseen]
        return {
            "verdict": self.verdict,
            "distance": self.distance,
            "text": self.text,
            "unseen": unseen,
            "outside": self.outside,
            "neighbours": neighbours,
        }


def _names(pieces: Iterable[UnseenPiece]) -> str:
    """Return the first different names of pieces."""
    return ", ".join(list(dict.fromkeys(piece.name for piece in pieces))[:SHOWN])


class Domain(Sequence[GraphDomain]):
    """Whether a model knows some graphs, from ``est.domain(X)``; entries are `GraphDomain`.

    Attributes:
        verdict: "in", "borderline" or "out", shape (g,).
        distance: from 0 to 1, shape (g,): how far each graph is from training graphs that are predicted well.
        familiar: whether similar training graphs exist, well predicted or not, shape (g,).
        unseen: the smallest pieces of each graph, up to four nodes, that no training graph has.
        outside: for each graph, the terms outside the range of the training graphs, in words.
        neighbours: the three most similar training graphs of each graph; empty lists unless the model was fitted with
            ``keep_examples``.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(head="linear", keep_examples=True, random_state=0).fit(graphs[:150])
        >>> domain = clf.domain(graphs[150:])
        >>> domain.verdict.shape, len(domain.neighbours[0]), domain[0].verdict in ("in", "borderline", "out")
        ((38,), 3, True)
    """

    def __init__(
        self,
        verdict: NDArray[np.str_],
        distance: Floats,
        familiar: NDArray[np.bool_],
        outside: list[list[str]],
        unseen_of: Callable[[int], list[UnseenPiece]],
        neighbours_of: Callable[[int], list[Neighbour]],
        noun: str = "graph",
    ) -> None:
        self.verdict, self.distance, self.familiar, self.outside = verdict, distance, familiar, outside
        self._noun = noun
        self._unseen_of, self._neighbours_of = unseen_of, neighbours_of

    def __len__(self) -> int:
        return len(self.verdict)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        i = range(len(self))[index]
        return GraphDomain(
            str(self.verdict[i]),
            float(self.distance[i]),
            bool(self.familiar[i]),
            self._unseen_of(i),
            self.outside[i],
            self._neighbours_of(i),
            self._noun,
        )

    @cached_property
    def unseen(self) -> list[list[UnseenPiece]]:
        """The smallest pieces of each graph that no training graph has."""
        return [self._unseen_of(i) for i in range(len(self))]

    @cached_property
    def neighbours(self) -> list[list[Neighbour]]:
        """The most similar training graphs of each graph."""
        return [self._neighbours_of(i) for i in range(len(self))]

    def __repr__(self) -> str:
        counts = ", ".join(f"{int((self.verdict == name).sum())} {name}" for name in VERDICTS)
        return f"Domain({len(self)} {self._noun}s: {counts})"


@dataclass(frozen=True, eq=False)
class Assessment:
    """Predictions for graphs with all that says how far to trust them, from ``est.assess(X)``.

    Attributes:
        answers: probabilities or values, shape (g, outputs).
        coverage: of intervals and sets.
        interval: as of ``predict_interval``; None for classes, and for models without held-out errors.
        sets: as of ``predict_set``; None for numbers, and for models without held-out errors.
        domain: as of ``domain``; None for models that do not have one.
    """

    answers: Floats
    coverage: float
    interval: Floats | None = None
    sets: NDArray[np.bool_] | None = None
    domain: Domain | None = None


@dataclass(frozen=True, eq=False)
class Limits:
    """From which distance, and from which terms, graphs are no longer in the domain.

    Attributes:
        distances: the least distance of a "borderline" and of an "out" graph, shape (2,).
        low, high: the range of each term of training graphs, shape (terms,).
    """

    distances: Floats
    low: Floats
    high: Floats

    @classmethod
    def fit(cls, distance: Floats, errors: Floats, terms: Floats) -> Limits:
        """Calibrate the verdict on held-out errors.

        Args:
            distance: of training graphs from graphs of other groups, shape (n,).
            errors: their held-out errors, divided by the mean, shape (n,).
            terms: whole-graph terms of all training graphs, shape (g, terms).
        """
        from sklearn.isotonic import IsotonicRegression

        order = np.argsort(distance, kind="stable")
        expected = IsotonicRegression().fit_transform(distance[order], errors[order])
        farthest = float(np.nextafter(distance.max(initial=0.0), np.inf))
        limits = []
        for level, share in zip(LEVELS, FARTHER, strict=True):
            above = np.flatnonzero(expected >= level)
            wrong = float(distance[order][above[0]]) if len(above) else farthest
            far = float(np.nextafter(np.quantile(distance, share), np.inf)) if len(distance) else farthest
            limits.append(min(max(wrong, far), farthest))
        known = np.isfinite(terms)
        low = np.where(known, terms, np.inf).min(axis=0, initial=np.inf)
        high = np.where(known, terms, -np.inf).max(axis=0, initial=-np.inf)
        empty = low > high
        return cls(np.array(limits), np.where(empty, 0.0, low), np.where(empty, 0.0, high))

    def verdicts(
        self, distance: Floats, equal: NDArray[np.bool_], terms: Floats, unknown: IntArray
    ) -> NDArray[np.str_]:
        """Return the verdict of each graph.

        Args:
            distance: from `isonn.references.References.distances`.
            equal: whether a training graph is equal to it, shape (g,).
            terms: whole-graph terms, shape (g, terms).
            unknown: 2 for graphs with a node that is unseen in every view, 1 in some view, else 0.
        """
        level = np.searchsorted(self.distances, distance, side="right")
        level = np.where(equal, np.minimum(level, 1), level)
        beyond, slack = self._beyond(terms)
        level = np.maximum(level, np.where((beyond > slack).any(axis=1), 2, (beyond > 0).any(axis=1)))
        return np.array(VERDICTS)[np.maximum(level, unknown)]

    def outside(self, terms: Floats, names: Sequence[str]) -> list[list[str]]:
        """Return the terms of each graph that leave the range of the training graphs, in words, the farthest first."""
        beyond, slack = self._beyond(terms)
        relative = beyond / np.maximum(slack, 1e-12)
        sentences: list[list[str]] = [[] for _ in terms]
        for i in np.flatnonzero((beyond > 0).any(axis=1)).tolist():
            order = [j for j in np.argsort(-relative[i], kind="stable").tolist() if beyond[i, j] > 0]
            sentences[i] = [
                f"{names[j]} {terms[i, j]:.3g} (training: {self.low[j]:.3g} to {self.high[j]:.3g})" for j in order
            ]
        return sentences

    def _beyond(self, terms: Floats) -> tuple[Floats, Floats]:
        """Return how far each term is outside the range, and how far is too far."""
        beyond = np.maximum(self.low - terms, terms - self.high)
        return np.nan_to_num(beyond, nan=0.0), MARGIN * (self.high - self.low)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        return {"distances": self.distances, "low": self.low, "high": self.high}

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]], terms: int) -> Limits:
        """Restore limits; raise ValueError if they are invalid."""
        low, high = (stored_array(tensors, name, (terms,)) for name in ("low", "high"))
        return cls(stored_array(tensors, "distances", (2,)), low, high)


@dataclass(frozen=True, eq=False)
class Examples:
    """What is kept of the references to show them: names, true values, and their strongest pieces.

    Attributes:
        names: ids or SMILES.
        values: true classes or numbers, as JSON.
        pieces: the columns of each reference's pieces with the largest weights, -1 to fill up, shape (m, PIECES).
    """

    names: list[str]
    values: list[Any]
    pieces: NDArray[np.int32]

    @classmethod
    def restore(cls, stored: dict[str, Any], pieces: NDArray[Any], references: int, columns: int) -> Examples:
        """Restore examples; raise ValueError if they do not fit the references."""
        names, values = [str(name) for name in stored["names"]], list(stored["values"])
        if not len(names) == len(values) == len(pieces) == references:
            raise ValueError("examples and references differ in number")
        if pieces.ndim != 2 or pieces.dtype.kind != "i" or pieces.max(initial=-1) >= columns:
            raise ValueError("the pieces of examples are not columns of the model")
        return cls(names, values, pieces.astype(np.int32))

    def neighbours(
        self, similarity: Floats, reference: IntArray, columns: NDArray[Any], name_of: Callable[[int], str]
    ) -> list[Neighbour]:
        """Return the nearest references of a graph.

        Args:
            similarity, reference: of the nearest, nearest first, shape (k,).
            columns: of the graph's pieces.
            name_of: returns the name of a column.
        """

        def shared_with(row: int) -> tuple[str, ...]:
            pieces = self.pieces[row]
            return tuple(name_of(int(i)) for i in pieces[np.isin(pieces, columns)][:SHARED])

        return [
            Neighbour(self.names[row], self.values[row], alike, partial(shared_with, row))
            for alike, row in zip(similarity[:SHOWN].tolist(), reference[:SHOWN].tolist(), strict=True)
            if alike > 0
        ]


#: Number of strongest pieces that are kept of an example.
PIECES = 16


def strongest_pieces(features: Any, weights: Floats, eligible: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the columns with the largest weighted features of each graph, largest first, shape (g, PIECES).

    Args:
        features: sparse, shape (g, p).
        weights: of the columns, shape (p,).
        eligible: which columns may be kept, shape (p,).
    """
    kept = np.full((features.shape[0], PIECES), -1, dtype=np.int32)
    for i in range(features.shape[0]):
        row = slice(features.indptr[i], features.indptr[i + 1])
        columns = features.indices[row]
        values = np.abs(features.data[row]) * weights[columns]
        good = np.flatnonzero(eligible[columns] & (values > 0))
        order = good[np.lexsort((columns[good], -values[good]))[:PIECES]]
        kept[i, : len(order)] = columns[order]
    return kept
