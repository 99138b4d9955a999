"""A page of findings: nilearn's interactive brain, the matrix, and tables, without network access."""

from __future__ import annotations

import re
import warnings
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.connectomes.atlas import Atlas, as_atlas
from isonn.connectomes.draw import ConnectomeDrawer
from isonn.connectomes.findings import Connection, Findings, Subnetwork, findings
from isonn.errors import InputError, naming_the_extra
from isonn.explain.explanation import Explanation
from isonn.files import atomic_file
from isonn.graphs.convert import as_graphset
from isonn.report.draw import standalone

#: Policy that allows no requests, not even by nilearn's code.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; frame-src 'self'"
)
#: Connections below this share of the strongest are listed in the tables but not drawn in the brain.
FAINT = 0.1
STYLE = """
:root { color-scheme: light dark; --bg: #ffffff; --ink: #1b1f24; --line: #d9dde2; }
@media (prefers-color-scheme: dark) { :root { --bg: #14171b; --ink: #e7e9ec; --line: #363d46; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 1.5rem auto; padding: 0 1rem; color: var(--ink);
  background: var(--bg); }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .5rem; } h2 { font-size: 1.3rem; }
table { border-collapse: collapse; margin: 1rem 0; } th, td { padding: .2rem .8rem .2rem 0; text-align: left;
  border-bottom: 1px solid var(--line); } td.number { text-align: right; font-variant-numeric: tabular-nums; }
iframe { width: 100%; height: min(36rem, 75vw); border: 1px solid var(--line); background: #fff; color-scheme: light; }
svg.isonn { max-width: none; background: #fff; } .scroll { overflow-x: auto; }
"""


def brain_page(source: Any, path: str | Path, *, atlas: Any = None, label: Any = None, top: int = 50) -> None:
    """Write a page with the decisive connections in an interactive brain, as a matrix and as tables.

    The page is one self-contained file that fetches nothing.

    Args:
        source: `Findings`, an explanation of one subject, or a fitted aligned model.
        path: the file to write.
        atlas: anything `as_atlas` takes; the brain needs coordinates. Not needed for an explanation of a graph made
            with an atlas.
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
    known = None if atlas is None else as_atlas(atlas)
    if known is None and isinstance(source, Explanation):
        known = _own_atlas(source)
    found = source if isinstance(source, Findings) else findings(source, label, atlas=known, top=top)
    known = _ordered(known, found.names)
    body = [f"<h1>{escape(found.about[:1].upper() + found.about[1:])}</h1>"]
    body.append(f'<p class="answer">{escape(_answer(found, source))}</p>')
    matrix = ["<h2>All connections</h2>", f"<p>{escape(_caption(known))}</p>"]
    matrix.append(f'<div class="scroll" tabindex="0">{_matrix(found, known)}</div>')
    tables = [_subnetworks(found), _connections(found, known)]
    if known is not None and known.coordinates is not None:
        inner = escape(_brain(found, known), quote=True)
        body.append("<h2>In the brain</h2>")
        body.append("<p>Drag to turn it. Blue connections speak for it, red ones against it.</p>")
        body.append(f'<iframe title="Interactive brain with the decisive connections" srcdoc="{inner}"></iframe>')
        body += [*tables, *matrix]
    else:
        body += [*matrix, *tables]
    page = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(found.about)}</title><style>{STYLE}</style></head>\n'
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )
    with atomic_file(Path(path)) as temporary:
        temporary.write_text(page, encoding="utf-8")


def matrix_svg(weights: NDArray[np.float64], atlas: Any, title: str = "Connections") -> str:
    """Draw a matrix with the atlas's names at its rows and columns, ordered by network, as a self-contained SVG.

    Example:
        >>> matrix_svg(np.array([[0, 0.5], [0.5, 0]]), ["Precuneus L", "Insula R"])[:4]
        '<svg'
    """
    return standalone(_draw(np.asarray(weights, dtype=np.float64), as_atlas(atlas), title))


def _draw(weights: NDArray[np.float64], atlas: Atlas, title: str) -> str:
    if weights.shape != (len(atlas), len(atlas)):
        raise InputError(f"weights have shape {weights.shape} for {len(atlas)} regions; give one row and column each")
    graphs = as_graphset(weights[None] if weights.any() else np.eye(len(atlas))[None] * 0.0)
    graph = graphs[0]._but(node_names=atlas.names, node_labels=atlas.networks, kind="connectomes")
    return ConnectomeDrawer().draw(graph, title=title).svg


def _matrix(found: Findings, atlas: Atlas | None) -> str:
    weights = found.weights
    return standalone(_draw(weights, atlas or Atlas(found.names), f"Matrix of all {len(weights)} regions"))


def _caption(atlas: Atlas | None) -> str:
    words = "Blue cells speak for it, orange ones against it."
    if atlas is None or atlas.networks is None:
        return words
    return f"{words} Regions are ordered by network: {', '.join(dict.fromkeys(atlas.networks[atlas.order].tolist()))}."


def _brain(found: Findings, atlas: Atlas) -> str:
    """Return nilearn's view as a separate page that fetches nothing."""
    with naming_the_extra("the interactive brain"):
        from nilearn import plotting
    place = {name: i for i, name in enumerate(found.names)}
    shown = np.zeros_like(found.weights)
    largest = max((abs(one.weight) for one in found.connections), default=0.0)
    for one in found.connections:
        if abs(one.weight) < FAINT * largest:
            continue
        a, b = place[one.region_1], place[one.region_2]
        shown[a, b] = shown[b, a] = one.weight
    used = np.flatnonzero(shown.any(axis=0))
    used = used if len(used) > 1 else np.arange(min(2, len(shown)))
    assert atlas.coordinates is not None
    names = [re.sub(r"[<>&\"'\\]", " ", found.names[i]) for i in used]  # nilearn does not escape them in its script
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        view = plotting.view_connectome(
            shown[np.ix_(used, used)],
            atlas.coordinates[used],
            edge_cmap="RdBu",
            node_size=6.0,
            linewidth=4.0,
            node_color="#59616b",  # by default each node has its own colour
            colorbar_fontsize=12,
            node_labels=names,
        )
        page: str = view.get_standalone()
    page = re.sub(r"<link[^>]*rel=\"icon\"[^>]*>", '<link rel="icon" href="data:,">', page)
    return page.replace("<head>", f'<head><meta http-equiv="Content-Security-Policy" content="{POLICY}">', 1)


