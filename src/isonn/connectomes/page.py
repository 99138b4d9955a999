"""A page of findings: nilearn's interactive brain, figures and tables, without network access."""

from __future__ import annotations

import base64
import re
import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from isonn.connectomes.atlas import Atlas
from isonn.connectomes.figures import draw_figures, rendered, strongest_matrix
from isonn.connectomes.findings import Connection, Findings, Subnetwork, atlas_of, findings
from isonn.errors import naming_the_extra
from isonn.experiments.statistics import SIGNIFICANT
from isonn.explain.explanation import Explanation
from isonn.report.page import render, require_jinja2, write
from isonn.scores import scores_text

#: Policy of a page with a brain, which allows no requests, not even by nilearn's code.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; frame-src 'self'"
)
#: Most rows of a table.
MOST_SETS, MOST_CONNECTIONS = 10, 20
#: The columns of tables: heading, attribute of the finding, and format.
COLUMNS = (
    ("Sub-network", "regions", ""),
    ("Region", "region_1", ""),
    ("and region", "region_2", ""),
    ("Networks", "networks", ""),
    ("Direction", "direction", ""),
    ("Effect [95 %]", "effect", ""),
    ("Difference", "difference", "+.3g"),
    ("p (family-wise)", "p_value", ".2g"),
    ("p (family-wise)", "p_fwer", ".2g"),
    ("p (FDR)", "p_fdr", ".2g"),
    ("Folds that find it", "share", ".0%"),
    ("Worth", "weight", "+.3f"),
)


def brain_page(source: Any, path: str | Path, *, atlas: Any = None, label: Any = None, top: int = 50) -> None:
    """Write a page with the decisive connections in an interactive brain, as figures and as tables.

    The page is one self-contained file that fetches nothing.

    Args:
        source: `Findings`, an explanation of one subject, a fitted aligned model, or a pipeline that ends with one.
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
        result = replace(result, atlas=atlas_of(result.names, atlas))
    require_jinja2()
    figures = {
        name: base64.b64encode(rendered(figure, "svg")).decode() for name, figure in draw_figures(result).items()
    }
    result = result.shortened()
    regions = result.atlas
    shares = ("confound_to_target", "confound_to_score")
    page = render(
        "findings.html",
        about=result.about,
        answer=_answer(result, source),
        brain="" if regions is None or regions.coordinates is None else _brain(result, regions),
        brain_policy=POLICY,
        subnetworks=_table(result, result.subnetworks[:MOST_SETS]),
        connections=_table(result, result.connections[:MOST_CONNECTIONS]),
        confounds=[[line["confound"], *(f"{line[share]:.0%}" for share in shares)] for line in result.confounding],
        measured=result.effect_name,
        figures=figures,
        shuffles=result.shuffles,
        smallest=f"{1 / (1 + result.shuffles):.2g}",
        networks=[] if regions is None else regions.network_names,
        regions=len(result.weights),
    )
    write(Path(path), page)


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
        said.append(f"On held-out graphs: {scores_text(result.score)}.")
    if result.groups is not None and result.subjects:
        said.append(
            f"The data are {len(result.groups)} graphs of {result.subjects} subjects; the graphs of a subject stay in "
            f"one fold and in one block of shuffles, unless fit was given other groups."
        )
    if result.subnetworks:
        first = result.subnetworks[0]
        facts = [f"worth {first.weight:+.2f}", first.direction, result.effect_text(first)]
        facts.append(_text(first.p_value, "p = {:.2g} over all sets"))
        facts.append(_text(first.share, "found in {:.0%} of folds"))
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


def _table(result: Findings, lines: Sequence[Connection | Subnetwork]) -> tuple[list[str], list[list[str]]] | None:
    """Return the headings and rows of a table, without columns that have no entry; None if there are no findings."""
    if not lines:
        return None
    rows: list[dict[str, Any]] = [{**asdict(line), "effect": result.effect_text(line)} for line in lines]
    for row in rows:
        row["networks"] = f"{row['network_1']} - {row['network_2']}" if row.get("network_1") else ""
    columns = [
        (head, [_text(row[name], f"{{:{form}}}") for row in rows]) for head, name, form in COLUMNS if name in rows[0]
    ]
    kept = [(head, cells) for head, cells in columns if any(cells)]
    return [head for head, _ in kept], [list(row) for row in zip(*(cells for _, cells in kept), strict=True)]


def _text(value: Any, words: str) -> str:
    """Return words with a value in them, or "" if it is not known (NaN)."""
    return "" if value != value else words.format(value)
