"""`GraphSet.save`: what is read is what was saved, and nothing else is read as a set."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from graph_samples import assert_equal_sets

import isonn
from isonn.errors import DatasetError, InputError


@pytest.fixture
def rich(mutag):
    generator = np.random.default_rng(0)
    part = mutag[:7]
    return replace(
        part,
        weights=generator.normal(size=len(part.edges)),
        node_attributes=generator.normal(size=(part.sizes.sum(), 3)),
        node_names=np.array([f"v{i}" for i in range(part.sizes.sum())]),
        y=np.array([[1.5, np.nan]] * 7),
        folds=np.arange(7) % 2,
        ids=np.array(["ä", "b", "c", "d", "e", "f", "g"]),
        class_names={1: "one", "two": "zwei", 2.5: "x"},
        target_names=("first", "second"),
        table={
            "mixed": np.array([1, "a", None, 2.5, True, "b", ""], dtype=object),
            "day": np.arange(7),
            "": np.ones(7),
        },
        kind="molecules",
        name="Ünïcode/../name",
    )


@pytest.mark.parametrize("y", [None, np.arange(7), np.array(list("abcdefg")), np.array([1, "a"] * 3 + [None], object)])
def test_a_saved_set_is_read_as_it_was(rich, tmp_path, y):
    graphs = rich if y is None else replace(rich, y=y, target_names=())
    graphs.save(tmp_path / "set.npz")
    found = isonn.load(tmp_path / "set.npz")
    assert_equal_sets(found, graphs)
    assert found.digest == graphs.digest


def test_a_bare_set_is_read_as_it_was(tmp_path):
    graphs = isonn.as_graphset([[[0]]])
    graphs.save(str(tmp_path / "set.npz"))
    assert_equal_sets(isonn.load(tmp_path / "set.npz"), replace(graphs, name="set"))


def test_equal_sets_give_equal_files_and_a_failed_write_leaves_none(rich, tmp_path):
    rich.save(tmp_path / "a.npz")
    rich.save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    odd = replace(rich, table={"odd": np.array([object()] * 7)})
    with pytest.raises(InputError, match="table-0 holds <object.* of type object; use numbers or strings"):
        odd.save(tmp_path / "c.npz")
    with pytest.raises(InputError, match=r"does not end with \.npz"):
        rich.save(tmp_path / "c.zip")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.npz", "b.npz"]


def rewritten(path: Path, **changes: object) -> None:
    """Write the file again with other arrays (None drops one) or another description."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    about = changes.pop("about", None)
    if about is not None:
        found = {**json.loads(members["graphset.json"]), **about} if isinstance(about, dict) else about
        members["graphset.json"] = found.encode() if isinstance(found, str) else json.dumps(found).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            if name.removesuffix(".npy") not in changes:
                archive.writestr(name, data)
        for name, array in changes.items():
            if array is not None:
                with archive.open(f"{name}.npy", "w") as file:
                    np.lib.format.write_array(file, np.asarray(array))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"about": {"version": 2}}, "has the format 'isonn graphs' version 2; this version of isonn reads"),
        ({"about": "["}, "cannot be read as .npz"),
        ({"about": "[" * 100_000}, "cannot be read as .npz"),
        ({"about": {"table": 3}}, "cannot be read as .npz"),
        ({"about": {"class_names": [[[], "x"]]}}, "cannot be read as .npz"),
        ({"node_offsets": None}, "cannot be read as .npz"),
        ({"node_offsets": [0.0, 2.5]}, "node_offsets of .* give integers"),
        ({"node_offsets": [0, 50, 20]}, "has no nodes"),
        ({"node_offsets": [3, 50]}, "node_offsets of .* do not rise from 0"),
        ({"edge_offsets": np.arange(8) * 10**6}, "edge_offsets of .* end with 7000000"),
        ({"edges": np.zeros((3, 3), dtype=int)}, "edges of .* has shape"),
        ({"y": np.zeros((7, 1, 1))}, "y of .* has shape"),
        ({"node_labels": np.zeros(3)}, "entries where"),
    ],
)
def test_an_edited_file_is_refused_in_one_sentence(rich, tmp_path, changes, message):
    rich.save(tmp_path / "set.npz")
    rewritten(tmp_path / "set.npz", **changes)
    with pytest.raises(DatasetError, match=message) as caught:
        isonn.load(tmp_path / "set.npz")
    assert "\n" not in str(caught.value)


def test_cells_out_of_order_are_refused(rich, tmp_path):
    rich.save(tmp_path / "set.npz")
    edges = rich.edges.copy()
    edges[[0, 1]] = edges[[1, 0]]
    rewritten(tmp_path / "set.npz", edges=edges)
    with pytest.raises(DatasetError, match="cells that are not sorted"):
        isonn.load(tmp_path / "set.npz")


def test_flipped_bytes_never_give_another_set(rich, tmp_path):
    path = tmp_path / "set.npz"
    rich.save(path)
    data = path.read_bytes()
    generator = np.random.default_rng(1)
    for at in generator.integers(len(data), size=150).tolist():
        path.write_bytes(data[:at] + bytes([data[at] ^ (1 << int(generator.integers(8)))]) + data[at + 1 :])
        try:
            found = isonn.load(path)
        except DatasetError:
            continue
        assert_equal_sets(found, rich)
