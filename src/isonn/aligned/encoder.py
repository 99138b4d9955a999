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
class Encoder:
    """What is learned about connections before any target is looked at.

    Attributes:
        layout: regions and connections.
        adjustment: the effects of confounds and sites.
        mean, spread: of each connection without them, over the training graphs, shape (p,); a constant connection has
            infinite spread, so that it does not count.
        whole: one spread for all connections, for the ridge part, so that rare connections are not scaled up.
    """

    layout: Layout
    adjustment: Adjustment
    mean: Floats
    spread: Floats
    whole: float

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
        values, present = layout.table(graphs)
        if present is not None:
            values = np.where(present, values, _scaling(values, present)[0])
        adjustment, values = Adjustment.learn(graphs, values, site=site, squared=squared, source=source)
        encoder = cls(layout, adjustment, *_scaling(values, present))
        return encoder, encoder._standardised(values, present)

    def cells(self, graphs: GraphSet) -> Floats:
        """Return the standardised connections of graphs, shape (g, p)."""
        values, present = self.layout.table(graphs)
        return self._standardised(self.adjustment.apply(graphs, values), present)

    def raw_factor(self) -> Floats:
        """Return the factors from standardised to centred connections of mean squared norm 1, shape (p,)."""
        return np.where(np.isfinite(self.spread), self.spread, 0.0) / self.whole

    def _standardised(self, values: Floats, present: NDArray[np.bool_] | None) -> Floats:
        """Return every connection with mean 0 and spread 1, 0 if missing; ``values`` are overwritten."""
        values -= self.mean
        values /= self.spread
        return values if present is None else np.where(present, values, 0.0)


def _scaling(values: Floats, present: NDArray[np.bool_] | None) -> tuple[Floats, Floats, float]:
    """Return mean and spread of the connections that graphs have, and the spread of all; see `Encoder`."""
    count = np.full(values.shape[1], len(values)) if present is None else present.sum(axis=0)
    there = values if present is None else np.where(present, values, 0.0)
    mean = there.sum(axis=0) / np.maximum(count, 1)
    off = values - mean if present is None else np.where(present, values - mean, 0.0)
    squares = np.einsum("gp,gp->p", off, off)
    variance = squares / np.maximum(count, 1)
    flat = (variance <= 1e-20 * np.maximum(mean**2, 1e-300)) | (count < MIN_KNOWN)
    whole = float(np.sqrt(squares[~flat].sum() / len(values))) if not flat.all() else 1.0
    return mean, np.where(flat, np.inf, np.sqrt(variance)), whole
