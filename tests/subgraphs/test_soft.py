from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier

from isonn.matching.permutations import GraphLayout
from isonn.subgraphs.soft import (
    SMALLEST_VARIANCE,
    Forest,
    PooledTemplates,
    Standardize,
    SubgraphInputs,
    SubgraphModel,
    raw_features,
)


@pytest.fixture
def inputs(generator):
    generator_of_counts = np.random.default_rng(0)
    regions = tuple(torch.randn(d, width, generator=generator) for d, width in ((5, 5), (7, 6)))
    counts = [generator_of_counts.integers(0, 3, (9, len(part))).astype(float) for part in regions]
    counts[1][3] = 0  # a graph with fewer than three nodes
    return SubgraphInputs(regions, tuple(map(csr_array, counts)), 9)


def model_of(generator, hidden=(), outputs=2, multilabel=False):
    groups = []
    for c, layout in ((2, GraphLayout(2, 2, 1)), (3, GraphLayout(3, 1, 1))):
        start = torch.randn(c, layout.width, generator=generator)
        groups.append(PooledTemplates(layout, [0] * layout.width, [True] * layout.width, (1.0,), start))
    return SubgraphModel(groups, outputs, hidden, multilabel, generator)


@pytest.mark.parametrize("hidden", [(), (8,)], ids=["linear", "mlp"])
def test_a_part_of_the_graphs_is_read_like_the_whole(inputs, hidden, generator):
    model = model_of(generator, hidden).eval()
    whole = model(inputs)
    rows = torch.tensor([7, 3, 3, 0])
    part = inputs[rows]
    assert len(inputs) == 9
    assert len(part) == 4
    torch.testing.assert_close(model(part), whole[rows])
    torch.testing.assert_close(model(inputs[torch.tensor([3])]), whole[3:4])


def test_a_part_holds_only_the_regions_it_needs(inputs):
    part = inputs[torch.tensor([3])]
    assert len(part.regions[1]) == 0
    assert len(part.regions[0]) == np.count_nonzero(inputs.counts[0].toarray()[3])


def test_features_say_how_many_and_whether_any_and_are_standardised(inputs, generator):
    model = model_of(generator).eval()
    sums = model.sums(inputs).detach()
    by_template = [torch.cat([torch.log(1 + s), 1 - torch.exp(-s[:, 1:])], dim=1) for s in sums.unbind(1)]
    raw = torch.cat(by_template, dim=1)
    torch.testing.assert_close(raw_features(sums), raw)
    model.standardize.settle(raw)
    features = model.features(inputs).detach()
    torch.testing.assert_close(features.mean(0), torch.zeros(raw.shape[1]), atol=1e-4, rtol=0)
    variance = raw.var(0, correction=0)
    expected = (variance / (variance + SMALLEST_VARIANCE)).sqrt()
    torch.testing.assert_close(features.std(0, correction=0), expected, atol=1e-3, rtol=0)
    torch.testing.assert_close(model.logits(model.sums(inputs)), model(inputs))


def test_a_constant_feature_is_only_shifted():
    layer = Standardize(2)
    layer.settle(torch.tensor([[3.0, 1.0], [3.0, 2.0]]))
    torch.testing.assert_close(layer.eval()(torch.tensor([[3.0, 1.5]])), torch.zeros(1, 2))
    assert layer(torch.tensor([[4.0, 1.5]])).isfinite().all()


@pytest.mark.parametrize("deviation", [1.0, 1e-2, 1e-3, 1e-5, 0.0])
def test_training_and_prediction_see_features_on_the_same_scale(deviation, generator):
    """A head learns from what the layer gives while training; a feature that hardly varies must not grow afterwards."""
    features = 2 + deviation * torch.randn(400, 1, generator=generator)
    layer = Standardize(1)
    training = layer.train()(features)
    torch.testing.assert_close(layer.eval()(features), training, rtol=0.02, atol=2e-3)


def test_the_ensemble_is_the_mean_of_regression_and_forest(inputs, generator):
    model = model_of(generator).eval()
    features = model.features(inputs).detach()
    linear = model(inputs).softmax(1)
    grown = RandomForestClassifier(5, random_state=0).fit(features.numpy(), np.arange(9) % 2)
    model.forest = Forest.of(grown)
    expected = (linear.detach().numpy() + grown.predict_proba(features.numpy())) / 2
    np.testing.assert_allclose(model(inputs).softmax(1).detach().numpy(), expected, atol=1e-5)


def test_the_ensemble_of_labels_is_the_mean_label_by_label(inputs, generator):
    model = model_of(generator, outputs=3, multilabel=True).eval()
    features = model.features(inputs).detach()
    linear = model(inputs).sigmoid()
    y = np.column_stack([np.arange(9) % 2, np.arange(9) % 3 == 0, np.ones(9)]).astype(np.int64)
    grown = RandomForestClassifier(5, random_state=0).fit(features.numpy(), y)
    model.forest = Forest.of(grown)
    votes = np.column_stack([grown.predict_proba(features.numpy())[j][:, -1] for j in range(3)])
    expected = (linear.detach().numpy() + votes) / 2
    np.testing.assert_allclose(model(inputs).sigmoid().detach().numpy(), expected, atol=1e-5)


def test_gradients_reach_every_template(inputs, generator):
    model = model_of(generator).train()
    model(inputs)[:, 0].square().sum().backward()
    for group in model.groups:
        assert (group.templates.grad.abs().sum(1) > 0).all()


def test_the_penalty_is_the_sum_over_groups(generator):
    model = model_of(generator)
    torch.testing.assert_close(model.penalty(), sum(group.penalty() for group in model.groups))
