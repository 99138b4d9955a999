"""Convert the connectivity matrices of a study, with its atlas and table of subjects, to a `GraphSet`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isonn.connectomes.atlas import Atlas, as_atlas
from isonn.connectomes.participants import (
    ID_COLUMNS,
    class_values,
    ids_of,
    read_participants,
    rows_of,
    take_targets,
    unique_ids,
)
from isonn.connectomes.quality import problems
from isonn.errors import InputError, IsoNNWarning
from isonn.graphs.columns import offsets_of, read_only, take
from isonn.graphs.graph import GraphSet

#: Matrices are symmetric if their halves differ by less than this share of the largest weight.
ASYMMETRY = 1e-6
#: Larger studies, in cells, are stored in fewer bytes: edges as 16-bit numbers, and weights as they are given.
COMPACT = 2**24


def from_matrices(
    matrices: Any,
    y: ArrayLike | str | None = None,
    *,
    atlas: Any = None,
    ids: Iterable[Any] | None = None,
    participants: Any = None,
    missing: str = "error",
    directed: bool = False,
) -> GraphSet:
    """Convert connectivity matrices to a `GraphSet` with region names, subject ids and covariates.

    The diagonal, such as the correlation of a region with itself, is dropped. A warning names subjects
    whose scale differs, outliers, regions without signal and repeated matrices.

    Args:
        matrices: array of shape (g, n, n), or a list of square arrays or of pandas DataFrames with region names as
            index.
        y: class or number of each subject; or the name of a column of ``participants``, or of several columns of
            numbers, such as "memory,iq".
        atlas: anything `as_atlas` takes, such as the names of the regions, or None. Networks become node labels,
            coordinates node attributes.
        ids: name of each subject.
        participants: a table with a row per subject: a file (participants.tsv), a pandas DataFrame, or a dict of
            columns. With ``ids``, rows are found by the column participant_id (or subject, id); otherwise they are in
            the order of the matrices. Its columns become ``GraphSet.table``.
        missing: how to treat NaN: "error", or "drop" the fewest regions that hold it from that subject. Models then
            replace their connections by the mean of the training graphs, whatever their class.
        directed: allow matrices that are not symmetric.

    Returns:
        `isonn.GraphSet` of the kind "connectomes".

    Example:
        >>> matrices = np.array([[[1.0, 0.3], [0.3, 1.0]], [[1.0, -0.2], [-0.2, 1.0]]])
        >>> graphs = from_matrices(matrices, ["a", "b"], atlas=["Insula L", "Insula R"], ids=["sub-01", "sub-02"])
        >>> graphs[0].id, graphs[0].node_names.tolist(), graphs[0].adjacency.tolist()
        ('sub-01', ['Insula L', 'Insula R'], [[0.0, 0.3], [0.3, 0.0]])
    """
    columns = {} if participants is None else read_participants(participants)
    graphs = study_graphs(
        matrices, atlas, ids_of(columns) if ids is None else ids, missing=missing, directed=directed, check=True
    )
    table = {}
    if columns:
        rows = rows_of(columns, graphs.ids, len(graphs))
        table = {column: values[rows] for column, values in columns.items() if column not in ID_COLUMNS}
    if isinstance(y, str):
        targets, y = take_targets(y, table, graphs.ids)
        return replace(graphs, y=y, table=table, target_names=targets)
    return replace(graphs, y=None if y is None else class_values(np.asarray(y), "y"), table=table)


def study_graphs(
    matrices: Any,
    atlas: Any = None,
    ids: Iterable[Any] | None = None,
    *,
    missing: str = "error",
    directed: bool = False,
    check: bool = False,
) -> GraphSet:
    """Return the graphs of a study without targets; arguments as in `from_matrices`.

    Args:
        check: whether to warn of scales that differ, outliers, regions without signal and repeated matrices.
    """
    if missing not in ("error", "drop"):
        raise InputError(f"missing={missing!r} is unknown; use 'error' or 'drop'")
    regions, called = None if atlas is None else as_atlas(atlas), None if ids is None else unique_ids(ids)
    stack, names = _stack(matrices, called)
    if regions is None and names is not None:
        regions = Atlas(names)
    if regions is not None and len(regions) != stack.shape[1]:
        raise InputError(
            f"the atlas names {len(regions)} regions, but the matrices have {stack.shape[1]}; give the atlas they were "
            f"made with"
        )
    if called is not None and len(called) != len(stack):
        raise InputError(f"{len(called)} ids for {len(stack)} matrices; give one per matrix")
    if not directed:
        _check_symmetric(stack, called)
    if check:
        for sentence in problems(stack, lambda i: _who(i, called), lambda i: _region(i, regions)):
            warnings.warn(sentence, IsoNNWarning, stacklevel=3)
    graphs = _graphs(stack, _absent(stack, regions, called, missing), regions, directed)
    return replace(graphs, name="connectomes", ids=called, kind="connectomes")


def _stack(matrices: Any, ids: NDArray[np.str_] | None) -> tuple[NDArray[np.floating], NDArray[np.str_] | None]:
    """Return matrices of shape (g, n, n) as floats, and the region names of DataFrames."""
    names = None
    if isinstance(matrices, Sequence) and len(matrices) and hasattr(matrices[0], "columns"):
        frames = list(matrices)
        names = np.array([str(name) for name in frames[0].columns])
        for i, frame in enumerate(frames):
            columns, index = [str(name) for name in frame.columns], [str(name) for name in frame.index]
            if columns != names.tolist():
                raise InputError(
                    f"{_who(i, ids)} has different regions from the first ({_odd(columns, names)}); use one atlas"
                )
            if index not in (columns, [str(number) for number in range(len(columns))]):
                raise InputError(f"{_who(i, ids)} has rows and columns in different order; put them in one order")
        matrices = [frame.to_numpy() for frame in frames]
    if isinstance(matrices, Sequence):
        shapes = [np.shape(matrix) for matrix in matrices]
        odd = next((i for i, shape in enumerate(shapes) if shape != shapes[0]), None)
        if odd is not None:
            raise InputError(
                f"{_who(odd, ids)} has a matrix of shape {shapes[odd]}, but the first has {shapes[0]}; use one atlas "
                f"for all subjects"
            )
    try:
        stack = np.asarray(matrices)
        if stack.dtype not in (np.float32, np.float64):
            stack = stack.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("matrices contain values that are not numbers; give numeric arrays") from error
    if stack.ndim != 3 or stack.shape[1] != stack.shape[2] or not len(stack):
        raise InputError(
            f"matrices have shape {stack.shape}; give (subjects, regions, regions): one matrix as matrix[None], "
            f"vectors after nilearn's vec_to_sym_matrix"
        )
    return stack, names


def _check_symmetric(stack: NDArray[np.floating], ids: NDArray[np.str_] | None) -> None:
    limit = ASYMMETRY * max(float(np.max(np.abs(matrix), initial=0.0, where=np.isfinite(matrix))) for matrix in stack)
    for i, matrix in enumerate(stack):
        with np.errstate(invalid="ignore"):  # Fisher's z of the diagonal is infinite
            wrong = np.nan_to_num(np.abs(matrix - matrix.T)) > limit
        if wrong.any():
            a, b = (int(place) for place in np.unravel_index(int(wrong.argmax()), wrong.shape))
            half = any(not side[np.triu_indices(len(side), 1)].any() for side in (matrix, matrix.T))
            raise InputError(
                f"{_who(i, ids)} is not symmetric ({matrix[a, b]:.3g} at ({a}, {b}) and {matrix[b, a]:.3g} at "
                f"({b}, {a})); {'add its transpose, for one half is 0' if half else 'average the halves'}, or give "
                f"directed=True"
            )


def _absent(
    stack: NDArray[np.floating], atlas: Atlas | None, ids: NDArray[np.str_] | None, missing: str
) -> NDArray[np.bool_]:
    """Return the regions to leave out of each subject because they hold NaN, shape (g, n)."""
    g, n = stack.shape[:2]
    absent = np.zeros((g, n), dtype=bool)
    for i, matrix in enumerate(stack):
        gaps = ~np.isfinite(matrix)
        np.fill_diagonal(gaps, n == 1 and bool(gaps[0, 0]))
        if not gaps.any():
            continue
        absent[i] = (gaps | np.eye(n, dtype=bool)).all(axis=1)
        left = gaps & ~absent[i][:, None] & ~absent[i]
        if left.any() and missing == "error":
            a, b = (int(place) for place in np.unravel_index(int(left.argmax()), left.shape))
            raise InputError(
                f"{_who(i, ids)} has {matrix[a, b]} between {_region(a, atlas)} and {_region(b, atlas)}; replace it "
                f"with a number, or give missing='drop' (--missing drop) to leave the region out of this subject"
            )
        while left.any():  # the region with most gaps, until none is left
            worst = int((left | left.T).sum(axis=1).argmax())
            absent[i, worst] = True
            left[worst] = left[:, worst] = False
    if absent.any() and missing == "error":
        first, some = int(absent.any(axis=1).argmax()), int(absent.any(axis=1).sum())
        regions = ", ".join(_region(int(region), atlas) for region in np.flatnonzero(absent[first])[:3])
        raise InputError(
            f"{_who(first, ids)} has no signal (NaN) in {int(absent[first].sum())} regions: {regions}; {some} of "
            f"{len(stack)} subjects have such regions; give missing='drop' (--missing drop) to leave them out there"
        )
    if absent.all(axis=1).any():
        raise InputError(f"{_who(int(absent.all(axis=1).argmax()), ids)} has no signal in any region; leave it out")
    return absent


def _graphs(stack: NDArray[np.floating], absent: NDArray[np.bool_], atlas: Atlas | None, directed: bool) -> GraphSet:
    """Return the graphs, one subject at a time, so that no copy of all matrices is made."""
    g, n = stack.shape[:2]
    many = stack.size > COMPACT
    whole = np.array([np.count_nonzero(matrix) for matrix in stack])  # an upper limit of the cells of each graph
    edges = np.empty((int(whole.sum()), 2), dtype=np.int16 if many and n < 2**15 else np.int64)
    weights = np.empty(len(edges), dtype=stack.dtype if many else np.float64)
    counts = np.zeros(g, dtype=np.int64)
    at = 0
    for i, matrix in enumerate(stack):
        here = np.flatnonzero(~absent[i])
        cells = matrix if len(here) == n else matrix[np.ix_(here, here)]
        if not directed:
            cells = (cells + cells.T) / 2  # halves that differ by rounding
        cells = np.where(np.eye(len(cells), dtype=bool), 0, cells)  # also if the diagonal is infinite or NaN
        row, column = np.nonzero(cells)
        end = at + len(row)
        edges[at:end, 0], edges[at:end, 1], weights[at:end] = row, column, cells[row, column]
        counts[i], at = len(row), end
    if atlas is None and absent.any():
        atlas = Atlas(range(n))
    region_of_node = np.flatnonzero(~absent.reshape(-1)) % n
    return GraphSet(
        node_offsets=offsets_of(n - absent.sum(axis=1)),
        edge_offsets=offsets_of(counts),
        edges=read_only(edges[:at]),  # so that the set does not copy them
        weights=None if bool((weights[:at] == 1).all()) else read_only(weights[:at]),
        node_names=None if atlas is None else take(atlas.names, region_of_node),
        node_labels=None if atlas is None else take(atlas.networks, region_of_node),
        node_attributes=None if atlas is None else take(atlas.coordinates, region_of_node),
    )


def _who(i: int, ids: NDArray[np.str_] | None) -> str:
    return f"subject {i}" if ids is None else f"subject {ids[i]}"


def _region(i: int, atlas: Atlas | None) -> str:
    return f"region {i}" if atlas is None else str(atlas.names[i])


def _odd(columns: list[str], names: NDArray[np.str_]) -> str:
    if len(columns) != len(names):
        return f"{len(columns)} and {len(names)}"
    at = next(i for i, (here, first) in enumerate(zip(columns, names.tolist(), strict=True)) if here != first)
    return f"{columns[at]!r} and {str(names[at])!r} at {at}"
