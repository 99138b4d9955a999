from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_ind
from sklearn.base import is_classifier
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

import isonn
from isonn.connectomes import planted_connectomes
from isonn.errors import InputError, IsoNNWarning, ModelFileError
from isonn.graphs.join import join_graphs
from isonn.heads import PENALTIES

FAST = {"shuffles": 19, "random_state": 0}


def matrices_with(regions, g=40, n=16, effect=1.5, seed=0, symmetric=True):
    """Random matrices; those of class 1 have stronger connections among some regions."""
    draw = np.random.default_rng(seed)
    y = draw.permutation(np.arange(g) % 2)
    noise = draw.normal(size=(g, n, n))
    matrices = np.triu(noise, 1) + np.triu(noise, 1).transpose(0, 2, 1) if symmetric else noise
    block = np.ix_(y == 1, regions, regions)
    matrices[block] += effect * (1 - np.eye(len(regions)))
    matrices[:, np.arange(n), np.arange(n)] = 0.3
    return matrices, y


REGIONS = [2, 7, 11]


def cases():
    matrices, y = matrices_with(REGIONS)
    draw = np.random.default_rng(1)
    gaps = np.column_stack([y, draw.integers(2, size=len(y))]).astype(float)
    gaps[3, 1] = np.nan
    numbers = np.column_stack([y + draw.normal(size=len(y)), 100 + 5 * draw.normal(size=len(y))])
    directed, directed_y = matrices_with(REGIONS, symmetric=False)
    return {
        "two classes": (isonn.AlignedClassifier(**FAST), matrices, np.where(y == 1, "ill", "well")),
        "three classes": (isonn.AlignedClassifier(**FAST), matrices, (y + np.arange(len(y)) % 2)),
        "labels with gaps": (isonn.AlignedClassifier(**FAST), matrices, gaps),
        "numbers": (isonn.AlignedRegressor(**FAST), matrices, numbers),
        "directed": (isonn.AlignedClassifier(**FAST), directed, directed_y),
        "weighted": (isonn.AlignedClassifier(class_weight="balanced", **FAST), matrices, y),
        "sets only": (isonn.AlignedClassifier(k=(3, 4), **FAST), matrices, y),
    }


@pytest.fixture(params=cases())
def fitted(request):
    estimator, matrices, y = cases()[request.param]
    return estimator.fit(matrices, y), matrices, y


def test_contributions_of_connections_and_of_matches_add_up(fitted):
    estimator, matrices, _ = fitted
    for matrix in matrices[:3]:
        for label in estimator.target_.classes:
            e = estimator.explain(matrix, label=label, top=None)
            gap = e.score - e.base
            cells = e.edge_importance if estimator.model_.layout.directed else np.triu(e.edge_importance)
            assert e.exact
            np.testing.assert_allclose(cells.sum() + e.single_nodes, gap, atol=1e-9)
            np.testing.assert_allclose(e.node_importance.sum(), gap, atol=1e-9)
            np.testing.assert_allclose(sum(match.contribution for match in e.matches), gap, atol=1e-9)


def test_the_explained_score_is_what_predict_says(fitted):
    estimator, matrices, _ = fitted
    answers = estimator.predict_proba(matrices[:4]) if is_classifier(estimator) else estimator.predict(matrices[:4])
    for matrix, expected in zip(matrices[:4], answers, strict=True):
        e = estimator.explain(matrix)
        np.testing.assert_allclose(e.probabilities, expected, atol=1e-12)
        every = estimator.explain(matrix, top=None)
        score = estimator.target_.margin(every.source.logits_without(every.contributions[0]), every.column)
        np.testing.assert_allclose(score, every.base, atol=1e-12)


