"""Node and edge labels of molecules: atoms and bonds as SMARTS and in words.

A label has everything RDKit needs to find or rebuild the atom. A template of labelled atoms is therefore a SMARTS
pattern, and a graph can be converted back to a molecule without its SMILES.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from rdkit import Chem
from rdkit.Chem import BondType

from isonn.errors import InputError

#: Elements that SMARTS writes in lower case.
_LOWER_CASE = {5: "b", 6: "c", 7: "n", 8: "o", 14: "si", 15: "p", 16: "s", 33: "as", 34: "se", 52: "te"}
#: First atomic number without a symbol in RDKit's SMARTS (115 and above; 113 has a different one).
_FIRST_WITHOUT_SYMBOL = 113
_ELEMENT = r"(?:#(\d+)|([A-Za-z][a-z]?))(;a)?"
_ATOM = re.compile(rf"\[{_ELEMENT}(?:;H(\d+);([+-]\d+);(!?R);D(\d+))?\]")

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


@dataclass(frozen=True)
class Atom:
    """The atom of a node label, with all its hydrogens, whether they are separate atoms or not.

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
        """The node label."""
        if self.degree < 0:
            return f"[{self.element}]"
        ring = "R" if self.ring else "!R"
        return f"[{self.element};H{self.hydrogens};{self.charge:+d};{ring};D{self.degree}]"

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


@lru_cache(maxsize=4096)
def read_atom(label: str) -> Atom:
    """Read the atom of a node label.

    Example:
        >>> read_atom("[c;H1;+0;R;D2]").words
        'aromatic CH'
    """
    found = _ATOM.fullmatch(label)
    if found is None:
        raise InputError(f"node label {label!r} is not an atom of isonn.molecules; make graphs with from_smiles")
    number, letters, lower, hydrogens, charge, ring, degree = found.groups()
    aromatic = lower is not None or (letters is not None and letters.islower())
    z = int(number) if number is not None else int(Chem.GetPeriodicTable().GetAtomicNumber(letters.capitalize()))
    if degree is None:
        return Atom(z, aromatic)
    return Atom(z, aromatic, int(hydrogens), int(charge), ring == "R", int(degree))


def bond_smarts(kind: BondType, ring: bool) -> str:
    """Return the edge label of a bond, such as ``-;!@``; bond types without a SMARTS symbol are ``~``."""
    return f"{BONDS.get(kind, BONDS[BondType.ZERO])[0]};{'@' if ring else '!@'}"


def read_bond(label: str) -> tuple[BondType, bool]:
    """Read bond type and ring of an edge label; labels of the view "elements" have no ring."""
    sign, _, ring = label.partition(";")
    if sign not in _BOND_TYPES or ring not in ("@", "!@", ""):
        raise InputError(f"edge label {label!r} is not a bond of isonn.molecules; make graphs with from_smiles")
    return _BOND_TYPES[sign], ring == "@"


def bond_words(label: str) -> str:
    """Describe a bond in words, such as "ring single"."""
    kind, ring = read_bond(label)
    word = BONDS[kind][1]
    return f"ring {word}" if ring and kind != BondType.AROMATIC else word
