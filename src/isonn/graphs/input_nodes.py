"""The numbers that nodes had in the input, for graphs from which some nodes were removed, such as counter-ions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isonn.errors import InputError
from isonn.graphs.graph import Graph
from isonn.packing import IntArray


def input_nodes(graph: Graph) -> IntArray:
    """Return the number that each node had in the input, shape (n,).

    Molecules without counter-ions or solvents have it in the column ``input_atoms`` of their table, as "1-4/5": nodes 1
    to 4 of 5. Other graphs have all their nodes.
    """
    ranges, _, total = str(graph.row.get("input_atoms", "")).partition("/")
    if not total:
        return np.arange(graph.n)
    bounds = [tuple(map(int, bound.split("-"))) for bound in ranges.split()]
    return np.concatenate([np.arange(first, last + 1) for first, last in bounds])


def on_input_nodes(graph: Graph, values: ArrayLike) -> NDArray[Any]:
    """Return values of nodes as values of the nodes of the input, with 0 for nodes that were removed.

    Args:
        graph: a graph.
        values: one value or row per node, such as ``explanation.node_importance``, shape (n, ...).

    Example:
        >>> molecule = isonn.molecules.from_smiles(["[Na+].CC(=O)[O-]"])[0]
        >>> on_input_nodes(molecule, [1.0, 2.0, 3.0, 4.0]).tolist()
        [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    given = np.asarray(values)
    if len(given) != graph.n:
        raise InputError(f"values has {len(given)} entries for {graph.n} atoms; give one per node of the graph")
    total = str(graph.row.get("input_atoms", "")).rpartition("/")[2]
    spread = np.zeros((int(total) if total else graph.n, *given.shape[1:]), dtype=given.dtype)
    spread[input_nodes(graph)] = given
    return spread
