"""Display of objects in notebooks (``_repr_html_``) and as SVG; needs no extra.

Any module may import this one inside a method.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from isonn.explain.explanation import Explanation, output_names
from isonn.explain.template import Template
from isonn.graphs.graph import Graph, GraphSet
from isonn.report.draw import (
    count_edges,
    describe,
    draw_explained,
    draw_graph,
    draw_template,
    shortened,
    standalone,
    standalone_style,
    symbols,
    symbols_of,
)
from isonn.report.panels import reason_marks
from isonn.report.waterfall import beside, waterfall
from isonn.report.words import Naming, capitalized, effect_words, number_text, percent_text, reason_words

if TYPE_CHECKING:
    from isonn.report.draw import Drawing

#: Number of drawings in the table of a set, and of classes it names.
THUMBNAILS, CLASSES = 6, 10
#: Number of reasons of a class that the table of a model names, and of its rows.
REASONS, MOST_ROWS = 3, 15
#: Edges are counted in this many graphs.
COUNTED = 10_000


def graph_html(graph: Graph) -> str:
    """Return a drawing of the graph with a line about it."""
    look = symbols_of(graph.node_labels, graph.node_label_names, graph.edge_label_names)
    drawing = draw_graph(graph, symbols=look)
    return _figure(standalone(drawing.svg), f"{describe(graph)}. {drawing.note}".strip())


def graphset_html(graphs: GraphSet) -> str:
    """Return a small table: name, graphs, sizes, graphs per class, and the first few drawings."""
    look, shown = symbols(graphs), range(min(COUNTED, len(graphs)))
    of = f" (first {COUNTED:,} graphs)" if len(graphs) > COUNTED else ""
    rows = [
        ("graphs", f"{len(graphs):,}"),
        ("nodes", _span(graphs.sizes)),
        ("edges", _span(np.array([count_edges(graphs[i]) for i in shown])) + of),
    ]
    if graphs.y is not None and graphs.y.ndim == 1:
        values, counts = np.unique(graphs.y, return_counts=True)
        if graphs.y.dtype.kind != "f" and len(values) <= CLASSES:
            names = graphs.class_names
            rows += [
                (f"class {shortened(str(names.get(value, value)))}", f"{count:,} graph{'s' * (count != 1)}")
                for value, count in zip(values.tolist(), counts.tolist(), strict=True)
            ]
        else:
            rows.append(("y", f"{len(values):,} distinct values"))
    elif graphs.y is not None:
        rows.append(("y", f"{graphs.y.shape[1]} columns"))
    drawings = [draw_graph(graphs[i], symbols=look) for i in range(min(THUMBNAILS, len(graphs)))]
    cells = "".join(
        f"<figure style='margin:0'>{_thumbnail(drawing)}<figcaption>{i}</figcaption></figure>"
        for i, drawing in enumerate(drawings)
    )
    return (
        f"<div><style>{standalone_style()}</style><strong>{escape(shortened(graphs.name))}</strong>"
        f"{_table(rows)}<div style='display:flex;flex-wrap:wrap;gap:8px'>{cells}</div></div>"
    )


def template_html(template: Template) -> str:
    """Return a drawing of the template, and its nodes in words."""
    look = symbols_of(template.node_labels, template.label_names, template.edge_label_names)
    return _figure(standalone(draw_template(template, symbols=look).svg), template.text())


def explanation_svg(explanation: Explanation) -> str:
    """Return the graph as a complete SVG file, coloured by contribution, beside the waterfall of its units."""
    return standalone(beside(_drawing(explanation).svg, waterfall(explanation)))


def _drawing(explanation: Explanation) -> Drawing:
    """Return the drawing of an explanation with all its reasons highlighted."""
    marks = reason_marks(explanation.reasons)
    return draw_explained(explanation, marks=marks, shown=range(len(marks)))


def explanation_html(explanation: Explanation) -> str:
    """Return the prediction, the drawing and the reasons, for a notebook."""
    drawing = _drawing(explanation)
    items = "".join(
        f"<li>{escape(reason_words(reason))} ({effect_words(reason.contribution, explanation.logarithm)})</li>"
        for reason in explanation.reasons
    )
    reasons = f"<ol>{items}</ol>" if items else "<p>No piece of this graph speaks for or against the prediction.</p>"
    lead, note = escape(answer(explanation)), escape(drawing.note)
    return f"<div><p>{lead}</p>{standalone(drawing.svg)}{reasons}<p>{note}</p></div>"


def answer(explanation: Explanation) -> str:
    """Return the prediction in a sentence."""
    value = float(explanation.probabilities[explanation.column])
    if explanation.target.numeric:
        named = explanation.class_names.get(explanation.column, "")
        return f"Predicted {shortened(named)} {number_text(value, explanation.unit)}.".replace("  ", " ")
    name = Naming.of_explanation(explanation).class_(explanation.explained)
    return f"{capitalized(name)} with probability {percent_text(value)}."


def model_html(model: Any) -> str:
    """Return what a notebook shows of a fitted model: its score, its size and the first reasons of each class."""
    rows = [("model", repr(model))]
    score = getattr(model, "held_out_score_", None)
    if score:
        rows.append(("held out", ", ".join(f"{name} {value:.3g}" for name, value in score.items())))
    templates = getattr(model, "templates_", None)
    if templates is not None:
        rows.append(("size", f"{len(templates):,} templates"))
    names = output_names(model.target_, model.label_names_)
    for value, reasons in getattr(model, "reasons_", {}).items():
        shown = "; ".join(reason.text for reason in reasons[:REASONS])
        if shown:
            rows.append((shortened(str(names.get(value, f"class {value}"))), shown))
    return _table(rows[:MOST_ROWS])


def _table(rows: Sequence[tuple[str, str]]) -> str:
    cells = (
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(text)}</td></tr>"
        for name, text in rows
    )
    return f"<table>{''.join(cells)}</table>"


def _figure(svg: str, text: str) -> str:
    return f"<figure style='margin:0'>{svg}<figcaption>{escape(text)}</figcaption></figure>"


def _thumbnail(drawing: Drawing) -> str:
    head, _, rest = drawing.svg.partition(">")
    sized = " ".join(word for word in head.split(" ") if not word.startswith(("width=", "height=")))
    return f'{sized} width="130" height="100">{rest}'


def _span(values: Any) -> str:
    low, high = int(values.min()), int(values.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
