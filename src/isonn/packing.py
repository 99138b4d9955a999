"""Arrays: read them from anything, pack small integers into words, find equal rows, and mix bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError

IntArray = NDArray[np.int64]


def to_numpy(value: Any) -> NDArray[Any]:
    """A NumPy array of an array-like; torch tensors may need gradients, live on a GPU or be sparse."""
    if hasattr(value, "detach"):
        try:
            tensor = value.detach()
            if str(tensor.layout) != "torch.strided":
                tensor = tensor.to_dense()
            if tensor.is_floating_point() and str(tensor.dtype) not in _NUMPY_FLOATS:
                tensor = tensor.float()  # bfloat16 and the like, which NumPy does not have
            return np.asarray(tensor.cpu().numpy())
        except (RuntimeError, TypeError, AttributeError) as error:
            where, kind = getattr(value, "device", "?"), getattr(value, "dtype", "?")
            raise InputError(
                f"a tensor of type {kind} on {where} holds no numbers to read; use tensor.cpu()"
            ) from error
    try:
        return np.asarray(value)
    except (RuntimeError, TypeError, OverflowError) as error:
        raise InputError(f"{type(value).__name__} cannot be read as an array; use numbers or strings") from error


_NUMPY_FLOATS = {"torch.float16", "torch.float32", "torch.float64"}


def bits_of(codes: IntArray) -> int:
    """How many bits the largest code takes."""
    return max(1, int(codes.max(initial=0)).bit_length())


def words_of(columns: Sequence[IntArray], bits: Sequence[int]) -> Iterator[IntArray]:
    """Columns of codes packed into 63-bit integers, the first column in the highest bits."""
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
    """Rows of codes packed into integers that compare as the rows do."""
    return words_of(list(rows.T), [bits_of(column) for column in rows.T])


def merge_equal(words: Iterator[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A number for every entry such that equal entries share it, and a place where each number occurs."""
    number, count = None, 1
    for word in words:
        for piece, size in _pieces(word):
            number, count = _rank(piece if number is None else number * size + piece, count * size)
    assert number is not None
    place = np.empty(count, dtype=np.int64)
    place[number] = np.arange(len(number))
    return number, place


def _pieces(word: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], int]]:
    """A word's bits, the highest first, in pieces that a table can count, and how many values each piece can have."""
    bits = bits_of(word)
    step = bits if 1 << bits <= _table_size(len(word)) else 8
    for shift in range((bits - 1) // step * step, -1, -step):
        yield (word >> shift) & ((1 << step) - 1), 1 << step


def _rank(values: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], int]:
    """The rank of each value among the distinct ones, and how many those are; values are below ``size``."""
    if size > _table_size(len(values)):
        distinct, rank = np.unique(values, return_inverse=True)
        return rank, len(distinct)
    seen = np.zeros(size, dtype=bool)  # a table instead of sorting: a fifth of the time for windows of 0/1 graphs
    seen[values] = True
    ranks = np.cumsum(seen)
    return ranks[values] - 1, int(ranks[-1])


def _table_size(values: int) -> int:
    return 2**16 + 4 * values


def mix64(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64 bits (the finaliser of splitmix64), so that sums of them seldom meet by chance."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
