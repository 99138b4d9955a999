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
    """Return a folder for compiled code that only the user can write to, or None; numba runs code it finds there."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    folder = (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "isonn" / "numba"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        with tempfile.TemporaryFile(dir=folder):
            pass
        owner = folder.stat().st_uid
    except OSError:
        return None
    return folder if not hasattr(os, "getuid") or owner == os.getuid() else None


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
