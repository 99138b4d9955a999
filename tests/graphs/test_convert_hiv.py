"""The converter of the authors' pickles, on pickles of the same form."""

from __future__ import annotations

import importlib.util
import pickle  # noqa: TID251 - the released files are pickles
from pathlib import Path

import numpy as np
import pytest

import isonn

TOOL = Path(__file__).parents[2] / "tools" / "convert_hiv.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("convert_hiv", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_folds(folder, matrices, labels, fold):
    for number in range(3):
        part = {
            name: {"X": matrices[rows].reshape(-1, 8100).astype(float), "y": labels[rows, None].astype(float)}
            for name, rows in (("train", fold != number), ("test", fold == number))
        }
        (folder / f"fold_{number + 1}").write_bytes(pickle.dumps(part, protocol=2))


def test_the_released_form_gives_the_file_that_results_were_computed_from(tool, tmp_path, data_folder):
    stored = np.load(data_folder / "HIV-fMRI.npz")
    write_folds(tmp_path, stored["adjacency"], stored["labels"], stored["fold"])
    digest = tool.convert(tmp_path, tmp_path / "HIV-fMRI.npz")
    assert isonn.load(tmp_path / "HIV-fMRI.npz").digest == digest == isonn.load("HIV-fMRI").digest


def test_other_data_is_refused_and_leaves_no_file(tool, tmp_path):
    draw = np.random.default_rng(0)
    matrices = draw.random((6, 90, 90))
    write_folds(tmp_path, matrices + matrices.transpose(0, 2, 1), np.array([1, -1] * 3), np.arange(6) % 3)
    with pytest.raises(SystemExit, match="the folds hold other data: digest [0-9a-f]{64}, expected 0420ae0b"):
        tool.convert(tmp_path, tmp_path / "out.npz")
    assert not (tmp_path / "out.npz").exists()


def test_a_pickle_that_would_run_code_is_refused(tool, tmp_path):
    class Harm:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "harm",))

    (tmp_path / "fold_1").write_bytes(pickle.dumps(Harm()))
    with pytest.raises(SystemExit, match="which is no NumPy array; it is not the released fold"):
        tool.read_fold(tmp_path / "fold_1")
    assert not (tmp_path / "harm").exists()
