"""The words of pages: names of classes, reasons in words, numbers as text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.explain.text import connections, factor_text
from isonn.graphs.graph import GraphSet, words_of
from isonn.graphs.io.target_column import unit_of
from isonn.report.draw import is_dense, shortened
from isonn.targets import Target

#: Maximum number of nodes named per reason.
NAMED = 12
#: Kinds of units that are connections of aligned graphs.
CONNECTIONS = ("set", "connection")


@dataclass(frozen=True)
class Naming:
    """The names of classes and of the columns of y.

    Example:
        >>> Naming({1: "mutagenic"}).class_(1), Naming().class_(1)
        ('mutagenic', 'class 1')
    """

    classes: Mapping[Any, str] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    noun: str = "graph"
    word: str = "class"

    @classmethod
    def of(cls, graphs: GraphSet) -> Naming:
        """Return the names of a set."""
        word = "label" if graphs.y is not None and graphs.y.ndim == 2 else "class"
        return cls(graphs.class_names, graphs.target_names, words_of(graphs.kind)[0], word)

    @classmethod
    def of_explanation(cls, explanation: Any) -> Naming:
        """Return the names that an explanation carries."""
        names, noun = explanation.class_names, words_of(explanation.graph.kind)[0]
        if explanation.target.exclusive:
            return cls(names, noun=noun)
        word = "label" if explanation.target.outputs > 1 else "class"
        return cls(targets=tuple(str(names[column]) for column in sorted(names)), noun=noun, word=word)

    def class_(self, value: Any) -> str:
        """Return the name of a class; text classes are their own name."""
        plain = value.item() if isinstance(value, np.generic) else value
        plain = int(plain) if isinstance(plain, float) and plain.is_integer() else plain  # gaps make classes floats
        if plain in self.classes:
            return shortened(str(self.classes[plain]))
        if len(self.targets) > 1 and isinstance(plain, int) and 0 <= plain < len(self.targets) and not self.classes:
            return shortened(self.targets[plain])
        return shortened(plain) if isinstance(plain, str) and plain else f"{self.word} {plain}"

    def being(self, value: Any) -> str:
        """Return what follows "graphs that": "are mutagenic", "are of class 1", "have label NR-AR".

        Example:
            >>> Naming({1: "mutagenic"}).being(1), Naming().being(1), Naming().being("patient")
            ('are mutagenic', 'are of class 1', 'are of class patient')
        """
        name = self.class_(value)
        if self.word == "label":
            return f"have {name}" if name.startswith("label ") else f"have label {name}"
        if (value.item() if isinstance(value, np.generic) else value) in self.classes:
            return f"are {name}"
        return f"are of {name}" if name.startswith("class ") else f"are of class {name}"

    def output(self, value: Any, target: Target) -> str:
        """Return the name of a class, or of a column of numbers."""
        return self.target(value) if target.numeric else self.class_(value)

    def unit(self, column: Any = 0) -> str:
        """Return the unit of a column of numbers, from its name; "" if it has none."""
        return unit_of(self.targets[int(column)]) if int(column) < len(self.targets) else ""

    def target(self, column: Any = 0) -> str:
        """Return the name of a column of numbers; columns of several without names are counted."""
        number = int(column)
        unnamed = f"value {number}" if self.word == "label" else "the value"
        return shortened(self.targets[number]) if number < len(self.targets) else unnamed


def side(name: str) -> str:
    """Return what follows the number of graphs of a class: "mutagenic", "of class 1"."""
    return f"of {name}" if name.startswith(("class ", "label ")) else name


def region_names(reason: Any) -> list[str]:
    """Return the names of a reason's regions, without what all names of the graph begin with."""
    every = [] if reason.graph.node_names is None else reason.graph.node_names.tolist()
    short = dict(zip(every, short_names(every), strict=True))
    return [short.get(name, name) for name in reason.names]


def reason_words(reason: Any) -> str:
    """Describe a reason: its formula, or its nodes if they have names or the graph is dense."""
    names = list(reason.names)
    if reason.kind in CONNECTIONS:
        names = region_names(reason)
        if all(name.isdecimal() for name in names):
            names[0] = f"regions {names[0]}"
        rest = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
        return connections([*map(shortened, names[:NAMED]), *rest])
    if reason.graph.has_named_nodes:
        return listed(names)
    if reason.graph.node_labels is None and is_dense(reason.graph):
        return f"nodes {listed(names)}"
    text = shortened(reason.text, 120)
    if reason.graph.node_labels is None or reason.explanation.label_names or reason.name:
        return text
    return f"a node labelled {text}" if len(names) == 1 else f"a piece labelled {text}" if "\u2013" in text else text


