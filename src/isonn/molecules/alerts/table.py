"""Alerts and lists of them: sentences, rows, CSV files and pages."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from rdkit import Chem
from rdkit.Chem import Mol

from isonn.files import atomic_file
from isonn.molecules.alerts.candidates import match_atoms
from isonn.molecules.groups import groups_named
from isonn.report.words import percent_text


class Member(NamedTuple):
    """A group that is part of an alert: its name, the molecules with it, and those of the class."""

    name: str
    hits: int
    support: int


@dataclass(frozen=True, eq=False)
class Alert:
    """A group or piece of molecules that warns of a class.

    It is judged only on folds of the molecules that it was found without: the search is repeated without each fold.

    Attributes:
        name: the group that the alert is, or that each match of a piece contains; "" for a piece without a name.
        relation: "is", "contains" or "", accordingly.
        smarts: the pattern.
        smiles: the match in the first example; a single atom is shown with its neighbours.
        molecules: number of molecules that contain it.
        support: number of these that it was judged on.
        hits: number of the judged molecules that belong to the class.
        new_support, new_hits: the same, of molecules that contain no alert listed before it. An alert that only
            accompanies another one has few hits of its own.
        precision: hits / support.
        precision_interval: its 95 % interval (Wilson).
        lift: precision divided by the share of the class.
        lift_interval: its 95 % interval, with the share of the class taken as exact.
        model: mean probability that the model gives to molecules with it.
        folds: number of folds that it was judged on.
        members: groups within it whose precision does not differ.
        examples: different molecules of the class that contain it, as SMILES.

    Example:
        >>> smiles = [f"{'C' * n}{end}" for n in range(3, 15) for end in ("C(=O)O", "CO", "CN", "C(=O)OC")]
        >>> y = [int(s.endswith("(=O)O")) for s in smiles]
        >>> alert = isonn.SubgraphClassifier(random_state=0).fit(smiles, y).alerts(smiles, y)[0]
        >>> alert.title, alert.hits, alert.support
        ('carboxylic acid', 12, 12)
    """

    name: str
    relation: str
    smarts: str
    smiles: str
    molecules: int
    support: int
    hits: int
    new_support: int
    new_hits: int
    precision: float
    precision_interval: tuple[float, float]
    lift: float
    lift_interval: tuple[float, float]
    model: float
    folds: int
    members: tuple[Member, ...]
    examples: tuple[str, ...]

    @property
    def title(self) -> str:
        """Its name, "epoxide"; of a piece "piece Oc1ccccc1 with phenol", "piece cc(C)cc" or "piece [N] as in CNC"."""
        if self.relation == "is":
            return self.name
        piece = f"piece {self.smiles}"
        if Chem.MolFromSmarts(self.smarts).GetNumAtoms() == 1:  # smiles has the neighbours of a single atom
            piece = f"piece {self.smarts} as in {self.smiles}"
        return f"{piece} with {self.name}" if self.name else piece

    def atoms_in(self, molecule: Mol) -> frozenset[int]:
        """Return the atoms of all its matches in a molecule.

        Args:
            molecule: an RDKit molecule.

        Returns:
            numbers of atoms; none if the molecule does not contain it.

        Example:
            >>> from rdkit import Chem
            >>> smiles = [f"{'C' * n}{end}" for n in range(3, 15) for end in ("C(=O)O", "CO", "CN", "C(=O)OC")]
            >>> y = [int(s.endswith("(=O)O")) for s in smiles]
            >>> alert = isonn.SubgraphClassifier(random_state=0).fit(smiles, y).alerts(smiles, y)[0]
            >>> sorted(alert.atoms_in(Chem.MolFromSmiles("CCC(=O)O")))
            [2, 3, 4]
        """
        groups = groups_named(self.name) if self.relation == "is" else ()
        return match_atoms(molecule, [group.smarts for group in groups] or [self.smarts])

    def __str__(self) -> str:
        return f"{self.title}: {self.hits} of {self.support}, lift {self.lift:.2f}, {self.smarts}"


@dataclass(frozen=True, eq=False)
class Alerts(Sequence[Alert]):
    """A list of `Alert`, the surest first, from ``clf.alerts(X, y)``.

    Attributes:
        alerts: the same as a list.
        label: the class they warn of.
        base: share of the class.
        rule: metrics of the rule "any alert is present" with the lists chosen without each fold, and the accuracy of
            the model where it is known.
        n_folds: number of folds.

    Example:
        >>> smiles = [f"{'C' * n}{end}" for n in range(3, 15) for end in ("C(=O)O", "CO", "CN", "C(=O)OC")]
        >>> y = [int(s.endswith("(=O)O")) for s in smiles]
        >>> alerts = isonn.SubgraphClassifier(random_state=0).fit(smiles, y).alerts(smiles, y)
        >>> alerts.label, alerts.base, len(alerts)
        (1, 0.25, 1)
    """

    alerts: list[Alert]
    label: Any
    base: float
    rule: dict[str, float]
    n_folds: int

    def __len__(self) -> int:
        return len(self.alerts)

    def __getitem__(self, index: Any) -> Any:
        return self.alerts[index]

    def __repr__(self) -> str:
        lines = [f"{self._count()} for class {self.label} (share {self.base:.2f})", *map(str, self.alerts[:10])]
        return "\n  ".join(lines + (["..."] if len(self) > 10 else []))

    def _count(self) -> str:
        return "1 alert" if len(self) == 1 else f"{len(self)} alerts"

    def sentence(self) -> str:
        """Describe the performance of all alerts together in a sentence or two.

        Returns:
            the text.
        """
        model = f"; the model for {percent_text(self.rule['model_accuracy'])}" if "model_accuracy" in self.rule else ""
        count = f"{self._count()} for class {self.label}, the class of {percent_text(self.base)} of the molecules."
        if not len(self):  # what lists without a fold say about it is no rule
            return count
        return (
            f'{count} The rule "any alert is present" is right for {percent_text(self.rule["accuracy"])} of '
            f"{self.rule['molecules']:,.0f} (sensitivity {percent_text(self.rule['sensitivity'])}, specificity "
            f"{percent_text(self.rule['specificity'])}){model}. Alerts are judged on molecules that took no part in "
            f"choosing them, in {self.n_folds} folds."
        )

    def answer(self) -> str:
        """Say in a sentence or two what the alerts are and how sure the first one is.

        Returns:
            the text.
        """
        if not len(self):
            return f"No group or piece warns of class {self.label} more surely than guessing."
        first = self[0]
        many = f"{len(self)} groups and pieces warn" if len(self) > 1 else "One alert warns"
        return (
            f"{many} of class {self.label}. The surest ({first.title}): {first.hits:,} of the {first.support:,} "
            f"molecules that contain it are of the class, compared with {percent_text(self.base)} of all."
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat row per alert.

        Returns:
            a dict for each alert, keys as the columns of the table.
        """
        return [_row(alert) for alert in self]

    def to_csv(self, path: str | Path | TextIO) -> None:
        """Write one row per alert to a new file, or to an open one.

        Args:
            path: a path, or an open text file.

        Example:
            >>> smiles = [f"{'C' * n}{end}" for n in range(3, 15) for end in ("C(=O)O", "CO", "CN", "C(=O)OC")]
            >>> y = [int(s.endswith("(=O)O")) for s in smiles]
            >>> alerts = isonn.SubgraphClassifier(random_state=0).fit(smiles, y).alerts(smiles, y)
            >>> alerts.to_csv(tmp_path / "alerts.csv")
            >>> alerts.to_html(tmp_path / "alerts.html")
        """
        if isinstance(path, (str, Path)):
            with atomic_file(Path(path)) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
                self.to_csv(file)
            return
        rows = self.rows()
        writer = csv.DictWriter(path, list(rows[0]) if rows else ["name", "smarts"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)

    def to_html(self, path: str | Path) -> None:
        """Write a page with drawings of each alert; needs the extra ``report``.

        Args:
            path: the file to write.
        """
        from isonn.molecules.alerts.page import write_page

        write_page(self, Path(path))


def _row(alert: Alert) -> dict[str, Any]:
    members = "; ".join(f"{name} ({hits} of {support})" for name, hits, support in alert.members)
    row: dict[str, Any] = {}
    for name, value in {**vars(alert), "members": members, "examples": " ".join(alert.examples)}.items():
        if name.endswith("_interval"):
            first = name.removesuffix("interval")
            row |= {f"{first}low": round(value[0], 4), f"{first}high": round(value[1], 4)}
        else:
            row[name] = round(value, 4) if isinstance(value, float) else value
    return row
