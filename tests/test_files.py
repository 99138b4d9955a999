from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import pytest

from isonn import files
from isonn.files import atomic_directory, atomic_file, check_new, remove_strays

pytestmark = pytest.mark.skipif(files.fcntl is None, reason="needs file locks")


@pytest.mark.parametrize("write", [atomic_file, atomic_directory])
def test_what_is_being_written_is_left_alone(tmp_path, write):
    path = tmp_path / "part-1"
    with write(path) as temporary:
        code = "import sys\nfrom pathlib import Path\nfrom isonn.files import remove_strays\n"
        code += "remove_strays(Path(sys.argv[1]), 'part-*')"
        subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
        assert temporary.exists()
    assert [file.name for file in tmp_path.iterdir()] == ["part-1"]


def test_strays_of_killed_processes_are_removed_and_nothing_else(tmp_path):
    for name in (".a[1].json.abcd1234", ".b.json.abcd1234", ".a[1].json", "a[1].json", ".a[1].json.short"):
        (tmp_path / name).write_text("half")
    (tmp_path / ".a[1].json.folder12").mkdir()
    remove_strays(tmp_path, "a[1].json")
    left = {".b.json.abcd1234", ".a[1].json", "a[1].json", ".a[1].json.short"}
    assert {path.name for path in tmp_path.iterdir()} == left
    remove_strays(tmp_path, "*.json")
    assert {path.name for path in tmp_path.iterdir()} == left - {".b.json.abcd1234"}


def test_a_file_taken_for_a_stray_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    real, made = tempfile.mkstemp, []

    def stolen(**options):
        handle, name = real(**options)
        made.append(name)
        if len(made) == 1:
            os.unlink(name)
        return handle, name

    monkeypatch.setattr(tempfile, "mkstemp", stolen)
    with atomic_file(tmp_path / "a") as temporary:
        temporary.write_text("whole")
    assert (tmp_path / "a").read_text() == "whole"
    assert len(made) == 2


def test_a_command_begins_by_removing_what_a_killed_one_left_of_its_file(tmp_path):
    (tmp_path / ".a.json.abcd1234").write_text("half")
    (tmp_path / ".b.json.abcd1234").write_text("half")
    check_new(tmp_path / "a.json")
    assert [path.name for path in tmp_path.iterdir()] == [".b.json.abcd1234"]