def speaking(sides: Sequence[tuple[str, bool, int]], name: str, numeric: bool, most: str = "most") -> str:
    """Say in a sentence what speaks for and against a class, or raises and lowers a number.

    Args:
        sides: what speaks, whether it is several things, and its sign; the strongest first.
        name: the class or the number.
        numeric: whether it is a number.
        most: in what sense the first is the strongest.

    Example:
        >>> speaking([("nitro", False, 1), ("amide and ester", True, -1)], "mutagenic", numeric=False)
        'Nitro speaks for mutagenic most; amide and ester speak against it.'
    """
    verbs = {1: ("raises", "raise"), -1: ("lowers", "lower")}
    if not numeric:
        verbs = {1: ("speaks for", "speak for"), -1: ("speaks against", "speak against")}
    first, *rest = (f"{text} {verbs[sign][several]}" for text, several, sign in sides)
    return capitalized("; ".join([f"{first} {name} {most}", *(f"{clause} it" for clause in rest)])) + "."


def short_names(names: Sequence[str]) -> list[str]:
    """Drop the words that all names begin with.

    Example:
        >>> short_names(["7Networks_LH_Vis_1", "7Networks_RH_Default_2"])
        ['LH_Vis_1', 'RH_Default_2']
    """
    if len(names) < 2:
        return list(names)
    split = [re.split(r"(?<=[_ .:-])", name) for name in names]
    shared = 0
    while all(len(words) > shared + 1 for words in split) and len({words[shared] for words in split}) == 1:
        shared += 1
    if shared and any("".join(words[shared:]).isdecimal() for words in split):
        shared -= 1  # a number alone says too little
    return ["".join(words[shared:]) for words in split]


def listed(names: Sequence[str]) -> str:
    """Join names with commas; of many, say how many more there are.

    Example:
        >>> listed(list("abcdefghijklmn"))
        'a, b, c, d, e, f, g, h, i, j, k, l and 2 more'
    """
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(map(shortened, names[:NAMED])) + rest


def has_target(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which graphs have a class or a value, shape (g,); it is NaN or "" for the others."""
    if y.dtype.kind == "f":
        return np.asarray(~np.isnan(y))
    return np.asarray(y != "") if y.dtype.kind == "U" else np.ones(len(y), dtype=bool)


def count_text(number: int, noun: str) -> str:
    """Return a number with its noun.

    Example:
        >>> count_text(1, "seed"), count_text(2, "seed")
        ('1 seed', '2 seeds')
    """
    return f"{number} {noun}{'s' * (number != 1)}"


def capitalized(text: str) -> str:
    """Return a text with its first letter in upper case, unless its first word is one like hERG or has Greek letters.

    Example:
        >>> capitalized("nitro on an aromatic ring"), capitalized("hERG: active")
        ('Nitro on an aromatic ring', 'hERG: active')
    """
    word = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if word.isascii() and word[1:] == word[1:].lower() else text


def percent_text(share: float) -> str:
    """Format a share of 1 in percent.

    Example:
        >>> percent_text(0.934), percent_text(0.99999)
        ('93.4 %', '> 99.9 %')
    """
    if 0.9995 <= share < 1:
        return "> 99.9 %"
    return "< 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def number_text(value: float, unit: str) -> str:
    """Format a number with its unit, to three digits.

    Example:
        >>> number_text(0.54129, "uM"), number_text(2, "")
        ('0.541 uM', '2')
    """
    return f"{value:.3g} {unit}".rstrip()


def effect_words(contribution: float, logarithm: bool) -> str:
    """Format a contribution to a score, or the factor it is if the score is the logarithm of a number.

    Example:
        >>> effect_words(0.6, logarithm=False), effect_words(0.6, logarithm=True)
        ('+0.600', '\u00d7 4.0')
    """
    return factor_text(contribution) if logarithm else signed(contribution)


def signed(value: float) -> str:
    """Format a number with its sign, to three digits.

    Example:
        >>> signed(0.25), signed(-12.3456), signed(-0.0)
        ('+0.250', '-12.3', '0')
    """
    if value == 0:
        return "0"
    size = abs(value)
    text = f"{size:.3f}" if 0.001 <= size < 10 else f"{size:.1f}" if 10 <= size < 1e5 else f"{size:.1e}"
    return f"{'+' if value > 0 else '-'}{text}"
