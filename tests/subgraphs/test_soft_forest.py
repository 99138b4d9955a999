from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier

from isonn.subgraphs.soft import Forest


@pytest.fixture
def features():
    return np.random.default_rng(0).normal(size=(80, 6)).astype(np.float32)


@pytest.mark.parametrize("classes", [2, 5])
def test_the_votes_are_those_of_scikit_learn(features, classes):
    y = (features[:, 0] * 3 + features[:, 1]).argsort().argsort() * classes // 80
    grown = RandomForestClassifier(20, random_state=0).fit(features[:50], y[:50])
    votes = Forest.of(grown)(torch.from_numpy(features))
    np.testing.assert_allclose(votes.numpy(), grown.predict_proba(features), atol=1e-6)


def test_several_labels_vote_each_on_its_own_even_one_that_never_changes(features):
    y = np.column_stack([features[:, 0] > 0, np.ones(80), features[:, 1] > 0.5, np.zeros(80)]).astype(np.int64)
    grown = RandomForestClassifier(20, random_state=0).fit(features[:50], y[:50])
    votes = Forest.of(grown)(torch.from_numpy(features)).numpy()
    by_label = grown.predict_proba(features)
    np.testing.assert_allclose(votes[:, [0, 2]], np.column_stack([by_label[0][:, 1], by_label[2][:, 1]]), atol=1e-6)
    np.testing.assert_equal(votes[:, [1, 3]], np.tile([1.0, 0.0], (80, 1)))


def test_a_value_at_a_threshold_goes_the_way_scikit_learn_sends_it(features):
    features = np.round(3 * features)  # thresholds are then halves, which float32 holds exactly
    grown = RandomForestClassifier(10, random_state=0).fit(features, features[:, 0] + features[:, 1] > 0)
    at = np.repeat(features[:1], 200, axis=0)
    tree = grown.estimators_[0].tree_
    inner = np.flatnonzero(tree.children_left >= 0)
    for row, node in enumerate(inner[:200]):
        at[row, tree.feature[node]] = tree.threshold[node]
    np.testing.assert_allclose(Forest.of(grown)(torch.from_numpy(at)).numpy(), grown.predict_proba(at), atol=1e-6)


def test_a_tree_of_one_leaf_votes(features):
    grown = RandomForestClassifier(3, max_depth=1, min_samples_split=1000, random_state=0).fit(
        features, np.arange(80) % 2
    )
    np.testing.assert_allclose(
        Forest.of(grown)(torch.from_numpy(features)).numpy(), grown.predict_proba(features), atol=1e-6
    )


def test_a_forest_is_its_tensors(features):
    grown = RandomForestClassifier(4, random_state=0).fit(features, features[:, 0] > 0)
    made = Forest.of(grown)
    again = Forest(*made.feature.shape, 2)
    again.load_state_dict(made.state_dict())
    torch.testing.assert_close(again(torch.from_numpy(features)), made(torch.from_numpy(features)), rtol=0, atol=0)
