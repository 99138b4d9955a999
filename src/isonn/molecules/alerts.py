"""Structural alerts: the pieces that make a model predict a class, as SMARTS, judged on held-out molecules.

Pieces are chosen by the model's predictions for the molecules that contain them, never by their true classes. Each step
greedily adds the piece that explains most of the predictions not yet covered. The precision of an alert is counted on
molecules that the model was not fitted to. Training molecules are recognised by their hashes. A few are left
out. If they are the majority, they are judged by cross-fitting: a model fitted without a fold chooses alerts, and an
alert counts on that fold only if it is among them.
"""

from __future__ import annotations

import csv
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TextIO, overload

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from scipy.sparse import csc_array
from sklearn.base import clone

from isonn.errors import InputError, IsoNNWarning
from isonn.explain.template import Template
from isonn.files import atomic_file
from isonn.graphs.convert import as_graphset
from isonn.graphs.graph import GraphSet
from isonn.graphs.isomorphism import graph_hashes
from isonn.graphs.splits import grouped_folds
from isonn.molecules.convert import from_smiles, to_mol
from isonn.molecules.labels import read_atom
from isonn.molecules.smarts import GROUPS, RELATIONS, name_of_hits, template_smarts
from isonn.targets import Labels, as_y

#: Default number of alerts.
TOP = 30
#: Default minimum number of molecules that contain a piece.
MIN_SUPPORT = 5
#: A piece is chosen if the mean prediction for its molecules exceeds the mean by this share of what is left.
MARGIN = 0.25
#: Pieces in nearly the same molecules are one alert: the number of molecules with both over those with either, among
#: molecules that no earlier alert covers.
ALIKE = 0.65
#: Among pieces whose gain differs by less than this, the most informative one is shown.
NEARLY = 0.3
#: Two alerts are nested if this share of the molecules with the rarer one contains the other too.
NESTED = 0.8
#: Number of folds of cross-fitting.
FOLDS = 5
#: Training molecules are cross-fitted if they exceed this share of all, and otherwise not judged: a few, such as
#: repeats in held-out data, are not enough to fit a model.
MOSTLY = 0.5
#: Number of examples listed, and of matches used to find a name.
EXAMPLES, NAMED_BY = 3, 25

Columns = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Alert:
    """A structural alert.

    Attributes:
        smarts: the pattern.
        template: the model's template.
        column: number of the template.
        relation, name: the functional group or catalogue alert that it "is", "contains" or is "part of".
        support: number of ``judged`` molecules, not used for fitting, that contain it.
        hits: those of the class.
        precision: hits / support, with a 95 % interval (Wilson); NaN if no such molecule contains it.
        lift: precision over the share of the class among all judged molecules; its interval takes that share as exact.
        model: mean predicted probability for molecules of DATA that contain it.
        folds: number of cross-fitting folds that also chose it; None without overlap.
        differs: molecules of DATA in which RDKit and the model find the pattern a different number of times.
        also: patterns in nearly the same molecules.
        examples: molecules that contain it.
    """

    smarts: str
    template: Template
    column: int
    relation: str
    name: str
    support: int
    judged: int
    hits: int
    precision: float
    precision_interval: tuple[float, float]
    lift: float
    lift_interval: tuple[float, float]
    model: float
    folds: int | None
    differs: int
    also: tuple[str, ...]
    examples: tuple[str, ...]

    @property
    def title(self) -> str:
        """Its name: "epoxide", "contains nitro", "part of nitroaromatic"; "" if it has none."""
        return self.name if self.relation == "is" else f"{self.relation} {self.name}".strip()

    def __str__(self) -> str:
        what = f" ({self.relation} {self.name})" if self.name else ""
        return f"{self.smarts}{what}: {self.hits} of {self.support}, lift {self.lift:.2f}"


