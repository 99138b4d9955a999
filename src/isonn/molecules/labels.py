"""Node and edge labels of molecules: atoms and bonds as integers, as SMARTS and in words.

A label is a code that holds everything RDKit needs to find or rebuild the atom or bond. A template of labelled atoms is
therefore a SMARTS pattern, and a graph can be converted back to a molecule without its SMILES.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem import BondType

from isonn.errors import InputError
from isonn.packing import IntArray

#: Elements that SMARTS writes in lower case.
_LOWER_CASE = {5: "b", 6: "c", 7: "n", 8: "o", 14: "si", 15: "p", 16: "s", 33: "as", 34: "se", 52: "te"}
#: First atomic number without a symbol in RDKit's SMARTS (115 and above; 113 has a different one).
_FIRST_WITHOUT_SYMBOL = 113
_LAST_ELEMENT = 118
#: Number of values of each part of an atom's code: atomic number, aromatic, hydrogens, charge, ring, degree. RDKit
#: stores hydrogens and charges in a byte.
_SIZES = (_LAST_ELEMENT + 1, 2, 256, 512, 2, 16384)
#: Added to charges, so that codes are positive and small integers are not codes of atoms.
_NEUTRAL = 256

NONMETALS = frozenset({0, 1, 2, 5, 6, 7, 8, 9, 10, 14, 15, 16, 17, 18, 32, 33, 34, 35, 36, 51, 52, 53, 54, 85, 86})
#: SMARTS and word of each bond type; undirected graphs cannot keep the direction of a dative bond.
BONDS = {
    BondType.SINGLE: ("-", "single"),
    BondType.DOUBLE: ("=", "double"),
    BondType.TRIPLE: ("#", "triple"),
    BondType.AROMATIC: (":", "aromatic"),
    BondType.QUADRUPLE: ("$", "quadruple"),
    BondType.DATIVE: ("->,<-", "dative"),
    BondType.ZERO: ("~", "unspecified"),
}
_BOND_TYPES = {smarts: kind for kind, (smarts, _) in BONDS.items()}
_PLACES = {kind: place for place, kind in enumerate(BONDS)}


@dataclass(frozen=True)
class Atom:
    """The facts about an atom, with all its hydrogens, whether they are separate atoms or not.

    For an atom of the view "elements" only the first two are known; ``degree`` is then -1.
    """

    number: int
    aromatic: bool
    hydrogens: int = 0
    charge: int = 0
    ring: bool = False
    degree: int = -1

    @property
    def element(self) -> str:
        """The element as SMARTS without brackets: ``C``, ``c``, ``#1``."""
        if self.aromatic:
            return _LOWER_CASE.get(self.number, f"#{self.number};a")
        if self.number <= 1 or self.number >= _FIRST_WITHOUT_SYMBOL:  # H means hydrogen count in SMARTS
            return f"#{self.number}"
        return symbol(self.number)

    @property
    def smarts(self) -> str:
        """The atom as SMARTS: ``[c;H1;+0;R;D2]``, or ``[c]`` if only the element is known."""
        if self.degree < 0:
            return f"[{self.element}]"
        ring = "R" if self.ring else "!R"
        return f"[{self.element};H{self.hydrogens};{self.charge:+d};{ring};D{self.degree}]"

    @property
    def code(self) -> int:
        """The node label."""
        facts = (self.number, self.aromatic, self.hydrogens, self.charge, self.ring, self.degree)
        return int(atom_codes(np.array([facts], dtype=np.int64))[0])

    @property
    def words(self) -> str:
        """The atom in words, such as "aromatic CH", without its number of neighbours."""
        place = "aromatic " if self.aromatic else "ring " if self.ring else ""
        hydrogens = "" if not self.hydrogens else "H" if self.hydrogens == 1 else f"H{self.hydrogens}"
        charge = "" if not self.charge else "+-"[self.charge < 0] * abs(self.charge)
        return f"{place}{symbol(self.number)}{hydrogens}{charge}"


def symbol(number: int) -> str:
    """Return the symbol of an element; ``*`` for a dummy atom."""
    return "*" if number == 0 else str(Chem.GetPeriodicTable().GetElementSymbol(number))


#: The atoms of the view "elements" by their SMARTS, such as ``[c]``.
ELEMENTS = {
    atom.smarts: atom for number in range(_LAST_ELEMENT + 1) for atom in (Atom(number, False), Atom(number, True))
}


