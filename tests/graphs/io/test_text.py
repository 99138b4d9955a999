"""Numbers in text files: the compiled loop against NumPy's reader."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest

from isonn.errors import DatasetError
from isonn.graphs.io import text
from isonn.graphs.io.text import read_numbers

SIGNS = np.frombuffer(b"0123456789,- \t\r\n", dtype=np.uint8)


def by_numpy(block: bytes) -> np.ndarray | None:
    """What NumPy's reader makes of the text as integers, or None if it refuses it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            warnings.simplefilter("ignore", UserWarning)
            return np.loadtxt(
                io.StringIO(block.decode(), newline=None), dtype=int, delimiter=",", comments=None, ndmin=2
            )
    except (ValueError, OverflowError, DeprecationWarning):
        return None


@pytest.fixture
def loop(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(text, "COMPILED_BYTES", 0)
    return text._plain_integers


@pytest.mark.parametrize(
    "block",
    [
        b"1, 2\n3, 4\n",
        b"1,2\r\n-3,4\r\n",
        b"\n\n1\n\n2\n\r\n3",
        b" 1 ,\t2 \n  10,-20",
        b"123456789012345678\n-123456789012345678\n",
    ],
)
def test_plain_integers_are_read_by_the_loop(loop, block):
    np.testing.assert_array_equal(loop(block), by_numpy(block), strict=True)


@pytest.mark.parametrize(
    "block", [b"1, 2\n3\n", b"1,\n", b"1 2\n", b"- 1\n", b"--1\n", b"1-\n", b" \n1\n", b"1.5\n", b"1e3\n", b"9" * 19]
)
def test_anything_else_is_left_to_numpy(loop, block):
    assert loop(block) is None


def test_the_loop_never_disagrees_with_numpy(loop):
    generator = np.random.default_rng(0)
    read = 0
    for _ in range(3000):
        length = int(generator.integers(1, 14))
        weights = np.array([4.0] * 10 + [3, 1, 1, 0.3, 0.3, 5])
        block = bytes(generator.choice(SIGNS, length, p=weights / weights.sum()))
        found = loop(block)
        if found is not None and found.size:
            np.testing.assert_array_equal(found, by_numpy(block), err_msg=repr(block))
            read += 1
    assert read > 300


@pytest.mark.parametrize("dtype", [int, float])
@pytest.mark.parametrize("block_bytes", [7, 100, 2**22])
def test_blocks_of_any_size_give_the_same_numbers(tmp_path, dtype, block_bytes, monkeypatch):
    rows = np.random.default_rng(1).integers(-1000, 10**9, (200, 2))
    path = tmp_path / "numbers.txt"
    path.write_text("\ufeff" + "\n".join(f"{a}, {b}" for a, b in rows.tolist()), encoding="utf-8")
    expected = read_numbers(path, dtype)
    monkeypatch.setattr(text, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(text, "COMPILED_BYTES", 0)
    np.testing.assert_array_equal(read_numbers(path, dtype), expected, strict=True)
    np.testing.assert_array_equal(expected, rows.astype(dtype))


def test_columns_that_change_between_blocks_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "numbers.txt"
    path.write_text("1, 2\n3, 4\n5\n6\n")
    monkeypatch.setattr(text, "BLOCK_BYTES", 10)
    with pytest.raises(DatasetError, match="line 3 of .* has 1 columns where the lines before have 2"):
        read_numbers(path, int)
