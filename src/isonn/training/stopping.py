"""When training ends before the last epoch: small state machines that read one loss per epoch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from isonn.errors import InputError
from isonn.params import check_count

#: The value of ``patience`` that selects `Settled`.
SETTLED = "settled"


@dataclass
class EarlyStopping:
    """Stop when the loss has not improved for ``patience`` epochs.

    Args:
        patience: number of epochs to wait for a lower loss.
        best, waited: the lowest loss so far, and the epochs since; leave them out.

    Example:
        >>> stopping = EarlyStopping(patience=2)
        >>> [stopping.update(loss) for loss in (3.0, 2.0, 2.5, 2.1)]
        [False, False, False, True]
    """

    patience: float
    best: float = math.inf
    waited: int = 0

    def update(self, loss: float) -> bool:
        """Add the loss of an epoch; return whether to stop."""
        if loss < self.best:
            self.best, self.waited = loss, 0
        else:
            self.waited += 1
        return self.waited >= self.patience


@dataclass
class Settled:
    """Stop when the loss has left its first value and no longer falls.

    The loss has settled when its lowest value lies below 90 % of its first value, and has fallen by less than 0.01 (or
    1 % of the first value, if that is less) in the last 25 epochs. A network that stays at its first loss never
    settles, so that a long plateau at the start is not taken for the end.

    Args:
        window: number of epochs without a fall.
        left: share of the first loss below which the loss has to get.
        fall: smallest decrease that counts.
        first, best, mark, waited: the state of the rule; leave them out.

    Example:
        >>> rule = Settled(window=2)
        >>> [rule.update(loss) for loss in (0.7, 0.69, 0.69, 0.3, 0.2, 0.199, 0.198)]
        [False, False, False, False, False, False, True]
    """

    window: int = 25
    left: float = 0.9
    fall: float = 0.01
    first: float | None = None
    best: float = math.inf
    mark: float = math.inf  # the lowest loss when the current window began
    waited: int = 0

    def update(self, loss: float) -> bool:
        """Add the loss of an epoch; return whether to stop."""
        if self.first is None:
            self.first = loss
        self.best = min(self.best, loss)
        if self.best <= self.mark - self.fall * min(1.0, self.first):
            self.mark, self.waited = self.best, 0
        else:
            self.waited += 1
        return self.waited >= self.window and self.best < self.left * self.first


def stopping_rule(patience: int | str | None) -> EarlyStopping | Settled:
    """Return the rule that a ``patience`` argument selects: a number of epochs, "settled", or None for no rule.

    Example:
        >>> stopping_rule("settled")
        Settled(window=25, left=0.9, fall=0.01, first=None, best=inf, mark=inf, waited=0)
    """
    if patience is None:
        return EarlyStopping(math.inf)
    if patience == SETTLED:
        return Settled()
    if isinstance(patience, str):
        raise InputError(f"patience={patience!r} is unknown; use a number of epochs, {SETTLED!r} or None")
    check_count("patience", patience)
    return EarlyStopping(int(patience))
