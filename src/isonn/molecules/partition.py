"""The units of molecules: functional groups, ring systems and chains, deleted with hydrogens in their place."""

from __future__ import annotations

from collections.abc import Sequence

from isonn.explain.units import Partition, Unit, register_partition
from isonn.graphs.graph import Graph
from isonn.molecules.convert import to_mol
from isonn.molecules.edit import delete_atoms
from isonn.molecules.units import units


class MoleculePartition(Partition):
    """The units of `isonn.molecules.units`."""

    def units(self, graph: Graph) -> list[Unit]:
        """Return the functional groups, ring systems and chains of a molecule."""
        return [Unit(unit.name, unit.kind, unit.atoms, source=unit) for unit in units(to_mol(graph))]

    def delete(self, graph: Graph, nodes: Sequence[int]) -> Graph:
        """Return the molecule without some atoms; hydrogens close the bonds."""
        return delete_atoms(graph, nodes)


register_partition("molecules", MoleculePartition())
