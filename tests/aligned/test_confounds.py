from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_predict

import isonn
from isonn.aligned.exchange import Exchange
from isonn.confounds import Combat
from isonn.errors import InputError, IsoNNWarning

FAST = {"shuffles": 39, "random_state": 0}


def confounded(g=60, n=12, seed=0, strength=1.5):
    """Matrices that depend on motion and site and not on the class, which follows motion."""
    draw = np.random.default_rng(seed)
    y = np.where(np.arange(g) % 2, "patient", "control")
    motion = (y == "patient") + 0.7 * draw.normal(size=g)
    site = np.array(["A", "B", "C"])[draw.integers(3, size=g)]
    noise = draw.normal(size=(g, n, n))
    loading, shift = draw.normal(size=(n, n)), {name: draw.normal(size=(n, n)) for name in "ABC"}
    values = noise + strength * motion[:, None, None] * loading + np.stack([shift[name] for name in site])
    matrices = np.triu(values, 1) + np.triu(values, 1).transpose(0, 2, 1)
    return matrices, y, pd.DataFrame({"motion": motion, "site": site})


@pytest.fixture(scope="module")
def study():
    return confounded()


def test_confounds_alone_are_a_finding_only_without_the_option(study):
    matrices, y, table = study
    naive = isonn.AlignedClassifier(**FAST).fit(matrices, y)
    assert naive.p_values_.min() == 1 / 40
    assert naive.fwer_.min() == 1 / 40
    clf = isonn.AlignedClassifier(**FAST).fit(matrices, y, confounds=table)
    assert clf.p_values_.min(initial=1.0) > 0.05
    assert clf.fwer_.min() > 0.05


def test_connections_are_the_residuals_of_a_regression_on_the_training_graphs(study):
    matrices, y, table = study
    rows, new = np.arange(40), np.arange(40, 60)
    clf = isonn.AlignedClassifier(scale="none", **FAST).fit(matrices[rows], y[rows], confounds=table.iloc[rows])
    design = pd.get_dummies(table, columns=["site"]).astype(float).to_numpy()
    upper = np.triu_indices(12, 1)
    cells = matrices[:, upper[0], upper[1]]
    rest = cells - LinearRegression().fit(design[rows], cells[rows]).predict(design)
    spread = rest[rows].std(axis=0)
    a, b = (int(i) for i in clf.model_.layout.pairs[5])
    e = clf.explain(matrices[new[0]], confounds=table.iloc[new[:1]], top=None)
    weight = clf.connections_[1, a, b] - clf.connections_[0, a, b]
    sign = 1 if e.explained == "patient" else -1
    np.testing.assert_allclose(sign * e.edge_importance[a, b], weight * rest[new[0], 5] / spread[5], rtol=1e-6)


def test_every_form_of_confounds_gives_the_same_model(study):
    matrices, y, table = study
    columns = {name: table[name].to_numpy() for name in table}
    graphs = isonn.as_graphset(matrices, y, table=columns)
    models = [
        isonn.AlignedClassifier(**FAST).fit(matrices, y, confounds=table),
        isonn.AlignedClassifier(**FAST).fit(matrices, y, confounds=columns),
        isonn.AlignedClassifier(**FAST).fit(graphs, confounds=["motion", "site"]),
        isonn.AlignedClassifier(**FAST).fit(graphs.with_confounds(["motion", "site"])),
        isonn.AlignedClassifier(**FAST).fit(graphs.with_confounds(table)),
    ]
    expected = models[0].predict_proba(matrices, confounds=table)
    for model in models:
        np.testing.assert_allclose(model.predict_proba(graphs), expected)
        np.testing.assert_allclose(model.fwer_, models[0].fwer_)


def test_folds_and_new_graphs_keep_their_confounds(study):
    matrices, y, table = study
    graphs = isonn.as_graphset(matrices, y).with_confounds(table)
    whole = isonn.GraphSet.concat([graphs[30:], graphs[:30]])
    assert whole.confounds == ("motion", "site")
    np.testing.assert_allclose(whole.table["motion"], np.roll(table["motion"], 30))
    answers = cross_val_predict(isonn.AlignedClassifier(**FAST), graphs, y, cv=3)
    assert len(answers) == 60
    clf = isonn.AlignedClassifier(**FAST).fit(graphs)
    assert clf.explain(graphs[3]).explained in ("patient", "control")


