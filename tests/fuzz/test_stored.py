"""Models, banks and results that were damaged, edited or forged: refused in one sentence, or the same."""

from __future__ import annotations

import hashlib
import json
import shutil

import pytest
from fuzz.outcome import outcome
from fuzz.test_readers import damages
from hypothesis import given
from hypothesis import strategies as st

import isonn
from isonn.errors import IsoNNError
from isonn.experiments.jobs import plan
from isonn.experiments.run import execute
from isonn.experiments.store import Store


class Kept:
    """Everything isonn keeps on disk, made once; `files` and `read` of one kind, and `restore` to undo damage."""

    def __init__(self, folder):
        self.folder = folder
        self.graphs = isonn.load("MUTAG")[:30]
        self.windows = isonn.IsoNNClassifier(k=2, c=1, hidden=(4,), epochs=2, random_state=0)
        self.counting = isonn.SubgraphClassifier(max_nodes=2, random_state=0)
        self.windows.fit(self.graphs).save(folder / "windows")
        self.counting.fit(isonn.stream(self.graphs, 15, bank=folder / "bank")).save(folder / "subgraphs")
        isonn.AlignedClassifier(k=2, c=1, random_state=0, shuffles=2).fit(
            self.graphs.dense()[:, :8, :8], self.graphs.y
        ).save(folder / "aligned")
        self.jobs = plan(self.graphs, ["size"], {}, "paper", seeds=1)
        for _ in execute(self.jobs, {self.graphs.name: self.graphs}, Store(folder / "store")):
            pass
        self.content = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        self.answers = {kind: self.read(kind) for kind in KINDS}

    def files(self, kind):
        return sorted(file for file in self.content if (self.folder / kind) in file.parents)

    def read(self, kind):
        if kind == "store":
            store = Store(self.folder / "store")
            return [store.get(job) for job in self.jobs]
        if kind == "bank":
            model = self.counting.fit(isonn.stream(self.graphs, 15, bank=self.folder / "bank"))
        else:
            model = isonn.load_model(self.folder / kind)
        return model.predict_proba(self.graphs_of(kind)).tolist()

    def graphs_of(self, kind):
        return self.graphs.dense()[:, :8, :8] if kind == "aligned" else self.graphs

    def restore(self):
        for path in list(self.folder.rglob("*")):
            if path.is_file() and path not in self.content:
                path.unlink()
        for file, data in self.content.items():
            if file.is_dir():
                shutil.rmtree(file)
            file.write_bytes(data)


KINDS = ("windows", "subgraphs", "aligned", "bank", "store")
MODELS = KINDS[:3]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return Kept(tmp_path_factory.mktemp("kept"))


def same_or_refused(kept, kind, found):
    if isinstance(found, IsoNNError):
        return
    if kind == "store":  # damaged results are set aside and run again
        assert all(one is None or one == other for one, other in zip(found, kept.answers[kind], strict=True))
    else:
        assert found == kept.answers[kind]


@pytest.mark.parametrize("kind", KINDS)
@given(damage=st.lists(damages(), min_size=1, max_size=2), which=st.floats(0, 0.999))
def test_damaged_files_change_no_answer(kind, damage, which, kept):
    file = kept.files(kind)[int(which * len(kept.files(kind)))]
    data = kept.content[file]
    for change in damage:
        data = change(data)
    try:
        file.write_bytes(data)
        same_or_refused(kept, kind, outcome(lambda: kept.read(kind)))
    finally:
        kept.restore()


@pytest.mark.parametrize("kind", KINDS)
def test_folders_in_the_place_of_files(kind, kept):
    for file in kept.files(kind):
        try:
            file.unlink()
            same_or_refused(kept, kind, outcome(lambda: kept.read(kind)))
            file.unlink(missing_ok=True)
            file.mkdir()
            same_or_refused(kept, kind, outcome(lambda: kept.read(kind)))
        finally:
            kept.restore()


# Forged: the checksums are right, and what they are of is not

values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 5),
    st.sampled_from([10**9, 10**22, -(10**9), 1.5, 1e308, "", "auto", "linear", "x" * 1000, [], {}, [1], {"a": 1}]),
)


def places(value, path=()):
    """The path of every entry of nested JSON."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in inner:
        yield from places(entry, (*path, key))


def forge(content, where, value):
    """Another value somewhere in nested JSON; the places of long lists count as often as their depth."""
    every = [path for path in places(content) if path and path[0] not in ("sha256", "digest", "format")]
    path = every[int(where * len(every))]
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value


@pytest.mark.parametrize("kind", MODELS)
@given(where=st.floats(0, 0.999), value=values, part=st.sampled_from(["params", "target", "details", None]))
def test_forged_models(kind, where, value, part, kept):
    file = kept.folder / kind / "model.json"
    content = json.loads(kept.content[file])
    try:
        forge(content if part is None or not content[part] else content[part], where, value)
        content.pop("digest")
        content["digest"] = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        file.write_text(json.dumps(content))
        model = outcome(lambda: isonn.load_model(kept.folder / kind))
        if not isinstance(model, IsoNNError):
            graphs = kept.graphs_of(kind)
            outcome(lambda: model.predict(graphs))
            outcome(lambda: model.explain(graphs[0]))
    finally:
        kept.restore()


@given(where=st.floats(0, 0.999), value=values)
def test_forged_results(where, value, kept):
    file = kept.files("store")[0]
    content = json.loads(kept.content[file])
    try:
        forge(content, where, value)
        content.pop("sha256", None)
        content["sha256"] = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        file.write_text(json.dumps(content))
        outcome(lambda: kept.read("store"))
    finally:
        kept.restore()
