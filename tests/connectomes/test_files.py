from __future__ import annotations

import numpy as np
import pytest

import isonn
from isonn.connectomes import from_matrices, planted_connectomes
from isonn.errors import DatasetError, InputError, IsoNNWarning

IDS = [f"sub-{i:02d}" for i in range(8)]


def symmetric(g=8, n=6, seed=0):
    values = np.triu(np.random.default_rng(seed).uniform(-0.8, 0.8, size=(g, n, n)), 1)
    return values + values.transpose(0, 2, 1) + np.eye(n)


def write_study(folder, names, matrices, columns=("group",), rows=None):
    """A folder of BIDS derivatives; ``names`` are the ends of the file names of each subject."""
    rows = rows or [["patient" if i % 2 else "control"] for i in range(8)]
    lines = ["\t".join([one, *map(str, row)]) for one, row in zip(IDS, rows, strict=True)]
    (folder / "participants.tsv").write_text("\n".join(["\t".join(["participant_id", *columns]), *lines]))
    for i, one in enumerate(IDS):
        for number, name in enumerate(names):
            path = folder / one / "func" / f"{one}_{name}.tsv"
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savetxt(path, matrices[number][i], delimiter="\t")


def test_entities_select_files_and_others_are_counted(tmp_path):
    raw, clean = symmetric(seed=0), symmetric(seed=1)
    write_study(tmp_path, ["task-rest_desc-raw_relmat", "task-rest_desc-clean_relmat"], [raw, clean])
    (tmp_path / "dataset_description.tsv").write_text("not a matrix")
    with pytest.raises(
        DatasetError, match=r"has two matrices.*choose one desc \(clean, raw\), such as select='desc=clean'"
    ):
        isonn.load(tmp_path)
    with pytest.warns(IsoNNWarning) as caught:
        graphs = isonn.load(tmp_path, select="desc=clean")
    said = " ".join(str(one.message) for one in caught)
    assert "8 files of" in said
    assert "dataset_description.tsv" in said
    np.testing.assert_allclose(graphs.dense(dtype=np.float64)[:, 0, 1], clean[:, 0, 1])
    with pytest.raises(DatasetError, match="select='desc=none' leaves none of 16 files"):
        isonn.load(tmp_path, select={"desc": "none"})
    with pytest.raises(DatasetError, match="select='clean' is not a list of entities"):
        isonn.load(tmp_path, select="clean")


def test_sessions_become_graphs_with_their_subject(tmp_path):
    first, second = symmetric(seed=0), symmetric(seed=1)
    write_study(tmp_path, ["ses-1_relmat", "ses-2_relmat"], [first, second])
    graphs = isonn.load(tmp_path)
    assert graphs.ids[:3].tolist() == ["sub-00_ses-1", "sub-00_ses-2", "sub-01_ses-1"]
    assert graphs.table["subject"].tolist() == np.repeat(IDS, 2).tolist()
    assert graphs.table["session"].tolist() == ["1", "2"] * 8
    assert graphs.y[:4].tolist() == ["control", "control", "patient", "patient"]
    grouped = isonn.AlignedClassifier(shuffles=9, random_state=0).fit(graphs)
    given = isonn.AlignedClassifier(shuffles=9, random_state=0).fit(graphs, groups="subject")
    np.testing.assert_array_equal(grouped.best_ranks_, given.best_ranks_)


def test_runs_are_averaged_when_asked_for(tmp_path):
    runs = [symmetric(seed=0), symmetric(seed=1)]
    write_study(tmp_path, ["run-1_relmat", "run-2_relmat"], runs)
    assert len(isonn.load(tmp_path)) == 16
    graphs = isonn.load(tmp_path, runs="average")
    assert graphs.ids.tolist() == IDS
    np.testing.assert_allclose(graphs.dense(dtype=np.float64)[:, 0, 1], np.mean(runs, axis=0)[:, 0, 1])
    with pytest.raises(DatasetError, match="runs='mean' is unknown"):
        isonn.load(tmp_path, runs="mean")


