"""Every reader, given damaged files: success or one sentence."""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from fuzz.outcome import outcome
from graph_samples import SAMPLES
from hypothesis import given
from hypothesis import strategies as st

import isonn
from isonn.errors import IsoNNError
from isonn.graphs import GraphSet


def mat_file(folder: Path) -> Path:
    path = folder / "sample.mat"
    scipy.io.savemat(path, {"X": np.ones((3, 3, 4)), "label": np.arange(4)}, do_compression=True)
    return path


FORMATS = {**SAMPLES, "mat": mat_file}

#: What people and programs write where something else belongs.
TOKENS = [
    *("", " ", "\n", "\r\n", ",", ";", "\t", '"', "'", "#", "\u0661", "é", "\ufeff", "\u2028", "\x00"),
    *("nan", "inf", "-inf", "-1", "0", "1", "1.5", "1e20", "1e400", "0x10", "1_000", "None", "C"),
    *("99999999999", "4294967296", "2147483648"),
    *("9" * 20, "9" * 400, "-" + "9" * 30, "[" * 50, "x" * 70, "x" * 140_000, "1 " * 300, "1," * 300),
]


@st.composite
def damages(draw):
    """A function that changes some bytes of a file."""
    kind = draw(st.sampled_from(["flip", "cut", "insert", "repeat", "swap", "token", "encode", "replace"]))
    where, size = draw(st.floats(0, 1)), draw(st.floats(0, 1))
    noise = draw(st.binary(min_size=1, max_size=8))
    token = draw(st.sampled_from(TOKENS)).encode()

    def damage(data: bytes) -> bytes:
        at = int(where * len(data))
        stop = at + int(size * (len(data) - at))
        if kind == "flip":
            return data[:at] + bytes(byte ^ noise[0] for byte in data[at : at + 2]) + data[at + 2 :]
        if kind == "cut":
            return data[:at] if noise[0] % 2 else data[:at] + data[stop:]
        if kind == "insert":
            return data[:at] + noise + data[at:]
        if kind == "repeat":
            return data[:stop] + data[at:stop] * (noise[0] % 5) + data[stop:]
        if kind == "swap":
            return data[stop:] + data[at:stop] + data[:at]
        if kind == "token":
            words = data.split(b" ") if noise[0] % 2 else data.split(b"\n")
            words[int(where * len(words)) % len(words)] = token
            return (b" " if noise[0] % 2 else b"\n").join(words)
        if kind == "encode":
            encoding = ["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp1252"][noise[0] % 5]
            return data.decode("latin-1").encode(encoding, errors="replace")
        return token if noise[0] % 2 else noise

    return damage


@pytest.mark.parametrize("name", FORMATS)
@given(damage=st.lists(damages(), min_size=1, max_size=3), which=st.floats(0, 0.999))
def test_damaged_files(name, damage, which, tmp_path_factory):
    with tempfile.TemporaryDirectory(dir=tmp_path_factory.getbasetemp()) as folder:
        before = os.getcwd()
        os.chdir(folder)
        try:
            Path("d").mkdir()
            path = FORMATS[name](Path("d"))
            files = [path] if path.is_file() else sorted(path.iterdir())
            file = files[int(which * len(files))]
            data = file.read_bytes()
            for change in damage:
                data = change(data) or b" "
            file.write_bytes(data)
            whole = outcome(lambda: isonn.load(path))
            parts = outcome(lambda: GraphSet.concat(list(isonn.stream(path, 2))))
            if not isinstance(whole, IsoNNError):
                assert len(whole) > 0
                if not isinstance(parts, IsoNNError):
                    assert parts.digest == whole.digest
        finally:
            os.chdir(before)


@pytest.mark.parametrize("name", FORMATS)
def test_folders_where_files_belong_and_files_that_may_not_be_read(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("d").mkdir()
    path = FORMATS[name](Path("d"))
    for file in [path] if path.is_file() else sorted(path.iterdir()):
        data = file.read_bytes()
        file.unlink()
        file.mkdir()
        outcome(lambda: isonn.load(path))
        file.rmdir()
        file.symlink_to("nowhere")
        outcome(lambda: isonn.load(path))
        file.unlink()
        file.write_bytes(b"")
        outcome(lambda: isonn.load(path))
        file.write_bytes(data)


# Archives whose members promise what they do not hold


headers = st.fixed_dictionaries(
    {
        "descr": st.sampled_from(
            ["<f8", "|i1", "|b1", "<i8", "<U5", "<U0", "|O", "<c16", "<M8[D]", "|V4", "<f2", ">f8", "junk"]
        ),
        "fortran_order": st.booleans(),
        "shape": st.lists(st.sampled_from([0, 1, 2, 3, 5, -1, 2**20, 2**31, 2**62, 2**63, 10**30]), max_size=4).map(
            tuple
        ),
    }
)


@given(
    members=st.dictionaries(st.sampled_from(["adjacency", "labels", "fold", "names", "ids", "y", "../x"]), headers),
    payload=st.sampled_from([0, 8, 24, 10**7]),
)
def test_arrays_with_lying_headers(members, payload, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "lie.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, header in members.items():
            text = repr(header).encode() + b"\n"
            data = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
            archive.writestr(f"{name}.npy", data + bytes(payload))
    outcome(lambda: isonn.load(path))


shapes = st.lists(st.integers(0, 4), min_size=0, max_size=4)
dtypes = st.sampled_from(["f8", "f4", "f2", "i1", "i8", "u8", "?", "c8", "U3", "M8[s]"])


@st.composite
def arrays(draw):
    dtype = np.dtype(draw(dtypes))
    array = np.zeros(draw(shapes), dtype=dtype)
    if array.size and dtype.kind in "fciu":
        array.flat[0] = draw(st.sampled_from([0, 1, 2, 100]))
    if array.size and dtype.kind in "fc":
        array.flat[-1] = draw(st.sampled_from([np.nan, np.inf, 1, 0.5, 1e4]))
    return array


@given(st.dictionaries(st.sampled_from(["adjacency", "labels", "fold", "names", "ids", "more"]), arrays()))
def test_arrays_of_any_shape(members):
    buffer = io.BytesIO()
    np.savez(buffer, **members)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npz"
        path.write_bytes(buffer.getvalue())
        outcome(lambda: isonn.load(path))


words = st.one_of(
    st.integers(0, len(TOKENS) - 1).map(lambda i: TOKENS[i]), st.integers(-2, 6).map(str), st.floats(width=16).map(str)
)


@given(
    st.lists(st.lists(words, max_size=5), max_size=6),
    st.sampled_from([",", ";", "\t", " "]),
    st.sampled_from(["utf-8", "utf-16", "latin-1"]),
)
def test_tables_of_any_words(rows, separator, encoding):
    text = "\n".join(separator.join(row) for row in rows)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.csv", "labels.csv", "x.txt", "DS_A.txt", "nodes.txt"):
            place = Path(folder) / name.partition(".")[0]
            place.mkdir()
            (place / name).write_bytes(text.encode(encoding, errors="replace"))
            if name in ("labels.csv", "nodes.txt"):
                (place / "a.csv").write_text("0,1\n1,0\n")
            outcome(lambda: isonn.load(place / name if name == "x.txt" else place))  # noqa: B023