def atom_codes(rows: IntArray) -> IntArray:
    """Return node labels, from columns with atomic number, aromatic, hydrogens, charge, ring and degree.

    Example:
        >>> code = atom_codes(np.array([[6, 1, 1, 0, 1, 2]]))[0]
        >>> read_atom(code).smarts
        '[c;H1;+0;R;D2]'
    """
    number, aromatic, hydrogens, charge, ring, degree = rows.T
    return np.asarray(np.ravel_multi_index((number, aromatic, hydrogens, charge + _NEUTRAL, ring, degree), _SIZES))


def atom_facts(labels: NDArray[Any]) -> IntArray:
    """Return the columns of `atom_codes` from node labels; refuse labels that are not atoms.

    Example:
        >>> atom_facts(np.array([Atom(8, False, 1, -1, False, 1).code])).tolist()
        [[8, 0, 1, -1, 0, 1]]
    """
    labels, most = np.asarray(labels), int(np.prod(_SIZES))
    codes = labels if labels.dtype.kind in "iu" else np.full(labels.shape, -1)
    facts = np.array(np.unravel_index(codes.clip(0, most - 1), _SIZES))
    wrong = (codes < 0) | (codes >= most) | (facts[3] == 0)
    if wrong.any():
        label = labels[wrong].tolist()[0]
        raise InputError(f"node label {label!r} is not an atom of isonn.molecules; make graphs with from_smiles")
    facts[3] -= _NEUTRAL
    return facts.T


@lru_cache(maxsize=4096)
def read_atom(label: Any) -> Atom:
    """Read the atom of a node label, or of the SMARTS of an element such as ``[c]`` (the view "elements").

    Example:
        >>> read_atom(Atom(6, True, 1, 0, True, 2).code).words
        'aromatic CH'
    """
    if label in ELEMENTS:
        return ELEMENTS[label]
    code = int(label) if str(label).isdecimal() else label
    number, aromatic, hydrogens, charge, ring, degree = atom_facts(np.array([code]))[0].tolist()
    return Atom(number, bool(aromatic), hydrogens, charge, bool(ring), degree)


def atom_smarts(label: Any) -> str:
    """Return a node label as SMARTS.

    Example:
        >>> atom_smarts(Atom(8, False, 1, 0, False, 1).code), atom_smarts("[O]")
        ('[O;H1;+0;!R;D1]', '[O]')
    """
    return read_atom(label).smarts


def bond_code(kind: BondType, ring: bool) -> int:
    """Return the edge label of a bond; types without a SMARTS symbol are "unspecified"."""
    return 2 * _PLACES.get(kind, _PLACES[BondType.ZERO]) + ring


def bond_smarts(label: Any) -> str:
    """Return an edge label as SMARTS, such as ``-;!@``; labels of the view "elements" have no ring.

    Example:
        >>> bond_smarts(bond_code(BondType.SINGLE, False)), bond_smarts("-")
        ('-;!@', '-')
    """
    kind, ring = read_bond(label)
    return BONDS[kind][0] + ("" if ring is None else ";@" if ring else ";!@")


def read_bond(label: Any) -> tuple[BondType, bool | None]:
    """Read bond type and ring of an edge label; labels of the view "elements" are SMARTS without a ring (None)."""
    if label in _BOND_TYPES:
        return _BOND_TYPES[label], None
    place, ring = divmod(int(label), 2) if str(label).isdecimal() else (-1, 0)
    if not 0 <= place < len(BONDS):
        raise _not_a_bond(label)
    return list(BONDS)[place], bool(ring)


def bond_kinds(labels: NDArray[Any]) -> IntArray:
    """Return the place in `BONDS` of each edge label; refuse labels that are not bonds.

    Example:
        >>> bond_kinds(np.array([0, 1, 6, 7])).tolist()  # single, also in a ring, aromatic
        [0, 0, 3, 3]
    """
    codes = labels if labels.dtype.kind in "iu" else np.full(labels.shape, -1)
    wrong = (codes < 0) | (codes >= 2 * len(BONDS))
    if wrong.any():
        raise _not_a_bond(labels[wrong].tolist()[0])
    return np.asarray(codes >> 1)


def _not_a_bond(label: Any) -> InputError:
    return InputError(f"edge label {label!r} is not a bond of isonn.molecules; make graphs with from_smiles")


def bond_words(label: Any) -> str:
    """Describe a bond in words, such as "ring single"."""
    kind, ring = read_bond(label)
    word = BONDS[kind][1]
    return f"ring {word}" if ring and kind != BondType.AROMATIC else word