@pytest.mark.parametrize("name", ["two classes", "numbers", "directed"])
def test_an_average_connection_takes_its_contribution_away(name):
    estimator, matrices, y = cases()[name]
    estimator.fit(matrices, y)
    e = estimator.explain(matrices[5], label=estimator.target_.classes[1])
    for i, j in ((2, 7), (0, 15), (11, 2)):
        changed = matrices[5].copy()
        changed[i, j] = matrices[:, i, j].mean()
        if not estimator.model_.layout.directed:
            changed[j, i] = changed[i, j]
        after = estimator.explain(changed, label=estimator.target_.classes[1])
        np.testing.assert_allclose(e.score - after.score, e.edge_importance[i, j], atol=1e-9)


@pytest.mark.parametrize("name", ["two classes", "directed"])
def test_without_a_set_or_a_connection_the_answer_is_that_of_the_graph_with_average_connections(name):
    estimator, matrices, y = cases()[name]
    estimator.fit(matrices, y)
    predict = estimator.predict_proba if is_classifier(estimator) else estimator.predict
    reasons = estimator.explain(matrices[5]).reasons
    assert {reason.kind for reason in reasons} == {"set", "connection"}
    assert any(set(one.nodes) < set(other.nodes) for one in reasons for other in reasons)  # part of a set
    for reason in reasons:
        pairs = [(i, j) for i in reason.nodes for j in reason.nodes if i != j]
        if reason.kind == "connection" and estimator.model_.layout.directed:
            pairs = [reason.explanation.source.occurrences.nodes[reason.matches[0], :2]]
        changed = matrices[5].copy()
        for i, j in pairs:
            changed[i, j] = matrices[:, i, j].mean()
        np.testing.assert_allclose(reason.without, predict(changed[None])[0], atol=1e-12)


def test_a_saved_model_answers_and_explains_the_same(fitted, tmp_path):
    estimator, matrices, _ = fitted
    estimator.save(tmp_path / "model")
    same = isonn.load_model(tmp_path / "model")
    np.testing.assert_equal(same.predict(matrices), estimator.predict(matrices))
    np.testing.assert_equal(same.transform(matrices), estimator.transform(matrices))
    np.testing.assert_equal(same.explain(matrices[0]).edge_importance, estimator.explain(matrices[0]).edge_importance)
    assert same.get_feature_names_out().tolist() == estimator.get_feature_names_out().tolist()
    assert estimator.transform(matrices).shape == (len(matrices), len(estimator.get_feature_names_out()))


def test_a_saved_model_with_other_weights_is_refused(tmp_path):
    estimator, matrices, y = cases()["two classes"]
    estimator.fit(matrices, y)
    estimator.model_ = replace(estimator.model_, connections=estimator.model_.connections[:, 1:])
    estimator.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="does not describe the weights it holds"):
        isonn.load_model(tmp_path / "model")


def test_the_planted_regions_are_the_first_template_and_a_reason():
    matrices, y = matrices_with(REGIONS, effect=2.0)
    names = np.array([f"region {i}" for i in range(16)])
    graphs = replace(isonn.as_graphset(matrices, y), node_names=np.tile(names, len(y)))
    clf = isonn.AlignedClassifier(**FAST).fit(graphs)
    assert sorted(clf.templates_[0].texts) == ["region 11", "region 2", "region 7"]
    assert clf.p_values_[0] == 0.05
    e = clf.explain(graphs[int(y.argmax())], label=1)
    assert set(e.reasons[0].names) == {"region 2", "region 7", "region 11"}
    assert e.matches[0].template == 0
    assert clf.shares_[0]["sets"] > 0.5


def screened(values, y, m=6):
    """Weights of the m connections with the largest t statistics: their t statistics."""
    t = ttest_ind(values[y == "patient"], values[y == "control"]).statistic
    weights = np.zeros(len(t))
    top = np.argsort(-np.abs(t))[:m]
    weights[top] = t[top] / values.std(axis=0)[top]
    return weights


