"""Loss and duration of every finished epoch."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class History:
    """Loss and duration of every finished epoch.

    Attributes:
        loss: mean training loss of each epoch.
        seconds: wall-clock time of each epoch.

    Example:
        >>> history = History()
        >>> history.add(loss=0.7, seconds=1.5)
        >>> len(history), history.loss
        (1, [0.7])
    """

    loss: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.loss)

    def add(self, loss: float, seconds: float) -> None:
        """Record one finished epoch."""
        self.loss.append(loss)
        self.seconds.append(seconds)
