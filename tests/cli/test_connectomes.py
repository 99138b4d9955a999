from __future__ import annotations

import csv
import json
import shutil

import numpy as np
import pytest
from tests_commands import refused, run

import isonn
from isonn.connectomes import planted_connectomes


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A study whose scores follow four regions, with age and site."""
    folder = tmp_path_factory.mktemp("study")
    study = planted_connectomes(n_subjects=40, n_regions=14, effect=0.5, seed=1)
    table = study.graphs.table
    rows = [
        f"{one}\t{y}\t{age:g}\t{site}\t{score:.3f}\t{2 * score + 1:.3f}"
        for one, y, age, site, score in zip(
            study.graphs.ids, study.graphs.y, table["age"], table["site"], np.linspace(0.1, 9, 40), strict=True
        )
    ]
    (folder / "participants.tsv").write_text("\n".join(["participant_id\tgroup\tage\tsite\tmemory\tiq", *rows]))
    lines = [
        f"{name},{x:.0f},{y:.0f},{z:.0f},{'ab'[i % 2]}"
        for i, (name, (x, y, z)) in enumerate(zip(study.graphs[0].node_names, study.coordinates, strict=True))
    ]
    (folder / "atlas.csv").write_text("\n".join(["name,x,y,z,network", *lines]))
    for graph in study.graphs:
        np.save(folder / f"{graph.id}_relmat.npy", graph.adjacency)
    return folder


@pytest.fixture(scope="module")
def model(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("models") / "model"
    done = run("fit", folder, "--out", out, "--confounds", "age,site", "--harmonize", "site", "--set", "shuffles=39")
    assert done.returncode == 0, done.stderr
    assert "fitting isonn-aligned" in done.stdout
    assert "confounds: age (number), site (" in done.stdout
    assert "held out: accuracy" in done.stdout
    return out


def test_fit_takes_the_aligned_model_with_confounds(model):
    clf = isonn.load_model(model)
    assert type(clf).__name__ == "AlignedClassifier"
    assert [confound.name for confound in clf.model_.encoder.adjustment.confounds] == ["age", "site"]
    assert clf.shuffles == 39


def test_fit_and_evaluate_take_weighted_matrices_of_one_size_for_connectomes(tmp_path):
    graphs = planted_connectomes(n_subjects=24, n_regions=8, seed=1).graphs
    np.savez(tmp_path / "study.npz", adjacency=graphs.dense(), labels=graphs.y)
    done = run("fit", tmp_path / "study.npz", "--out", tmp_path / "model", "--set", "shuffles=9")
    assert "fitting isonn-aligned" in done.stdout, done.stderr
    assert "sets of regions have p <= 0.05" in done.stdout
    from isonn.experiments.methods import default_methods

    assert default_methods(isonn.load(tmp_path / "study.npz"))[0] == "isonn-aligned"
    (tmp_path / "study").mkdir()
    file = tmp_path / "study" / "sub-01.csv"
    np.savetxt(file, graphs[0].adjacency, delimiter=",")
    for command in ("predict", "explain"):  # a file of one matrix is not a table of SMILES
        refused(run(command, tmp_path / "model", file), f"{file} is one file", "give the folder that holds it")
    told = run("predict", tmp_path / "model", tmp_path / "study")
    assert len(told.stdout.splitlines()) == 2, told.stderr
    refused(
        run("predict", tmp_path / "model", tmp_path / "study", "--domain"),
        "--domain needs a subgraph model with held-out errors, and this model (AlignedClassifier) has none",
    )
    assert default_methods(isonn.load("MUTAG"))[0] == "isonn-subgraph"


def test_ages_in_years_are_numbers_unless_they_are_called_classes(tmp_path):
    study = tmp_path / "study"
    study.mkdir()
    for graph in (graphs := planted_connectomes(n_subjects=24, n_regions=8, seed=1).graphs):
        np.save(study / f"{graph.id}.npy", graph.adjacency)
    rows = [f"{who}\t{30 + i % 12}" for i, who in enumerate(graphs.ids)]
    (study / "participants.tsv").write_text("\n".join(["participant_id\tage", *rows]))
    options = ("--target", "age", "--set", "shuffles=9")
    done = run("fit", study, "--out", tmp_path / "numbers", *options)
    assert "predicts numbers of age" in done.stdout, done.stderr
    done = run("fit", study, "--out", tmp_path / "classes", "--classes", *options)
    assert "predicts 12 classes of age: 30 (2), 31 (2)" in done.stdout, done.stderr
    done = run("evaluate", study, "--target", "age", "--methods", "majority", "--out", tmp_path / "run", "--json")
    assert "rmse" in done.stdout, done.stderr


def test_an_atlas_by_name_names_the_regions(tmp_path):
    graphs = planted_connectomes(n_subjects=16, n_regions=100, seed=1).graphs
    for graph in graphs:
        np.save(tmp_path / f"{graph.id}.npy", graph.adjacency)
    rows = [f"{who}\t{y}" for who, y in zip(graphs.ids, graphs.y, strict=True)]
    (tmp_path / "participants.tsv").write_text("\n".join(["participant_id\tgroup", *rows]))
    done = run("fit", tmp_path, "--atlas", "schaefer-100-7", "--out", tmp_path / "model", "--set", "shuffles=9")
    assert done.returncode == 0, done.stderr
    assert isonn.load_model(tmp_path / "model").model_.layout.names[0] == "7Networks_LH_Vis_1"


def test_predict_and_explain_use_the_confounds_of_the_table(model, folder, tmp_path):
    done = run("predict", model, folder)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 41
    assert "leaves none of 40 files" in run("predict", model, folder, "--select", "desc=denoised").stderr
    page = tmp_path / "page.html"
    done = run("explain", model, folder, "--out", page, "--graph", 0, "--select", "suffix=relmat")
    assert done.returncode == 0, done.stderr
    assert "red-blue" in page.read_text()
    second = isonn.load(str(folder)).ids[1]
    assert run("explain", model, folder, "--graph", second).stdout == run("explain", model, folder, "--graph", 1).stdout
    assert "have the id sub; give a number from 0 to 39" in run("explain", model, folder, "--graph", "sub").stderr


def test_findings_are_printed_and_written(model, folder, tmp_path):
    pytest.importorskip("nilearn")
    done = run("findings", model)
    assert "stronger in patient" in done.stdout
    done = run("findings", model, folder, "--out", tmp_path / "f.csv", "--figures", tmp_path / "figures")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "f.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["network_1"] in ("a", "b")
    assert (tmp_path / "f-sets.csv").read_text().startswith("regions,")
    assert (tmp_path / "figures" / "values.png").is_file()
    for name in ("f.html", "f.pdf"):
        assert run("findings", model, folder, "--out", tmp_path / name).returncode == 0
    page = (tmp_path / "f.html").read_text()
    assert "<iframe" in page
    assert "Confounds" in page
    facts = json.loads(run("findings", model, "--json").stdout)
    assert facts["subnetworks"][0]["p_value"] <= 0.05
    again = run("findings", model, "--out", tmp_path / "f.csv")
    assert again.returncode == 2
    assert "exists already" in again.stderr
    assert "use .csv, .html or .pdf" in run("findings", model, "--out", tmp_path / "f.xlsx").stderr


def test_several_scores_are_fitted(folder, tmp_path):
    done = run("fit", folder, "--target", "memory,iq", "--out", tmp_path / "scores", "--set", "shuffles=9")
    assert done.returncode == 0, done.stderr
    assert "held out: r " in done.stdout
    assert "change with iq" in run("findings", tmp_path / "scores", "--label", "iq").stdout
    done = run("predict", tmp_path / "scores", folder)  # compared with the columns of the model, not with the group
    assert done.stdout.splitlines()[0].endswith("memory,iq,predicted memory,predicted iq")
    assert "for iq" in done.stderr


def test_runs_are_averaged_and_gaps_dropped_by_options(folder, tmp_path):
    study = tmp_path / "study"
    shutil.copytree(folder, study)
    matrices = {}
    for file in sorted(study.glob("*_relmat.npy")):
        matrix = np.load(file)
        np.fill_diagonal(matrix, np.nan)
        matrices[file] = matrix
        file.unlink()
        for run_number in (1, 2):
            np.save(file.with_name(file.name.replace("_relmat", f"_run-{run_number}_relmat")), matrix)
    first = next(iter(matrices))
    gap = matrices[first].copy()
    gap[3] = gap[:, 3] = np.nan
    np.save(first.with_name(first.name.replace("_relmat", "_run-1_relmat")), gap)
    stopped = run("fit", study, "--runs", "average", "--out", tmp_path / "m", "--set", "shuffles=9")
    assert stopped.returncode == 2
    assert "missing='drop' (--missing drop)" in stopped.stderr
    done = run("fit", study, "--runs", "average", "--missing", "drop", "--out", tmp_path / "m", "--set", "shuffles=9")
    assert done.returncode == 0, done.stderr
    assert "40 graphs" in done.stdout


def test_confounds_need_the_aligned_model(folder, tmp_path):
    done = run("fit", folder, "--method", "isonn-subgraph", "--confounds", "age", "--out", tmp_path / "m")
    assert done.returncode == 2
    assert "--confounds is for --method isonn-aligned" in done.stderr
    assert (
        "confound 'weight' is not a column"
        in run("fit", folder, "--confounds", "weight", "--out", tmp_path / "m").stderr
    )


def test_evaluate_leaves_the_papers_model_out_and_takes_confounds(folder, tmp_path):
    arguments = ("evaluate", folder, "--out", tmp_path / "run", "--split", "site", "--jobs", 1)
    done = run(*arguments, "--methods", "isonn-aligned,nbs,cpm,size,majority", "--confounds", "age")
    assert done.returncode == 0, done.stderr
    assert "Confounds are not regressed out by size." in done.stdout
    done = run(*arguments, "--methods", "edges,cpm,size", "--harmonize", "site")
    assert done.returncode == 0, done.stderr
    assert "Sites are not harmonised by size." in done.stdout
    assert "--confounds has no effect" in run(*arguments, "--methods", "size", "--confounds", "age").stderr
    from isonn.experiments.methods import default_methods

    assert "isonn" not in default_methods(isonn.load(folder))
    assert {"nbs", "cpm"} <= set(default_methods(isonn.load(folder)))