def _own_atlas(e: Explanation) -> Atlas | None:
    graph = e.graph
    if graph.kind != "connectomes" or graph.node_names is None:
        return None
    places = graph.node_attributes
    places = places if places is not None and places.shape[1] == 3 else None
    return Atlas(graph.node_names, places, graph.node_labels)


def _ordered(atlas: Atlas | None, names: list[str]) -> Atlas | None:
    """Return the atlas in the order of the findings."""
    if atlas is None:
        return None
    place = {name: i for i, name in enumerate(atlas.names.tolist())}
    unknown = [name for name in names if name not in place]
    if unknown:
        if len(atlas) == len(names) and names == [str(i) for i in range(len(names))]:
            raise InputError("the model has no region names; create graphs with isonn.connectomes.from_matrices")
        raise InputError(f"region {unknown[0]!r} is not in the atlas; give the atlas the model was fitted with")
    order = np.array([place[name] for name in names])
    return Atlas(
        atlas.names[order],
        None if atlas.coordinates is None else atlas.coordinates[order],
        None if atlas.networks is None else atlas.networks[order],
    )


def _answer(found: Findings, source: Any) -> str:
    """Describe the findings in one or two sentences."""
    said = ""
    if isinstance(source, Explanation):
        text = source.summary(top=0).partition(": score")[0]
        said = f"{text[:1].upper()}{text[1:]}. "
    if found.subnetworks:
        first = found.subnetworks[0]
        extra = "" if first.p_value != first.p_value else f", p = {first.p_value:.2g} over all sets"
        extra += f", found in {first.share:.0%} of {found.folds} folds" if found.folds else ""
        text = f"The strongest finding is the sub-network {first.regions} (worth {first.weight:+.2f}{extra})."
    elif found.connections:
        line = found.connections[0]
        text = (
            f"No set of regions has an effect; the strongest single connection is {line.region_1} - {line.region_2} "
            f"({line.weight:+.2f})."
        )
    else:
        text = "Nothing was found: no set of regions and no connection has an effect."
    unit = (
        "the contribution to the score"
        if isinstance(source, Explanation)
        else "the contribution of one standard deviation"
    )
    return f"{said}{text} Worth is {unit}."


def _subnetworks(found: Findings) -> str:
    if not found.subnetworks:
        return ""
    judged = any(one.p_value == one.p_value for one in found.subnetworks)
    head = ["Sub-network", "Worth", *(["p (family-wise)"] if judged else [])]
    rows = []
    for one in found.subnetworks[:10]:
        p = "" if one.p_value != one.p_value else f"{one.p_value:.2g}"
        rows.append([one.regions, f"{one.weight:+.3f}", *([p] if judged else []), *_share(one, found)])
    return f"<h2>Sub-networks</h2>{_table([*head, *_stable(found)], rows)}"


def _connections(found: Findings, atlas: Atlas | None) -> str:
    network = {}
    if atlas is not None and atlas.networks is not None:
        network = dict(zip(atlas.names.tolist(), atlas.networks.tolist(), strict=True))
    head = ["Region", "Region", "Worth", *_stable(found), *(["Networks"] if network else [])]
    rows = []
    for one in found.connections[:20]:
        between = [f"{network[one.region_1]} - {network[one.region_2]}"] if network else []
        rows.append([one.region_1, one.region_2, f"{one.weight:+.3f}", *_share(one, found), *between])
    return f"<h2>Strongest connections</h2>{_table(head, rows)}" if rows else "<p>No connection has an effect.</p>"


def _stable(found: Findings) -> list[str]:
    return ["Folds that find it"] if found.folds else []


def _share(one: Subnetwork | Connection, found: Findings) -> list[str]:
    return [f"{one.share:.0%}"] if found.folds else []


def _table(head: list[str], rows: list[list[str]]) -> str:
    heads = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f'<div class="scroll" tabindex="0"><table><tr>{heads}</tr>{lines}</table></div>'


def _cell(text: str) -> str:
    number = bool(re.fullmatch(r"[+-]?[\d.e-]+%?", text))
    return f'<td class="number">{escape(text)}</td>' if number else f"<td>{escape(text)}</td>"
