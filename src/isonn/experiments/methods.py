"""Every method by its name: what the command line, the specs and the tables call it.

Nothing is imported until a method is built, so that listing the names costs nothing and a method whose extra
is not installed does not get in the way of the others.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isonn.estimator import GraphClassifier

ALL = "all"


@dataclass(frozen=True)
class Method:
    """Where the estimator of a method is found.

    Attributes:
        module, estimator: the estimator is ``estimator`` of ``module``.
        about: what it does, in a few words.
        variant_of: the method whose settings it takes over, changed by ``adapt``, or None.
        fixed: arguments of the estimator that make it this method; they are no settings.
        version: raised by one when the method starts to compute something else, so that its stored results no
            longer count as results of this method.
    """

    module: str
    estimator: str
    about: str
    variant_of: str | None = None
    adapt: Callable[[Mapping[str, Any]], dict[str, Any]] = dict
    fixed: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1


def _matching(name: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    return lambda settings: {**settings, "matching": name}


def _deep(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The deep counterpart the paper gives a shallow model."""
    from isonn.windows.model import IsoNN

    layers = settings.get("layers") or IsoNN.deep_equivalent(settings["k"], settings["c"])
    return {**{key: value for key, value in settings.items() if key not in ("k", "c")}, "layers": layers}


def _deep_relative(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The same with maps that the layer on top can tell apart."""
    return {**_deep(settings), "normalize": "relative"}


def _isonn(about: str, adapt: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Method:
    return Method("isonn", "IsoNNClassifier", about, "isonn", adapt)


def _subgraph(about: str, **fixed: Any) -> Method:
    return Method("isonn", "SubgraphIsoNNClassifier", about, fixed=fixed)


#: Adding a method is one line here.
METHODS: dict[str, Method] = {
    "isonn": Method("isonn", "IsoNNClassifier", "the paper's model, exact matching"),
    "isonn-fast": _isonn("the paper's IsoNN-fast, spectral matching", _matching("fast")),
    "isonn-assigned": _isonn("matching by assignment and swaps", _matching("assigned")),
    "isonn-deep": _isonn("the paper's deep IsoNN", _deep),
    "isonn-deep-relative": _isonn("the same, maps relative to their mean", _deep_relative),
    "isonn-subgraph": _subgraph("templates over connected subgraphs"),
    "isonn-subgraph-frozen": _subgraph("the same, templates left where they start", learn_templates=False),
    "isonn-subgraph-ensemble": _subgraph("the same templates, regression and forest", head="ensemble"),
    "isonn-aligned": Method("isonn", "AlignedIsoNNClassifier", "sets of regions, for graphs on the same nodes"),
    "ae": Method("isonn.baselines", "AutoEncoderClassifier", "codes of an autoencoder, MLP"),
    "cnn": Method("isonn.baselines", "CNNClassifier", "the adjacency matrix as a picture"),
    "sdbn": Method("isonn.baselines", "SDBNClassifier", "modules side by side, then a CNN with a decoder"),
    "gcn": Method("isonn.baselines", "GCNClassifier", "graph convolution on rows of the adjacency matrix"),
    "gin": Method("isonn.baselines", "GINClassifier", "GIN-0 on rows of the adjacency matrix"),
    "gin-labels": Method("isonn.baselines", "GINClassifier", "GIN-0 on node labels", fixed={"features": "labels"}),
    "freq": Method("isonn.baselines", "FrequentClassifier", "the paper's Freq, the 100 most frequent subgraphs"),
    "wl": Method("isonn.baselines", "WLClassifier", "the paper's WL, by mean similarity", fixed={"decision": "mean"}),
    "wl-svm": Method("isonn.baselines", "WLClassifier", "WL, support vector machine", fixed={"decision": "svm"}),
    "edges": Method("isonn.baselines", "LinearEdgesClassifier", "ridge on the edge weights"),
    "majority": Method("isonn.baselines", "MajorityClassifier", "the most frequent class"),
    "size": Method("isonn.baselines", "GraphSizeClassifier", "nodes, edges and cycles"),
    "degrees": Method("isonn.baselines", "DegreeHistogramClassifier", "histogram of node degrees"),
}


def resolve_methods(names: str | Iterable[str]) -> tuple[str, ...]:
    """The methods a caller asked for, each once, in the order given; ``all`` stands for every one.

    Example:
        >>> resolve_methods("size, majority,size")
        ('size', 'majority')
    """
    asked = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
    chosen = dict.fromkeys(method for name in asked if name for method in (METHODS if name == ALL else [_known(name)]))
    if not chosen:
        from isonn.errors import InputError  # here, because it loads scikit-learn

        raise InputError(f"no method was named; name some of {', '.join(METHODS)}, or {ALL}")
    return tuple(chosen)


def build(name: str, settings: Mapping[str, Any], seed: int, size: int) -> GraphClassifier:
    """An estimator of that method, not fitted.

    Args:
        settings: arguments of the estimator.
        seed: for methods that draw random numbers.
        size: nodes of the largest graph of the dataset, for methods that pad to one size; like the paper's, they
            leave room for it although it may be a test graph.
    """
    method = METHODS[_known(name)]
    estimator = getattr(importlib.import_module(method.module), method.estimator)
    parameters = [name for name in inspect.signature(estimator).parameters if name not in method.fixed]
    unknown = sorted(set(settings) - set(parameters))
    if unknown:
        from isonn.errors import InputError

        takes = f"it takes {', '.join(parameters)}" if parameters else "it takes none"
        raise InputError(f"{name} has no setting {unknown[0]!r}; {takes}")
    given = {key: value for key, value in (("random_state", seed), ("size", size)) if key in parameters}
    built: GraphClassifier = estimator(**{**given, **method.fixed, **settings})
    return built


def _known(name: str) -> str:
    if name in METHODS:
        return name
    from isonn.errors import InputError

    near = difflib.get_close_matches(name.lower(), METHODS, n=1, cutoff=0.5)
    meant = f"; did you mean {near[0]}? Known" if near else "; known"
    raise InputError(f"there is no method {name!r}{meant} methods are {', '.join(METHODS)}, and {ALL}")
