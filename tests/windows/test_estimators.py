from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

import isonn
from isonn import model_files
from isonn.errors import InputError, IsoNNWarning, ModelFileError, NotFittedError


def small(**settings):
    return isonn.IsoNNClassifier(**{"k": 3, "c": 2, "hidden": (16,), "epochs": 4, "random_state": 0, **settings})


@pytest.fixture(scope="module")
def fitted(mutag):
    return small().fit(mutag, mutag.y)


def test_the_features_are_the_maps_of_the_layer(mutag, fitted):
    maps = fitted.model_.features[0](torch.from_numpy(mutag.dense())).flatten(1).detach()
    np.testing.assert_allclose(fitted.transform(mutag), maps, atol=1e-6)


def test_probabilities_are_the_softmax_of_the_model(mutag, fitted):
    logits = fitted.model_(torch.from_numpy(mutag.dense())).detach()
    np.testing.assert_allclose(fitted.predict_proba(mutag), logits.softmax(1), atol=1e-6)


def test_predicting_in_small_batches_changes_nothing(mutag, fitted, monkeypatch):
    expected = fitted.predict_proba(mutag)
    monkeypatch.setattr(isonn.IsoNNClassifier, "_batch_cells", 1)  # one graph at a time
    np.testing.assert_allclose(fitted.predict_proba(mutag), expected, atol=1e-6)


def test_features_feed_another_classifier_in_a_pipeline(mutag):
    pipeline = make_pipeline(small(), LogisticRegression()).fit(mutag, mutag.y)
    assert pipeline.score(mutag, mutag.y) > 0.6


@pytest.mark.parametrize("layers", [None, ((2, 3), (2, 2))])
def test_features_have_names_and_come_as_a_data_frame(mutag, layers):
    clf = small(epochs=1, layers=layers).fit(mutag)
    plain, names = clf.transform(mutag[:4]), clf.get_feature_names_out()
    frame = clf.set_output(transform="pandas").transform(mutag[:4])
    assert frame.columns.tolist() == names.tolist()
    np.testing.assert_array_equal(frame.to_numpy(), plain)
    if layers is None:  # the map of template 1 at row 2, column 3
        maps = clf.model_.features[0](torch.from_numpy(mutag[:4].dense(28))).detach()
        np.testing.assert_allclose(frame["template1_row2_column3"], maps[:, 1, 2, 3], atol=1e-6)


@pytest.mark.parametrize("batch_size", [None, 5])
def test_a_regressor_learns_several_measurements_with_gaps(mutag, batch_size, tmp_path):
    y = np.column_stack([mutag.sizes, np.sqrt(mutag.sizes)]).astype(float)
    y[::2, 0] = np.nan
    y[:60] = np.nan  # whole batches without a single measurement
    reg = isonn.IsoNNRegressor(k=3, c=2, hidden=(16,), epochs=40, learning_rate=0.01, random_state=0)
    reg.set_params(batch_size=batch_size).fit(mutag, y)
    predicted = reg.predict(mutag)
    assert predicted.shape == (188, 2)
    assert reg.score(mutag, y) > 0.5
    reg.save(tmp_path / "model")
    np.testing.assert_array_equal(isonn.load_model(tmp_path / "model").predict(mutag), predicted)


def test_gaps_in_an_indicator_matrix_do_not_count_in_the_loss(mutag):
    y = np.column_stack([mutag.y == 1, mutag.sizes > 15]).astype(float)
    y[::3, 0] = np.nan
    clf = small(epochs=1, learning_rate=1e-12).fit(mutag, y)
    known, p = np.isfinite(y), clf.predict_proba(mutag)
    assert clf.history_.loss[0] == pytest.approx(log_loss(y[known], p[known]), rel=1e-5)


