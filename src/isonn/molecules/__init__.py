"""Molecules, with RDKit: SMILES to graphs and back, scaffolds, drawings, structural alerts.

A molecule is a graph with a node per atom, in RDKit's order. A node label is the SMARTS of the atom
(``[c;H1;+0;R;D2]``: element, aromatic or not, hydrogens, charge, ring, neighbours), an edge label that of the bond
(``:;@``: bond order, ring), so every template is a SMARTS pattern. Salts are kept as further components. Isotopes and
stereochemistry are ignored, so molecules that differ only in these are equal graphs.
"""

from isonn.errors import naming_the_extra

with naming_the_extra("isonn.molecules"):
    from isonn.molecules.convert import canonical_smiles, from_smiles, scaffolds, to_mol
    from isonn.molecules.groups import find_group
    from isonn.molecules.terms import term_table, terms
    from isonn.molecules.units import Unit, units

__all__ = [
    "Unit",
    "canonical_smiles",
    "find_group",
    "from_smiles",
    "scaffolds",
    "term_table",
    "terms",
    "to_mol",
    "units",
]
