from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

from isonn.baselines import CPMClassifier, CPMRegressor, NBSClassifier
from isonn.baselines.nbs import network_based_statistic
from isonn.connectomes import planted_connectomes
from isonn.errors import InputError


@pytest.fixture(scope="module")
def study():
    return planted_connectomes(n_regions=16, effect=0.35, seed=0, k=5)


def upper(graphs):
    rows, columns = np.triu_indices(int(graphs.sizes[0]), 1)
    return graphs.dense(dtype=np.float64)[:, rows, columns], np.column_stack([rows, columns])


def test_components_are_those_of_edges_beyond_the_threshold(study):
    features, pairs = upper(study.graphs)
    classes = (study.graphs.y == "patient").astype(int)
    found = network_based_statistic(features, classes, pairs, threshold=2.0, permutations=19)
    t = stats.ttest_ind(features[classes == 1], features[classes == 0]).statistic
    graph = nx.Graph(pairs[np.abs(t) > 2].tolist())
    sizes = sorted((graph.subgraph(nodes).number_of_edges() for nodes in nx.connected_components(graph)), reverse=True)
    assert [len(one.edges) for one in found] == sizes
    assert found[0].p_value == 1 / 20


def test_the_p_value_is_the_share_of_permutations_with_a_component_as_large():
    small = 0
    for seed in range(20):
        study = planted_connectomes(n_regions=12, planted="none", seed=seed)
        features, pairs = upper(study.graphs)
        found = network_based_statistic(
            features, (study.graphs.y == "patient").astype(int), pairs, threshold=2.0, permutations=39, seed=seed
        )
        small += bool(found) and found[0].p_value <= 0.05
    assert small <= 3  # 1 is expected


def test_nbs_predicts_from_its_components(study):
    clf = NBSClassifier(permutations=19).fit(study.graphs)
    inside = np.isin(clf.edges_, study.regions).all(axis=1)
    assert inside.mean() > 0.8
    assert clf.score(study.graphs, study.graphs.y) > 0.9
    with pytest.raises(InputError, match="threshold must be a number above 0"):
        NBSClassifier(threshold=-1).fit(study.graphs)


def test_cpm_is_the_published_recipe():
    study = planted_connectomes(n_regions=14, planted="none", seed=1)
    features, _ = upper(study.graphs)
    y = features[:, 3] - features[:, 20] + 0.3 * np.random.default_rng(0).normal(size=60)
    train, test = np.arange(40), np.arange(40, 60)
    found = [stats.pearsonr(column, y[train]) for column in features[train].T]
    up = [i for i, one in enumerate(found) if one.pvalue < 0.01 and one.statistic > 0]
    down = [i for i, one in enumerate(found) if one.pvalue < 0.01 and one.statistic < 0]
    sums = np.column_stack([features[:, up].sum(axis=1), features[:, down].sum(axis=1)])
    expected = LinearRegression().fit(sums[train], y[train]).predict(sums[test])
    reg = CPMRegressor(fisher=False).fit(study.graphs[train], y[train])
    np.testing.assert_allclose(reg.predict(study.graphs[test]), expected)


def test_cpm_classifies(study):
    clf = CPMClassifier().fit(study.graphs[:40])
    assert clf.score(study.graphs[40:], study.graphs.y[40:]) > 0.8
    probabilities = clf.predict_proba(study.graphs[:5])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
