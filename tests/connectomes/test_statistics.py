from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.pipeline import make_pipeline

import isonn
from isonn.aligned.folds import Moments
from isonn.connectomes import (
    Atlas,
    Connectivity,
    Subnetwork,
    brain_page,
    findings,
    from_matrices,
    planted_connectomes,
    planted_series,
    save_figures,
    stability,
)
from isonn.errors import InputError

FAST = {"shuffles": 39, "random_state": 0}


@pytest.fixture(scope="module")
def study():
    return planted_connectomes(n_regions=20, effect=-0.4, seed=4, k=4)


@pytest.fixture(scope="module")
def clf(study):
    return isonn.AlignedClassifier(scale="none", **FAST).fit(study.graphs)


def test_differences_and_t_are_those_of_the_two_groups(study, clf):
    found = findings(clf, label="patient", top=500)
    matrices, patient = study.graphs.dense(dtype=np.float64), study.graphs.y == "patient"
    place = {name: i for i, name in enumerate(found.names)}
    for one in found.connections[:40]:
        values = matrices[:, place[one.region_1], place[one.region_2]]
        np.testing.assert_allclose(one.difference, values[patient].mean() - values[~patient].mean())
        np.testing.assert_allclose(one.t, stats.ttest_ind(values[patient], values[~patient]).statistic)
        assert one.direction == f"{'stronger' if one.t > 0 else 'weaker'} in patient"
    first = found.subnetworks[0]
    nodes = [place[name] for name in first.regions.split(" + ")]
    inside = matrices[:, nodes][:, :, nodes].sum(axis=(1, 2)) / 12
    np.testing.assert_allclose(first.difference, inside[patient].mean() - inside[~patient].mean())
    assert first.direction == "weaker in patient"
    assert max(one.weight for one in [first, *found.connections[:6]]) < 0


def test_the_other_class_has_the_opposite_effects(clf):
    one, other = findings(clf, label="patient"), findings(clf, label="control")
    for a, b in ((one.subnetworks[0], other.subnetworks[0]), (one.connections[0], other.connections[0])):
        assert (a.difference, a.effect, a.low, a.high) == (-b.difference, -b.effect, -b.high, -b.low)
        assert b.direction == "stronger in control"


def test_a_difference_given_confounds_is_the_coefficient_of_a_regression(study):
    age = study.graphs.table["age"] + 10 * (study.graphs.y == "patient")
    clf = isonn.AlignedClassifier(scale="none", **FAST).fit(study.graphs, confounds={"age": age})
    one = findings(clf, label="patient").connections[0]
    place = {name: i for i, name in enumerate(clf.model_.layout.names)}
    values = study.graphs.dense(dtype=np.float64)[:, place[one.region_1], place[one.region_2]]
    design = np.column_stack([np.ones(60), age, study.graphs.y == "patient"])
    np.testing.assert_allclose(one.difference, np.linalg.lstsq(design, values, rcond=None)[0][-1])


def test_an_interval_of_held_out_effects_is_that_of_the_textbook():
    draw = np.random.default_rng(0)
    y, values = np.repeat([0.0, 1.0], [20, 30]), draw.normal(size=50)
    values[20:] += 0.8
    moments = Moments(2)
    for part in (slice(0, 50, 2), slice(1, 50, 2)):  # as of two folds
        moments.add(np.array([1]), y[part], values[part, None])
    d, low, high = (column[1] for column in moments.difference())
    pooled = np.sqrt((19 * values[:20].var(ddof=1) + 29 * values[20:].var(ddof=1)) / 48)
    expected = (values[20:].mean() - values[:20].mean()) / pooled
    error = np.sqrt(50 / 600 + expected**2 / (2 * 48))
    np.testing.assert_allclose([d, low, high], [expected, expected - 1.959964 * error, expected + 1.959964 * error])
    assert np.isnan(moments.difference()[0][0])  # nothing was held out
    r, low, high = (column[1] for column in moments.correlation())
    fitted = stats.pearsonr(y, values)
    interval = fitted.confidence_interval()
    np.testing.assert_allclose([r, low, high], [fitted.statistic, interval.low, interval.high])