def test_a_model_with_confounds_refuses_graphs_without_them(study, tmp_path):
    matrices, y, table = study
    clf = isonn.AlignedClassifier(**FAST).fit(matrices, y, confounds=table)
    clf.save(tmp_path / "model")
    for model in (clf, isonn.load_model(tmp_path / "model")):
        with pytest.raises(InputError, match="has no 'motion', but the model was fitted with the confounds motion, si"):
            model.predict(matrices)
        np.testing.assert_allclose(
            model.predict_proba(matrices, confounds=table), clf.predict_proba(matrices, confounds=table)
        )


def test_a_saved_set_keeps_its_confounds(study, tmp_path):
    matrices, y, table = study
    isonn.as_graphset(matrices, y).with_confounds(table).save(tmp_path / "study.npz")
    graphs = isonn.load(tmp_path / "study.npz")
    assert graphs.confounds == ("motion", "site")
    assert graphs.table["site"].tolist() == table["site"].tolist()


def bad(change):
    matrices, y, table = confounded()
    return matrices, y, change(table.copy(), y)


def with_column(name, make):
    return lambda table, y: table.assign(**{name: make(table, y)})


CASES = {
    "equals the target": (with_column("dx", lambda t, y: y), {}, "determine patient exactly, as with one site per cla"),
    "one site per class": (
        with_column("site", lambda t, y: np.where(y == "patient", "A", "B")),
        {},
        "confounds motion, site determine patient exactly",
    ),
    "a site of one subject": (
        with_column("site", lambda t, y: ["Z", *t["site"][1:]]),
        {"harmonize": "site"},
        "site 'Z' has 1 graph, too few to learn its spread",
    ),
    "a gap": (with_column("age", lambda t, y: [np.nan, *range(59)]), {}, "graph 0 of 60 has no age .1 have none."),
    "a gap in text": (with_column("sex", lambda t, y: ["f", None, *["m"] * 58]), {}, "graph 1 of 60 has no sex"),
    "too many": (
        lambda table, y: pd.DataFrame(np.random.default_rng(0).normal(size=(60, 57))),
        {},
        "57 columns of confounds are too many for 60 graphs",
    ),
    "infinite": (with_column("age", lambda t, y: [np.inf, *range(59)]), {}, "graph 0 of 60 has no age .1 have none."),
    "square of text": (lambda table, y: table, {"squared": ["site"]}, "confound 'site' holds text"),
    "square of nothing": (lambda table, y: table, {"squared": ["age"]}, "squared names 'age', which is not a confound"),
    "a square by name": (lambda table, y: table, {"squared": "motion"}, "squared='motion' is not a list of confounds"),
    "a site by number": (lambda table, y: table, {"harmonize": 3}, "harmonize=3 is not the name of a column"),
    "no such column": (lambda table, y: table, {"harmonize": "scanner"}, "harmonize='scanner' is not a column"),
    "no such class": (lambda table, y: table, {"confounds_from": "healthy"}, "confounds_from='healthy' is not a class"),
    "another length": (lambda table, y: table.iloc[:5], {}, "confound 'motion' has shape .5,. for 60 graphs"),
}


@pytest.mark.parametrize("case", CASES)
def test_impossible_confounds_are_refused(case):
    change, params, message = CASES[case]
    matrices, y, table = bad(change)
    with pytest.raises(InputError, match=message):
        isonn.AlignedClassifier(**FAST, **params).fit(matrices, y, confounds=table)


def test_an_unseen_site_is_the_average_and_that_is_told(study):
    matrices, y, table = study
    old = np.flatnonzero(table["site"] != "C")
    new = np.flatnonzero(table["site"] == "C")
    for params in ({}, {"harmonize": "site"}):
        clf = isonn.AlignedClassifier(**FAST, **params).fit(matrices[old], y[old], confounds=table.iloc[old])
        with pytest.warns(IsoNNWarning, match="site 'C' was not in training"):
            clf.predict(matrices[new], confounds=table.iloc[new])


def test_sites_with_numbers_are_categories(study):
    matrices, y, table = study
    coded = table.assign(site=table["site"].map({"A": 1, "B": 2, "C": 3}))
    named, numbered = (
        isonn.AlignedClassifier(harmonize="site", **FAST).fit(matrices, y, confounds=confounds)
        for confounds in (table, coded)
    )
    np.testing.assert_array_equal(numbered.statistics_, named.statistics_)
    with pytest.warns(IsoNNWarning, match="site '7' was not in training"):
        numbered.predict(matrices, confounds=coded.assign(site=7))


