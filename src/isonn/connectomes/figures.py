"""Figures of findings for a paper: matrix, glass brain, chord of networks, and values by class.

Red is positive and blue negative, as in nilearn.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isonn.connectomes.atlas import Atlas
from isonn.connectomes.findings import Findings, Subnetwork
from isonn.errors import InputError, naming_the_extra
from isonn.files import atomic_file
from isonn.report import plots
from isonn.report.draw import shortened
from isonn.report.words import short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = "RdBu_r"
RED, BLUE, INK, DOTS = "#b2182b", "#2166ac", "#30363d", "#8b949e"
#: Connections below this share of the strongest are not drawn in the brain and the chord.
FAINT = 0.1
#: More regions than this are not named at the matrix; their networks are.
NAMED = 64
FORMATS = ("svg", "pdf", "png")
#: Most sub-networks in the figure of values.
MOST_SETS = 6
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.linewidth": 0.6,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "svg.hashsalt": "isonn",
}


def save_figures(result: Findings, folder: str | Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write every figure of some findings to a folder, as SVG, PDF and PNG of 300 dpi; return the files.

    Args:
        result: findings of a model or a subject.
        folder: is created if needed; files are overwritten.
        formats: some of "svg", "pdf" and "png".

    Returns:
        the files that were written.

    Example:
        >>> from isonn.connectomes import findings, planted_connectomes
        >>> study = planted_connectomes(n_subjects=40, n_regions=12, effect=0.8, seed=1)
        >>> clf = isonn.AlignedClassifier(shuffles=9, random_state=0).fit(study.graphs)
        >>> [path.name for path in save_figures(findings(clf, data=study.graphs), tmp_path, ["svg"])]
        ['matrix.svg', 'values.svg']
    """
    unknown = [suffix for suffix in formats if suffix not in FORMATS]
    if unknown:
        raise InputError(f"format {unknown[0]!r} is unknown; use some of {', '.join(FORMATS)}")
    Path(folder).mkdir(parents=True, exist_ok=True)
    written = []
    for name, figure in draw_figures(result).items():
        for suffix in formats:
            path = Path(folder) / f"{name}.{suffix}"
            with atomic_file(path) as temporary:
                temporary.write_bytes(rendered(figure, suffix))
            written.append(path)
    return written


def draw_figures(result: Findings) -> dict[str, Figure]:
    """Return the figures that the findings allow, by name: matrix, brain, chord, values."""
    with naming_the_extra("drawing figures"):
        import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figures = {"matrix": matrix_figure(result.weights, result.atlas or Atlas(result.names), _unit(result))}
        if result.connections and result.atlas is not None and result.atlas.coordinates is not None:
            figures["brain"] = brain_figure(result, result.atlas)
        if result.connections and result.atlas is not None and result.atlas.networks is not None:
            figures["chord"] = chord_figure(result, result.atlas)
        if result.values is not None and result.subnetworks:
            figures["values"] = values_figure(result.shortened())
    return figures


