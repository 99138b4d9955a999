"""A small dataset of every format, for the contract of readers and for the campaigns; equality of sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tu_folder import write

import isonn
from isonn.graphs import GraphSet

FIELDS = tuple(field.name for field in fields(GraphSet))


def assert_equal_sets(first: GraphSet, second: GraphSet, names: Iterable[str] = FIELDS) -> None:
    """Two sets are equal in these fields, types included."""
    for name in names:
        value, expected = getattr(first, name), getattr(second, name)
        assert type(value) is type(expected), name
        if name == "table":
            assert list(value) == list(expected)
            for column in value:
                assert_array_equal(value[column], expected[column], strict=True, err_msg=column)
        elif isinstance(expected, np.ndarray):
            assert_array_equal(value, expected, strict=True, err_msg=name)
        else:
            assert value == expected, name


MATRIX = "0,1,0\n1,0,1\n0,1,0\n"


def tu_folder(folder: Path) -> Path:
    return write(folder)


def text_file(folder: Path) -> Path:
    path = folder / "sample.txt"
    path.write_text("2\n2 0\n0 1 1\n0 1 0\n3 1\n1 1 1\n2 2 0 2\n1 1 1\n")
    return path


def npz_file(folder: Path) -> Path:
    path = folder / "sample.npz"
    np.savez(path, adjacency=np.eye(3)[None] + np.ones((4, 3, 3)), labels=[0, 1, 1, 0])
    return path


def saved_set(folder: Path) -> Path:
    path = folder / "saved.npz"
    isonn.as_graphset(np.eye(3)[None] + np.ones((4, 3, 3)), name="mine", ids=["a", "b", "c", "d"]).save(path)
    return path


def csv_folder(folder: Path) -> Path:
    for name in ("a", "b"):
        (folder / f"{name}.csv").write_text(MATRIX)
    return folder


def smiles_table(folder: Path) -> Path:
    path = folder / "sample.csv"
    path.write_text("smiles,id,active\nCCO,a,0\nc1ccccc1O,b,1\nCC(=O)O,c,1\n")
    return path


def sdf_file(folder: Path) -> Path:
    Chem = pytest.importorskip("rdkit.Chem")
    path = folder / "sample.sdf"
    blocks = [Chem.MolToMolBlock(Chem.MolFromSmiles(smiles)) for smiles in ("CCO", "c1ccccc1O", "CC(=O)O")]
    path.write_text("".join(f"{block}> <active>\n{i % 2}\n\n$$$$\n" for i, block in enumerate(blocks)))
    return path


def subjects(folder: Path) -> Path:
    (folder / "participants.tsv").write_text("participant_id\tgroup\tage\nsub-01\ta\t30\nsub-02\tb\t40\n")
    draw = np.random.default_rng(0)
    for i in (1, 2):
        np.save(folder / f"sub-0{i}.npy", np.corrcoef(draw.normal(size=(3, 20))))
    return folder


#: A small dataset of every format; a new reader adds a line.
SAMPLES = {"tu": tu_folder, "text": text_file, "matrices": npz_file, "matrices-folder": csv_folder, "saved": saved_set}
SAMPLES |= {"smiles": smiles_table, "sdf": sdf_file, "connectomes": subjects}
