"""Molecules, with RDKit: SMILES to graphs and back, scaffolds, drawings, structural alerts.

A molecule is a graph with a node per atom, in RDKit's order. A node label is an integer that stands for element,
aromaticity, hydrogens, charge, ring and neighbours of the atom, an edge label one for order and ring of the bond
(`isonn.molecules.labels`), so every template is a SMARTS pattern. Molecules are standardised first: a base and its
salts are one graph (`standardize`). Stereochemistry is ignored, so stereoisomers are equal graphs.

Modules, in the order in which a molecule meets them::

    smiles sdf (files columns)   readers of tables, lists and SD files; their common base; target and id columns
    parse standardizer convert   from text to RDKit's molecule, its standard form, and its graph; and back
    labels views                 atoms and bonds as integers; the view "elements"
    atoms terms crippen          atoms of many molecules as arrays; logP, surface, donors and other terms
    groups units unit_names      names of groups and rings (tables/groups.tsv); the partition of a molecule into units
    edit suggest draw            what-if edits, proposals of edits, drawings
    smarts alerts toxicophores   templates as SMARTS; structural alerts, and the published kinds they are compared with
"""

from isonn.errors import naming_the_extra

with naming_the_extra("isonn.molecules"):
    from isonn.graphs.edit import on_input_nodes as on_input_atoms
    from isonn.molecules.convert import canonical_smiles, from_smiles, scaffolds, to_mol
    from isonn.molecules.edit import delete_atoms
    from isonn.molecules.groups import find_group
    from isonn.molecules.standardizer import standardize
    from isonn.molecules.terms import term_table, terms
    from isonn.molecules.units import Unit, units

__all__ = [
    "Unit",
    "canonical_smiles",
    "delete_atoms",
    "find_group",
    "from_smiles",
    "on_input_atoms",
    "scaffolds",
    "standardize",
    "term_table",
    "terms",
    "to_mol",
    "units",
]
