from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import isonn
from isonn.connectomes import Atlas, brain_page, findings, from_matrices, planted_connectomes, stability
from isonn.errors import InputError, NotFittedError
from isonn.report.draw import Mark, draw_graph
from isonn.report.words import reason_words

NETWORKS = np.array(["visual", "motor", "default"])


@pytest.fixture(scope="module")
def study():
    return planted_connectomes(n_regions=24, effect=0.5, seed=2)


@pytest.fixture(scope="module")
def atlas(study):
    names = [f"</script><b>{name}" for name in study.graphs[0].node_names]
    return Atlas(names, study.coordinates, NETWORKS[np.arange(24) % 3])


@pytest.fixture(scope="module")
def graphs(study, atlas):
    return from_matrices(study.graphs.dense(dtype=np.float64), study.graphs.y, atlas=atlas, ids=study.graphs.ids)


@pytest.fixture(scope="module")
def clf(graphs):
    return isonn.AlignedClassifier(shuffles=19, random_state=0).fit(graphs)


def planted_names(study, atlas):
    return set(atlas.names[study.regions].tolist())


def test_who_has_no_confound_and_what_is_not_fitted_are_named(graphs):
    with pytest.raises(InputError, match=rf"graph 1 of 60 \({graphs.ids[1]}\) has no fd \(1 have none\)"):
        isonn.AlignedClassifier().fit(graphs, confounds={"fd": [0.1, np.nan, *np.ones(58)]})
    with pytest.raises(NotFittedError, match="this AlignedClassifier is not fitted"):
        findings(isonn.AlignedClassifier())


def test_a_models_findings_name_the_planted_sub_network(study, atlas, clf):
    found = findings(clf, label="patient")
    assert set(found.subnetworks[0].regions.split(" + ")) == planted_names(study, atlas)
    assert found.subnetworks[0].weight > 0
    assert {name for one in found.connections[:6] for name in (one.region_1, one.region_2)} == planted_names(
        study, atlas
    )
    assert findings(clf).about == found.about
    words = {"patient": "depressed", "control": "not depressed"}
    renamed = clone(clf).fit(study.graphs, [words[value] for value in study.graphs.y.tolist()])
    assert findings(renamed).about == "connections that speak for depressed"
    against = findings(clf, label="control")
    np.testing.assert_allclose(against.weights, -found.weights)
    assert against.subnetworks[0].weight == -found.subnetworks[0].weight


def test_a_subjects_findings_are_its_contributions(graphs, clf):
    e = clf.explain(graphs[4])
    found = findings(e, top=10_000)
    assert found.about.startswith("sub-005")
    np.testing.assert_allclose(sum(one.weight for one in found.connections), e.score - e.base, atol=1e-9)
    assert found.connections[0].network_1 in NETWORKS


def test_what_all_region_names_begin_with_is_left_out(graphs, clf):
    names = np.char.add("7Networks_", graphs.node_names)
    renamed = replace(graphs, node_names=names)
    fitted = clone(clf).fit(renamed)
    found = findings(fitted)
    assert found.connections[0].region_1.startswith("7Networks_")
    assert "7Networks" not in str(found)
    explanation = fitted.explain(renamed[0])
    assert "7Networks" not in reason_words(explanation.reasons[0])
    assert "7Networks" not in re.sub("<title>.*?</title>", "", explanation.to_svg())


def test_stability_is_the_share_of_folds_that_agree(study, atlas, graphs, clf):
    found = stability(clf, graphs, label="patient", cv=3, atlas=atlas, top=20)
    assert found.folds == 3
    assert found.subnetworks[0].share == 1.0
    assert all(one.share == 1.0 for one in found.connections[:6])
    assert min(one.share for one in found.connections) < 1
    assert {one.share for one in found.connections} <= {0.0, 1 / 3, 2 / 3, 1.0}
    assert "in 100% of folds" in str(found)