def test_targets_may_be_in_phenotype_and_several(tmp_path):
    write_study(tmp_path, ["relmat"], [symmetric()])
    (tmp_path / "phenotype").mkdir()
    lines = [f"{one}\t{100 + i}\t{i / 2}" for i, one in enumerate(reversed(IDS))]
    (tmp_path / "phenotype" / "tests.tsv").write_text("\n".join(["participant_id\tiq\tmemory", *lines]))
    assert isonn.load(tmp_path, target="iq").y.tolist() == [107, 106, 105, 104, 103, 102, 101, 100]
    graphs = isonn.load(tmp_path, target="memory,iq")
    assert graphs.target_names == ("memory", "iq")
    assert graphs.y[0].tolist() == [3.5, 107]
    with pytest.raises(DatasetError, match="group holds text, but several targets must be numbers"):
        isonn.load(tmp_path, target="memory,group")


def test_classes_are_stripped_and_case_is_asked_about(tmp_path):
    rows = [[" patient" if i % 2 else "control"] for i in range(8)]
    write_study(tmp_path, ["relmat"], [symmetric()], rows=rows)
    assert set(isonn.load(tmp_path).y.tolist()) == {"patient", "control"}
    rows[1] = ["Patient"]
    write_study(tmp_path, ["relmat"], [symmetric()], rows=rows)
    with pytest.raises(DatasetError, match=r"'Patient' and 'patient', which differ only in case.*\(--join-case\)"):
        isonn.load(tmp_path)
    assert set(isonn.load(tmp_path, join_case=True).y.tolist()) == {"Patient", "control"}


def test_transposed_time_series_are_refused(tmp_path):
    draw = np.random.default_rng(0)
    write_study(tmp_path, ["timeseries"], [draw.normal(size=(8, 6, 40))])
    (tmp_path / "atlas.csv").write_text("\n".join(["name", *"abcdef"]))
    with pytest.raises(DatasetError, match="has 6 rows and 40 columns for 6 regions.*transpose them"):
        isonn.load(tmp_path)
    (tmp_path / "atlas.csv").unlink()
    np.savetxt(tmp_path / IDS[3] / "func" / f"{IDS[3]}_timeseries.tsv", draw.normal(size=(6, 50)), delimiter="\t")
    with pytest.raises(DatasetError, match="50 columns, but the first file has 40, and both have 6 rows.*transpose"):
        isonn.load(tmp_path)


def changed(change):
    matrices = symmetric(g=8, n=6)
    change(matrices)
    return matrices


def fisher_z(matrices):
    off = ~np.eye(6, dtype=bool)
    matrices[:3, off] = np.arctanh(1.15 * matrices[:3, off])


def fisher_z_without_negatives(matrices):
    off = ~np.eye(6, dtype=bool)
    matrices[:, off] = 0.5 + np.abs(matrices[:, off]) / 2
    matrices[3:, off] = np.arctanh(matrices[3:, off])


def dead(matrices):
    matrices[2, 4] = matrices[2, :, 4] = 0


def dead_everywhere(matrices):
    matrices[:, 4] = matrices[:, :, 4] = 0


def repeated(matrices):
    matrices[5] = matrices[1]


def larger(matrices):
    matrices[6] *= 100


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (fisher_z, "3 of 8 matrices have weights beyond 1, as Fisher's z.*the first is subject sub-00"),
        (fisher_z_without_negatives, "3 of 8 matrices have weights within 1, as correlations"),
        (larger, "subject sub-06 has weights .* times the usual"),
        (dead, "region 4 of subject sub-02 has no signal"),
        (dead_everywhere, "region 4 has no signal in any subject"),
        (repeated, "the matrices of subject sub-01 and subject sub-05 are equal"),
    ],
)
def test_problems_of_the_matrices_are_told(change, message):
    with pytest.warns(IsoNNWarning, match=message):
        from_matrices(changed(change), ids=IDS)
    from_matrices(changed(lambda matrices: None), ids=IDS)  # no warning


