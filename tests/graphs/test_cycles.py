"""Which edges lie on cycles."""

from __future__ import annotations

import networkx
import numpy as np

from isonn.graphs.cycles import edges_on_cycles


def test_edges_on_cycles_are_those_that_are_no_bridges():
    generator = np.random.default_rng(0)
    for _ in range(200):
        n = int(generator.integers(1, 30))
        ends = np.unique(np.sort(generator.integers(0, n, (int(generator.integers(0, 40)), 2)), axis=1), axis=0)
        ends = ends[ends[:, 0] < ends[:, 1]]
        bridges = set(networkx.bridges(networkx.Graph(ends.tolist())))
        expected = [(a, b) not in bridges and (b, a) not in bridges for a, b in ends.tolist()]
        assert edges_on_cycles(n, ends).tolist() == expected
