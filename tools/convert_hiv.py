"""Convert the HIV-fMRI folds of the authors' public repository: `python tools/convert_hiv.py FOLDER HIV-fMRI.npz`.

FOLDER is ``data/HIV_fMRI_3_fold`` of https://github.com/linmengsysu/IsoNN, with ``fold_1``, ``fold_2``, ``fold_3``.
Each is a pickle of ``{"train": {"X", "y"}, "test": {"X", "y"}}`` with one flat 90 x 90 matrix per subject. The test
parts of the three folds are the 34 subjects. The result is the file that `isonn.load("HIV-fMRI")` reads from
ISONN_DATA; its content is checked against the digest that all stored results were computed from.

The data is of human subjects and has no licence: do not publish the result.
"""

from __future__ import annotations

import io
import pickle  # noqa: TID251 - the released files are pickles; only arrays are built from them
import sys
from pathlib import Path
from typing import Any

import numpy as np

import isonn
from isonn.graphs.datasets import registry

FOLDS = 3
NODES = 90
#: What a pickle of NumPy arrays needs. Nothing else is loaded, because loading a pickle can run any code.
ALLOWED = {
    (module, name)
    for core in ("numpy.core.multiarray", "numpy._core.multiarray", "numpy", "numpy.core.numeric")
    for module, name in ((core, "_reconstruct"), (core, "scalar"), (core, "ndarray"), (core, "dtype"))
} | {("_codecs", "encode")}


class ArraysOnly(pickle.Unpickler):
    """An unpickler that builds nothing but NumPy arrays."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise SystemExit(f"the file asks for {module}.{name}, which is no NumPy array; it is not the released fold")
        return super().find_class(module, name)


def read_fold(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrices and classes (+1, -1) of the test part of a fold."""
    content = ArraysOnly(io.BytesIO(path.read_bytes()), encoding="latin1").load()
    try:
        matrices = np.asarray(content["test"]["X"], dtype=np.float32).reshape(-1, NODES, NODES)
        y = np.asarray(content["test"]["y"]).reshape(-1)
    except (KeyError, TypeError, ValueError) as error:
        raise SystemExit(f"{path} does not hold test matrices of {NODES} nodes with classes: {error}") from error
    return matrices, np.where(y > 0, 1, -1).astype(np.int8)


def convert(folder: Path, target: Path) -> str:
    """Write the npz and return its digest; remove it again if the content is not that of the released data."""
    parts = [read_fold(folder / f"fold_{number}") for number in range(1, FOLDS + 1)]
    np.savez_compressed(
        target,
        adjacency=np.concatenate([matrices for matrices, _ in parts]),
        labels=np.concatenate([labels for _, labels in parts]),
        fold=np.repeat(np.arange(FOLDS, dtype=np.int8), [len(labels) for _, labels in parts]),
    )
    entry = next(entry for entry in registry.known() if entry.name == "HIV-fMRI")
    digest: str = isonn.load(target).digest
    if digest != entry.sha256:
        target.unlink()
        raise SystemExit(f"the folds hold other data: digest {digest}, expected {entry.sha256}")
    return digest


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    print(f"{sys.argv[2]}: digest {convert(Path(sys.argv[1]), Path(sys.argv[2]))}")
