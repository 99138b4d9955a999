"""Provenance of a result: versions, commit, machine."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

from isonn import __version__

#: The whole source, because a result depends on more than this package.
_FOLDER = Path(__file__).parents[1]


@lru_cache(maxsize=1)
def provenance() -> dict[str, Any]:
    """Return the ``versions`` of the libraries, the ``commit`` of the isonn checkout (or None), and the ``machine``.

    The machine is described but not named, because results may be published.
    """
    machine = {"system": platform.system(), "processor": _processor(), "cores": os.cpu_count()}
    return {"versions": versions(), "commit": _commit(), "machine": machine}


def versions() -> dict[str, str]:
    """Return the versions of isonn, Python and the numerical libraries."""
    installed = {"isonn": __version__, "python": platform.python_version()}
    # read from metadata, because simple methods never load torch
    for package in ("numpy", "scipy", "scikit-learn", "torch", "igraph"):
        try:
            installed[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            installed[package] = "not installed"
    return installed


def _commit() -> str | None:
    """Return the commit, with a plus sign if the source differs from it; None outside a checkout of isonn."""
    if not (_FOLDER.parents[1] / "pyproject.toml").is_file():
        return None  # installed; a repository further up would be another project
    commit = _git("rev-parse", "--short=12", "HEAD")
    if not commit:
        return None
    return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no", "--", ".") else "")


def _git(*arguments: str) -> str:
    try:
        run = subprocess.run(["git", *arguments], cwd=_FOLDER, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.strip() if run.returncode == 0 else ""


def _processor() -> str:
    """Return the name of the processor, or its kind if the system does not report the name."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
