"""The findings of a model by region name: decisive connections and sub-networks, their effects and their stability."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.aligned.estimators import column_names
from isonn.connectomes.atlas import Atlas, as_atlas
from isonn.errors import InputError
from isonn.explain.explanation import Explanation, column_of, output_names
from isonn.files import atomic_file
from isonn.graphs.convert import as_graphset
from isonn.report.words import short_names
from isonn.targets import positive_of

NAN = float("nan")


@dataclass(frozen=True)
class Connection:
    """A decisive connection.

    Attributes:
        region_1, region_2: names of its regions; in directed graphs it leads from the first to the second.
        network_1, network_2: their networks, or "".
        weight: for a subject, its contribution to the score; for a model, that of one standard deviation.
        share: share of folds with it among their strongest, with the same sign; NaN if not computed.
        direction: such as "weaker in patient".
        difference: difference of means between classes, or slope, in the units of the matrices, given the confounds.
        effect: Cohen's d, or the partial correlation for numbers, on subjects of folds that did not choose it.
        low, high: its 95 % interval.
        t: partial t statistic.
        p_fwer, p_fdr: its p-values, family-wise over all connections, and by the false discovery rate.

    Example:
        >>> Connection("Precuneus L", "Insula R", "default", "salience", weight=0.4).weight
        0.4
    """

    region_1: str
    region_2: str
    network_1: str
    network_2: str
    weight: float
    share: float = NAN
    direction: str = ""
    difference: float = NAN
    effect: float = NAN
    low: float = NAN
    high: float = NAN
    t: float = NAN
    p_fwer: float = NAN
    p_fdr: float = NAN


@dataclass(frozen=True)
class Subnetwork:
    """A decisive set of regions.

    Attributes:
        regions: their names, joined by " + ".
        weight: for a subject, its contribution to the score; for a model, that of one standard deviation.
        p_value: the share of shuffles that give any set as good, of any size, class or column (family-wise).
        share: share of folds that find it; NaN if not computed.
        direction: such as "weaker in patient".
        difference: mean over its connections of their differences; see `Connection`.
        effect: Cohen's d, or the partial correlation for numbers, on subjects of folds that did not choose it.
        low, high: its 95 % interval.

    Example:
        >>> Subnetwork("Precuneus L + Insula R", weight=0.4, p_value=0.01).regions.split(" + ")
        ['Precuneus L', 'Insula R']
    """

    regions: str
    weight: float
    p_value: float
    share: float = NAN
    direction: str = ""
    difference: float = NAN
    effect: float = NAN
    low: float = NAN
    high: float = NAN


@dataclass(frozen=True, eq=False)
class Findings:
    """The connections and sub-networks of a model or of one subject, strongest first.

    Attributes:
        about: a short title.
        connections, subnetworks: the findings.
        weights: weight of every connection, shape (n, n).
        names: names of the regions, shape (n,).
        folds: number of folds of the stability analysis; 0 for none.
        effect_name: "d" (Cohen) or "r" (partial correlation); "" for one subject.
        atlas: names, networks and coordinates of the regions, if known.
        score: how well the model predicts held-out graphs.
        confounding: what each confound explains of the target and of the model's held-out score.
        target: the class or the score they speak for; "" for one subject.
        groups, values: the class or number of each graph and the mean connection of each sub-network in it, shape
            (graphs, sub-networks), if data was given.
        subjects: number of subjects of these graphs, if some have several.
        shuffles: number of shuffles behind the family-wise p-values; 0 for one subject.

    Example:
        >>> from isonn.connectomes import planted_connectomes
        >>> study = planted_connectomes(n_regions=20, effect=0.6, seed=1)
        >>> clf = isonn.AlignedClassifier(shuffles=19, random_state=0).fit(study.graphs)
        >>> found = findings(clf, label="patient")
        >>> set(found.subnetworks[0].regions.split(" + ")) == {f"region {i + 1}" for i in study.regions}
        True
        >>> found.subnetworks[0].direction
        'stronger in patient'
    """

    about: str
    connections: list[Connection]
    subnetworks: list[Subnetwork]
    weights: NDArray[np.float64]
    names: list[str]
    folds: int = 0
    effect_name: str = ""
    atlas: Atlas | None = None
    score: dict[str, float] = field(default_factory=dict)
    confounding: list[dict[str, Any]] = field(default_factory=list)
    target: str = ""
    groups: NDArray[Any] | None = None
    values: NDArray[np.float64] | None = None
    subjects: int = 0
    shuffles: int = 0

    def to_csv(self, path: str | Path, what: str = "connections") -> None:
        """Write the connections (or ``what="subnetworks"``) as a table.

        Args:
            path: the file to write; a file that is there is replaced.
            what: "connections" or "subnetworks".

        Example:
            >>> from isonn.connectomes import planted_connectomes
            >>> study = planted_connectomes(n_subjects=40, n_regions=12, effect=0.8, seed=1)
            >>> clf = isonn.AlignedClassifier(shuffles=9, random_state=0).fit(study.graphs)
            >>> findings(clf).to_csv(tmp_path / "connections.csv")
        """
        if what not in ("connections", "subnetworks"):
            raise InputError(f"what={what!r} is unknown; use 'connections' or 'subnetworks'")
        rows: Sequence[Any] = self.connections if what == "connections" else self.subnetworks
        kind = Connection if what == "connections" else Subnetwork
        with atomic_file(Path(path)) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [column.name for column in fields(kind)])
            writer.writeheader()
            for row in rows:
                cells = asdict(row)
                writer.writerow({key: "" if value != value else _safe(value) for key, value in cells.items()})

    def shortened(self) -> Findings:
        """Return the findings without the words that all region names begin with, such as "7Networks_".

        Returns:
            new `Findings` with short names.
        """
        short = dict(zip(self.names, short_names(self.names), strict=True))
        return replace(
            self,
            names=list(short.values()),
            connections=[
                replace(line, region_1=short[line.region_1], region_2=short[line.region_2]) for line in self.connections
            ],
            subnetworks=[
                replace(line, regions=" + ".join(short[name] for name in line.regions.split(" + ")))
                for line in self.subnetworks
            ],
        )

    def effect_text(self, line: Connection | Subnetwork) -> str:
        """Return the effect with its interval, such as "d = 0.81 [0.32, 1.30]", or "" if it is unknown.

        Args:
            line: one of ``connections`` or ``subnetworks``.

        Returns:
            the text.
        """
        if line.effect != line.effect:
            return ""
        return f"{self.effect_name} = {line.effect:.2f} [{line.low:.2f}, {line.high:.2f}]"

    def __str__(self) -> str:
        lines, short = [self.about], self.shortened()
        for line in short.subnetworks[:5]:
            facts = [line.direction, self.effect_text(line), _p_text(line.p_value)]
            facts.append(f"in {line.share:.0%} of folds" if line.share == line.share else "")
            lines.append(f"  {line.weight:+.3g}  {line.regions}{_in_brackets(facts)}")
        for pair in short.connections[:10]:
            facts = [pair.direction, self.effect_text(pair), _p_text(pair.p_fwer)]
            facts.append(f"{pair.share:.0%} of folds" if self.folds else "")
            lines.append(f"  {pair.weight:+.3g}  {pair.region_1} - {pair.region_2}{_in_brackets(facts)}")
        return "\n".join(lines)


def findings(source: Any, label: Any = None, *, atlas: Any = None, top: int = 50, data: Any = None) -> Findings:
    """Return the decisive connections and sub-networks, by name.

    Args:
        source: an explanation of one subject, a fitted `AlignedClassifier` or `AlignedRegressor`, or a pipeline that
            ends with one.
        label: for a model, the class (or column of y) they speak for; None uses the positive one of two
            classes ("autism" beside "no autism"), else the last.
        atlas: anything `as_atlas` takes, for networks and coordinates; region names must be those of the model. None
            uses those of the training graphs.
        top: maximum number of connections.
        data: graphs with targets, for the value of each sub-network by class.

    Returns:
        `Findings`: sub-networks with the smallest p-value first, connections with the largest weight first.

    Example:
        >>> from isonn.connectomes import planted_connectomes
        >>> study = planted_connectomes(n_subjects=40, n_regions=12, effect=0.8, seed=1)
        >>> clf = isonn.AlignedClassifier(shuffles=9, random_state=0).fit(study.graphs)
        >>> findings(clf, label="patient").about
        'connections that speak for patient'
    """
    if isinstance(source, Explanation):
        return _of_subject(source, atlas, top)
    model = source.steps[-1][1] if hasattr(source, "steps") else source
    if not hasattr(type(model), "connections_"):
        raise InputError(f"{type(model).__name__} has no connections; give an AlignedClassifier or an explanation")
    if len(model.regions_) and atlas is not None:  # regions_ raises NotFittedError
        atlas = atlas_of(model.model_.layout.names, atlas)
    elif model.networks_ is not None or model.coordinates_ is not None:
        atlas = Atlas(model.model_.layout.names, model.coordinates_, model.networks_)
    target = model.target_
    if label is not None:
        column = column_of(target.classes, label, output_names(target, model.label_names_))
    else:
        last = len(target.classes) - 1
        column = positive_of(target.classes) if target.exclusive and last == 1 else last
    view = _View(model, column, atlas)
    weights = view.matrix()
    result = Findings(
        f"connections that {'change with' if model.target_.numeric else 'speak for'} {view.name}",
        view.connections(weights, top),
        view.subnetworks(),
        weights,
        view.names,
        effect_name="r" if model.target_.numeric else "d",
        atlas=view.atlas,
        score=dict(model.held_out_score_),
        confounding=[line for line in model.confounding_ if line["target"] == view.column_name],
        target=view.name,
        shuffles=model.shuffles,
    )
    return result if data is None else _with_values(result, model, view.label, data)


class _View:
    """What a model says about one class or column: signs are turned for the first of two classes."""

    def __init__(self, model: Any, label: int, atlas: Atlas | None) -> None:
        self.model, self.label, self.atlas = model, label, atlas
        self.layout = model.model_.layout
        self.names = self.layout.names if atlas is None else atlas.names.tolist()
        two = model.target_.exclusive and len(model.target_.classes) == 2
        self.column, self.turn = (0, 1 if label == 1 else -1) if two else (label, 1)
        self.column_name = column_names(model.target_, model.label_names_)[self.column]
        value = model.target_.classes[label]
        self.name = str(output_names(model.target_, model.label_names_).get(value, value)) if two else self.column_name

    def margin(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the effect on the score of the class, of changes of outputs, shape (..., outputs)."""
        target = self.model.target_
        return np.asarray(target.margin(values, self.label) - target.margin(np.zeros_like(values), self.label))

    def matrix(self) -> NDArray[np.float64]:
        """Return the contribution of one standard deviation of every connection, shape (n, n)."""
        return self.margin(np.moveaxis(self.model.connections_, 0, -1))

    def effect(self, sign: float, difference: float, effect: NDArray[np.float64]) -> dict[str, Any]:
        """Return the direction in words, the difference, and the effect with its interval, as the class sees them."""
        how = f"with higher {self.name}" if self.model.target_.numeric else f"in {self.name}"
        value, low, high = (self.turn * effect)[[0, 1, 2] if self.turn > 0 else [0, 2, 1]].tolist()
        return {
            "direction": f"{'stronger' if self.turn * sign > 0 else 'weaker'} {how}" if sign else "",
            "difference": self.turn * float(difference),
            "effect": value,
            "low": low,
            "high": high,
        }

    def subnetworks(self) -> list[Subnetwork]:
        """Return the sets of this column, the smallest p-value first."""
        model, sets = self.model, []
        for number in np.flatnonzero(model.owner_ == self.column).tolist():
            regions = model.model_.sets[number]
            inside = self.layout.inside(regions.nodes)
            difference = model.difference_[self.column, inside].mean()
            sets.append(
                Subnetwork(
                    " + ".join(self.names[node] for node in regions.nodes),
                    # the pattern has the sign of the connections, which is negative for a set of weaker ones
                    float(self.margin(model.model_.coef[:, number])) * regions.sign,
                    float(model.p_values_[number]),
                    float(model.effects_[3, number]),
                    **self.effect(regions.sign, difference, model.effects_[:3, number]),
                )
            )
        return sorted(sets, key=lambda line: (line.p_value, -abs(line.weight)))

    def connections(self, weights: NDArray[np.float64], top: int) -> list[Connection]:
        """Return the strongest connections with their statistics."""
        model, lines = self.model, []
        for a, b, line in _strongest(weights, self.names, self.atlas, self.layout.directed, top):
            at = (self.column, self.layout.numbers[a, b])
            t = float(model.statistics_[at])
            facts = self.effect(t, model.difference_[at], model.connection_effects_[:, at[0], at[1]])
            p: dict[str, Any] = {"p_fwer": float(model.fwer_[at]), "p_fdr": float(model.fdr_[at])}
            lines.append(replace(line, t=self.turn * t, **facts, **p))
        return lines


