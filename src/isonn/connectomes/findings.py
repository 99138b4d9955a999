"""The findings of a model by region name: decisive connections and sub-networks, and their stability."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv

from isonn.connectomes.atlas import Atlas, as_atlas
from isonn.errors import InputError
from isonn.explain.explanation import Explanation
from isonn.files import atomic_file
from isonn.graphs.convert import as_graphset

#: A fold finds a sub-network if one of its sets shares at least this part of the regions (Jaccard).
SAME = 0.6


@dataclass(frozen=True)
class Connection:
    """A decisive connection.

    Attributes:
        region_1, region_2: names of its regions; in directed graphs it leads from the first to the second.
        network_1, network_2: their networks, or "".
        weight: for a subject, its contribution to the score; for a model, that of one standard deviation.
        share: share of folds with it among their strongest, with the same sign; NaN if not computed.

    Example:
        >>> Connection("Precuneus L", "Insula R", "default", "salience", weight=0.4).weight
        0.4
    """

    region_1: str
    region_2: str
    network_1: str
    network_2: str
    weight: float
    share: float = float("nan")


@dataclass(frozen=True)
class Subnetwork:
    """A decisive set of regions.

    Attributes:
        regions: their names, joined by " + ".
        weight: for a subject, its contribution to the score; for a model, that of one standard deviation.
        p_value: the share of shuffled targets that give any set as good (family-wise).
        share: share of folds that find it; NaN if not computed.

    Example:
        >>> Subnetwork("Precuneus L + Insula R", weight=0.4, p_value=0.01).regions.split(" + ")
        ['Precuneus L', 'Insula R']
    """

    regions: str
    weight: float
    p_value: float
    share: float = float("nan")


@dataclass(frozen=True, eq=False)
class Findings:
    """The connections and sub-networks of a model or of one subject, strongest first.

    Attributes:
        about: a short title.
        connections, subnetworks: the findings.
        weights: weight of every connection, shape (n, n).
        names: names of the regions, shape (n,).
        folds: number of folds of the stability analysis; 0 for none.

    Example:
        >>> from isonn.connectomes import planted_connectomes
        >>> study = planted_connectomes(n_regions=20, effect=0.6, seed=1)
        >>> clf = isonn.AlignedClassifier(shuffles=19, random_state=0).fit(study.graphs)
        >>> found = findings(clf, label="patient")
        >>> set(found.subnetworks[0].regions.split(" + ")) == {f"region {i + 1}" for i in study.regions}
        True
    """

    about: str
    connections: list[Connection]
    subnetworks: list[Subnetwork]
    weights: NDArray[np.float64]
    names: list[str]
    folds: int = 0

    def to_csv(self, path: str | Path, what: str = "connections") -> None:
        """Write the connections (or ``what="subnetworks"``) as a table."""
        if what not in ("connections", "subnetworks"):
            raise InputError(f"what={what!r} is unknown; use 'connections' or 'subnetworks'")
        rows: Sequence[Any] = self.connections if what == "connections" else self.subnetworks
        kind = Connection if what == "connections" else Subnetwork
        with atomic_file(Path(path)) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [one.name for one in fields(kind)])
            writer.writeheader()
            for row in rows:
                cells = asdict(row)
                writer.writerow({key: "" if value != value else _safe(value) for key, value in cells.items()})

    def __str__(self) -> str:
        lines = [self.about]
        stable = self.folds > 0
        for one in self.subnetworks[:5]:
            known = "" if one.p_value != one.p_value else f"  (p {one.p_value:.2g}"
            found = f", in {one.share:.0%} of folds" if stable else ""
            lines.append(f"  {one.weight:+.2f}  {one.regions}{known}{f'{found})' if known else ''}")
        for line in self.connections[:10]:
            found = f"  ({line.share:.0%} of folds)" if stable else ""
            lines.append(f"  {line.weight:+.2f}  {line.region_1} - {line.region_2}{found}")
        return "\n".join(lines)


def findings(source: Any, label: Any = None, *, atlas: Any = None, top: int = 50) -> Findings:
    """Return the decisive connections and sub-networks, by name.

    Args:
        source: an explanation of one subject, or a fitted `AlignedClassifier` or `AlignedRegressor`.
        label: for a model, the class (or column of y) they speak for; None uses the last.
        atlas: anything `as_atlas` takes, for networks; region names must be those of the model.
        top: maximum number of connections.

    Example:
        >>> from isonn.connectomes import planted_connectomes
        >>> study = planted_connectomes(n_subjects=40, n_regions=12, effect=0.8, seed=1)
        >>> clf = isonn.AlignedClassifier(shuffles=9, random_state=0).fit(study.graphs)
        >>> findings(clf, label="patient").about
        'connections that speak for patient'
    """
    known = None if atlas is None else as_atlas(atlas)
    if isinstance(source, Explanation):
        return _of_subject(source, known, top)
    if not hasattr(source, "connections_"):
        raise InputError(f"{type(source).__name__} has no connections; give an AlignedClassifier or an explanation")
    names, column, weights = source.region_names_, _column(source, label), _class_weights(source, label)
    sets = []
    for number in range(len(source.sets_)):
        coef = source.target_.margin(source.coef_[:, number], column) - source.target_.margin(
            np.zeros(len(source.coef_)), column
        )
        regions = " + ".join(source.templates_[number].texts or ())
        # the pattern has the sign of the connections, which is negative for a set of weaker ones
        sign = source.sets_[number].found.sign
        sets.append(Subnetwork(regions, float(coef) * sign, float(source.p_values_[number])))
    sets.sort(key=lambda one: -abs(one.weight))
    about = f"connections that speak for {source.target_.classes[column]}"
    return Findings(about, _strongest(weights, names, known, source.layout_.directed, top), sets, weights, names)


def stability(
    estimator: Any, X: Any, y: Any = None, *, cv: Any = 5, label: Any = None, atlas: Any = None, top: int = 50
) -> Findings:
    """Return the findings of a model, with the share of folds that find each one.

    The model is fitted to all graphs, and again without each fold.

    Args:
        estimator: an `AlignedClassifier` or `AlignedRegressor`, fitted or not; it is cloned.
        X, y: the graphs and their targets.
        cv: folds, as in scikit-learn.
        label, atlas, top: as in `findings`.

    Example:
        >>> from isonn.connectomes import planted_connectomes
        >>> study = planted_connectomes(n_subjects=40, n_regions=12, effect=0.8, seed=1)
        >>> clf = isonn.AlignedClassifier(shuffles=9, random_state=0)
        >>> found = stability(clf, study.graphs, label="patient", cv=3)
        >>> print(f"{found.subnetworks[0].share:.0%} of folds")
        100% of folds
    """
    graphs = as_graphset(X)
    y = graphs.y if y is None else np.asarray(y)
    if y is None:
        raise InputError("stability needs y; pass it, or a GraphSet that has it")
    whole = findings(clone(estimator).fit(graphs, y), label, atlas=atlas, top=top)
    classifier = getattr(estimator, "_estimator_type", None) == "classifier" or hasattr(estimator, "predict_proba")
    splits = list(check_cv(cv, y, classifier=classifier).split(np.zeros(len(y)), y))
    connections = np.zeros(len(whole.connections))
    sets = np.zeros(len(whole.subnetworks))
    for train, _ in splits:
        part = findings(clone(estimator).fit(graphs[train], y[train]), label, atlas=atlas, top=top)
        found = {(one.region_1, one.region_2): np.sign(one.weight) for one in part.connections}
        for i, line in enumerate(whole.connections):
            connections[i] += found.get((line.region_1, line.region_2), 0) == np.sign(line.weight)
        for i, one in enumerate(whole.subnetworks):
            sets[i] += any(_alike(one, other) for other in part.subnetworks)
    return Findings(
        whole.about,
        [
            Connection(**{**asdict(one), "share": n / len(splits)})
            for one, n in zip(whole.connections, connections, strict=True)
        ],
        [
            Subnetwork(**{**asdict(one), "share": n / len(splits)})
            for one, n in zip(whole.subnetworks, sets, strict=True)
        ],
        whole.weights,
        whole.names,
        len(splits),
    )


def _of_subject(e: Explanation, atlas: Atlas | None, top: int) -> Findings:
    names = [e.node_name(node) for node in range(e.graph.n)]
    directed = not e.source.undirected
    sets = []
    for match in e.matches:
        if match.template < len(e.templates) and e.templates[match.template].k > 2:
            regions = " + ".join(names[node] for node in match.nodes)
            sets.append(Subnetwork(regions, match.contribution, float("nan")))
    who = e.graph.id or "this subject"
    return Findings(
        f"{who}: connections that speak for {e.explained}",
        _strongest(e.edge_importance, names, atlas, directed, top, e.graph.node_labels),
        sets,
        e.edge_importance,
        names,
    )


def _column(model: Any, label: Any) -> int:
    classes = model.target_.classes
    if label is None:
        return len(classes) - 1
    found = np.flatnonzero(classes == label)
    if len(found) != 1:
        raise InputError(
            f"label={label!r} is not a class of this model; use one of {', '.join(map(repr, classes.tolist()))}"
        )
    return int(found[0])


def _class_weights(model: Any, label: Any) -> NDArray[np.float64]:
    """Return the contribution of one standard deviation of every connection to the score of a class."""
    column, weights = _column(model, label), np.moveaxis(model.connections_, 0, -1)
    return np.asarray(model.target_.margin(weights, column) - model.target_.margin(np.zeros_like(weights), column))


def _strongest(
    weights: NDArray[np.float64],
    names: list[str],
    atlas: Atlas | None,
    directed: bool,
    top: int,
    labels: NDArray[Any] | None = None,
) -> list[Connection]:
    networks = [""] * len(names) if labels is None else [str(label) for label in labels.tolist()]
    if atlas is not None and atlas.networks is not None:
        known = dict(zip(atlas.names.tolist(), atlas.networks.tolist(), strict=True))
        unknown = [name for name in names if name not in known]
        if unknown:
            raise InputError(f"region {unknown[0]!r} is not in the atlas; give the atlas the model was fitted with")
        networks = [known[name] for name in names]
    i, j = np.nonzero(np.ones_like(weights)) if directed else np.triu_indices(len(weights), 1)
    order = np.argsort(-np.abs(weights[i, j]), kind="stable")[:top]
    order = order[weights[i[order], j[order]] != 0]
    return [
        Connection(names[a], names[b], networks[a], networks[b], float(weights[a, b]))
        for a, b in zip(i[order].tolist(), j[order].tolist(), strict=True)
    ]


def _alike(one: Subnetwork, other: Subnetwork) -> bool:
    a, b = set(one.regions.split(" + ")), set(other.regions.split(" + "))
    return bool(np.sign(one.weight) == np.sign(other.weight)) and len(a & b) / len(a | b) >= SAME


def _safe(value: Any) -> Any:
    """Escape text that a spreadsheet would read as a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "@", "\t") else value
