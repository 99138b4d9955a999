"""The registry of file formats, and reading of paths that hold one dataset or a folder of many.

Each format has a `Reader`. The package lists its readers in one table and imports each only when a path matches it, so
unused extras cost nothing. `register_reader` adds others.
"""

from __future__ import annotations

import importlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from isonn.errors import DatasetError, InputError, MissingDependencyError, naming_the_extra
from isonn.files import is_path
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.tables import SUFFIXES as TABLES
from isonn.graphs.join import difference
from isonn.plugins import load_plugins


@dataclass(frozen=True)
class Problem:
    """A row of a file that could not be read as a graph.

    Attributes:
        row: its index in the file, from 0.
        text: its text, at most 60 characters.
        reason: the error.
    """

    row: int
    text: str
    reason: str

    def __str__(self) -> str:
        return f"row {self.row} ({self.text!r}): {self.reason}"


#: Maximum number of problems listed in an error or warning, and of their characters, so that the message is not cut.
LISTED, _ROOM = 3, 180


def listed(problems: Sequence[Problem], count: int) -> str:
    """Describe the first of ``count`` problems, as many as fit into a message."""
    shown: list[str] = []
    for problem in problems[:LISTED]:
        if shown and len("; ".join([*shown, str(problem)])) > _ROOM:
            break
        shown.append(str(problem))
    return "; ".join(shown) + (f"; and {count - len(shown)} more" if count > len(shown) else "")


def left_out(path: Path, problems: Sequence[Problem], count: int) -> str:
    """Say that ``count`` rows of a file are left out, and why the first ones are."""
    rows = "1 row is" if count == 1 else f"{count} rows are"
    return f"{path.name}: {rows} left out: {listed(problems, count)}"


@dataclass(frozen=True)
class RowTable:
    """An open file with a graph per row, not parsed yet.

    Attributes:
        names: the columns.
        rows: the text of each graph, and the cells of its row.
        blank: the column that the reader leaves empty for the SMILES of parsed molecules, or None.
    """

    names: list[str]
    rows: Iterator[tuple[str, list[str]]]
    blank: int | None = None


class Reader(ABC):
    """Base class of file formats. To add one, subclass it and pass an instance to `register_reader`.

    Readers set all names the file has: ``ids`` (file names, subjects), node names, names of labels and classes. For a
    bad file they raise `isonn.errors.DatasetError` with one sentence that names the file.

    The options of a format are the keyword-only parameters of `read`. They are passed from `isonn.load` and the command
    line; unknown options raise an error before `read` is called.

    Example:
        >>> class Pairs(Reader):
        ...     name, expects = "pairs", "a .pairs file"
        ...
        ...     def recognises(self, path):
        ...         return path.suffix == ".pairs"
        ...
        ...     def read(self, path):
        ...         return isonn.as_graphset([[[0, 1], [1, 0]] for _ in path.read_text().split()])
        >>> (tmp_path / "two.pairs").write_text("a b")
        3
        >>> len(Pairs().read(tmp_path / "two.pairs"))
        2
    """

    #: Size of a TU folder with the same graphs, in sizes of this file; large data is read in pieces.
    growth: ClassVar[int] = 1
    #: The name of the format, in one or two words.
    name: ClassVar[str]
    #: A description for the error about unrecognised paths, such as "a TU folder".
    expects: ClassVar[str]

    @abstractmethod
    def recognises(self, path: Path) -> bool:
        """Return whether an existing path looks like this format, from its name and a quick look; never raise.

        Args:
            path: a file or folder that exists.

        Returns:
            True if `read` should try it.
        """

    @abstractmethod
    def read(self, path: Path, *args: Any, **options: Any) -> GraphSet:
        """Read all graphs at the path.

        Args:
            path: a path that `recognises` accepted.
            options: the options of the format, keyword-only.

        Returns:
            `isonn.GraphSet`.
        """

    def stream(self, path: Path, at_once: int, *args: Any, **options: Any) -> Iterator[GraphSet]:
        """Yield the graphs in pieces, in order; joined, they equal the result of `read`.

        Override this for formats that can be read without holding all graphs, and yield about ``at_once`` at a time.
        """
        yield self.read(path, **options)

    def title(self, path: Path) -> str:
        """Return the name of the set at the path."""
        return path.resolve().name if path.is_dir() else path.stem


