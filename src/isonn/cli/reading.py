"""How commands read DATA: whole, for a fitted model, or as SMILES written on the command line."""

from __future__ import annotations

import csv
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isonn.graphs.graph import GraphSet
    from isonn.graphs.io.registry import Reader

#: Larger datasets, in bytes of a TU folder, are read in pieces: some fifty thousand molecules.
LARGE = 64 * 2**20


def reading(smiles: str | None = None, target: Sequence[str] | None = None, **more: Any) -> dict[str, Any]:
    """Return the options that were given, for readers of tables and folders; those left at None or False are not.

    Example:
        >>> reading("structure", ["a", "b"], censored="bound", skip_bad=False)
        {'smiles': 'structure', 'target': ['a', 'b'], 'censored': 'bound'}
    """
    options = {"smiles": smiles, "target": target, **more}
    return {name: value for name, value in options.items() if value not in (None, False, [])}


def graphs_of(data: str, clf: Any, **options: Any) -> GraphSet:
    """Read DATA whole, for a fitted model: graphs with or without a target; warn about unusable rows."""
    import isonn
    from isonn.errors import DatasetError, IsoNNWarning
    from isonn.graphs.io.registry import check_options, left_out, option_names, with_likely
    from isonn.graphs.stream import AT_ONCE
    from isonn.screening.sources import target_names

    reader = reader_at(data)
    if reader is None or not reader.keeps_rows:
        return isonn.load(data, **with_likely(data, target_names(clf), options))
    check_options(reader, options)
    if clf.standardize_ is not None and "standardize" in option_names(reader):
        options = {"standardize": clf.standardize_, **options}
    sets, problems = [], []
    for graphs, unusable in reader.rows(Path(data).expanduser(), AT_ONCE, likely=target_names(clf), **options):
        sets += [] if graphs is None else [graphs]
        problems += unusable or []
    if not sets:
        first = f" ({problems[0]})" if problems else ""
        raise DatasetError(f"{data} has no usable molecules{first}; correct the file")
    if problems:
        warnings.warn(left_out(Path(data), problems, len(problems)), IsoNNWarning, stacklevel=2)
    return isonn.GraphSet.concat(sets)


def given_graphs(data: Sequence[str], clf: Any, **options: Any) -> GraphSet:
    """Read DATA for a fitted model: a dataset or path, or molecules written as SMILES."""
    if len(data) == 1 and not _is_molecule(data[0]):
        return graphs_of(data[0], clf, **options)
    import isonn
    from isonn.errors import InputError
    from isonn.files import is_path

    other = next((text for text in data if is_path(text)), None)
    if other is not None:
        raise InputError(f"{other} is a file, and {len(data)} items are given; give one file, or only SMILES")
    if options:
        raise InputError(f"--{next(iter(options)).replace('_', '-')} is for a file; leave it out beside SMILES")
    return isonn.as_graphset(list(data), ids=list(data), standardize=clf.standardize_)


def _is_molecule(text: str) -> bool:
    """Return whether a text is a SMILES, and not a path or the name of a dataset."""
    from isonn.files import is_path
    from isonn.screening.sources import is_dataset

    if is_path(text) or is_dataset(text):
        return False
    try:
        from isonn.molecules.convert import is_smiles
    except ImportError:
        return False
    return is_smiles(text) or re.search(r"[()\[\]=#@]", text) is not None  # a damaged SMILES gets its own error


def label_of(clf: Any, text: str | None) -> Any:
    """Return the class or the column of a model that a text names; None for None."""
    if text is None:
        return None
    from isonn.errors import InputError

    values = clf.target_.classes.tolist()
    names = clf.label_names_.get("class" if clf.target_.exclusive else "target", {})
    called = {str(value): value for value in values} | {str(names[value]): value for value in values if value in names}
    if text not in called:
        shown = [str(names.get(value, value)) for value in values]
        more = ", ..." if len(shown) > 10 else ""
        raise InputError(f"--label {text} is not a class of the model; use one of {', '.join(shown[:10])}{more}")
    return called[text]


def takes_option(data: str, option: str) -> bool:
    """Return whether the format of DATA has an option."""
    from isonn.graphs.io.registry import option_names

    reader = reader_at(data)
    return reader is not None and option in option_names(reader)


def check_target(graphs: GraphSet, data: str) -> None:
    """Raise `InputError` if DATA is a table without a target."""
    if graphs.y is None and takes_option(data, "target"):
        from isonn.errors import InputError

        raise InputError(
            f"{graphs.name} has no column that may be the target (dates, ids and unique texts are none); "
            f"name it with --target"
        )


def is_large(data: str) -> bool:
    """Return whether DATA is so large that it is read in pieces."""
    from isonn.errors import DatasetError
    from isonn.graphs import find
    from isonn.graphs.io.registry import size_of

    path: Path | None = Path(data).expanduser()
    if path is not None and not path.exists():
        try:
            path = find(data)
        except DatasetError:  # not a dataset name; loading it raises the error
            path = None
    if path is None:
        return False
    reader = reader_at(str(path))
    return size_of(path) * (1 if reader is None else reader.growth) >= LARGE


def list_changes(path: Path | None, sets: Iterable[GraphSet]) -> dict[str, Any]:
    """Count the molecules that standardisation changed, and list them in a new CSV file unless ``path`` is None.

    Example:
        >>> list_changes(tmp_path / "changes.csv", [isonn.as_graphset(["CCO", "CC[NH3+].[Cl-]"])])
        {'standardized': {'molecules': 1, 'fragment': 1, 'charge': 1}}
        >>> print((tmp_path / "changes.csv").read_text(), end="")
        row,id,smiles,standardized,changes
        1,,CC[NH3+].[Cl-],CCN,"fragment, charge"
    """
    from isonn.graphs.io.tables import write_text
    from isonn.screening.pieces import CHANGE_COLUMNS

    counts: Counter[str] = Counter()
    before = 0
    with nullcontext() if path is None else write_text(path) as file:
        writer = None if file is None else csv.writer(file, lineterminator="\n")
        if writer is not None:
            writer.writerow(CHANGE_COLUMNS)
        for graphs in sets:
            changes = graphs.table.get("changes")
            if changes is not None and (changes != "").any():
                from isonn.molecules.standardizer import changed_rows, count_changes

                counts.update({"molecules": int((changes != "").sum()), **count_changes(changes.tolist())})
                if writer is not None:
                    rows = None if "row" in graphs.table else range(before, before + len(graphs))
                    writer.writerows(changed_rows(graphs, rows))
            before += len(graphs)
    return {"standardized": dict(counts)} if counts else {}


def reader_at(data: str) -> Reader | None:
    """Return the reader of a file or folder; None for names."""
    from isonn.graphs.io.registry import reader_of

    path = Path(data).expanduser()
    return reader_of(path) if path.exists() else None
