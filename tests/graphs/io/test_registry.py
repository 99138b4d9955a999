"""Readers: one contract for all of them, and a format from outside the package."""

from __future__ import annotations

import inspect
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from graph_samples import SAMPLES, assert_equal_sets

import isonn
from isonn.errors import InputError, IsoNNError, MissingDependencyError
from isonn.graphs.graph import GraphSet
from isonn.graphs.io import Reader, register_reader, registry


@pytest.fixture(params=SAMPLES)
def sample(request, tmp_path):
    path = SAMPLES[request.param](tmp_path)
    return registry.reader_of(path), path


def test_every_reader_of_the_package_has_a_sample():
    assert {reader.name for reader in registry.readers()} <= {name.partition("-")[0] for name in SAMPLES}


def test_a_reader_recognises_its_format_and_reads_it(sample):
    reader, path = sample
    graphs = reader.read(path)
    assert graphs.name == reader.title(path)
    assert_equal_sets(isonn.load(path), graphs)


def test_pieces_of_a_reader_are_what_it_reads(sample):
    reader, path = sample
    whole = reader.read(path)
    for at_once in (1, 2, 100):
        assert_equal_sets(GraphSet.concat(list(reader.stream(path, at_once))), whole)
    assert_equal_sets(GraphSet.concat(list(isonn.stream(path, 1))), whole)


def test_a_reader_looks_without_raising(sample, tmp_path):
    reader, _ = sample
    for other in (tmp_path / "empty", tmp_path / "missing", tmp_path / "nothing.doc"):
        if other.name == "empty":
            other.mkdir()
        assert reader.recognises(other) in (True, False)


def test_read_and_stream_of_a_reader_have_the_same_options(sample):
    def options(function):
        parameters = inspect.signature(function).parameters.values()
        return {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}

    reader, _ = sample
    if type(reader).stream is not Reader.stream and "options" not in inspect.signature(reader.stream).parameters:
        assert options(reader.read) == options(reader.stream)


def test_an_option_a_format_does_not_have_is_refused_in_one_sentence(sample):
    _, path = sample
    for read in (isonn.load, lambda path, **options: list(isonn.stream(path, **options))):
        with pytest.raises(InputError, match=r"^'nonsense' is not an option of the format '\w+'; .*options"):
            read(path, nonsense=3)


def test_a_damaged_file_is_named_in_one_sentence(sample):
    _, path = sample
    for file in [path] if path.is_file() else sorted(path.iterdir()):
        file.write_bytes(b"\x00\xff" * 50)
    with pytest.raises(IsoNNError, match=re.escape(str(path))) as caught:
        isonn.load(path)
    assert "\n" not in str(caught.value)


class Stars(Reader):
    """A toy format: a number of leaves per line."""

    name = "stars"
    expects = "a .star file"

    def recognises(self, path: Path) -> bool:
        return path.suffix == ".star"

    def read(self, path: Path, *, weight: float = 1.0) -> GraphSet:
        graphs = []
        for line in path.read_text().split():
            matrix = np.zeros((int(line) + 1,) * 2)
            matrix[0, 1:] = matrix[1:, 0] = weight
            graphs.append(matrix)
        return isonn.as_graphset(graphs, name=path.stem)


@pytest.fixture
def stars(tmp_path):
    reader = register_reader(Stars())
    path = tmp_path / "sky.star"
    path.write_text("1 2 3")
    yield path
    registry.forget_reader(reader)


def test_a_format_from_outside_the_package_is_read_like_any_other(stars):
    assert list(isonn.load(stars).sizes) == [2, 3, 4]
    assert isonn.load(str(stars), weight=0.5).weights.max() == 0.5
    assert [len(chunk) for chunk in isonn.stream(stars, 2, weight=2)] == [2, 1]
    with pytest.raises(InputError, match="'colour' is not an option of the format 'stars'; its options are weight"):
        isonn.load(stars, colour="red")
    with pytest.raises(InputError, match="'weight' is not an option of the format '(tu|saved)'; it"):
        isonn.load("MUTAG", weight=2)
    (stars.parent / "more").mkdir()
    stars.rename(stars.parent / "more" / "b.star")
    (stars.parent / "more" / "a.star").write_text("5")
    assert list(isonn.load(stars.parent / "more").sizes) == [6, 2, 3, 4]


def test_only_readers_are_registered():
    with pytest.raises(InputError, match="is not a Reader; give an instance"):
        register_reader(Stars)


def test_options_go_with_a_path(mutag):
    with pytest.raises(InputError, match="options such as 'weight' go with a path; source is of type GraphSet"):
        isonn.stream(mutag, weight=2)


def test_a_reader_that_needs_an_extra_is_imported_when_its_file_comes(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_TABLE", [*registry._TABLE, ("far_away_reader", (".far",), "")])
    path = tmp_path / "x.far"
    path.write_text("1")
    module = types.ModuleType("far_away_reader")
    module.READER = type("Far", (Stars,), {"recognises": lambda self, path: path.suffix == ".far"})()
    monkeypatch.setitem(sys.modules, "far_away_reader", module)
    assert len(isonn.load(path)) == 1

    (tmp_path / "needs_rdkit.py").write_text("import rdkit")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "rdkit", None)
    monkeypatch.setattr(registry, "_TABLE", [("needs_rdkit", (".far",), "")])
    with pytest.raises(MissingDependencyError, match=r"reading .*x\.far needs rdkit.*isonn\[molecules\]"):
        isonn.load(path)
