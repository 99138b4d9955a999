"""Short lists: few columns, no near-duplicates, and the same whatever the order of graphs."""

from __future__ import annotations

import numpy as np
import pytest
from coded_graphs import PLANTED, TARGETS, fitted, planted
from scipy.sparse import csr_array

import isonn
from isonn.subgraphs.select import ALIKE_IN_LIST, short_list


@pytest.mark.parametrize("c", [4, 12])
def test_a_short_list_holds_no_near_duplicates_and_starts_with_the_shorter_one(c):
    generator = np.random.default_rng(0)
    base = generator.poisson(1.0, (60, 15)).astype(float)
    features = csr_array(np.concatenate([base, base, base + (generator.random((60, 15)) < 0.02)], axis=1))
    y = (base[:, :1] + base[:, 1:2] > 2).astype(float)
    chosen = short_list(features, y, c)
    assert len(chosen) == len(set(chosen.tolist())) == c
    alike = np.abs(np.corrcoef(features[:, chosen].toarray().T)) - np.eye(c)
    assert alike.max() <= ALIKE_IN_LIST + 1e-9
    np.testing.assert_array_equal(chosen[:4], short_list(features, y, 4))


def test_a_long_list_is_as_long_as_asked_for_and_holds_what_matters():
    generator = np.random.default_rng(2)
    features = generator.random((400, 600)) * (generator.random((400, 600)) < 0.5)
    y = features[:, 5:8].sum(axis=1, keepdims=True)
    chosen = short_list(csr_array(features), y, 300)
    assert len(chosen) == len(set(chosen.tolist())) <= 300
    assert {5, 6, 7} <= set(chosen[:3].tolist())


def test_a_gap_counts_as_the_mean():
    generator = np.random.default_rng(3)
    features = csr_array(generator.random((40, 10)))
    y = generator.random((40, 2))
    y[::3, 1] = np.nan
    filled = np.where(np.isnan(y), np.nanmean(y, axis=0), y)
    np.testing.assert_array_equal(short_list(features, y, 5), short_list(features, filled, 5))


def test_the_order_of_graphs_does_not_change_a_short_list(mutag):
    expected = isonn.SubgraphClassifier(3, 16, random_state=0).fit(mutag)
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(mutag))
        found = isonn.SubgraphClassifier(3, 16, random_state=0).fit(mutag[order])
        assert found.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
        np.testing.assert_allclose(found.predict_proba(mutag), expected.predict_proba(mutag), atol=1e-6)


@pytest.mark.parametrize("kind", TARGETS)
def test_a_short_list_is_as_long_as_asked_for(kind):
    graphs = planted()
    short = fitted(graphs, kind, n_templates=8)
    assert len(short.templates_) == 8
    assert short.transform(graphs).shape == (PLANTED, 8)
    assert short.held_out_score_ is None
