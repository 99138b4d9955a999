from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError
from safetensors.numpy import load, save

from isonn.errors import DatasetError, InputError, IsoNNError
from isonn.subgraphs import bank as subgraph_bank
from isonn.subgraphs import store as bank_files
from isonn.subgraphs.bank import CodedGraphs, Codes, bank_subgraphs
from isonn.subgraphs.store import bank_to_folder, read_banks

LIMIT = 25  # some of the graphs have more subgraphs of four nodes


def rings(count):
    """Rings of four to eight nodes with a few chords, some of them dense."""
    generator = np.random.default_rng(0)
    n = 4 + np.arange(count) % 5
    edges = []
    for i, size in enumerate(n.tolist()):
        pairs = {tuple(sorted((v, (v + 1) % size))) for v in range(size)}
        chords = 3 * size if i % 4 == 0 else 1
        pairs |= {tuple(sorted(generator.choice(size, 2, replace=False).tolist())) for _ in range(chords)}
        edges.append(sorted(pairs))
    offsets = np.cumsum([0, *n.tolist()])
    flat = np.array([pair for pairs in edges for pair in pairs])
    codes = Codes(generator.integers(0, 3, offsets[-1]), generator.integers(1, 3, len(flat)), (1, 3, 4))
    plain = Codes(np.zeros(offsets[-1], dtype=np.int64), np.ones(len(flat), dtype=np.int64), (2, 3))
    return CodedGraphs(offsets, np.cumsum([0, *map(len, edges)]), flat, (codes, plain))


GRAPHS = rings(40)


def parts(graphs=GRAPHS, size=10):
    return [graphs.part(start, min(start + size, len(graphs))) for start in range(0, len(graphs), size)]


def same(one, other):
    assert one.sampled == pytest.approx(other.sampled)
    for banks, others in zip(one.banks, other.banks, strict=True):
        assert list(banks) == list(others)
        for k, bank in banks.items():
            np.testing.assert_equal(bank.regions, others[k].regions)
            np.testing.assert_allclose(bank.counts.toarray(), others[k].counts.toarray(), rtol=1e-6)


@pytest.fixture(scope="module")
def expected():
    return bank_subgraphs(GRAPHS, LIMIT)


@pytest.fixture
def cut(monkeypatch):
    """How many graphs each part that was cut in this test had."""
    calls = []
    real = bank_files.bank_block
    monkeypatch.setattr(
        bank_files, "bank_block", lambda graphs, *rest: calls.append(len(graphs)) or real(graphs, *rest)
    )
    return calls


@pytest.mark.parametrize("size", [1, 10, 40])
def test_parts_on_disk_are_the_bank_in_memory(tmp_path, expected, size):
    told = []
    bank_to_folder(parts(size=size), tmp_path, LIMIT, report=lambda done, text: told.append(done))
    same(read_banks(tmp_path), expected)
    assert expected.sampled
    assert told == list(range(size, 41, size))


def test_processes_write_to_a_folder_that_is_named_from_where_we_are(tmp_path, expected, monkeypatch):
    for name in ("one", "other"):  # the processes of the first go on to serve the second
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        bank_to_folder(parts(size=10), Path("bank"), LIMIT, n_jobs=2)
        same(read_banks(tmp_path / name / "bank"), expected)


def test_counts_take_half_the_memory_and_are_exact(tmp_path):
    bank_to_folder(parts(), tmp_path)
    for banks, others in zip(read_banks(tmp_path).banks, bank_subgraphs(GRAPHS).banks, strict=True):
        for k, bank in banks.items():
            assert (bank.counts.dtype, bank.counts.indices.dtype) == (np.float32, np.int32)
            np.testing.assert_equal(bank.counts.toarray(), others[k].counts.toarray())


def test_merging_a_few_regions_at_a_time_changes_nothing(tmp_path, expected, monkeypatch):
    bank_to_folder(parts(size=3), tmp_path, LIMIT)
    monkeypatch.setattr(subgraph_bank, "REGIONS_AT_ONCE", 1)
    same(read_banks(tmp_path), expected)


def test_parts_that_are_there_are_not_cut_again(tmp_path, expected, cut):
    def stops():
        yield from parts()[:2]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bank_to_folder(stops(), tmp_path, LIMIT)
    before = len(cut)
    with pytest.raises(DatasetError, match=r"has no complete bank; run this again to cut the rest"):
        read_banks(tmp_path)
    bank_to_folder(parts(), tmp_path, LIMIT)
    assert (before, len(cut)) == (2, len(parts()))
    same(read_banks(tmp_path), expected)
    bank_to_folder(parts(), tmp_path, LIMIT)
    assert len(cut) == len(parts())


