"""Pages hold what was measured, escape what users named, and refuse what they cannot show."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import isonn
from isonn.errors import InputError, MissingDependencyError
from isonn.experiments.jobs import plan
from isonn.experiments.protocols import find_protocol
from isonn.experiments.run import execute
from isonn.experiments.store import Store
from isonn.explain.template import EdgeFacts, NodeFacts, Template
from isonn.graphs import load, planted_motifs
from isonn.report.cases import Cases
from isonn.report.draw import draw_template, symbols
from isonn.report.explain_page import explain_page
from isonn.report.model_page import ModelPage
from isonn.report.page import write
from isonn.report.page_models import choose_job, held_out, refitted
from isonn.report.run_page import report_page
from isonn.report.runs import read_run
from isonn.report.words import percent_text


@pytest.fixture(scope="module")
def page(run):
    return report_page(run[0], data=str(run[1]))


@pytest.fixture(scope="module")
def model():
    graphs = planted_motifs(n_graphs=12, n_nodes=(8, 10), seed=0).graphs
    return isonn.IsoNNClassifier(k=3, c=2, epochs=3, hidden=(8,), random_state=0).fit(graphs), graphs


def test_the_page_holds_every_section(page):
    ids = [
        name for name in re.findall(r'<section id="(\w+)"', page.text) if name != "mistakes"
    ]  # there may be no mistake
    assert ids == ["gallery", "results", "differences", "confusion", "templates", "provenance"]
    assert page.facts["results"] == 18
    assert page.text.count('<article class="card"') == 2
    assert page.facts["graphs"] == 8  # the test graphs of one fold of three
    assert page.facts["bytes"] == len(page.text.encode())


def test_the_policy_names_the_hashes_of_the_one_script_and_style(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page.text).group(1)
    assert "default-src &#39;none&#39;" in policy or "default-src 'none'" in policy
    for kind in ("script", "style"):
        (body,) = re.findall(rf"<{kind}>(.*?)</{kind}>", page.text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"sha256-{digest}" in policy.replace("&#43;", "+").replace("&#61;", "=")
    assert not re.search(r'(?:src|href)="(?!#|data:)', page.text)
    assert " style=" not in page.text
    assert not re.search(r'\son\w+="', page.text)


def test_the_model_shown_predicts_what_the_store_holds(run):
    (group,) = read_run(run[0]).groups
    job = choose_job(group)
    assert "differ" not in refitted(job, group.results[job.id], load(run[1])).origin
    other = refitted(job, {**group.results[job.id], "predictions": []}, load(run[1]))
    assert "predictions that differ from the stored ones" in other.origin


def test_the_listed_matches_are_those_of_the_explanation(model):
    clf, graphs = model
    (panel,) = Cases(held_out(clf, graphs), [3]).panels
    matches = {(match.template, match.contribution, match.distance) for match in clf.explain(graphs[3]).matches}
    assert panel.matches
    assert {(match.template, match.contribution, match.distance) for match, _ in panel.matches} <= matches


def test_every_one_of_several_classes_has_its_probability(model):
    _, graphs = model
    y = np.arange(len(graphs)) % 3
    clf = isonn.IsoNNClassifier(k=2, c=1, epochs=2, hidden=(4,), random_state=0).fit(graphs, y)
    (panel,) = Cases(held_out(clf, graphs.with_y(y)), [0]).panels
    names, shares = zip(*panel.probabilities, strict=True)
    assert names == ("class 0", "class 1", "class 2")
    np.testing.assert_allclose(shares, clf.predict_proba(graphs[:1])[0])


def test_half_a_run_has_a_page_that_says_so(run, tmp_path: Path):
    folder = Path(shutil.copytree(run[0], tmp_path / "half"))
    files = sorted((folder / "jobs").glob("*.json"))
    files[0].unlink()
    files[1].write_text("{")
    (folder / "results.json").write_text(json.dumps({"left_out": {"gcn": "it <b>has</b> no labels"}}))
    text = report_page(folder, data=str(run[1])).text
    assert "2 of 18 jobs" in text
    assert "1 files could not be read" in text
    assert "gcn is left out: it &lt;b&gt;has&lt;/b&gt; no labels." in text


def test_without_its_data_or_a_model_the_numbers_are_still_there(run, tmp_path: Path):
    text = report_page(run[0]).text
    assert "give the file of its graphs" in text
    assert '<table class="results ' in text
    folder = Path(shutil.copytree(run[0], tmp_path / "trivial"))
    for file in (folder / "jobs").glob("*.json"):
        if json.loads(file.read_text())["job"]["method"] == "isonn":
            file.unlink()
    assert "No method of this run gives reasons" in report_page(folder, data=str(run[1])).text


def test_the_model_and_the_trivial_method_are_judged_on_the_same_graphs(run, tmp_path: Path):
    folder = Path(shutil.copytree(run[0], tmp_path / "one"))
    for file in (folder / "jobs").glob("*.json"):
        if json.loads(file.read_text())["job"]["method"] != "isonn":
            file.unlink()
    (group,), graphs = read_run(folder).groups, load(run[1])
    job = choose_job(group)
    assert job is not None
    model, trivial = ModelPage(refitted(job, group.results[job.id], graphs)).tiles
    assert model.about.endswith("of 8 right")  # the test graphs of one fold of three
    train, test = find_protocol("paper").split(graphs, job.seed)[job.fold]
    majority = isonn.baselines.MajorityClassifier().fit(graphs[train])
    right = int((majority.predict(graphs[test]) == graphs.y[test]).sum())
    assert trivial.about.endswith("of 8 right")
    assert int(trivial.about.split()[0]) >= right
    assert trivial.about in report_page(folder, data=str(run[1])).text


def test_trivial_methods_are_not_fitted_where_the_run_has_them(run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("isonn.report.model_page.trivial_tile", lambda *given: pytest.fail("fitted for nothing"))
    assert "Best simple method" in report_page(run[0], data=str(run[1])).text


def test_a_saved_model_can_be_shown_instead(run, tmp_path: Path):
    graphs = load(run[1])
    isonn.IsoNNClassifier(k=2, c=3, epochs=1, hidden=(4,), random_state=0).fit(graphs).save(tmp_path / "model")
    page = report_page(run[0], data=str(run[1]), model=tmp_path / "model", graphs_shown=5)
    assert (page.text.count('<article class="card"'), page.facts["graphs"]) == (3, 5)
    assert "5 of 24 graphs" in page.text
    assert "it may have been fitted to some of them" in page.text


def test_a_graph_too_small_for_any_match_says_so():
    small, large = np.ones((2, 2)) - np.eye(2), np.ones((5, 5)) - np.eye(5)
    graphs = isonn.as_graphset([small, large, small, large], [0, 1, 0, 1])
    clf = isonn.IsoNNClassifier(k=3, c=1, epochs=1, hidden=(4,), random_state=0).fit(graphs)
    text, cases = explain_page(clf, graphs, [0, 1])
    shown = cases.panels
    assert [len(panel.matches) > 0 for panel in shown] == [False, True]
    assert [len(panel.reasons) > 0 for panel in shown] == [False, True]
    assert "No piece of this graph speaks for or against the prediction" in text


def test_several_labels_a_graph_are_explained_by_the_likeliest(model):
    _, graphs = model
    y = np.array([[1, 0, 1], [0, 1, 1]] * 6)
    clf = isonn.IsoNNClassifier(k=2, c=1, epochs=2, hidden=(4,), random_state=0).fit(graphs, y)
    text, cases = explain_page(clf, graphs.with_y(y), [0])
    (panel,) = cases.panels
    assert panel.truth is None
    assert panel.confidence == pytest.approx(clf.predict_proba(graphs[:1]).max())
    assert "in truth" not in text


def test_another_class_than_the_predicted_one_has_its_name_beside_its_probability(model):
    clf, graphs = model
    other = int(1 - clf.predict(graphs[:1])[0])
    _, cases = explain_page(clf, graphs, [0], label=other)
    (panel,) = cases.panels
    assert panel.certainty == f"class {other} {percent_text(clf.predict_proba(graphs[:1])[0, other])}"


def test_a_graph_that_is_not_there_is_refused(model):
    clf, graphs = model
    with pytest.raises(InputError, match="graph 12 is out of range: planted house has graphs 0 to 11"):
        explain_page(clf, graphs, [0, 12])
    with pytest.raises(InputError, match="graph -1"):
        explain_page(clf, graphs, [-1])


def test_a_model_that_cannot_take_or_explain_the_graphs_is_refused(model, mutag):
    clf, graphs = model
    with pytest.raises(InputError, match="more than the 10 that this IsoNNClassifier"):
        explain_page(clf, mutag, [0])
    trivial = isonn.baselines.MajorityClassifier().fit(graphs)
    with pytest.raises(InputError, match="MajorityClassifier in .* cannot be explained"):
        explain_page(trivial, graphs, [0])


def test_a_page_replaces_an_older_one_whole(tmp_path: Path):
    target = tmp_path / "new" / "page.html"
    write(target, "one")
    write(target, "two")
    assert target.read_text() == "two"
    assert list(target.parent.iterdir()) == [target]
    with pytest.raises(InputError, match="is a folder; name a file instead"):
        write(tmp_path, "three")


def test_without_jinja2_the_extra_is_named_before_any_work(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'isonn\[report\]'"):
        report_page(run[0])


def test_a_run_of_subgraph_templates_shows_those(mutag, tmp_path: Path):
    graphs = mutag[:60]
    np.savez(tmp_path / "few.npz", adjacency=graphs.dense(), labels=graphs.y)
    few = load(tmp_path / "few.npz")
    settings = {"isonn-subgraph": {"max_nodes": 3, "n_templates": 4}, "isonn": {"k": 2, "c": 1, "epochs": 1}}
    jobs = plan(few, ["isonn", "isonn-subgraph"], settings, "paper", 1)
    list(execute(jobs, {few.name: few}, Store(tmp_path / "run")))
    page = report_page(tmp_path / "run", data=str(tmp_path / "few.npz"), graphs_shown=4)
    assert "isonn-subgraph, fitted on the" in page.text
    assert page.facts["graphs"] == 4
    assert page.facts["reasons"] > 1


def test_the_bonds_of_a_template_are_drawn(mutag):
    adjacency = np.array([[0.0, 0.9, -0.001], [0.9, 0.0, 0.8], [-0.001, 0.8, 0.0]], dtype=np.float32)
    bonds = {(0, 1): EdgeFacts(2), (1, 2): EdgeFacts(0)}  # double, aromatic
    template = Template(adjacency, (NodeFacts(1), NodeFacts(2), NodeFacts(0)), bonds)
    drawing = draw_template(template, symbols=symbols(mutag))
    edges = re.search(r'<g class="edges">(.*?)</g>', drawing.svg).group(1)
    assert sorted(path.count("M") for path in re.findall(r' d="([^"]+)"', edges)) == [1, 1, 2]
    assert edges.count('class="aromatic"') == 1
    assert re.findall(r'<text x="[^"]+" y="[^"]+">(\w)</text>', drawing.svg) == ["N", "O", "C"]