@pytest.mark.parametrize("name", ["site", "SITE_ID", "Scanner", "acquisition_center"])
def test_numbered_sites_give_the_model_of_named_sites(study, name):
    matrices, y, table = study
    number = table["site"].map({"A": 1, "B": 2, "C": 3}).to_numpy()
    named, integers, floats = (
        isonn.AlignedClassifier(**FAST).fit(matrices, y, confounds={name: values})
        for values in (table["site"].to_numpy(), number, number.astype(float))
    )
    for clf in (integers, floats):
        np.testing.assert_array_equal(clf.statistics_, named.statistics_)
        np.testing.assert_array_equal(clf.best_ranks_, named.best_ranks_)  # exchanged within sites
    expected = named.predict_proba(matrices[:5], confounds={name: table["site"][:5].to_numpy()})
    np.testing.assert_array_equal(floats.predict_proba(matrices[:5], confounds={name: number[:5]}), expected)


def test_effects_may_be_learned_from_one_class(study):
    matrices, y, table = study
    clf = isonn.AlignedClassifier(scale="none", confounds_from="control", squared=("motion",), **FAST)
    clf.fit(matrices, y, confounds=table)
    motion = (table["motion"] - table["motion"].mean()) / table["motion"].std(ddof=0)
    design = np.column_stack([motion, motion**2, table["site"] == "B", table["site"] == "C"]).astype(float)
    own, upper = y == "control", np.triu_indices(12, 1)
    fitted = LinearRegression().fit(design[own], matrices[own][:, upper[0], upper[1]])
    np.testing.assert_allclose(clf.model_.encoder.adjustment.slopes, fitted.coef_.T)


def test_what_confounds_explain_is_told(study):
    matrices, y, table = study
    clf = isonn.AlignedClassifier(**FAST).fit(matrices, y, confounds=table)
    told = {line["confound"]: line for line in clf.confounding_}
    r = np.corrcoef(table["motion"], y == "patient")[0, 1]
    np.testing.assert_allclose(told["motion"]["confound_to_target"], 1 - (1 - r**2) * 59 / 58)
    assert told["site"]["confound_to_target"] < 0.1
    assert 0 <= told["motion"]["confound_to_score"] <= 1


def sessions(g=30, each=2, n=12, seed=0):
    """Subjects with sessions that are alike, and classes that mean nothing."""
    draw = np.random.default_rng(seed)
    subject = np.repeat(np.arange(g), each)
    values = draw.normal(size=(g, n, n))[subject] + 0.3 * draw.normal(size=(len(subject), n, n))
    matrices = np.triu(values, 1) + np.triu(values, 1).transpose(0, 2, 1)
    y = draw.permutation(np.arange(g) % 2)[subject]
    return matrices, y, subject


def test_sessions_of_a_subject_are_exchanged_as_a_block():
    small = {"with": 0, "without": 0}
    for seed in range(10):
        matrices, y, subject = sessions(seed=seed)
        for name, groups in (("with", subject), ("without", None)):
            clf = isonn.AlignedClassifier(shuffles=39, random_state=seed).fit(matrices, y, groups=groups)
            small[name] += clf.p_values_.min(initial=1.0) <= 0.05
    assert small["with"] <= 2  # more than 2 of 10 have probability 0.012
    assert small["without"] >= 6


def test_blocks_of_equal_size_are_exchanged_whole():
    groups = np.array([0, 1, 1, 2, 2, 0, 3, 3, 4])
    orders = Exchange(groups).draw(200, np.random.default_rng(0), 9)
    assert orders[:, 0].tolist() == list(range(9))
    members = {0: [0, 5], 1: [1, 2], 2: [3, 4], 3: [6, 7]}
    reached = set()
    for order in orders.T:
        assert sorted(order.tolist()) == list(range(9))
        assert order[8] == 8  # the only block of its size
        for own in members.values():
            assert order[own].tolist() in members.values()  # whole, and in the same order of sessions
        reached.add(groups[order[0]])
    assert reached == {0, 1, 2, 3}


