"""Convert SMILES and RDKit molecules to graphs and back; scaffolds of molecules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rdkit import Chem
from rdkit.Chem import Mol
from rdkit.Chem.Scaffolds import MurckoScaffold
from rdkit.rdBase import BlockLogs

from isonn.errors import InputError
from isonn.graphs.graph import Graph, GraphSet
from isonn.graphs.io.registry import Problem, listed
from isonn.graphs.join import graphset_from_cells
from isonn.graphs.stream import AT_ONCE
from isonn.molecules.labels import BONDS, Atom, atom_codes, bond_code, bond_words, read_atom, read_bond
from isonn.molecules.parse import Parse, parse_smiles
from isonn.molecules.standardizer import DEFAULT, Standardized, check_mode, standard_columns, standard_form
from isonn.params import check_count
from isonn.processes import run_in_order

#: Number of molecules of RDKit that are held at a time; each takes tens of kilobytes.
MOLECULES_AT_ONCE = 512


def from_smiles(
    smiles: Iterable[Any],
    y: ArrayLike | None = None,
    *,
    ids: ArrayLike | None = None,
    name: str = "molecules",
    standardize: str = DEFAULT,
    n_jobs: int = 1,
) -> GraphSet:
    """Convert molecules to graphs with a node per atom, numbered as in RDKit, and an edge per bond.

    Molecules are standardised, so that a base and its salts are the same graph. ``table["smiles"]`` keeps them as
    given, ``table["changes"]`` says what changed, and `on_input_atoms` gives values of nodes to the atoms of the input.

    Args:
        smiles: SMILES strings or RDKit ``Mol`` objects: a list, an array or a pandas column.
        y: target of each molecule.
        ids: name of each molecule.
        name: name of the set in tables and errors.
        standardize: "salts", "full" (also canonical tautomers) or "none", as in `isonn.molecules.standardize`.
        n_jobs: number of processes; it does not change the result. They start in seconds, so they pay for
            tens of thousands of molecules.

    Returns:
        `isonn.GraphSet` of the kind "molecules".

    Example:
        >>> graphs = from_smiles(["CCO", "c1ccccc1"], y=[0, 1])
        >>> [graphs.node_label_names[label] for label in graphs[0].node_labels.tolist()]
        ['CH3', 'CH2', 'OH']
    """
    check_count("n_jobs", n_jobs)
    given = list(smiles)
    starts = range(0, len(given), AT_ONCE)
    calls = ((read_molecules, (given[i : i + AT_ONCE], name, parse_smiles, False, standardize)) for i in starts)
    pieces: list[GraphSet] = []
    problems: list[Problem] = []
    for start, (graphs, unusable) in zip(starts, run_in_order(calls, n_jobs), strict=True):
        pieces += [] if graphs is None else [graphs]
        problems += [replace(problem, row=start + problem.row) for problem in unusable]
    if problems:
        count = f"{len(problems)} molecule{'s' * (len(problems) > 1)}"
        of = "" if name == "molecules" else f" of {name}"
        raise InputError(f"{count}{of} cannot be read: {listed(problems, len(problems))}; correct or drop them")
    if not pieces:
        raise InputError(f"{name} has no molecules; give at least one SMILES")
    molecules = GraphSet.concat(pieces, name)
    if y is not None:
        molecules = molecules.with_y(y)
    return molecules if ids is None else replace(molecules, ids=np.asarray(ids, dtype=np.str_))


def read_molecules(
    given: Iterable[Any],
    name: str = "molecules",
    parse: Parse = parse_smiles,
    groups: bool = False,
    standardize: str = DEFAULT,
) -> tuple[GraphSet | None, list[Problem]]:
    """Return the readable molecules as graphs (None if there are none), and the problems of the others.

    Args:
        parse: reads one item of ``given``; the default reads SMILES and RDKit molecules.
        groups: add the column ``groups``, the canonical SMILES, to the table; equal for equal graphs.
        standardize: as in `from_smiles`.
    """
    check_mode(standardize)
    rows = enumerate(given)
    pieces: list[GraphSet] = []
    problems: list[Problem] = []
    while block := list(islice(rows, MOLECULES_AT_ONCE)):
        forms, texts, unusable = _parse(block, parse, standardize)
        problems += unusable
        if forms:
            molecules = [form.mol for form in forms]
            table = {"smiles": np.array(texts, dtype=np.str_), **standard_columns(forms, standardize)}
            if groups:
                table["groups"] = np.array([Chem.MolToSmiles(molecule, isomericSmiles=False) for molecule in molecules])
            pieces.append(_graphs_of(molecules, table, name))
    return (GraphSet.concat(pieces, name) if pieces else None), problems


def _parse(
    block: Iterable[tuple[int, Any]], parse: Parse, standardize: str
) -> tuple[list[Standardized], list[str], list[Problem]]:
    """Return the standard forms of the readable molecules, their texts, and the problems of the others."""
    forms: list[Standardized] = []
    texts: list[str] = []
    problems: list[Problem] = []
    with BlockLogs():
        for row, item in block:
            molecule, text = parse(item)
            if isinstance(molecule, str):
                problems.append(Problem(row, text[:60], molecule))
            elif not molecule.GetNumAtoms():
                problems.append(Problem(row, text[:60], "the molecule has no atoms"))
            else:
                forms.append(standard_form(molecule, text, standardize, repeats=isinstance(item, str) and item == text))
                texts.append(text)
    return forms, texts, problems


def canonical_smiles(graphs: GraphSet) -> NDArray[np.str_]:
    """Return the canonical SMILES of each molecule without stereochemistry and isotopes; equal for equal graphs.

    Args:
        graphs: molecules of `from_smiles` or of a file.

    Returns:
        ndarray of strings, shape (g,).

    Example:
        >>> canonical_smiles(from_smiles(["OCC", "CCO"])).tolist()
        ['CCO', 'CCO']
    """
    return np.array([Chem.MolToSmiles(to_mol(graph), isomericSmiles=False) for graph in graphs], dtype=np.str_)


def to_mol(graph: Graph) -> Mol:
    """Rebuild the molecule of a graph from its labels; atoms keep their numbers.

    Args:
        graph: a molecule of `from_smiles` or of a file.

    Returns:
        an RDKit ``Mol``.

    Example:
        >>> from rdkit import Chem
        >>> Chem.MolToSmiles(to_mol(from_smiles(["c1ccccc1O"])[0]))
        'Oc1ccccc1'
    """
    if graph.node_labels is None or (graph.edge_labels is None and len(graph.edges)):
        raise InputError("the labels of this graph are not atoms and bonds; create it with isonn.molecules.from_smiles")
    molecule = Chem.RWMol()
    atoms = [read_atom(label) for label in graph.node_labels.tolist()]
    drawn = np.zeros(graph.n, dtype=np.int64)  # hydrogens that are separate atoms
    for first, second in graph.edges.tolist():
        drawn[first] += atoms[second].number == 1
    for atom, explicit in zip(atoms, drawn.tolist(), strict=True):
        molecule.AddAtom(rdkit_atom(atom, atom.hydrogens - explicit))
    labels = [] if graph.edge_labels is None else graph.edge_labels.tolist()
    for (first, second), label in zip(graph.edges.tolist(), labels, strict=True):
        if first < second:
            molecule.AddBond(first, second, read_bond(label)[0])
    for bond in molecule.GetBonds():
        bond.SetIsAromatic(bond.GetBondType() == Chem.BondType.AROMATIC)
    result = molecule.GetMol()
    with BlockLogs():
        Chem.SanitizeMol(result, catchErrors=True)
    return result


def graph_of(molecule: Mol, standardize: str = "none") -> Graph:
    """Convert one molecule as it is.

    Args:
        molecule: the molecule.
        standardize: how it was standardised, such as that of the graph it was made from; models check it.

    Example:
        >>> from rdkit import Chem
        >>> str(graph_of(Chem.MolFromSmiles("OCC")).row["smiles"])
        'CCO'
    """
    table = {"smiles": np.array([Chem.MolToSmiles(molecule)]), "standardize": np.array([standardize])}
    return _graphs_of([molecule], table, "molecule")[0]


def rdkit_atom(atom: Atom, hydrogens: int) -> Chem.Atom:
    """Return RDKit's atom, with this number of hydrogens that are not atoms themselves."""
    built = Chem.Atom(atom.number)
    built.SetFormalCharge(atom.charge)
    built.SetIsAromatic(atom.aromatic)
    built.SetNoImplicit(True)
    built.SetNumExplicitHs(hydrogens)
    return built