def test_findings_become_a_table(tmp_path, graphs, clf):
    found = findings(clf, atlas=None)
    found.to_csv(tmp_path / "connections.csv")
    found.to_csv(tmp_path / "sets.csv", what="subnetworks")
    with (tmp_path / "connections.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["weight"]) for row in rows] == [one.weight for one in found.connections]
    assert rows[0]["share"] == ""
    header = "regions,weight,p_value,share,direction,difference,effect,low,high"
    assert (tmp_path / "sets.csv").read_text().startswith(header)
    assert rows[0]["network_1"] in NETWORKS  # from the training graphs
    with pytest.raises(InputError, match="what='all' is unknown"):
        found.to_csv(tmp_path / "x.csv", what="all")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda clf: findings(isonn.baselines.MajorityClassifier()), "MajorityClassifier has no connections"),
        (
            lambda clf: findings(clf, label="ill"),
            "label='ill' is not a class of this model; use one of 'control', 'patient'",
        ),
        (lambda clf: findings(clf, atlas=Atlas(["a"], networks=["b"])), "is not in the atlas"),
    ],
)
def test_what_cannot_be_shown_is_refused(clf, call, message):
    with pytest.raises(InputError, match=message):
        call(clf)


def test_a_connectome_is_drawn_with_names_in_the_order_of_networks(graphs, clf):
    graph = graphs[0]
    e = clf.explain(graph)
    drawing = draw_graph(
        graph, marks=[Mark((0, 1))], node_importance=e.node_importance, edge_importance=e.edge_importance
    )
    root = ElementTree.fromstring(drawing.svg)
    texts = ["".join(node.itertext()) for node in root.iter("text")]
    assert sum("region 1" in text for text in texts) >= 2
    rows = [text for text in texts if "region" in text][::2]
    assert [re.search(r"region (\d+)", text)[1] for text in rows[:3]] == ["1", "4", "7"]
    assert "<b>" not in drawing.svg
    # node 1 is the first of the second network: its frame is three pixels outside the ninth cell
    size = round(440 / 24)
    assert f"M{size * 8 - 3} {size * 8 - 3}H{size * 9 + 3}" in drawing.svg


@pytest.mark.parametrize("kind", ["model", "subject", "stability"])
def test_a_page_holds_everything_it_needs(tmp_path, graphs, atlas, clf, kind):
    pytest.importorskip("nilearn")
    source = {
        "model": lambda: clf,
        "subject": lambda: clf.explain(graphs[0]),
        "stability": lambda: stability(clf, graphs, cv=2, atlas=atlas),
    }[kind]()
    brain_page(source, tmp_path / "page.html", atlas=None if kind == "subject" else atlas)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    assert "<iframe" in page
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"']?https?:", page)
    assert "favicon.ico" not in page
    assert "</script><b>" not in page


def test_a_page_says_how_many_subjects_and_shuffles_there_are(tmp_path, graphs, clf, atlas):
    pairs = replace(graphs, table={"subject": np.array([f"sub-{i // 2}" for i in range(len(graphs))])})
    brain_page(findings(clf, data=pairs), tmp_path / "page.html", atlas=Atlas(atlas.names))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"The data are {len(graphs)} graphs of {len(graphs) // 2} subjects; the graphs of a subject stay in" in page
    assert "compare with 19 shuffles, so 0.05 is the smallest possible" in page  # 1 / (1 + 19)


def test_a_page_without_coordinates_has_no_brain(tmp_path, graphs, clf, atlas):
    brain_page(clf, tmp_path / "page.html", atlas=Atlas(atlas.names))
    assert "<iframe" not in (tmp_path / "page.html").read_text(encoding="utf-8")
    with pytest.raises(InputError, match="is not in the atlas"):
        brain_page(clf, tmp_path / "other.html", atlas=["a", "b"])


def test_a_page_does_not_say_that_other_parts_of_an_additive_model_count_more(tmp_path, graphs, clf):
    clf.explain(graphs[4]).to_html(tmp_path / "why.html")
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    assert "With these connections as in a mean graph" in page
    assert "a connection may be on its own and part of sets, and is taken out of all of them" in page
    assert "count more" not in page