def test_counts_that_reach_1_are_not_taken_for_correlations():
    counts = np.abs(symmetric(g=8, n=6)) * np.linspace(0.8, 2.0, 8)[:, None, None]
    from_matrices(counts, ids=IDS)  # no warning


@pytest.mark.filterwarnings("ignore::isonn.errors.IsoNNWarning")  # some subjects stay below 1
@pytest.mark.parametrize("diagonal", [np.inf, np.nan, 18.7])
def test_the_diagonal_of_fishers_z_does_not_matter(diagonal):
    matrices = symmetric()
    there = np.eye(6, dtype=bool)
    matrices[:, there] = 0
    z = np.arctanh(matrices)
    z[:, there] = diagonal  # as of np.arctanh(np.corrcoef(...))
    np.testing.assert_allclose(from_matrices(z).dense(dtype=np.float64), np.arctanh(matrices))


def test_classes_given_as_y_are_stripped_and_case_is_asked_about():
    y = [" patient", "control"] * 4
    assert from_matrices(symmetric(), y).classes.tolist() == ["control", "patient"]
    y[2] = "Patient"
    with pytest.raises(InputError, match="y holds 'patient' and 'Patient', which differ only in case.*join_case=True"):
        from_matrices(symmetric(), y)


def test_rounding_does_not_make_a_matrix_directed():
    series = np.random.default_rng(0).normal(size=(12, 30, 7))
    matrices = np.stack([np.corrcoef(one, rowvar=False) for one in series])
    matrices[:, 0, 1] *= 1 + 3e-16
    graphs = from_matrices(matrices, np.arange(12) % 2)
    dense = graphs.dense(dtype=np.float64)
    np.testing.assert_array_equal(dense, dense.transpose(0, 2, 1))
    assert not isonn.AlignedClassifier(shuffles=9).fit(matrices, np.arange(12) % 2).model_.layout.directed


def test_a_large_study_is_stored_in_few_bytes_and_answers_the_same(monkeypatch):
    study = planted_connectomes(n_regions=20, effect=0.4, seed=1)
    matrices = study.graphs.dense(dtype=np.float32)
    usual = from_matrices(matrices, study.graphs.y)
    monkeypatch.setattr("isonn.connectomes.convert.COMPACT", 1)
    monkeypatch.setattr("isonn.graphs.isomorphism.CELLS_AT_ONCE", 1000)
    compact = from_matrices(matrices, study.graphs.y)
    assert compact.edges.nbytes * 4 == usual.edges.nbytes
    assert compact.weights.nbytes * 2 == usual.weights.nbytes
    models = [isonn.AlignedClassifier(shuffles=9, random_state=0).fit(graphs) for graphs in (usual, compact)]
    np.testing.assert_array_equal(models[0].predict_proba(usual), models[1].predict_proba(compact))
    assert models[0].seen_in_training(compact).all()


def test_the_target_cannot_be_a_confound_by_name():
    graphs = from_matrices(symmetric(), y="group", participants={"group": ["a", "b"] * 4})
    with pytest.raises(InputError, match="confound 'group' is the target, so nothing would be left to find"):
        graphs.with_confounds(["group"])


def write_matrices(folder, names, rows):
    """Matrices with these names, and participants.tsv with these rows, the first of which is the header."""
    folder.mkdir(exist_ok=True)
    for name, matrix in zip(names, symmetric(g=len(names)), strict=True):
        np.save(folder / f"{name}.npy", matrix)
    (folder / "participants.tsv").write_text("\n".join("\t".join(map(str, row)) for row in rows))


SESSIONS = [f"{one}_ses-{when}" for one in IDS[:4] for when in ("1", "2")]


