"""Drawings of molecules: RDKit's skeletal formulas, coloured by the contributions of atoms and bonds.

RDKit computes the positions and draws bonds and symbols. Its colours are replaced by those of the page, so that
molecules look right in dark mode and in print.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from rdkit import Chem
from rdkit.Chem import Mol
from rdkit.Chem.Draw import rdMolDraw2D
from rdkit.rdBase import BlockLogs

from isonn.explain.template import Template
from isonn.molecules.convert import rdkit_atom, to_mol
from isonn.molecules.labels import read_atom, read_bond
from isonn.report.draw import (
    Drawer,
    Drawing,
    Scene,
    Symbols,
    edge_levels,
    halos,
    level_class,
    levels,
    register_drawer,
    svg_number,
    svg_point,
    tags,
)
from isonn.report.node_link import NodeLinkDrawer, template_graph

#: Length of a bond, radius of a coloured atom and of its highlight, in pixels.
BOND, RADIUS, HALO = 34, 10, 16
#: Minimum size of a picture, so that pages do not enlarge small molecules and fragments.
LEAST, LEAST_FRAGMENT = (220.0, 130.0), (120.0, 90.0)
#: Larger molecules are drawn as plain graphs around their marks, because the layout of the formula would take minutes.
LARGEST = 300
_PATH = re.compile(r"<path (?:class='[^']*' )?d='([^']*)' (style='fill:none|style='[^']*'|fill=)")
_VIEW = re.compile(r"viewBox='([^']*)'")


class MoleculeDrawer(Drawer):
    """Skeletal formulas."""

    name = "molecule"

    def draw(self, scene: Scene) -> Drawing:
        """Draw one molecule; see `Drawer.draw`."""
        if scene.graph.n > LARGEST:
            return NodeLinkDrawer().draw(scene)
        formula = _Formula(to_mol(scene.graph))
        parts = [
            *halos(formula.at, scene),
            *_wash(formula, scene),
            *formula.parts,
            *tags(formula.at, scene, RADIUS, formula.box),
        ]
        svg = self.frame(scene, formula.box, parts)
        return Drawing(svg, formula.box, "", self.name, tuple(formula.at.values()))

    def draw_template(self, template: Template, title: str = "", symbols: Symbols | None = None) -> Drawing:
        """Draw a template as a fragment; a line across a bond marks where the rest of the molecule is attached.

        In the view "elements" the number of neighbours of an atom is unknown. Its fragments have no such lines, and
        every atom is written as in SMARTS, such as "c" for an aromatic carbon.
        """
        if template.node_labels is None:
            return NodeLinkDrawer().draw_template(template, title, symbols)
        formula = _Formula(fragment(template), kekulize=False, least=LEAST_FRAGMENT)
        title = title or f"Fragment of {template.k} atoms: {', '.join(template.texts or ())}"
        svg = self.frame(Scene(template_graph(template), title), formula.box, formula.parts)
        return Drawing(svg, formula.box, "", self.name)

    def alternative(self, scene: Scene) -> str:
        """Return the SMILES and the highlighted atoms."""
        words = super().alternative(scene)
        text = str(scene.graph.row.get("smiles", ""))
        return f"Molecule {text[:200]}. {words}" if text else words


def fragment(template: Template) -> Mol:
    """Convert a template to a molecule, with a dummy atom for every neighbour outside the template.

    Example:
        >>> clf = isonn.SubgraphClassifier().fit(isonn.molecules.from_smiles(["CO", "CCO"] * 2), [0, 1] * 2)
        >>> fragment(clf.templates_[0]).GetNumAtoms() >= 1
        True
    """
    molecule = Chem.RWMol()
    assert template.node_labels is not None
    atoms = [read_atom(str(label)) for label in template.node_labels]
    joined = np.asarray(template.adjacency) > 0
    for atom in atoms:
        built = rdkit_atom(atom, atom.hydrogens)
        if atom.degree < 0:
            built.SetProp("atomLabel", atom.element if atom.number else "*")
        molecule.AddAtom(built)
    for first, second in np.argwhere(np.triu(joined, 1)).tolist():
        label = None if template.edge_labels is None else template.edge_labels[first, second]
        molecule.AddBond(first, second, Chem.BondType.SINGLE if label is None else read_bond(str(label))[0])
    for node, atom in enumerate(atoms):
        for _ in range(atom.degree - int(joined[node].sum())):
            molecule.AddBond(node, molecule.AddAtom(Chem.Atom(0)), Chem.BondType.SINGLE)
    result = molecule.GetMol()
    result.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(result)
    return result


class _Formula:
    """RDKit's drawing of a molecule: positions of atoms, bonds as lines, symbols as outlines."""

    def __init__(self, molecule: Mol, kekulize: bool = True, least: tuple[float, float] = LEAST) -> None:
        drawer = rdMolDraw2D.MolDraw2DSVG(-1, -1)
        options: Any = drawer.drawOptions()
        options.fixedBondLength, options.padding, options.clearBackground = BOND, 0.08, False
        options.dummiesAreAttachments = True
        options.prepareMolsBeforeDrawing = False
        options.fixedFontSize = 13
        with BlockLogs():
            try:
                ready = rdMolDraw2D.PrepareMolForDrawing(molecule, kekulize, addChiralHs=False)
            except (ValueError, RuntimeError):  # aromatic atoms without alternating double bonds
                ready = rdMolDraw2D.PrepareMolForDrawing(molecule, kekulize=False, addChiralHs=False)
            drawer.DrawMolecule(ready)
            drawer.FinishDrawing()
        text = drawer.GetDrawingText()
        view = _VIEW.search(text)
        points = (drawer.GetDrawCoords(i) for i in range(molecule.GetNumAtoms()))
        self.at = {i: (round(point.x, 1), round(point.y, 1)) for i, point in enumerate(points)}
        left, top, width, height = map(float, (view[1] if view else "0 0 100 100").split())
        sides = []
        for axis, (low, high) in enumerate(((left, left + width), (top, top + height))):
            places = [point[axis] for point in self.at.values()]  # highlights extend beyond RDKit's drawing
            low, high = min([low, *(p - HALO for p in places)]), max([high, *(p + HALO for p in places)])
            spare = max(0.0, least[axis] - (high - low)) / 2
            sides.append((low - spare, high + spare))
        width, height = (round(high - low) for low, high in sides)
        self.box = " ".join(svg_number(x) for x in (sides[0][0], sides[1][0], width, height))
        lines: list[str] = []
        outlines: list[str] = []
        for path, style in _PATH.findall(text):
            (lines if style.endswith("fill:none") else outlines).append(" ".join(path.split()))
        both = (("bonds", lines), ("atoms", outlines))
        self.parts = [f'<path class="{name}" d="{" ".join(paths)}"/>' for name, paths in both if paths]


def _wash(formula: _Formula, scene: Scene) -> Iterable[str]:
    """Yield colours below atoms and bonds, by their contributions."""
    nodes, edges = levels(scene.node_importance), edge_levels(scene.edge_importance)
    if nodes is None and edges is None:
        return
    yield '<g class="wash">'
    for a, b in scene.graph.edges.tolist():
        if edges is not None and a < b and edges[a, b]:
            step = level_class(int(edges[a, b]))
            yield f'<path class="{step}" d="M{svg_point(formula.at[a])}L{svg_point(formula.at[b])}"/>'
    for node, (x, y) in formula.at.items():
        if nodes is not None and nodes[node]:
            step = level_class(int(nodes[node]))
            yield f'<circle class="{step}" cx="{svg_number(x)}" cy="{svg_number(y)}" r="{RADIUS}"/>'
    yield "</g>"


register_drawer("molecules", MoleculeDrawer())
