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
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from isonn.errors import InputError

T = TypeVar("T")

#: The extension points that packages can add to; the group of a kind is ``isonn.KIND``.
KINDS = ("matchers", "targets", "heads", "views", "readers", "drawers", "partitions", "editors", "protocols")


class Registry(Generic[T]):
    """What is registered for each kind of graph (``GraphSet.kind``): by a call, by an extra, or by another package.

    Args:
        kind: the extension point, one of `KINDS`.
        base: the class whose instances may be registered.
        later: modules of extras by kind of graph, which register something when they are first needed.

    Example:
        >>> numbers = Registry("drawers", int)
        >>> numbers.register("answer", 42)
        >>> numbers.find("answer"), numbers.find("question")
        (42, None)
    """

    def __init__(self, kind: str, base: type[Any], later: Mapping[str, str] | None = None) -> None:
        self.kind, self.base, self.later = kind, base, dict(later or {})
        self.entries: dict[str, T] = {}

    def register(self, name: str, entry: T) -> None:
        """Use an entry for a kind of graph, instead of an earlier one."""
        if not isinstance(entry, self.base):
            raise InputError(f"{entry!r} is not a {self.base.__name__}; give an instance of a subclass")
        self.entries[name] = entry

    def find(self, name: str) -> T | None:
        """Return the entry of a kind of graph; None if there is none, or if its extra is not installed."""
        if name and name not in self.entries:
            load_plugin(self.kind, name)
        if name not in self.entries and name in self.later:
            try:
                importlib.import_module(self.later[name])
            except ImportError:
                return None
        return self.entries.get(name)


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