@pytest.mark.parametrize("column", ["session_id", "session"])
def test_a_row_per_session_gives_each_session_its_own_values(tmp_path, column):
    rows = [(one, when, ["before", "after"][when - 1], when / 10) for one in IDS[:4] for when in (1, 2)]
    write_matrices(tmp_path, SESSIONS, [("participant_id", column, "state", "motion"), *rows])
    graphs = isonn.load(tmp_path, target="state")
    assert graphs.ids.tolist() == SESSIONS
    assert graphs.y.tolist() == ["before", "after"] * 4
    assert graphs.table["motion"].tolist() == [0.1, 0.2] * 4
    np.save(tmp_path / f"{IDS[0]}_ses-3.npy", symmetric(seed=5)[0])
    with pytest.warns(IsoNNWarning, match="1 files of .* belong to no row of the table.*sub-00_ses-3"):
        assert len(isonn.load(tmp_path, target="state")) == 8


def test_tables_of_sessions_and_phenotypes_may_have_a_row_per_session(tmp_path):
    write_matrices(tmp_path, SESSIONS, [("participant_id", "age"), *((one, 30 + i) for i, one in enumerate(IDS[:4]))])
    (tmp_path / "phenotype").mkdir()
    scores = [f"{one}\tses-0{when}\t{i + when}" for i, one in enumerate(IDS[:4]) for when in (1, 2)]
    (tmp_path / "phenotype" / "test.tsv").write_text("\n".join(["participant_id\tsession_id\tscore", *scores]))
    for one in IDS[:3]:
        (tmp_path / one).mkdir()
        (tmp_path / one / f"{one}_sessions.tsv").write_text("session_id\tmood\nses-1\tlow\nses-2\thigh")
    graphs = isonn.load(tmp_path, target="score")
    assert graphs.y.tolist() == [1, 2, 2, 3, 3, 4, 4, 5]
    assert graphs.table["age"].tolist() == np.repeat([30, 31, 32, 33], 2).tolist()
    assert graphs.table["mood"].tolist() == ["low", "high"] * 3 + ["n/a"] * 2
    with (tmp_path / "phenotype" / "test.tsv").open("a") as file:
        file.write("\nsub-01\tses-2\t7")
    with pytest.raises(DatasetError, match="test.tsv has two rows for subject 'sub-01' and session '2'; keep one"):
        isonn.load(tmp_path)


def test_two_rows_for_a_subject_are_refused(tmp_path):
    write_matrices(tmp_path, IDS[:3], [("participant_id", "group"), *((one, "a") for one in (*IDS[:3], "sub-01"))])
    with pytest.raises(
        DatasetError, match=r"participants.tsv has two rows for subject 'sub-01'; keep one, or name.*session_id"
    ):
        isonn.load(tmp_path)
    rows = [(one, when, "a") for one in IDS[:3] for when in (1, 2)]
    write_matrices(tmp_path, IDS[:3], [("participant_id", "session", "group"), *rows])
    with pytest.raises(DatasetError, match="'sub-00' has 2 rows, one per session, but the name of its file has no"):
        isonn.load(tmp_path)


@pytest.mark.parametrize("ids", [[f"{i:02d}" for i in range(1, 13)], [str(i) for i in range(1, 13)]])
@pytest.mark.parametrize("name", ["sub-{:02d}", "{:02d}", "sub-{:03d}_ses-1"])
def test_leading_zeros_of_ids_do_not_lose_subjects(tmp_path, ids, name):
    rows = [("participant_id", "group"), *((one, "ab"[i % 2]) for i, one in enumerate(ids))]
    write_matrices(tmp_path, [name.format(i) for i in range(1, 13)], rows)
    graphs = isonn.load(tmp_path)
    assert graphs.y.tolist() == ["a", "b"] * 6
    np.testing.assert_allclose(graphs.dense(dtype=np.float64)[:, 0, 1], symmetric(g=12)[:, 0, 1])


def test_most_subjects_without_a_matrix_are_an_error(tmp_path):
    write_matrices(tmp_path, IDS[:3], [("participant_id", "group"), *((one, "a") for one in IDS)])
    with pytest.raises(DatasetError, match="5 of 8 subjects have no matrix, the first is 'sub-03'; name the files"):
        isonn.load(tmp_path)
