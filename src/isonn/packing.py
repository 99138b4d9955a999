"""Arrays: convert and store them, pack small integers into words, find equal rows, and hash integers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError

IntArray = NDArray[np.int64]
Floats = NDArray[np.float64]
T = TypeVar("T")


def to_numpy(value: Any) -> NDArray[Any]:
    """Convert an array-like to NumPy; torch tensors may require gradients, be on a GPU or be sparse."""
    if hasattr(value, "detach"):
        try:
            tensor = value.detach()
            if str(tensor.layout) != "torch.strided":
                tensor = tensor.to_dense()
            if tensor.is_floating_point() and str(tensor.dtype) not in _NUMPY_FLOATS:
                tensor = tensor.float()  # types that NumPy lacks, such as bfloat16
            return np.asarray(tensor.cpu().numpy())
        except (RuntimeError, TypeError, AttributeError) as error:
            where, kind = getattr(value, "device", "?"), getattr(value, "dtype", "?")
            raise InputError(
                f"a tensor of type {kind} on {where} cannot be read; give one with values on the CPU"
            ) from error
    try:
        return np.asarray(value)
    except (RuntimeError, TypeError, OverflowError) as error:
        raise InputError(f"{type(value).__name__} cannot be read as an array; use numbers or strings") from error


_NUMPY_FLOATS = {"torch.float16", "torch.float32", "torch.float64"}


def smallest_type(codes: NDArray[Any]) -> IntArray:
    """Convert nonnegative integers to the smallest type that holds them."""
    largest = int(codes.max(initial=0))
    small = next((kind for kind in (np.uint8, np.uint16, np.uint32) if largest <= np.iinfo(kind).max), np.int64)
    return codes.astype(small)


def bits_of(codes: NDArray[Any]) -> int:
    """Return the number of bits of the largest code."""
    return max(1, int(codes.max(initial=0)).bit_length())


def words_of(columns: Sequence[IntArray], bits: Sequence[int]) -> Iterator[IntArray]:
    """Pack columns of codes into 63-bit integers, the first column in the highest bits."""
    word, free = np.zeros(columns[0].shape, dtype=np.int64), 63
    for column, width in zip(columns, bits, strict=True):
        if width > free:
            yield word
            word, free = np.zeros(columns[0].shape, dtype=np.int64), 63
        word <<= width
        word |= column
        free -= width
    yield word


def row_words(rows: IntArray) -> Iterator[IntArray]:
    """Pack rows of codes into integers that sort like the rows."""
    return words_of(list(rows.T), [bits_of(column) for column in rows.T])


def merge_equal(words: Iterator[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the distinct entries; return the number of every entry, and an index where each number occurs."""
    number, count = None, 1
    for word in words:
        for piece, size in _pieces(word):
            number, count = _rank(piece if number is None else number * size + piece, count * size)
    assert number is not None
    place = np.empty(count, dtype=np.int64)
    place[number] = np.arange(len(number))
    return number, place


def _pieces(word: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield groups of bits of a word, the highest first, small enough for a table, with their number of values."""
    bits = bits_of(word)
    step = bits if 1 << bits <= _table_size(len(word)) else 8
    for shift in range((bits - 1) // step * step, -1, -step):
        yield (word >> shift) & ((1 << step) - 1), 1 << step


def _rank(values: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], int]:
    """Return the rank of each value among the distinct ones, and their number; values are below ``size``."""
    if size > _table_size(len(values)):
        distinct, rank = np.unique(values, return_inverse=True)
        return rank, len(distinct)
    seen = np.zeros(size, dtype=bool)  # a table takes a fifth of the time of sorting for windows of 0/1 graphs
    seen[values] = True
    ranks = np.cumsum(seen)
    return ranks[values] - 1, int(ranks[-1])


def _table_size(values: int) -> int:
    return 2**16 + 4 * values


def row_hashes(rows: NDArray[np.integer], start: NDArray[np.uint64] | None = None) -> NDArray[np.uint64]:
    """Return a hash of 64 bits for each row of integers, ``(d, width)``; ``start`` are hashes of what comes before."""
    hashes = np.zeros(len(rows), dtype=np.uint64) if start is None else start
    for column in rows.T:
        hashes = mix64(hashes + column.astype(np.uint64))
    return hashes


def mix64(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash 64-bit integers (the finaliser of splitmix64), so that sums of them rarely collide."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def prefixed(prefix: str, tensors: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Put a prefix before all names."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def below(prefix: str, tensors: Mapping[str, T]) -> dict[str, T]:
    """Return the tensors with a prefix, without it."""
    start = f"{prefix}."
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}


def stored_array(
    tensors: dict[str, NDArray[Any]], name: str, shape: tuple[int, ...], dtype: Any = np.float64, gaps: bool = False
) -> NDArray[Any]:
    """Return an array of a saved model; raise ValueError if it is not what the model needs.

    Args:
        tensors: arrays by name.
        name: the array to take.
        shape: the shape it must have; -1 stands for any length.
        dtype: the type to return.
        gaps: whether it may hold NaN.
    """
    array = tensors[name].astype(dtype)
    wanted = tuple(have if want < 0 else want for want, have in zip(shape, array.shape, strict=False))
    wrong = np.isinf(array) if gaps else ~np.isfinite(array)
    if array.ndim != len(shape) or array.shape != wanted or wrong.any():
        raise ValueError(f"{name} has shape {array.shape} instead of {shape}, or is not finite")
    return array
