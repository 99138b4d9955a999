"""The methods by name, for the command line, specs and tables.

A method is imported when it is built, so listing names is fast, and a missing extra affects only its own methods.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from isonn.errors import InputError

if TYPE_CHECKING:
    from isonn.estimator import GraphEstimator
    from isonn.graphs.graph import GraphSet

ALL = "all"


@dataclass(frozen=True)
class Method:
    """An estimator with some of its arguments fixed.

    Attributes:
        module, estimator: the module and name of its classifier.
        about: a short description.
        regressor: the class in ``module`` that predicts numbers, or "" if there is none.
        variant_of: the base method, whose settings are changed by `adapt`, or None.
        changes, deep: settings that differ from the base method's, and whether it is the base's deep counterpart.
        fixed: arguments of the estimator that define the method and cannot be set.
        version: increased when the method computes something else, which invalidates its stored results.
        training: the training rule of a network, a name in the ``training`` tables of a spec; "" for its own epochs.
    """

    module: str
    estimator: str
    about: str
    regressor: str = ""
    variant_of: str | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    deep: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
    training: str = ""

    def adapt(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of this variant from those of its base method."""
        if self.deep:
            from isonn.windows.network import IsoNN

            layers = settings.get("layers") or IsoNN.deep_equivalent(settings["k"], settings["c"])
            settings = {**{key: value for key, value in settings.items() if key not in ("k", "c")}, "layers": layers}
        return {**settings, **self.changes}


def _isonn(about: str, deep: bool = False, **changes: Any) -> Method:
    return Method("isonn", "IsoNNClassifier", about, "IsoNNRegressor", "isonn", changes, deep)


def _subgraph(about: str, **fixed: Any) -> Method:
    # versions 1 and 2 were the models of 0.1.0 and 0.2.0
    return Method("isonn", "SubgraphClassifier", about, "SubgraphRegressor", fixed=fixed, version=3)


def _baseline(name: str, about: str, numbers: bool = False, **fixed: Any) -> Method:
    regressor = f"{name}Regressor" if numbers else ""
    return Method("isonn.baselines", f"{name}Classifier", about, regressor, fixed=fixed)


#: Adding a method is one line here.
METHODS: dict[str, Method] = {
    "isonn": Method("isonn", "IsoNNClassifier", "the paper's model, exact matching", "IsoNNRegressor"),
    "isonn-fast": _isonn("the paper's IsoNN-fast, spectral matching", matching="fast"),
    "isonn-fast-authors": _isonn("IsoNN-fast as the authors' code computes it", matching="fast-authors"),
    "isonn-definition": _isonn("the paper's equations as they stand, for running times", matching="definition"),
    "isonn-literal": _isonn("softmax over templates, the paper's text to the letter", normalize="templates"),
    "isonn-assigned": _isonn("matching by assignment and swaps", matching="assigned"),
    "isonn-deep": _isonn("the paper's deep IsoNN", deep=True),
    "isonn-deep-relative": _isonn("the same, maps relative to their mean", deep=True, normalize="relative"),
    "isonn-subgraph": _subgraph("every small connected subgraph, sums and logic"),
    "isonn-subgraph-short": _subgraph("the 32 most informative subgraphs", n_templates=32),
    "isonn-subgraph-linear": _subgraph("the same, sums alone", head="linear"),
    "isonn-aligned": Method(
        "isonn", "AlignedClassifier", "sets of regions, for graphs on the same nodes", "AlignedRegressor"
    ),
    "ae": _baseline("AutoEncoder", "codes of an autoencoder, MLP"),
    "cnn": _baseline("CNN", "CNN on the adjacency matrix"),
    "sdbn": _baseline("SDBN", "modules side by side, then a CNN with a decoder"),
    "gcn": _baseline("GCN", "graph convolution on rows of the adjacency matrix"),
    "gin": _baseline("GIN", "GIN-0 on rows of the adjacency matrix"),
    "gin-labels": _baseline("GIN", "GIN-0 on node labels", features="labels"),
    "freq": _baseline("Frequent", "the paper's Freq, the 100 most frequent subgraphs"),
    "wl": _baseline("WL", "the paper's WL, by mean similarity", decision="mean"),
    "wl-svm": _baseline("WL", "WL, support vector machine", decision="svm"),
    "edges": _baseline("LinearEdges", "ridge on the edge weights", numbers=True),
    "edges-svm": _baseline("EdgesSVM", "support vector machine on the edge weights"),
    "nbs": _baseline("NBS", "ridge on components that permutations find (network-based statistic)"),
    "cpm": _baseline("CPM", "sums of the edges that follow the target (predictive modelling)", numbers=True),
    "tangent-svm": _baseline("TangentSVM", "support vector machine in the tangent space of correlations"),
    "ecfp-forest": _baseline("ECFPForest", "forest of 200 trees on ECFP4 fingerprints", numbers=True),
    "ecfp-linear": _baseline("ECFPLinear", "logistic or ridge regression on ECFP4 fingerprints", numbers=True),
    "ecfp-trees": _baseline("ECFPTrees", "LightGBM, 300 trees on ECFP4 counts", numbers=True),
    "majority": _baseline("Majority", "the most frequent class, or the mean", numbers=True),
    "size": _baseline("GraphSize", "nodes, edges and cycles", numbers=True),
    "degrees": _baseline("DegreeHistogram", "histogram of node degrees", numbers=True),
}

