"""The dossier of one prediction: a draft under the headings of the QPRF (QSAR Prediction Reporting Format)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from isonn import __version__
from isonn.explain.explanation import Explanation
from isonn.report.dossier import MISSING, Chapter, Dossier, Entry
from isonn.report.draw import draw_explained
from isonn.report.panels import reason_marks
from isonn.report.sections.trust import trust_row
from isonn.report.words import Naming, reason_words, signed


def prediction_dossier(
    explanation: Explanation, name: str, facts: Mapping[str, str], rules: Sequence[str] | None = None
) -> Dossier:
    """Write the dossier of one prediction.

    Args:
        explanation: of the prediction, by a subgraph model.
        name: of the graph.
        facts: what is known about its structure, such as SMILES as given and as standardised.
        rules: names of the published alerts that the molecule has, for a second opinion on two classes; None if there
            are no rules for the endpoint.
    """
    naming = Naming.of_explanation(explanation)
    chapters = [
        Chapter("1. Substance", _substance(explanation, facts)),
        Chapter(
            "2. General information",
            [
                Entry("2.1 Date of the dossier", date.today().isoformat()),
                Entry("2.2 Author and contact", MISSING, missing=True),
            ],
        ),
        Chapter("3. Prediction", _prediction(explanation, naming), "Principles 1 and 2"),
        Chapter("4. Domain and uncertainty", _domain(explanation, naming), "Principles 3 and 4"),
        Chapter("5. Reasons", _reasons(explanation), "Principle 5"),
    ]
    if rules is not None and explanation.target.exclusive and len(explanation.classes) == 2:
        chapters.append(Chapter("6. Second opinion", [_second_opinion(explanation, rules, naming)], "After ICH M7"))
    adequacy = Entry("7.1 Purpose, and whether the prediction is adequate for it", MISSING, missing=True)
    return Dossier(f"Prediction for {name}", [*chapters, Chapter("7. Adequacy", [adequacy])], {})


def _substance(explanation: Explanation, facts: Mapping[str, str]) -> list[Entry]:
    marks = reason_marks(explanation.reasons[:1])
    drawing = draw_explained(explanation, title="The structure", marks=marks, shown=range(len(marks)))
    rows = [[key, value] for key, value in facts.items()]
    picture = Entry("1.2 Structure, with the strongest reason highlighted", drawing=drawing.svg)
    return [Entry("1.1 Identity", "", (("what", "value"), rows)), picture]


def _prediction(explanation: Explanation, naming: Naming) -> list[Entry]:
    answer = float(explanation.probabilities[explanation.column])
    if explanation.target.numeric:
        said = f"{naming.target(explanation.explained)}: {answer:.3g}"
    else:
        said = f"{naming.class_(explanation.label)}, probability {answer:.3f}"
    score = f"Score {signed(explanation.score)}, base {signed(explanation.base)}"
    return [Entry("3.1 Predicted value", said), Entry("3.2 Model", f"isonn {__version__}. {score}.")]


def _domain(explanation: Explanation, naming: Naming) -> list[Entry]:
    domain, row = explanation.domain, trust_row(explanation, "", naming, None)
    entries = [Entry("4.1 With 90 % probability", row.range)] if row.range else []
    if domain is None:
        return [*entries, Entry("4.2 Domain", "This model has none.")]
    entries.append(Entry("4.2 Domain", row.sentence))
    if domain.unseen:
        pieces = [[piece.name, ", ".join(map(str, piece.nodes))] for piece in domain.unseen]
        entries.append(Entry("4.3 Pieces that no training graph has", "", (("piece", "nodes"), pieces)))
    if not row.neighbours:
        return [*entries, Entry("4.4 Nearest known cases", "The model keeps none (keep_examples).")]
    columns = ("known case", "true value", "similarity", "both have")
    return [*entries, Entry("4.4 Nearest known cases", "", (columns, row.neighbours))]


def _reasons(explanation: Explanation) -> list[Entry]:
    rows = [[reason_words(reason), signed(reason.contribution)] for reason in explanation.reasons]
    if not rows:
        return [Entry("5.1 Strongest reasons", "No piece speaks for or against the prediction.")]
    return [Entry("5.1 Strongest reasons", "Contributions to the score:", (("piece", "contribution"), rows))]


def _second_opinion(explanation: Explanation, rules: Sequence[str], naming: Naming) -> Entry:
    positive = bool(explanation.label == explanation.classes[1])
    warned = f"The rules warn: {', '.join(rules)}" if rules else "No rule warns"
    predicted = f"the statistical model predicts {naming.class_(explanation.label)}"
    verdict = "They agree." if positive == bool(rules) else "CONFLICT: an expert must decide."
    domain = explanation.domain
    if domain is not None and domain.verdict == "out":
        verdict += " The molecule is out of the model's domain, so its answer does not count as a second opinion."
    about = (
        "The rules are 29 toxicophores of bacterial mutagenicity (isonn.molecules.toxicophores). For another endpoint "
        f"they mean nothing; class {explanation.classes[1]!s} is taken as positive."
    )
    return Entry("6.1 Alert rules beside the statistical model", f"{warned}; {predicted}. {verdict} {about}")


def facts_of(row: Mapping[str, Any], standardised: str | None = None) -> dict[str, str]:
    """Return what the table of a molecule says about its structure.

    Args:
        row: its entries in `GraphSet.table`.
        standardised: the SMILES that the model sees, without stereochemistry.
    """
    names = {"smiles": "SMILES as given", "standardize": "standardisation", "changes": "changes by standardisation"}
    facts = {words: str(row[key]) or "none" for key, words in names.items() if key in row}
    return facts if standardised is None else {**facts, "SMILES as standardised": standardised}
