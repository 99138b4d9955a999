"""The view "elements": atoms by element and aromaticity, bonds by order.

The view "labels" distinguishes a chlorine on a CH2 from one on a CH. This view does not, so a fragment such as C-Cl is
one template, independent of what its atoms are connected to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from isonn.errors import InputError
from isonn.explain.template import EdgeFacts, NodeFacts
from isonn.molecules.labels import BONDS, ELEMENTS, Atom, atom_facts, bond_kinds, bond_words
from isonn.packing import IntArray
from isonn.subgraphs.encode import Encoding, Structure
from isonn.subgraphs.views import View, register_view

_BOND_TYPES = list(BONDS)


@register_view
@dataclass(frozen=True)
class ElementsView(View):
    """Elements and bond orders of molecules."""

    name = "elements"

    def codes(self, structure: Structure) -> tuple[IntArray, IntArray]:
        """Return atomic number and aromaticity of atoms, and type of bonds, from the labels."""
        graphs = structure.graphs
        if graphs.node_labels is None or (graphs.edge_labels is None and len(graphs.edges)):
            raise InputError(
                f"view='elements' needs molecules, but {graphs.name} has none; give molecules (SMILES), or fit with "
                f"view='auto'"
            )
        number, aromatic, *_ = atom_facts(graphs.node_labels).T
        nodes = 2 * number + aromatic
        if graphs.edge_labels is None:
            return nodes, np.ones(0, dtype=np.int64)
        return nodes, 1 + bond_kinds(graphs.edge_labels[structure.once])

    def node_facts(self, code: int, encoding: Encoding) -> NodeFacts:
        """Return the atom as SMARTS: ``[c]``."""
        return NodeFacts(Atom(code // 2, bool(code % 2)).smarts)

    def edge_facts(self, code: int, encoding: Encoding) -> EdgeFacts:
        """Return the bond as SMARTS: ``:``."""
        return EdgeFacts(BONDS[_BOND_TYPES[code - 1]][0])

    def label_names(self, encoding: Encoding) -> tuple[Mapping[Any, str], Mapping[Any, str]]:
        """Return the elements, with "aromatic" where they are, and the bonds in words."""
        return _ATOM_NAMES, _BOND_NAMES


#: Names of all atoms and bonds of the view.
_ATOM_NAMES = {smarts: atom.words for smarts, atom in ELEMENTS.items()}
_BOND_NAMES = {smarts: bond_words(smarts) for smarts, _ in BONDS.values()}
