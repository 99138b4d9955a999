"""`Encoder`: from graphs to standardised connections without the effects of confounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonn.aligned.layout import Layout
from isonn.confounds import Adjustment
from isonn.graphs.graph import GraphSet
from isonn.packing import Floats

#: Minimum number of training graphs in which a connection must be known to count.
MIN_KNOWN = 3


@dataclass(frozen=True, eq=False)
class Scaling:
    """Mean and spread of every connection over the training graphs.

    Attributes:
        mean, spread: shape (p,); a constant connection has infinite spread, so that it does not count.
        whole: one spread for all connections, for the ridge part, so that rare connections are not scaled up.
    """

    mean: Floats
    spread: Floats
    whole: float

    @classmethod
    def learn(cls, values: Floats, known: NDArray[np.bool_] | None) -> Scaling:
        """Learn from the known weights."""
        count = np.full(values.shape[1], len(values)) if known is None else known.sum(axis=0)
        there = values if known is None else np.where(known, values, 0.0)
        mean = there.sum(axis=0) / np.maximum(count, 1)
        off = values - mean if known is None else np.where(known, values - mean, 0.0)
        squares = np.einsum("gp,gp->p", off, off)
        variance = squares / np.maximum(count, 1)
        flat = (variance <= 1e-20 * np.maximum(mean**2, 1e-300)) | (count < MIN_KNOWN)
        whole = float(np.sqrt(squares[~flat].sum() / len(values))) if not flat.all() else 1.0
        return cls(mean, np.where(flat, np.inf, np.sqrt(variance)), whole)

    def standardised(self, values: Floats, known: NDArray[np.bool_] | None) -> Floats:
        """Return every connection with mean 0 and spread 1, 0 if missing; ``values`` are overwritten."""
        values -= self.mean
        values /= self.spread
        return values if known is None else np.where(known, values, 0.0)

    def raw_factor(self) -> Floats:
        """Return the factors from standardised to centred connections of mean squared norm 1, shape (p,)."""
        return np.where(np.isfinite(self.spread), self.spread, 0.0) / self.whole


@dataclass(frozen=True, eq=False)
class Encoder:
    """What is learned about connections before any target is looked at.

    Attributes:
        layout: regions and connections.
        adjustment: the effects of confounds and sites.
        scaling: mean and spread of each connection without them.
    """

    layout: Layout
    adjustment: Adjustment
    scaling: Scaling

    @classmethod
    def learn(
        cls, graphs: GraphSet, scale: str, source: NDArray[np.bool_], site: str | None, squared: Sequence[str]
    ) -> tuple[Encoder, Floats]:
        """Fit to training graphs and return their cells, shape (g, p).

        Args:
            graphs: the graphs with their confounds.
            scale: transformation of the weights; see `AlignedClassifier`.
            source: the graphs that the effects of confounds are learned from, shape (g,).
            site, squared: as in `Adjustment.learn`.
        """
        layout = Layout.learn(graphs, scale)
        values, known = layout.table(graphs)
        if known is not None:
            values = np.where(known, values, Scaling.learn(values, known).mean)
        adjustment, values = Adjustment.learn(graphs, values, site=site, squared=squared, source=source)
        scaling = Scaling.learn(values, known)
        return cls(layout, adjustment, scaling), scaling.standardised(values, known)

    def cells(self, graphs: GraphSet) -> Floats:
        """Return the standardised connections of graphs, shape (g, p)."""
        values, known = self.layout.table(graphs)
        return self.scaling.standardised(self.adjustment.apply(graphs, values), known)