def atlas_of(names: Sequence[str], atlas: Any) -> Atlas:
    """Return a given atlas with its regions in the order of these names."""
    given = as_atlas(atlas)
    if len(given) == len(names) and names == [str(i) for i in range(len(names))]:
        return given  # the model was fitted to an array: regions are in the atlas's order
    place = {name: i for i, name in enumerate(given.names.tolist())}
    unknown = [name for name in names if name not in place]
    if unknown:
        raise InputError(f"region {unknown[0]!r} is not in the atlas; give the atlas the model was fitted with")
    return given[[place[name] for name in names]]


def _with_values(result: Findings, model: Any, column: int, data: Any) -> Findings:
    """Add the mean connection of each sub-network in each graph, in the units of the matrices."""
    graphs = as_graphset(data)
    if graphs.y is None:
        return result
    place = {name: i for i, name in enumerate(result.names)}
    members = [[place[name] for name in line.regions.split(" + ")] for line in result.subnetworks]
    values = np.zeros((len(graphs), len(members)))
    for rows, matrices, _ in model.model_.layout.matrices(graphs):
        for number, nodes in enumerate(members):
            inside = matrices[:, nodes][:, :, nodes]
            values[rows, number] = inside.sum(axis=(1, 2)) / (len(nodes) * (len(nodes) - 1))
    y = graphs.y if graphs.y.ndim == 1 else graphs.y[:, column]
    if not model.target_.numeric:
        y = np.array([str(graphs.class_names.get(value, value)) for value in y.tolist()])
    subjects = len(np.unique(graphs.table["subject"])) if "subject" in graphs.table else 0
    return replace(result, groups=y, values=values, subjects=subjects)


