"""The figures of an experiment, as PNG and SVG: accuracy or time by a setting, loss by epoch."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isonn.errors import naming_the_extra
from isonn.experiments.rows import Row
from isonn.experiments.spec import Sweep
from isonn.files import atomic_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours that are distinct for colour-blind readers (Okabe and Ito), and marks for print without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKS = "os^Dv<P"
_STYLE: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "font.size": 10,
    "axes.titlesize": 11,
    "svg.hashsalt": "isonn",  # names inside the file are drawn from it: the same plot is the same file
    "svg.fonttype": "none",
}


def plot_sweep(sweep: Sweep, rows: Sequence[Row], folder: Path) -> Path | None:
    """Draw a figure into ``folder`` as ``<name>.png`` and ``<name>.svg``; the same rows give the same bytes.

    Returns:
        The PNG file, or None if there is nothing to draw.
    """
    drawn = [row for row in rows if _can_be_drawn(sweep, row)]
    if not drawn:
        return None
    with naming_the_extra("a plot"):
        import matplotlib as mpl
    with mpl.rc_context(_STYLE):
        figure = _draw(sweep, drawn)
        for kind in ("svg", "png"):
            with atomic_file(folder / f"{sweep.name}.{kind}") as temporary:
                temporary.write_bytes(rendered(figure, kind, dpi=144))
    return folder / f"{sweep.name}.png"


def rendered(figure: Figure, kind: str, **options: Any) -> bytes:
    """Return a figure as an SVG, PDF or PNG file without date and matplotlib version, so that equal figures are equal.

    Args:
        options: as of ``Figure.savefig``.
    """
    metadata: dict[str, Any] = {
        "svg": {"Date": None, "Creator": "isonn"},
        "pdf": {"CreationDate": None},
        "png": {"Software": "isonn"},
    }
    content = io.BytesIO()
    figure.savefig(content, format=kind, metadata=metadata[kind], **options)
    return content.getvalue()


def _draw(sweep: Sweep, rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure  # not pyplot, which needs a window and keeps state

    datasets = list(dict.fromkeys(row.dataset for row in rows))
    together = sweep.measure == "seconds"  # times are compared across datasets, accuracies are not
    panels = 1 if together else len(datasets)
    columns = min(panels, 3)
    lines = math.ceil(panels / columns)
    figure = Figure(figsize=(6.4 if panels == 1 else 3.5 * columns, 4.2 if panels == 1 else 0.5 + 2.8 * lines))
    figure.set_layout_engine("constrained")
    figure.suptitle(sweep.title)
    axes = figure.subplots(lines, columns, squeeze=False).flat
    for i, axis in enumerate(axes):
        if i >= panels:
            axis.set_visible(False)
        elif together:
            _times(axis, sweep, rows)
        elif sweep.measure == "loss":
            _losses(axis, sweep, [row for row in rows if row.dataset == datasets[i]])
        else:
            _accuracies(axis, sweep, [row for row in rows if row.dataset == datasets[i]])
    return figure


def _accuracies(axis: Axes, sweep: Sweep, rows: Sequence[Row]) -> None:
    for style, (name, of_line) in enumerate(_lines(rows, ("method",)).items()):
        x = [_x(sweep, row) for row in of_line]
        means = [row.accuracy.mean for row in of_line if row.accuracy is not None]
        sds = [math.nan if row.accuracy.sd is None else row.accuracy.sd for row in of_line if row.accuracy is not None]
        look = _look(style)
        axis.errorbar(x, means, yerr=sds, capsize=3, label=name, **look)
        for row, at in zip(of_line, x, strict=True):
            values = [] if row.accuracy is None else list(row.accuracy.by_seed.values())
            axis.plot([at] * len(values), values, ".", color=look["color"], alpha=0.35, markersize=4)
    _paper(axis, sweep, rows[0].dataset, f"the paper's best {sweep.vary}")
    spread = ", mean ± sd" if any(row.seeds > 1 for row in rows) else ""  # one seed has none
    axis.set(title=_titled(rows), xlabel=sweep.vary, ylabel=f"accuracy (%){spread}")
    axis.set_xticks(sorted({_x(sweep, row) for row in rows}))
    axis.legend(frameon=False, fontsize=8)


def _losses(axis: Axes, sweep: Sweep, rows: Sequence[Row]) -> None:
    for style, (name, of_line) in enumerate(_lines(rows, ("method",)).items()):
        for row in of_line:
            loss = row.loss or ()
            axis.plot(range(1, len(loss) + 1), loss, color=_look(style)["color"], label=name)
            if row.settled is not None:
                axis.plot(row.settled, loss[row.settled - 1], "o", color=_look(style)["color"], label="settled")
    _paper(axis, sweep, rows[0].dataset, "the paper's epoch")
    axis.set(title=_titled(rows), xlabel="epoch", ylabel="training loss", ylim=(0, None))
    axis.legend(frameon=False, fontsize=8)


def _titled(rows: Sequence[Row]) -> str:
    """Return the dataset and the number of seeds."""
    seeds = sorted({row.seeds for row in rows if row.seeds})
    if not seeds:
        return rows[0].dataset
    number = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    return f"{rows[0].dataset}, {number} seed{'' if number == '1' else 's'}"


def _times(axis: Axes, sweep: Sweep, rows: Sequence[Row]) -> None:
    several = len({row.dataset for row in rows}) > 1
    key = ("dataset", "method") if several and len({row.method for row in rows}) > 1 else ("dataset",)
    for style, (name, of_line) in enumerate(_lines(rows, key if several else ("method",)).items()):
        axis.plot([_x(sweep, row) for row in of_line], [_seconds(row) for row in of_line], label=name, **_look(style))
    seconds = [_seconds(row) for row in rows]
    per_epoch = all("epochs" in row.settings for row in rows)
    axis.set(xlabel=sweep.vary, ylabel=f"seconds per {'epoch' if per_epoch else 'fit'}")
    if sweep.vary == "k" and max(seconds) > 10 * min(seconds) > 0:  # k! permutations
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter("{x:g}")
    else:
        axis.set_ylim(bottom=0)
    axis.set_xticks(sorted({_x(sweep, row) for row in rows}))
    axis.legend(frameon=False)


def _lines(rows: Sequence[Row], key: tuple[str, ...]) -> dict[str, list[Row]]:
    lines: dict[str, list[Row]] = {}
    for row in rows:
        lines.setdefault(", ".join(getattr(row, name) for name in key), []).append(row)
    return lines


def _look(number: int) -> dict[str, Any]:
    return {"color": COLOURS[number % len(COLOURS)], "marker": MARKS[number % len(MARKS)], "markersize": 5}


def _paper(axis: Axes, sweep: Sweep, dataset: str, label: str) -> None:
    if dataset in sweep.paper:
        axis.axvline(sweep.paper[dataset], color="#888888", linestyle="--", linewidth=1, label=label)


def _x(sweep: Sweep, row: Row) -> float:
    return float(row.settings[str(sweep.vary)])


def _seconds(row: Row) -> float:
    """Return the seconds of an epoch if the number of epochs is known, else of the fit."""
    return (row.fit_seconds or 0.0) / float(row.settings.get("epochs", 1))


def _can_be_drawn(sweep: Sweep, row: Row) -> bool:
    if sweep.measure == "loss":
        return row.loss is not None
    return (row.accuracy if sweep.measure == "accuracy" else row.fit_seconds) is not None