def _graphs_of(molecules: list[Mol], table: dict[str, NDArray[Any]], name: str) -> GraphSet:
    """Convert molecules in one pass over atoms and bonds, with array operations for all at once."""
    from isonn.graphs.cycles import edges_on_cycles  # imports numba

    atoms: list[int] = []  # flat, because the garbage collector would scan a million tuples repeatedly
    sizes = [molecule.GetNumAtoms() for molecule in molecules]
    for molecule, n in zip(molecules, sizes, strict=True):
        for atom in map(molecule.GetAtomWithIdx, range(n)):
            atoms += atom.GetAtomicNum(), atom.GetIsAromatic(), atom.GetTotalNumHs(), atom.GetFormalCharge()
    columns = np.array(atoms, dtype=np.int64).reshape(-1, 4)
    owner, links = _bonds_of(molecules, sizes, columns[:, 0])
    first = np.concatenate([[0], np.cumsum(sizes)])[owner]
    ends = links[:, :2] + first[:, None]
    ring = edges_on_cycles(len(columns), ends)
    degree = np.bincount(ends.ravel(), minlength=len(columns))
    hydrogen = columns[:, 0] == 1  # total hydrogens as in SMARTS, including those that are atoms
    drawn = np.bincount(ends.ravel(), hydrogen[ends[:, ::-1].ravel()], minlength=len(columns)).astype(np.int64)
    in_ring = np.zeros(len(columns), dtype=np.int64)
    in_ring[ends[ring].ravel()] = 1
    rows = np.column_stack([columns[:, :2], columns[:, 2] + drawn, columns[:, 3], in_ring, degree])
    node_labels = atom_codes(rows)
    bond_labels = 2 * links[:, 2] + ring
    every_bond = [bond_code(kind, on) for kind in BONDS for on in (False, True)]
    return graphset_from_cells(
        np.concatenate([owner, owner]),
        np.concatenate([links[:, :2], links[:, 1::-1]]),
        sizes,
        edge_labels=np.concatenate([bond_labels, bond_labels]),
        node_labels=node_labels,
        node_label_names={label: read_atom(label).words for label in np.unique(node_labels).tolist()},
        edge_label_names={label: bond_words(label) for label in every_bond},
        table=table,
        kind="molecules",
        name=name,
    )


