"""`load`, `find`, `fetch`: names first, then paths, then the network."""

from __future__ import annotations

import importlib.util
import os
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tu_folder import write

import isonn
from isonn.errors import DatasetError
from isonn.graphs.datasets import registry as catalog
from isonn.graphs.datasets.registry import fetch, find, known, load

REAL_DATA = os.environ.get("ISONN_DATA", "")


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """No data folder, an empty cache, no network."""
    monkeypatch.delenv("ISONN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def receive(url, file, name, *_):
        asked.append(name)
        page = tmp_path / "web" / url.rpartition("/")[2]
        if not page.exists():
            raise DatasetError(f"{name} cannot be downloaded from {url}")
        file.write_bytes(page.read_bytes())

    asked: list[str] = []
    monkeypatch.setattr(sys.modules["isonn.graphs.datasets.fetch"], "_receive", receive)
    return asked


def write_tu(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return write(folder, name)


def publish(tmp_path: Path, name: str) -> None:
    """Put a dataset where the fake network finds it."""
    files = write_tu(tmp_path / "made" / name, name)
    (tmp_path / "web").mkdir(exist_ok=True)
    with zipfile.ZipFile(tmp_path / "web" / f"{name}.zip", "w") as zipped:
        for file in files.iterdir():
            zipped.write(file, f"{name}/{file.name}")


needs_grakel = pytest.mark.skipif(importlib.util.find_spec("grakel") is None, reason="grakel is not installed")


@pytest.mark.parametrize("name", ["MUTAG", "mutag"])
def test_mutag_is_part_of_the_package(name, nowhere):
    graphs = load(name)
    assert graphs.name == "MUTAG"
    assert len(graphs) == 188
    assert graphs.node_label_names[0] == "C"
    assert graphs.edge_label_names[3] == "triple"
    assert graphs.class_names[1] == "mutagenic"
    assert find("MUTAG").parent == Path(catalog.__file__).parent
    assert find("MUTAG").stat().st_size < 20_000
    assert nowhere == []


@needs_grakel
def test_the_mutag_of_the_package_is_that_of_grakel():
    (place,) = importlib.util.find_spec("grakel").submodule_search_locations
    theirs = load(Path(place) / "tests" / "data" / "MUTAG")
    assert load("MUTAG").digest == theirs.digest


def test_the_label_names_of_mutag_agree_with_chemistry():
    graphs = load("MUTAG")
    highest_valence = {"C": 4, "N": 4, "O": 2, "F": 1, "I": 1, "Cl": 1, "Br": 1}
    owner = graphs.node_offsets[graphs.graph_of_cell]
    degrees = np.bincount(graphs.edges[:, 0] + owner, minlength=graphs.sizes.sum())
    for label, name in graphs.node_label_names.items():
        assert degrees[graphs.node_labels == label].max() <= highest_valence[name]


def test_the_data_folder_comes_before_the_cache_and_the_cache_before_packages(monkeypatch, tmp_path):
    cached = write_tu(tmp_path / "cache" / "isonn" / "MUTAG", "MUTAG")
    assert find("MUTAG") == cached
    given = write_tu(tmp_path / "data" / "MUTAG", "MUTAG")
    monkeypatch.setenv("ISONN_DATA", str(tmp_path / "data"))
    assert find("MUTAG") == given == fetch("MUTAG")


def test_a_folder_of_pytorch_geometric_is_found(monkeypatch, tmp_path):
    write_tu(tmp_path / "data" / "NCI1" / "raw", "NCI1")
    monkeypatch.setenv("ISONN_DATA", str(tmp_path / "data"))
    assert find("NCI1") == tmp_path / "data" / "NCI1" / "raw"


def test_a_data_folder_that_is_none_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("ISONN_DATA", str(tmp_path / "typo"))
    with pytest.raises(DatasetError, match=r"ISONN_DATA is set to .*typo, which is not a folder"):
        load("MUTAG")


def test_the_cache_is_in_the_home_folder_unless_told_otherwise(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert catalog.cache_folder() == Path.home() / ".cache" / "isonn"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")  # to be ignored, says the XDG standard
    assert catalog.cache_folder() == Path.home() / ".cache" / "isonn"


def test_any_tu_name_is_downloaded_once(tmp_path):
    publish(tmp_path, "Synthie")
    assert find("Synthie") is None
    graphs = load("synthie")
    assert graphs.name == "Synthie"
    assert find("Synthie") == tmp_path / "cache" / "isonn" / "Synthie"
    (tmp_path / "web" / "Synthie.zip").unlink()
    assert load("Synthie").digest == graphs.digest


def test_a_download_with_the_wrong_counts_does_not_enter_the_cache(tmp_path):
    publish(tmp_path, "NCI1")
    with pytest.raises(DatasetError, match=r"NCI1 should have 4110 graphs and has 2 in .*NCI1"):
        load("NCI1")
    assert find("NCI1") is None


@pytest.mark.parametrize(("word", "meant"), [("MUTAGG", "MUTAG"), ("mutga", "MUTAG"), ("IMDBBINARY", "IMDB-BINARY")])
def test_a_misspelt_name_gets_the_nearest_and_nothing_is_downloaded(word, meant, nowhere):
    for read in (load, fetch, isonn.stream):
        with pytest.raises(DatasetError, match=f"no dataset and no file '{word}'; .*did you mean {meant}"):
            read(word)
    assert nowhere == []


def test_graphs_other_than_the_known_ones_do_not_enter_the_cache(tmp_path, monkeypatch):
    publish(tmp_path, "Synthie")
    entry = replace(catalog.tu_entry("Synthie"), sha256="0" * 64)
    monkeypatch.setattr(catalog, "ENTRIES", (*catalog.ENTRIES, entry))
    with pytest.raises(DatasetError, match=r"sent graphs that differ from the known Synthie \(SHA-256 .*by hand"):
        load("Synthie")
    assert find("Synthie") is None


def test_a_set_of_ones_own_in_the_data_folder_has_a_name(tmp_path, monkeypatch):
    write_tu(tmp_path / "data" / "TOYS", "TOYS")
    monkeypatch.setenv("ISONN_DATA", str(tmp_path / "data"))
    assert load("TOYS").name == "TOYS"


@pytest.mark.parametrize("path", ["no/such/MUTAG", "PTC_MR.npz", "P T C"])
def test_a_missing_path_gets_the_nearest_name(path):
    with pytest.raises(
        DatasetError, match=r"there is no dataset and no file .*a path works too; did you mean (MUTAG|PTC)"
    ):
        load(path)


def test_a_word_like_no_other_gets_all_names():
    with pytest.raises(DatasetError, match="`isonn data list` shows the known names"):
        load("xyzzy/xyzzy")
    with pytest.raises(DatasetError, match="no dataset and no file 'x/y'"):
        find("x/y")


@pytest.mark.parametrize("name", ["HIV-fMRI", "HIV-DTI", "BP-fMRI"])
def test_data_that_is_not_public_says_whom_to_ask_and_where_to_put_it(name, tmp_path, monkeypatch):
    cache = tmp_path / "cache" / "isonn"
    whom = "the authors' repository" if name == "HIV-fMRI" else "ask the authors of Cao"
    with pytest.raises(DatasetError, match=f"{whom}.*put {name}.npz.* into {cache} or .*ISONN_DATA"):
        load(name)
    monkeypatch.setenv("ISONN_DATA", str(tmp_path))
    with pytest.raises(DatasetError, match=f"put {name}.npz.* into {tmp_path}"):
        fetch(name)


def write_study(path: Path, n_graphs: int, n_first: int, n: int) -> None:
    rng = np.random.default_rng(0)
    labels = np.where(np.arange(n_graphs) < n_first, 1, -1)
    np.savez(path, adjacency=rng.random((n_graphs, n, n)) * 100, labels=labels)


def test_raw_counts_are_scaled(tmp_path, monkeypatch):
    write_study(tmp_path / "HIV-DTI.npz", 76, 56, 90)
    monkeypatch.setenv("ISONN_DATA", str(tmp_path))
    assert_array_equal([np.abs(graph.weights).max() for graph in load("HIV-DTI")], np.ones(76))
    assert load(tmp_path / "HIV-DTI.npz").weights.max() > 50


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((96, 52, 82), "should have 97 graphs and has 96 in .*BP-fMRI.npz"),
        ((97, 97, 82), "should have 2 classes and has 1"),
        ((97, 50, 82), "should have 52 / 45 graphs per class and has 50 / 47"),
        ((97, 45, 80), "should have 82 nodes in the largest graph and has 80"),
    ],
)
def test_counts_that_are_not_those_of_the_name_are_refused(tmp_path, monkeypatch, shape, message):
    write_study(tmp_path / "BP-fMRI.npz", *shape)
    monkeypatch.setenv("ISONN_DATA", str(tmp_path))
    with pytest.raises(DatasetError, match=message):
        load("BP-fMRI")


def test_a_word_that_is_also_a_folder_is_the_folder(tmp_path, monkeypatch):
    write_tu(tmp_path / "mine", "MINE")
    monkeypatch.chdir(tmp_path)
    assert load("mine").name == "MINE"


def test_a_known_name_is_not_looked_for_in_the_working_folder(tmp_path, monkeypatch):
    write_tu(tmp_path / "PTC_MR", "PTC_MR")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetError, match="PTC_MR cannot be downloaded"):
        load("PTC_MR")
    assert len(load("./PTC_MR")) == len(load(Path("PTC_MR"))) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("DS_A.txt", "is one file of a TU dataset; give its folder"),
        ("notes.doc", "has no format that isonn reads"),
        ("empty", "holds no dataset"),
    ],
)
def test_paths_that_hold_no_dataset_are_refused(tmp_path, name, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.doc").write_text("")
    (tmp_path / "DS_A.txt").write_text("")
    with pytest.raises(DatasetError, match=message):
        load(tmp_path / name)


def test_names_are_distinct_and_every_entry_says_where_it_can_be_had():
    names = [entry.name.casefold() for entry in known()]
    assert len(set(names)) == len(names)
    for entry in known():
        assert entry.source
        assert entry.about
        assert entry.graphs == (sum(entry.class_counts) if entry.class_counts else entry.graphs)


@pytest.mark.parametrize(
    "name", ["PTC", "PTC_MR", "HIV-fMRI", "HIV-DTI", "KKI", "OHSU", "Peking_1", "PROTEINS", "IMDB-MULTI"]
)
def test_real_datasets_hold_what_their_entry_says(name, monkeypatch):
    if not REAL_DATA:
        pytest.skip("ISONN_DATA is not set")
    monkeypatch.setenv("ISONN_DATA", REAL_DATA)
    if find(name) is None:
        pytest.skip(f"{name} is not in ISONN_DATA")
    graphs = load(name)  # counts are checked on load
    entry = next(entry for entry in known() if entry.name == name)
    assert entry.sha256 in (None, graphs.digest)
    assert graphs.name == name
    assert (graphs.folds is not None) == name.startswith("HIV")
