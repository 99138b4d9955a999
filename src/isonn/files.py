"""Files appear whole or not at all: written beside their place, then renamed into it."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """A temporary path that becomes ``path`` when the block ends well, and vanishes when it does not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    _lock(handle)  # says that somebody is writing it; the system lets go of it when the process ends, however it does
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp keeps files to their owner; a result is for everybody
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """A temporary folder that becomes ``path``, which must not exist, when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    handle = os.open(temporary, os.O_RDONLY) if fcntl else None
    if handle is not None:
        _lock(handle)
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


def remove_strays(path: Path) -> None:
    """Remove the temporary files and folders that killed processes left beside ``path``; not those in use."""
    if fcntl is None or not path.parent.is_dir():
        return
    for stray in path.parent.glob(f".{glob.escape(path.name)}.????????"):
        try:
            handle = os.open(stray, os.O_RDONLY)
        except OSError:
            continue
        try:
            if _lock(handle):
                shutil.rmtree(stray, ignore_errors=True) if stray.is_dir() else stray.unlink(missing_ok=True)
        finally:
            os.close(handle)


def _lock(handle: int) -> bool:
    """Lock an open file for this process; False if another one has it."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # in use, or a file system without locks
        return False
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
