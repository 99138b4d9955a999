"""The dossier of a model: a draft after the OECD's five principles and the headings of the QMRF.

The OECD asks of a model for regulatory use a defined endpoint, an unambiguous algorithm, a defined domain, measures of
fit and predictivity, and a mechanistic interpretation if possible. The QMRF (QSAR Model Reporting Format) has a heading
for each. isonn fills in what it knows; the rest comes from the user, or is marked as missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn import __version__
from isonn.errors import InputError
from isonn.experiments.validation import BOOTSTRAPS, SCRAMBLED_GRAPHS, Validation, refit_held_out, scramble
from isonn.graphs.graph import GraphSet
from isonn.graphs.isomorphism import graph_hashes
from isonn.report.page import render, write
from isonn.report.unit_table import unit_rows
from isonn.seeding import numpy_stream
from isonn.targets import as_y

#: The first words of every dossier.
DRAFT = (
    "Nobody has reviewed this text, and it does not say whether the model may be used for a decision. Figures were "
    "computed by isonn from the data named below; entries marked as missing must be written by you."
)
MISSING = "to be written by you"
#: Molecules that are explained for the table of named parts, and parts that are listed for an output.
EXPLAINED, UNITS = 500, 10

#: What a user may say about a model (--about), with the heading it belongs to.
ABOUT = {
    "title": "1.1 Title of the model",
    "related": "1.2 Other related models",
    "authors": "2.2 Authors of the dossier and contact",
    "developers": "2.5 Developers of the model and contact",
    "reference": "2.7 References to scientific papers",
    "species": "3.1 Species",
    "endpoint": "3.2 Endpoint",
    "endpoint_comment": "3.3 Comment on the endpoint",
    "units": "3.4 Units",
    "protocol": "3.6 Experimental protocol",
    "data_quality": "3.7 Quality and variability of the data",
    "domain_comment": "5.1 Comment on the domain",
    "training_set": "6.1 Availability of the training set",
    "external_set": "7.1 Availability of an external validation set",
    "mechanism": "8.1 Mechanistic basis of the model",
    "comments": "9.1 Comments",
    "bibliography": "9.2 Bibliography",
}


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
    table: tuple[Sequence[str], Sequence[Sequence[str]]] | None = None
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
        title: of the model.
        chapters: the ten chapters of the QMRF.
        figures: everything that was computed, with the predictions it was computed from, as JSON.
    """

    title: str
    chapters: list[Chapter]
    figures: dict[str, Any] = field(repr=False)

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
        chapters = [
            {
                "title": chapter.title,
                "principle": chapter.principle,
                "entries": [
                    {"heading": e.heading, "text": e.text, "table": e.table, "missing": e.missing}
                    for e in chapter.entries
                ],
            }
            for chapter in self.chapters
        ]
        return {"format": "isonn-dossier-1", "draft": DRAFT, "title": self.title, "chapters": chapters, **self.figures}


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
        graphs: graphs with targets: those it was fitted to, and others as an external set.
        about: entries of the user by key of `ABOUT`.
        scaffolds: the scaffold of each graph, for a harder validation; None leaves it out.
        alerts: rows of structural alerts.
    """
    return _Writer(model, graphs, dict(about or {}), scaffolds, alerts).dossier()


def check_about(content: Mapping[str, Any], source: str) -> dict[str, str]:
    """Return what the user says about a model; raise `InputError` for unknown entries and values that are no text."""
    for key, value in content.items():
        if key not in ABOUT:
            raise InputError(f"{source} has the entry {key!r:.60}, which is unknown; use {', '.join(ABOUT)}")
        if not isinstance(value, str):
            raise InputError(f"{key} in {source} is {value!r:.60}; write it as text in quotes")
    return dict(content)


class _Writer:
    """Computes the figures first, then writes the chapters."""

    def __init__(
        self,
        model: Any,
        graphs: GraphSet,
        about: dict[str, str],
        scaffolds: NDArray[Any] | None,
        alerts: Sequence[Mapping[str, Any]],
    ) -> None:
        self.model, self.about, self.alerts = model, about, alerts
        self.seen = model.seen_in_training(graphs)
        if not self.seen.any():
            raise InputError(
                f"the model was fitted to none of the {len(graphs)} graphs of {graphs.name}; give its data"
            )
        self.graphs, self.new = graphs[self.seen], None if self.seen.all() else graphs[~self.seen]
        self.again, self.grouped = refit_held_out(
            model, self.graphs, "cross-validation in folds that keep equal graphs together"
        )
        self.by_scaffold = None
        if scaffolds is not None and len(np.unique(scaffolds[self.seen])) > 1:
            self.by_scaffold = refit_held_out(
                model,
                self.graphs,
                "cross-validation in folds that keep the molecules of a Murcko scaffold together",
                scaffolds[self.seen],
            )[1]
        self.fit = self._direct(self.graphs, "predictions of the model for its own training graphs")
        self.external = None
        if self.new is not None:
            self.external = self._direct(self.new, "predictions for graphs that are new to the model")
        self.scrambled = scramble(model.transform(self.graphs), _targets(self.graphs), model.target_, model.seed_)

    def _direct(self, graphs: GraphSet, how: str) -> Validation:
        target = self.model.target_
        answers = self.model._all_answers(graphs)
        truth, rows = target.encode(_targets(graphs)), np.arange(len(graphs))
        groups = np.unique(graph_hashes(graphs), return_inverse=True)[1].reshape(-1)
        return Validation.of(how, rows, groups, truth, answers, target, self.model.seed_)

    def dossier(self) -> Dossier:
        chapters = [
            self._identifier(),
            self._general(),
            self._endpoint(),
            self._algorithm(),
            self._domain(),
            self._internal(),
            self._external(),
            self._mechanism(),
            Chapter("9. Miscellaneous information", [self._said("comments"), self._said("bibliography")]),
            Chapter("10. Summary", [Entry("10.1 Summary", MISSING, missing=True)]),
        ]
        validations = {
            "fit": self.fit,
            "grouped": self.grouped,
            "scaffold": self.by_scaffold,
            "external": self.external,
        }
        figures = {
            "target": self.model.target_.describe(),
            "seed": self.model.seed_,
            "validations": {name: one.as_json() for name, one in validations.items() if one is not None},
            "scrambling": self.scrambled,
        }
        return Dossier(self.about.get("title", "A model of isonn"), chapters, figures)

    def _said(self, key: str) -> Entry:
        given = self.about.get(key)
        return Entry(ABOUT[key], given or MISSING, missing=not given)

    def _identifier(self) -> Chapter:
        software = Entry("1.3 Software", f"isonn {__version__}, {type(self.model).__name__}")
        return Chapter("1. Identifier", [self._said("title"), self._said("related"), software])

    def _general(self) -> Chapter:
        today = Entry("2.1 Date of the dossier", date.today().isoformat())
        return Chapter(
            "2. General information", [today, self._said("authors"), self._said("developers"), self._said("reference")]
        )

    def _endpoint(self) -> Chapter:
        target, names = self.model.target_, list(self.model.label_names_.get("target", {}).values())
        kind = "a number" if target.numeric else "one class" if target.exclusive else "several labels"
        said = f"{', '.join(names) or 'y'}: {kind} per graph"
        if target.numeric and target.logs.any():
            said += ", learned as a base-10 logarithm"
        elif not target.numeric:
            said += f" ({', '.join(map(str, target.classes.tolist()))})"
        entries = [self._said(key) for key in ("species", "endpoint", "endpoint_comment", "units")]
        entries += [Entry("3.5 Dependent variable", said), self._said("protocol"), self._said("data_quality")]
        return Chapter("3. Endpoint", entries, "Principle 1: a defined endpoint")

    def _algorithm(self) -> Chapter:
        model, settings = self.model, self.model.get_params(deep=False)
        rows = [[name, str(value)] for name, value in settings.items() if name != "random_state"]
        rows.append(["random_state", str(model.seed_)])
        sizes = f"{len(model.templates_):,} connected subgraphs of up to {model.max_nodes_} nodes"
        heads = {"linear": "sums of features (ridge regression)", "trees": "logic (boosted trees)"}
        weights = model.weights_ if "linear" in model.weights_ or "trees" in model.weights_ else {}
        shares = "; ".join(f"{100 * share:.0f} % {heads.get(name, name)}" for name, share in weights.items())
        difference = float(np.abs(self.again._all_answers(self.graphs) - model._all_answers(self.graphs)).max())
        same = "equal" if difference < 1e-9 else f"within {difference:.2g} of"
        ratio = len(self.graphs) / max(1, len(model.templates_))
        entries = [
            Entry("4.1 Type of model", f"Statistical model on counts of subgraphs, head {model.head!r}. {shares}"),
            Entry("4.2 Explicit algorithm", "All settings and the seed:", (("setting", "value"), rows)),
            Entry("4.3 Descriptors", f"{sizes} that at least {model.min_support} training graphs contain, and sizes."),
            Entry("4.4 Selection of descriptors", "None by the endpoint: all such subgraphs are used."),
            Entry(
                "4.6 Software",
                f"isonn {__version__}; a second fit, to the {len(self.graphs):,} graphs of the data that the model "
                f"knows, gave predictions {same} the first.",
            ),
            Entry("4.7 Training graphs per descriptor", f"{ratio:.3g}; ridge penalty and trees limit the weights."),
        ]
        return Chapter("4. Algorithm", entries, "Principle 2: an unambiguous algorithm")

    def _domain(self) -> Chapter:
        trust = getattr(self.model, "_trust", None)
        if trust is None:
            entries = [self._said("domain_comment"), Entry("5.2 Method", "This model has no domain (short list).")]
            return Chapter("5. Domain", entries, _DOMAIN)
        from isonn.subgraphs.terms import terms_of

        names = [name for group in terms_of(self.model.kind_) for name in group.names]
        limits = zip(names, trust.limits.low.tolist(), trust.limits.high.tolist(), strict=True)
        ranges = [[name, f"{low:.4g}", f"{high:.4g}"] for name, low, high in limits if high > low]
        borderline, out = trust.limits.distances.tolist()
        method = (
            "Distance from the nearest training graphs by weighted counts, and their held-out errors; unseen pieces "
            f"and kinds of nodes. Borderline from distance {borderline:.3f}, out from {out:.3f}, calibrated on "
            "held-out errors."
        )
        entries = [
            self._said("domain_comment"),
            Entry("5.2 Method", method),
            Entry("5.3 Software", f"isonn {__version__}, est.domain(X), isonn predict --domain"),
            Entry("5.4 Limits", "Range of each whole-graph term:", (("term", "lowest", "highest"), ranges)),
        ]
        return Chapter("5. Domain of applicability", entries, _DOMAIN)

    def _internal(self) -> Chapter:
        repeats = len(self.graphs) - len(np.unique(graph_hashes(self.graphs)))
        data = f"{self.graphs.name}: {len(self.graphs):,} graphs, of which {repeats:,} repeat others. {self._counts()}"
        scrambled, how = self.scrambled, "Linear head, leave-one-out in closed form"
        words = (
            f"{how} on {scrambled['graphs']:,} distinct graphs (at most {SCRAMBLED_GRAPHS:,}): {scrambled['measure']} "
            f"{scrambled['value']:.3f}; with {len(scrambled['scrambled'])} times scrambled targets "
            f"{np.mean(scrambled['scrambled']):.3f} on average and {np.max(scrambled['scrambled']):.3f} at most, "
            f"p = {scrambled['p']:.3f}."
        )
        entries = [
            self._said("training_set"),
            Entry("6.5 Training set", data),
            Entry("6.6 Preprocessing", self._preprocessing()),
            _metrics("6.7 Goodness of fit", self.fit),
            _metrics("6.9 Robustness, folds of equal graphs", self.grouped),
        ]
        if self.by_scaffold is not None:
            entries.append(_metrics("6.9 Robustness, folds of scaffolds", self.by_scaffold))
        intervals = f"95 % intervals are of {BOOTSTRAPS} bootstrap samples, which draw whole groups."
        entries += [Entry("6.10 Scrambled targets", words), Entry("6.11 Bootstrap", intervals)]
        return Chapter("6. Internal validation", entries, _FIT)

    def _external(self) -> Chapter:
        entries = [self._said("external_set")]
        if self.external is None or self.new is None:
            entries.append(Entry("7.5 External set", "All graphs of the data were used for fitting: not available."))
        else:
            data = f"{len(self.new):,} graphs of the data that the model was not fitted to."
            entries += [Entry("7.5 External set", data), _metrics("7.6 Predictivity", self.external)]
        return Chapter("7. External validation", entries, _FIT)

    def _mechanism(self) -> Chapter:
        entries = [
            self._said("mechanism"),
            Entry("8.2 A priori or a posteriori", "A posteriori: pieces were weighed by the data, then named."),
            self._units() if self.model.kind_ == "molecules" else self._pieces(),
        ]
        if self.alerts:
            alerts = [_alert_row(row) for row in self.alerts]
            columns = ("alert", "SMARTS", "molecules", "of the class", "precision")
            entries.append(Entry("8.3 Structural alerts", "From the linear part of the model.", (columns, alerts)))
        return Chapter(
            "8. Mechanistic interpretation", entries, "Principle 5: a mechanistic interpretation, if possible"
        )

    def _units(self) -> Entry:
        """List the named units with the largest sums of contributions, over a sample of the training molecules."""
        target, graphs = self.model.target_, self.graphs
        sample = np.sort(numpy_stream(self.model.seed_, "units").permutation(len(graphs))[:EXPLAINED])
        explained = [(i, self.model.explain(graphs[i : i + 1], top=0)) for i in sample.tolist()]
        two = target.exclusive and len(target.classes) == 2
        names, y = self._output_names(), _targets(graphs)
        rows = []
        for column in [1] if two else range(target.outputs):
            for row in unit_rows(explained, column)[:UNITS]:
                held = f"{len(row.graphs)} of {len(sample)}"
                if two:
                    held += f", {int((y[list(row.graphs)] == target.classes[1]).sum())} of them {names[1]}"
                rows.append([names[column], row.text, f"{row.mean:+.3f} ({row.low:+.3f} to {row.high:+.3f})", held])
        words = (
            f"Contributions of named parts to the score of the model, which saw these molecules, over {len(sample)} "
            "of them, with 95 % intervals of the mean."
        )
        return Entry("8.3 Named parts", words, ((self._column, "part", "mean contribution", "molecules"), rows))

    def _pieces(self) -> Entry:
        rows = []
        for explained, reasons in self.model.reasons_.items():
            for reason in reasons[:UNITS]:
                counts = "; ".join(f"{held} of {of} in {name}" for name, (held, of) in reason.graphs.items())
                rows.append([str(explained), reason.text, counts])
        return Entry(
            "8.3 Pieces that mark each class", "", ((self._column, "piece", "training graphs that have it"), rows)
        )

    @property
    def _column(self) -> str:
        return "column" if self.model.target_.numeric else "class" if self.model.target_.exclusive else "label"

    def _output_names(self) -> list[str]:
        names = self.model.label_names_.get("class" if self.model.target_.exclusive else "target", {})
        return [str(names.get(value, value)) for value in self.model.target_.classes.tolist()]

    def _counts(self) -> str:
        y = _targets(self.graphs)
        if self.model.target_.numeric:
            return f"Values from {np.nanmin(y):.4g} to {np.nanmax(y):.4g}, mean {np.nanmean(y):.4g}."
        if y.ndim == 2:
            return f"{y.shape[1]} labels; positive: {', '.join(str(int(np.nansum(column))) for column in y.T)}."
        values, counts = np.unique(y, return_counts=True)
        return "; ".join(f"class {v}: {n:,}" for v, n in zip(values.tolist(), counts.tolist(), strict=True)) + "."

    def _preprocessing(self) -> str:
        how = getattr(self.model, "standardize_", None)
        return f"Molecules were standardised: {how}." if how else "None."


_DOMAIN = "Principle 3: a defined domain of applicability"
_FIT = "Principle 4: measures of goodness of fit, robustness and predictivity"


def _targets(graphs: GraphSet) -> NDArray[Any]:
    assert graphs.y is not None
    return as_y(graphs.y, len(graphs))


def _metrics(heading: str, validation: Validation) -> Entry:
    rows = [[name, f"{v:.3f}", f"{low:.3f} to {high:.3f}"] for name, (v, low, high) in validation.metrics.items()]
    words = f"{validation.how[0].upper()}{validation.how[1:]}; {len(validation.rows):,} graphs."
    return Entry(heading, words, (("measure", "value", "95 % interval"), rows))


def _alert_row(row: Mapping[str, Any]) -> list[str]:
    return [str(row.get(key, "")) for key in ("name", "smarts", "support", "hits", "precision")]