def test_effects_of_held_out_graphs_do_not_flatter_pure_noise():
    flattered, honest = [], []
    for seed in range(8):
        study = planted_connectomes(n_regions=20, planted="none", seed=seed)
        clf = isonn.AlignedClassifier(c=1, shuffles=9, random_state=seed).fit(study.graphs)
        strongest = int(np.abs(clf.statistics_[0]).argmax())
        flattered.append(abs(clf.statistics_[0, strongest]) * np.sqrt(4 / 60))
        known = np.isfinite(clf.connection_effects_[0, 0])
        honest.append(np.mean(clf.connection_effects_[0, 0, known] * np.sign(clf.statistics_[0, known])))
    assert np.mean(flattered) > 0.7
    assert np.mean(honest) < 0.2


def test_effects_of_connections_that_few_folds_choose_are_left_out():
    regions, effects = [3, 11, 28, 40, 52], []
    upper = np.triu_indices(60, 1)
    planted = np.isin(upper[0], regions) & np.isin(upper[1], regions)
    for seed in range(8):
        matrices, y = np.random.default_rng(seed).normal(size=(40, 60, 60)), np.arange(40) % 2
        matrices[np.ix_(y == 1, regions, regions)] += 0.8
        matrices = np.triu(matrices, 1) + np.triu(matrices, 1).transpose(0, 2, 1)
        clf = isonn.AlignedClassifier(shuffles=9, scale="none", random_state=seed).fit(matrices, y)
        effects.append(clf.connection_effects_[0, 0, planted])
    assert abs(np.nanmean(effects) - 0.8) < 0.25


def test_with_four_classes_a_set_belongs_to_its_class():
    study = planted_connectomes(n_subjects=80, n_regions=16, effect=0.5, seed=0)
    draw = np.random.default_rng(0)
    other = draw.choice(np.array(["b", "c", "d"]), 80)
    graphs = study.graphs.with_y(np.where(study.graphs.y == "patient", "a", other))
    clf = isonn.AlignedClassifier(**FAST).fit(graphs)
    truth = {f"region {i + 1}" for i in study.regions}
    assert set(findings(clf, label="a").subnetworks[0].regions.split(" + ")) == truth
    listed = [one for name in "abcd" for one in findings(clf, label=name).subnetworks]
    assert len(listed) == len(clf.model_.sets)  # none is listed twice
    for name in "bcd":
        assert all(one.weight != 0 or one.p_value <= 0.05 for one in findings(clf, label=name).subnetworks)


def test_p_values_are_family_wise_over_columns():
    study = planted_connectomes(n_regions=14, planted="none", seed=3)
    y = np.random.default_rng(0).normal(size=(60, 3))
    joint = isonn.AlignedRegressor(**FAST).fit(study.graphs, y)
    single = [isonn.AlignedRegressor(**FAST).fit(study.graphs, y[:, i]) for i in range(3)]
    np.testing.assert_allclose(joint.best_ranks_, np.max([one.best_ranks_ for one in single], axis=0))
    for i, one in enumerate(single):
        assert (joint.fwer_[i] >= one.fwer_[0] - 1e-12).all()


def test_a_regressors_findings_name_the_score():
    study = planted_connectomes(n_regions=14, effect=0.0, seed=1)
    matrices = study.graphs.dense(dtype=np.float64)
    memory = 100 - 30 * (matrices[:, 2, 5] + matrices[:, 2, 9] + matrices[:, 5, 9])
    graphs = replace(study.graphs, y=memory, target_names=("memory",))
    reg = isonn.AlignedRegressor(scale="none", **FAST).fit(graphs)
    found = findings(reg)
    assert found.about == "connections that change with memory"
    assert found.subnetworks[0].direction == "weaker with higher memory"
    assert found.effect_name == "r"
    assert -1 <= found.subnetworks[0].low < found.subnetworks[0].effect < found.subnetworks[0].high < 0
    one = next(one for one in found.connections if {one.region_1, one.region_2} == {"region 3", "region 6"})
    np.testing.assert_allclose(one.difference, np.polyfit(memory, matrices[:, 2, 5], 1)[0])
    assert set(reg.held_out_score_) == {"rmse", "mae", "r2", "pearson"}
    two = isonn.AlignedRegressor(**FAST).fit(
        replace(graphs, y=np.column_stack([memory, -memory]), target_names=("memory", "iq"))
    )
    assert findings(two, label="iq").about == "connections that change with iq"
    with pytest.raises(InputError, match="label='age' is not a class of this model; use one of 'memory', 'iq'"):
        findings(two, label="age")


