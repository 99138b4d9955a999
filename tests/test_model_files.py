"""Model files that were damaged or edited."""

from __future__ import annotations

import json
import operator

import numpy as np
import pytest

import isonn
from isonn import model_files
from isonn.errors import InputError, ModelFileError


@pytest.fixture
def model(mutag, tmp_path):
    isonn.SubgraphClassifier(max_nodes=2, random_state=0).fit(mutag).save(tmp_path / "model")
    return tmp_path / "model"


def edit(path, change):
    file = path / "model.json"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["target"]["classes"]["values"].reverse(),
        lambda content: content["params"].update(n_jobs=100_000),
        lambda content: content["params"].update(max_nodes=10**9),
        lambda content: content["details"]["encoding"].update(views=["refined", "labels"]),
        lambda content: content["label_names"].update(node=[[0, "gold"]]),
        lambda content: content.pop("digest"),
    ],
)
def test_an_edited_description_is_refused_in_one_sentence(model, change):
    edit(model, change)
    with pytest.raises(ModelFileError, match="was changed after it was saved; copy or save the model again"):
        isonn.load_model(model)


def labels_of(content, kind):
    return content["details"]["encoding"]["labels"][f"{kind}_labels"]


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["params"].update(view=[[1]]),
        lambda content: content["params"].update(verbose=None),
        lambda content: content.update(seed=None),
        lambda content: content["label_names"].pop("edge"),
        lambda content: content["details"]["encoding"].update(sizes=[[1, 2]]),
        lambda content: content["details"]["encoding"].update(sizes=[[10**9], [1, 2]]),
        lambda content: labels_of(content, "node").update(dtype=[]),
        lambda content: labels_of(content, "node").update(dtype="<U1000000000", values=["a"]),
        lambda content: labels_of(content, "node").update(values="100000"),
        lambda content: labels_of(content, "edge").update(values=[[1], [2]]),
        lambda content: content["details"]["encoding"]["views"][0].update(view="pickle"),
        lambda content: content["details"]["encoding"]["labels"].pop("node_labels"),
    ],
)
def test_a_forged_description_is_refused_before_it_is_used(model, change):
    edit(model, change)
    edit(model, lambda content: content.update(digest=model_files.digest_of(content)))
    with pytest.raises(ModelFileError, match="does not describe"):
        isonn.load_model(model)


def test_a_forged_mean_is_refused_before_it_is_used(mutag, tmp_path):
    isonn.SubgraphRegressor(max_nodes=1, random_state=0).fit(mutag, mutag.sizes).save(tmp_path / "model")
    edit(tmp_path / "model", lambda content: content["target"].update(mean=[[1.0]]))
    edit(tmp_path / "model", lambda content: content.update(digest=model_files.digest_of(content)))
    with pytest.raises(ModelFileError, match="does not describe"):
        isonn.load_model(tmp_path / "model")


@pytest.mark.parametrize(
    ("field", "value"), [("column", 10**6), ("column", -1), ("output", 2), ("examples", [188]), ("effect", None)]
)
def test_forged_marks_are_refused_before_they_are_used(mutag, tmp_path, field, value):
    isonn.SubgraphClassifier(max_nodes=2, keep_examples=True, random_state=0).fit(mutag).save(tmp_path / "model")
    place = ["output", "column", "effect", "alike", "weight", "examples"].index(field)
    edit(tmp_path / "model", lambda content: operator.setitem(content["details"]["marks"][0], place, value))
    edit(tmp_path / "model", lambda content: content.update(digest=model_files.digest_of(content)))
    with pytest.raises(ModelFileError, match="does not describe"):
        isonn.load_model(tmp_path / "model")


def test_nested_brackets_are_refused_in_one_sentence(model):
    (model / "model.json").write_text("[" * 100_000)
    with pytest.raises(ModelFileError, match="is damaged"):
        isonn.load_model(model)


@pytest.mark.parametrize("settings", [{"n_jobs": 10**6}, {"n_templates": 10**9}, {"max_subgraphs": 10**30}])
def test_values_that_would_exhaust_the_machine_are_refused(mutag, settings):
    with pytest.raises(InputError, match="is too large; use at most"):
        isonn.SubgraphClassifier(**settings).fit(mutag)


@pytest.mark.parametrize("streamed", [False, True])
def test_names_of_classes_travel_with_the_model(mutag, tmp_path, streamed):
    clf = isonn.SubgraphClassifier(max_nodes=2, random_state=0).fit(isonn.stream(mutag) if streamed else mutag)
    clf.save(tmp_path / "model")
    nameless = isonn.as_graphset(list(mutag[:1]))
    assert nameless.class_names == {}
    said = isonn.load_model(tmp_path / "model").explain(nameless[0]).summary()
    assert said.startswith(("mutagenic with probability", "not mutagenic with probability"))
    own = isonn.SubgraphClassifier(max_nodes=2, random_state=0)
    own.fit(isonn.stream(mutag) if streamed else mutag, ["yes", "no"] * 94)
    assert own.explain(nameless[0]).summary().startswith(("class yes with", "class no with"))


@pytest.mark.parametrize(("name", "version"), [("isonn-model-1", "0.1.0"), ("isonn-model-2", "0.2.0")])
def test_a_model_of_an_earlier_version_is_refused_in_one_sentence(model, name, version):
    edit(model, lambda content: content.update(format=name))
    with pytest.raises(ModelFileError, match=rf"was saved by isonn {version}, .*; fit it again$"):
        isonn.load_model(model)


@pytest.mark.parametrize("site", [[], "scanner", None])
def test_a_forged_site_is_refused_before_it_is_used(tmp_path, site):
    draw = np.random.default_rng(0)
    halves = np.triu(draw.normal(size=(24, 5, 5)), 1)
    table = {"site": ["A", "B", "C", "D"] * 6}
    clf = isonn.AlignedClassifier(harmonize="site", shuffles=9, random_state=0)
    clf.fit(halves + halves.transpose(0, 2, 1), np.arange(24) // 12, confounds=table).save(tmp_path / "model")
    edit(tmp_path / "model", lambda content: content["details"]["adjustment"].update(site=site))
    edit(tmp_path / "model", lambda content: content.update(digest=model_files.digest_of(content)))
    with pytest.raises(ModelFileError, match="does not describe"):
        isonn.load_model(tmp_path / "model")
