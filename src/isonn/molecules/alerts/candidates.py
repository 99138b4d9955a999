"""What may become an alert: named groups, rings and families of the molecules, and the pieces of a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem import Mol
from rdkit.Chem.rdSubstructLibrary import MolHolder, PatternHolder, SubstructLibrary
from scipy.sparse import csc_array

from isonn.explain.template import Template
from isonn.molecules.groups import FAMILIES, groups_named
from isonn.molecules.smarts import template_smarts
from isonn.molecules.units import units

#: A lies within B if this share of the molecules with A has B on some of the same atoms.
WITHIN = 0.95
_MOST_MATCHES = 100_000

Rows = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A pattern, and where RDKit finds it.

    Attributes:
        name: a name of the table of groups; "" for a piece of the model.
        smarts: the patterns; a molecule holds the candidate if it matches any of them.
        atoms: by the number of a molecule, the atoms of all its matches.
        held: which molecules hold it, shape (g,).
    """

    name: str
    smarts: tuple[str, ...]
    atoms: dict[int, frozenset[int]]
    held: Rows

    @property
    def pattern(self) -> str:
        """All patterns as one SMARTS."""
        if len(self.smarts) == 1:
            return self.smarts[0]
        return f"[{','.join(f'$({smarts})' for smarts in self.smarts)}]"

    def shared(self, other: Candidate) -> int:
        """Return the number of molecules that have both on some of the same atoms."""
        return sum(bool(atoms & other.atoms.get(i, frozenset())) for i, atoms in self.atoms.items())


def match_atoms(molecule: Mol, smarts: Sequence[str]) -> frozenset[int]:
    """Return the atoms of all matches of some patterns."""
    queries = map(Chem.MolFromSmarts, smarts)
    return frozenset().union(
        *(m for query in queries for m in molecule.GetSubstructMatches(query, maxMatches=_MOST_MATCHES))
    )


class Candidates:
    """The candidates of some molecules. Their classes take no part, so folds can share them.

    Args:
        molecules: the molecules.
        templates: pieces of a model.
        counts: how often each molecule contains each piece, shape (g, pieces).
        usable: which pieces may become alerts, shape (pieces,).
        min_support: candidates in fewer molecules are left out.

    Attributes:
        named: groups, rings and families.
        held: which molecule holds which of them, shape (g, named).
        pieces: which molecule contains which of the frequent pieces, as 0 and 1.
    """

    def __init__(
        self, molecules: Sequence[Mol], templates: Sequence[Template], counts: Any, usable: Rows, min_support: int
    ) -> None:
        self.molecules = molecules
        self._library = SubstructLibrary(MolHolder(), PatternHolder())  # fingerprints spare most a full search
        for molecule in molecules:
            self._library.AddMol(molecule)
        frequency = Counter(
            name for molecule in molecules for name in {unit.name for unit in units(molecule) if unit.group is not None}
        )
        names = sorted(name for name, count in frequency.items() if name and count >= min_support)
        names = list(dict.fromkeys([*names, *(family.name for family in FAMILIES)]))
        every = [self.find(name, [group.smarts for group in groups_named(name)]) for name in names]
        self.named = [candidate for candidate in every if candidate.held.sum() >= min_support]
        held = np.array([candidate.held for candidate in self.named], dtype=bool)
        self.held: Rows = held.reshape(len(self.named), len(molecules)).T  # few molecules may have none
        counts = csc_array(counts)
        frequent = np.flatnonzero(usable & (np.diff(counts.indptr) >= min_support))
        self.pieces = csc_array(counts[:, frequent] > 0, dtype=np.float64)
        self._templates, self._columns = templates, frequent
        self._searched: dict[int, Candidate] = {}

    def find(self, name: str, smarts: Sequence[str]) -> Candidate:
        """Search the molecules for any of some patterns."""
        queries = map(Chem.MolFromSmarts, smarts)
        matched = {i for query in queries for i in self._library.GetMatches(query, numThreads=1, maxResults=-1)}
        atoms = {i: match_atoms(self.molecules[i], smarts) for i in sorted(matched)}
        held = np.zeros(len(self.molecules), dtype=bool)
        held[list(atoms)] = True
        return Candidate(name, tuple(smarts), atoms, held)

    @cached_property
    def within(self) -> Rows:
        """Whether the first named candidate lies within the second, shape (named, named)."""
        held = self.held.astype(np.float64)
        both, support = held.T @ held, held.sum(axis=0)
        within = np.zeros(both.shape, dtype=bool)
        possible = (both >= WITHIN * support[:, None]) & (support[:, None] <= support)
        for first, second in np.argwhere(possible).tolist():
            inner = self.named[first]
            within[first, second] = first != second and inner.shared(self.named[second]) >= WITHIN * len(inner.atoms)
        return within

    def piece(self, column: int) -> Candidate:
        """Search the molecules for a piece."""
        if column not in self._searched:
            smarts = template_smarts(self._templates[int(self._columns[column])])
            self._searched[column] = self.find("", [smarts])
        return self._searched[column]
