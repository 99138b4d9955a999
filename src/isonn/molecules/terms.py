"""Whole-molecule terms: logP, surface, charges, counts; with each atom's share where a term is a sum over atoms.

A term is shared among atoms only if it is a sum of per-atom values of one sign, since shares of values that cancel are
meaningless. logP is therefore two terms, the sums of its positive and of its negative atom values. Hydrogens count with
the atom that bears them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem import Mol, rdMolDescriptors, rdPartialCharges

from isonn.errors import InputError

Array = NDArray[np.float64]


class Term(NamedTuple):
    """A whole-molecule term.

    Args:
        name: short name, unique.
        text: what it measures, with its unit.
        shared: whether it is a sum of per-atom values of one sign.
    """

    name: str
    text: str
    shared: bool


#: All terms in the order of the columns; those shared among atoms come first.
TERMS: tuple[Term, ...] = (
    Term("logP+", "sum of the positive atom values of logP (Crippen)", True),
    Term("logP-", "sum of the negative atom values of logP (Crippen)", True),
    Term("molar refractivity", "molar refractivity (Crippen), cm³/mol", True),
    Term("polar surface", "topological polar surface area of N and O, Å²", True),
    Term("surface area", "approximate surface area (Labute), Å²", True),
    Term("weight", "average molecular weight, g/mol", True),
    Term("heavy atoms", "number of atoms other than hydrogen", True),
    Term("heteroatoms", "number of atoms other than carbon and hydrogen", True),
    Term("halogens", "number of F, Cl, Br and I atoms", True),
    Term("donors", "number of atoms that donate hydrogen bonds", True),
    Term("acceptors", "number of atoms that accept hydrogen bonds", True),
    Term("basic nitrogens", "number of aliphatic amine, amidine and guanidine nitrogens", True),
    Term("acidic groups", "number of acidic atoms (OH of C, S and P acids, tetrazole NH), charged or not", True),
    Term("positive charges", "sum of the positive formal charges, e", True),
    Term("negative charges", "sum of the negative formal charges, e", True),
    Term("rotatable bonds", "number of rotatable bonds (RDKit, strict)", False),
    Term("aromatic rings", "number of aromatic rings", False),
    Term("aromatic heterorings", "number of aromatic rings with a heteroatom", False),
    Term("aliphatic rings", "number of rings that are not aromatic", False),
    Term("amide bonds", "number of amide bonds", False),
    Term("sp3 share", "share of the carbons that are sp3", False),
    Term("largest charge", "largest partial charge of an atom (Gasteiger), e; NaN where it cannot be computed", False),
    Term(
        "smallest charge", "smallest partial charge of an atom (Gasteiger), e; NaN where it cannot be computed", False
    ),
)
#: Names of all terms, in the order of the columns.
TERM_NAMES: tuple[str, ...] = tuple(term.name for term in TERMS)
#: Names of the terms shared among atoms, in the order of the rows of ``per_atom``.
SHARED_NAMES: tuple[str, ...] = tuple(term.name for term in TERMS if term.shared)

#: RDKit's patterns of hydrogen-bond donors and acceptors, and ours of bases and acids. Each matches one atom.
_COUNTED = {
    "donors": "[N&!H0&v3,N&!H0&+1&v4,O&H1&+0,S&H1&+0,n&H1&+0]",
    "acceptors": "[$([O,S;H1;v2]-[!$(*=[O,N,P,S])]),$([O,S;H0;v2]),$([O,S;-]),$([N;v3;!$(N-*=!@[O,N,P,S])]),"
    "$([nH0X2,o,s;+0])]",
    "basic nitrogens": "[$([NX3;+0;!$(N-[!#6;!#1]);!$(N-a);!$(N-*=[O,N,S,C]);!$(N-C#N)]),$([NX4+;!$(N-[O-])]),"
    "$([NX2;+0;!$(N-[!#6;!#1])]=C[NX3;!$(N-*=[O,S])]),$([NX3+]=C[NX3])]",
    "acidic groups": "[$([OX2H1,OX1-]-[CX3,SX4,PX4,SX3]=[OX1]),$([nH]1nnnc1),$([nH]1nncn1),$([n-]1nnnc1),"
    "$([NX3H1](S(=O)=O)-[CX3]=O)]",
}
_QUERIES = {name: Chem.MolFromSmarts(smarts) for name, smarts in _COUNTED.items()}
_HALOGEN: NDArray[np.bool_] = np.isin(np.arange(119), (9, 17, 35, 53))
_WEIGHTS: NDArray[np.float64] = np.array([Chem.GetPeriodicTable().GetAtomicWeight(z) for z in range(119)])
_COUNTS: tuple[Callable[[Mol], float], ...] = (
    rdMolDescriptors.CalcNumRotatableBonds,
    rdMolDescriptors.CalcNumAromaticRings,
    rdMolDescriptors.CalcNumAromaticHeterocycles,
    rdMolDescriptors.CalcNumAliphaticRings,
    rdMolDescriptors.CalcNumAmideBonds,
    rdMolDescriptors.CalcFractionCSP3,
)


def terms(molecule: Mol) -> tuple[Array, Array]:
    """Return the whole-molecule terms of a molecule and each atom's share.

    Args:
        molecule: an RDKit molecule.

    Returns:
        The values of :data:`TERMS`, of shape (n_terms,), and the shares of the terms in :data:`SHARED_NAMES`, of shape
        (n_shared, n_atoms); each row sums to its value. The share of a hydrogen goes to the atom that bears it.

    Example:
        >>> from rdkit import Chem
        >>> values, per_atom = terms(Chem.MolFromSmiles("CCO"))
        >>> print(f"{values[TERM_NAMES.index('polar surface')]:.2f}", per_atom[SHARED_NAMES.index("donors")])
        20.23 [0. 0. 1.]
    """
    if not isinstance(molecule, Mol):
        raise InputError(f"terms need an RDKit molecule, got {type(molecule).__name__}; use Chem.MolFromSmiles")
    atoms = _atoms(molecule)
    if (atoms.numbers != 1).all():
        return _terms(molecule, atoms)
    bare, places = _without_hydrogens(molecule)
    values, shares = _terms(bare, _atoms(bare))
    per_atom = np.zeros((len(SHARED_NAMES), molecule.GetNumAtoms()))
    per_atom[:, places] = shares
    return values, per_atom


def term_table(molecules: Iterable[Mol]) -> Array:
    """Return the whole-molecule terms of many molecules.

    Args:
        molecules: RDKit molecules.

    Returns:
        A row per molecule and a column per term of :data:`TERMS`.

    Example:
        >>> from rdkit import Chem
        >>> term_table([Chem.MolFromSmiles("CCO"), Chem.MolFromSmiles("c1ccccc1")]).shape
        (2, 23)
    """
    rows = [terms(molecule)[0] for molecule in molecules]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(TERMS))


class _Atoms(NamedTuple):
    """An entry per atom."""

    numbers: NDArray[np.int64]
    hydrogens: NDArray[np.int64]
    charges: NDArray[np.int64]


def _atoms(molecule: Mol) -> _Atoms:
    facts = [(atom.GetAtomicNum(), atom.GetTotalNumHs(), atom.GetFormalCharge()) for atom in molecule.GetAtoms()]
    return _Atoms(*np.array(facts, dtype=np.int64).reshape(len(facts), 3).T)


def _terms(molecule: Mol, atoms: _Atoms) -> tuple[Array, Array]:
    full = Chem.AddHs(molecule)
    per_atom = _shares(molecule, full, atoms)
    counts = [count(molecule) for count in _COUNTS]
    return np.array([*per_atom.sum(axis=1), *counts, *_charges(full, molecule.GetNumAtoms())]), per_atom


def _shares(molecule: Mol, full: Mol, atoms: _Atoms) -> Array:
    """Return the shared terms of each atom; ``full`` has all hydrogens as atoms, behind the others."""
    numbers, hydrogens, charges = atoms
    logp, refractivity = _crippen(full, hydrogens)
    heavy = numbers > 1
    rows = [np.maximum(logp, 0.0), np.minimum(logp, 0.0), refractivity]
    rows += [np.array(rdMolDescriptors._CalcTPSAContribs(molecule, force=True)), _surface(molecule)]
    rows += [_WEIGHTS[numbers] + hydrogens * _WEIGHTS[1], heavy, heavy & (numbers != 6), _HALOGEN[numbers]]
    rows += [_matched(molecule, query) for query in _QUERIES.values()]
    rows += [np.maximum(charges, 0), np.minimum(charges, 0)]
    return np.array(rows, dtype=np.float64).reshape(len(SHARED_NAMES), len(numbers))


def _crippen(full: Mol, hydrogens: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return logP and refractivity of each atom with its hydrogens, which RDKit adds in the order of the atoms."""
    n = len(hydrogens)
    values = np.array(rdMolDescriptors._CalcCrippenContribs(full)).reshape(-1, 2)
    bearers = np.concatenate([np.arange(n), np.repeat(np.arange(n), hydrogens)])
    sums: Array = np.zeros((n, 2))
    np.add.at(sums, bearers, values)
    return sums[:, 0], sums[:, 1]


