"""The matches of a subgraph model in one graph: every template in every connected subgraph, and what it adds."""

from __future__ import annotations

import copy

import numpy as np
import torch
from numpy.typing import NDArray

from isonn.data.graphs import Graph, IntArray
from isonn.estimators.encoding import Encoding
from isonn.explain.matched import MatchedGraph, Occurrences
from isonn.explain.pooled import PooledMatches
from isonn.matching.canonical import canonical_regions
from isonn.matching.exact import exact_flat_winners
from isonn.matching.permutations import permutations
from isonn.matching.subgraph_bank import CodedGraphs, cut_graph, edge_numbers, region_codes
from isonn.nn.pooled import PooledTemplates
from isonn.nn.subgraph_model import SubgraphModel
from isonn.template import Template


def subgraph_matches(
    graph: Graph,
    coded: CodedGraphs,
    encoding: Encoding,
    sizes: list[tuple[int, int]],
    model: SubgraphModel,
    templates: list[Template],
    limit: int,
    seed: int,
) -> MatchedGraph:
    """Match one graph, keeping which nodes every subgraph has.

    Args:
        coded: the graph, encoded, as a set of one.
        sizes: view and size of each group of templates.
        limit, seed: as in `bank_subgraphs`; the same subgraphs are sampled here.
    """
    numbers = edge_numbers(coded)
    widest = max(k for _, k in sizes)
    nodes, counts, regions, owners, distances, terms = [], [], [], [], [], []
    codes: list[tuple[int, int, bytes]] = []  # equal in two graphs exactly when the regions are, up to renumbering
    orders: list[IntArray] = []
    first_region = first_template = 0
    for (view, k), group in zip(sizes, model.groups, strict=True):
        assert isinstance(group, PooledTemplates)
        cut = cut_graph(coded, 0, k, limit, seed)
        raw = region_codes(cut.nodes, numbers, coded.views[view])
        vectors = torch.from_numpy(encoding.vectors(view, raw, k)).to(group.templates.device)
        with torch.no_grad():
            distance = group.distances(vectors)
            term = group.terms(distance).cpu().double().numpy()
            weights = (group.log_weight / 2).exp()[group.kinds]
            winners = exact_flat_winners(group.templates * weights, vectors * weights, group.layout)
        if cut.weights is not None:
            term *= cut.weights[:, None, None]
        w, c = distance.shape
        nodes.append(np.pad(cut.nodes, ((0, 0), (0, widest - k)), constant_values=-1))
        codes += [(view, k, row.tobytes()) for row in canonical_regions(raw, k)] if w else []
        counts.append(np.ones(w) if cut.weights is None else cut.weights)
        regions.append(np.repeat(first_region + np.arange(w), c))
        owners.append(np.tile(first_template + np.arange(c), w))
        distances.append(distance.cpu().double().numpy().ravel())
        terms.append(term.reshape(w * c, term.shape[2]))
        # node a of the region is node p[a] of the template, so template node j is at the place where p is j
        orders += list(permutations(k).numpy()[winners.cpu().numpy().ravel()].argsort(axis=1)) if w else []
        first_region, first_template = first_region + w, first_template + c
    head = copy.deepcopy(model).cpu().double().eval()

    def logits_of(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        with torch.inference_mode():
            return head.logits(torch.from_numpy(sums)).numpy()

    return PooledMatches(
        graph,
        templates,
        Occurrences(
            np.concatenate(nodes), None, np.concatenate(regions), np.concatenate(owners), np.concatenate(distances)
        ),
        np.concatenate(terms),
        codes,
        logits_of,
        lambda row: orders[row],
        np.concatenate(counts),
    )
