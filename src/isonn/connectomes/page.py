"""A page of findings: nilearn's interactive brain, figures and tables, without network access."""

from __future__ import annotations

import base64
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.connectomes.atlas import Atlas, as_atlas
from isonn.connectomes.figures import STYLE as STYLE_OF_FIGURES
from isonn.connectomes.figures import draw_figures, matrix_figure, rendered, strongest_matrix
from isonn.connectomes.findings import Findings, findings, in_order
from isonn.errors import InputError, naming_the_extra
from isonn.explain.explanation import Explanation
from isonn.files import atomic_file

#: Largest family-wise p-value of a finding.
SIGNIFICANT = 0.05
#: Policy that allows no requests, not even by nilearn's code.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; frame-src 'self'"
)
STYLE = """
:root { color-scheme: light dark; --bg: #ffffff; --ink: #1b1f24; --line: #d9dde2; }
@media (prefers-color-scheme: dark) { :root { --bg: #14171b; --ink: #e7e9ec; --line: #363d46; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 1.5rem auto; padding: 0 1rem; color: var(--ink);
  background: var(--bg); }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .5rem; } h2 { font-size: 1.3rem; }
table { border-collapse: collapse; margin: 1rem 0; } th, td { padding: .2rem .8rem .2rem 0; text-align: left;
  border-bottom: 1px solid var(--line); } td.number { text-align: right; font-variant-numeric: tabular-nums; }
td.effect { white-space: nowrap; }
iframe { width: 100%; height: min(36rem, 75vw); border: 1px solid var(--line); background: #fff; color-scheme: light; }
img { background: #fff; max-width: 100%; height: auto; } .scroll { overflow-x: auto; }
"""


def brain_page(source: Any, path: str | Path, *, atlas: Any = None, label: Any = None, top: int = 50) -> None:
    """Write a page with the decisive connections in an interactive brain, as figures and as tables.

    The page is one self-contained file that fetches nothing.

    Args:
        source: `Findings`, an explanation of one subject, a fitted aligned model, or a pipeline that ends with line.
        path: the file to write.
        atlas: anything `as_atlas` takes; the brain needs coordinates. Not needed if the graphs were made with an atlas.
        label: for a model, the class to show.
        top: maximum number of connections.

    Example:
        >>> from isonn.connectomes import planted_connectomes
        >>> study = planted_connectomes(n_subjects=40, n_regions=12, effect=0.8, seed=1)
        >>> clf = isonn.AlignedClassifier(shuffles=9, random_state=0).fit(study.graphs)
        >>> brain_page(clf, tmp_path / "patients.html")
        >>> "In the brain" in (tmp_path / "patients.html").read_text()  # for that, give an atlas with coordinates
        False
    """
    result = source if isinstance(source, Findings) else findings(source, label, atlas=atlas, top=top)
    if isinstance(source, Findings) and atlas is not None:
        result = replace(result, atlas=_given(result, as_atlas(atlas)))
    figures = draw_figures(result)
    result = result.shortened()
    body = [f"<h1>{escape(result.about[:1].upper() + result.about[1:])}</h1>"]
    body.append(f'<p class="answer">{escape(_answer(result, source))}</p>')
    if result.atlas is not None and result.atlas.coordinates is not None:
        inner = escape(_brain(result, result.atlas), quote=True)
        body.append("<h2>In the brain</h2>")
        body.append("<p>Drag to turn it. Red connections speak for it, blue ones against it.</p>")
        body.append(f'<iframe title="Interactive brain with the decisive connections" srcdoc="{inner}"></iframe>')
    body.append(_subnetworks(result))
    if "values" in figures:
        body.append(
            "<h2>Values by graph</h2><p>A dot is the mean connection of a sub-network in one graph, before confounds "
            "are removed; bars are means with 95 % intervals. Graphs that chose a set flatter it: judge by the effects "
            "above.</p>"
        )
        body.append(_picture(figures["values"], "Mean connection of each sub-network, by graph"))
    if "chord" in figures:
        body.append("<h2>Between networks</h2><p>Wider ribbons carry more weight; red is positive, blue negative.</p>")
        body.append(_picture(figures["chord"], "Networks on a circle, with ribbons for their connections"))
    body.append(_connections(result))
    body.append("<h2>All connections</h2>")
    body.append(f"<p>{escape(_caption(result.atlas))}</p>")
    body.append(_picture(figures["matrix"], f"Matrix of all {len(result.weights)} regions"))
    body.append(_confounds(result))
    page = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(result.about)}</title><style>{STYLE}</style></head>\n'
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )
    with atomic_file(Path(path)) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _given(result: Findings, atlas: Atlas) -> Atlas:
    numbered = result.names == [str(i) for i in range(len(result.names))]
    return atlas if numbered and len(atlas) == len(result.names) else in_order(atlas, result.names)