def test_a_run_that_was_killed_goes_on(tmp_path, expected, cut):
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        f"sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
        "import test_store as t\n"
        "def parts():\n"
        "    yield from t.parts()[:3]\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        f"t.bank_to_folder(parts(), Path({str(tmp_path)!r}), t.LIMIT)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    whole = len(list(tmp_path.glob("part-*")))
    assert whole >= 2
    (tmp_path / ".part-000003.safetensors.x1x1x1x1").write_bytes(b"half a file")
    bank_to_folder(parts(), tmp_path, LIMIT)
    assert len(cut) == len(parts()) - whole
    assert not list(tmp_path.glob(".part-*"))
    same(read_banks(tmp_path), expected)


def test_half_a_part_is_cut_again(tmp_path, expected, cut):
    bank_to_folder(parts(), tmp_path, LIMIT)
    path = tmp_path / "part-000001.safetensors"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(DatasetError, match=r"part-000001\.safetensors is damaged; remove it and run this again"):
        read_banks(tmp_path)
    cut.clear()
    bank_to_folder(parts(), tmp_path, LIMIT)
    assert len(cut) == 1
    same(read_banks(tmp_path), expected)


def test_an_altered_part_is_not_read(tmp_path):
    bank_to_folder(parts(), tmp_path, LIMIT)
    path = tmp_path / "part-000002.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=r"part-000002\.safetensors is damaged"):
        read_banks(tmp_path)


def test_a_missing_part_is_named(tmp_path):
    bank_to_folder(parts(), tmp_path, LIMIT)
    (tmp_path / "part-000002.safetensors").unlink()
    with pytest.raises(DatasetError, match=r"part-000002\.safetensors is missing"):
        read_banks(tmp_path)


@pytest.mark.parametrize(
    "change", [{"limit": LIMIT + 1}, {"seed": 1}, {"graphs": rings(39)}], ids=lambda c: next(iter(c))
)
def test_parts_of_something_else_are_refused(tmp_path, change):
    bank_to_folder(parts(rings(40)), tmp_path, LIMIT)
    graphs = change.pop("graphs", GRAPHS)
    with pytest.raises(InputError, match="was cut from other graphs or with other settings; remove its folder"):
        bank_to_folder(parts(graphs), tmp_path, **{"limit": LIMIT, **change})


def test_a_bank_of_another_version_is_refused(tmp_path):
    bank_to_folder(parts(), tmp_path, LIMIT)
    for path in (tmp_path / "part-000000.safetensors", tmp_path / "bank.json"):
        if path.suffix == ".json":
            path.write_text(json.dumps({"format": "isonn-bank-0"}))
        else:
            path.write_bytes(save(load(path.read_bytes()), {"format": "isonn-bank-0"}))
        with pytest.raises(DatasetError, match="has format 'isonn-bank-0' but this version of isonn reads"):
            read_banks(tmp_path)
    with pytest.raises(DatasetError, match="remove its folder to cut the graphs again"):
        bank_to_folder(parts(), tmp_path, LIMIT)


def test_a_folder_without_a_bank_is_refused(tmp_path):
    with pytest.raises(DatasetError, match="has no bank; give a folder that bank_to_folder made"):
        read_banks(tmp_path)


def test_no_graphs_are_refused(tmp_path):
    with pytest.raises(InputError, match="there are no graphs to cut"):
        bank_to_folder([], tmp_path)


def test_a_full_disk_keeps_what_is_whole(tmp_path, expected, monkeypatch):
    real = bank_files.save
    written = []

    def full(*args):
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(1)
        return real(*args)

    monkeypatch.setattr(bank_files, "save", full)
    with pytest.raises(IsoNNError, match=r"is full; 2 complete parts are kept, so free some space and run this"):
        bank_to_folder(parts(), tmp_path, LIMIT)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"part-00000{i}.safetensors" for i in (0, 1)]
    monkeypatch.setattr(bank_files, "save", real)
    bank_to_folder(parts(), tmp_path, LIMIT)
    same(read_banks(tmp_path), expected)


def test_a_worker_that_dies_is_said_in_a_sentence(tmp_path, monkeypatch):
    class Dying:
        def __init__(self, **settings):
            pass

        def __call__(self, work):
            yield next(iter(work))
            raise TerminatedWorkerError("killed")

    monkeypatch.setattr(bank_files, "Parallel", Dying)
    with pytest.raises(
        IsoNNError, match=r"a process that cut subgraphs died.*1 parts are kept.*fewer than 2 processes"
    ):
        bank_to_folder(parts(), tmp_path, n_jobs=2)
