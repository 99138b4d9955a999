"""`isonn doctor`: check versions, extras, caches and threads."""

from __future__ import annotations

import json
import os
import platform
import sys
from importlib import metadata
from typing import Any

from isonn.cli import options as opt

#: Packages of the core and of each extra, with the purpose of the extra.
CORE = (
    "numpy",
    "scipy",
    "scikit-learn",
    "lightgbm",
    "numba",
    "igraph",
    "joblib",
    "pooch",
    "safetensors",
    "typer",
    "rich",
)
EXTRAS = {
    "torch": ("the paper's IsoNN", ("torch",)),
    "baselines": ("Freq, GCN, GIN and the other networks", ("torch", "torch_geometric", "fast-gspan")),
    "molecules": ("SMILES, SDF, structural alerts", ("rdkit",)),
    "excel": ("tables in .xlsx", ("openpyxl",)),
    "connectomes": ("time series, the interactive brain", ("nilearn",)),
    "serve": ("the server of models, isonn serve", ("anyio", "starlette", "uvicorn")),
    "report": ("HTML pages and plots", ("jinja2", "matplotlib")),
    "cluster": ("--cluster, a dask cluster", ("distributed",)),
}


def doctor(as_json: opt.AsJson = False, quiet: opt.Quiet = False) -> None:
    """Print versions, extras, caches, threads and problems.

    The exit code is 1 if a required package is missing or does not load, or a cache folder cannot be written.
    """
    import typer

    facts = examine()
    if as_json:
        print(json.dumps(facts, indent=1))
    else:
        print(*_sentences(facts), sep="\n")
    if facts["problems"]:
        raise typer.Exit(1)


def examine() -> dict[str, Any]:
    """Collect the facts that `isonn doctor` prints."""
    import isonn
    from isonn.errors import MissingDependencyError
    from isonn.graphs.datasets.registry import cache_folder

    core = {name: _version(name) for name in CORE}
    extras = {
        extra: {"for": purpose, "packages": {name: _version(name) for name in names}}
        for extra, (purpose, names) in EXTRAS.items()
    }
    folders = {"datasets and downloads": str(cache_folder())}
    compiled = None
    if core.get("numba"):
        from isonn.compiled import cache_folder as compiled_folder

        compiled = compiled_folder()
    if compiled is not None:
        folders["compiled code"] = str(compiled)
    if "ISONN_DATA" in os.environ:
        folders["your datasets (ISONN_DATA)"] = os.environ["ISONN_DATA"]
    problems = [f"{name} is missing; pip install {name}" for name, version in core.items() if version is None]
    if core.get("lightgbm"):
        from isonn.heads.boosting import import_lightgbm

        try:
            import_lightgbm()
        except MissingDependencyError as error:
            problems.append(str(error))
    if core.get("numba") and compiled is None:
        problems.append("no folder for compiled code is writable, so every process compiles again; set XDG_CACHE_HOME")
    problems += [
        f"{folder} cannot be written to; {purpose} cannot be kept there"
        for purpose, folder in folders.items()
        if "ISONN_DATA" not in purpose and not _writable(folder)
    ]
    if "ISONN_DATA" in os.environ and not os.path.isdir(os.environ["ISONN_DATA"]):
        problems.append(f"ISONN_DATA={os.environ['ISONN_DATA']} is not a folder; correct it, or unset it")
    return {
        "isonn": isonn.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "core": core,
        "extras": extras,
        "folders": folders,
        "cores": len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1,
        "threads": {name: os.environ[name] for name in _THREADS if name in os.environ},
        "problems": problems,
    }


_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def _sentences(state: dict[str, Any]) -> list[str]:
    lines = [f"isonn {state['isonn']}, Python {state['python']}, {state['system']}"]
    lines.append(
        "core        " + ", ".join(f"{name} {version or 'MISSING'}" for name, version in state["core"].items())
    )
    for extra, facts in state["extras"].items():
        absent = [name for name, version in facts["packages"].items() if version is None]
        if absent:
            lines.append(
                f'{extra:11s} not installed ({", ".join(absent)}): {facts["for"]}; pip install "isonn[{extra}]"'
            )
        else:
            lines.append(f"{extra:11s} " + ", ".join(f"{name} {text}" for name, text in facts["packages"].items()))
    lines += [f"{purpose}: {folder}" for purpose, folder in state["folders"].items()]
    limits = ", ".join(f"{name}={value}" for name, value in state["threads"].items())
    lines.append(f"{state['cores']} cores" + (f"; {limits}" if limits else "; no limit on threads is set"))
    lines += [f"problem: {text}" for text in state["problems"]] or ["no problems found"]
    return lines


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _writable(folder: str) -> bool:
    """Return whether a folder, or its nearest existing parent, is writable."""
    while not os.path.exists(folder):
        folder = os.path.dirname(os.path.abspath(folder))
    return os.path.isdir(folder) and os.access(folder, os.W_OK)
