"""Write files atomically: next to their final place, then renamed into it."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """A temporary path that is renamed to ``path`` if the block succeeds, and removed if it fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = _locked(lambda: tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp keeps files to their owner; a result is for everybody
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """A temporary folder that is renamed to ``path``, which must not exist, if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)

    def make() -> tuple[int | None, str]:
        name = tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent)
        return os.open(name, os.O_RDONLY) if fcntl else None, name

    handle, temporary = _locked(make)
    try:
        yield temporary
        for file in temporary.rglob("*"):  # some libraries keep what they write to its owner
            file.chmod((0o777 if file.is_dir() else 0o666) & ~_umask())
        temporary.chmod(0o777 & ~_umask())
        temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def remove_strays(folder: Path, name: str) -> None:
    """Remove the temporary files and folders that killed processes left in a folder; not those in use.

    Args:
        name: of the files or folders that were to be written; ``*`` stands for anything.
    """
    if fcntl is None or not folder.is_dir():
        return
    pattern = glob.escape(name).replace("[*]", "*")
    for stray in folder.glob(f".{pattern}.????????"):
        try:
            handle = os.open(stray, os.O_RDONLY)
        except OSError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(stray, ignore_errors=True) if stray.is_dir() else stray.unlink(missing_ok=True)
        except OSError:
            pass  # in use, or a file system without locks
        finally:
            os.close(handle)


def _locked(make: Callable[[], tuple[int | None, str]]) -> tuple[int | None, Path]:
    """A new temporary file or folder, locked, so that `remove_strays` knows that somebody is writing it.

    The system lets go of the lock when the process ends, however it does.
    """
    while True:
        handle, name = make()
        if handle is None or fcntl is None:
            return handle, Path(name)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:  # a file system without locks
            return handle, Path(name)
        if os.path.exists(name):
            return handle, Path(name)
        os.close(handle)  # another process took it for a stray before it was locked


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