def test_class_weight_moves_predictions_towards_the_heavier_class(mutag):
    def share(weight):
        clf = small(epochs=20, class_weight=weight).fit(mutag)
        return (clf.predict_proba(mutag)[:, 1]).mean()

    assert share({1: 10.0}) > share(None) > share({-1: 10.0})
    assert small(epochs=1, class_weight="balanced").fit(mutag).predict(mutag).shape == (188,)


def test_training_moves_templates_and_lowers_the_loss(mutag):
    one, many = small(epochs=1).fit(mutag), small(epochs=60, learning_rate=0.01).fit(mutag)
    assert many.history_.loss[-1] < 0.8 * many.history_.loss[0]
    assert np.abs(one.templates_[0].adjacency - many.templates_[0].adjacency).max() > 0.01


def test_the_torch_threads_of_the_caller_do_not_change_the_bits_and_are_left_alone(mutag):
    before = torch.get_num_threads()
    expected = small(epochs=2).fit(mutag).predict_proba(mutag)
    torch.set_num_threads(2)
    try:
        np.testing.assert_equal(small(epochs=2).fit(mutag).predict_proba(mutag), expected)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_the_global_random_state_is_neither_used_nor_changed(mutag):
    torch.manual_seed(5)
    state = torch.get_rng_state()
    expected = small().fit(mutag).predict_proba(mutag)
    torch.testing.assert_close(torch.get_rng_state(), state)
    torch.manual_seed(6)
    np.testing.assert_equal(small().fit(mutag).predict_proba(mutag), expected)


def test_templates_can_be_read_and_drawn(fitted):
    templates = fitted.templates_
    assert len(templates) == 2
    assert templates[0].adjacency.shape == (3, 3)
    graph = templates[0].to_networkx(threshold=0.4)
    assert graph.number_of_nodes() == 3
    assert set(graph.edges) == set(map(tuple, np.argwhere(templates[0].adjacency > 0.4).tolist()))


# ---- files


@pytest.mark.parametrize("layers", [None, ((2, 3), (2, 2))], ids=["shallow", "deep"])
@pytest.mark.parametrize("kind", ["int", "str", "bool", "float", "indicators"])
def test_a_saved_model_gives_the_same_bits(mutag, tmp_path, kind, layers):
    y = {
        "int": mutag.y,
        "str": np.where(mutag.y == 1, "mutagenic", "ohne Befund"),
        "bool": mutag.y == 1,
        "float": mutag.y.astype(float),
        "indicators": np.column_stack([mutag.y == 1, mutag.sizes > 15]).astype(int),
    }[kind]
    clf = small(k=np.int64(3), layers=layers, epochs=2).fit(mutag, y)
    clf.save(tmp_path / "model")
    loaded = isonn.load_model(tmp_path / "model")
    np.testing.assert_equal(loaded.predict_proba(mutag), clf.predict_proba(mutag))
    np.testing.assert_equal(loaded.predict(mutag), clf.predict(mutag))
    assert loaded.classes_.dtype == clf.classes_.dtype
    assert loaded.get_params() == clf.get_params()
    assert loaded.history_.loss == clf.history_.loss
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == ["model.json", "model.safetensors"]


