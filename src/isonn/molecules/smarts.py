"""Templates as SMARTS patterns, and functional groups by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from rdkit import Chem
from rdkit.Chem import Mol
from rdkit.Chem.FilterCatalog import FilterCatalog, FilterCatalogParams

from isonn.errors import InputError
from isonn.explain.template import Template
from isonn.molecules.labels import atom_smarts, bond_smarts

#: Functional groups by name, more specific ones first.
GROUPS = {
    "nitroaromatic": "[c,n][N+](=O)[O-]",
    "nitro": "[N+](=O)[O-]",
    "N-nitroso": "[#7]-[N;X2]=O",
    "C-nitroso": "[#6]-[N;X2]=O",
    "nitroso": "[N;X2]=O",
    "azo": "[#6]-[N;X2]=[N;X2]-[#6]",
    "azide": "[N-]=[N+]=N",
    "diazo": "[#6]=[N+]=[N-]",
    "hydrazone": "[#6]=[N;X2]-[N;X3]",
    "hydrazine": "[N;X3]-[N;X3]",
    "hydroxylamine": "[N;X3]-[O;X2]",
    "aromatic amine": "c-[N;X3;!$(N[C,S]=[O,S,N]);!$(N~[!#6;!#1])]",
    "epoxide": "C1OC1",
    "aziridine": "C1NC1",
    "nitrogen mustard": "[N;X3]CC[Cl,Br,I]",
    "sulfonate ester": "S(=O)(=O)-[O;X2]-[#6]",
    "phosphate ester": "P(=O)-[O;X2]-[#6]",
    "acyl halide": "C(=O)[F,Cl,Br,I]",
    "alkyl halide": "[C;X4]-[Cl,Br,I]",
    "vinyl halide": "C=C-[Cl,Br,I]",
    "aryl halide": "c-[F,Cl,Br,I]",
    "quinone": "O=[C;R]C=C[C;R]=O",
    "Michael acceptor": "C=C-C=O",
    "aldehyde": "[C;H1](=O)[#6]",
    "isocyanate": "N=C=O",
    "isothiocyanate": "N=C=S",
    "lactone": "[C;R](=O)[O;R]",
    "carboxylic acid": "C(=O)[O;H1,-]",
    "carbamate": "[N;X3]C(=O)[O;X2]",
    "urea": "[N;X3]C(=O)[N;X3]",
    "amide": "C(=O)[N;X3]",
    "ester": "C(=O)[O;X2]-[#6]",
    "ketone": "[#6]C(=O)[#6]",
    "sulfonamide": "S(=O)(=O)[N;X3]",
    "sulfone": "[#6]S(=O)(=O)[#6]",
    "nitrile": "C#N",
    "N-oxide": "[n+]-[O-]",
    "phenol": "c-[O;H1]",
    "alcohol": "[C;X4]-[O;H1]",
    "aryl ether": "c-[O;X2]-[#6]",
    "ether": "[C;X4]-[O;X2]-[C;X4]",
    "thiol": "[#6]-[S;H1]",
    "thioether": "[#6]-[S;X2]-[#6]",
    "polycyclic aromatic": "c1ccc2ccccc2c1",
    "quaternary ammonium": "[N+;X4]",
    "tertiary amine": "[N;X3;H0](-[C;X4])(-[C;X4])-[C;X4]",
    "secondary amine": "[N;X3;H1](-[C;X4])-[C;X4]",
    "primary amine": "[N;X3;H2]-[C;X4]",
    "furan": "c1ccoc1",
    "thiophene": "c1ccsc1",
    "pyridine": "c1ccncc1",
    "imidazole": "c1cncn1",
    "pyrrole": "c1ccnc1",
    "alkene": "C=C",
    "alkyne": "C#C",
    "trifluoromethyl": "C(F)(F)F",
    "tert-butyl": "[C;X4]([C;H3])([C;H3])[C;H3]",
    "benzene": "c1ccccc1",
}
#: Groups that are whole ring systems; all hits in a molecule count as one.
_SYSTEMS = {"polycyclic aromatic"}
#: A pattern gets the name of a group if it has the same relation to it in this share of the molecules.
_USUAL = 0.6
_ORDER = {name: place for place, name in enumerate(GROUPS)}
#: Relations of a pattern to a named group, nearest first.
RELATIONS = ("is", "contains", "part of")
_CATALOGUES = ("BRENK", "NIH", "PAINS")


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


@lru_cache(maxsize=1)
def _named() -> list[tuple[str, Mol]]:
    return [(name, Chem.MolFromSmarts(smarts)) for name, smarts in GROUPS.items()]


@lru_cache(maxsize=1)
def _catalogues() -> list[tuple[str, Any]]:
    found = []
    for name in _CATALOGUES:
        params = FilterCatalogParams()
        params.AddCatalog(getattr(FilterCatalogParams.FilterCatalogs, name))
        found.append((name, FilterCatalog(params)))
    return found


def name_of_hits(hits: Sequence[tuple[Mol, Sequence[frozenset[int]]]]) -> tuple[str, str]:
    """Return the functional group or catalogue alert that a pattern is, contains or lies in, by its matches.

    Args:
        hits: molecules and, in each, the sets of atoms that the pattern matches.

    Returns:
        The relation ("is", "contains", "part of", or "") and the name.
    """
    votes: dict[tuple[bool, int, int, str], int] = {}
    for molecule, places in hits:
        seen = set()
        for name, matches in _groups_in(molecule):
            order = _ORDER.get(name, len(_ORDER))
            for match in matches:
                for place in places:
                    relation = 0 if match == place else 1 if match < place else 2 if place < match else None
                    if relation is not None:
                        seen.add((order == len(_ORDER), relation, order, name))
        for key in seen:
            votes[key] = votes.get(key, 0) + 1
    usual = [key for key, count in votes.items() if count >= _USUAL * len(hits)]
    if not usual:
        return "", ""
    _, relation, _, name = min(usual)  # our own names first, then the nearest
    return RELATIONS[relation], name


def _groups_in(molecule: Mol) -> list[tuple[str, list[frozenset[int]]]]:
    """Return the named groups of a molecule and their atoms: our own first, then those of the catalogues."""
    found = []
    for name, query in _named():
        places = [frozenset(match) for match in molecule.GetSubstructMatches(query)]
        found.append((name, [frozenset().union(*places)] if name in _SYSTEMS and places else places))
    for catalogue, entries in _catalogues():
        for entry in entries.GetMatches(molecule):
            name = f"{entry.GetDescription()} ({catalogue})"
            places = [frozenset(atom for _, atom in match.atomPairs) for match in entry.GetFilterMatches(molecule)]
            found.append((name, places))
    return found