def _of_subject(e: Explanation, atlas: Any, top: int) -> Findings:
    names, graph = [e.node_name(node) for node in range(e.graph.n)], e.graph
    if atlas is not None:
        atlas = atlas_of(names, atlas)
    elif graph.kind == "connectomes" and graph.node_names is not None:
        places = graph.node_attributes
        places = places if places is not None and places.shape[1] == 3 else None
        atlas = Atlas(graph.node_names, places, graph.node_labels)
    sets = [
        Subnetwork(" + ".join(names[node] for node in match.nodes), match.contribution, NAN)
        for match in e.matches
        if e.source.templates[match.template].k > 2
    ]
    who = e.graph.id or "this subject"
    lines = [line for _, _, line in _strongest(e.edge_importance, names, atlas, not e.source.undirected, top)]
    return Findings(
        f"{who}: connections that speak for {e.explained}", lines, sets, e.edge_importance, names, atlas=atlas
    )


def _strongest(
    weights: NDArray[np.float64], names: list[str], atlas: Atlas | None, directed: bool, top: int
) -> list[tuple[int, int, Connection]]:
    """Return the regions and the connection of the largest weights."""
    networks = [""] * len(names) if atlas is None or atlas.networks is None else atlas.networks.tolist()
    i, j = np.nonzero(~np.eye(len(weights), dtype=bool)) if directed else np.triu_indices(len(weights), 1)
    order = np.argsort(-np.abs(weights[i, j]), kind="stable")[:top]
    order = order[weights[i[order], j[order]] != 0]
    return [
        (a, b, Connection(names[a], names[b], networks[a], networks[b], float(weights[a, b])))
        for a, b in zip(i[order].tolist(), j[order].tolist(), strict=True)
    ]


def _p_text(p: float) -> str:
    return "" if p != p else f"p {p:.2g}"


def _in_brackets(facts: Sequence[str]) -> str:
    text = ", ".join(fact for fact in facts if fact)
    return f"  ({text})" if text else ""


def _safe(value: Any) -> Any:
    """Escape text that a spreadsheet would read as a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "@", "\t") else value