def test_loading_a_model_leaves_the_global_random_state_alone(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    before = torch.get_rng_state()
    isonn.load_model(tmp_path / "model")
    torch.testing.assert_close(torch.get_rng_state(), before)


@pytest.mark.parametrize("matching", ["exact", "fast"])
def test_what_a_graph_is_merged_with_does_not_change_its_features(matching):
    draw = np.random.default_rng(1)
    graphs = []
    for _ in range(
        20
    ):  # three weights a graph, twenty in the set: alone, its windows are packed, and the set's are not
        values = draw.choice(np.arange(1.0, 21) / 20, 3, replace=False)
        upper = np.triu(draw.choice(values, (14, 14)) * (draw.random((14, 14)) < 0.12), 1)
        graphs.append(upper + upper.T)
    clf = isonn.IsoNNClassifier(k=4, c=2, matching=matching, epochs=1, hidden=(4,), random_state=0)
    clf.fit(graphs, np.arange(20) % 2)
    alone = np.concatenate([clf.transform([graph]) for graph in graphs])
    np.testing.assert_allclose(clf.transform(graphs), alone, atol=1e-6)


def test_a_deep_model_of_larger_graphs_learns_from_relative_maps_only():
    graphs = np.random.default_rng(0).random((24, 60, 60))
    y = np.arange(24) % 2
    graphs[y == 1, :20, :20] += 1
    deep = {"layers": ((2, 3), (2, 3)), "hidden": (16,), "epochs": 15, "random_state": 0}
    loss = {
        normalize: isonn.IsoNNClassifier(**deep, normalize=normalize).fit(graphs, y).history_.loss[-1]
        for normalize in ("positions", "relative")
    }
    assert loss["positions"] > 0.69  # maps of 3,000 windows, each next to 0: the second layer sees the same everywhere
    assert loss["relative"] < 0.3


def test_saving_never_overwrites_and_leaves_nothing_half_written(fitted, tmp_path, monkeypatch):
    fitted.save(tmp_path / "model")
    with pytest.raises(InputError, match="model exists already; choose another path"):
        fitted.save(tmp_path / "model")

    def fail(*arguments):
        raise OSError("no space left")

    monkeypatch.setattr(model_files, "save_file", fail)
    with pytest.raises(ModelFileError, match=r"other cannot be written \(no space left\); free some space"):
        fitted.save(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def damage_tensors(folder):
    path = folder / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)


def truncate(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:100])


def edit(*, forged=True, **changes):
    """Change the description; ``forged`` with a digest that fits, as damage never has."""

    def apply(folder):
        path = folder / "model.json"
        description = {**json.loads(path.read_text()), **changes}
        if forged:
            description["digest"] = model_files.digest_of(description)
        path.write_text(json.dumps(description))

    return apply


def swap_weights(folder):
    tensors = load_file(folder / "model.safetensors")
    tensors["features.0.templates"] = torch.zeros(9, 9, 9)
    save_file(tensors, folder / "model.safetensors")
    edit(sha256=model_files.hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest())(folder)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_tensors, "is not the file model.json was written with"),
        (truncate, "is not the file model.json was written with"),
        (swap_weights, "does not describe the weights it holds"),
        (edit(size=28.5, forged=False), "model.json was changed after it was saved"),
        (edit(size=10**6), "weights of the head of .* numbers take .* GB, more than the .* GB of this machine"),
        (edit(size="large"), "does not describe a model: its size is not one"),
        (edit(params={"k": -1}), "does not describe a model"),
        (edit(params={"command": "rm"}), "does not describe the weights it holds"),
        (
            edit(target={"name": "classes", "classes": {"dtype": "O", "values": [1]}}),
            "does not describe the weights it holds",
        ),
        (edit(format="other"), "has format 'other'"),
        (
            edit(**{"class": "os.system"}),
            r"kind 'os.system'; this version knows",
        ),
        (lambda folder: (folder / "model.json").write_text("{"), "is damaged"),
        (lambda folder: (folder / "model.json").unlink(), "holds no model.json"),
        (lambda folder: (folder / "model.safetensors").unlink(), "holds no model.safetensors"),
    ],
)
def test_damaged_and_altered_models_are_refused(fitted, tmp_path, damage, message):
    fitted.save(tmp_path / "model")
    damage(tmp_path / "model")
    with pytest.raises(ModelFileError, match=message):
        isonn.load_model(tmp_path / "model")


