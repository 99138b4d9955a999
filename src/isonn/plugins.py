"""Extensions of other packages, found through entry points.

A package that registers a matcher, target, head, view, reader, drawer or protocol names the module that does so in its
``pyproject.toml``::

    [project.entry-points."isonn.matchers"]
    in-order = "my_package.matchers"

The module is imported when a command, an estimator or a saved model first asks for the name, so that extensions also
work in new processes. A saved model holds names only: what it names must come from isonn or from an installed package.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from isonn.errors import InputError, naming_the_extra

T = TypeVar("T")

#: The extension points that packages can add to; the group of a kind is ``isonn.KIND``.
KINDS = ("matchers", "targets", "heads", "views", "readers", "drawers", "partitions", "editors", "protocols")


class Registry(dict[str, T]):
    """What is registered at an extension point, by name: by isonn, by one of its extras, or by another package.

    Args:
        kind: the extension point, one of `KINDS`.
        later: modules of extras by name, which register something when they are first needed.

    Example:
        >>> numbers = Registry("drawers")
        >>> numbers["answer"] = 42
        >>> numbers.find("answer"), numbers.find("question")
        (42, None)
        >>> numbers.named("question", "number")
        Traceback (most recent call last):
        isonn.errors.InputError: number='question' is unknown; use one of 'answer'
    """

    def __init__(self, kind: str, later: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.kind, self.later = kind, dict(later or {})

    def find(self, name: str) -> T | None:
        """Return the entry of a name; None if there is none, or if its extra is not installed."""
        with suppress(ImportError):
            self._import(name)
        return self.get(name)

    def named(self, name: Any, parameter: str) -> T:
        """Return the entry of a name that a user gave for a parameter; raise `InputError` if there is none."""
        if isinstance(name, str):
            with naming_the_extra(f"{parameter}={name!r}"):
                self._import(name)
        if not isinstance(name, str) or name not in self:
            names = ", ".join(map(repr, dict.fromkeys([*self, *self.later])))
            raise InputError(f"{parameter}={name!r} is unknown; use one of {names}")
        return self[name]

    def _import(self, name: str) -> None:
        if name and name not in self and not load_plugin(self.kind, name) and name in self.later:
            importlib.import_module(self.later[name])


def load_plugin(kind: str, name: str) -> bool:
    """Import the installed extension of a kind with this name, which registers itself; return whether there is one.

    Example:
        >>> load_plugin("matchers", "magic")
        False
    """
    points = [point for point in _points(kind) if point.name == name]
    for point in points:
        _import(point)
    return bool(points)


def load_plugins(kind: str) -> None:
    """Import all installed extensions of a kind, for those that are not asked for by name.

    Example:
        >>> load_plugins("readers")
    """
    for point in _points(kind):
        _import(point)


@lru_cache(maxsize=len(KINDS))
def _points(kind: str) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=f"isonn.{kind}"))


def _import(point: EntryPoint) -> None:
    try:
        point.load()
    except Exception as error:
        package = point.dist.name if point.dist is not None else point.module
        raise InputError(
            f"the extension {point.name!r} of the package {package} cannot be imported ({error}); "
            "correct or uninstall it"
        ) from error
