"""Datasets too large to hold, as a user meets them: `isonn fit` and `isonn predict` through banks on disk."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import sys as _sys
import time

import numpy as np
import pytest
from tests_commands import refused, run
from tu_folder import write, write_tu

import isonn
import isonn.graphs.stream
from isonn.cli import reading as large

streams = _sys.modules["isonn.graphs.stream"]

MODEL = ("--max-nodes", 3, "--templates", 6, "--head", "linear")
OPTIONS = (*MODEL, "--jobs", 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, mutag):
    path = tmp_path_factory.mktemp("data") / "MINE"
    path.mkdir()
    return write_tu(path, mutag, np.arange(mutag.node_offsets[-1]))


@pytest.fixture(scope="module")
def expected(folder):
    graphs = isonn.load(folder)
    return isonn.SubgraphClassifier(max_nodes=3, n_templates=6, head="linear", random_state=0).fit(graphs)


@pytest.fixture
def small_pieces(monkeypatch):
    """Every set is large, and a chunk is small."""
    monkeypatch.setattr(large, "LARGE", 1)
    monkeypatch.setattr(streams, "AT_ONCE", 50)


def assert_same(path, expected, folder):
    graphs = isonn.load(folder)
    np.testing.assert_allclose(isonn.load_model(path).predict_proba(graphs), expected.predict_proba(graphs), atol=1e-6)


def test_a_bank_gives_the_same_model_and_is_kept(folder, expected, tmp_path, small_pieces):
    result = run("fit", folder, "--out", tmp_path / "model", "--bank", tmp_path / "bank", *OPTIONS)
    assert result.returncode == 0, result.stderr
    assert "DS: 188 graphs" in result.stdout
    assert "templates" in result.stdout
    assert_same(tmp_path / "model", expected, folder)
    assert len(list((tmp_path / "bank").glob("part-*"))) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bank", "model"]


def test_large_data_is_banked_without_being_told(folder, expected, tmp_path, small_pieces):
    result = run("fit", folder, "--out", tmp_path / "model", "--json", *MODEL)
    assert json.loads(result.stdout)["graphs"] == 188, result.stderr
    assert_same(tmp_path / "model", expected, folder)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.filterwarnings("ignore:.*is not sorted by graph.*")
def test_lines_that_are_not_sorted_are_read_whole(tmp_path, small_pieces, monkeypatch):
    monkeypatch.setattr(streams, "AT_ONCE", 1)
    cells = ["3, 4", "4, 3", "4, 5", "5, 4", "1, 2", "2, 1"]
    write(tmp_path, A=cells)
    options = ("--max-nodes", 1)
    result = run("fit", tmp_path, "--out", tmp_path / "m", "--bank", tmp_path / "bank", "--jobs", 2, *options)
    assert result.returncode == 0, result.stderr
    predicted = run("predict", tmp_path / "m", tmp_path)
    assert predicted.returncode == 0, predicted.stderr
    rows = list(csv.DictReader(io.StringIO(predicted.stdout)))
    clf = isonn.load_model(tmp_path / "m")
    assert [row["predicted"] for row in rows] == list(map(str, clf.predict(isonn.load(tmp_path)).tolist()))


def test_a_folder_of_many_files_is_fitted_and_predicted(mutag, tmp_path, small_pieces):
    for name, part in (("a", mutag[:100]), ("b", mutag[100:])):
        (tmp_path / "data" / name).mkdir(parents=True)
        write_tu(tmp_path / "data" / name, part, np.arange(part.node_offsets[-1]))
    assert run("fit", tmp_path / "data", "--out", tmp_path / "m", *OPTIONS).returncode == 0
    result = run("predict", tmp_path / "m", tmp_path / "data", "--out", tmp_path / "p.csv")
    assert "188 predictions" in result.stderr
    assert "(188 values)" in result.stderr
    rows = list(csv.DictReader(io.StringIO((tmp_path / "p.csv").read_text())))
    assert [int(row["graph"]) for row in rows] == list(range(188))
    clf = isonn.load_model(tmp_path / "m")
    assert [int(row["predicted"]) for row in rows] == clf.predict(isonn.load(tmp_path / "data")).tolist()
    as_json = json.loads(run("predict", tmp_path / "m", tmp_path / "data", "--json").stdout)
    assert [row["predicted"] for row in as_json] == [int(row["predicted"]) for row in rows]


def test_ctrl_c_while_cutting_keeps_parts_and_the_same_command_goes_on(folder, expected, tmp_path, small_pieces):
    slow = (
        "import sys, time\nfrom isonn.cli import main, reading as large\n"
        "import isonn.graphs.stream, isonn.subgraphs.bank as files\n"
        "large.LARGE = 1\nsys.modules['isonn.graphs.stream'].AT_ONCE = 50\nreal = files.count_chunk\n"
        "def count_chunk(*given):\n    time.sleep(0.5)\n    return real(*given)\n"
        "files.count_chunk = count_chunk\nmain()"
    )
    command = ("fit", folder, "--out", tmp_path / "m", "--bank", tmp_path / "bank", *OPTIONS)
    process = subprocess.Popen(
        [sys.executable, "-c", slow, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list((tmp_path / "bank").glob("part-*")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "parts of subgraphs are kept in" in stderr
    assert "run the same command again" in stderr
    assert len(stderr.strip().splitlines()) == 1
    assert 1 <= len(list((tmp_path / "bank").glob("part-*"))) < 4
    assert not list((tmp_path / "bank").glob(".part-*"))
    again = run(*command)
    assert again.returncode == 0, again.stderr
    assert_same(tmp_path / "m", expected, folder)


@pytest.mark.parametrize("option", [("--bank", "b"), ("--jobs", 2), ("--cluster", "tcp://127.0.0.1:1")])
def test_windows_have_no_bank(option, tmp_path):
    fit = ("fit", "MUTAG", "--method", "isonn", "--out", tmp_path / "m")
    refused(run(*fit, *option), f"{option[0]} is for --method isonn-subgraph")


def test_bad_input_is_one_sentence(folder, mutag, tmp_path):
    out = ("--out", tmp_path / "m")
    bank = ("--bank", tmp_path / "bank")
    refused(run("fit", folder, *out, *bank, *MODEL, "--jobs", 0), "--jobs must be at least 1, got 0")
    assert run("fit", folder, *out, *bank, *OPTIONS).returncode == 0
    other = ("--out", tmp_path / "n")
    result = run("fit", folder, *other, *bank, *OPTIONS, "--seed", 1)
    refused(result, "was cut from other graphs or with other settings", "remove its folder")
    part = tmp_path / "bank" / "part-000000.safetensors"
    part.write_bytes(part.read_bytes().replace(b"isonn-bank-6", b"isonn-bank-0"))
    refused(run("fit", folder, *other, *bank, *OPTIONS), "format 'isonn-bank-0'", "remove its folder")
    cut = tmp_path / "cut"
    cut.mkdir()
    write_tu(cut, mutag[:20], np.arange(mutag.node_offsets[20]))
    labels = cut / "DS_node_labels.txt"
    labels.write_text(labels.read_text()[:100])
    result = run("fit", cut, *other, "--bank", tmp_path / "b", *OPTIONS)
    refused(result, "DS_node_labels.txt ends after line 50, in the middle of graph 4 of 20", "get the whole file again")
    assert os.listdir(tmp_path / "bank")


def test_no_scheduler_is_said(folder, tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason="the extra cluster is not installed")
    monkeypatch.setattr("isonn.experiments.cluster.FIRST_ANSWER_SECONDS", 0.5)
    result = run("fit", folder, "--out", tmp_path / "m", *OPTIONS, "--cluster", "tcp://127.0.0.1:1")
    refused(result, "no dask scheduler answers at tcp://127.0.0.1:1")