def rendered(figure: Figure, suffix: str) -> bytes:
    """Return a figure as a file, in the style of these figures."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        return plots.rendered(figure, suffix, dpi=300, bbox_inches="tight")


def write_pdf(result: Findings, path: Path) -> None:
    """Write all figures as the pages of one PDF."""
    import matplotlib as mpl
    from matplotlib.backends.backend_pdf import PdfPages

    facts = {"CreationDate": None, "Title": result.about}
    with atomic_file(path) as temporary, mpl.rc_context(STYLE), PdfPages(temporary, metadata=facts) as pages:
        for figure in draw_figures(result).values():
            pages.savefig(figure, bbox_inches="tight")


def matrix_figure(weights: NDArray[np.float64], atlas: Atlas, label: str = "contribution of one deviation") -> Figure:
    """Draw the matrix ordered by network, with brackets for networks and a colour bar."""
    figure, axes = _figure(6.3, 5.4)
    order = atlas.order
    largest = float(np.abs(weights).max(initial=0.0)) or 1.0
    image = axes.imshow(
        weights[np.ix_(order, order)], cmap=COLOURS, vmin=-largest, vmax=largest, interpolation="nearest"
    )
    bar = figure.colorbar(image, ax=axes, fraction=0.04, pad=0.03)
    bar.set_label(label)
    bar.outline.set_linewidth(0.4)
    axes.set_xticks([])
    axes.set_yticks([])
    names, depth = short_names(atlas.names.tolist()), 0.0
    if len(names) <= NAMED:
        size = max(3.5, min(7.0, 330 / len(names)))
        axes.set_yticks(range(len(names)), [_cut(names[i]) for i in order], fontsize=size)
        axes.set_xticks(range(len(names)), [_cut(names[i]) for i in order], fontsize=size, rotation=90)
        axes.tick_params(length=0, pad=1)
        depth = 0.012 * size / 6 * max(len(_cut(name)) for name in names)
    if atlas.networks is not None:
        _brackets(axes, atlas.networks[order], depth)
    return figure


def _brackets(axes: Axes, networks: NDArray[np.str_], depth: float) -> None:
    """Draw a bracket with its name at the left of each network, and lines between networks."""
    n = len(networks)
    ends = [*(np.flatnonzero(networks[1:] != networks[:-1]) + 1).tolist(), n]
    start, at, step = 0, -0.02 - depth, 0.012
    across = axes.get_yaxis_transform()
    for end in ends:
        if end < n:
            axes.axhline(end - 0.5, color=INK, linewidth=0.4)
            axes.axvline(end - 0.5, color=INK, linewidth=0.4)
        top, bottom = start - 0.5 + 0.15, end - 0.5 - 0.15
        axes.plot(
            [at, at - step, at - step, at],
            [top, top, bottom, bottom],
            color=INK,
            linewidth=0.8,
            transform=across,
            clip_on=False,
        )
        place = {"transform": across, "ha": "right", "va": "center", "fontsize": 8 if end - start > n / 40 else 6}
        axes.text(at - 2 * step, (top + bottom) / 2, _cut(str(networks[start])), **place)  # type: ignore[arg-type]
        start = end
    axes.set_xlim(-0.5, n - 0.5)
    axes.set_ylim(n - 0.5, -0.5)


def brain_figure(result: Findings, atlas: Atlas) -> Figure:
    """Draw the strongest connections in nilearn's glass brain."""
    with naming_the_extra("the glass brain"):
        from nilearn import plotting
    assert atlas.coordinates is not None
    shown = strongest_matrix(result)
    used = np.flatnonzero(shown.any(axis=0))
    figure, axes = _figure(7.5, 3.0)
    axes.set_axis_off()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plotting.plot_connectome(
            shown[np.ix_(used, used)],
            atlas.coordinates[used],
            edge_cmap=COLOURS,
            node_color=INK,
            node_size=12,
            edge_kwargs={"linewidth": 1.5},
            colorbar=True,
            figure=figure,
            axes=(0.0, 0.0, 0.97, 1.0),
        )
    figure.text(0.985, 0.5, _unit(result), rotation=90, ha="center", va="center", fontsize=8)
    return figure


def chord_figure(result: Findings, atlas: Atlas) -> Figure:
    """Draw networks as arcs of a circle, and between them their strongest connections as ribbons.

    A ribbon is as wide as the sum of the absolute weights of its connections; red ribbons sum to a positive number.
    """
    assert atlas.networks is not None
    shown = strongest_matrix(result)
    names = atlas.network_names
    code = np.array([names.index(name) for name in atlas.networks.tolist()])
    a, b = np.triu_indices(len(shown), 1)
    size, total = np.zeros((len(names), len(names))), np.zeros((len(names), len(names)))
    np.add.at(size, (code[a], code[b]), np.abs(shown[a, b]))
    np.add.at(total, (code[a], code[b]), shown[a, b])
    size, total = size + size.T, total + total.T
    size[np.diag_indices(len(names))] /= 2
    figure, axes = _figure(5.0, 5.0)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_xlim(-1.5, 1.5)
    axes.set_ylim(-1.3, 1.3)
    # every network gets a tenth of an equal share, so that its name has room
    room = size.sum(axis=1) + 0.1 * max(size.sum(), 1e-12) / len(names)
    gap = 0.03 if len(names) > 1 else 0.0
    widths = room / room.sum() * (2 * np.pi - gap * len(names))
    starts = np.concatenate([[0.0], np.cumsum(widths + gap)[:-1]]) + np.pi / 2
    scale, used = widths / room, np.zeros(len(names))
    for i, name in enumerate(names):
        _arc(axes, starts[i], widths[i], name)
    pairs = [(i, j) for i in range(len(names)) for j in range(i, len(names)) if size[i, j] > 0]
    for i, j in sorted(pairs, key=lambda pair: size[pair]):
        ends = []
        for network in (i, j):
            begin = starts[network] + used[network]
            used[network] += size[i, j] * scale[network] / (2 if i == j else 1)
            ends.append((begin, starts[network] + used[network]))
        _ribbon(axes, ends, RED if total[i, j] > 0 else BLUE)
    lowest = min(text.get_window_extent().y0 for text in axes.texts)
    below = float(axes.transData.inverted().transform((0, lowest))[1]) - 0.08
    legend = f"width: sum of |{_unit(result)}|\nred: positive in sum, blue: negative"
    axes.text(0, min(below, -1.1), legend, ha="center", va="top", fontsize=7)
    return figure


