"""Columns of tables as targets: numbers with ``>``, ``<`` and ``~``, units, classes with different spellings, dates.

A column is read in two steps, so that a file larger than memory can be read in pieces: `Column` collects facts about
all its cells, and `read_as_target` decides what the column means. The result converts cells to values and lists
sentences that a user should see.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from isonn.errors import DatasetError, InputError
from isonn.targets import ANSWERS, FEW_GRAPHS, MOST_CLASSES, are_too_many_classes

#: Texts that mean a missing value.
MISSING = {"", "na", "nan", "n/a", "none", "null", "?", "#n/a", "#value!", "#div/0!"}
#: How censored values are used.
CENSORED = ("drop", "bound")
#: Texts that say that a test gave no answer.
_UNDECIDED = {
    *("inconclusive", "equivocal", "ambiguous", "indeterminate", "undetermined", "unspecified", "unknown", "unclear"),
    *("borderline", "invalid", "failed", "error", "not tested", "untested", "not determined", "nd", "n.d.", "nt"),
    *("pending", "tbd", "maybe", "+/-", "±"),
}
#: Short forms of answers, for columns that mix them with the long ones.
_ANSWERS = {"pos": "positive", "+": "positive", "neg": "negative", "-": "negative", "y": "yes", "n": "no"}
_UNITS = (
    r"[pnuµμm]?M|[pnuµμm]?mol/[lL]|[pnuµμmk]?g/(?:[mdk]?[lL]|k?g)|[pnuµμm]?g|%|°C|K|k?cal/mol|k?J/mol|k?Da|pp[mbt]"
    r"|[nuµμm]?s|min|h|hr|days?|[nuµμm]?m|cm|mm|Å|[nuµμm]?[lL]"
)
#: Minus signs and spaces within numbers as word processors write them.
_TYPOGRAPHY = str.maketrans("\u2212\u2013", "--", "\u202f\u2009\u00a0")
_NUMBER = r"[-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][-+]?\d+)?"
_MEASURED = re.compile(
    rf"(?P<sign>>=|<=|>>|<<|>|<|≥|≤|~|≈|=|ca\.?|about)?\s*(?P<number>{_NUMBER})"
    rf"\s*(?P<spread>(?:±|\+/-)\s*{_NUMBER})?\s*(?P<unit>{_UNITS})?",
    re.IGNORECASE,
)
#: A number with commas in front of three digits each, as thousands are grouped; "1,200" may also mean 1.2.
_GROUPED = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{2,4}"
)
_LOGARITHM = re.compile(r"-?\s*([Ll]og|LOG|lg|ln)(?:10)?(?![a-z])")
_UNIT_IN_NAME = re.compile(r"[(\[]\s*(?!\d+\s*[)\]])([^()\[\]]{1,20}?)\s*[)\]]\s*$|,\s*(\S{1,12})$")


@dataclass(frozen=True)
class Measured:
    """A cell that holds a number.

    Attributes:
        number: the number.
        sign: ">" or "<" if it is a bound, "~" if it is approximate, else "".
        unit: the unit after it, or "".
    """

    number: float
    sign: str = ""
    unit: str = ""


def measured(text: str) -> Measured | None:
    """Read a cell with a number, or return None.

    Example:
        >>> measured("> 100 uM"), measured("~3").sign, measured("0,5").number, measured("high")
        (Measured(number=100.0, sign='>', unit='µM'), '~', 0.5, None)
    """
    number = plain_number(text)
    if number is not None:
        return Measured(number)
    match = _MEASURED.fullmatch(text.translate(_TYPOGRAPHY).strip())
    if match is None:
        return None
    number = plain_number(match["number"])
    if number is None:
        return None
    sign = (match["sign"] or "").casefold()
    kind = ">" if sign[:1] in (">", "≥") else "<" if sign[:1] in ("<", "≤") else "" if sign in ("", "=") else "~"
    unit = re.sub(r"^[uμ](?=[MmglLs])", "µ", match["unit"] or "")
    return Measured(number, kind or ("~" if match["spread"] else ""), unit)


def plain_number(text: str) -> float | None:
    """Return a finite number, with a point or a comma, or None.

    Example:
        >>> plain_number("0,5"), plain_number("\u22120.5"), plain_number("1\u202f200"), plain_number("high")
        (0.5, -0.5, 1200.0, None)
    """
    if not text.isascii():
        text = text.translate(_TYPOGRAPHY)
    for written in (text, text.replace(",", ".")):  # the decimal comma of some spreadsheets
        try:
            number = float(written)
        except ValueError:
            continue
        return number if math.isfinite(number) else None
    return None


def is_missing(text: str) -> bool:
    """Return whether a cell is empty or means a missing value."""
    return text.strip().casefold() in MISSING


def yes_or_no(text: str) -> int | None:
    """Return 1 or 0 for the two answers of a test, such as "active" and "inactive"; None for other texts.

    Example:
        >>> yes_or_no("Active"), yes_or_no("no"), yes_or_no("1"), yes_or_no("perhaps")
        (1, 0, 1, None)
    """
    number, word = plain_number(text), text.strip().casefold()
    if number is not None:
        return int(number) if number in (0, 1) else None
    return next((1 - pair.index(word) for pair in ANSWERS if word in pair), None)


def unit_of(name: str) -> str:
    """Return the unit in the name of a column, or "".

    Example:
        >>> unit_of("IC50 (uM)"), unit_of("logS [mol/L]"), unit_of("toxic"), unit_of("pIC50 (2)")
        ('uM', 'log mol/L', '', '')
    """
    match = _UNIT_IN_NAME.search(name.strip())
    if match is None:
        return ""
    logarithm = _LOGARITHM.match(name.strip())  # an error of 0.3 is not one of 0.3 mol/L
    return f"{logarithm[1].lower() if logarithm else ''} {match[1] or match[2]}".strip()


def without_unit(name: str) -> str:
    """Return the name of a column without its unit: "IC50" for "IC50 (uM)"."""
    return _UNIT_IN_NAME.sub("", name.strip()).strip()


@dataclass
class Column:
    """The facts about a column, collected cell by cell.

    Attributes:
        present, missing: number of cells with and without a value.
        numbers: number of cells that are plain numbers; all of them are whole if ``whole``.
        signs: number of bounds (">", "<") and of approximate values ("~").
        units: number of cells with each unit.
        texts: number of cells with each text, for the first texts that are not numbers.
        dates: number of cells that are dates.
        commas: number of numbers with a comma that can only be a decimal one, as in "0,5".
        grouped: number of cells with each number that may group thousands, such as "1,200".
        distinct: the first distinct texts, at most one more than classes may have, with the number of cells of each.
    """

    present: int = 0
    missing: int = 0
    numbers: int = 0
    whole: bool = True
    signs: Counter[str] = field(default_factory=Counter)
    units: Counter[str] = field(default_factory=Counter)
    texts: Counter[str] = field(default_factory=Counter)
    dates: int = 0
    commas: int = 0
    grouped: Counter[str] = field(default_factory=Counter)
    distinct: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, cells: Iterable[str]) -> Column:
        """Collect the facts about some cells.

        Example:
            >>> cells = ["20", "30", "n/a"]
            >>> Column.of(cells).values(cells).tolist()
            [20.0, 30.0, nan]
        """
        column = cls()
        for text in cells:
            column.add(text)
        return column

    def add(self, text: str) -> None:
        """Add one more cell."""
        if is_missing(text):
            self.missing += 1
            return
        self.present += 1
        if text in self.distinct or len(self.distinct) <= MOST_CLASSES:
            self.distinct[text] += 1
        number = plain_number(text)
        if "," in text and (number is not None or measured(text.replace(",", "")) is not None):
            grouped = _GROUPED.search(text)
            if grouped is None:
                self.commas += 1
            else:
                self.grouped[grouped.group()] += 1
        if number is not None:
            self.numbers += 1
            self.whole = self.whole and number.is_integer() and abs(number) < 2**53
        elif (value := measured(text)) is not None:
            self.signs[value.sign] += 1
            self.units[value.unit] += 1
            self.whole = self.whole and value.number.is_integer()
        else:
            word = text.strip()
            self.dates += _DATE.fullmatch(word) is not None
            if word in self.texts or len(self.texts) <= 2 * MOST_CLASSES:
                self.texts[word] += 1

    @property
    def numeric(self) -> bool:
        """Whether all cells are plain numbers."""
        return self.numbers == self.present

    @property
    def measurements(self) -> int:
        """The number of cells with a number, plain or with a sign or unit."""
        return self.numbers + sum(self.signs.values())

    @property
    def may_be_target(self) -> bool:
        """Whether most cells are numbers, or there are few distinct texts that repeat, in any spelling."""
        spelled_alike = {text.strip().casefold() for text in self.distinct}
        classes = len(self.distinct) <= MOST_CLASSES and self.present >= 2 * len(spelled_alike)
        return self.present > 0 and 2 * self.dates <= self.present and (2 * self.measurements > self.present or classes)

    def values(self, cells: Iterable[str]) -> NDArray[Any]:
        """Return cells as integers, numbers (NaN if missing) or text, for a column that is not a target."""
        if self.present and self.numeric:
            numbers = [np.nan if is_missing(text) else plain_number(text) for text in cells]
            whole = self.whole and not any(number is None or number != number for number in numbers)
            return np.array(numbers, dtype=np.int64 if whole else np.float64)
        return np.array([text.strip() for text in cells], dtype=np.str_)


@dataclass(frozen=True)
class TargetReading:
    """How the cells of a target are converted, as decided by `read_as_target`.

    Attributes:
        name: the column.
        kind: "numbers" or "classes".
        told: sentences about values that were not taken as written, to be shown to the user.
        unit: the unit in the name of the column or in its cells, or "".
        spellings: the class of each text; None leaves its rows out.
        whole: whether classes are integers.
        censored: "drop" or "bound".
    """

    name: str
    kind: Literal["numbers", "classes"]
    told: tuple[str, ...] = ()
    unit: str = ""
    spellings: Mapping[str, str | None] = field(default_factory=dict)
    whole: bool = False
    censored: str = "drop"

    @property
    def title(self) -> str:
        """The name of the column with the unit, if its cells have one."""
        return f"{self.name} ({self.unit})" if self.unit and not unit_of(self.name) else self.name

    def value(self, text: str) -> Any:
        """Return the value of a cell: a number or a class; None if it is missing or left out."""
        if is_missing(text):
            return None
        text = text.strip()
        written = self.spellings.get(text, self.spellings.get(text.casefold(), text))
        if written is text and self.spellings and (number := plain_number(text)) is not None:
            written = self.spellings.get(repr(number), text)
        if written is None:
            return None
        if self.kind == "classes" and not self.whole:
            return written
        reading = measured(written)
        if reading is None or (self.censored == "drop" and reading.sign in (">", "<")):
            return None
        return reading.number

    def values(self, cells: Iterable[str]) -> NDArray[Any]:
        """Return the values of cells: integers, floats with NaN for missing ones, or text with "" for missing ones."""
        read = [self.value(text) for text in cells]
        if self.kind == "classes" and not self.whole:
            return np.array(["" if value is None else value for value in read], dtype=np.str_)
        numbers = np.array([np.nan if value is None else value for value in read], dtype=np.float64)
        return numbers.astype(np.int64) if self.whole and not np.isnan(numbers).any() else numbers

    def indicators(self) -> TargetReading:
        """Return the same for one of several targets, with 1 and 0 for texts such as "yes" and "no"."""
        if self.kind == "numbers" or self.whole:
            return self
        classes = {text for text in self.spellings.values() if text is not None}
        pair = next((pair for pair in ANSWERS if {text.casefold() for text in classes} <= set(pair)), None)
        if pair is None:
            raise DatasetError(
                f"column {self.name!r} is text, but several targets must be numbers; write 0 and 1, or leave it out"
            )
        codes = {
            text: None if written is None else "10"[pair.index(written.casefold())]
            for text, written in self.spellings.items()
        }
        return replace(self, spellings=codes, whole=True)


def read_target(cells: Sequence[str], name: str = "target", **options: Any) -> tuple[NDArray[Any], TargetReading]:
    """Read the cells of a column as a target.

    Args:
        cells: the cells, as text.
        name: the column, for sentences.
        options: ``numbers``, ``censored`` and ``values`` of `read_as_target`.

    Returns:
        The values, and how they were read; `TargetReading.told` lists what the user should know.

    Example:
        >>> values, reading = read_target(["0.5", ">100", "~3"], "IC50 (uM)")
        >>> values.tolist(), reading.kind, reading.unit
        ([0.5, nan, 3.0], 'numbers', 'uM')
        >>> print(reading.told[0])
        'IC50 (uM)': 1 of 3 values is censored (1 with >) and left out; censored='bound' uses it at its bound
    """
    reading = read_as_target(Column.of(cells), name, **options)
    return reading.values(cells), reading


def read_as_target(
    column: Column,
    name: str,
    *,
    numbers: bool | None = None,
    censored: str = "drop",
    values: Mapping[str, str | None] | None = None,
) -> TargetReading:
    """Decide how a column is read as a target.

    Args:
        column: the facts about its cells.
        name: its name, for sentences.
        numbers: whether to read numbers (True) or classes (False); None decides by the cells.
        censored: "drop" reads values such as ">100" as missing, "bound" as the bound, 100.
        values: other values for some texts, such as ``{"inconclusive": "no"}``; None means missing.

    Raises:
        DatasetError: if the column mixes numbers, texts or units in a way that only the user can resolve.
    """
    if censored not in CENSORED:
        raise InputError(f"censored={censored!r:.60} is unknown; use 'drop' or 'bound'")
    given = {text.strip().casefold(): to for text, to in (values or {}).items()}
    given |= {repr(number): to for text, to in given.items() if (number := plain_number(text)) is not None}
    texts = Counter({text: count for text, count in column.texts.items() if text.casefold() not in given})
    if 2 * column.dates > column.present:
        raise DatasetError(f"column {name!r} holds dates such as {_first(texts)}, not values; choose another target")
    _check_units(column, name)
    _check_commas(column, name)
    renamed = [text for text in given.values() if text is not None]
    if not texts and all(measured(text) is not None for text in renamed):
        return _as_numbers(column, name, numbers, censored, given)
    if column.measurements and not (column.numeric and not texts) and _is_number_column(column):
        raise DatasetError(
            f"column {name!r} holds {_counted(texts)} among {column.measurements} numbers; {_remedy(texts, '0')}"
        )
    if numbers:
        raise DatasetError(f"column {name!r} holds text such as {_first(texts)}, not numbers; leave numbers=True out")
    return _as_classes(column, name, texts, given)


def _is_number_column(column: Column) -> bool:
    """Return whether a column with some texts is one of numbers, by having many of them, or bounds."""
    return 2 * column.measurements > column.present and (
        len(column.distinct) > MOST_CLASSES or bool(column.signs) or not column.whole
    )


def _as_numbers(
    column: Column, name: str, numbers: bool | None, censored: str, given: Mapping[str, str | None]
) -> TargetReading:
    many = are_too_many_classes(column.distinct.values())
    named = re.fullmatch(rf"((log|lg|ln) )?({_UNITS})", unit_of(name)) is not None  # classes have no unit
    as_classes = column.whole and not column.signs and not many and not named if numbers is None else not numbers
    if as_classes and not (column.whole and not column.signs):
        raise DatasetError(f"column {name!r} holds measurements, not classes; leave numbers=False out")
    told = []
    bounds = column.signs[">"] + column.signs["<"]
    if bounds:
        signs = " and ".join(f"{column.signs[sign]} with {sign}" for sign in "><" if column.signs[sign])
        single = bounds == 1
        used = (
            f"used at {'its bound' if single else 'their bounds'}"
            if censored == "bound"
            else f"left out; censored='bound' uses {'it at its bound' if single else 'them at their bounds'}"
        )
        told.append(
            f"{name!r}: {bounds} of {column.present} values {'is' if single else 'are'} censored ({signs}) and {used}"
        )
    if column.signs["~"]:
        about = column.signs["~"]
        are = "is" if about == 1 else "are"
        told.append(f"{name!r}: {about} of {column.present} values {are} approximate; the number is used")
    if many and column.whole and not column.signs and numbers is None:
        different = len(column.distinct)
        values = (
            f"more than {MOST_CLASSES} different whole numbers"
            if different > MOST_CLASSES
            else f"{different} different whole numbers, many of them in fewer than {FEW_GRAPHS} rows,"
        )
        told.append(f"{name!r} has {values} and is read as numbers; numbers=False reads classes")
    unit = unit_of(name) or next((unit for unit in column.units if unit), "")
    kind: Literal["numbers", "classes"] = "classes" if as_classes else "numbers"
    return TargetReading(name, kind, tuple(told), unit, given, as_classes, censored)


def _as_classes(column: Column, name: str, texts: Counter[str], given: Mapping[str, str | None]) -> TargetReading:
    """Merge spellings of a class ("Yes" and "YES", "positive" and "+"), and refuse texts that are no answer."""
    words = {text.casefold() for text in texts}

    def answer(text: str) -> str:
        word = text.casefold()
        return _ANSWERS.get(word, word) if len(words) > 2 else word

    written = {text.strip() for text in column.distinct if not is_missing(text)} | set(texts)
    spellings: dict[str, str | None] = {}
    folded: dict[str, list[str]] = {}
    for text in sorted(written, key=lambda text: (-column.texts[text], text.swapcase())):
        if text.casefold() in given:
            spellings[text] = given[text.casefold()]
        else:
            folded.setdefault(answer(text), []).append(text)
    pair = next((pair for pair in ANSWERS if set(pair) <= set(folded)), None)
    odd = {key for key in folded if (pair and key not in pair) or (key in _UNDECIDED and len(folded) > 2)}
    answers = [forms[0] for key, forms in sorted(folded.items()) if key not in odd]
    if odd and answers:
        counts = Counter({folded[key][0]: sum(column.texts[text] for text in folded[key]) for key in sorted(odd)})
        beside = " and ".join(map(repr, answers[:2]))
        raise DatasetError(f"column {name!r} holds {_counted(counts)} beside {beside}; {_remedy(counts, answers[0])}")
    told = []
    classes = {key: forms[0] for key, forms in folded.items()}
    joined = any(len({text.casefold() for text in forms}) > 1 for forms in folded.values())
    unlike = len({key == text for key, text in classes.items()}) > 1
    if joined or (unlike and any(len(forms) > 1 for forms in folded.values())):
        classes = {key: key for key in folded}  # "Yes" and "no" would sort the wrong way round
    for key, forms in folded.items():
        spellings |= dict.fromkeys(forms, classes[key])
        if len(forms) > 1:
            told.append(f"{name!r}: {', '.join(map(repr, sorted(forms)))} are read as one class, {classes[key]!r}")
    spellings |= {key: to for key, to in given.items() if key not in spellings}
    spellings = {text: None if to is None else classes.get(answer(to), to) for text, to in spellings.items()}
    if len(folded) > MOST_CLASSES:
        told.append(f"{name!r} has more than {MOST_CLASSES} different texts, each of which is a class")
    return TargetReading(name, "classes", tuple(told), unit_of(name), spellings)


def _check_units(column: Column, name: str) -> None:
    """Raise `DatasetError` if cells have different units, or only some have one."""
    units = {unit: count for unit, count in column.units.items() if unit}
    plain = column.numbers + column.units[""]
    if len(units) > 1 or (units and plain):
        shown = ", ".join(f"{unit} ({count})" for unit, count in units.items())
        none = f", {plain} cells without" if plain else ""
        raise DatasetError(
            f"column {name!r} mixes units: {shown}{none}; convert all cells to one unit, and write it into the name"
        )


def _check_commas(column: Column, name: str) -> None:
    """Raise `DatasetError` if commas may group thousands: 1.2 for "1,200" would be wrong by a factor of 1,000."""
    cells = column.grouped.total()
    # with three decimals in every cell, commas are decimal ones
    if cells and not column.commas and cells < column.measurements + column.texts.total():
        text = _first(column.grouped).strip("'")
        raise DatasetError(
            f"column {name!r} holds {text!r}, which may mean {text.replace(',', '')} or {text.replace(',', '.', 1)}; "
            "write thousands without commas, and decimals with points"
        )


def _first(texts: Counter[str]) -> str:
    return repr(next(iter(texts), ""))


def _counted(texts: Counter[str]) -> str:
    shown = [f"{text!r:.40} ({count} row{'s' * (count > 1)})" for text, count in texts.most_common(3)]
    return ", ".join(shown) + (f" and {len(texts) - 3} more texts" if len(texts) > 3 else "")


def _remedy(texts: Counter[str], instead: str) -> str:
    """Name the option that resolves a text; the command line shows it in its own form."""
    text = texts.most_common(1)[0][0][:40]
    return f"values='{text}=' leaves these rows out, values='{text}={instead}' maps them"


def values_option(given: Mapping[str, str | None] | Iterable[str] | str | None) -> dict[str, str | None]:
    """Read the option ``values``: a dict, or texts such as "inconclusive=no" and "inconclusive=" (leave out).

    Example:
        >>> values_option(["inconclusive=", "weak=no"])
        {'inconclusive': None, 'weak': 'no'}
    """
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {str(text): None if to is None else str(to) for text, to in given.items()}
    mapping: dict[str, str | None] = {}
    for item in [given] if isinstance(given, str) else given:
        text, equals, to = str(item).rpartition("=")
        if not equals or not text.strip():
            raise InputError(
                f"values={item!r:.60} names no value; write inconclusive=no, or inconclusive= to leave out"
            )
        if "=" in text and "," in text:
            raise InputError(f"values={item!r:.60} holds several; give a list, or --values once for each")
        mapping[text.strip()] = to.strip() or None
    return mapping
