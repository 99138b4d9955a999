"""Templates as SMARTS patterns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from rdkit import Chem
from rdkit.Chem import Mol

from isonn.errors import InputError
from isonn.explain.template import Template
from isonn.molecules.labels import atom_smarts, bond_smarts


def template_smarts(template: Template, induced: bool = False) -> str:
    """Convert a template to SMARTS.

    SMARTS cannot express "not bonded". With ``induced``, atoms whose bond would close a ring of three or four that the
    template does not have are excluded from such rings, which is nearly the same.

    Example:
        >>> clf = isonn.SubgraphClassifier(max_nodes=2, view="labels").fit(["CO", "CCO", "CC", "CCC"], [1, 1, 0, 0])
        >>> template_smarts(clf.templates_[-1])
        '[C;H2;+0;!R;D2]-;!@[C;H3;+0;!R;D1]'
    """
    if template.node_labels is None:
        raise InputError("this template has no labels, so it has no SMARTS; use view='labels' or 'elements'")
    atoms = [atom_smarts(label) for label in template.node_labels.tolist()]
    shape, bonds = Chem.RWMol(), []
    for _ in atoms:
        shape.AddAtom(Chem.Atom(0))
    for first, second in np.argwhere(np.triu(np.asarray(template.adjacency) > 0, 1)).tolist():
        shape.AddBond(first, second, Chem.BondType.SINGLE)
        label = None if template.edge_labels is None else template.edge_labels[first, second]
        bonds.append(("@" if template.view == "refined" else "~") if label is None else bond_smarts(label))
    if induced:
        atoms = [_outside_small_rings(shape, atoms, bonds, atom) for atom in range(len(atoms))]
    text: str = Chem.MolFragmentToSmiles(
        shape, range(len(atoms)), atomSymbols=atoms, bondSymbols=bonds, rootedAtAtom=0, canonical=False
    )
    return text


def _outside_small_rings(shape: Mol, atoms: Sequence[str], bonds: Sequence[str], atom: int) -> str:
    """Exclude an atom from rings with the path that leads from it to an atom it is not bonded to."""
    paths = [
        list(path) for n in (3, 4) for path in Chem.FindAllPathsOfLengthN(shape, n, useBonds=False, rootedAtAtom=atom)
    ]
    rings = []
    for path in sorted(paths):
        if path[-1] > atom and shape.GetBondBetweenAtoms(atom, path[-1]) is None:
            steps = (bonds[shape.GetBondBetweenAtoms(*ends).GetIdx()] for ends in pairwise(path))
            links = "".join(f"{step}{atoms[other]}" for step, other in zip(steps, path[1:], strict=True))
            rings.append(f"!$({atoms[atom]}1{links}~1)")
    return f"{atoms[atom][:-1]};{';'.join(dict.fromkeys(rings))}]" if rings else atoms[atom]
