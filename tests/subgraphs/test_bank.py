"""The folder of counts: the tables of memory, never counted twice, and refused in a sentence if it is wrong."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from coded_graphs import as_counts, assert_same_counts
from rich_graphs import rich_graphs
from safetensors.numpy import load, save

import isonn
from isonn.errors import DatasetError, InputError, IsoNNError
from isonn.graphs.graph import GraphSet
from isonn.subgraphs import bank
from isonn.subgraphs.bank import count_to_folder
from isonn.subgraphs.count import count_in_threads
from isonn.subgraphs.encode import Encoding
from isonn.subgraphs.survey import DistinctValues
from isonn.subgraphs.table import join_tables
from isonn.subgraphs.views import views_of

LIMIT = 25  # some of the graphs have more subgraphs of four nodes
GRAPHS = rich_graphs(40)
ENCODING = Encoding.fit(DistinctValues().add(GRAPHS), views_of(("labels", "degrees")), 4)


def count(folder, graphs=GRAPHS, size=10, limit=LIMIT, seed=0, **settings):
    source = isonn.stream(graphs, size)
    return count_to_folder(source, ENCODING, Path(folder), limit, seed, **settings)


def same(chunks, expected):
    joined, expected = join_tables(chunks), join_tables(expected)
    assert joined.sampled == pytest.approx(expected.sampled)
    assert_same_counts(as_counts(joined), as_counts(expected), rtol=1e-6)


@pytest.fixture(scope="module")
def expected():
    return count_in_threads(ENCODING.encode(GRAPHS), LIMIT)


@pytest.fixture
def counted(monkeypatch):
    """How many graphs each chunk that was counted in this test had."""
    calls = []
    real = bank.count_chunk
    monkeypatch.setattr(bank, "count_chunk", lambda graphs, *rest: calls.append(len(graphs)) or real(graphs, *rest))
    return calls


@pytest.mark.parametrize("size", [1, 10, 40])
def test_chunks_on_disk_are_the_tables_in_memory(tmp_path, expected, size):
    told = []
    found = count(tmp_path, size=size, report=lambda done, text: told.append(done))
    same(found, expected)
    assert expected[0].sampled
    assert told == list(range(size, 41, size))


def test_processes_write_to_a_folder_that_is_named_from_where_we_are(tmp_path, expected, monkeypatch):
    for name in ("one", "other"):  # the processes of the first go on to serve the second
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        same(count("bank", workers=2), expected)
        assert len(list((tmp_path / name / "bank").glob("part-*"))) == 4


def test_chunks_that_are_there_are_not_counted_again(tmp_path, expected, counted):
    def stops():
        yield GRAPHS[:20]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count(tmp_path, stops)
    assert counted == [10, 10]
    same(count(tmp_path), expected)
    same(count(tmp_path), expected)
    assert counted == [10] * 4


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_a_run_that_was_killed_goes_on(tmp_path, expected, counted):
    code = (
        "import os, signal, sys\n"
        f"sys.path[:0] = {[os.path.dirname(__file__), os.path.dirname(os.path.dirname(__file__))]!r}\n"
        "import test_bank as t\n"
        "def chunks():\n"
        "    yield t.GRAPHS[:30]\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        f"t.count({str(tmp_path)!r}, chunks)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    whole = len(list(tmp_path.glob("part-*")))
    assert whole >= 2
    (tmp_path / ".part-000003.safetensors.x1x1x1x1").write_bytes(b"half a file")
    same(count(tmp_path), expected)
    assert len(counted) == 4 - whole
    assert not list(tmp_path.glob(".part-*"))


def test_half_a_file_is_counted_again(tmp_path, expected, counted):
    count(tmp_path)
    path = tmp_path / "part-000001.safetensors"
    path.write_bytes(path.read_bytes()[:200])
    counted.clear()
    same(count(tmp_path), expected)
    assert counted == [10]


def test_an_altered_file_is_not_read(tmp_path):
    tables = count(tmp_path)
    path = tmp_path / "part-000002.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=r"part-000002\.safetensors is damaged; remove it and run this again"):
        as_counts(join_tables(tables))
    path.unlink()
    with pytest.raises(DatasetError, match=r"part-000002\.safetensors is (damaged|missing)"):
        as_counts(join_tables(tables))


@pytest.mark.parametrize(
    "change", [{"limit": LIMIT + 1}, {"seed": 1}, {"graphs": GRAPHS[1:]}], ids=lambda c: next(iter(c))
)
def test_files_of_something_else_are_refused(tmp_path, change):
    count(tmp_path)
    with pytest.raises(InputError, match="was cut from other graphs or with other settings; remove its folder"):
        count(tmp_path, **change)


def test_a_bank_of_another_version_is_refused(tmp_path):
    count(tmp_path)
    path = tmp_path / "part-000000.safetensors"
    path.write_bytes(save(load(path.read_bytes()), {"format": "isonn-bank-0"}))
    with pytest.raises(
        DatasetError, match=r"has format 'isonn-bank-0' but this version of isonn reads.*; remove its f"
    ):
        count(tmp_path)


def test_no_graphs_are_refused(tmp_path):
    with pytest.raises(InputError, match="there are no graphs to count for"):
        count(tmp_path, list[GraphSet]())


def test_a_full_disk_keeps_what_is_whole(tmp_path, expected, monkeypatch):
    written = []

    def full(*args):
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(1)
        return save(*args)

    with monkeypatch.context() as patch:
        patch.setattr(bank, "save", full)
        with pytest.raises(IsoNNError, match=r"is full; 2 complete parts are kept, so free some space and run this"):
            count(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"part-00000{i}.safetensors" for i in (0, 1)]
    same(count(tmp_path), expected)