class RowReader(Reader):
    """Base class of tables with a graph per row, some of which may be unusable; predictions keep the order of rows."""

    @abstractmethod
    def rows(self, path: Path, likely: Sequence[str], **options: Any) -> tuple[GraphSet | None, list[Problem]]:
        """Return all graphs, with or without a target, and the unusable rows.

        Args:
            path: the file.
            likely: the columns that the model was fitted to: the targets, if the file has them.
            options: as in `read`.

        Returns:
            the graphs, with their rows as ``table["row"]``, or None; and why other rows are not graphs.
        """

    @abstractmethod
    def table(self, path: Path, smiles: str | None = None) -> RowTable:
        """Open the file to parse its rows elsewhere, by `parse_rows`."""

    @abstractmethod
    def parse_rows(
        self, sources: Sequence[str], name: str, standardize: str | None
    ) -> tuple[GraphSet | None, list[Problem]]:
        """Return the graphs of some rows of `table` (None if there are none), and the unusable rows."""

    @abstractmethod
    def column_roles(
        self,
        path: Path,
        names: Sequence[str],
        rows: Sequence[tuple[str, list[str]]],
        target: Any,
        likely: Sequence[str],
    ) -> tuple[list[str], str | None]:
        """Return the columns of `table` that hold the targets of a fitted model, and the one that names graphs, if any.

        Args:
            rows: the first rows: the text of the graph, and the cells.
            target: the columns that the user named, or None.
            likely: the columns that the model was fitted to; [] if they had no names.
        """


#: The readers of the package, imported when needed; the first that recognises a path reads it. Each is the ``READER``
#: of its module, with the suffixes of its files, and a pattern of a file that its folders hold.
_TABLE: list[tuple[str, tuple[str, ...], str]] = [
    ("isonn.graphs.io.tu", ("_a.txt",), "*_A.txt"),
    ("isonn.graphs.io.dgcnn", (".txt",), ""),
    ("isonn.graphs.io.npz", (".npz",), ""),
    ("isonn.connectomes.folder", (), "participants.*"),
    ("isonn.graphs.io.matrices", (".npz", ".mat"), "*.csv"),
    ("isonn.molecules.smiles", (*TABLES, ".smi", ".smi.gz"), ""),
    ("isonn.molecules.sdf", (".sdf", ".sdf.gz", ".sd", ".sd.gz"), ""),
]
_REGISTERED: list[Reader] = []


def register_reader(reader: Reader) -> Reader:
    """Add a format to `isonn.load`, `isonn.stream` and the commands; the last registered is tried first.

    Args:
        reader: an instance of a subclass of `Reader`.

    Returns:
        the reader, for `forget_reader`.

    Example:
        >>> class OneNode(Reader):
        ...     name, expects = "one node", "a .dot file"
        ...     def recognises(self, path):
        ...         return path.suffix == ".dot"
        ...     def read(self, path, *, weight=0.0):
        ...         return isonn.as_graphset([[[weight]]], name=path.stem)
        >>> reader = register_reader(OneNode())
        >>> forget_reader(reader)
    """
    if not isinstance(reader, Reader):
        raise InputError(f"reader={reader!r:.60} is not a Reader; give an instance of a subclass of Reader")
    _REGISTERED.insert(0, reader)
    return reader


def forget_reader(reader: Reader) -> None:
    """Undo `register_reader`."""
    _REGISTERED.remove(reader)


def readers(path: Path | None = None) -> Iterator[Reader]:
    """Yield the readers in the order they are tried.

    Args:
        path: yield only those that may recognise this path; None yields all whose packages are installed.
    """
    load_plugins("readers")
    yield from _REGISTERED
    for module, suffixes, holds in _TABLE:
        if path is not None and not (
            bool(holds) and any(path.glob(holds)) if path.is_dir() else path.name.lower().endswith(suffixes)
        ):
            continue
        try:
            with naming_the_extra(f"reading {path}"):
                reader: Reader = importlib.import_module(module).READER
        except MissingDependencyError:
            if path is not None:
                raise
            continue
        yield reader


