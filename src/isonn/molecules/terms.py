"""Whole-molecule terms: logP, surface, charges, counts; with each atom's share where a term is a sum over atoms.

A term is shared among atoms only if it is a sum of per-atom values of one sign, since shares of values that cancel are
meaningless. logP is therefore two terms, the sums of its positive and of its negative atom values. Hydrogens count with
the atom that bears them. Terms are computed from the labels of graphs, for all molecules at once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from rdkit import Chem
from scipy.sparse.csgraph import connected_components

from isonn.errors import InputError
from isonn.graphs.graph import Graph, GraphSet
from isonn.graphs.join import join_graphs
from isonn.molecules.atoms import Atoms, Flags
from isonn.molecules.convert import from_smiles
from isonn.molecules.crippen import crippen
from isonn.molecules.labels import BONDS
from isonn.molecules.tables import read_table
from isonn.packing import Floats, IntArray
from isonn.subgraphs import terms as registry

#: Names of the terms shared among atoms, in the order of the rows of ``per_atom``; `terms` describes them.
SHARED_NAMES = (
    *("logP+", "logP-", "molar refractivity", "polar surface", "surface area", "weight", "heavy atoms", "heteroatoms"),
    *("aromatic heteroatoms", "halogens", "donors", "acceptors", "basic nitrogens", "acidic groups"),
    *("positive charges", "negative charges"),
)
#: Names of all terms, in the order of the columns.
TERM_NAMES = (*SHARED_NAMES, "rotatable bonds", "aromatic rings", "aliphatic rings", "amide bonds", "sp3 share")
#: Weight and radius of each element, and how much shorter than the sum of the radii a bond of each kind is, in Å.
_WEIGHTS = np.array([Chem.GetPeriodicTable().GetAtomicWeight(number) for number in range(119)])
_RADII = np.array([0.0, *(Chem.GetPeriodicTable().GetRb0(number) for number in range(1, 119))])
_SHORTER = np.array([0.0, 0.2, 0.3, 0.1, *[0.0] * (len(BONDS) - 4)])


def terms(molecule: Any) -> tuple[Floats, Floats]:
    """Return the whole-molecule terms of a molecule and each atom's share.

    Shared among atoms:

    - logP+: sum of the positive atom values of logP (Crippen)
    - logP-: sum of the negative atom values of logP (Crippen)
    - molar refractivity: molar refractivity (Crippen), cm³/mol
    - polar surface: topological polar surface area of N and O (Ertl), Å²
    - surface area: approximate surface area (Labute), Å²
    - weight: average molecular weight, g/mol
    - heavy atoms: number of atoms other than hydrogen
    - heteroatoms: number of atoms other than carbon and hydrogen
    - aromatic heteroatoms: number of aromatic atoms other than carbon
    - halogens: number of F, Cl, Br and I atoms
    - donors: number of atoms that donate hydrogen bonds
    - acceptors: number of atoms that accept hydrogen bonds
    - basic nitrogens: number of aliphatic amine, amidine and guanidine nitrogens
    - acidic groups: number of acidic atoms (OH of C, S and P acids, tetrazole NH), charged or not
    - positive charges: sum of the positive formal charges, e
    - negative charges: sum of the negative formal charges, e

    Of the whole molecule:

    - rotatable bonds: number of rotatable bonds (strict definition of RDKit)
    - aromatic rings: number of independent rings of aromatic bonds
    - aliphatic rings: number of other independent rings
    - amide bonds: number of amide bonds
    - sp3 share: share of the carbons that are sp3

    Args:
        molecule: a graph of `from_smiles`, an RDKit molecule or a SMILES string, which are not standardised.

    Returns:
        The values of :data:`TERM_NAMES`, of shape (n_terms,), and the shares of the terms in :data:`SHARED_NAMES`, of
        shape (n_shared, n_atoms); each row sums to its value. The share of a hydrogen goes to the atom that bears it.

    Example:
        >>> values, per_atom = terms("CCO")
        >>> print(f"{values[TERM_NAMES.index('polar surface')]:.2f}", per_atom[SHARED_NAMES.index("donors")])
        20.23 [0. 0. 1.]
    """
    if isinstance(molecule, Graph):
        molecule = join_graphs([molecule])
    graphs = molecule if isinstance(molecule, GraphSet) else from_smiles([molecule], standardize="none")
    if len(graphs) != 1:
        raise InputError(f"terms are of one molecule, got {len(graphs)}; use term_table")
    atoms = Atoms(graphs)
    shares = atom_terms(atoms)
    return _table(graphs, atoms, shares)[0], shares


def term_table(graphs: GraphSet) -> Floats:
    """Return the whole-molecule terms of many molecules.

    Args:
        graphs: molecules, from `from_smiles`.

    Returns:
        A row per molecule and a column per term of :data:`TERM_NAMES`.

    Example:
        >>> term_table(isonn.molecules.from_smiles(["CCO", "c1ccccc1"])).shape
        (2, 21)
    """
    atoms = Atoms(graphs)
    return _table(graphs, atoms, atom_terms(atoms))


def _table(graphs: GraphSet, atoms: Atoms, shares: Floats) -> Floats:
    owner, g = np.repeat(np.arange(len(graphs)), graphs.sizes), len(graphs)

    def totals(values: Any) -> Floats:
        """Sum a value of each atom over every molecule."""
        return np.asarray(np.bincount(owner, values, minlength=g), dtype=np.float64)

    rings, aromatic = _rings(atoms, owner, g)
    carbons = totals(atoms.element(6))
    saturated = totals(atoms.element(6) & (atoms.connections == 4))
    # a bond is counted at both of its ends
    rotatable, amides = totals(_rotatable(atoms)) / 2, totals(_amides(atoms))
    counts = [rotatable, aromatic, rings - aromatic, amides, saturated / np.maximum(carbons, 1)]
    return np.column_stack([*(totals(row) for row in shares), *counts])


def atom_terms(atoms: Atoms) -> Floats:
    """Return the value of each atom for the terms in :data:`SHARED_NAMES`, of shape (n_shared, n_atoms)."""
    logp, refractivity = crippen(atoms)
    heavy = atoms.number != 1
    hetero = heavy & ~atoms.element(0, 6)
    rows = [
        np.maximum(logp, 0.0),
        np.minimum(logp, 0.0),
        refractivity,
        polar_surface(atoms),
        surface(atoms),
        _WEIGHTS[atoms.number] + atoms.hydrogens * _WEIGHTS[1],
        heavy & (atoms.number > 0),
        hetero,
        hetero & atoms.aromatic,
        atoms.element(9, 17, 35, 53),
        _donors(atoms),
        _acceptors(atoms),
        _bases(atoms),
        _acids(atoms),
        np.maximum(atoms.charge, 0),
        np.minimum(atoms.charge, 0),
    ]
    return np.where(heavy, np.array(rows, dtype=np.float64).reshape(len(rows), len(atoms)), 0.0)


@lru_cache(maxsize=1)
def _polar_areas() -> tuple[IntArray, Floats]:
    """Return the environments with a published area, and their areas outside and inside rings of three."""
    rows = np.array([[float(cell) for cell in row.values()] for row in read_table("polar_surface")])
    environments = _environments(rows[:, :-2].T.astype(np.int64))
    order = np.argsort(environments)
    return environments[order], rows[order, -2:]


def _environments(facts: IntArray) -> IntArray:
    """Return a number for each column of facts: the columns of ``polar_surface.tsv`` before the areas."""
    columns = [*facts[:3], facts[3] + 8, *facts[4:]]  # charges are positive then
    return np.asarray(np.ravel_multi_index(columns, (16,) * 8, mode="clip"))


def polar_surface(atoms: Atoms) -> Floats:
    """Return the polar surface of each atom (Ertl, Rohde and Selzer 2000); 0 for elements other than N and O."""
    chosen = np.flatnonzero(atoms.element(7, 8))
    kinds = (atoms.single, atoms.double, atoms.triple, atoms.conjugated)
    counts = (atoms.count(bonds) for bonds in kinds)
    facts = np.array([atoms.number, atoms.degree, atoms.hydrogens, atoms.charge, *counts])[:, chosen]
    environment, (published, areas) = _environments(facts), _polar_areas()
    place = np.searchsorted(published, environment).clip(max=len(published) - 1)
    # environments that are not in the table have a general formula
    start, per_neighbour = np.where(facts[0] == 7, [[30.5], [8.2]], [[28.5], [8.6]])
    general = np.maximum(0.0, start - per_neighbour * facts[1] + 1.5 * facts[2])
    listed = areas[place, _in_triangle(atoms, chosen).astype(np.int64)]
    area = np.zeros(len(atoms))
    area[chosen] = np.where(published[place] == environment, listed, general)
    return area


def _in_triangle(atoms: Atoms, chosen: IntArray) -> Flags:
    """Return which of some atoms are in a ring of three: two of their neighbours are bonded."""
    joined = atoms.matrix(atoms.bonds[atoms.ring])
    near = joined[chosen]
    return np.asarray((near @ joined).multiply(near).sum(axis=1) > 0)


def surface(atoms: Atoms) -> Floats:
    """Return the surface of each atom with its hydrogens: spheres without the caps inside their neighbours (Labute)."""
    radius, hydrogen = _RADII[atoms.number], _RADII[1]
    here, there, shorter = radius[atoms.bonds.here], radius[atoms.bonds.there], _SHORTER[atoms.kind]
    covered = atoms.hydrogens * _covered(radius, hydrogen, 0.0)
    covered += np.bincount(atoms.bonds.here, _covered(here, there, shorter), minlength=len(atoms))
    heavy = np.pi * radius * (4 * radius - covered)
    each = np.pi * hydrogen * (4 * hydrogen - _covered(hydrogen, radius, 0.0))
    return np.asarray(np.maximum(heavy, 0.0) + atoms.hydrogens * np.maximum(each, 0.0))


def _covered(here: Any, there: Any, shorter: Any) -> Floats:
    distance = np.minimum(np.maximum(np.abs(here - there), here + there - shorter), here + there)
    return np.asarray((there**2 - (here - distance) ** 2) / np.maximum(distance, 1e-9))


def _donors(atoms: Atoms) -> Flags:
    amine = atoms.aliphatic(7) & (atoms.hydrogens > 0)
    amine &= (atoms.valence == 3) | ((atoms.valence == 4) & (atoms.charge == 1))
    neutral = atoms.charge == 0
    return np.asarray(
        amine | (neutral & (atoms.hydrogens == 1) & (atoms.aliphatic(8, 16) | (atoms.element(7) & atoms.aromatic)))
    )


def _acceptors(atoms: Atoms) -> Flags:
    near, outside = atoms.near, atoms.bonds[(atoms.kind == 1) & ~atoms.ring]
    strong = atoms.aliphatic(7, 8, 15, 16)
    chalcogen = atoms.aliphatic(8, 16)
    two = chalcogen & (atoms.valence == 2)
    acyl = near(strong, atoms.double) > 0
    hydroxyl = two & (atoms.hydrogens == 1) & (near(~acyl, atoms.single) > 0)
    amide = near(near(strong, outside) > 0, atoms.single) > 0
    amine = atoms.aliphatic(7) & (atoms.valence == 3) & ~amide
    pyridine = (atoms.element(7) & (atoms.hydrogens == 0) & (atoms.connections == 2)) | atoms.element(8, 16)
    pyridine &= atoms.aromatic & (atoms.charge == 0)
    ether = two & (atoms.hydrogens == 0)
    return np.asarray(hydroxyl | ether | (chalcogen & (atoms.charge == -1)) | amine | pyridine)


def _bases(atoms: Atoms) -> Flags:
    near, single, double = atoms.near, atoms.single, atoms.double
    nitrogen, carbon = atoms.aliphatic(7), atoms.aliphatic(6)
    x, neutral = atoms.connections, atoms.charge == 0
    hetero = near(~atoms.element(6), single) > 0
    conjugated = near(near(atoms.aliphatic(6, 7, 8, 16), double) > 0, single) > 0
    cyano = near(carbon & (near(nitrogen, atoms.triple) > 0), single) > 0
    amine = nitrogen & (x == 3) & neutral & ~hetero & ~(near(atoms.aromatic, single) > 0) & ~conjugated & ~cyano
    oxide = near(atoms.aliphatic(8) & (atoms.charge == -1), single) > 0
    ammonium = nitrogen & (x == 4) & (atoms.charge == 1) & ~oxide
    acyl = near(near(atoms.aliphatic(8, 16), double) > 0, single) > 0
    amidine = carbon & (near(nitrogen & (x == 3) & ~acyl, single) > 0)
    imine = nitrogen & (x == 2) & neutral & ~hetero & (near(amidine, double) > 0)
    charged = carbon & (near(nitrogen & (x == 3), single) > 0)
    amidinium = nitrogen & (x == 3) & (atoms.charge == 1) & (near(charged, double) > 0)
    return np.asarray(amine | ammonium | imine | amidinium)


def _acids(atoms: Atoms) -> Flags:
    near, single, x = atoms.near, atoms.single, atoms.connections
    oxygen, carbon, sulfur, nitrogen = (atoms.aliphatic(number) for number in (8, 6, 16, 7))
    oxo = near(oxygen & (x == 1), atoms.double)
    centre = (carbon & (x == 3)) | (sulfur & ((x == 3) | (x == 4))) | (atoms.aliphatic(15) & (x == 4))
    hydroxyl = oxygen & (((x == 2) & (atoms.hydrogens == 1)) | ((x == 1) & (atoms.charge == -1)))
    acid = hydroxyl & (near(centre & (oxo > 0), single) > 0)
    imide = nitrogen & (x == 3) & (atoms.hydrogens == 1)
    imide &= near(sulfur & (near(oxygen, atoms.double) >= 2), single) > 0
    imide &= near(carbon & (x == 3) & (near(oxygen, atoms.double) > 0), single) > 0
    # tetrazole: three more aromatic nitrogens within two bonds
    azole = atoms.element(7) & atoms.aromatic & ((atoms.hydrogens == 1) | (atoms.charge == -1))
    first = near(atoms.element(7), atoms.conjugated)
    bonds = atoms.conjugated
    second = np.bincount(bonds.here, first[bonds.there], minlength=len(atoms)) - atoms.count(bonds)
    return np.asarray(acid | imide | (azole & (first + second >= 3)))


def _rotatable(atoms: Atoms) -> IntArray:
    """Return the number of rotatable bonds of each atom."""
    near, outside = atoms.near, ~atoms.ring
    end = (atoms.degree == 1) | (atoms.count(atoms.triple) > 0)
    for number in (9, 17, 35):
        end |= atoms.aliphatic(6) & (near(atoms.element(number), atoms.plain) >= 3)
    end |= atoms.aliphatic(6) & (near(atoms.aliphatic(6) & (atoms.hydrogens == 3), atoms.plain) >= 3)
    free = atoms.bonds[(atoms.kind == 0) & outside]
    acyl = atoms.aliphatic(6) & (atoms.degree == 3) & (near(atoms.aliphatic(7, 8, 16), atoms.double) > 0)
    bridge = atoms.element(7) | atoms.aliphatic(8) | (atoms.aliphatic(16) & (atoms.degree != 1))
    stiff = end | (acyl & (near(bridge, free) > 0)) | (bridge & (near(acyl, free) > 0))
    here, there = free.here, free.there
    turns = ~end[here] & ~end[there] & ~(stiff[here] & stiff[there])
    return np.bincount(here[turns], minlength=len(atoms))


def _amides(atoms: Atoms) -> IntArray:
    """Return the number of amide bonds of each nitrogen: those to a carbon that has an oxygen outside rings."""
    outside = atoms.bonds[(atoms.kind == 1) & ~atoms.ring]
    carbonyl = atoms.aliphatic(6) & (atoms.near(atoms.aliphatic(8), outside) > 0)
    return np.asarray(atoms.near(carbonyl, atoms.plain) * atoms.aliphatic(7))


def _rings(atoms: Atoms, owner: IntArray, g: int) -> Floats:
    """Return the number of independent rings of all bonds, and of aromatic bonds, of each molecule; shape (2, g)."""
    rings = []
    for bonds in (atoms.bonds, atoms.conjugated):
        # bonds have both directions, so that strong components are components; scipy finds them in half the time
        count, component = connected_components(atoms.matrix(bonds), connection="strong")
        owners = np.empty(count, dtype=np.int64)
        owners[component] = owner
        nodes, components = (np.bincount(which, minlength=g) for which in (owner, owners))
        rings.append(np.bincount(owner, atoms.count(bonds), minlength=g) / 2 - nodes + components)
    return np.array(rings)


class MoleculeTerms(registry.Terms):
    """The terms as columns of the subgraph model."""

    names = TERM_NAMES
    shared = len(SHARED_NAMES)

    def table(self, graphs: GraphSet) -> Floats:
        """Return the terms of molecules."""
        return term_table(graphs)

    def of_graph(self, graphs: GraphSet) -> tuple[Floats, Floats]:
        """Return the terms of a molecule, and the share of each atom in those that are sums over atoms."""
        return terms(graphs)


registry.TERMS["molecules"] = MoleculeTerms()
