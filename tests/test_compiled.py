"""Compiled code is run from a folder that nobody else can write to."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from isonn.compiled import cache_folder

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners and modes are of POSIX")


@pytest.fixture(autouse=True)
def _looked_up_anew():
    cache_folder.cache_clear()
    yield
    cache_folder.cache_clear()


def test_others_cannot_write_to_the_folder_of_compiled_code(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "isonn" / "numba").mkdir(parents=True, mode=0o777)
    folder = cache_folder()
    assert folder == tmp_path / "isonn" / "numba"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_of_somebody_else_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert cache_folder() is None


def test_a_cache_that_cannot_be_written_is_replaced_by_a_private_folder_of_temporary_files(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = cache_folder()
    assert folder == tmp_path / f"isonn-numba-{os.getuid()}"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    cache_folder.cache_clear()
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")  # set by somebody else
    assert cache_folder() is None


def test_a_relative_cache_folder_is_ignored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == Path(tmp_path) / "home" / ".cache" / "isonn" / "numba"
    assert not (tmp_path / "here").exists()
