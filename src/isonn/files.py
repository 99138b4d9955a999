"""Write files atomically: to a temporary path, which is then renamed."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from isonn.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def is_path(text: str | Path) -> bool:
    """Return whether a text names an existing file or folder; a SMILES may be too long for any."""
    try:
        return Path(text).expanduser().exists()
    except (OSError, RuntimeError):  # too long, or the home of an unknown user
        return False


def check_new(path: Path, choose: str = "another name") -> None:
    """Raise `InputError` if the path exists, and remove what killed processes left of it.

    Args:
        choose: what to choose instead, such as "another --out".
    """
    if path.exists():
        raise InputError(f"{path} exists already; choose {choose}, or remove it first")
    remove_strays(path.parent, path.name)


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path that is renamed to ``path`` if the block succeeds, and removed if it fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = _locked(lambda: tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp makes files private; results should have the usual permissions
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """Yield a temporary folder that is renamed to ``path``, which must not exist, if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)

    def make() -> tuple[int | None, str]:
        name = tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent)
        return os.open(name, os.O_RDONLY) if fcntl else None, name

    handle, temporary = _locked(make)
    try:
        yield temporary
        for file in temporary.rglob("*"):  # some libraries write private files
            file.chmod((0o777 if file.is_dir() else 0o666) & ~_umask())
        temporary.chmod(0o777 & ~_umask())
        temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def remove_strays(folder: Path, name: str) -> None:
    """Remove temporary files and folders left by killed processes; keep those in use.

    Args:
        name: the final name of the files or folders; ``*`` matches anything.
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
    """Create a temporary file or folder and lock it, so that `remove_strays` sees that it is in use.

    The system releases the lock whenever the process ends.
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
        os.close(handle)  # another process removed it as a stray before it was locked


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
