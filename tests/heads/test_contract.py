"""One contract for all heads: shapes, sums, saving, and what must not matter."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from head_samples import KINDS, SIZE, counts, inputs_of, target_of, targets_of
from scipy.sparse import csr_array

import isonn
from isonn.errors import InputError
from isonn.heads import HEADS, Contributions, Head, Inputs, boosting, get_head, register_head

NAMES = ["linear", "trees", "auto"]


@pytest.fixture(autouse=True)
def _few_rounds(monkeypatch):
    monkeypatch.setattr(boosting, "ROUNDS", 20)


class MeanHead(Head):
    """Predicts the mean of the targets: the smallest head there is."""

    name = "mean-of-targets"

    def fit(self, inputs, targets, target, weights=None, seed=0):
        columns = target.columns(targets)
        mean = np.nanmean(columns, axis=0)
        self.value = mean if len(mean) == target.outputs else np.array([-mean[0], mean[0]])
        return self

    def outputs(self, inputs):
        return np.tile(self.value, (len(inputs), 1))

    def contributions(self, inputs, output, reference=None):
        nothing = csr_array(inputs.features.shape), csr_array(inputs.counts.shape)
        return Contributions(float(self.value[output]), *nothing)

    def tensors(self):
        return {"value": self.value}

    @classmethod
    def restore(cls, tensors):
        head = cls()
        head.value = tensors["value"]
        return head


@pytest.fixture
def toy():
    register_head(MeanHead)
    yield MeanHead
    del HEADS[MeanHead.name]


def fitted(name, kind, values=None, rows=None, weights=None, seed=0):
    """A head fitted to some rows of the sample, and its target and inputs."""
    values = counts() if values is None else values
    y = targets_of(values)[kind]
    target = target_of(y)
    rows = np.arange(len(values)) if rows is None else rows
    inputs = inputs_of(values[rows])
    return get_head(name)().fit(inputs, target.encode(y[rows]), target, weights, seed), target, inputs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*NAMES, MeanHead.name])
def test_every_head_keeps_the_contract(name, kind, toy):
    head, target, inputs = fitted(name, kind)
    outputs = head.outputs(inputs)
    assert outputs.shape == (SIZE, target.outputs)
    assert np.isfinite(outputs).all()
    assert target.decide(target.link(outputs)).shape == targets_of(counts())[kind].shape
    restored = get_head(name).restore(head.tensors())
    np.testing.assert_array_equal(restored.outputs(inputs), outputs)
    parts = np.concatenate([head.outputs(inputs.rows(np.array([i]))) for i in range(SIZE)])
    np.testing.assert_allclose(parts, outputs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_contributions_and_base_sum_to_the_output(name, kind):
    head, target, inputs = fitted(name, kind)
    restored = get_head(name).restore(head.tensors())
    for output in range(target.outputs):
        reference = inputs.rows(np.array([2]))
        found = restored.contributions(inputs, output, reference)
        assert found.base == pytest.approx(head.outputs(reference)[0, output])
        np.testing.assert_allclose(found.features.toarray()[2], 0, atol=1e-12)
        np.testing.assert_allclose(found.counts.toarray()[2], 0, atol=1e-12)
        np.testing.assert_allclose(found.sums(), head.outputs(inputs)[:, output], rtol=1e-9, atol=1e-9)
        found = restored.contributions(inputs, output)
        assert found.features.shape == inputs.features.shape
        assert found.counts.shape == inputs.counts.shape
        np.testing.assert_allclose(found.sums(), head.outputs(inputs)[:, output], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_graphs_changes_nothing(name, kind):
    head, _, inputs = fitted(name, kind)
    order = np.random.default_rng(1).permutation(SIZE)
    other, _, _ = fitted(name, kind, rows=order)
    np.testing.assert_allclose(other.outputs(inputs), head.outputs(inputs), atol=1e-9)
    np.testing.assert_allclose(other.held_out, head.held_out[order], atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_a_weight_of_two_is_the_graph_twice(name, kind):
    weights = np.where(np.arange(SIZE) % 3 == 0, 2.0, 1.0)
    weighted, _, inputs = fitted(name, kind, weights=weights)
    repeated, _, _ = fitted(name, kind, rows=np.concatenate([np.arange(SIZE), np.arange(0, SIZE, 3)]))
    np.testing.assert_allclose(repeated.outputs(inputs), weighted.outputs(inputs), atol=1e-6)
    np.testing.assert_allclose(repeated.held_out[:SIZE], weighted.held_out, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_a_common_factor_of_weights_changes_nothing(name, kind):
    plain, _, inputs = fitted(name, kind)
    factor, _, _ = fitted(name, kind, weights=np.full(SIZE, 7.0))
    np.testing.assert_allclose(factor.outputs(inputs), plain.outputs(inputs), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_graphs_without_weight_do_not_count(name, kind):
    kept = np.flatnonzero(np.arange(SIZE) % 4 != 1)
    weights = np.isin(np.arange(SIZE), kept).astype(float)
    with_zeros, _, inputs = fitted(name, kind, weights=weights)
    without, _, _ = fitted(name, kind, rows=kept)
    np.testing.assert_allclose(with_zeros.outputs(inputs), without.outputs(inputs), atol=1e-9)
    np.testing.assert_allclose(with_zeros.held_out[kept], without.held_out, atol=1e-9)
    assert np.isnan(with_zeros.held_out[weights == 0]).all()


@pytest.mark.parametrize("name", NAMES)
def test_copies_of_all_graphs_change_no_held_out_output(name):
    """A copy in the training part of a fold would tell the answer."""
    once, _, _ = fitted(name, "two classes")
    thrice, _, _ = fitted(name, "two classes", rows=np.tile(np.arange(SIZE), 3))
    np.testing.assert_allclose(thrice.held_out[:SIZE], once.held_out, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_held_out_outputs_know_nothing_of_their_group(name):
    """Targets are the group's own number, so a model that saw the group would know it."""
    generator = np.random.default_rng(0)
    groups = np.arange(SIZE) // 6
    values = np.column_stack([np.eye(10)[groups] * 3, generator.integers(0, 3, (SIZE, 3)), np.arange(SIZE)])
    y = generator.normal(size=10)[groups]
    target, inputs = target_of(y), inputs_of(values)
    inputs = Inputs(inputs.features, inputs.counts, groups=groups)
    head = get_head(name)().fit(inputs, target.encode(y), target)
    assert np.corrcoef(head.outputs(inputs)[:, 0], y)[0, 1] > 0.8
    assert np.corrcoef(head.held_out[:, 0], y)[0, 1] < 0.3