def reader_of(path: Path) -> Reader | None:
    """Return the reader that recognises an existing path."""
    return next((reader for reader in readers(path) if reader.recognises(path)), None)


def read_path(path: Path, **options: Any) -> GraphSet:
    """Read the graphs at an existing path."""
    sets = list(path_pieces(path, None, **options))
    return GraphSet.concat(sets, name_of(path)) if _holds_many(path) else sets[0]


def path_pieces(path: Path, at_once: int | None, **options: Any) -> Iterator[GraphSet]:
    """Yield the graphs in pieces of about ``at_once`` graphs or of one dataset, all with the same fields."""
    first = None
    for reader, file in datasets_at(path):
        check_options(reader, options)
        with _named(file):
            read = [reader.read(file, **options)] if at_once is None else reader.stream(file, at_once, **options)
            for piece in read:
                first = first or piece
                if reason := difference(first, piece):
                    raise DatasetError(f"{file} {reason}; give all files of {path} the same fields")
                yield piece


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Add the path to errors that do not name it."""
    try:
        yield
    except InputError as error:
        raise DatasetError(f"{path} cannot be used: {error}") from error
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path} is not text in UTF-8 ({short(error)}); save it as UTF-8") from error
    except (FileNotFoundError, IsADirectoryError) as error:
        raise DatasetError(f"{error.filename or path} is missing; add the file") from error
    except OSError as error:
        where = error.filename or path
        raise DatasetError(f"{where} cannot be read ({error.strerror or short(error)}); check the file") from error
    except MemoryError as error:
        raise DatasetError(f"{path} is too large for memory; read it with isonn.stream, or in parts") from error


def short(error: object) -> str:
    """Shorten another library's error to one line."""
    text = " ".join(str(error).split())
    return text if len(text) <= 100 else text[:97] + "..."


def option_names(reader: Reader) -> list[str]:
    """Return the options of a format: the keyword-only parameters of its `Reader.read`."""
    parameters = inspect.signature(reader.read).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]


def with_likely(data: str, names: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
    """Return options with ``likely``, the columns that a model was fitted to, if the format of DATA looks for them."""
    path = Path(data).expanduser()
    reader = reader_of(path) if names and "target" not in options and is_path(path) else None
    return options if reader is None or "likely" not in option_names(reader) else {**options, "likely": list(names)}


def check_options(reader: Reader, options: dict[str, Any]) -> None:
    """Raise `InputError` for options unknown to the format."""
    parameters = inspect.signature(reader.read).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return
    names = option_names(reader)
    if unknown := [option for option in options if option not in names]:
        has = f"its options are {', '.join(names)}" if names else "it has no options"
        raise InputError(f"{unknown[0]!r} is not an option of the format {reader.name!r}; {has}")


def name_of(path: Path) -> str:
    """Return the name of the set at a path."""
    reader = reader_of(path)
    return path.resolve().name if reader is None else reader.title(path)


def size_of(path: Path) -> int:
    """Return the total size of a path in bytes."""
    if path.is_dir():
        return sum(map(size_of, _visible(path)))
    return path.stat().st_size


def datasets_at(path: Path) -> Iterator[tuple[Reader, Path]]:
    """Return every dataset at a path, sorted by name."""
    if not _holds_many(path):
        yield _required_reader(path), path
        return
    for file in sorted(_visible(path)):
        yield from datasets_at(file)


def _holds_many(path: Path) -> bool:
    return path.is_dir() and reader_of(path) is None and any(_visible(path))


def _visible(folder: Path) -> Iterator[Path]:
    return (file for file in folder.iterdir() if not file.name.startswith("."))


def _required_reader(path: Path) -> Reader:
    reader = reader_of(path)
    if reader is None:
        formats = ", ".join(reader.expects for reader in readers())
        what = "holds no dataset" if path.is_dir() else "has no format that isonn reads"
        raise DatasetError(f"{path} {what}; give {formats}, or a folder of many of these")
    return reader
