"""Compile loops with numba, once per machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba


@lru_cache(maxsize=1)
def cache_folder() -> Path | None:
    """Return a folder for compiled code that only the user can write to, or None; numba runs code it finds there.

    It is in the user's cache, or in the folder of temporary files if the cache is read-only, as in some containers.
    """
    user = os.getuid() if hasattr(os, "getuid") else "user"
    try:
        home = Path(base) if os.path.isabs(base := os.environ.get("XDG_CACHE_HOME", "")) else Path.home() / ".cache"
        folders = [home / "isonn" / "numba", Path(tempfile.gettempdir()) / f"isonn-numba-{user}"]
    except (OSError, RuntimeError):  # no home, or no folder that can be written
        return None
    return next((folder for folder in folders if _is_private(folder)), None)


def _is_private(folder: Path) -> bool:
    """Create a folder if needed; return whether it can be written by this user alone."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if folder.is_symlink():
            return False
        folder.chmod(0o700)
        with tempfile.TemporaryFile(dir=folder):
            pass
        return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()
    except OSError:
        return False


def compiled(**options: Any) -> Callable[[Any], Any]:
    """Apply ``numba.njit`` with a cache on disk; without a cache folder, every process compiles again."""

    def decorate(function: Any) -> Any:
        config: Any = numba.config
        before, folder = config.CACHE_DIR, cache_folder()
        config.CACHE_DIR = str(folder or "")
        try:
            return numba.njit(cache=folder is not None, nogil=True, boundscheck=False, **options)(function)
        finally:
            config.CACHE_DIR = before

    return decorate