def _picture(figure: Any, words: str) -> str:
    """Return a figure as an image that stands alone, so that names inside it cannot clash with the page."""
    image = base64.b64encode(rendered(figure, "svg")).decode()
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(words)}">'
        f'<img alt="{escape(words)}" src="data:image/svg+xml;base64,{image}"></div>'
    )


def matrix_svg(weights: NDArray[np.float64], atlas: Any, title: str = "Connections") -> str:
    """Draw a matrix with the atlas's names at its rows and columns, ordered by network, as a self-contained SVG.

    Args:
        weights: shape (n, n).
        atlas: anything `as_atlas` takes.
        title: what the colours stand for.

    Example:
        >>> matrix_svg(np.array([[0, 0.5], [0.5, 0]]), ["Precuneus L", "Insula R"])[:4]
        '<svg'
    """
    values, regions = np.asarray(weights, dtype=np.float64), as_atlas(atlas)
    if values.shape != (len(regions), len(regions)):
        raise InputError(f"weights have shape {values.shape} for {len(regions)} regions; give one row and column each")
    import matplotlib as mpl

    with mpl.rc_context(STYLE_OF_FIGURES):
        text = rendered(matrix_figure(values, regions, title), "svg").decode("utf-8")
    return text[text.index("<svg") :]


def _caption(atlas: Atlas | None) -> str:
    words = "Red cells speak for it, blue ones against it."
    if atlas is None or atlas.networks is None:
        return words
    return f"{words} Regions are ordered by network: {', '.join(dict.fromkeys(atlas.networks[atlas.order].tolist()))}."


def _brain(result: Findings, atlas: Atlas) -> str:
    """Return nilearn's view as a separate page that fetches nothing."""
    with naming_the_extra("the interactive brain"):
        from nilearn import plotting
    shown = strongest_matrix(result)
    used = np.flatnonzero(shown.any(axis=0))
    used = used if len(used) > 1 else np.arange(min(2, len(shown)))
    assert atlas.coordinates is not None
    names = [re.sub(r"[<>&\"'\\]", " ", result.names[i]) for i in used]  # nilearn does not escape them in its script
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        view = plotting.view_connectome(
            shown[np.ix_(used, used)],
            atlas.coordinates[used],
            edge_cmap="RdBu_r",
            node_size=6.0,
            linewidth=4.0,
            node_color="#59616b",  # by default each node has its own colour
            colorbar_fontsize=12,
            node_labels=names,
        )
        page: str = view.get_standalone()
    page = re.sub(r"<link[^>]*rel=\"icon\"[^>]*>", '<link rel="icon" href="data:,">', page)
    return page.replace("<head>", f'<head><meta http-equiv="Content-Security-Policy" content="{POLICY}">', 1)


def _answer(result: Findings, source: Any) -> str:
    """Describe the findings in a few sentences."""
    said = []
    if isinstance(source, Explanation):
        text = source.summary(top=0).partition(": score")[0]
        said.append(f"{text[:1].upper()}{text[1:]}.")
    if result.score:
        said.append(f"On held-out graphs: {_score_text(result.score)}.")
    if result.subnetworks:
        first = result.subnetworks[0]
        facts = [f"worth {first.weight:+.2f}", first.direction, result.effect_text(first)]
        facts.append("" if first.p_value != first.p_value else f"p = {first.p_value:.2g} over all sets")
        facts.append("" if first.share != first.share else f"found in {first.share:.0%} of folds")
        extra = ", ".join(fact for fact in facts if fact)
        begin = "The strongest finding is the sub-network"
        if first.p_value > SIGNIFICANT:
            begin = f"No set of regions is significant at p ≤ {SIGNIFICANT}; the best is"
        said.append(f"{begin} {first.regions}{f' ({extra})' if extra else ''}.")
    elif result.connections:
        line = result.connections[0]
        said.append(
            f"No set of regions has an effect; the strongest single connection is {line.region_1} - {line.region_2} "
            f"({line.weight:+.2f})."
        )
    else:
        said.append("Nothing was found: no set of regions and no connection has an effect.")
    worth = "contribution to the score" if isinstance(source, Explanation) else "contribution of one standard deviation"
    said.append(f"Worth is the {worth}.")
    return " ".join(said)


