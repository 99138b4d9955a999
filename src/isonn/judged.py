"""How sure a prediction is: intervals, sets of classes and the domain, as methods of estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isonn.conformal import Conformal, check_coverage
from isonn.domain import Assessment, Domain
from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.graphs.stream import GraphStream
from isonn.packing import Floats
from isonn.targets import Target


class Judged:
    """Methods of estimators that say how sure a prediction is.

    A model with held-out errors sets ``_conformal`` and implements ``_judge``; others refuse with a sentence.
    """

    #: The held-out scores behind intervals and sets; None if the model has none.
    _conformal: Conformal | None = None

    if TYPE_CHECKING:  # of the estimator
        target_: Target
        label_names_: dict[str, dict[Any, str]]

        def _require_fit(self) -> bool: ...
        def _checked(self, X: Any, method: str = "predict") -> GraphSet: ...
        def _all_answers(self, X: Any) -> NDArray[np.float64]: ...

    def predict_interval(self, X: Any, coverage: float = 0.9) -> NDArray[np.float64]:
        """Return an interval for each number that contains the truth with probability ``coverage``.

        Intervals are in the units of ``y`` and wider for graphs whose nearest training graphs were predicted badly. See
        `isonn.conformal` for the method and what it assumes.

        Args:
            X: graphs.
            coverage: between 0 and 1. With fewer than coverage / (1 - coverage) training graphs, or groups, intervals
                are infinite, with a warning.

        Returns:
            ndarray of shape (g, 2), lowest and highest value; (g, t, 2) for several columns.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> reg = isonn.SubgraphRegressor(head="linear", random_state=0).fit(graphs[:150], graphs.sizes[:150] * 1.0)
            >>> low, high = reg.predict_interval(graphs[150:]).T
            >>> bool((low <= high).all())
            True
        """
        conformal, coverage = self._require_conformal(True), check_coverage(coverage)
        if isinstance(X, GraphStream):
            return np.concatenate([self.predict_interval(chunk, coverage) for chunk in X])
        outputs, signals, _ = self._judge(self._checked(X))
        return self._interval(conformal, outputs, coverage, signals)

    def predict_set(self, X: Any, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Return a set of classes for each graph that contains the true one with probability ``coverage``.

        This holds for each class by itself, however rare. A set of several classes says that the model cannot decide,
        an empty one that the graph is typical of no class.

        Args:
            X: graphs.
            coverage: between 0 and 1. A class with fewer than coverage / (1 - coverage) training graphs, or groups, is
                in every set, with a warning.

        Returns:
            ndarray of booleans: (g, classes); for several labels (g, labels, 2), whether the set holds absence and
            presence.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(head="linear", random_state=0).fit(graphs[:150])
            >>> clf.predict_set(graphs[150:]).shape
            (38, 2)
        """
        conformal, coverage = self._require_conformal(False), check_coverage(coverage)
        return conformal.sets(self._all_answers(X), coverage, self.target_, self.label_names_.get("target"))

    def assess(self, X: Any, coverage: float = 0.9) -> Assessment:
        """Predict graphs with intervals or sets and their domain in one pass, as far as the model has them.

        Args:
            X: graphs.
            coverage: of intervals and sets.

        Returns:
            `isonn.domain.Assessment`: answers, intervals or sets, and the domain; what the model does not have is None.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(head="linear", random_state=0).fit(graphs[:150])
            >>> assessment = clf.assess(graphs[150:])
            >>> assessment.answers.shape, assessment.sets.shape, len(assessment.domain)
            ((38, 2), (38, 2), 38)
        """
        self._require_fit()
        coverage = check_coverage(coverage)
        graphs = self._checked(X, "assess")
        if self._conformal is None:
            return Assessment(self._all_answers(graphs), coverage)
        outputs, signals, domain = self._judge(graphs)
        answers = self.target_.link(outputs)
        if self.target_.numeric:
            interval = self._interval(self._conformal, outputs, coverage, signals)
            return Assessment(answers, coverage, interval, None, domain)
        sets = self._conformal.sets(answers, coverage, self.target_, self.label_names_.get("target"))
        return Assessment(answers, coverage, None, sets, domain)

    def domain(self, X: Any) -> Domain:
        """Return whether the model knows such graphs; subgraph models do, others raise `InputError`.

        Args:
            X: graphs.

        Returns:
            `isonn.domain.Domain`, one entry per graph.
        """
        raise InputError(
            f"domain needs a Subgraph model, whose pieces tell which graphs it knows, and this is a "
            f"{type(self).__name__}; predict_interval and predict_set of Aligned models say how sure a prediction is"
        )

    def _judge(self, graphs: GraphSet) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, Domain | None]:
        """Return outputs, shape (g, outputs), signals of difficulty for `Conformal.interval`, and the domain."""
        raise TypeError(f"{type(self).__name__} does not implement _judge")

    def _interval(self, conformal: Conformal, outputs: Floats, coverage: float, signals: Floats | None) -> Floats:
        """Return intervals of shape (g, 2), or (g, t, 2) for several columns."""
        interval = conformal.interval(outputs, coverage, self.target_, signals)
        return interval[:, 0] if getattr(self.target_, "single", False) else interval

    def _require_conformal(self, numeric: bool) -> Conformal:
        """Return the held-out scores; raise `InputError` if there are none, or for the other kind of target."""
        self._require_fit()
        name, wanted = type(self).__name__, "predict_interval" if numeric else "predict_set"
        if self.target_.numeric != numeric:
            kind, other = ("classes", "predict_set") if numeric else ("numbers", "predict_interval")
            raise InputError(f"{wanted} is not for a model of {kind}; use {other}")
        if self._conformal is None:
            raise InputError(f"this {name} has no held-out errors, which {wanted} needs; {self._no_errors()}")
        return self._conformal

    def _no_errors(self) -> str:
        """Return what to do to get held-out errors."""
        return "use a Subgraph or an Aligned model"
