"""When to stop early: a small state machine fed one loss per epoch."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass
class EarlyStopping:
    """Stop once the loss has not fallen below its best for ``patience`` epochs.

    Example:
        >>> stopping = EarlyStopping(patience=2)
        >>> [stopping.update(loss) for loss in (3.0, 2.0, 2.5, 2.1)]
        [False, False, False, True]
    """

    patience: int
    best: float = math.inf
    waited: int = 0

    def update(self, loss: float) -> bool:
        """Take the loss of one more epoch; True means stop."""
        if loss < self.best:
            self.best, self.waited = loss, 0
        else:
            self.waited += 1
        return self.waited >= self.patience

    def replay(self, losses: Iterable[float]) -> bool:
        """Take the losses of a run that is being resumed; True means it had stopped already."""
        stopped = False
        for loss in losses:
            stopped = self.update(loss)
        return stopped
