"""Templates of the paper's models: drawings and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from isonn.report.cases import Cases
from isonn.report.draw import draw_template
from isonn.report.page import Section

#: Maximum number of templates on a page, strongest first. The templates of models with more than `FEW` are not shown.
SHOWN, FEW = 12, 64


def matched_templates_section(cases: Cases) -> Section | None:
    """Return the templates behind the listed matches of a few graphs, by the largest contribution of a match."""
    worth: dict[int, float] = {}
    for match, _ in (row for panel in cases.panels for row in panel.matches):
        worth[match.template] = max(worth.get(match.template, 0.0), abs(match.contribution))
    if not worth or len(cases.clf.templates_) > FEW:
        return None
    cards = [_picture(cases, index) for index in sorted(worth, key=lambda index: -worth[index])[:SHOWN]]
    content = {"cards": cards, "sentence": f"The {len(cards)} most important templates here." if len(cards) > 1 else ""}
    return Section("templates", "Templates", content, "Templates")


def _picture(cases: Cases, index: int) -> dict[str, Any]:
    """Return a template drawn, and its values as text with a step of the colour scale."""
    template = cases.clf.templates_[index]
    steps = np.rint(4 * template.adjacency / (np.abs(template.adjacency).max(initial=0.0) or 1.0)).astype(int)
    values = [
        [(f"{value:.2f}".replace("-0.00", "0.00"), f"{'p' if value > 0 else 'n'}{abs(step)}") for value, step in row]
        for row in (zip(*pair, strict=True) for pair in zip(template.adjacency.tolist(), steps.tolist(), strict=True))
    ]
    drawing = draw_template(template, title=f"Template {index} of {template.k} nodes", symbols=cases.look)
    return {"index": index, "drawing": drawing, "cells": values}
