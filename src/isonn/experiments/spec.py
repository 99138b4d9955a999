"""Experiments as data: TOML files with the settings and the printed numbers of a publication.

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from isonn.errors import InputError
from isonn.experiments.methods import METHODS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Settings = Mapping[str, Any]
MEASURES = ("accuracy", "seconds", "loss")


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
    values: tuple[Any, ...] = ()
    settings: Settings = field(default_factory=dict)
    datasets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
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
    methods: tuple[str, ...] = ("isonn",)
    grid: Mapping[str, Mapping[str, list[Any]]] = field(default_factory=dict)
    sweeps: tuple[Sweep, ...] = ()
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
            return {**settings.get(method, {}), **changes}
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
    """List the experiments that come with isonn."""
    folder = files("isonn.experiments") / "specs"
    return tuple(sorted(item.name[: -len(".toml")] for item in folder.iterdir() if item.name.endswith(".toml")))


def load_spec(name_or_path: str | Path) -> Spec:
    """Load an experiment by name or from a file.

    Example:
        >>> load_spec("table").settings_for("MUTAG", "isonn")
        {'k': 4, 'c': 1, 'epochs': 130}
    """
    if isinstance(name_or_path, str) and name_or_path in spec_names():
        name, source = name_or_path, f"the spec {name_or_path}"
        text = (files("isonn.experiments") / "specs" / f"{name}.toml").read_bytes()
    else:
        path = Path(name_or_path)
        if not path.is_file():
            raise InputError(
                f"there is no experiment {str(name_or_path)!r} and no such file; known are {', '.join(spec_names())}"
            )
        name, source, text = path.stem, str(path), path.read_bytes()
    try:
        content = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{source} is not TOML ({error}); correct it") from error
    _check(content, _FORM, source)
    sweeps = []
    for key, table in content.pop("sweeps", {}).items():
        if ("values" in table) != ("vary" in table) or ("vary" not in table and table["measure"] != "loss"):
            raise InputError(
                f'{source}, sweeps, {key}: name the setting that varies and its values, vary = "k" and values = [2, 3]'
            )
        sweeps.append(Sweep(**{"name": key, "title": key, **_with_tuples(table)}))
    return Spec(name=name, sweeps=tuple(sweeps), **_with_tuples(content))


#: The names of a table that may have any.
_ANY = ""


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _list_of(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and bool(value) and all(map(_is(*kinds), value))


#: Entries of a spec: a check and the remedy.
_TEXT = (_is(str), 'write "..."')
_NUMBER = (_is(int, float), "give a number")
_COUNT = (lambda value: _is(int)(value) and value >= 1, "give a number of at least 1")
_PERCENT = (lambda value: _is(int, float)(value) and 0 <= value <= 100, "give a percentage from 0 to 100")
_NAMES = (_list_of(str), 'give a list of names, ["...", "..."]')
_VALUES = (_list_of(bool, int, float, str, list), "give a list of values to choose from")
_SETTING = (_is(bool, int, float, str, list), "use numbers, text, true, false or lists")
_MEASURE = (MEASURES.__contains__, f"use one of {', '.join(MEASURES)}")
_SETTINGS = {_ANY: {_ANY: _SETTING}}
_FORM: dict[str, Any] = {
    "title": _TEXT,
    "protocol": _TEXT,
    "seeds": _COUNT,
    "jobs": _COUNT,
    "methods": _NAMES,
    "settings": _SETTINGS,
    "training": _SETTINGS,
    "grid": {_ANY: {_ANY: _VALUES}},
    "datasets": {
        _ANY: {
            "settings": _SETTINGS,
            "training": _SETTINGS,
            "printed": {_ANY: {"accuracy": _PERCENT, "f1": _PERCENT}},
        }
    },
    "sweeps": {
        _ANY: {
            "title": _TEXT,
            "measure": _MEASURE,
            "vary": _TEXT,
            "values": _VALUES,
            "settings": {_ANY: _SETTING},
            "datasets": _NAMES,
            "methods": _NAMES,
            "claim": _TEXT,
            "paper": {_ANY: _NUMBER},
        }
    },
}
_REQUIRED = (("protocol", ("title", "protocol")), ("f1", ("accuracy", "f1")), ("measure", ("measure",)))


def _check(value: Any, form: Any, where: str) -> None:
    """Raise `InputError` unless a value of the file has this form: a check with its remedy, or a table of forms."""
    if isinstance(form, tuple):
        is_right, remedy = form
        if not is_right(value):
            raise InputError(f"{where} = {value!r}; {remedy}")
        return
    if not isinstance(value, dict):
        raise InputError(f"{where}: {value!r} is not a table; give one entry per line, key = value")
    required = next((names for name, names in _REQUIRED if name in form), ())
    for name in dict.fromkeys((*required, *value)):
        if name not in form and _ANY not in form:
            raise InputError(f"{where} has an unknown entry {name!r}; known are {', '.join(sorted(form))}")
        _check(value.get(name), form.get(name, form.get(_ANY)), f"{where}, {name}")


def _with_tuples(table: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