def test_strata_and_groups_with_several_targets_limit_the_exchange():
    strata = np.array([0, 0, 0, 1, 1, 1])
    for order in Exchange(strata=strata).draw(20, np.random.default_rng(0), 6).T:
        assert strata[order].tolist() == strata.tolist()
    groups = np.array([0, 0, 1, 1, 2, 2])
    rule = Exchange.of(groups, np.array([[1, -1, 1, -1, 1, -1.0]]).T)
    assert rule.within
    for order in rule.draw(20, np.random.default_rng(0), 6).T:
        assert groups[order].tolist() == groups.tolist()


def test_groups_of_different_sizes_are_averaged_first_and_that_is_told():
    matrices, y, subject = sessions()
    rows = np.arange(1, 60)
    with pytest.warns(IsoNNWarning, match="groups have 1 to 2 graphs.*each of the 30 groups are averaged"):
        clf = isonn.AlignedClassifier(scale="none", **FAST).fit(matrices[rows], y[rows], groups=subject[rows])
    means = np.stack([matrices[rows][subject[rows] == i].mean(axis=0) for i in range(30)])
    alone = isonn.AlignedClassifier(scale="none", **FAST).fit(means, y[::2])
    np.testing.assert_allclose(clf.statistics_, alone.statistics_)


def test_impossible_groups_are_refused():
    matrices, y, subject = sessions()
    for groups, message in (
        (subject[:5], "groups have shape .5,. for 60 graphs"),
        (np.zeros(60), "all 60 graphs belong to one group"),
        ("family", "groups='family' is not a column"),
    ):
        with pytest.raises(InputError, match=message):
            isonn.AlignedClassifier(**FAST).fit(matrices, y, groups=groups)


def sites(seed=0, g=45, p=60):
    draw = np.random.default_rng(seed)
    site = np.repeat(["A", "B", "C"], g // 3)
    age = draw.uniform(20, 60, size=g)
    values = draw.normal(size=(g, p)) * np.repeat([1.0, 1.5, 0.7], g // 3)[:, None]
    values += np.stack([draw.normal(size=p) for _ in range(3)])[np.repeat([0, 1, 2], g // 3)] + age[:, None] / 30
    return values, site, age


def test_combat_equals_neurocombat():
    neuro = pytest.importorskip("neuroCombat")
    values, site, age = sites()
    covariates = (age - age.mean())[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = neuro.neuroCombat(
            values.T, pd.DataFrame({"site": site, "age": age}), "site", continuous_cols=["age"]
        )["data"].T
    np.testing.assert_allclose(
        Combat.learn(values, site, covariates).apply(values, site, covariates), expected, rtol=1e-3, atol=1e-3
    )


def test_combat_equals_its_formula_connection_by_connection():
    values, site, age = sites()
    covariates = (age - age.mean())[:, None]
    found = Combat.learn(values, site, covariates).apply(values, site, covariates)
    design = np.column_stack([*(site == name for name in "ABC"), covariates[:, 0]]).astype(float)
    coef = np.linalg.lstsq(design, values, rcond=None)[0]
    usual = coef[:3].mean(axis=0) + covariates @ coef[3:]
    spread = np.sqrt(((values - design @ coef) ** 2).mean(axis=0))
    rest = (values - usual) / spread
    for name in "ABC":
        own = rest[site == name]
        first, square = own.mean(axis=0), own.var(axis=0, ddof=1)
        m, s2 = square.mean(), square.var(ddof=1)
        a, b = (2 * s2 + m**2) / s2, (m * s2 + m**3) / s2
        for j in range(5):
            g, d = first[j], square[j]
            for _ in range(200):
                g = (first.var(ddof=1) * 15 * first[j] + d * first.mean()) / (first.var(ddof=1) * 15 + d)
                d = (0.5 * ((own[:, j] - g) ** 2).sum() + b) / (15 / 2 + a - 1)
            expected = (own[:, j] - g) / np.sqrt(d) * spread[j] + usual[site == name, j]
            np.testing.assert_allclose(found[site == name, j], expected, rtol=1e-4, atol=1e-4)


def test_harmonising_does_not_look_at_the_target(study):
    matrices, y, table = study
    swapped = np.where(y == "patient", "control", "patient")
    models = [
        isonn.AlignedClassifier(harmonize="site", **FAST).fit(matrices, target, confounds=table)
        for target in (y, swapped)
    ]
    np.testing.assert_array_equal(*(model.model_.encoder.adjustment.combat.shift for model in models[:2]))
    assert [confound.name for confound in models[0].model_.encoder.adjustment.confounds] == ["motion", "site"]