def test_a_model_of_a_machine_with_another_device_is_loaded_on_the_cpu(fitted, mutag, tmp_path):
    fitted.save(tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    description = json.loads(path.read_text())
    edit(params={**description["params"], "device": "toaster"})(tmp_path / "model")
    with pytest.warns(IsoNNWarning, match="fitted on device 'toaster', which this machine lacks; it now uses the CPU"):
        loaded = isonn.load_model(tmp_path / "model")
    np.testing.assert_equal(loaded.predict_proba(mutag), fitted.predict_proba(mutag))


def test_whoever_may_read_a_folder_may_read_the_model_in_it(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    (tmp_path / "file").touch()
    allowed = (tmp_path / "file").stat().st_mode
    assert {path.stat().st_mode for path in (tmp_path / "model").iterdir()} == {allowed}


def test_weights_that_end_in_no_number_are_an_error_not_an_answer(fitted, mutag):
    graphs = mutag.dense(28)[:3].astype(np.float64)
    graphs[1] = 1e20
    with pytest.raises(InputError, match="graph 1 of 3 gives answers that are not finite; scale its weights"):
        fitted.predict(graphs)


def test_a_path_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="not a model folder"):
        isonn.load_model(tmp_path / "nothing")


def test_an_unfitted_model_cannot_be_saved_or_read(tmp_path):
    with pytest.raises(NotFittedError, match="call fit first"):
        small().save(tmp_path / "model")
    with pytest.raises(NotFittedError, match="call fit first"):
        _ = small().templates_


# ---- input


def test_a_larger_graph_than_there_is_room_for_names_the_remedy(mutag):
    little = mutag[np.flatnonzero(mutag.sizes < 20)]
    clf = small().fit(little)
    first = int(mutag.sizes.argmax())
    with pytest.raises(InputError, match=f"graph {first} of 188 has 28 nodes.*fit with size=28"):
        clf.predict(mutag)
    assert small(size=28).fit(little).predict(mutag).shape == (188,)


def test_graphs_smaller_than_the_template_are_padded_like_all_others(mutag):
    pair = 1 - np.eye(2)
    clf = small(k=4).fit([pair, *(graph.adjacency for graph in mutag[:9])], [0, 1] * 5)
    assert clf.predict([pair]).shape == (1,)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": np.array([2, 3])}, r"k=array\(\[2, 3\]\) is not a number of nodes"),
        ({"k": 30}, "k=30 means .* permutations .*; use k <= 9"),
        ({"size": 8}, "size=8 is too small for a graph of 28 nodes"),
        ({"epochs": 0}, "epochs=0 is not a count"),
        ({"n_jobs": 1.5}, "n_jobs=1.5 is not a count"),
        ({"batch_size": 0}, "batch_size=0 is not a count"),
        ({"learning_rate": 0}, "learning_rate=0 is not above 0"),
        ({"hidden": (16, 0)}, r"hidden=\(16, 0\) are not layer widths"),
        ({"device": "toaster"}, "device='toaster' cannot be used"),
        ({"random_state": -1}, "random_state=-1 is not a valid seed"),
        ({"matching": "magic"}, "matching='magic' is unknown"),
        ({"layers": ()}, r"layers=\(\) is empty"),
        ({"layers": (2, 3)}, r"layers=\(2, 3\) are not pairs; give \(c, k\) of each"),
        ({"layers": "2x3,2x3"}, "layers='2x3,2x3' are not pairs"),
        ({"hidden": 64}, "hidden=64 are not layer widths"),
        ({"size": 30.0}, "size=30.0 is not a count"),
        ({"size": "a"}, "size='a' is not a count"),
        ({"matching": ["exact"]}, r"matching=\['exact'\] is unknown"),
        ({"learning_rate": "a"}, "learning_rate='a' is not above 0"),
        ({"k": 5, "c": 2, "layers": ((2, 3),)}, "k=5 and layers=.* contradict each other"),
        ({"k": 4, "c": 2, "layers": ((1, 3), (1, 9), (1, 9), (1, 9), (1, 9))}, "layer 5 of 5 .* maps of side 2"),
    ],
)
def test_impossible_settings_are_refused(mutag, settings, message):
    with pytest.raises(InputError, match=message):
        small(**settings).fit(mutag)