@pytest.mark.parametrize("planted", ["subnetwork", "scattered"])
def test_what_was_planted_is_found_and_used_as_well_as_may_be(planted):
    upper = np.triu_indices(90, 1)
    ours, rival, found = [], [], []
    for seed in range(2):  # benchmarks/aligned.py has ten
        study = planted_connectomes(planted=planted, seed=seed)
        graphs, truth = study.graphs, study.truth[upper]
        values = graphs.dense(dtype=np.float64)[:, upper[0], upper[1]]
        for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(graphs.y, graphs.y):
            clf = isonn.AlignedClassifier(random_state=0).fit(graphs[train])
            ours += (clf.predict(graphs[test]) == graphs.y[test]).tolist()
            found.append(roc_auc_score(truth, np.abs(clf.connections_[0])[upper]))
            # the rival knows the planted connections, or where there is no network screens single ones
            weights = truth if planted == "subnetwork" else screened(values[train], graphs.y[train])
            score = (values - values[train].mean(axis=0)) @ weights
            rival += ((score[test] > 0) == (graphs.y[test] == "patient")).tolist()
    assert np.mean(ours) >= np.mean(rival) - 0.05
    assert np.mean(found) >= 0.95


def labelled(matrices, y, regions_of, seed=0):
    """Graphs with some of the regions each, in an order of their own, told by their labels."""
    draw = np.random.default_rng(seed)
    graphs = []
    for matrix, regions in zip(matrices, regions_of, strict=True):
        order = draw.permutation(regions)
        one = isonn.as_graphset(matrix[np.ix_(order, order)][None])[0]
        graphs.append(replace(one, node_labels=order + 100))
    return join_graphs(graphs, y=y)


def test_a_strong_set_does_not_make_others_significant():
    extra = 0
    for seed in range(8):
        study = planted_connectomes(n_regions=40, seed=seed)
        clf = isonn.AlignedClassifier(shuffles=99, random_state=seed).fit(study.graphs)
        small = [set(clf.model_.sets[i].nodes) for i in np.flatnonzero(clf.p_values_ <= 0.05)]
        assert set(study.regions.tolist()) in small
        extra += len(small) - 1
    assert extra <= 2  # 0.4 are expected


def test_probabilities_of_weak_effects_are_hardly_worse_than_a_coin():
    losses = []
    for seed in range(6):
        graphs = planted_connectomes(n_subjects=200, n_regions=30, effect=0.07, seed=seed).graphs
        clf = isonn.AlignedClassifier(**FAST).fit(graphs[:60])
        right = clf.predict_proba(graphs[60:])[np.arange(140), (graphs.y[60:] == "patient").astype(int)]
        losses.append(-np.log(right).mean())
    assert np.mean(losses) < np.log(2) + 0.025


def test_graphs_are_aligned_by_label_and_absent_regions_are_average():
    matrices, y = matrices_with(REGIONS, effect=2.0)
    regions_of = [np.arange(16)] * 2 + [np.setdiff1d(np.arange(16), [i % 16, (i + 5) % 16]) for i in range(38)]
    graphs = labelled(matrices, y, regions_of)
    clf = isonn.AlignedClassifier(**FAST).fit(graphs)
    assert clf.regions_.tolist() == list(range(100, 116))
    np.testing.assert_allclose(clf.predict_proba(labelled(matrices, y, regions_of, seed=9)), clf.predict_proba(graphs))
    # a region that is missing counts as one whose connections are the mean of the graphs that have it
    without = labelled(matrices[:1], y[:1], [np.setdiff1d(np.arange(16), [7])])
    filled = matrices[:1].copy()
    there = [i for i, regions in enumerate(regions_of) if 7 in regions]
    for other in range(16):
        both = [i for i in there if other in regions_of[i]]
        filled[0, 7, other] = filled[0, other, 7] = matrices[both, 7, other].mean()
    np.testing.assert_allclose(clf.predict_proba(without), clf.predict_proba(labelled(filled, y[:1], [np.arange(16)])))
    e = clf.explain(without)
    np.testing.assert_allclose(np.triu(e.edge_importance).sum() + e.single_nodes, e.score - e.base, atol=1e-9)
    assert e.edge_importance.shape == (15, 15)
    assert sum(match.contribution for match in clf.explain(without, top=None).matches) == pytest.approx(
        e.score - e.base, abs=1e-9
    )