def test_findings_pages_and_stability_work_through_a_pipeline(tmp_path):
    pytest.importorskip("nilearn")
    series, y, _ = planted_series(n_subjects=30, n_regions=12, n_points=60, seed=0)
    model = make_pipeline(Connectivity("correlation"), isonn.AlignedClassifier(**FAST))
    found = stability(model, series, y, cv=3, label="patient")
    assert found.folds == 3
    model.fit(series, y)
    assert findings(model, "patient").names == [str(i) for i in range(12)]
    brain_page(model, tmp_path / "page.html", label="patient")
    assert "Connections that speak for patient" in (tmp_path / "page.html").read_text()


def test_a_model_of_an_array_takes_an_atlas_in_its_order(tmp_path, study):
    pytest.importorskip("nilearn")
    clf = isonn.AlignedClassifier(**FAST).fit(study.graphs.dense(dtype=np.float64), study.graphs.y)
    atlas = Atlas([f"area {i}" for i in range(20)], study.coordinates, ["a", "b"] * 10)
    brain_page(clf, tmp_path / "page.html", atlas=atlas)
    assert "<iframe" in (tmp_path / "page.html").read_text()
    found = findings(clf, atlas=atlas)
    assert found.connections[0].network_1 in ("a", "b")
    assert set(found.subnetworks[0].regions.split(" + ")) == {f"area {i}" for i in study.regions}
    assert {found.connections[0].region_1, found.connections[0].region_2} <= set(atlas.names.tolist())


def test_stability_keeps_the_sessions_of_a_subject_together(study):
    twice = np.repeat(np.arange(60), 2)
    graphs = study.graphs[twice]
    graphs = replace(graphs, table={**graphs.table, "subject": graphs.ids})
    # subjects with one session left would be a warning, which is an error here
    found, given = (stability(isonn.AlignedClassifier(**FAST), graphs, cv=3, groups=by) for by in (None, graphs.ids))
    assert found.folds == 3
    assert str(found) == str(given)


def test_figures_are_written_in_every_format(tmp_path, study):
    pytest.importorskip("nilearn")
    networks = np.array(["visual $", "motor", "default"])[np.arange(20) % 3]
    atlas = Atlas([f"7Networks_R{i}" for i in range(20)], study.coordinates, networks)
    graphs = from_matrices(study.graphs.dense(dtype=np.float64), study.graphs.y, atlas=atlas)
    found = findings(isonn.AlignedClassifier(**FAST).fit(graphs), data=graphs)
    files = {path.name for path in save_figures(found, tmp_path / "figures")}
    assert files == {
        f"{name}.{kind}" for name in ("matrix", "brain", "chord", "values") for kind in ("svg", "pdf", "png")
    }
    assert (tmp_path / "figures" / "matrix.pdf").read_bytes().startswith(b"%PDF")
    assert "7Networks_" not in (tmp_path / "figures" / "matrix.svg").read_text()
    again = {path.name: path.read_bytes() for path in save_figures(found, tmp_path / "again")}
    assert all((tmp_path / "figures" / name).read_bytes() == content for name, content in again.items())
    with pytest.raises(InputError, match="format 'gif' is unknown"):
        save_figures(found, tmp_path, ["gif"])


def test_a_page_says_if_no_set_is_significant(tmp_path):
    noise = planted_connectomes(n_regions=20, planted="none", seed=0).graphs
    found = findings(isonn.AlignedClassifier(**FAST).fit(noise), "patient")
    line = Subnetwork("region 1 + region 2 + region 3", weight=0.4, p_value=0.21)
    for p_value, words in (
        (0.21, "No set of regions is significant at p ≤ 0.05; the best is"),
        (0.01, "The strongest"),
    ):
        brain_page(replace(found, subnetworks=[replace(line, p_value=p_value)]), tmp_path / f"{p_value}.html")
        assert words in (tmp_path / f"{p_value}.html").read_text(encoding="utf-8")


def test_a_saved_model_keeps_its_findings(tmp_path, study):
    graphs = from_matrices(
        study.graphs.dense(dtype=np.float64),
        study.graphs.y,
        atlas=Atlas(study.graphs[0].node_names, study.coordinates, ["a", "b"] * 10),
    )
    clf = isonn.AlignedClassifier(**FAST).fit(graphs)
    clf.save(tmp_path / "model")
    old, new = findings(clf), findings(isonn.load_model(tmp_path / "model"))
    assert str(old) == str(new)
    np.testing.assert_array_equal(old.atlas.coordinates, new.atlas.coordinates)
    assert old.atlas.networks.tolist() == new.atlas.networks.tolist()
