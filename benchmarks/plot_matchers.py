"""The plot of time and agreement against k that docs/method.md shows."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

STYLE = {"exact": ("#1b6ca8", "o"), "assigned": ("#2e8b57", "s"), "fast": ("#c0562b", "^")}


def plot(curves: dict[str, dict[int, tuple]], path: Path) -> None:
    plt.rcParams["svg.hashsalt"] = "isonn"  # the same picture gives the same file
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), constrained_layout=True)
    for name, points in curves.items():
        colour, marker = STYLE[name]
        ks = sorted(points)
        left.plot(ks, [points[k][0] for k in ks], color=colour, marker=marker, label=name)
        known = [k for k in ks if points[k][1] is not None]
        right.plot(known, [points[k][1] for k in known], color=colour, marker=marker, label=name)
    left.set(yscale="log", xlabel="k (nodes per template)", ylabel="microseconds per region", title="time")
    right.set(
        xlabel="k (nodes per template)", ylabel="rank correlation with exact", title="agreement", ylim=(-0.3, 1.05)
    )
    left.set_xticks(range(2, 21, 2))
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.3)
    left.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