def test_named_regions_may_come_in_any_order():
    matrices, y = matrices_with(REGIONS)
    names = np.array([f"r{i}" for i in range(16)])
    graphs = replace(isonn.as_graphset(matrices, y), node_names=np.tile(names, len(y)))
    clf = isonn.AlignedClassifier(**FAST).fit(graphs)
    order = np.random.default_rng(3).permutation(16)
    turned = isonn.as_graphset(matrices[:, order][:, :, order], y)
    turned = replace(turned, node_names=np.tile(names[order], len(y)))
    np.testing.assert_allclose(clf.predict_proba(turned), clf.predict_proba(graphs))
    np.testing.assert_allclose(clf.predict_proba(matrices), clf.predict_proba(graphs))  # no names: by position


def test_weights_of_counts_and_correlations_are_scaled():
    matrices, y = matrices_with(REGIONS)
    assert isonn.AlignedClassifier(**FAST).fit(np.tanh(matrices), y).model_.layout.scale == "fisher"
    counts = np.exp(3 * matrices)
    assert isonn.AlignedClassifier(**FAST).fit(counts, y).model_.layout.scale == "log"
    assert isonn.AlignedClassifier(**FAST).fit(matrices, y).model_.layout.scale == "none"


def test_a_regressor_learns_and_says_what_a_deviation_is_worth():
    matrices, _ = matrices_with(REGIONS, effect=0.0, g=80)
    age = 50 + 4 * matrices[:, 2, 7] + 4 * matrices[:, 2, 11] + 4 * matrices[:, 7, 11]
    reg = isonn.AlignedRegressor(random_state=0).fit(matrices, age)
    assert reg.score(matrices, age) > 0.8
    strongest = np.argwhere(np.triu(reg.connections_[0] > 0.8 * reg.connections_[0].max()))
    assert strongest.tolist() == [[2, 7], [2, 11], [7, 11]]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"k": 1}, r"k must contain integers >= 2, such as \(2, 3, 4\), got 1"),
        ({"k": ()}, "k must contain integers >= 2"),
        ({"c": 0}, "c=0 is not a count"),
        ({"scale": "z"}, "scale='z' is unknown"),
        ({"scale": "log"}, "scale='log' needs weights >= 0"),
        ({"class_weight": "even"}, "class_weight='even' is unknown"),
    ],
)
def test_impossible_parameters_are_refused(params, message):
    matrices, y = matrices_with(REGIONS)
    with pytest.raises(InputError, match=message):
        isonn.AlignedClassifier(**params).fit(matrices, y)


def test_graphs_of_other_atlases_are_refused():
    matrices, y = matrices_with(REGIONS)
    clf = isonn.AlignedClassifier(**FAST)
    with pytest.raises(InputError, match="have 9 to 16 nodes, but no node names or labels identify their regions"):
        clf.fit([matrices[0][:9, :9], *matrices[1:]], y)
    clf.fit(matrices, y)
    with pytest.raises(InputError, match="graph 0 of 1 has 20 regions, but the training graphs had 16"):
        clf.predict(np.ones((1, 20, 20)))
    skewed = matrices[:2].copy()
    skewed[1, 0, 1] += 1
    with pytest.raises(InputError, match=r"graph 1 of 2 is not symmetric, but the training graphs were; give \(A"):
        clf.predict(skewed)
    named = replace(isonn.as_graphset(matrices, y), node_names=np.tile([f"a{i}" for i in range(16)], len(y)))
    clf.fit(named)
    other = replace(named, node_names=np.tile([f"b{i}" for i in range(16)], len(y)))
    with pytest.raises(InputError, match="has no region of the training graphs .*'b0'.*'a0'"):
        clf.predict(other)


