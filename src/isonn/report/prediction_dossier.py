"""The dossier of one prediction: a draft under the headings of the QPRF (QSAR Prediction Reporting Format)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from isonn import __version__
from isonn.explain.explanation import Explanation
from isonn.report.dossier import Dossier, Said, fill_form
from isonn.report.draw import draw_explained
from isonn.report.panels import reason_marks
from isonn.report.sections.trust import TrustRow
from isonn.report.words import Naming, effect_words, number_text, reason_words, signed
from isonn.targets import positive_of

#: Names of endpoints that the rules are about.
_MUTAGENICITY = re.compile(r"mutagen|(?<![a-z])ames(?![a-z])", re.IGNORECASE)


def prediction_dossier(
    explanation: Explanation,
    name: str,
    facts: Mapping[str, str],
    rules: Sequence[str] | None = None,
    endpoint: str = "",
) -> Dossier:
    """Write the dossier of one prediction.

    Args:
        explanation: of the prediction, by a subgraph model.
        name: the number or id of the graph.
        facts: what is known about its structure, such as SMILES as given and as standardised.
        rules: names of the published alerts that the molecule has, for a second opinion on two classes; None if there
            are no rules for the endpoint.
        endpoint: the name of what the model predicts, for classes.
    """
    e, naming = explanation, Naming.of_explanation(explanation)
    value = float(e.probabilities[e.column])
    predicted = f"{endpoint}: {naming.class_(e.label)}, probability {value:.3f}".removeprefix(": ")
    if not e.target.exclusive:
        endpoint = naming.output(e.explained, e.target)
        which = "the most likely" if value == e.probabilities.max() else "one"
        predicted = f"{endpoint}: probability {value:.3f}, {which} of {len(e.classes)} labels"
    if e.target.numeric:
        predicted = f"{naming.target(e.explained)}: {number_text(value, e.unit)}"
    marks = reason_marks(e.reasons[:1])
    drawing = draw_explained(e, title="The structure", marks=marks, shown=range(len(marks)))
    reasons = [[reason_words(reason), effect_words(reason.contribution, e.logarithm)] for reason in e.reasons]
    said: dict[str, Said] = {
        "identity": ("", (("what", "value"), [[key, value] for key, value in facts.items()])),
        "structure": ("", None, False, drawing.svg),
        "date": date.today().isoformat(),
        "predicted": predicted,
        "model": f"isonn {__version__}. {_score(e)}",
        "domain": "This model has none.",
        "reasons": "No piece speaks for or against the prediction.",
    }
    if reasons:
        what = "Factors of the predicted number:" if e.logarithm else "Contributions to the score:"
        said["reasons"] = (what, (("piece", "factor" if e.logarithm else "contribution"), reasons))
    if rules is not None and e.target.exclusive and len(e.classes) == 2:
        said["rules"] = _second_opinion(e, rules, naming, endpoint)
    answer = f"{predicted}. {'' if e.domain is None else e.domain.text}".rstrip()
    of = f" of {endpoint}" if endpoint else ""
    title = f"Prediction{of} for {naming.noun} {name}" if name.isdecimal() else f"Prediction{of} for {name}"
    return Dossier(title, answer, fill_form("qprf", said | _trust(e, naming)))


def _score(explanation: Explanation) -> str:
    """Say from which base the reasons lead to the prediction."""
    e = explanation
    if e.logarithm:
        base = number_text(10**e.base, e.unit)
        return f"The number was learned as a logarithm. Base, before any part counts: {base}."
    return f"Score {signed(e.score)}, base {signed(e.base)}."


def _trust(explanation: Explanation, naming: Naming) -> dict[str, Said]:
    """Return the interval or set, the domain, what is new, and the nearest known cases, as far as there are such."""
    domain, row = explanation.domain, TrustRow(explanation, "", naming)
    said: dict[str, Said] = {"range": row.range}
    if domain is None:
        return said
    said["domain"] = f"{row.sentence} Distance {domain.distance:.2f}."
    said["neighbours"] = "The model keeps none (keep_examples)."
    if row.neighbours:
        said["neighbours"] = ("", (("known case", "true value", "similarity", "both have"), row.neighbours))
    if domain.unseen:
        pieces = [[piece.name, ", ".join(map(str, piece.nodes))] for piece in domain.unseen]
        said["unseen"] = ("", (("piece", "nodes"), pieces))
    return said


def _second_opinion(explanation: Explanation, rules: Sequence[str], naming: Naming, endpoint: str) -> str:
    """Say whether published alerts of mutagenicity and the model agree; for another endpoint, that they need not."""
    about = "The rules are 29 toxicophores of bacterial mutagenicity (isonn.molecules.toxicophores)."
    positive = explanation.classes.tolist()[positive_of(explanation.classes.tolist())]
    warned = f"The rules warn: {', '.join(rules)}" if rules else "No rule warns"
    predicted = f"the statistical model predicts {naming.class_(explanation.label)}"
    if not _MUTAGENICITY.search(endpoint):
        what = f"The model predicts {endpoint}" if endpoint else "The name of the model's target does not speak of it"
        return f"{about} {what}, so they are no second opinion on it. {warned}; {predicted}."
    verdict = "They agree." if (explanation.label == positive) == bool(rules) else "CONFLICT: an expert must decide."
    domain = explanation.domain
    if domain is not None and domain.verdict == "out":
        verdict += " The molecule is out of the model's domain, so its answer does not count as a second opinion."
    return f"{about} Class {positive} is taken as positive. {warned}; {predicted}. {verdict}"


def facts_of(row: Mapping[str, Any], standardised: str | None = None) -> dict[str, str]:
    """Return what the table of a molecule says about its structure.

    Args:
        row: its entries in `GraphSet.table`.
        standardised: the SMILES that the model sees, without stereochemistry.
    """
    names = {"smiles": "SMILES as given", "standardize": "standardisation", "changes": "changes by standardisation"}
    facts = {words: str(row[key]) or "none" for key, words in names.items() if key in row}
    return facts if standardised is None else {**facts, "SMILES as standardised": standardised}
