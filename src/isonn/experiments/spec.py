"""Experiments as data: a TOML file holds the settings of a published result and the numbers printed there.

```toml
title = "..."                   # what the experiment is
protocol = "paper"              # a name of `protocols.PROTOCOLS`
[settings]                      # per method, for datasets the file says nothing of
isonn = { k = 4, c = 2 }
[datasets.MUTAG.settings]       # per dataset and method
isonn = { k = 4, c = 1 }
[datasets.MUTAG.printed]        # in percent
isonn = { accuracy = 83.3, f1 = 83.0 }
```
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
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
_SCALARS = (bool, int, float, str)


@dataclass(frozen=True)
class Printed:
    """What a publication prints, in percent."""

    accuracy: float
    f1: float


@dataclass(frozen=True)
class Spec:
    """One experiment; see the module's text for the file.

    Attributes:
        settings: by method.
        dataset_settings: by dataset, then by method.
        printed: by dataset, then by method.
    """

    name: str
    title: str
    protocol: str
    settings: Mapping[str, Settings] = field(default_factory=dict)
    dataset_settings: Mapping[str, Mapping[str, Settings]] = field(default_factory=dict)
    printed: Mapping[str, Mapping[str, Printed]] = field(default_factory=dict)

    def settings_for(self, dataset: str, method: str, changes: Settings | None = None) -> dict[str, Any]:
        """The settings of a method on a dataset; where there are none of the dataset's own, the general ones.

        A variant that the file says nothing of takes those of the method it is a variant of.

        Args:
            changes: settings that replace those of the file.
        """
        for settings in (self.dataset_settings.get(dataset, {}), self.settings):
            if method in settings:
                return {**settings[method], **(changes or {})}
        known = METHODS.get(method)
        if known is None or known.variant_of is None:
            return dict(changes or {})
        return known.adapt(self.settings_for(dataset, known.variant_of, changes))

    def printed_for(self, dataset: str, method: str, settings: Settings) -> Printed | None:
        """The printed numbers, if they were printed for these settings."""
        if dict(settings) != self.settings_for(dataset, method):
            return None
        return self.printed.get(dataset, {}).get(method)


def spec_names() -> tuple[str, ...]:
    """The experiments that come with isonn."""
    folder = files("isonn.experiments") / "specs"
    return tuple(sorted(item.name[: -len(".toml")] for item in folder.iterdir() if item.name.endswith(".toml")))


def load_spec(name_or_path: str | Path) -> Spec:
    """The experiment of that name, or in that file.

    Example:
        >>> load_spec("table").settings_for("MUTAG", "isonn")
        {'k': 4, 'c': 1, 'epochs': 130}
    """
    if isinstance(name_or_path, str) and name_or_path in spec_names():
        name, source = name_or_path, f"the spec {name_or_path}"
        text = (files("isonn.experiments") / "specs" / f"{name}.toml").read_text(encoding="utf-8")
    else:
        path = Path(name_or_path)
        if not path.is_file():
            raise InputError(
                f"there is no experiment {str(name_or_path)!r} and no such file; known are {', '.join(spec_names())}"
            )
        name, source, text = path.stem, str(path), path.read_text(encoding="utf-8")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source} is not TOML ({error}); correct it") from error
    return _spec(name, source, content)


def _spec(name: str, source: str, content: dict[str, Any]) -> Spec:
    _only(content, {"title", "protocol", "settings", "datasets"}, source)
    for key in ("title", "protocol"):
        if not isinstance(content.get(key), str):
            raise InputError(f'{source} has no {key}; add {key} = "..."')
    datasets = _table(content.get("datasets", {}), f"datasets in {source}")
    settings, printed = {}, {}
    for dataset, part in datasets.items():
        where = f"datasets.{dataset} in {source}"
        _only(_table(part, where), {"settings", "printed"}, where)
        settings[dataset] = _settings(part.get("settings", {}), f"{where}, settings")
        printed[dataset] = _printed(part.get("printed", {}), f"{where}, printed")
    return Spec(
        name=name,
        title=content["title"],
        protocol=content["protocol"],
        settings=_settings(content.get("settings", {}), f"settings in {source}"),
        dataset_settings=settings,
        printed=printed,
    )


def _settings(table: Any, where: str) -> dict[str, Settings]:
    for method, values in _table(table, where).items():
        for key, value in _table(values, f"{where}, {method}").items():
            if not isinstance(value, (*_SCALARS, list)):
                raise InputError(f"{where}, {method}: {key} = {value!r}; use numbers, text, true, false or lists")
    return dict(table)


def _printed(table: Any, where: str) -> dict[str, Printed]:
    numbers = {}
    for method, values in _table(table, where).items():
        _only(_table(values, f"{where}, {method}"), {"accuracy", "f1"}, f"{where}, {method}")
        for key in ("accuracy", "f1"):
            value = values.get(key)
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 100:
                raise InputError(f"{where}, {method}: {key} = {value!r}; give a percentage from 0 to 100")
        numbers[method] = Printed(float(values["accuracy"]), float(values["f1"]))
    return numbers


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where}: {value!r} is not a table; give one entry a line, key = value")
    return value


def _only(table: dict[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(table) - known)
    if unknown:
        raise InputError(f"{where} has an unknown entry {unknown[0]!r}; known are {', '.join(sorted(known))}")
