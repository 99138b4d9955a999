"""The view "elements": atoms by element and aromaticity, bonds by order.

The view "labels" distinguishes a chlorine on a CH2 from one on a CH. This view does not, so a fragment such as C-Cl is
one template, independent of what its atoms are connected to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from isonn.errors import InputError
from isonn.molecules.labels import BONDS, Atom, bond_words, read_atom, read_bond
from isonn.packing import IntArray
from isonn.subgraphs.views import Encoding, Structure, View, register_view

_BOND_TYPES = list(BONDS)


class ElementView(View):
    """Elements and bond orders of molecules."""

    name = "elements"

    def codes(self, structure: Structure) -> tuple[IntArray, IntArray]:
        """Return atomic number and aromaticity of atoms, and type of bonds, from the labels."""
        graphs = structure.graphs
        if graphs.node_labels is None or (graphs.edge_labels is None and len(graphs.edges)):
            raise InputError(f"view='elements' needs molecules, but {graphs.name} has none; use view='auto'")
        labels, number = np.unique(graphs.node_labels, return_inverse=True)
        atoms = [read_atom(str(label)) for label in labels]
        nodes = np.array([2 * atom.number + atom.aromatic for atom in atoms], dtype=np.int64)[number.reshape(-1)]
        if graphs.edge_labels is None:
            return nodes, np.ones(0, dtype=np.int64)
        once = graphs.edges[:, 0] < graphs.edges[:, 1]
        labels, number = np.unique(graphs.edge_labels[once], return_inverse=True)
        types = [1 + _BOND_TYPES.index(read_bond(str(label))[0]) for label in labels]
        return nodes, np.array(types, dtype=np.int64)[number.reshape(-1)]

    def node_label(self, code: int, encoding: Encoding) -> Any:
        """Return the atom as SMARTS: ``[c]``."""
        return Atom(code // 2, bool(code % 2)).smarts

    def edge_label(self, code: int, encoding: Encoding) -> Any:
        """Return the bond as SMARTS: ``:``."""
        return BONDS[_BOND_TYPES[code - 1]][0]

    def node_text(self, code: int, encoding: Encoding, names: dict[Any, str]) -> str:
        """Return the element, with "aromatic" if it is."""
        return Atom(code // 2, bool(code % 2)).words

    def edge_text(self, code: int, encoding: Encoding, names: dict[Any, str]) -> str:
        """Return the bond in a word."""
        return bond_words(self.edge_label(code, encoding))


register_view(ElementView())