def test_sample_weights_are_checked_and_used():
    matrices, y = matrices_with(REGIONS)
    clf = isonn.AlignedClassifier(**FAST)
    with pytest.raises(InputError, match=r"sample_weight has shape \(3,\)"):
        clf.fit(matrices, y, sample_weight=np.ones(3))
    plain = clf.fit(matrices, y).predict_proba(matrices)
    heavy = clf.fit(matrices, y, sample_weight=np.where(y == 1, 20.0, 1.0)).predict_proba(matrices)
    assert heavy[:, 1].mean() > plain[:, 1].mean()


def test_the_order_of_nodes_of_networkx_changes_no_prediction():
    networkx = pytest.importorskip("networkx")
    matrices, y = matrices_with(REGIONS, n=12)
    draw = np.random.default_rng(0)

    def converted(matrix, nodes):
        graph = networkx.Graph()
        graph.add_nodes_from(nodes)
        graph.add_weighted_edges_from((i, j, matrix[i, j]) for i in range(12) for j in range(i))
        return graph

    in_order = [converted(matrix, range(12)) for matrix in matrices]
    mixed = [converted(matrix, draw.permutation(12).tolist()) for matrix in matrices]
    apart = [networkx.relabel_nodes(graph, lambda node, i=i: 12 * i + node) for i, graph in enumerate(in_order)]
    expected = isonn.AlignedClassifier(**FAST).fit(in_order, y).predict_proba(in_order)
    for training in (in_order, mixed, [*mixed[:1], *in_order[1:]]):
        clf = isonn.AlignedClassifier(**FAST).fit(training, y)
        for graphs in (in_order, mixed):
            np.testing.assert_allclose(clf.predict_proba(graphs), expected)
    clf.fit(apart, y)  # of ids that differ between graphs, the order counts
    np.testing.assert_allclose(clf.predict_proba(apart), expected)


def test_columns_of_a_table_of_labels_name_them():
    pandas = pytest.importorskip("pandas")
    matrices, y = matrices_with(REGIONS)
    labels = isonn.AlignedClassifier(**FAST).fit(matrices, pandas.DataFrame({"ill": y, "old": np.arange(40) % 2}))
    assert labels.explain(matrices[0], label="old").class_names == {0: "ill", 1: "old"}


def test_graphs_of_weight_0_are_left_out():
    graphs = planted_connectomes(n_subjects=60, n_regions=12, effect=0.8, seed=1).graphs
    weights, groups = np.arange(60) % 4, np.arange(60) // 3
    kept = np.flatnonzero(weights)
    clf = isonn.AlignedClassifier(**FAST)
    given = clf.fit(graphs, confounds=["age", "site"], groups=groups, sample_weight=weights)
    probabilities, scores = given.predict_proba(graphs), given.held_out_score_
    clf.fit(graphs[kept], confounds=["age", "site"], groups=groups[kept], sample_weight=weights[kept])
    np.testing.assert_allclose(clf.predict_proba(graphs), probabilities)
    assert clf.held_out_score_ == scores


def test_columns_with_other_numbers_of_known_targets_are_fitted_together():
    draw = np.random.default_rng(0)
    matrices, y = matrices_with(REGIONS, g=130)
    numbers = np.column_stack([y + 0.5 * draw.normal(size=130), y + 0.5 * draw.normal(size=130)])
    numbers[100:, 1] = np.nan  # so few that small folds are drawn more often
    reg = isonn.AlignedRegressor(**FAST).fit(matrices, numbers)
    assert reg.held_out_score_["pearson"] > 0.5


