"""An explanation as lines of text, and as plain data for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isonn.explain.reasons import ROUNDING, Reason, predict_without

if TYPE_CHECKING:
    from isonn.explain.explanation import Explanation
    from isonn.explain.matched import NamedContribution

#: Longer lines of a summary are cut; names may be of any length.
LINE = 300


def as_text(e: Explanation, top: int) -> str:
    """Return an explanation as a few lines; see `Explanation.summary`."""
    answer = e.probabilities[e.column]
    unnamed = f"{'class' if e.target.exclusive else 'label'} {e.explained}"
    what = f"{e.class_names.get(e.explained, unnamed)} with probability {answer:.3f}"
    if e.target.numeric:
        what = f"predicted {answer:.3g} {e.unit}".rstrip()
    lines = [f"{what}: score {e.score:+.2f} (base: {e.base:+.2f})"]
    if e.logarithm:
        base = f"{10**e.base:.3g} {e.unit}".rstrip()
        lines = [f"{what}: learned as a logarithm, so each part multiplies or divides it (base: {base})"]
    if e.padding:
        lines.append(f"  {e.padding:+.3f}  everything read beyond the graph's {e.graph.n} nodes")
    lines += [f"  {reason}" for reason in e.reasons[:top]]
    if e.reasons and e.exact:
        rest = e.score - e.base - sum(reason.contribution for reason in e.reasons[:top])
        lines.append(f"  {e.effect_text(rest)}  everything else (in units and terms)")
    if not e.reasons and e.exact:
        rest = e.score - e.base
        whole = "the graph as a whole (in terms)" if abs(rest) > ROUNDING else "no part of this graph counts"
        lines.append(f"  {e.effect_text(rest)}  {whole}")
    for match in e.matches[:top] if not e.reasons and not e.exact else ():
        places = [", ".join(map(e.node_name, nodes)) for nodes in (match.nodes, match.columns) if nodes is not None]
        lines.append(f"  {match.contribution:+.3f}  template {match.template} at {' to '.join(places)}")
    if not e.exact:
        lines.append("  Contributions are computed by removal and need not add up.")
    return "\n".join(line if len(line) <= LINE else f"{line[: LINE - 1]}\u2026" for line in lines)


def as_dict(e: Explanation, without: bool = True) -> dict[str, Any]:
    """Return an explanation as numbers, text, lists and dicts; see `Explanation.to_dict`."""
    if without:
        predict_without(e.reasons)
    names = [str(e.class_names.get(value, value)) for value in e.classes.tolist()]
    answers = dict(zip(names, e.probabilities.tolist(), strict=True))
    decided = np.asarray(e.target.decide(e.probabilities[None])[0]).tolist()
    return {
        "id": e.graph.id,
        "smiles": str(e.graph.row["smiles"]) if "smiles" in e.graph.row else None,
        "predicted": dict(zip(names, decided, strict=True)) if isinstance(decided, list) else decided,
        "values" if e.target.numeric else "probabilities": answers,
        "explained": names[e.column],
        "score": e.score,
        "base": e.base,
        "logarithm": e.logarithm,
        "units": [_unit(Reason.of(unit, e)) for unit in e.units],
        "reasons": [_reason(reason, names, without) for reason in e.reasons],
        "absent": [_named(term) for term in e.absent],
        "terms": [_named(term) for term in e.terms],
        "node_importance": e.node_importance.tolist(),
        "coverage": None if e.assessment is None else e.assessment.coverage,
        "interval": None if e.interval is None else [float(v) if np.isfinite(v) else None for v in e.interval],
        "set": e.prediction_set,
        "domain": None if e.domain is None else e.domain.to_dict(),
    }


def _unit(unit: Reason) -> dict[str, Any]:
    molecule = {"smiles": unit.smiles, "smarts": unit.smarts} if unit.smiles else {}
    return {
        "text": unit.text,
        "name": unit.name,
        "kind": unit.kind,
        "nodes": list(unit.nodes),
        "contribution": unit.contribution,
        **molecule,
    }


def _reason(reason: Reason, names: list[str], without: bool) -> dict[str, Any]:
    row = _unit(reason)
    if without:
        left = reason.without
        row["without"] = None if left is None else dict(zip(names, left.tolist(), strict=True))
        row["agrees"] = reason.agrees
    return row


def _named(term: NamedContribution) -> dict[str, Any]:
    return {"name": term.name, "value": term.value, "contribution": term.contribution}