@pytest.mark.parametrize("name", NAMES)
def test_a_label_with_one_value_is_predicted(name):
    values = counts()
    y = np.column_stack([values[:, 0] > 2, np.ones(SIZE)])
    target = target_of(y)
    head = get_head(name)().fit(inputs_of(values), target.encode(y), target)
    answers = target.link(head.outputs(inputs_of(values)))
    assert (answers[:, 1] > 0.9).all()


@pytest.mark.parametrize("name", NAMES)
def test_equal_graphs_alone_get_the_share_of_classes(name):
    values = np.ones((10, 3))
    y = np.array([0, 1] * 5)
    target = target_of(y)
    head = get_head(name)().fit(inputs_of(values), target.encode(y), target)
    np.testing.assert_allclose(target.link(head.outputs(inputs_of(values))), 0.5, atol=0.01)


def test_a_head_from_outside_serves_the_estimator(toy, mutag, tmp_path):
    clf = isonn.SubgraphClassifier(2, head=toy.name, random_state=0).fit(mutag)
    assert set(clf.predict(mutag).tolist()) == {1}  # the larger class
    clf.save(tmp_path / "m")
    np.testing.assert_array_equal(isonn.load_model(tmp_path / "m").predict_proba(mutag), clf.predict_proba(mutag))
    e = clf.explain(mutag[0])
    assert (e.score, e.node_importance.any(), e.absent, e.terms) == (e.base, False, [], [])
    assert clf.weights_ == {toy.name: 1.0}
    assert clf.held_out_score_ is None


def test_an_unknown_head_is_refused():
    with pytest.raises(InputError, match="head='tree' is unknown; use one of .*'linear'"):
        get_head("tree")
    path = isonn.as_graphset([networkx.path_graph(3), networkx.path_graph(4)])
    with pytest.raises(InputError, match="head='tree' is unknown"):
        isonn.SubgraphClassifier(head="tree").fit(path, [0, 1])


@pytest.mark.parametrize("name", NAMES)
def test_damaged_tensors_are_refused(name):
    """Every array of a saved head with an entry that is not finite, or with one entry less."""
    tensors = fitted(name, "labels")[0].tensors()
    for key, array in tensors.items():
        damaged = [array[..., :-1]] if array.shape[-1] > 1 and key.rpartition(".")[2] not in ("coef", "columns") else []
        if array.dtype.kind == "f":
            damaged.append(np.full_like(array, np.nan))
        for bad in damaged:
            with pytest.raises(ValueError, match="shape|finite"):
                get_head(name).restore({**tensors, key: bad})


def test_trees_of_two_classes_with_a_second_output_are_refused():
    tensors = fitted("trees", "two classes")[0].tensors()
    output = tensors["trees.output"].copy()
    output[-1] = 1
    with pytest.raises(ValueError, match="trees of two classes have 2 outputs instead of one"):
        get_head("trees").restore({**tensors, "trees.output": output})