def test_the_held_out_score_of_noise_is_that_of_a_coin():
    scores = []
    for seed in range(16):
        draw = np.random.default_rng(seed)
        noise, y = draw.normal(size=(30, 24, 24)), draw.permutation(np.arange(30) % 2)
        clf = isonn.AlignedClassifier(shuffles=5, random_state=seed).fit(noise + noise.transpose(0, 2, 1), y)
        scores.append(clf.held_out_score_["auroc"])
    assert abs(np.mean(scores) - 0.5) < 0.05  # standard error of the mean: 0.025


def test_matrices_of_another_atlas_or_scale_are_not_predicted_silently():
    matrices, y = matrices_with(REGIONS, effect=0.0)
    r = np.tanh(matrices / 4)
    clf = isonn.AlignedClassifier(**FAST).fit(r, y)
    for n in (12, 18):
        with pytest.raises(InputError, match=f"graph 0 of 3 has {n} regions, but the training graphs had 16"):
            clf.predict(np.zeros((3, n, n)))
    with pytest.warns(IsoNNWarning, match=r"3 of 5 graphs have weights beyond 1, up to .*; give correlations"):
        clf.predict(np.concatenate([r[:2], 5 * r[2:5]]))


def test_where_nothing_can_be_held_out_the_model_is_a_ridge_regression():
    """With one graph of a class no inner fold can be made; the direction is that of scikit-learn's ridge."""
    draw = np.random.default_rng(0)
    upper = np.triu_indices(6, 1)
    values = draw.normal(size=(20, 15)) * draw.uniform(0.2, 3, size=15)  # connections of different spread
    matrices = np.zeros((20, 6, 6))
    matrices[:, upper[0], upper[1]] = matrices[:, upper[1], upper[0]] = values
    y = (np.arange(20) == 4).astype(int)
    clf = isonn.AlignedClassifier(**FAST).fit(matrices, y)
    ours = clf.connections_[1][upper] / values.std(axis=0)
    scaled = (values - values.mean(axis=0)) / clf.model_.encoder.whole
    solutions = [Ridge(alpha=penalty).fit(scaled, y).coef_ for penalty in PENALTIES]
    cosines = [float(ours @ one / np.linalg.norm(ours) / np.linalg.norm(one)) for one in solutions]
    assert max(cosines) == pytest.approx(1, abs=1e-9)


def test_features_have_names_and_come_as_a_data_frame():
    matrices, y = matrices_with(REGIONS)
    clf = isonn.AlignedClassifier(**FAST).fit(matrices, y)
    plain = clf.transform(matrices[:4])
    frame = clf.set_output(transform="pandas").transform(matrices[:4])
    assert frame.columns.tolist() == clf.get_feature_names_out().tolist()
    np.testing.assert_array_equal(frame.to_numpy(), plain)


def test_sets_that_neither_count_nor_are_significant_are_not_listed():
    study = planted_connectomes(n_regions=40, effect=0.6, seed=1)
    clf = isonn.AlignedClassifier(random_state=0).fit(study.graphs)
    shares = np.abs(clf.model_.coef).max(axis=0) / np.abs(clf.model_.coef).max(axis=0).sum()
    assert clf.p_values_[0] <= 0.05
    assert ((shares > 0.015) | (clf.p_values_ <= 0.05)).all()


def test_a_gap_in_one_column_takes_nothing_from_the_interval_of_another():
    draw = np.random.default_rng(0)
    y = draw.normal(size=60)
    matrices = draw.normal(size=(60, 8, 8))
    matrices += matrices.transpose(0, 2, 1)
    matrices[:, [[1], [3], [5]], [1, 3, 5]] += y[:, None, None]
    other = draw.normal(size=60)
    other[::2] = np.nan
    alone = isonn.AlignedRegressor(shuffles=9, random_state=0).fit(matrices, y)
    both = isonn.AlignedRegressor(shuffles=9, random_state=0).fit(matrices, np.column_stack([y, other]))
    np.testing.assert_allclose(both.predict(matrices)[:, 0], alone.predict(matrices))
    np.testing.assert_allclose(both.predict_interval(matrices)[:, 0], alone.predict_interval(matrices))
