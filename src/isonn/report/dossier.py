"""The dossier of a model: a draft after the OECD's five principles and the headings of the QMRF.

The OECD asks of a model for regulatory use a defined endpoint, an unambiguous algorithm, a defined domain, measures of
fit and predictivity, and a mechanistic interpretation if possible. The QMRF (QSAR Model Reporting Format) has a heading
for each. isonn fills in what it knows; the rest comes from the user, or is marked as missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn import __version__
from isonn.errors import InputError
from isonn.experiments.validation import BOOTSTRAPS, SCRAMBLED_GRAPHS, Validation, refit_held_out, scramble
from isonn.explain.explanation import is_logarithm, output_names
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.target_column import unit_of
from isonn.graphs.isomorphism import graph_hashes
from isonn.report.page import render, write
from isonn.report.sections.units import told, unit_rows
from isonn.report.words import capitalized, effect_words, has_target
from isonn.seeding import numpy_stream
from isonn.targets import Target, as_y, positive_of

#: The first words of every dossier.
DRAFT = (
    "Nobody has reviewed this text, and it does not say whether the model may be used for a decision. Figures were "
    "computed by isonn from the data named below; entries marked as missing must be written by you."
)
MISSING = "to be written by you"
#: Molecules that are explained for the table of named parts, and parts that are listed for and against an output.
EXPLAINED, UNITS = 500, 10
#: Measures in the first sentence.
ANSWERED = 2


def _form(name: str) -> list[dict[str, Any]]:
    """Read the chapters of a form with their headings, and what stands under each.

    That is an entry of the user ("about.title"), a value that is computed ("date"), or nothing yet ("missing").
    """
    form: list[dict[str, Any]] = json.loads((files("isonn.report") / "html" / f"{name}.json").read_text("utf-8"))
    return form


#: What a user may say about a model (--about), with the heading it belongs to.
ABOUT = {
    key.removeprefix("about."): heading
    for chapter in _form("qmrf")
    for heading, key in chapter["entries"].items()
    if key.startswith("about.")
}
#: Columns and rows.
Table = tuple[Sequence[str], Sequence[Sequence[str]]]


@dataclass(frozen=True)
class Entry:
    """One heading of the dossier.

    Attributes:
        heading: its number and words in the QMRF.
        text: what is said there.
        table: columns and rows below it, or None.
        missing: whether the user has to write it.
        drawing: a picture of isonn's own, as SVG, or "".
    """

    heading: str
    text: str = ""
    table: Table | None = None
    missing: bool = False
    drawing: str = ""


@dataclass(frozen=True)
class Chapter:
    """A chapter of the QMRF with the principle of the OECD that it answers, or ""."""

    title: str
    entries: list[Entry]
    principle: str = ""


@dataclass(frozen=True, eq=False)
class Dossier:
    """The dossier of a model.

    Attributes:
        title: its heading.
        answer: what it says, in one sentence.
        chapters: the ten chapters of the QMRF.
        figures: everything that was computed, with the predictions it was computed from, as JSON.
    """

    title: str
    answer: str
    chapters: list[Chapter]
    figures: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def missing(self) -> list[str]:
        """The headings that the user has to write."""
        return [entry.heading for chapter in self.chapters for entry in chapter.entries if entry.missing]

    def to_html(self, path: str | Path) -> None:
        """Write the dossier as a page."""
        write(Path(path), render("dossier.html", dossier=self, draft=DRAFT, missing=MISSING))

    def to_json(self, path: str | Path) -> None:
        """Write the dossier with all predictions as JSON."""
        write(Path(path), json.dumps(self.as_json(), indent=1, ensure_ascii=False) + "\n")

    def as_json(self) -> dict[str, Any]:
        """Return the dossier as JSON."""
        said = {"title": self.title, "answer": self.answer, "chapters": [asdict(chapter) for chapter in self.chapters]}
        return {"format": "isonn-dossier-1", "draft": DRAFT, **said, **self.figures}


def write_dossier(
    model: Any,
    graphs: GraphSet,
    about: Mapping[str, str] | None = None,
    scaffolds: NDArray[Any] | None = None,
    alerts: Sequence[Mapping[str, Any]] = (),
) -> Dossier:
    """Compute the dossier of a subgraph model.

    Args:
        model: the fitted model.
        graphs: graphs with targets: those it was fitted to, and others as an external set; others are left out.
        about: entries of the user by key of `ABOUT`.
        scaffolds: the scaffold of each graph, for a harder validation; None leaves it out.
        alerts: rows of structural alerts.
    """
    measured = with_value(graphs)
    graphs, scaffolds = graphs[measured], None if scaffolds is None else scaffolds[measured]
    seen = model.seen_in_training(graphs)
    if not seen.any():
        raise InputError(f"the model was fitted to none of the {len(graphs)} graphs of {graphs.name}; give its data")
    training = graphs[seen]
    again, grouped = refit_held_out(model, training, "cross-validation in folds that keep equal graphs together")
    validations = {"fit": _direct(model, training, "predictions of the model for its own training graphs")}
    validations["grouped"] = grouped
    if scaffolds is not None and len(np.unique(scaffolds[seen])) > 1:
        how = "cross-validation in folds that keep the molecules of a Murcko scaffold together"
        validations["scaffold"] = refit_held_out(model, training, how, scaffolds[seen])[1]
    if not seen.all():
        new = graphs[~seen]
        validations["external"] = _direct(model, new, "predictions for graphs that are new to the model")
    scrambled = scramble(model.transform(training), _targets(training), model.target_, model.seed_)
    said: dict[str, Said] = {f"about.{key}": value for key, value in (about or {}).items()}
    said |= _algorithm(model, training, again) | _domain(model) | _validation(model, validations, scrambled)
    said["training"] = _training(training, model.target_.numeric)
    said |= {
        "software": f"isonn {__version__}, {type(model).__name__}",
        "date": date.today().isoformat(),
        "variable": _variable(model),
        "preprocessing": f"Molecules were standardised: {model.standardize_}." if model.standardize_ else "None.",
        "posterior": "A posteriori: pieces were weighed by the data, then named.",
        **({"parts": _units(model, training)} if model.kind_ == "molecules" else {"pieces": _pieces(model)}),
    }
    if alerts:
        rows = [[str(row.get(key, "")) for key in ("name", "smarts", "support", "hits", "precision")] for row in alerts]
        columns = ("alert", "SMARTS", "molecules", "of the class", "precision")
        said["alerts"] = ("From the linear part of the model.", (columns, rows))
    figures = {
        "target": model.target_.describe(),
        "seed": model.seed_,
        "validations": {name: validation.as_json() for name, validation in validations.items()},
        "scrambling": scrambled,
    }
    title = (about or {}).get("title", f"A model of {graphs.name}")
    return Dossier(title, _answer(model, grouped), fill_form("qmrf", said), figures)


def with_value(graphs: GraphSet) -> NDArray[np.bool_]:
    """Return which graphs have a target, or one of several, shape (g,); raise `InputError` if none has."""
    known = np.zeros(0, dtype=bool) if graphs.y is None else has_target(_targets(graphs)).reshape(len(graphs), -1)
    if not known.any():
        raise InputError(f"{graphs.name} has no targets to validate the model with; name their column as target")
    return np.asarray(known.any(axis=1))


def _figure(value: float) -> str:
    if not np.isfinite(value):
        return "not defined"
    # an error has the unit of the target, and may be of any size
    return f"{value:.3f}" if value == 0 or 0.01 <= abs(value) < 1000 else f"{value:.3g}"


def _interval(low: float, high: float) -> str:
    return f"{_figure(low)} to {_figure(high)}" if np.isfinite(low) else "not defined"


def _measure(model: Any, name: str, learned: bool = False) -> str:
    """Return the name of a measure; R² with its scale, which is that of the data, or the one that was learned."""
    target = model.target_
    if name != "R²":
        return name
    if learned and target.logs.any():
        return f"{name} (of logarithms{'' if target.logs.all() else ' where they were learned'})"
    names = list(model.label_names_.get("target", {}).values())
    unit = unit_of(names[0]) if len(names) == 1 else ""
    return f"{name} (of values in {unit})" if unit else f"{name} (of values as given)"


def _answer(model: Any, validation: Validation) -> str:
    """Return the first measures of a validation in a sentence."""
    measures = [
        f"{_measure(model, name)} {_figure(value)} ({_interval(low, high)})"
        for name, (value, low, high) in validation.metrics.items()
    ]
    return f"In {validation.how} ({len(validation.rows):,} graphs): {', '.join(measures[:ANSWERED])}."


def check_about(content: Mapping[str, Any], source: str) -> dict[str, str]:
    """Return what the user says about a model; raise `InputError` for unknown entries and values that are no text."""
    for key, value in content.items():
        if key not in ABOUT:
            raise InputError(f"{source} has the entry {key!r:.60}, which is unknown; use {', '.join(ABOUT)}")
        if not isinstance(value, str):
            raise InputError(f"{key} in {source} is {value!r:.60}; write it as text in quotes")
    return dict(content)


#: A text, with the table below it if there is one; or the values of `Entry` after its heading.
Said = str | tuple[str, Table] | tuple[str, None, bool, str]


def fill_form(name: str, said: Mapping[str, Said]) -> list[Chapter]:
    """Fill in a form, "qmrf" or "qprf"; what the user has to write is marked, and what does not apply is left out."""
    chapters = []
    for chapter in _form(name):
        entries = []
        for heading, key in chapter["entries"].items():
            value = said.get(key)
            if value:
                entries.append(Entry(heading, *([value] if isinstance(value, str) else value)))
            elif key == "missing" or key.startswith("about."):
                entries.append(Entry(heading, MISSING, missing=True))
        chapters.append(Chapter(chapter["title"], entries, chapter["principle"]))
    return [chapter for chapter in chapters if chapter.entries]


def _direct(model: Any, graphs: GraphSet, how: str) -> Validation:
    target, answers = model.target_, model._all_answers(graphs)
    truth, rows = target.encode(_targets(graphs)), np.arange(len(graphs))
    groups = np.unique(graph_hashes(graphs), return_inverse=True)[1].reshape(-1)
    return Validation.of(how, rows, groups, truth, answers, target, model.seed_)


def _variable(model: Any) -> str:
    target, names = model.target_, list(model.label_names_.get("target", {}).values())
    kind = "a number" if target.numeric else "one class" if target.exclusive else "several labels"
    said = f"{', '.join(names) or 'y'}: {kind} per graph"
    if target.numeric:
        return said + (", learned as a base-10 logarithm" if _logarithms(target) else "")
    return f"{said} ({', '.join(map(str, target.classes.tolist()))})"


def _algorithm(model: Any, training: GraphSet, again: Any) -> dict[str, Said]:
    rows = [[name, str(value)] for name, value in model.get_params(deep=False).items() if name != "random_state"]
    rows.append(["random_state", str(model.seed_)])
    heads = {"linear": "sums of features (ridge regression)", "trees": "logic (boosted trees)"}
    weights = model.weights_ if "linear" in model.weights_ or "trees" in model.weights_ else {}
    shares = "; ".join(f"{100 * share:.0f} % {heads.get(name, name)}" for name, share in weights.items())
    difference = float(np.abs(again._all_answers(training) - model._all_answers(training)).max())
    same = "equal" if difference < 1e-9 else f"within {difference:.2g} of"
    return {
        "type": f"Statistical model on counts of subgraphs, head {model.head!r}. {shares}",
        "settings": ("All settings and the seed:", (("setting", "value"), rows)),
        "descriptors": f"{len(model.templates_):,} connected subgraphs of up to {model.max_nodes_} nodes that at least "
        f"{model.min_support} training graphs contain, and sizes.",
        "selection": "None by the endpoint: all such subgraphs are used.",
        "refit": f"isonn {__version__}; a second fit, to the {len(training):,} graphs of the data that it knows, "
        f"gave predictions {same} the first.",
        "ratio": f"{len(training) / max(1, len(model.templates_)):.3g}; ridge penalty and trees limit the weights.",
    }


def _domain(model: Any) -> dict[str, Said]:
    trust = getattr(model, "_trust", None)
    if trust is None:
        return {"domain": "This model has no domain (short list)."}
    from isonn.subgraphs.terms import terms_of

    names = [name for group in terms_of(model.kind_) for name in group.names]
    limits = zip(names, trust.limits.low.tolist(), trust.limits.high.tolist(), strict=True)
    ranges = [[name, f"{low:.4g}", f"{high:.4g}"] for name, low, high in limits if high > low]
    borderline, out = trust.limits.distances.tolist()
    return {
        "domain": "Distance from the nearest training graphs by weighted counts, and their held-out errors; unseen "
        f"pieces and kinds of nodes. Borderline from distance {borderline:.3f}, out from {out:.3f}, calibrated on "
        "held-out errors.",
        "domain_software": f"isonn {__version__}, est.domain(X), isonn predict --domain",
        "limits": ("Range of each whole-graph term:", (("term", "lowest", "highest"), ranges)),
    }


def _validation(model: Any, validations: Mapping[str, Validation], scrambled: Mapping[str, Any]) -> dict[str, Said]:
    said: dict[str, Said] = {}
    for name, validation in validations.items():
        rows = [
            [_measure(model, key), _figure(v), _interval(low, high)]
            for key, (v, low, high) in validation.metrics.items()
        ]
        words = f"{capitalized(validation.how)}; {len(validation.rows):,} graphs."
        said[name] = (words, (("measure", "value", "95 % interval"), rows))
    external = validations.get("external")
    return said | {
        "scrambled": f"Linear head, leave-one-out in closed form on {scrambled['graphs']:,} distinct graphs (at most "
        f"{SCRAMBLED_GRAPHS:,}): {_measure(model, scrambled['measure'], learned=True)} {scrambled['value']:.3f}; with "
        f"{len(scrambled['scrambled'])} times scrambled targets {np.mean(scrambled['scrambled']):.3f} on average and "
        f"{np.max(scrambled['scrambled']):.3f} at most, p = {scrambled['p']:.3f}.",
        "bootstrap": f"95 % intervals are of {BOOTSTRAPS} bootstrap samples, which draw whole groups.",
        "external_set": "All graphs of the data were used for fitting: not available."
        if external is None
        else f"{len(external.rows):,} graphs of the data that the model was not fitted to.",
    }


def _training(graphs: GraphSet, numeric: bool) -> str:
    repeats, y = len(graphs) - len(np.unique(graph_hashes(graphs))), _targets(graphs)
    if numeric:
        counts = f"Values from {np.nanmin(y):.4g} to {np.nanmax(y):.4g}, mean {np.nanmean(y):.4g}"
    elif y.ndim == 2:
        counts = f"{y.shape[1]} labels; positive: {', '.join(str(int(np.nansum(column))) for column in y.T)}"
    else:
        values, numbers = np.unique(y, return_counts=True)
        counts = "; ".join(f"class {v}: {n:,}" for v, n in zip(values.tolist(), numbers.tolist(), strict=True))
    return f"{graphs.name}: {len(graphs):,} graphs, of which {repeats:,} repeat others. {counts}."


def _units(model: Any, graphs: GraphSet) -> Said:
    """List the named units that a report lists, over a sample of the training molecules."""
    target = model.target_
    sample = np.sort(numpy_stream(model.seed_, "units").permutation(len(graphs))[:EXPLAINED])
    explained = [(i, model.explain(graphs[i : i + 1], top=0)) for i in sample.tolist()]
    two = target.exclusive and len(target.classes) == 2
    given = output_names(target, model.label_names_)
    names, y = [str(given.get(value, value)) for value in target.classes.tolist()], _targets(graphs)
    rows, skeletons = [], set()
    for column in [positive_of(target.classes.tolist())] if two else range(target.outputs):
        every = unit_rows(explained, column)
        skeletons |= {row.text for row in every if row.skeleton}
        for row in [*told(every, 1, UNITS), *told(every, -1, UNITS)]:
            held = f"{len(row.graphs)} of {len(sample)}"
            if two:
                held += f", {int((y[list(row.graphs)] == target.classes[column]).sum())} of them {names[column]}"
            mean, low, high = (
                effect_words(value, is_logarithm(target, column)) for value in (row.mean, row.low, row.high)
            )
            rows.append([names[column], row.text, f"{mean} ({low} to {high})", held])
    words = (
        f"Contributions of named parts to the score of the model, which saw these molecules, over {len(sample)} "
        "of them, with 95 % intervals of the mean. They count from an empty molecule, so other parts of a molecule may "
        "outweigh them."
    )
    if skeletons:
        words += f" Left out, because they are the size of a molecule: {', '.join(sorted(skeletons))}."
    if _logarithms(target):
        words += " Signs \u00d7 and \u00f7 are factors of a number that was learned as a logarithm."
    return words, ((_column(model), "part", "mean contribution", "molecules"), rows)


def _pieces(model: Any) -> Said:
    rows = []
    for explained, reasons in model.reasons_.items():
        for reason in reasons[:UNITS]:
            counts = "; ".join(f"{held} of {of} in {name}" for name, (held, of) in reason.graphs.items())
            rows.append([str(explained), reason.text, counts])
    return "", ((_column(model), "piece", "training graphs that have it"), rows)


def _logarithms(target: Target) -> bool:
    return any(is_logarithm(target, column) for column in range(target.outputs))


def _column(model: Any) -> str:
    return "column" if model.target_.numeric else "class" if model.target_.exclusive else "label"


def _targets(graphs: GraphSet) -> NDArray[Any]:
    assert graphs.y is not None
    return as_y(graphs.y, len(graphs))
