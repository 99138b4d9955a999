"""Explanations of the aligned model: the contributions of sets of regions and of connections to the score.

The score is a sum over connections, so contributions add up exactly. The base is the score of the average training
graph, so a connection contributes if it is stronger or weaker than usual.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from isonn.aligned.layout import Layout
from isonn.aligned.model import AlignedModel
from isonn.explain.matched import Logits, MatchedGraph, Occurrences, Regions
from isonn.explain.template import Template
from isonn.explain.text import connections
from isonn.explain.units import REST, Unit
from isonn.graphs.graph import Graph, GraphSet
from isonn.packing import Floats, IntArray
from isonn.targets import Target

#: Single connections are units if they contribute at least this share of the strongest unit; at most so many.
LEAST, CONNECTIONS = 0.1, 20


class AlignedMatches(MatchedGraph):
    """The sets of regions and the connections of one graph.

    A match is a set of regions that the graph has, or a single connection. A set with a missing region is not a match;
    its other connections contribute on their own.

    Args:
        graphs: the graph, as a set of one.
        templates: the sets, then one template for a single connection.
        model: the fitted model.
        target: the target.
    """

    def __init__(self, graphs: GraphSet, templates: Sequence[Template], model: AlignedModel, target: Target) -> None:
        self.templates, self.target, self._intercept = templates, target, model.intercept
        self.undirected, self._sets = not model.layout.directed, len(model.sets)
        cells, region = model.encoder.cells(graphs)[0], model.layout.region_of_node(graphs)
        self.graph = _named(graphs[0], region, model.layout)
        node_of_region = np.full(model.layout.n, -1, dtype=np.int64)  # -1: the graph lacks the region
        node_of_region[region[region >= 0]] = np.flatnonzero(region >= 0)
        single = model.connections * cells  # contribution of every connection on its own, (outputs, p)
        worth = single.copy()  # including its part in sets
        matched, of_sets, distances = [], [], []
        for number, regions in enumerate(model.sets):
            inside = model.layout.inside(regions.nodes)
            added = model.coef[:, number, None] * (regions.weight * cells[inside])
            np.add.at(worth.T, inside, added.T)
            if (node_of_region[list(regions.nodes)] >= 0).all():
                matched.append(number)
                of_sets.append(added.sum(axis=1))
                distances.append(float(((regions.sign - cells[inside]) ** 2).sum()))
            else:
                np.add.at(single.T, inside, added.T)
        here = node_of_region[model.layout.pairs]  # (p, 2)
        present = (here >= 0).all(axis=1)
        held = np.flatnonzero(present & (single != 0).any(axis=0))
        self._nodes, self._cells = here[present], worth[:, present]
        covered = [model.layout.inside(model.sets[number].nodes) for number in matched]
        self._covered = [*covered, *held[:, None]]  # the connections of every match
        self._worth = worth
        outputs = len(model.intercept)
        self._added = np.concatenate([np.array(of_sets).reshape(len(matched), outputs), single[:, held].T])
        k = max([len(model.sets[number].nodes) for number in matched], default=2)
        nodes = np.full((len(matched) + len(held), max(k, 2)), -1, dtype=np.int64)
        for row, number in enumerate(matched):
            members = node_of_region[list(model.sets[number].nodes)]
            nodes[row, : len(members)] = members
        nodes[len(matched) :, :2] = here[held]
        template = np.concatenate([np.array(matched, dtype=np.int64), np.full(len(held), self._sets)])
        distance = np.concatenate([np.array(distances), (1 - np.abs(cells[held])) ** 2])
        self.occurrences = Occurrences(nodes, None, np.arange(len(nodes)), template, distance)

    exact = True

    def logits(self) -> Logits:
        """Return the outputs for the graph as it is."""
        return np.asarray(self._intercept + self._added.sum(axis=0))

    def base(self, column: int) -> float:
        """Return the score of the average training graph."""
        return float(self.target.margin(self._intercept, column))

    def logits_without(self, rows: IntArray) -> Logits:
        """Return the outputs if the connections of these matches are average, also in other sets."""
        covered = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(self._covered[row] for row in rows)]))
        return np.asarray(self.logits() - self._worth[:, covered].sum(axis=1))

    def contributions(self, column: int) -> tuple[IntArray, Floats]:
        """Return the contribution of each match."""
        return np.arange(len(self._added)), self._margins(self._added, column)

    def region_contributions(self, column: int, rows: IntArray, contributions: Floats) -> Regions:
        """Return every connection with its full contribution, on its own and as part of sets."""
        return Regions(self._nodes[:, :1], self._nodes[:, 1:], self._margins(self._cells.T, column))

    def _margins(self, added: Floats, column: int) -> Floats:
        """Return what changes of all outputs add to the margin of one, shape (rows,)."""
        return self.target.margin(added, column) - self.target.margin(np.zeros(len(self._intercept)), column)

    def units(self, column: int, importance: Floats) -> list[Unit]:
        """Return the sets of regions, the strongest single connections, and the rest."""
        rows, contributions = self.contributions(column)
        single = self.occurrences.template[rows] >= self._sets
        worth = np.where(single, np.abs(contributions), 0.0)
        least = LEAST * float(np.abs(contributions).max(initial=0.0))
        strongest = np.argsort(-worth, kind="stable")[:CONNECTIONS]
        listed = [*np.flatnonzero(~single).tolist(), *strongest[worth[strongest] > least].tolist()]
        rest = np.setdiff1d(np.arange(len(rows)), listed)
        units = []
        for row in listed:
            nodes = self.occurrences.nodes[rows[row]]
            members = tuple(sorted(nodes[nodes >= 0].tolist()))
            kind = "connection" if single[row] else "set"
            name = connections([self._region_name(node) for node in members])
            units.append(Unit(name, kind, members, float(contributions[row]), (int(rows[row]),)))
        if len(rest):
            worth_of_rest = float(contributions[rest].sum())
            units.append(Unit("all other connections", REST, (), worth_of_rest, tuple(rows[rest].tolist())))
        return sorted(units, key=lambda unit: -abs(unit.contribution))

    def _region_name(self, node: int) -> str:
        return str(node if self.graph.node_names is None else self.graph.node_names[node])

    def order(self, row: int) -> IntArray | None:
        """Return the position in the set of each template node."""
        return np.arange(self.templates[int(self.occurrences.template[row])].k)


def _named(graph: Graph, region: IntArray, layout: Layout) -> Graph:
    """Return the graph with the names of its regions, if nodes are known by label or had names in training."""
    if graph.node_names is not None or layout.align == "order":
        return graph
    names = [layout.names[number] if number >= 0 else "unknown region" for number in region.tolist()]
    return replace(graph, node_names=np.array(names, dtype=np.str_))
