"""What training did, epoch by epoch."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class History:
    """Loss and duration of every finished epoch.

    Attributes:
        loss: mean training loss of each epoch.
        seconds: wall-clock time of each epoch.
    """

    loss: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.loss)

    def add(self, loss: float, seconds: float) -> None:
        """Record one finished epoch."""
        self.loss.append(loss)
        self.seconds.append(seconds)