class Alerts(Sequence[Alert]):
    """Alerts, most useful first.

    Attributes:
        label: the class they warn of.
        base: share of the class among the judged molecules.
        rule: metrics of the rule "any alert is present" on judged molecules, and of the model.
        overlap: molecules of DATA the model was fitted to.
        cross_fitted: whether these are judged by cross-fitting; if not, they are left out.
    """

    def __init__(
        self, alerts: list[Alert], label: Any, base: float, rule: dict[str, float], overlap: int, cross_fitted: bool
    ) -> None:
        self._alerts, self.label, self.base, self.rule = alerts, label, base, rule
        self.overlap, self.cross_fitted = overlap, cross_fitted

    def __len__(self) -> int:
        return len(self._alerts)

    @overload
    def __getitem__(self, index: int) -> Alert: ...
    @overload
    def __getitem__(self, index: slice) -> list[Alert]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._alerts[index]

    def __iter__(self) -> Iterator[Alert]:
        return iter(self._alerts)

    def __repr__(self) -> str:
        lines = [f"{self._count()} for class {self.label} (share {self.base:.2f})", *map(str, self._alerts[:10])]
        return "\n  ".join(lines + (["..."] if len(self) > 10 else []))

    def _count(self) -> str:
        return "1 alert" if len(self) == 1 else f"{len(self)} alerts"

    def sentence(self) -> str:
        """Describe the performance of all alerts together in a sentence or two."""
        words = f"{self._count()} for class {self.label}, the class of {_percent(self.base)} of the molecules."
        if self.overlap:
            how = "judged by cross-fitting" if self.cross_fitted else "not judged"
            words += f" {self.overlap:,} molecules were used for fitting; they are {how}."
        if self.rule:
            words += (
                f' The rule "any alert is present" is right for {_percent(self.rule["accuracy"])} of '
                f"{self.rule['molecules']:,.0f} (sensitivity {_percent(self.rule['sensitivity'])}, specificity "
                f"{_percent(self.rule['specificity'])}); the model for {_percent(self.rule['model_accuracy'])}."
            )
        return words

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat row per alert."""
        return [
            {
                "smarts": alert.smarts,
                "relation": alert.relation,
                "name": alert.name,
                "support": alert.support,
                "judged": alert.judged,
                "hits": alert.hits,
                "precision": _rounded(alert.precision),
                "precision_low": _rounded(alert.precision_interval[0]),
                "precision_high": _rounded(alert.precision_interval[1]),
                "lift": _rounded(alert.lift),
                "lift_low": _rounded(alert.lift_interval[0]),
                "lift_high": _rounded(alert.lift_interval[1]),
                "model": _rounded(alert.model),
                "folds": "" if alert.folds is None else alert.folds,
                "rdkit_differs": alert.differs,
                "also": " ".join(alert.also),
                "examples": " ".join(alert.examples),
            }
            for alert in self
        ]

    def to_csv(self, path: str | Path | TextIO) -> None:
        """Write one row per alert to a new file, or to an open one."""
        if isinstance(path, (str, Path)):
            with atomic_file(Path(path)) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
                self.to_csv(file)
            return
        rows = self.rows()
        writer = csv.DictWriter(path, list(rows[0]) if rows else ["smarts"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)

    def to_html(self, path: str | Path) -> None:
        """Write a page with a drawing of each alert; needs the extra ``report``."""
        from isonn.report.draw import draw_template
        from isonn.report.header import Tile
        from isonn.report.page import render, write

        tiles = []
        if self.rule:
            about = f"accuracy on {self.rule['molecules']:,.0f} molecules"
            tiles.append(Tile("Rule: any alert", _percent(self.rule["accuracy"]), about, main=True))
            tiles.append(Tile("The model", _percent(self.rule["model_accuracy"]), "accuracy"))
            trivial = _percent(max(self.base, 1 - self.base))
            tiles.append(Tile("Trivial: most frequent class", trivial, "accuracy"))
        shown = [
            {"alert": alert, "fragment": draw_template(alert.template, kind="molecules"), "example": _example(alert)}
            for alert in self
        ]
        first = next((one for one in shown if one["example"] is not None), None)
        write(
            Path(path),
            render("alerts.html", alerts=self, shown=shown, first=first, answer=self._answer(), tiles=tiles),
        )

    def _answer(self) -> str:
        judged = [alert for alert in self if alert.support]
        if not judged:
            return f"No alert for class {self.label} could be judged on molecules that were not used to choose it."
        first = judged[0]
        many = f"{len(self)} pieces warn" if len(self) > 1 else "1 piece warns"
        return (
            f"{many} of class {self.label}. The surest ({first.title or first.smarts}): {first.hits:,} of the "
            f"{first.support:,} molecules that contain it are of the class, compared with {_percent(self.base)} of all."
        )


def _example(alert: Alert) -> Any:
    """Draw the first example with the alert highlighted; None if there is none, or RDKit cannot show it."""
    from isonn.report.draw import Mark, draw_graph

    for text in alert.examples:
        molecule = Chem.MolFromSmiles(text)
        hits = () if molecule is None else molecule.GetSubstructMatches(Chem.MolFromSmarts(alert.smarts))
        if hits:
            graph = from_smiles([text])[0]
            title = f"{text[:200]} with the alert highlighted"
            return draw_graph(graph, title=title, marks=[Mark(tuple(hit)) for hit in hits[:1]], shown=[0])
    return None


class _Limits(NamedTuple):
    """The maximum number of alerts, and the minimum number of molecules that contain each."""

    top: int
    min_support: int


def find_alerts(
    clf: Any, X: Any, y: Any = None, label: Any = None, top: int = TOP, min_support: int = MIN_SUPPORT
) -> Alerts:
    """Find the alerts of a fitted `SubgraphClassifier`; see ``clf.alerts``."""
    graphs = as_graphset(X)
    if graphs.kind != "molecules":
        raise InputError(f"alerts need molecules, but {graphs.name} has none; use reasons_ for other graphs")
    y = graphs.y if y is None else y
    if y is None:
        raise InputError("alerts need the classes of X to count how often they are right; pass y")
    column = _column(clf, label)
    truth = _truth(clf, as_y(y, len(graphs)), column)
    known = np.isfinite(truth)
    graphs, truth = graphs[known], truth[known] == 1
    if truth.all() or not truth.any():
        raise InputError("X has molecules of one class only; give some of both")
    counts, molecules = csc_array(clf.count(graphs)), _Molecules(graphs)
    judge = _Judge(clf, graphs, truth, counts, column, _Limits(top, min_support))
    found = [_alert(clf, graphs, counts, judge, place, molecules) for place in range(len(judge.chosen))]
    found.sort(key=lambda alert: (-alert.lift_interval[0], -alert.support, alert.smarts))
    return Alerts(found, _labels(clf)[column], judge.base, judge.rule(), int(judge.seen.sum()), bool(judge.folds))


@dataclass(frozen=True, eq=False)
class _Chosen:
    """A chosen column, and the columns in nearly the same molecules."""

    column: int
    alike: Columns


def _choose(clf: Any, graphs: GraphSet, counts: csc_array, column: int, limits: _Limits) -> list[_Chosen]:
    """Choose columns by the predictions for molecules that contain them, until nothing is left to explain.

    Only pieces whose own weight speaks for the class are chosen. Pieces in nearly the same molecules share their weight
    arbitrarily, so the most informative one is shown.
    """
    said = clf.predict_proba(graphs)[:, column]
    present = csc_array((np.ones(counts.nnz), counts.indices, counts.indptr), shape=counts.shape)
    frequent = np.flatnonzero(np.diff(present.indptr) >= limits.min_support)
    templates = {int(i): clf.templates_[int(i)] for i in frequent}
    usable = np.array([i for i, template in templates.items() if template.node_labels is not None], dtype=np.int64)
    present = csc_array(present[:, usable])
    speaks = _speaks_for(clf, column)[usable]
    informative = np.array([_informative(templates[i]) for i in usable.tolist()])
    base = float(said.mean())
    worth = said - (base + MARGIN * (1 - base))
    left = np.ones(len(graphs))  # 0 for molecules that an earlier alert covers
    chosen: list[_Chosen] = []
    while len(chosen) < 2 * limits.top and speaks.any():  # nested ones are merged afterwards
        gain = np.asarray(present.T @ (worth * left))
        best = int(np.where(speaks, gain, -np.inf).argmax())
        if gain[best] < MARGIN:
            break
        held = present[:, [best]].toarray()[:, 0] * left
        shared, own = np.asarray(present.T @ held), np.asarray(present.T @ left)
        alike = np.flatnonzero(shared >= ALIKE * (own + held.sum() - shared))
        near = alike[gain[alike] >= (1 - NEARLY) * gain[best]]
        shown = int(near[np.lexsort((near, -gain[near], -informative[near]))[0]])
        chosen.append(_Chosen(int(usable[shown]), usable[alike[alike != shown]]))
        left[present[:, [shown]].toarray()[:, 0] > 0] = 0.0
    return _merged(clf, chosen, counts, _Molecules(graphs))[: limits.top]


def _merged(clf: Any, chosen: list[_Chosen], counts: csc_array, molecules: _Molecules) -> list[_Chosen]:
    """Merge nested alerts into the one nearest to a named group, else into the earlier one."""
    kept: list[_Chosen] = []
    held: list[NDArray[np.bool_]] = []
    for one in chosen:
        own = counts[:, [one.column]].toarray()[:, 0] > 0
        shared = [(own & other).sum() / max(1, min(own.sum(), other.sum())) for other in held]
        place = next((i for i, share in enumerate(shared) if share >= NESTED), None)
        if place is None:
            kept.append(one)
            held.append(own)
            continue
        before, rivals = kept[place], []
        for rival, rows in ((before, held[place]), (one, own)):
            relation, name = _name(template_smarts(clf.templates_[rival.column]), np.flatnonzero(rows), molecules)
            rivals.append(RELATIONS.index(relation) if name in GROUPS else len(RELATIONS))
        best, other = (one, before) if rivals[1] < rivals[0] else (before, one)
        kept[place] = _Chosen(best.column, np.unique([*best.alike, other.column, *other.alike]))
        held[place] = own if best is one else held[place]
    return kept


def _name(smarts: str, rows: Columns, molecules: _Molecules) -> tuple[str, str]:
    """Find the name of a pattern from a few of the molecules that contain it."""
    query = Chem.MolFromSmarts(smarts)
    some = [molecules[i] for i in rows[:: -(-len(rows) // NAMED_BY)].tolist()]
    return name_of_hits([(one, [frozenset(hit) for hit in one.GetSubstructMatches(query)]) for one in some])


def _informative(template: Template) -> int:
    """Return how informative a template is: first by atoms other than carbon, then by size, up to four atoms."""
    assert template.node_labels is not None
    other = sum(read_atom(str(label)).number not in (1, 6) for label in template.node_labels)
    return 10 * other + min(template.k, 4)  # further carbons seldom belong to the group


def _speaks_for(clf: Any, column: int) -> NDArray[np.bool_]:
    """Return the columns that speak for the class by their weight in sums, or all if the head has no sums."""
    width = len(clf.templates_)
    linear = getattr(clf.head_, "linear", clf.head_).coefficients()
    if linear is None:
        return np.ones(width, dtype=bool)
    outputs = linear[0].shape[0]
    direction = clf.target_.margin(np.eye(outputs), column) - clf.target_.margin(np.zeros(outputs), column)
    return np.asarray((direction @ linear[0])[:width] > 0)


class _Judge:
    """Counts alerts on molecules that were not used to choose them.

    Attributes:
        base: share of the class.
        held: which molecule contains which alert, shape (g, alerts).
        allowed: on which molecules each alert may be judged, shape (g, alerts).
        folds: for each cross-fitting fold, the alerts chosen without it; empty without overlap.
        warned: whether a molecule contains any alert that may be judged on it, shape (g,).
        said: the predicted probability, for training molecules from a model fitted without them.
    """

    def __init__(
        self, clf: Any, graphs: GraphSet, truth: NDArray[np.bool_], counts: csc_array, column: int, limits: _Limits
    ) -> None:
        self.truth = truth
        self.chosen = _choose(clf, graphs, counts, column, limits)
        self.seen = clf.seen_in_training(graphs)
        self.held = counts[:, [one.column for one in self.chosen]].toarray() > 0
        self.allowed = np.repeat(~self.seen[:, None], len(self.chosen), axis=1)
        self.warned, self.said = self.held.any(axis=1), clf.predict_proba(graphs)[:, column]
        self.folds: list[NDArray[np.bool_]] = []
        if self.seen.mean() > MOSTLY:
            with warnings.catch_warnings():  # labels that only the fold left out has are no news to the user
                warnings.simplefilter("ignore", IsoNNWarning)
                self._cross_fit(clf, graphs, limits)
        self.judged = ~self.seen | bool(self.folds)
        self.base = float(truth[self.judged].mean()) if truth[self.judged].any() else float(truth.mean())

    def _cross_fit(self, clf: Any, graphs: GraphSet, limits: _Limits) -> None:
        rows = np.flatnonzero(self.seen)
        truth, groups = self.truth[rows].astype(np.int64), graph_hashes(graphs[rows])
        if min(np.bincount(truth, minlength=2)) < FOLDS or len(np.unique(groups)) < FOLDS:
            return
        patterns = [_pattern(clf, one.column) for one in self.chosen]
        params = {"random_state": clf.seed_}
        if not isinstance(clf.class_weight, (str, type(None))):
            params["class_weight"] = None  # it refers to the original classes, but here they are 0 and 1
        for train, test in grouped_folds(truth, groups, FOLDS):
            inside, outside = graphs[rows[train]], rows[test]
            other = clone(clf).set_params(**params).fit(inside, truth[train])
            theirs = _choose(other, inside, csc_array(other.count(inside)), 1, limits)
            also = {_pattern(other, int(place)) for one in theirs for place in (one.column, *one.alike)}
            agreed = np.array([pattern in also for pattern in patterns], dtype=bool)
            self.folds.append(agreed)
            self.allowed[outside] = agreed
            found = other.count(graphs[outside])
            self.warned[outside] = (csc_array(found)[:, [one.column for one in theirs]].toarray() > 0).any(axis=1)
            self.said[outside] = other.predict_proba(graphs[outside])[:, 1]

    def rule(self) -> dict[str, float]:
        """Return the metrics of the rule "any alert is present", and of the model, on judged molecules."""
        truth, rows = self.truth[self.judged], self.judged
        if not len(truth):
            return {}
        flags, said = self.warned[rows], self.said[rows] > 0.5
        return {
            "molecules": float(len(truth)),
            "accuracy": float((flags == truth).mean()),
            "sensitivity": float(flags[truth].mean()) if truth.any() else float("nan"),
            "specificity": float((~flags[~truth]).mean()) if (~truth).any() else float("nan"),
            "model_accuracy": float((said == truth).mean()),
        }


def _labels(clf: Any) -> list[Any]:
    """Return the classes, or the names of several labels if they have some."""
    names = clf.label_names_.get("target", {}) if isinstance(clf.target_, Labels) else {}
    return [names.get(value, value) for value in clf.classes_.tolist()]


def _column(clf: Any, label: Any) -> int:
    """Return the output of the class to warn of: the second of two by default."""
    labels = _labels(clf)
    if label is None:
        if len(labels) != 2 or isinstance(clf.target_, Labels):
            raise InputError(f"this model has {len(labels)} labels; give the one to warn of as label: {labels}")
        return 1
    for known in (labels, clf.classes_.tolist()):
        if label in known:
            return int(known.index(label))
    raise InputError(f"label={label!r} is not a class of this model; use one of {labels}")


def _truth(clf: Any, y: NDArray[Any], column: int) -> NDArray[np.float64]:
    """Return 1 for the class, 0 for others, NaN if unknown."""
    if y.ndim == 2:
        return np.asarray(y[:, column], dtype=np.float64)
    if isinstance(clf.target_, Labels):
        raise InputError("this model predicts several labels; give y with a column for each")
    unknown = ~np.isin(y, clf.classes_)
    if unknown.all():
        raise InputError(f"y has classes such as {y[0]!r}, which this model does not know; use {clf.classes_.tolist()}")
    return np.where(unknown, np.nan, y == clf.classes_[column])


def _pattern(clf: Any, column: int) -> tuple[str, str]:
    """Return a key that identifies a template in every model."""
    template = clf.templates_[column]
    return template.view, template_smarts(template)


def _alert(clf: Any, graphs: GraphSet, counts: csc_array, judge: _Judge, place: int, molecules: _Molecules) -> Alert:
    one = judge.chosen[place]
    template = clf.templates_[one.column]
    counted = counts[:, [one.column]].toarray()[:, 0]
    smarts, differs = _searched(template, counted, molecules)
    held = judge.held[:, place]
    rows = np.flatnonzero(held & judge.allowed[:, place])
    support, hits = len(rows), int(judge.truth[rows].sum())
    low, high = wilson(hits, support)
    precision = hits / support if support else float("nan")
    examples = np.flatnonzero(held & judge.truth)[:EXAMPLES] if (held & judge.truth).any() else np.flatnonzero(held)[:1]
    relation, name = _name(smarts, np.flatnonzero(held), molecules)
    texts = graphs.table.get("smiles")
    return Alert(
        smarts=smarts,
        template=template,
        column=one.column,
        relation=relation,
        name=name,
        support=support,
        judged=int(judge.judged.sum()),
        hits=hits,
        precision=precision,
        precision_interval=(low, high),
        lift=precision / judge.base,
        lift_interval=(low / judge.base, high / judge.base),
        model=float(judge.said[held].mean()),
        folds=sum(int(agreed[place]) for agreed in judge.folds) if judge.folds else None,
        differs=differs,
        also=tuple(template_smarts(clf.templates_[int(other)]) for other in one.alike[:EXAMPLES]),
        examples=tuple(str(i) if texts is None else str(texts[i]) for i in examples.tolist()),
    )


class _Molecules:
    """The molecules of a set, created on first access."""

    def __init__(self, graphs: GraphSet) -> None:
        self._graphs, self._made = graphs, dict[int, Any]()

    def __len__(self) -> int:
        return len(self._graphs)

    def __getitem__(self, i: int) -> Any:
        if i not in self._made:
            self._made[i] = to_mol(self._graphs[i])
        return self._made[i]


def _searched(template: Template, counted: NDArray[np.float64], molecules: _Molecules) -> tuple[str, int]:
    """Return a SMARTS that RDKit finds where the model does, and the number of molecules where it still does not."""
    best = ("", len(molecules) + 1)
    for induced in (False, True):
        smarts = template_smarts(template, induced)
        query = Chem.MolFromSmarts(smarts)
        if query is None:
            continue
        found = [len(molecules[i].GetSubstructMatches(query, maxMatches=100_000)) for i in range(len(molecules))]
        differs = int((np.array(found) != counted).sum())
        if differs < best[1]:
            best = (smarts, differs)
        if differs == 0:
            break
    return best


def wilson(hits: int, support: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson's score interval); (0, 1) without any counts.

    Example:
        >>> low, high = wilson(8, 10)
        >>> round(low, 3), round(high, 3)
        (0.49, 0.943)
    """
    if not support:
        return 0.0, 1.0
    z, share = 1.959963984540054, hits / support
    centre = (share + z * z / (2 * support)) / (1 + z * z / support)
    half = z * math.sqrt(share * (1 - share) / support + z * z / (4 * support**2)) / (1 + z * z / support)
    return max(0.0, centre - half), min(1.0, centre + half)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _rounded(value: float) -> float | str:
    return "" if math.isnan(value) else round(value, 4)
