"""Crippen's atom types: each atom's share of logP and of molar refractivity.

S. A. Wildman and G. M. Crippen, J. Chem. Inf. Comput. Sci. 1999, 39, 868. The types are the SMARTS patterns of RDKit's
table as rules over arrays; an atom has the first type that fits. Hydrogens count with the atom that bears them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isonn.molecules.atoms import Atoms, Flags
from isonn.molecules.tables import read_table
from isonn.packing import Floats, IntArray


def _values(atom: str) -> dict[str, tuple[float, float]]:
    rows = [row for row in read_table("crippen") if row["atom"] == atom]
    return {row["type"]: (float(row["logp"]), float(row["refractivity"])) for row in rows}


#: logP and molar refractivity of each type.
VALUES, HYDROGENS = _values("heavy"), _values("hydrogen")
_MAIN_GROUP_METALS = (3, 11, 19, 37, 55, 4, 12, 20, 38, 56, 5, 13, 31, 49, 81, 14, 32, 50, 82, 33, 51, 83, 34, 52, 84)
_TRANSITION_METALS = (*range(21, 31), *range(39, 49), *range(72, 81))


def crippen(atoms: Atoms) -> tuple[Floats, Floats]:
    """Return logP and molar refractivity of each atom with its hydrogens, ``(n,)`` each.

    Example:
        >>> logp, refractivity = crippen(Atoms(isonn.molecules.from_smiles(["CCO"])))
        >>> print(logp.sum().round(4), refractivity.sum().round(4))
        -0.0014 12.7598
    """
    types = _first(atom_rules(atoms), VALUES, len(atoms))
    bearers = _first(hydrogen_rules(atoms), HYDROGENS, len(atoms))
    tables = zip(np.array(list(VALUES.values())).T, np.array(list(HYDROGENS.values())).T, strict=True)
    sums = (heavy[types] + hydrogens[bearers] * atoms.hydrogens for heavy, hydrogens in tables)
    logp, refractivity = (np.where(atoms.number > 1, values, 0.0) for values in sums)
    return logp, refractivity


def _first(rules: Iterator[tuple[str, Flags]], values: dict[str, tuple[float, float]], n: int) -> IntArray:
    """Return the number of the first rule that fits each atom; the last value is that of all others."""
    places = {name: place for place, name in enumerate(values)}
    types = np.full(n, len(values) - 1)
    for name, members in reversed(list(rules)):
        np.copyto(types, places[name], where=members)
    return types


def atom_rules(atoms: Atoms) -> Iterator[tuple[str, Flags]]:
    """Yield name and members of each type of atoms other than hydrogen, the first that fits counts."""
    yield from _carbons(atoms)
    yield from _nitrogens(atoms)
    yield from _oxygens(atoms)
    yield from _others(atoms)


def _carbons(atoms: Atoms) -> Iterator[tuple[str, Flags]]:
    near, plain, double, h, x = atoms.near, atoms.plain, atoms.double, atoms.hydrogens, atoms.connections
    chain, aromatic = atoms.aliphatic(6), atoms.element(6) & atoms.aromatic
    saturated = x == 4
    any_aliphatic = near(~atoms.aromatic, plain)
    carbons, rings = near(chain, plain), near(atoms.aromatic, plain)
    hetero = near(atoms.aliphatic(7, 8, 15, 16, 9, 17, 35, 53), plain) > 0
    to_carbon = near(chain, double)
    yield "C1", chain & ((h == 4) | ((h == 3) & (carbons >= 1)) | ((h == 2) & (carbons >= 2)))
    yield "C2", chain & (((h == 1) & (carbons >= 3)) | (carbons >= 4))
    yield "C3", chain & hetero & ((h == 3) | ((h == 2) & saturated & (any_aliphatic >= 2)))
    yield "C4", chain & hetero & saturated & (((h == 1) & (any_aliphatic >= 3)) | ((h == 0) & (any_aliphatic >= 4)))
    yield "C5", chain & (near(~chain & ~atoms.aromatic, double) > 0)
    enough = (h == 2) | ((h == 1) & (any_aliphatic >= 1)) | ((h == 0) & (any_aliphatic >= 2)) | (to_carbon >= 2)
    yield "C6", chain & (to_carbon >= 1) & enough
    yield "C7", chain & (x == 2) & (near(~atoms.aromatic, atoms.triple) > 0)
    yield "C8", chain & (h == 3) & (near(aromatic, plain) > 0)
    yield "C9", chain & (h == 3) & (rings > 0)
    for name, hydrogens in (("C10", 2), ("C11", 1), ("C12", 0)):
        yield name, chain & (h == hydrogens) & saturated & (rings > 0)
    usual = atoms.aliphatic(6, 7, 8, 16, 9, 17, 35, 53)
    yield "C13", aromatic & (h == 0) & (near(~usual & ~atoms.aromatic, atoms.single) > 0)
    for name, number in (("C14", 9), ("C15", 17), ("C16", 35), ("C17", 53)):
        yield name, aromatic & (near(atoms.element(number), plain) > 0)
    yield "C18", aromatic & (h == 1)
    inside = near(atoms.aromatic, atoms.conjugated)
    yield "C19", aromatic & (inside >= 3)
    yield "C20", aromatic & (inside >= 2) & (near(atoms.aromatic, atoms.single) > 0)
    for name, number in (("C21", 6), ("C22", 7), ("C23", 8), ("C24", 16)):
        yield name, aromatic & (inside >= 2) & (near(atoms.aliphatic(number), atoms.single) > 0)
    yield "C25", aromatic & (inside >= 2) & (near(atoms.aliphatic(6, 7, 8), double) > 0)
    styrene = (any_aliphatic >= 1) | ((rings >= 2) & (near(aromatic, plain) > 0)) | (h == 1)
    yield "C26", chain & (((to_carbon > 0) & (rings > 0) & styrene) | (near(aromatic, double) > 0))
    metals = ~atoms.aliphatic(6, 7, 8, 15, 16, 9, 17, 35, 53) & ~atoms.aromatic
    yield "C27", chain & saturated & (near(metals, plain) > 0)
    yield "CS", atoms.element(6)


def _nitrogens(atoms: Atoms) -> Iterator[tuple[str, Flags]]:
    near, plain, double, h = atoms.near, atoms.plain, atoms.double, atoms.hydrogens
    chain, aromatic = atoms.aliphatic(7), atoms.element(7) & atoms.aromatic
    neutral, cation = chain & (atoms.charge == 0), (atoms.charge >= 1) & (atoms.charge <= 3)
    aliphatic, rings = near(~atoms.aromatic, plain), near(atoms.aromatic, plain)
    doubles = atoms.count(double)
    triple = near(~atoms.aromatic, atoms.triple) > 0
    yield "N1", neutral & (h == 2) & (aliphatic >= 1)
    yield "N2", neutral & (h == 1) & (aliphatic >= 2)
    yield "N3", neutral & (h == 2) & (rings >= 1)
    yield "N4", neutral & (h == 1) & (rings >= 1) & (aliphatic + rings >= 2)
    yield "N5", neutral & (h == 1) & (doubles >= 1)
    yield "N6", neutral & (doubles >= 1) & (aliphatic + rings >= 1)
    yield "N7", neutral & (aliphatic >= 3)
    yield "N8", neutral & (rings >= 1) & (((aliphatic >= 1) & (aliphatic + rings >= 3)) | (rings >= 3))
    yield "N9", neutral & triple
    yield "N10", chain & cation & (h >= 1) & (h <= 3)
    yield "N11", aromatic & (atoms.charge == 0)
    yield "N12", aromatic & cation
    imine = (near(~atoms.aromatic, double) >= 1) & (aliphatic >= 1) & (aliphatic + rings >= 2)
    diazo = (near(atoms.element(6), double) >= 1) & (near(atoms.element(7), double) >= 1)
    yield "N13", chain & cation & (h == 0) & ((aliphatic >= 4) | imine | diazo)
    anion = chain & (atoms.charge <= -1) & (atoms.charge >= -3)
    azide = (near(anion, double) >= 1) & (near(chain, double) >= 2)
    yield "N14", (chain & cation & (triple | azide)) | anion
    yield "NS", atoms.element(7)


def _oxygens(atoms: Atoms) -> Iterator[tuple[str, Flags]]:
    near, plain, double, h = atoms.near, atoms.plain, atoms.double, atoms.hydrogens
    chain, carbon, ring_carbon = atoms.aliphatic(8), atoms.aliphatic(6), atoms.element(6) & atoms.aromatic
    aliphatic, rings = near(~atoms.aromatic, plain), near(atoms.aromatic, plain)
    ends = chain & (atoms.connections == 1)
    anion = ends & (atoms.charge <= -1) & (atoms.charge >= -3)
    yield "O1", atoms.element(8) & atoms.aromatic
    yield "O2", chain & ((h == 1) | (h == 2))
    yield "O3", chain & (aliphatic >= 2)
    yield "O4", chain & (rings >= 1) & (aliphatic + rings >= 2)
    yield "O5", (chain & (near(atoms.element(7, 8), double) > 0)) | (anion & (near(atoms.element(7), plain) > 0))
    sulfur = atoms.element(16)
    sulfoxide = (atoms.charge == 0) & (near(sulfur & (atoms.charge == 0), double) > 0)
    yield "O6", (anion & (atoms.charge >= -2) & (near(sulfur, plain) > 0)) | (chain & sulfoxide)
    acyl = carbon & (near(chain, double) > 0)
    yield "O12", chain & (atoms.charge == -1) & (near(acyl, plain) > 0)
    yield "O7", anion & (near(~atoms.aliphatic(7, 16), plain) > 0)
    yield "O8", chain & (near(ring_carbon, double) > 0)
    # what the carbon of a carbonyl group is bonded to
    carbons, ring_carbons = near(carbon, plain), near(ring_carbon, plain)
    formyl = (h == 1) & ((carbons >= 1) | (near(atoms.aliphatic(7, 8), plain) >= 1))
    dioxide = (atoms.connections == 2) & (near(chain, double) >= 2)
    ketone = carbon & (formyl | ((carbons >= 1) & (aliphatic >= 2)) | (h == 2) | dioxide)
    yield "O9", chain & (near(ketone, double) > 0)
    aryl = (carbons + ring_carbons >= 1) & (rings >= 1) & (carbons + rings >= 2)
    aryl_ketone = carbon & (((h == 1) & (ring_carbons >= 1)) | aryl | ((ring_carbons >= 1) & (aliphatic >= 1)))
    yield "O10", chain & (near(aryl_ketone, double) > 0)
    yield "O11", chain & (near(carbon & (near(~atoms.element(6), plain) >= 2), double) > 0)
    yield "OS", atoms.element(8)


def _others(atoms: Atoms) -> Iterator[tuple[str, Flags]]:
    charge = atoms.charge
    for name, number in (("F", 9), ("Cl", 17), ("Br", 35), ("I", 53)):
        yield name, atoms.element(number) & (charge == 0)
    alkali = atoms.element(3, 11, 19, 37, 55) & (charge == 1)
    iodonium = atoms.element(53) & (charge >= 1) & (charge <= 3)
    yield "Hal", (atoms.element(9, 17, 35, 53) & (charge == -1)) | iodonium | alkali
    yield "P", atoms.element(15)
    sulfur = atoms.aliphatic(16)
    charged = (charge != 0) & (charge != 4) & (charge >= -4) & (charge <= 6)
    oxidised = (charge == 0) & (atoms.near(atoms.aliphatic(7, 8, 15, 16), atoms.double) > 0)
    yield "S2", sulfur & (charged | oxidised)
    yield "S1", sulfur
    yield "S3", atoms.element(16) & atoms.aromatic
    yield "Me1", atoms.element(*_MAIN_GROUP_METALS)
    yield "Me2", atoms.element(*_TRANSITION_METALS)


def hydrogen_rules(atoms: Atoms) -> Iterator[tuple[str, Flags]]:
    """Yield the type of the hydrogens that each atom bears, the first that fits counts."""
    near, plain = atoms.near, atoms.plain
    hydroxyl = atoms.aliphatic(8)
    yield "H1", atoms.element(6)
    alcohol = (atoms.aliphatic(6) & (atoms.connections == 4)) | (atoms.element(6) & atoms.aromatic)
    unusual = ~(atoms.aliphatic(6, 8, 16) | atoms.element(7))
    other = (near(alcohol | unusual, plain) > 0) | (atoms.hydrogens >= 2)  # water
    yield "H2", (hydroxyl & other) | ~atoms.element(6, 7, 8)
    yield "H3", atoms.element(7) | (hydroxyl & (near(atoms.element(7), plain) > 0))
    enol = atoms.aliphatic(6) & (near(atoms.element(6, 7) | atoms.aliphatic(8, 16), atoms.double) > 0)
    yield "H4", hydroxyl & (near(enol | atoms.aliphatic(8, 16), plain) > 0)
