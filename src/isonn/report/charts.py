"""Small charts as SVG, coloured by the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

#: Maximum number of dots of a scatter plot.
_DOTS = 2000


def scatter(
    across: Sequence[float],
    up: Sequence[float],
    title: str,
    x_name: str,
    y_name: str,
    diagonal: bool = False,
    logarithmic: bool = False,
) -> str:
    """Draw a dot per pair of numbers, with the diagonal (both axes alike) or the line at 0 (at 1 on log axes).

    Args:
        across, up: the numbers; positive on log axes.
        title: what a screen reader says.
        x_name, y_name: the names of the axes.
        diagonal: draw the line of equal numbers.
        logarithmic: both axes have a logarithmic scale.
    """
    points = list(zip(across, up, strict=True))[:_DOTS]
    if not points:
        return ""
    every = [value for point in points for value in point]
    level, scale = (1.0, _LogAxis) if logarithmic else (0.0, _Axis)
    wide, high = (every, every) if diagonal else ([a for a, _ in points], [b for _, b in points] + [level])
    x, y = scale(min(wide), max(wide), 44, 350), scale(min(high), max(high), 210, 20)
    parts = [_open("chart scatter", 360, 250, title), *_grid(x, y, x_name, x.ticks)]
    ends = ((min(wide), min(wide)), (max(wide), max(wide))) if diagonal else ((min(wide), level), (max(wide), level))
    parts.append(f'<path class="line" d="M{"L".join(f"{x(a):.1f} {y(b):.1f}" for a, b in ends)}"/>')
    parts += [f'<circle class="small" cx="{x(a):.1f}" cy="{y(b):.1f}" r="2.5"/>' for a, b in points]
    parts.append(f'<text class="tick start" x="44" y="12">{escape(y_name)}</text>')
    return "".join([*parts, "</svg>"])


#: Decades of a log axis from which on only powers of ten are marked, and the most of these.
_DECADES, _TICKS = 2.5, 7


class _Axis:
    """Scale from values to pixels, with round ticks."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        margin = 0.04 * (high - low) or max(1.0, 0.05 * abs(high))
        step = _step(high - low + 2 * margin)
        low, high = low - margin if low < 0 else max(0.0, low - margin), high + margin
        self.ticks = [round(i * step, 10) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value: float) -> float:
        value = min(max(value, self.low), self.high)
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


class _LogAxis(_Axis):
    """Scale from positive values to pixels by their logarithm, with ticks at powers of ten, or at 1, 2 and 5."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        margin = 0.04 * math.log10(high / low) or 0.3
        first, last = math.log10(low) - margin, math.log10(high) + margin
        self.low, self.high, self.start, self.end = first, last, start, end
        steps = (1,) if last - first > _DECADES else (1, 2, 5)
        step = max(1, math.ceil((last - first) / _TICKS))
        powers = range(math.floor(first), math.ceil(last), step)
        ticks = [factor * 10.0**power for power in powers for factor in steps]
        self.ticks = [tick for tick in ticks if first <= math.log10(tick) <= last]

    def __call__(self, value: float) -> float:
        return super().__call__(math.log10(value))


def _grid(x: _Axis, y: _Axis, across: str, steps: Sequence[float]) -> Iterable[str]:
    for tick in y.ticks:
        yield f'<path class="grid" d="M40 {y(tick):.1f}H356"/>'
        yield f'<text class="tick row" x="36" y="{y(tick) + 4:.1f}">{tick:g}</text>'
    for step in steps:
        yield f'<text class="tick" x="{x(step):.1f}" y="228">{step:g}</text>'
    yield f'<text class="tick" x="200" y="246">{escape(across)}</text>'


def _open(name: str, width: int, height: int, title: str) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg class="{name}" role="img" {size}><title>{escape(title)}</title>'


def _step(span: float) -> float:
    raw = span / 6
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
