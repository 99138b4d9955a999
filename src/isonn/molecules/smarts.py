"""Templates as SMARTS patterns."""

from __future__ import annotations

import numpy as np
from rdkit import Chem

from isonn.errors import InputError
from isonn.explain.template import Template
from isonn.molecules.labels import atom_smarts, bond_smarts


def template_smarts(template: Template) -> str:
    """Convert a template to SMARTS, which cannot express that two atoms are not bonded.

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
    text: str = Chem.MolFragmentToSmiles(
        shape, range(len(atoms)), atomSymbols=atoms, bondSymbols=bonds, rootedAtAtom=0, canonical=False
    )
    return text