def _surface(molecule: Mol) -> Array:
    """Return the surface of each atom; Labute's sum over hydrogens may be negative, so it is spread in proportion."""
    atoms, hydrogens = rdMolDescriptors._CalcLabuteASAContribs(molecule, force=True)
    areas: Array = np.nan_to_num(list(atoms))  # dummy atoms have no radius
    total = areas.sum()
    return areas * (1.0 + hydrogens / total) if total > 0 else areas


def _matched(molecule: Mol, query: Mol) -> Array:
    hits = np.zeros(molecule.GetNumAtoms())
    hits[[match[0] for match in molecule.GetSubstructMatches(query, maxMatches=100_000)]] = 1.0
    return hits


def _charges(full: Mol, n: int) -> tuple[float, float]:
    """Return the largest and the smallest partial charge of the first n atoms."""
    rdPartialCharges.ComputeGasteigerCharges(full)
    charges = [full.GetAtomWithIdx(k).GetDoubleProp("_GasteigerCharge") for k in range(n)]
    if not n or not np.isfinite(charges).all():
        return np.nan, np.nan
    return max(charges), min(charges)


def _without_hydrogens(molecule: Mol) -> tuple[Mol, list[int]]:
    """Remove hydrogens that are atoms, where RDKit can, and return the numbers of the atoms left, too."""
    marked = Mol(molecule)
    for atom in marked.GetAtoms():
        atom.SetIntProp("_number", atom.GetIdx())
        atom.SetIsotope(0)
    bare = Chem.RemoveHs(marked)
    return bare, [atom.GetIntProp("_number") for atom in bare.GetAtoms()]
