"""Find alerts: choose them from all molecules, and again without each fold to judge them there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem import Mol

from isonn.errors import InputError
from isonn.explain.explanation import column_of
from isonn.graphs.convert import as_graphset
from isonn.graphs.graph import GraphSet
from isonn.graphs.isomorphism import graph_hashes
from isonn.graphs.splits import grouped_folds
from isonn.molecules.alerts.candidates import Candidate, Candidates, Rows
from isonn.molecules.alerts.choose import choose, wilson
from isonn.molecules.alerts.table import Alert, Alerts, Member
from isonn.molecules.convert import to_mol
from isonn.molecules.groups import FAMILIES, GROUPS
from isonn.targets import Labels, as_y, positive_of

#: Number of folds; fewer if a class has fewer molecules.
FOLDS = 10
#: Number of examples listed.
EXAMPLES = 3
#: Training molecules are the majority above this share.
MOSTLY = 0.5


def find_alerts(clf: Any, X: Any, y: Any, label: Any, top: int, min_support: int) -> Alerts:
    """Find alerts with the pieces of a fitted `SubgraphClassifier`; see ``clf.alerts``.

    Args:
        clf: a fitted `SubgraphClassifier` of molecules.
        X: molecules, as in ``fit``.
        y: their classes; None uses those of ``X``.
        label: the class to warn of; None chooses as ``clf.alerts`` does.
        top: maximum number of alerts.
        min_support: molecules that an alert has to be judged on.

    Returns:
        `Alerts`.
    """
    graphs = as_graphset(X)
    if graphs.kind != "molecules":
        raise InputError(f"alerts need molecules, but {graphs.name} has none; use reasons_ for other graphs")
    y = graphs.y if y is None else y
    if y is None:
        raise InputError("alerts need the classes of X to count how often they are right; pass y")
    column = _column(clf, label)
    values = _truth(clf, as_y(y, len(graphs)), column)
    graphs, truth = graphs[np.isfinite(values)], values[np.isfinite(values)] == 1
    if truth.all() or not truth.any():
        raise InputError("X has molecules of one class only; give some of both")
    return _Search(clf, graphs, truth, column, min_support).alerts(top)


class _Search:
    """Chooses alerts from all molecules, and again without each fold."""

    def __init__(self, clf: Any, graphs: GraphSet, truth: Rows, column: int, min_support: int) -> None:
        self.clf, self.graphs, self.truth, self.column, self.min_support = clf, graphs, truth, column, min_support
        self.molecules = [to_mol(graph) for graph in graphs]
        self.seen = clf.seen_in_training(graphs)
        self.said = clf.predict_proba(graphs)[:, column]
        counts = clf.vectorizer_.transform(graphs)
        self.candidates = Candidates(self.molecules, clf.templates_, counts, self._usable_pieces(), min_support)
        self.hashes = graph_hashes(graphs)
        self.folds = self._folds()

    def _usable_pieces(self) -> Rows:
        """Return which pieces have labels, so that they are patterns of atoms."""
        templates = self.clf.templates_
        usable = np.zeros(len(templates), dtype=bool)
        if self.clf.n_templates is not None and self.seen.any():
            return usable  # a short list was chosen by the classes of these molecules
        view = self.clf.vectorizer_.vocabulary_.pieces[:, 0]
        for i in np.unique(view, return_index=True)[1].tolist():
            usable[view == view[i]] = templates[i].node_labels is not None
        return usable

    def _folds(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        number = min(FOLDS, *np.bincount(self.truth, minlength=2).tolist(), len(np.unique(self.hashes)))
        if number < 2:
            raise InputError("alerts need at least two different molecules of each class; give more molecules")
        return grouped_folds(self.truth.astype(np.int64), self.hashes, number)

    def alerts(self, top: int) -> Alerts:
        """Return the alerts that most folds agree on and whose precision there is above the share of the class."""
        everything = np.ones(len(self.truth), dtype=bool)
        chosen = choose(self.candidates, self.truth, everything, self.min_support)
        judged = [np.zeros(len(self.truth), dtype=bool) for _ in chosen]
        agreed = [0] * len(chosen)
        warned = np.zeros(len(self.truth), dtype=bool)
        for train, test in self.folds:
            rows = np.zeros(len(self.truth), dtype=bool)
            rows[train] = True
            others = choose(self.candidates, self.truth, rows, self.min_support)
            theirs = {*others, *chain.from_iterable(others.values())}
            for other in others:
                if self._earned(other.held & rows, rows):
                    warned[test] |= other.held[test]
            for i, candidate in enumerate(chosen):
                if candidate in theirs:
                    agreed[i] += 1
                    judged[i][test] = candidate.held[test]
        earned = [
            (self._alert(candidate, members, rows, folds), candidate.held, rows)
            for (candidate, members), rows, folds in zip(chosen.items(), judged, agreed, strict=True)
            if self._earned(rows, everything) and 2 * folds >= len(self.folds)
        ]
        earned.sort(key=lambda each: (-each[0].precision_interval[0], -each[0].support, each[0].smarts))
        alerts: list[Alert] = []
        left = everything
        for alert, held, rows in earned:
            new = rows & left
            alerts.append(replace(alert, new_support=int(new.sum()), new_hits=int(self.truth[new].sum())))
            left = left & ~held
        label = _names(self.clf).get(self.column, self.clf.classes_.tolist()[self.column])
        return Alerts(alerts[:top], label, float(self.truth.mean()), self._rule(warned), len(self.folds))

    def _earned(self, held: Rows, rows: Rows) -> bool:
        """Whether enough molecules are held, and their share of the class is surely above that of some rows."""
        low, _ = wilson(self.truth[held].sum(), held.sum())
        return bool(held.sum() >= self.min_support and low > self.truth[rows].mean())

    def _alert(self, candidate: Candidate, merged: Sequence[Candidate], rows: Rows, folds: int) -> Alert:
        base, support, hits = float(self.truth.mean()), int(rows.sum()), int(self.truth[rows].sum())
        low, high = (float(end) for end in wilson(hits, support))
        precision = hits / support
        name = candidate.name or _contained_group(candidate, self.molecules)
        of_class = np.flatnonzero(candidate.held & self.truth)
        smallest = of_class[np.argsort(self.graphs.sizes[of_class], kind="stable")]
        _, different = np.unique(self.hashes[smallest], return_index=True)  # a base and its salt are one example
        smallest = smallest[np.sort(different)][:EXAMPLES]
        members = [Member(each.name, int(self.truth[each.held].sum()), int(each.held.sum())) for each in merged]
        return Alert(
            name=name,
            relation="is" if candidate.name else "contains" if name else "",
            smarts=candidate.pattern,
            smiles=self._fragment(candidate, int(smallest[0])) if len(smallest) else "",
            molecules=int(candidate.held.sum()),
            support=support,
            hits=hits,
            new_support=support,
            new_hits=hits,
            precision=precision,
            precision_interval=(low, high),
            lift=precision / base,
            lift_interval=(low / base, high / base),
            model=float(self.said[candidate.held].mean()),
            folds=folds,
            members=tuple(members),
            examples=tuple(map(self._smiles, smallest.tolist())),
        )

    def _fragment(self, candidate: Candidate, i: int) -> str:
        """Return what a candidate matches in a molecule; a single atom with its neighbours, which say more than "N"."""
        molecule = self.molecules[i]
        query = next(q for q in map(Chem.MolFromSmarts, candidate.smarts) if molecule.HasSubstructMatch(q))
        match = list(molecule.GetSubstructMatch(query))
        if len(match) == 1:
            match += [atom.GetIdx() for atom in molecule.GetAtomWithIdx(match[0]).GetNeighbors()]
        return str(Chem.MolFragmentToSmiles(molecule, match))

    def _smiles(self, i: int) -> str:
        return str(self.graphs[i].row.get("smiles", Chem.MolToSmiles(self.molecules[i], isomericSmiles=False)))

    def _rule(self, warned: Rows) -> dict[str, float]:
        """Return the metrics of the rule "any alert is present", and the accuracy of the model on other molecules."""
        rule = {
            "molecules": float(len(self.truth)),
            "accuracy": float((warned == self.truth).mean()),
            "sensitivity": float(warned[self.truth].mean()),
            "specificity": float((~warned[~self.truth]).mean()),
        }
        several = isinstance(self.clf.target_, Labels) or len(self.clf.classes_) > 2
        if not self.seen.any():
            rule["model_accuracy"] = float(((self.said > 0.5) == self.truth).mean())
        elif self.seen.mean() > MOSTLY and not several and self.clf.held_out_score_:
            rule["model_accuracy"] = self.clf.held_out_score_["accuracy"]
        return rule


def _contained_group(candidate: Candidate, molecules: Sequence[Mol]) -> str:
    """Return the most specific group that a piece contains in every molecule; "" if there is none."""
    for group in (*GROUPS, *FAMILIES):
        if all(
            any(candidate.atoms[i].issuperset(match) for match in molecules[i].GetSubstructMatches(group.query))
            for i in candidate.atoms
        ):
            return group.name
    return ""


def _names(clf: Any) -> dict[Any, str]:
    """Return the names of several labels by their columns; {} for classes."""
    return clf.label_names_.get("target", {}) if isinstance(clf.target_, Labels) else {}


def _column(clf: Any, label: Any) -> int:
    """Return the output of the class to warn of; by default the positive one of two."""
    values, names = clf.classes_.tolist(), _names(clf)
    if label is not None:
        return column_of(clf.classes_, label, names)
    if len(values) != 2 or isinstance(clf.target_, Labels):
        labels = [str(names.get(value, value)) for value in values]
        what = "labels" if isinstance(clf.target_, Labels) else "classes"
        raise InputError(
            f"this model has {len(labels)} {what} ({', '.join(labels)}); name the one to warn of, such as "
            f"label={labels[0]!r}"
        )
    return positive_of(values)


def _truth(clf: Any, y: NDArray[Any], column: int) -> NDArray[np.float64]:
    """Return 1 for the class, 0 for others, NaN if unknown."""
    if y.ndim == 2:
        return np.asarray(y[:, column], dtype=np.float64)
    if isinstance(clf.target_, Labels):
        raise InputError("this model predicts several labels; give y with a column for each")
    unknown = ~np.isin(y, clf.classes_)
    if unknown.all():
        raise InputError(
            f"y has classes such as {y.tolist()[0]!r}, which this model does not know; use {clf.classes_.tolist()}"
        )
    return np.where(unknown, np.nan, y == clf.classes_[column])