#: Suffixes of rows by training rule. The specs hold the epochs of each rule, the same for all networks on a dataset.
PAPER_EPOCHS, SETTLED = "paper-epochs", "settled"
#: IsoNN and its variants, whose settings in the specs already have the paper's epochs.
_OWN_EPOCHS = ("isonn", "isonn-fast", "isonn-fast-authors", "isonn-literal", "isonn-deep", "isonn-deep-relative")
_NETWORKS = ("ae", "cnn", "sdbn", "gcn", "gin")


def _trained(name: str, rule: str, about: str) -> Method:
    return replace(METHODS[name], about=f"{name}, {about}", variant_of=name, changes={}, deep=False, training=rule)


for _name in _NETWORKS:
    METHODS[f"{_name}-{PAPER_EPOCHS}"] = _trained(_name, PAPER_EPOCHS, "the paper's number of epochs")
for _name in (*_OWN_EPOCHS, *_NETWORKS):
    METHODS[f"{_name}-{SETTLED}"] = _trained(_name, SETTLED, "trained until the loss settles")


#: Default methods of `isonn evaluate`, by `GraphSet.kind`.
DEFAULTS: dict[str, tuple[str, ...]] = {
    "": ("isonn-subgraph", "isonn-subgraph-short", "wl-svm", "size", "majority"),
    "molecules": (
        *("isonn-subgraph", "isonn-subgraph-short", "isonn-subgraph-linear"),
        *("ecfp-forest", "ecfp-linear", "ecfp-trees", "size", "majority"),
    ),
    # the paper's model takes minutes a fold on 90 regions; --methods isonn adds it
    "connectomes": ("isonn-aligned", "edges", "edges-svm", "nbs", "cpm", "tangent-svm", "majority"),
}
#: Largest number of graphs for methods with a kernel matrix.
KERNEL_GRAPHS = 3000


def default_methods(graphs: GraphSet) -> tuple[str, ...]:
    """Return the default methods for these graphs."""
    names = DEFAULTS["connectomes" if on_one_atlas(graphs) else graphs.kind]
    unfit = set()
    if "wl-svm" in names and len(graphs) > KERNEL_GRAPHS:
        unfit.add("wl-svm")
    if "tangent-svm" in names:
        from isonn.baselines import TangentSVMClassifier

        if not TangentSVMClassifier.suits(graphs):
            unfit.add("tangent-svm")
    return tuple(name for name in names if name not in unfit)