def _arc(axes: Axes, start: float, width: float, name: str) -> None:
    from matplotlib.patches import Wedge

    axes.add_patch(Wedge((0, 0), 1.0, np.degrees(start), np.degrees(start + width), width=0.05, color=INK, linewidth=0))
    middle = start + width / 2
    x, y = 1.06 * np.cos(middle), 1.06 * np.sin(middle)
    turn = np.degrees(middle) % 360
    left = 90 < turn < 270
    axes.text(
        float(x),
        float(y),
        _cut(name),
        rotation=float(turn - 180 if left else turn),
        rotation_mode="anchor",
        ha="right" if left else "left",
        va="center",
        fontsize=8,
    )


def _ribbon(axes: Axes, ends: Sequence[tuple[float, float]], colour: str) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    def on_circle(angle: float) -> tuple[float, float]:
        return 0.94 * float(np.cos(angle)), 0.94 * float(np.sin(angle))

    (a, b), (c, d) = ends
    points, codes = [on_circle(a)], [Outline.MOVETO]
    for begin, end, then in ((a, b, c), (c, d, a)):
        inner = [on_circle(angle) for angle in np.linspace(begin, end, 8)[1:]]
        points += [*inner, (0.0, 0.0), on_circle(then)]
        codes += [Outline.LINETO] * len(inner) + [Outline.CURVE3, Outline.CURVE3]
    outline = Outline(points, codes)
    axes.add_patch(PathPatch(outline, facecolor=colour, edgecolor="white", linewidth=0.3, alpha=0.75))


def values_figure(result: Findings) -> Figure:
    """Draw the mean connection of each sub-network in each graph, by class or against the number to predict."""
    assert result.values is not None
    assert result.groups is not None
    sets = result.subnetworks[:MOST_SETS]
    columns = min(3, len(sets))
    rows = -(-len(sets) // columns)
    figure, _ = _figure(2.4 * columns + 0.4, 2.5 * rows, axes=False)
    draw = np.random.default_rng(0)
    for number, subnetwork in enumerate(sets):
        axes = figure.add_subplot(rows, columns, number + 1)
        values = result.values[:, number]
        if result.groups.dtype.kind in "fiu":
            axes.scatter(result.groups, values, s=7, color=INK, alpha=0.6, linewidths=0)
            finite = np.isfinite(result.groups.astype(float))
            slope, start = np.polyfit(result.groups[finite].astype(float), values[finite], 1)
            ends = np.array([np.nanmin(result.groups), np.nanmax(result.groups)])
            axes.plot(ends, slope * ends + start, color=RED if slope > 0 else BLUE, linewidth=1.2)
            axes.set_xlabel(_cut(result.target))
        else:
            _strips(axes, result.groups, values, draw)
        if number % columns == 0:
            axes.set_ylabel("mean connection")
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_title(_title(subnetwork), fontsize=6)
    figure.tight_layout()
    return figure


def _strips(axes: Axes, groups: NDArray[Any], values: NDArray[np.float64], draw: np.random.Generator) -> None:
    names = np.unique(groups).tolist()
    for place, name in enumerate(names):
        group = values[groups == name]
        axes.scatter(place + draw.uniform(-0.18, 0.18, len(group)), group, s=7, color=DOTS, linewidths=0)
        error = group.std(ddof=1) / np.sqrt(len(group)) * 1.96 if len(group) > 1 else 0.0
        axes.errorbar(place, group.mean(), error, color="black", marker="_", markersize=18, capsize=3, linewidth=1.4)
    axes.set_xticks(range(len(names)), [_cut(str(name), 14) for name in names])
    axes.set_xlim(-0.6, len(names) - 0.4)


def strongest_matrix(result: Findings) -> NDArray[np.float64]:
    """Return the weights of the listed connections that are not faint, both ways, shape (n, n)."""
    place = {name: i for i, name in enumerate(result.names)}
    shown = np.zeros_like(result.weights)
    largest = max((abs(line.weight) for line in result.connections), default=0.0)
    for line in result.connections:
        if abs(line.weight) >= FAINT * largest:
            a, b = place[line.region_1], place[line.region_2]
            shown[a, b] = shown[b, a] = line.weight
    return shown


def _figure(width: float, height: float, axes: bool = True) -> tuple[Figure, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot(1, 1, 1) if axes else None


def _unit(result: Findings) -> str:
    """Return what the weights of the findings are."""
    return "contribution of one deviation" if result.effect_name else "contribution to the score"


def _title(subnetwork: Subnetwork) -> str:
    names = subnetwork.regions.split(" + ")
    lines = [_cut(name, 34) for name in names[:3]]
    lines += [f"and {len(names) - 3} more"] if len(names) > 3 else []
    if not np.isnan(subnetwork.p_value):
        lines.append(f"p = {subnetwork.p_value:.2g}")
    return "\n".join(lines)


def _cut(name: str, most: int = 24) -> str:
    return shortened(name.replace("$", r"\$"), most)  # matplotlib reads formulas between dollar signs
