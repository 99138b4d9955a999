"""What commands tell about a model in words: what it predicts, how large it is, and how good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isonn.graphs.graph import GraphSet


def model_facts(model: Any, graphs: GraphSet | None) -> dict[str, Any]:
    """Return the facts about a fitted model, as JSON; ``graphs`` are those it was fitted to, if in memory."""
    from isonn.experiments.statistics import SIGNIFICANT

    facts: dict[str, Any] = {"predicts": _predicted(model)}
    if facts["predicts"]["kind"] == "classes" and graphs is not None and graphs.y is not None:
        values = graphs.y.tolist()
        facts["predicts"]["counts"] = [values.count(value) for value in model.classes_.tolist()]
    history = getattr(model, "history_", None)
    if history is not None and history.loss:
        facts.update(epochs=len(history), seconds=round(sum(history.seconds), 1), loss=history.loss[-1])
    score = getattr(model, "held_out_score_", None)
    if score is not None:
        facts.update(held_out=score)
    elif graphs is not None:
        facts.update(training_score=float(model.score(graphs, graphs.y)))
    columns = getattr(model, "held_out_by_target_", {})
    if columns:
        facts.update(held_out_by_target={str(name): scores for name, scores in columns.items()})
    p_values = getattr(model, "p_values_", None)
    if p_values is not None:
        facts.update(sets=len(p_values), significant=int((p_values <= SIGNIFICANT).sum()))
    elif (templates := getattr(model, "templates_", None)) is not None:
        facts.update(templates=len(templates))
    removed = getattr(getattr(getattr(model, "model_", None), "encoder", None), "adjustment", None)
    if removed is not None and removed.confounds:
        facts.update(confounds={confound.name: list(confound.categories) for confound in removed.confounds})
    return facts


def _predicted(model: Any) -> dict[str, Any]:
    from isonn.explain.explanation import is_logarithm
    from isonn.graphs.io.target_column import unit_of
    from isonn.screening.sources import target_names

    names = target_names(model)
    unit = unit_of(names[0]) if len(names) == 1 else ""
    if model.target_.numeric:
        logarithms = [is_logarithm(model.target_, column) for column in range(model.target_.outputs)]
        return {"kind": "numbers", "targets": names, "unit": unit, "logarithms": logarithms}
    if model.target_.exclusive:
        return {"kind": "classes", "targets": names, "classes": [str(value) for value in model.classes_.tolist()]}
    return {"kind": "labels", "targets": names}


def sentences(facts: dict[str, Any]) -> list[str]:
    """Return the facts as lines of text."""
    from isonn.experiments.statistics import SIGNIFICANT
    from isonn.scores import scores_text

    lines = [_guess(facts["predicts"])]
    if "confounds" in facts:
        lines.append(f"confounds: {', '.join(map(_confound, *zip(*facts['confounds'].items(), strict=True)))}")
    if "epochs" in facts:
        lines.append(f"{facts['epochs']} epochs in {facts['seconds']:.1f} s, last loss {facts['loss']:.4f}")
    if "templates" in facts:
        lines.append(f"{facts['templates']:,} templates")
    if "sets" in facts:
        count = f"{facts['significant']} of {facts['sets']} sets of regions have p <= {SIGNIFICANT}"
        lines.append(f"{count if facts['sets'] else 'no set of regions counts, only connections'} (isonn findings)")
    unit = facts["predicts"].get("unit", "")
    if "held_out" in facts:
        scores = dict(facts["held_out"])
        if facts["predicts"]["kind"] == "numbers" and len(facts["predicts"]["targets"]) > 1:
            scores.update(mae=None, rmse=None)  # columns may have different units, so a mean error says nothing
        lines.append(f"held out: {scores_text(scores, unit)} (isonn evaluate DATA compares methods)")
    elif "training_score" in facts:
        lines.append(f"training score {facts['training_score']:.3f} (not an estimate for new graphs)")
    return lines + _by_target(facts.get("held_out_by_target", {}))


def _guess(predicts: dict[str, Any]) -> str:
    """Say what the model predicts, so that a wrong guess is noticed."""
    names = ", ".join(predicts["targets"][:5]) + (", ..." if len(predicts["targets"]) > 5 else "")
    of = f" of {names}" if names else ""
    if predicts["kind"] == "numbers":
        logarithms = predicts["logarithms"]
        each = predicts["targets"] or [f"column {i}" for i in range(len(logarithms))]
        learned = [name for name, one in zip(each, logarithms, strict=True) if one]
        some = f"; {', '.join(learned[:5])}{', ...' if len(learned) > 5 else ''}" if not all(logarithms) else ","
        return f"predicts numbers{of}" + (f"{some} learned as a logarithm" if learned else "")
    if predicts["kind"] == "labels":
        return f"predicts {len(predicts['targets']) or 'several'} labels{of}"
    classes = predicts["classes"]
    counts = [f" ({count:,})" for count in predicts.get("counts", ())] or [""] * len(classes)
    shown = ", ".join(map(str.__add__, classes[:5], counts)) + (", ..." if len(classes) > 5 else "")
    numbers = " (--numbers predicts numbers)" if len(classes) > 2 and all(map(str.isdecimal, classes)) else ""
    return f"predicts {len(classes)} classes{of}: {shown}{numbers}"


def _confound(name: str, categories: list[str]) -> str:
    """Say how a confound is read, so that codes taken for numbers, and M beside male, are noticed."""
    shown = ", ".join(categories[:5]) + (", ..." if len(categories) > 5 else "")
    return f"{name} ({len(categories)} categories: {shown})" if categories else f"{name} (number)"


def _by_target(columns: dict[str, dict[str, float]]) -> list[str]:
    """Return a line for each of several targets."""
    from isonn.graphs.io.target_column import unit_of
    from isonn.scores import scores_text

    width = max((len(name) for name in columns), default=0)
    lines = []
    for name, scores in columns.items():
        counts = f"{scores['known']:,} graphs"
        if "positive" in scores:
            counts += f", {scores['positive']:,} positive"
        lines.append(f"  {name:{width}}  {counts}: {scores_text(scores, unit_of(name)) or 'no score'}")
    return lines