#: Up to this many atoms, the bonds of a molecule are read from its matrix of bond orders.
_MOST_IN_MATRIX = 200
#: Elements that RDKit gives no dative bonds, whose order is that of a single bond.
_WITHOUT_DATIVE = [1, 6, 7, 8, 9, 15, 16, 17, 35, 53]
#: The place in `BONDS` of twice the order of a bond: single, aromatic, double, triple; -1 for other orders.
_KIND = np.full(32, -1)
_KIND[[2, 3, 4, 6]] = [0, 3, 1, 2]


def _bonds_of(
    molecules: Sequence[Mol], sizes: Sequence[int], numbers: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the molecule of each bond, and its two atoms and its place in `BONDS`, sorted by molecule.

    The matrices of all molecules are read at once, which is faster than a look at every bond. A matrix
    does not tell dative from single bonds and has no bonds of order zero, so unusual molecules are read bond by bond.
    """
    widths = np.array(sizes, dtype=np.int64)
    odd = np.add.reduceat(~np.isin(numbers, _WITHOUT_DATIVE), np.cumsum(widths) - widths)
    small = np.flatnonzero((odd == 0) & (widths <= _MOST_IN_MATRIX))
    orders = [Chem.GetAdjacencyMatrix(molecules[i], useBO=True).ravel() for i in small.tolist()]
    flat = np.concatenate([np.zeros(0), *orders])
    cells = np.flatnonzero(flat)
    stops = np.cumsum(widths[small] ** 2)
    place = np.searchsorted(stops, cells, side="right")
    first, second = np.divmod(cells - (stops - widths[small] ** 2)[place], widths[small][place])
    links = np.column_stack([small[place], first, second, _KIND[(2 * flat[cells]).astype(np.int64)]])
    links = links[first < second]
    read = np.bincount(links[links[:, 3] >= 0, 0], minlength=len(molecules))
    others = np.flatnonzero(read != [molecule.GetNumBonds() for molecule in molecules]).tolist()
    bonds = [
        (i, bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), bond_code(bond.GetBondType(), False) // 2)
        for i in others
        for bond in molecules[i].GetBonds()
    ]
    added = np.array(bonds, dtype=np.int64).reshape(-1, 4)
    links = np.concatenate([links[~np.isin(links[:, 0], others)], added])
    links = links[np.argsort(links[:, 0], kind="stable")]
    return links[:, 0], links[:, 1:]


def scaffolds(graphs: GraphSet) -> NDArray[np.str_]:
    """Return the Bemis-Murcko scaffold of each molecule as SMILES without stereochemistry, shape (g,).

    All molecules without rings have the scaffold ``""``, so they form one group.

    Args:
        graphs: molecules of `from_smiles` or of a file.

    Returns:
        ndarray of strings, shape (g,): pass it as ``groups=`` to ``fit`` or to a splitter of scikit-learn.

    Example:
        >>> scaffolds(isonn.molecules.from_smiles(["Cc1ccccc1", "Oc1ccccc1", "CCO"])).tolist()
        ['c1ccccc1', 'c1ccccc1', '']
    """
    frames = [MurckoScaffold.GetScaffoldForMol(to_mol(graph)) for graph in graphs]
    return np.array([Chem.MolToSmiles(scaffold, isomericSmiles=False) for scaffold in frames], dtype=np.str_)