def _score_text(score: Mapping[str, float]) -> str:
    names = {"accuracy": "accuracy", "auroc": "AUROC", "pearson": "Pearson r", "r2": "R²", "mae": "mean absolute error"}
    return ", ".join(
        f"{names[name]} {value:.0%}" if name == "accuracy" else f"{names[name]} {value:.3g}"
        for name, value in score.items()
        if name in names
    )


def _subnetworks(result: Findings) -> str:
    if not result.subnetworks:
        return ""
    columns = {
        "Sub-network": [line.regions for line in result.subnetworks],
        "Direction": [line.direction for line in result.subnetworks],
        "Effect [95 %]": [result.effect_text(line) for line in result.subnetworks],
        "Difference": [_number(line.difference) for line in result.subnetworks],
        "p (family-wise)": [_p(line.p_value) for line in result.subnetworks],
        "Folds that find it": [_percent(line.share) for line in result.subnetworks],
        "Worth": [f"{line.weight:+.3f}" for line in result.subnetworks],
    }
    words = (
        "<p>Effects are measured on graphs that had no part in choosing the set, because the graphs that chose it "
        "flatter it. The difference is in the units of the matrices, for graphs with equal confounds.</p>"
        if result.effect_name
        else ""
    )
    return f"<h2>Sub-networks</h2>{words}{_table(columns, 10)}"


def _connections(result: Findings) -> str:
    lines = result.connections
    if not lines:
        return "<p>No connection has an effect.</p>"
    networks = [f"{line.network_1} - {line.network_2}" if line.network_1 else "" for line in lines]
    columns = {
        "Region": [line.region_1 for line in lines],
        "and region": [line.region_2 for line in lines],
        "Networks": networks,
        "Direction": [line.direction for line in lines],
        "Effect [95 %]": [result.effect_text(line) for line in lines],
        "Difference": [_number(line.difference) for line in lines],
        "p (family-wise)": [_p(line.p_fwer) for line in lines],
        "p (FDR)": [_p(line.p_fdr) for line in lines],
        "Folds that find it": [_percent(line.share) for line in lines],
        "Worth": [f"{line.weight:+.3f}" for line in lines],
    }
    return f"<h2>Strongest connections</h2>{_table(columns, 20)}"


def _confounds(result: Findings) -> str:
    if not result.confounding:
        return ""
    columns = {
        "Confound": [str(line["confound"]) for line in result.confounding],
        "of the target": [f"{line['confound_to_target']:.0%}" for line in result.confounding],
        "of the model's score": [f"{line['confound_to_score']:.0%}" for line in result.confounding],
    }
    return (
        "<h2>Confounds</h2><p>Regressed out of every connection. The share of the target, and of the model's score on "
        "held-out graphs, that each still explains (adjusted R²). A confound that explains much of the target leaves "
        f"little to test.</p>{_table(columns, 50)}"
    )


def _number(value: float) -> str:
    return "" if value != value else f"{value:+.3g}"


def _p(value: float) -> str:
    return "" if value != value else f"{value:.2g}"


def _percent(value: float) -> str:
    return "" if value != value else f"{value:.0%}"


def _table(columns: Mapping[str, Sequence[str]], most: int) -> str:
    """Return a table of the first rows; columns without entries are left out."""
    kept = {name: cells[:most] for name, cells in columns.items() if any(cells[:most])}
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in kept)
    rows = zip(*kept.values(), strict=True)
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="Table"><table><tr>{heads}</tr>{lines}</table></div>'
    )


def _cell(text: str) -> str:
    number = bool(re.fullmatch(r"[+-]?[\d.e-]+%?", text))
    kind = ' class="number"' if number else ' class="effect"' if text.endswith("]") else ""
    return f"<td{kind}>{escape(text)}</td>"
