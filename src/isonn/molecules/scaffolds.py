"""Groups of molecules that share a scaffold, for splits that test on unseen scaffolds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem.Scaffolds import MurckoScaffold

from isonn.graphs.graph import GraphSet
from isonn.molecules.convert import to_mol


def scaffolds(graphs: GraphSet) -> NDArray[np.str_]:
    """The Bemis-Murcko scaffold of each molecule as SMILES without stereochemistry, shape (g,).

    A molecule without rings has the scaffold ``""``: all of these are one group.

    Example:
        >>> scaffolds(isonn.molecules.from_smiles(["Cc1ccccc1", "Oc1ccccc1", "CCO"])).tolist()
        ['c1ccccc1', 'c1ccccc1', '']
    """
    found = [MurckoScaffold.GetScaffoldForMol(to_mol(graph)) for graph in graphs]
    return np.array([Chem.MolToSmiles(scaffold, isomericSmiles=False) for scaffold in found], dtype=np.str_)
