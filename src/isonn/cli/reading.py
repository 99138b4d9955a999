"""How commands read DATA: whole, for a fitted model, or as SMILES written on the command line."""

from __future__ import annotations

import csv
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


def model_with(path: Path, attribute: str, needed: str) -> Any:
    """Load a model; raise `InputError` with what is needed if it does not have an attribute."""
    import isonn
    from isonn.errors import InputError

    clf = isonn.load_model(path)
    if not hasattr(clf, attribute):
        raise InputError(f"{path} holds a model of class {type(clf).__name__}; {needed}")
    return clf


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
    from isonn.graphs.io.registry import RowReader, check_options, left_out, option_names, with_likely
    from isonn.screening.sources import check_item, target_names

    reader = reader_at(data)
    check_item(data, clf)
    if not isinstance(reader, RowReader):
        return isonn.load(data, **with_likely(data, target_names(clf), options))
    check_options(reader, options)
    if clf.standardize_ is not None and "standardize" in option_names(reader):
        options = {"standardize": clf.standardize_, **options}
    graphs, problems = reader.rows(Path(data).expanduser(), target_names(clf), **options)
    if graphs is None:
        first = f" ({problems[0]})" if problems else ""
        raise DatasetError(f"{data} has no usable molecules{first}; correct the file")
    if problems:
        warnings.warn(left_out(Path(data), problems, len(problems)), IsoNNWarning, stacklevel=2)
    return graphs


def given_graphs(data: Sequence[str], clf: Any, **options: Any) -> GraphSet:
    """Read DATA for a fitted model: a dataset or path, or molecules written as SMILES."""
    import isonn
    from isonn.errors import InputError
    from isonn.screening.sources import smiles_among

    smiles = smiles_among(data)
    if len(data) == 1 and not smiles:
        return graphs_of(data[0], clf, **options)
    other = next((text for text in data if text not in smiles), None)
    if other is not None:
        raise InputError(f"{other} is not a SMILES, and {len(data)} items are given; give one file, or only SMILES")
    if options:
        raise InputError(f"--{next(iter(options)).replace('_', '-')} is for a file; leave it out beside SMILES")
    return isonn.as_graphset(list(data), ids=list(data), standardize=clf.standardize_)


def takes_option(data: str, option: str) -> bool:
    """Return whether the format of DATA has an option."""
    from isonn.graphs.io.registry import option_names

    reader = reader_at(data)
    return reader is not None and option in option_names(reader)


def check_target(graphs: GraphSet, data: str) -> None:
    """Raise `InputError` if graphs have no targets to learn."""
    from isonn.errors import InputError

    if graphs.y is not None:
        return
    if takes_option(data, "target"):
        raise InputError(
            f"{data} has no column that may be the target (dates, ids and unique texts are none); name it with --target"
        )
    raise InputError(
        f"{graphs.name} has no targets to learn; add labels (.npz, .mat), a labels.csv (folder of matrices), a "
        f"_graph_labels.txt (TU folder), or name a column with --target"
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
    from isonn.graphs.convert import count_changes
    from isonn.graphs.io.tables import write_text
    from isonn.screening.predictions import CHANGE_COLUMNS

    counts: Counter[str] = Counter()
    before = 0
    with nullcontext() if path is None else write_text(path) as file:
        writer = None if file is None else csv.writer(file, lineterminator="\n")
        if writer is not None:
            writer.writerow(CHANGE_COLUMNS)
        for graphs in sets:
            changed = count_changes(graphs)
            counts += changed
            if changed and writer is not None:
                from isonn.molecules.standardizer import changed_rows

                rows = None if "row" in graphs.table else range(before, before + len(graphs))
                writer.writerows(changed_rows(graphs, rows))
            before += len(graphs)
    return {"standardized": dict(counts)} if counts else {}


def reader_at(data: str) -> Reader | None:
    """Return the reader of a file or folder; None for names."""
    from isonn.graphs.io.registry import reader_of

    path = Path(data).expanduser()
    return reader_of(path) if path.exists() else None