def on_one_atlas(graphs: GraphSet) -> bool:
    """Return whether node i is the same region in all graphs: connectomes, or plain weighted matrices of one size."""
    if graphs.kind or graphs.weights is None:
        return graphs.kind == "connectomes"
    plain = all(column is None for column in (graphs.node_labels, graphs.node_attributes, graphs.edge_labels))
    return plain and bool((graphs.sizes == graphs.sizes[0]).all())


def resolve_methods(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return the requested methods, each once, in the given order; ``all`` means every method.

    Example:
        >>> resolve_methods("size, majority,size")
        ('size', 'majority')
    """
    asked = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
    chosen = dict.fromkeys(
        method for name in asked if name for method in (METHODS if name == ALL else [_full_name(name)])
    )
    if not chosen:
        raise InputError(f"no method was named; use some of {', '.join(_listed())}")
    return tuple(chosen)


def takes_confounds(name: str) -> bool:
    """Return whether a method regresses the confounds of graphs out of their connections."""
    return bool(_estimator(METHODS[_full_name(name)], numbers=False).takes_confounds)


def settings_of(name: str, numbers: bool = False) -> tuple[str, ...]:
    """Return the settings that a method takes: the parameters of its estimator but those that define the method.

    Example:
        >>> settings_of("edges-svm")
        ('C', 'fisher', 'size', 'harmonize')
    """
    method = METHODS[_full_name(name)]
    own = {*method.fixed, *method.changes}
    return tuple(key for key in inspect.signature(_estimator(method, numbers)).parameters if key not in own)


def _estimator(method: Method, numbers: bool) -> Any:
    return getattr(importlib.import_module(method.module), (numbers and method.regressor) or method.estimator)


def build(name: str, settings: Mapping[str, Any], seed: int, size: int, numbers: bool = False) -> GraphEstimator:
    """Build an unfitted estimator of a method.

    Args:
        settings: arguments of the estimator.
        seed: seed of methods that use random numbers.
        size: nodes of the largest graph of the dataset, test graphs included as in the paper, for methods that pad.
        numbers: whether to build the regressor.
    """
    method = METHODS[_full_name(name)]
    if numbers and not method.regressor:
        raise InputError(f"{name} predicts classes, not numbers; leave it out")
    estimator = _estimator(method, numbers)
    parameters = [name for name in inspect.signature(estimator).parameters if name not in method.fixed]
    unknown = sorted(set(settings) - set(parameters))
    if unknown:
        takes = f"it takes {', '.join(parameters)}" if parameters else "it takes none"
        raise InputError(f"{name} has no setting {unknown[0]!r}; {takes}")
    given = {key: value for key, value in (("random_state", seed), ("size", size)) if key in parameters}
    built: GraphEstimator = estimator(**{**given, **method.fixed, **settings})
    return built


def _full_name(name: str) -> str:
    """Return the name of a method in `METHODS`; raise `InputError` if there is none."""
    if name in METHODS:
        return name
    if name.removesuffix(f"-{PAPER_EPOCHS}") in _OWN_EPOCHS:  # their stored results have the shorter name
        return name.removesuffix(f"-{PAPER_EPOCHS}")
    raise InputError(unknown_name("method", name, METHODS, _listed()))


def _listed() -> list[str]:
    """Return the names for an error, which variants of the paper's methods would make too long to show whole."""
    return [*(name for name, method in METHODS.items() if method.variant_of is None), ALL]


def unknown_name(what: str, name: str, names: Collection[str], listed: Collection[str] | None = None) -> str:
    """Return the sentence about a name that does not exist: the nearest of the names that do, or those to list.

    Example:
        >>> unknown_name("method", "sise", ["size", "gcn"])
        "there is no method 'sise'; did you mean size?"
        >>> unknown_name("method", "xgb", ["size", "gcn"])
        "there is no method 'xgb'; use one of size, gcn"
    """
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    others = f"did you mean {near[0]}?" if near else f"use one of {', '.join(names if listed is None else listed)}"
    return f"there is no {what} {name!r:.60}; {others}"
