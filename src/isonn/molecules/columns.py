"""The terms of molecules as columns of the subgraph model: logP, polar surface, charges and others."""

from __future__ import annotations

from isonn.graphs.graph import GraphSet
from isonn.molecules.terms import SHARED_NAMES, TERM_NAMES, term_table, terms
from isonn.packing import Floats
from isonn.subgraphs.terms import TERMS, Terms


class MoleculeTerms(Terms):
    """Whole-molecule terms of `isonn.molecules.terms`."""

    names = TERM_NAMES
    shared = len(SHARED_NAMES)

    def table(self, graphs: GraphSet) -> Floats:
        """Return the terms of molecules."""
        return term_table(graphs)

    def of_graph(self, graphs: GraphSet) -> tuple[Floats, Floats]:
        """Return the terms of a molecule, and the share of each atom in those that are sums over atoms."""
        return terms(graphs)


TERMS["molecules"] = MoleculeTerms()
