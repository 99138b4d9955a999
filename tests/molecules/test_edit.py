"""Edits of molecules against RDKit's own reading of the expected molecule."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rdkit")

from rdkit import Chem

import isonn
from isonn.errors import InputError
from isonn.molecules import canonical_smiles, delete_atoms, from_smiles
from tests.molecules.test_units import SMILES


@pytest.mark.parametrize(
    ("smiles", "pattern", "left"),
    [
        ("O=[N+]([O-])c1ccccc1", "[N+](=O)[O-]", "c1ccccc1"),
        ("CC(=O)N1CCCCC1", "N1CCCCC1", "CC=O"),
        ("CC=CC", "[CH3]", "C=C"),
        ("CCC#N", "C#N", "CC"),
        ("O=c1cc[nH]cc1", "O=*", "C=CNC=C"),  # an aromatic ring is cut
        ("[O-][n+]1ccccc1", "[O-]", "c1ccncc1"),  # no proton takes the place of the oxide
        ("C[N+](C)(C)[O-]", "[N+]", "C.C.C.O"),
        ("c1ccccc1-c1ccccc1", "c1ccccc1", "c1ccccc1"),
        ("CC(=O)[O-].[Na+]", "[Na+]", "CC(=O)[O-]"),
        ("O=S(C)C", "[#8]", "C[SH2]C"),
        ("CCC", "[CH2]", "C.C"),
    ],
)
def test_hydrogens_close_the_bonds(smiles, pattern, left):
    graph = from_smiles([smiles], standardize="none")[0]
    atoms = Chem.MolFromSmiles(smiles).GetSubstructMatches(Chem.MolFromSmarts(pattern))
    atoms = {atom for match in atoms for atom in match} if pattern in ("[CH3]", "[CH2]") else atoms[0]
    result = delete_atoms(graph, atoms)
    assert canonical_smiles(isonn.as_graphset([result])).tolist() == [Chem.CanonSmiles(left)]
    assert result.n == graph.n - len(atoms)


@pytest.mark.parametrize("smiles", SMILES)
def test_deleting_nothing_changes_nothing(smiles):
    graph = from_smiles([smiles], standardize="none")[0]
    same = delete_atoms(graph, [])
    np.testing.assert_array_equal(same.node_labels, graph.node_labels)
    np.testing.assert_array_equal(same.edges, graph.edges)
    np.testing.assert_array_equal(same.edge_labels, graph.edge_labels)


@pytest.mark.parametrize("smiles", SMILES)
def test_a_molecule_without_one_of_its_units_can_be_read_again(smiles):
    graph = from_smiles([smiles], standardize="none")[0]
    units = isonn.molecules.units(isonn.molecules.to_mol(graph))
    for unit in units if len(units) > 1 else ():
        left = delete_atoms(graph, unit.atoms)
        again = Chem.MolFromSmiles(left.row["smiles"])
        assert again is not None
        assert again.GetNumAtoms() == left.n


def test_atoms_that_are_not_there_are_refused():
    graph = from_smiles(["CCO"])[0]
    with pytest.raises(InputError, match="has no atom 3; use 0 to 2"):
        delete_atoms(graph, [3])
    with pytest.raises(InputError, match="no atom of the molecule is left"):
        delete_atoms(graph, range(3))
