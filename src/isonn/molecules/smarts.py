"""Templates as SMARTS patterns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

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
    bonds = _bonds(template)
    if induced:
        atoms = _not_in_small_rings(atoms, bonds)
    return _write(atoms, bonds)


def _bonds(template: Template) -> dict[tuple[int, int], str]:
    found = {}
    for first, second in np.argwhere(np.triu(np.asarray(template.adjacency) > 0, 1)).tolist():
        label = None if template.edge_labels is None else template.edge_labels[first, second]
        found[first, second] = ("@" if template.view == "refined" else "~") if label is None else bond_smarts(label)
    return found


def _write(atoms: Sequence[str], bonds: dict[tuple[int, int], str]) -> str:
    """Write atoms and bonds as one SMARTS, depth first; bonds that close a ring get a number."""
    near: list[list[int]] = [[] for _ in atoms]
    for first, second in bonds:
        near[first].append(second)
        near[second].append(first)
    parent: dict[int, int | None] = {0: None}
    children: list[list[int]] = [[] for _ in atoms]
    closures: list[list[str]] = [[] for _ in atoms]
    done: set[tuple[int, int]] = set()

    def bond(a: int, b: int) -> str:
        return bonds[min(a, b), max(a, b)]

    def visit(node: int) -> None:
        for other in near[node]:
            edge = (min(node, other), max(node, other))
            if edge in done:
                continue
            done.add(edge)
            if other in parent:
                name = str(1 + sum(map(len, closures)) // 2)
                closures[other].append(f"{bond(node, other)}{name}")
                closures[node].append(f"{bond(node, other)}{name}")
            else:
                parent[other] = node
                children[node].append(other)
                visit(other)

    def text(node: int) -> str:
        parts = [f"{bond(node, child)}{text(child)}" for child in children[node]]
        inside = "".join(f"({part})" for part in parts[:-1])
        return f"{atoms[node]}{''.join(closures[node])}{inside}{parts[-1] if parts else ''}"

    visit(0)
    return text(0)


def _not_in_small_rings(atoms: Sequence[str], bonds: dict[tuple[int, int], str]) -> list[str]:
    """Exclude atoms from rings with the path that leads from them to an atom they are not bonded to."""
    near: dict[int, list[int]] = {}
    for first, second in bonds:
        near.setdefault(first, []).append(second)
        near.setdefault(second, []).append(first)
    result = []
    for node, atom in enumerate(atoms):
        rings = []
        for path in _paths(near, node, (3, 4)):
            if path[-1] > node and path[-1] not in near[node]:
                steps = [bonds[min(a, b), max(a, b)] for a, b in pairwise(path)]
                links = "".join(f"{step}{atoms[other]}" for step, other in zip(steps, path[1:], strict=True))
                rings.append(f"!$({atom}1{links}~1)")
        result.append(atom if not rings else f"{atom[:-1]};{';'.join(dict.fromkeys(rings))}]")
    return result


def _paths(near: dict[int, list[int]], start: int, lengths: tuple[int, ...]) -> list[list[int]]:
    """Return all paths from a node with the given numbers of nodes."""
    found, growing = [], [[start]]
    while growing:
        path = growing.pop()
        if len(path) in lengths:
            found.append(path)
        if len(path) < max(lengths):
            growing += [[*path, other] for other in near.get(path[-1], []) if other not in path]
    return sorted(found)
