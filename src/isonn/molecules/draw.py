"""Drawings of molecules: RDKit's skeletal formulas, coloured by the contributions of atoms and bonds.

RDKit computes the positions and draws bonds and symbols. Its colours are replaced by those of the page, so that
molecules look right in dark mode and in print.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem import Mol
from rdkit.Chem.Draw import rdMolDraw2D

from isonn.explain.template import Template
from isonn.graphs.graph import Graph
from isonn.molecules.convert import rdkit_atom, silence, to_mol
from isonn.molecules.labels import read_atom, read_bond
from isonn.report.draw import (
    Drawer,
    Drawing,
    Mark,
    Symbols,
    edge_levels,
    free_place,
    level_class,
    levels,
    register_drawer,
    svg_number,
)
from isonn.report.node_link import NodeLinkDrawer

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

    def draw(
        self,
        graph: Graph,
        *,
        title: str = "",
        marks: Sequence[Mark] = (),
        shown: Sequence[int] = (),
        node_importance: NDArray[np.float64] | None = None,
        edge_importance: NDArray[np.float64] | None = None,
        symbols: Symbols | None = None,
    ) -> Drawing:
        """Draw one molecule; see `Drawer.draw`."""
        if graph.n > LARGEST:
            return NodeLinkDrawer().draw(
                graph, title=title, marks=marks, shown=shown, node_importance=node_importance,
                edge_importance=edge_importance, symbols=symbols,
            )  # fmt: skip
        formula = _Formula(to_mol(graph))
        title = title or self.alternative(graph, [marks[i] for i in shown], symbols)
        wash = _wash(formula, graph, levels(node_importance), edge_levels(edge_importance))
        kind = "isonn molecule importance" if node_importance is not None else "isonn molecule"
        halos = _halos(formula, graph, marks, shown)
        svg = _svg(formula, kind, title, [*halos, *wash], _tags(formula, graph, marks, shown))
        return Drawing(svg, formula.box, "", self.name, tuple(formula.at))

    def draw_template(self, template: Template, *, title: str = "", symbols: Symbols | None = None) -> Drawing:
        """Draw a template as a fragment; a line across a bond marks where the rest of the molecule is attached.

        In the view "elements" the number of neighbours of an atom is unknown. Its fragments have no such lines, and
        every atom is written as in SMARTS, such as "c" for an aromatic carbon.
        """
        if template.node_labels is None:
            return NodeLinkDrawer().draw_template(template, title=title, symbols=symbols)
        formula = _Formula(fragment(template), kekulize=False, least=LEAST_FRAGMENT)
        title = title or f"Fragment of {template.k} atoms: {', '.join(template.texts or ())}"
        return Drawing(_svg(formula, "isonn molecule", title, [], []), formula.box, "", self.name)

    def alternative(self, graph: Graph, marks: Sequence[Mark] = (), symbols: Symbols | None = None) -> str:
        """Return the SMILES and the highlighted atoms."""
        words = super().alternative(graph, marks, symbols)
        text = str(graph.row.get("smiles", ""))
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
        with silence():
            try:
                ready = rdMolDraw2D.PrepareMolForDrawing(molecule, kekulize, addChiralHs=False)
            except (ValueError, RuntimeError):  # aromatic atoms without alternating double bonds
                ready = rdMolDraw2D.PrepareMolForDrawing(molecule, kekulize=False, addChiralHs=False)
            drawer.DrawMolecule(ready)
            drawer.FinishDrawing()
        text = drawer.GetDrawingText()
        found = _VIEW.search(text)
        points = (drawer.GetDrawCoords(i) for i in range(molecule.GetNumAtoms()))
        self.at = [(round(point.x, 1), round(point.y, 1)) for point in points]
        left, top, width, height = map(float, (found[1] if found else "0 0 100 100").split())
        sides = []
        for axis, (low, high) in enumerate(((left, left + width), (top, top + height))):
            places = [point[axis] for point in self.at]  # highlights extend beyond RDKit's drawing
            low, high = min([low, *(p - HALO for p in places)]), max([high, *(p + HALO for p in places)])
            spare = max(0.0, least[axis] - (high - low)) / 2
            sides.append((low - spare, high + spare))
        self.width, self.height = (round(high - low) for low, high in sides)
        self.box = " ".join(svg_number(x) for x in (sides[0][0], sides[1][0], self.width, self.height))
        lines: list[str] = []
        outlines: list[str] = []
        for path, style in _PATH.findall(text):
            (lines if style.endswith("fill:none") else outlines).append(" ".join(path.split()))
        self.lines, self.outlines = " ".join(lines), " ".join(outlines)


def _svg(formula: _Formula, kind: str, title: str, below: Iterable[str], above: Iterable[str]) -> str:
    return "".join(
        [
            f'<svg class="{kind}" role="img" viewBox="{formula.box}" width="{formula.width}" '
            f'height="{formula.height}"><title>{escape(title)}</title>',
            "<g>",
            *below,
            f'<path class="bonds" d="{formula.lines}"/>' if formula.lines else "",
            f'<path class="atoms" d="{formula.outlines}"/>' if formula.outlines else "",
            *above,
            "</g></svg>",
        ]
    )


def _wash(
    formula: _Formula, graph: Graph, nodes: NDArray[np.int64] | None, edges: NDArray[np.int64] | None
) -> Iterable[str]:
    """Yield colours below atoms and bonds, by their contributions."""
    if nodes is None and edges is None:
        return
    yield '<g class="wash">'
    for a, b in graph.edges.tolist():
        if edges is not None and a < b and edges[a, b]:
            step = level_class(int(edges[a, b]))
            yield f'<path class="{step}" d="M{_point(formula.at[a])}L{_point(formula.at[b])}"/>'
    for node, (x, y) in enumerate(formula.at):
        if nodes is not None and nodes[node]:
            step = level_class(int(nodes[node]))
            yield f'<circle class="{step}" cx="{svg_number(x)}" cy="{svg_number(y)}" r="{RADIUS}"/>'
    yield "</g>"


def _halos(formula: _Formula, graph: Graph, marks: Sequence[Mark], shown: Sequence[int]) -> Iterable[str]:
    links = graph.edges.tolist()
    for i, mark in enumerate(marks):
        nodes = mark.all_nodes
        path = "".join(f"M{_point(formula.at[node])}h0" for node in sorted(nodes))
        path += "".join(
            f"M{_point(formula.at[a])}L{_point(formula.at[b])}" for a, b in links if a < b and a in nodes and b in nodes
        )
        look = f"halo {'pos' if mark.positive else 'neg'}{' on' if i in shown else ''}"
        yield f'<path class="{look}" data-m="{i}" d="{path}"/>'


def _tags(formula: _Formula, graph: Graph, marks: Sequence[Mark], shown: Sequence[int]) -> Iterable[str]:
    """Yield the text of each mark beside one of its atoms."""
    points, links = np.array(formula.at), graph.edges.tolist()
    for i, mark in enumerate(marks):
        if not mark.text or not mark.all_nodes:
            continue
        x, y = free_place(points, links, sorted(mark.all_nodes), 2.2 * RADIUS, formula.box)
        yield (
            f'<g class="tag{" on" if i in shown else ""}" data-m="{i}"><text x="{svg_number(x)}" '
            f'y="{svg_number(y + 4)}">{escape(mark.text)}</text></g>'
        )


def _point(point: tuple[float, float]) -> str:
    return f"{svg_number(point[0])} {svg_number(point[1])}"


register_drawer("molecules", MoleculeDrawer())
