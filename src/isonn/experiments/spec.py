"""Experiments as data: one TOML file each, with the settings and the printed numbers of the paper.

```toml
title = "..."                   # title of the experiment
protocol = "paper"              # a name of `protocols.PROTOCOLS`
seeds = 10                      # the default of --seeds
jobs = 1                        # the default of --jobs; one per core if omitted
methods = ["isonn", "freq"]     # the default of --methods
[settings]                      # per method, for datasets that are not in the file
isonn = { k = 4, c = 2 }
[training]                      # per training rule, settings of every network; also per dataset
settled = { epochs = 300, patience = "settled" }
[grid]                          # per method, values to choose from if the protocol chooses settings
isonn = { k = [2, 3], c = [1, 2] }
[datasets.MUTAG.settings]       # per dataset and method
isonn = { k = 4, c = 1 }
[datasets.MUTAG.training]
settled = { epochs = 200, patience = "settled" }
[datasets.MUTAG.printed]        # in percent
isonn = { accuracy = 83.3, f1 = 83.0 }
[sweeps.by-k]                   # a figure: one setting takes several values
title = "..."
measure = "accuracy"            # or "seconds" (of a fit), or "loss" (by epoch, without vary)
vary = "k"
values = [2, 3, 4]
settings = { c = 1 }            # replace those above
datasets = ["MUTAG"]            # default: all in the file
methods = ["isonn"]             # default: those of the file
claim = "..."                   # what the publication says about its figure
paper = { MUTAG = 4 }           # the best value, or the epoch when the loss settles, according to the publication
```
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isonn.errors import InputError
from isonn.experiments.methods import METHODS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Settings = Mapping[str, Any]
#: The folder of the experiments, one file each.
FOLDER = Path(__file__).with_name("specs")


@dataclass(frozen=True)
class Sweep:
    """One figure; see the module docstring for the file format.

    Attributes:
        vary: the setting on the horizontal axis; None for the loss, which is plotted by epoch.
        paper: the publication's value by dataset.
    """

    name: str
    title: str
    measure: str
    vary: str | None = None
    values: Sequence[Any] = ()
    settings: Settings = field(default_factory=dict)
    datasets: Sequence[str] = ()
    methods: Sequence[str] = ()
    claim: str = ""
    paper: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Spec:
    """One experiment; see the module docstring for the file format.

    Attributes:
        settings, training: settings by method, and by training rule.
        datasets: the datasets of the publication in its order, each with its ``settings`` and ``training``, and with
            the numbers ``printed`` by method: accuracy and f1, in percent.
        grid: candidate values by method, then by setting.
    """

    name: str
    title: str
    protocol: str
    settings: Mapping[str, Settings] = field(default_factory=dict)
    datasets: Mapping[str, Mapping[str, Mapping[str, Settings]]] = field(default_factory=dict)
    seeds: int = 10
    jobs: int | None = None
    methods: Sequence[str] = ("isonn",)
    grid: Mapping[str, Mapping[str, list[Any]]] = field(default_factory=dict)
    sweeps: Sequence[Sweep] = ()
    training: Mapping[str, Settings] = field(default_factory=dict)

    def _entry(self, dataset: str, name: str) -> Mapping[str, Settings]:
        return self.datasets.get(dataset, {}).get(name, {})

    def settings_for(self, dataset: str, method: str, changes: Settings | None = None) -> dict[str, Any]:
        """Return the settings of a method on a dataset, or its general settings if the dataset has none.

        A variant that is not in the file uses the settings of its base method.

        Args:
            changes: settings that replace those of the file.
        """
        changes = changes or {}
        settings = {**self.settings, **self._entry(dataset, "settings")}
        registered = METHODS.get(method)
        if method in settings or registered is None or registered.variant_of is None:
            chosen = {**settings.get(method, {}), **changes}
            replaced = ("k", "c") if "layers" in changes else ()
            return {key: value for key, value in chosen.items() if key not in replaced}
        base = registered.adapt(self.settings_for(dataset, registered.variant_of, changes))
        return {**base, **self.training_for(dataset, registered.training), **changes} if registered.training else base

    def training_for(self, dataset: str, rule: str) -> Settings:
        """Return the settings of a training rule on a dataset, or the general ones if the dataset has none.

        Example:
            >>> load_spec("table").training_for("MUTAG", "settled")
            {'epochs': 300, 'patience': 'settled'}
        """
        rules = {**self.training, **self._entry(dataset, "training")}
        if rule not in rules:
            raise InputError(
                f"{self.name} has no training rule {rule!r}; add [training] with {rule} = {{ epochs = ... }}"
            )
        return rules[rule]

    def candidates_for(
        self, dataset: str, method: str, changes: Settings | None = None
    ) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
        """Return the shared settings and the candidates, for a protocol that chooses settings.

        A variant without a grid uses the grid of its base method. Settings in ``changes`` are fixed. With
        fewer than two candidates, return the settings of the method and no candidates.
        """
        fixed = dict(changes or {})
        owner = method
        if method not in self.grid and method in METHODS:
            owner = METHODS[method].variant_of or method
        grid = {key: values for key, values in self.grid.get(owner, {}).items() if key not in fixed}
        every: list[dict[str, Any]] = []
        for values in itertools.product(*grid.values()):
            settings = self.settings_for(dataset, method, {**dict(zip(grid, values, strict=True)), **fixed})
            if settings not in every:  # two shallow models may have the same deep counterpart
                every.append(settings)
        if len(every) < 2:
            return self.settings_for(dataset, method, fixed), ()
        common = {k: v for k, v in every[0].items() if all(k in other and other[k] == v for other in every)}
        return common, tuple({k: v for k, v in settings_of.items() if k not in common} for settings_of in every)

    def printed_for(self, dataset: str, method: str, settings: Settings | None = None) -> Settings | None:
        """Return the printed ``accuracy`` and ``f1`` of a method, or None if they were printed for other settings."""
        printed = self._entry(dataset, "printed")
        if settings is None:
            return printed.get(method)
        if dict(settings) != self.settings_for(dataset, method):
            return None
        while method not in printed and method in METHODS and METHODS[method].training:
            method = METHODS[method].variant_of or ""  # the same network, trained by another rule
        return printed.get(method)


def spec_names() -> tuple[str, ...]:
    """List the experiments."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.toml")))


def load_spec(name: str) -> Spec:
    """Load an experiment by name.

    Example:
        >>> load_spec("table").settings_for("MUTAG", "isonn")
        {'k': 4, 'c': 1, 'epochs': 130}
    """
    if name not in spec_names():
        raise InputError(f"there is no experiment {name!r:.100}; known are {', '.join(spec_names())}")
    content = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    sweeps = [Sweep(**{"name": key, "title": key, **table}) for key, table in content.pop("sweeps", {}).items()]
    return Spec(name=name, sweeps=sweeps, **content)
