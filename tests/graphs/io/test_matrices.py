"""`read_matrices`: connectomes in .npz, .mat and folders of .csv."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import numpy as np
import pandas
import pytest
import scipy.io
from numpy.testing import assert_array_equal

import isonn
from isonn.errors import DatasetError
from isonn.graphs.convert import as_graphset
from isonn.graphs.io.matrices import READER


@pytest.fixture
def adjacency() -> np.ndarray:
    values = np.random.default_rng(0).normal(size=(5, 4, 4))
    return values + values.transpose(0, 2, 1)


LABELS = np.array([1, -1, 1, 1, -1])


def write_folder(folder: Path, adjacency: np.ndarray, labels: str | None) -> Path:
    folder.mkdir()
    for i, matrix in enumerate(adjacency):
        np.savetxt(folder / f"subject{i}.csv", matrix, delimiter=",", fmt="%.17g")
    if labels is not None:
        (folder / "labels.csv").write_text(labels)
    return folder


def labels_csv(labels=LABELS) -> str:
    return "file,label\n" + "".join(f"subject{i}.csv,{label}\n" for i, label in reversed(list(enumerate(labels))))


def test_every_format_holds_the_same_set(tmp_path, adjacency):
    expected = as_graphset(adjacency, LABELS).digest
    np.savez(tmp_path / "a.npz", adjacency=adjacency, labels=LABELS.astype(np.int8))
    scipy.io.savemat(tmp_path / "b.mat", {"X": adjacency.transpose(1, 2, 0), "label": LABELS.astype(float), "n": 4})
    scipy.io.savemat(tmp_path / "c.mat", {"X": adjacency, "label": LABELS})
    write_folder(tmp_path / "d", adjacency, labels_csv())
    write_folder(tmp_path / "e", adjacency, labels_csv().replace(".csv", ""))
    for file in ("a.npz", "b.mat", "c.mat", "d", "e"):
        graphs = READER.read(tmp_path / file)
        assert graphs.digest == expected, file
        assert graphs.name == file[0]


def test_a_cube_is_read_along_the_axis_of_symmetric_matrices(tmp_path, adjacency):
    cube = adjacency[:4]
    for name, array in (("matlab", cube.transpose(1, 2, 0)), ("numpy", cube)):
        scipy.io.savemat(tmp_path / f"{name}.mat", {"X": array})
        assert_array_equal(READER.read(tmp_path / f"{name}.mat").dense(dtype=float), cube)


def test_folds_and_names_of_an_npz_are_kept(tmp_path, adjacency):
    folds, names = np.array([0, 1, 2, 0, 1], dtype=np.int8), np.array(["a", "b", "c", "d"])
    np.savez(tmp_path / "study.npz", adjacency=adjacency, labels=LABELS, fold=folds, names=names)
    graphs = isonn.load(tmp_path / "study.npz")
    assert_array_equal(graphs.folds, folds)
    assert_array_equal(graphs[3].node_names, names)


def test_node_names_and_text_labels_of_a_folder_are_kept(tmp_path, adjacency):
    words = ["sick", "well", "sick", "sick", "well"]
    folder = write_folder(tmp_path / "study", adjacency, labels_csv(words))
    (folder / "nodes.txt").write_text("left\nright\nfront\nback\n")
    graphs = READER.read(folder)
    assert_array_equal(graphs.y, words)
    assert_array_equal(graphs[1].node_names, ["left", "right", "front", "back"])


def test_matrices_without_labels_have_no_classes(tmp_path, adjacency):
    np.savez(tmp_path / "a.npz", adjacency=adjacency)
    scipy.io.savemat(tmp_path / "b.mat", {"X": adjacency})
    for path in (tmp_path / "a.npz", tmp_path / "b.mat", write_folder(tmp_path / "c", adjacency, None)):
        assert READER.read(path).y is None


def nan_in_the_third(adjacency):
    adjacency = adjacency.copy()
    adjacency[3, 1, 2] = np.nan
    return adjacency


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (lambda a: {"matrices": a}, "holds the arrays matrices; save it with adjacency"),
        (lambda a: {"adjacency": a, "label": LABELS}, "holds the arrays adjacency, label; save it with"),
        (lambda a: {"adjacency": a[0], "labels": LABELS}, r"has shape \(4, 4\); it should be \(g, n, n\)"),
        (lambda a: {"adjacency": a[:, :3], "labels": LABELS}, "graph 0 of 5 is 3 x 4, not square"),
        (lambda a: {"adjacency": a, "labels": LABELS[:4]}, "y has 4 entries for 5 graphs"),
        (lambda a: {"adjacency": nan_in_the_third(a), "labels": LABELS}, "study.npz .*graph 3 of 5 has .*weight nan"),
        (lambda a: {"adjacency": a, "labels": LABELS, "fold": [0, 1]}, r"fold of .* has shape \(2,\)"),
        (lambda a: {"adjacency": a, "labels": LABELS, "names": ["a"]}, "has 1 node names for 4 nodes"),
        (
            lambda a: {"adjacency": np.array([None, {}], dtype=object)},
            "holds adjacency as Python objects, which are not read",
        ),
        (
            lambda a: {"adjacency": a, "labels": np.array(list("uvwuv"), dtype=object)},
            r"holds labels as Python objects.*save it again with labels\.astype\(str\)",
        ),
    ],
)
def test_a_wrong_npz_is_refused(tmp_path, adjacency, arrays, message):
    np.savez(tmp_path / "study.npz", **arrays(adjacency))
    with pytest.raises(DatasetError, match=message):
        isonn.load(tmp_path / "study.npz")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (lambda a: {"X": a[0]}, r"holds X \(4, 4\); give one 3-D array"),
        (lambda a: {"X": a, "Y": a}, r"holds X .*Y .*one 3-D array"),
        (lambda a: {"X": a[:, :3]}, r"X of .* has shape \(5, 3, 4\)"),
        (lambda a: {"X": a, "age": np.arange(5), "dose": np.arange(5)}, "holds the vectors age, dose for 5 graphs"),
        (lambda a: {"X": a, "label": np.arange(4)}, "holds the vectors label for 5 graphs; keep one of length 5"),
    ],
)
def test_a_wrong_mat_is_refused(tmp_path, adjacency, arrays, message):
    scipy.io.savemat(tmp_path / "study.mat", arrays(adjacency))
    with pytest.raises(DatasetError, match=message):
        READER.read(tmp_path / "study.mat")


def test_the_vector_called_label_is_the_label(tmp_path, adjacency):
    scipy.io.savemat(tmp_path / "study.mat", {"X": adjacency, "age": np.arange(5), "Label": LABELS})
    assert_array_equal(READER.read(tmp_path / "study.mat").y, LABELS)


def test_a_new_matlab_file_is_told_to_be_saved_again(tmp_path):
    header = b"MATLAB 7.3 MAT-file".ljust(124, b" ") + b"\x00\x02IM"
    (tmp_path / "new.mat").write_bytes(header + b"\x89HDF\r\n\x1a\n" + bytes(600))
    with pytest.raises(DatasetError, match=r"MATLAB v7\.3 .*-v7"):
        READER.read(tmp_path / "new.mat")


@pytest.mark.parametrize("name", ["cut.npz", "cut.mat"])
def test_a_cut_file_is_refused(tmp_path, adjacency, name):
    path = tmp_path / name
    np.savez(path, adjacency=adjacency) if name == "cut.npz" else scipy.io.savemat(path, {"X": adjacency})
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(DatasetError, match=f"{name} cannot be read as"):
        READER.read(path)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("subject0.csv,1\n", "first line is 'file,label'"),
        ("", "first line is 'file,label'"),
        ("file,label\nsubject0.csv,1\n", r"no label for subject1.csv \(4 missing\)"),
        (labels_csv() + "subject9.csv,1\n", "labels subject9.csv, which is not in the folder"),
        (labels_csv() + "subject9,1\n", "labels subject9, which is not in the folder"),
        (labels_csv() + "subject0,1\n", "row 7 of .*labels.csv is 'subject0,1'; name each file once"),
        (labels_csv() + "subject0.csv,1\n", "row 7 of .*labels.csv is 'subject0.csv,1'; name each file once"),
        ("file,label\nsubject0.csv\n", "row 2 of .*labels.csv is 'subject0.csv'"),
    ],
)
def test_wrong_labels_of_a_folder_are_named(tmp_path, adjacency, labels, message):
    with pytest.raises(DatasetError, match=message):
        READER.read(write_folder(tmp_path / "study", adjacency, labels))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,x\n", "row 2 of .*subject1.csv holds 'x', which is not a number"),
        ("0,1\n", r"subject1.csv is 1 x 2 in row 1, not square"),
        ("", r"subject1.csv is empty; give n rows of n numbers"),
        ("0,1\n1,0\n", r"graph 1 of 5 \(subject1.csv of .*\) has 2 nodes where subject0.csv has 4"),
        ("0,1,0,0\n" * 3 + "0,1,nan,0\n", "graph 1 of 5 has an edge of weight nan"),
        ("a,b\x9d\n0,1\n1,0\n", r"subject1.csv is not text in UTF-8 \(.*\); save it as UTF-8"),  # no letter of cp1252
        ("0," + "x" * 140_000 + "\n", r"subject1.csv is not a table \(field larger than .*131072"),
    ],
)
def test_a_wrong_matrix_of_a_folder_is_named(tmp_path, adjacency, text, message):
    folder = write_folder(tmp_path / "study", adjacency, labels_csv())
    (folder / "subject1.csv").write_text(text, encoding="latin-1")
    with pytest.raises(DatasetError, match=message):
        isonn.load(folder)


# Tables as people export them


@pytest.mark.parametrize(
    ("write", "names"),
    [
        (lambda frame, path: frame.to_csv(path), None),
        (lambda frame, path: frame.to_csv(path, index=False), None),
        (lambda frame, path: frame.to_csv(path, header=False), None),
        (lambda frame, path: frame.rename(index=lambda i: i + 1, columns=lambda i: i + 1).to_csv(path), None),
        (lambda frame, path: frame.to_csv(path, sep=";", decimal=","), None),
        (lambda frame, path: frame.to_csv(path, sep="\t", encoding="utf-16"), None),
        (lambda frame, path: frame.set_axis(["é", "b", "c", "d"], axis=1).to_csv(path, index=False), "ébcd"),
        (lambda frame, path: frame.set_axis([*"ébcd"], axis=1).set_axis([*"ébcd"], axis=0).to_csv(path), "ébcd"),
        (
            lambda frame, path: frame.set_axis([*"ébcd"], axis=1).to_csv(path, index=False, encoding="latin-1"),
            "ébcd",
        ),
        (lambda frame, path: frame.set_axis([7, 3, 5, 1], axis=1).set_axis([7, 3, 5, 1]).to_csv(path), "7351"),
    ],
    ids=["both", "header", "no-header", "from-1", "german", "utf-16", "words", "both-words", "latin-1", "numbers"],
)
def test_a_table_with_a_header_or_an_index_is_a_matrix(tmp_path, adjacency, write, names):
    for i, matrix in enumerate(adjacency):
        write(pandas.DataFrame(matrix), tmp_path / f"{i}.csv")
    graphs = isonn.load(tmp_path)
    np.testing.assert_allclose(graphs.dense(dtype=float), adjacency, rtol=1e-15)
    assert_array_equal(graphs.ids, ["0", "1", "2", "3", "4"])
    if names is None:
        assert graphs.node_names is None
    else:
        assert_array_equal(graphs[2].node_names, list(names))


def test_tables_that_order_their_nodes_differently_are_refused(tmp_path, adjacency):
    for i, names in enumerate(["abcd", "abdc"]):
        pandas.DataFrame(adjacency[i], columns=list(names)).to_csv(tmp_path / f"{i}.csv", index=False)
    with pytest.raises(DatasetError, match=r"graph 1 of 2 \(1.csv of .*calls node 2 'd', and 0.csv 'c'"):
        isonn.load(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5,6\n0,1\n1,0\n", "is 3 x 2 in row 1, not square"),  # numbers above a matrix that count nothing
        (",a,b\na,0,1\nc,1,0\n", "calls column 1 'b' and row 1 'c'; use one order for both"),
    ],
)
def test_tables_that_could_mean_two_things_are_refused(tmp_path, text, message):
    (tmp_path / "0.csv").write_text(text)
    with pytest.raises(DatasetError, match=message):
        isonn.load(tmp_path)


def test_quotes_keep_line_breaks_and_separators_in_a_cell(tmp_path, adjacency):
    folder = write_folder(tmp_path / "study", adjacency[:1], 'file,label,note\nsubject0.csv,1,"two\nlines, one cell"\n')
    assert isonn.load(folder).table["note"].tolist() == ["two\nlines, one cell"]


def test_more_columns_of_labels_are_the_table(tmp_path, adjacency):
    lines = [f"subject{i}.csv,{i % 2},{20 + i},s{i}\n" for i in range(5)]
    graphs = isonn.load(write_folder(tmp_path / "study", adjacency, "file,label,age,site\n" + "".join(lines)))
    assert_array_equal(graphs.y, [0, 1, 0, 1, 0])
    assert_array_equal(graphs.table["age"], [20, 21, 22, 23, 24])
    assert graphs[3].row == {"age": 23, "site": "s3"}
    assert graphs[3].id == "subject3"


# Files that are small and unpack to much, and damage


@pytest.mark.parametrize(("numbers", "unit", "limit"), [(2**24 + 1, "numbers", 2**24), (2**28, "bytes", 2**28)])
def test_a_small_file_that_unpacks_to_much_is_refused(tmp_path, numbers, unit, limit):
    np.savez_compressed(tmp_path / "bomb.npz", labels=np.zeros(numbers, dtype=np.int8))
    with pytest.raises(DatasetError, match=rf"unpacks to .* {unit}, above the limit of {limit} .*without compression"):
        isonn.load(tmp_path / "bomb.npz")


@pytest.mark.parametrize("shape", [(200_000_000,), (10**15,), (2**40, 2**40), (3,)])
def test_an_array_of_another_size_than_its_data_is_refused(tmp_path, shape):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("labels.npy", "w") as file:
        np.lib.format.write_array_header_2_0(file, {"descr": "|i1", "fortran_order": False, "shape": shape})
        file.write(bytes(2**20))
    with pytest.raises(DatasetError, match=r"bomb.npz (cannot be read as .npz|is damaged: labels)"):
        isonn.load(path)


def test_labels_that_64_bits_do_not_hold_are_refused(tmp_path, adjacency):
    for labels in (np.array([1e20, 1e30, 1, 1, 1]), np.array([2**60, 1, 1, 1, 1])):
        np.savez(tmp_path / "study.npz", adjacency=adjacency, labels=labels)
        with pytest.raises(DatasetError, match=r"labels of .* beyond 2\*\*53"):
            isonn.load(tmp_path / "study.npz")


def test_a_byte_order_that_scipy_cannot_read_is_refused(tmp_path):
    path = tmp_path / "cray.mat"  # a header of MATLAB 4: the type says Cray, then rows, columns, imaginary, name
    path.write_bytes(struct.pack("<5i", 4000, 2, 2, 0, 2) + b"A\0" + np.ones(4).tobytes())
    with pytest.raises(DatasetError, match="cray.mat cannot be read.*byte ordering"):
        isonn.load(path)
