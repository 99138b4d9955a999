from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline

import isonn
from isonn.connectomes import Atlas, Connectivity, as_atlas, from_matrices, planted_connectomes
from isonn.connectomes.participants import read_participants
from isonn.errors import DatasetError, InputError, IsoNNWarning, NotFittedError

NAMES = ["Insula L", "Insula R", "Precuneus L", "Precuneus R"]


@pytest.fixture
def matrices():
    draw = np.random.default_rng(0)
    series = draw.normal(size=(6, 30, 4))
    return np.stack([np.corrcoef(one.T) for one in series])


def test_matrices_keep_names_ids_and_covariates_and_lose_the_diagonal(matrices):
    ids = [f"sub-{i}" for i in range(6)]
    table = pd.DataFrame({"participant_id": ids[::-1], "age": range(6), "dx": list("aabbab"), "site": "Y"})
    graphs = from_matrices(matrices, "dx", atlas=NAMES, ids=ids, participants=table)
    assert graphs[1].id == "sub-1"
    assert graphs[1].row == {"age": 4, "site": "Y"}
    assert graphs.y.tolist() == list("babbaa")
    assert (graphs.kind, graphs.target_names) == ("connectomes", ("dx",))
    assert graphs[0].node_names.tolist() == NAMES
    np.testing.assert_equal(np.diagonal(graphs.dense(dtype=float), axis1=1, axis2=2), 0)
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(graphs.dense(dtype=np.float64)[:, off], matrices[:, off])


def test_pandas_frames_name_their_regions(matrices):
    frames = [pd.DataFrame(matrix, index=NAMES, columns=NAMES) for matrix in matrices]
    assert from_matrices(frames)[0].node_names.tolist() == NAMES
    frames[2] = frames[2].rename(columns={"Insula R": "Amygdala"}, index={"Insula R": "Amygdala"})
    with pytest.raises(
        InputError, match="subject 2 has different regions from the first .*'Amygdala' and 'Insula R' at 1"
    ):
        from_matrices(frames)


def nan_region(matrices):
    matrices = matrices.copy()
    matrices[2, 1] = matrices[2, :, 1] = np.nan
    return matrices


def test_a_region_without_signal_is_an_error_or_dropped(matrices):
    bad = nan_region(matrices)
    with pytest.raises(InputError, match=r"subject s2 has no signal \(NaN\) in 1 regions: Insula R; 1 of 6 subjects"):
        from_matrices(bad, atlas=NAMES, ids=[f"s{i}" for i in range(6)])
    graphs = from_matrices(bad, atlas=Atlas(NAMES, np.ones((4, 3)), list("ABBA")), missing="drop")
    assert graphs.sizes.tolist() == [4, 4, 3, 4, 4, 4]
    assert graphs[2].node_names.tolist() == ["Insula L", "Precuneus L", "Precuneus R"]
    assert graphs[2].node_labels.tolist() == ["A", "B", "A"]
    clf = isonn.AlignedClassifier(shuffles=5, random_state=0).fit(graphs, [0, 1, 0, 1, 0, 1])
    assert clf.predict(graphs).shape == (6,)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda m: m, {"atlas": NAMES[:3]}, "the atlas names 3 regions, but the matrices have 4"),
        (lambda m: m, {"ids": list("abcde")}, "5 ids for 6 matrices"),
        (lambda m: m, {"ids": list("abcdea")}, "id 'a' occurs 2 times; give every subject its own id"),
        (lambda m: [*m[:5], np.eye(3)], {}, r"subject 5 has a matrix of shape \(3, 3\), but the first has \(4, 4\)"),
        (lambda m: m[0, 0], {}, r"matrices have shape \(4,\)"),
        (lambda m: np.ones((6, 7)), {}, r"matrices have shape \(6, 7\); .* nilearn's vec_to_sym_matrix"),
        (lambda m: m, {"missing": "mean"}, "missing='mean' is unknown"),
        (
            lambda m: m + np.triu(np.ones((4, 4)), 1),
            {},
            r"subject 0 is not symmetric .*\(0, 1\).* or give directed=True",
        ),
        (np.triu, {}, r"subject 0 is not symmetric .*; add its transpose, for one half is 0"),
        (lambda m: [["a"]], {}, "values that are not numbers"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(matrices, change, options, message):
    with pytest.raises(InputError, match=message):
        from_matrices(change(matrices), **options)


def test_a_single_nan_names_its_regions(matrices):
    matrices[3, 0, 2] = matrices[3, 2, 0] = np.nan
    with pytest.raises(InputError, match="subject 3 has nan between Insula L and Precuneus L; replace it"):
        from_matrices(matrices, atlas=NAMES)
    graphs = from_matrices(matrices, atlas=NAMES, missing="drop")
    assert graphs.sizes.tolist() == [4, 4, 4, 3, 4, 4]
    assert np.isfinite(graphs.weights).all()


def test_directed_matrices_are_taken_when_asked_for(matrices):
    skewed = matrices + np.triu(np.ones((4, 4)), 1)
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(from_matrices(skewed, directed=True).dense(dtype=np.float64)[:, off], skewed[:, off])


def test_subjects_without_a_row_and_rows_without_a_subject(matrices):
    ids = list("abcdef")
    with pytest.raises(InputError, match=r"subject 'f' has no row in participants \(1 of 6 have none\)"):
        from_matrices(matrices, ids=ids, participants={"participant_id": list("abcde"), "age": range(5)})
    with pytest.warns(IsoNNWarning, match="2 rows of participants have no matrix and are left out, the first is 'x'"):
        from_matrices(matrices, ids=ids, participants={"participant_id": [*ids, "x", "y"], "age": range(8)})
    with pytest.raises(InputError, match="participants has 5 rows for 6 matrices; give ids"):
        from_matrices(matrices, participants={"age": range(5)})
    with pytest.raises(InputError, match="target='dx' is not a column of participants; its columns are age"):
        from_matrices(matrices, "dx", participants={"age": range(6)})
    with pytest.raises(InputError, match="subject 'b' has no dx"):
        from_matrices(matrices, "dx", ids=ids, participants={"id": ids, "dx": ["p", "n/a", *"cppc"]})
    with pytest.raises(InputError, match="is not a table"):
        from_matrices(matrices, participants=3)
    with pytest.raises(InputError, match="id 'a' occurs 2 times"):
        from_matrices(matrices, ids=ids, participants={"id": list("aabcde"), "age": range(6)})


def test_atlases_of_every_form_agree(tmp_path):
    places = np.arange(12.0).reshape(4, 3)
    frame = pd.DataFrame(
        {"Region": NAMES, "x": places[:, 0], "y": places[:, 1], "z": places[:, 2], "Network": list("ABBA")}
    )
    frame.to_csv(tmp_path / "atlas.csv", index=False)
    frame.to_csv(tmp_path / "atlas.tsv", index=False, sep="\t")
    (tmp_path / "names.txt").write_text("\n".join(["Background", *NAMES]))
    bunch = {"labels": [b"Background", *(name.encode() for name in NAMES)], "region_coords": places, "networks": None}
    for source in (frame, tmp_path / "atlas.csv", tmp_path / "atlas.tsv"):
        atlas = as_atlas(source)
        assert (atlas.names.tolist(), atlas.networks.tolist()) == (NAMES, list("ABBA"))
        np.testing.assert_equal(atlas.coordinates, places)
        assert atlas.order.tolist() == [0, 3, 1, 2]
    for source in (NAMES, tmp_path / "names.txt", bunch):
        assert as_atlas(source).names.tolist() == NAMES
    np.testing.assert_equal(as_atlas(bunch).coordinates, places)
    assert as_atlas(NAMES).order.tolist() == [0, 1, 2, 3]


def test_an_atlas_image_of_nilearn_gives_coordinates():
    nibabel = pytest.importorskip("nibabel")
    from sklearn.utils import Bunch

    image = np.zeros((10, 10, 10), dtype=np.int32)
    image[2:4, 2:4, 2:4], image[6:8, 6:8, 6:8] = 1, 2
    bunch = Bunch(labels=["Background", "one", "two"], maps=nibabel.Nifti1Image(image, np.eye(4)))
    atlas = as_atlas(bunch)
    assert atlas.names.tolist() == ["one", "two"]
    np.testing.assert_allclose(atlas.coordinates, [[2.5] * 3, [6.5] * 3], atol=0.6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Atlas([]), "names is empty"),
        (lambda: Atlas(["a", "a"]), "two regions are called 'a'"),
        (lambda: Atlas(["a"], [[0, 1]]), r"coordinates have shape \(1, 2\) for 1 regions"),
        (lambda: Atlas(["a"], [[0, 1, np.nan]]), "coordinates of 'a' are not numbers"),
        (lambda: Atlas(["a"], networks=["x", "y"]), "2 networks for 1 regions"),
        (lambda: as_atlas("nowhere.csv"), "atlas nowhere.csv does not exist"),
        (lambda: as_atlas(5), "atlas=5 is of type int"),
        (lambda: as_atlas(pd.DataFrame({"x": [1]})), "has the columns x; call the one with the names 'name'"),
    ],
)
def test_impossible_atlases_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".mat", ".tsv", ".txt"])
def test_a_folder_of_subjects_is_read(tmp_path, matrices, suffix):
    ids = [f"sub-{i:02d}" for i in range(6)]
    rows = [f"{one}\t{20 + i}\t{'patient' if i % 2 else 'control'}" for i, one in enumerate(ids)]
    (tmp_path / "participants.tsv").write_text("\n".join(["participant_id\tage\tgroup", *rows]))
    (tmp_path / "atlas.csv").write_text("\n".join(["name", *NAMES]))
    for one, matrix in zip(ids, matrices, strict=True):
        folder = tmp_path / one / "func"
        folder.mkdir(parents=True)
        file = folder / f"{one}_task-rest_matrix{suffix}"
        if suffix == ".npy":
            np.save(file, matrix)
        elif suffix == ".npz":
            np.savez(file, matrix)
        elif suffix == ".mat":
            savemat(file, {"Z": matrix, "note": np.zeros((1, 2))})
        elif suffix == ".txt":
            np.savetxt(file, matrix)
        else:
            pd.DataFrame(matrix, index=NAMES, columns=NAMES).to_csv(file, sep="," if suffix == ".csv" else "\t")
    graphs = isonn.load(tmp_path)
    assert graphs.ids.tolist() == ids
    assert graphs.y.tolist() == ["control", "patient"] * 3
    assert graphs.table["age"].tolist() == list(range(20, 26))
    assert graphs[0].node_names.tolist() == NAMES
    np.testing.assert_allclose(graphs.dense(dtype=np.float64)[:, 0, 1], matrices[:, 0, 1])
    assert isonn.load(tmp_path, target="age").y.tolist() == list(range(20, 26))


@pytest.mark.parametrize(
    "write",
    [
        lambda frame, file: frame.to_csv(file, sep=";", decimal=",", header=False, index=False),
        lambda frame, file: frame.to_csv(file, sep=";", decimal=","),
        lambda frame, file: frame.mask(np.eye(len(frame), dtype=bool)).to_csv(file, na_rep="NA"),
        lambda frame, file: frame.mask(np.eye(len(frame), dtype=bool)).to_csv(
            file, na_rep="NA", header=False, index=False
        ),
    ],
)
def test_matrices_of_other_languages_are_read(tmp_path, matrices, write):
    (tmp_path / "participants.tsv").write_text("\n".join(["participant_id\tgroup", *(f"{i}\tx" for i in range(6))]))
    for i, matrix in enumerate(matrices):
        write(pd.DataFrame(matrix, index=NAMES, columns=NAMES), tmp_path / f"{i}.csv")
        (tmp_path / f"{i}_notes.txt").write_text("moved a lot")
    read = isonn.load(tmp_path).dense(dtype=np.float64)
    np.testing.assert_allclose(read, matrices * (1 - np.eye(len(NAMES))))


def test_missing_codes_and_decimal_commas_of_participants_are_read():
    table = {"id": list("abcd"), "iq": [101, -9999, 99, 88], "fd": ["0,125", "1,5", "n/a", "2"], "n": ["1,234"] * 4}
    with pytest.warns(IsoNNWarning, match="iq holds -9999 in 1 row, which is read as missing; write n/a"):
        columns = read_participants(table)
    np.testing.assert_array_equal(columns["iq"], [101, np.nan, 99, 88])
    np.testing.assert_array_equal(columns["fd"], [0.125, 1.5, np.nan, 2])
    assert columns["n"].tolist() == ["1,234"] * 4


def study(folder, matrices, ids="abcdef", table="abcdef"):
    (folder / "participants.tsv").write_text("\n".join(["participant_id\tgroup", *(f"{one}\tx" for one in table)]))
    for one, matrix in zip(ids, matrices, strict=True):
        np.save(folder / f"{one}.npy", matrix)


def test_folders_that_do_not_fit_are_refused(tmp_path, matrices):
    study(tmp_path, matrices, table="abcde")
    with pytest.warns(IsoNNWarning, match=r"1 files of .* belong to no row .* left alone, the first is f.npy"):
        assert len(isonn.load(tmp_path)) == 5
    study(tmp_path, matrices, table="abcdefg")
    with pytest.warns(IsoNNWarning, match="1 rows of participants have no matrix"):
        assert len(isonn.load(tmp_path)) == 6
    np.save(tmp_path / "a_desc-raw.npy", matrices[0])
    with pytest.raises(DatasetError, match="subject a has two matrices, a.npy and a_desc-raw.npy; keep one"):
        isonn.load(tmp_path, select="")
    (tmp_path / "a_desc-raw.npy").unlink()
    np.save(tmp_path / "b.npy", np.eye(3))
    with pytest.raises(DatasetError, match="b.npy has 3 regions, but the first file has 4; use one atlas"):
        isonn.load(tmp_path)
    (tmp_path / "b.npy").write_bytes(b"no array")
    with pytest.raises(DatasetError, match="b.npy cannot be read"):
        isonn.load(tmp_path)
    (tmp_path / "participants.tsv").write_text("who\tgroup\na\tx\n")
    with pytest.raises(DatasetError, match="has no column participant_id"):
        isonn.load(tmp_path)


def series(seed=0, g=24, regions=6, points=300):
    """Time series; in half of the subjects two regions share a signal."""
    draw = np.random.default_rng(seed)
    y = np.arange(g) % 2
    signals = draw.normal(size=(g, points, regions))
    shared = draw.normal(size=(g, points))
    signals[y == 1, :, 1] += shared[y == 1]
    signals[y == 1, :, 4] += shared[y == 1]
    return list(signals), y


@pytest.mark.parametrize("kind", ["correlation", "partial correlation", "tangent"])
def test_time_series_become_connectomes_inside_a_pipeline(kind):
    pytest.importorskip("nilearn")
    signals, y = series()
    model = make_pipeline(Connectivity(kind), isonn.AlignedClassifier(shuffles=9, random_state=0))
    assert cross_val_score(model, signals, y, cv=3).mean() > 0.8
    assert clone(model).get_params()["connectivity__kind"] == kind


def test_nothing_is_learned_from_test_subjects():
    pytest.importorskip("nilearn")
    signals, y = series()
    model = make_pipeline(Connectivity("tangent"), isonn.AlignedClassifier(shuffles=9, random_state=0))
    model.fit(signals[:18], y[:18])
    alone = model.predict_proba(signals[18:19])
    np.testing.assert_allclose(model.predict_proba(signals[18:])[:1], alone)
    folded = cross_val_predict(model, signals, y, cv=KFold(4), method="predict_proba")  # the last fold is 18 to 23
    np.testing.assert_allclose(folded[18:19], alone)


@pytest.mark.parametrize("suffix", [".npy", ".csv"])
def test_a_folder_of_time_series_is_read(tmp_path, suffix):
    pytest.importorskip("nilearn")
    signals, y = series(g=6, points=40)
    names = [f"region {i}" for i in range(6)]
    table = "\n".join(["participant_id\tgroup", *(f"{one}\t{group}" for one, group in zip("abcdef", y, strict=True))])
    (tmp_path / "participants.tsv").write_text(table)
    for one, signal in zip("abcdef", signals, strict=True):
        if suffix == ".npy":
            np.save(tmp_path / f"{one}.npy", signal)
        else:
            pd.DataFrame(signal, columns=names).to_csv(tmp_path / f"{one}.csv", index=one in "ab")
    graphs = isonn.load(tmp_path)
    expected = Connectivity().fit_transform(signals)
    np.testing.assert_allclose(graphs.dense(dtype=np.float64), expected.dense(dtype=np.float64), atol=1e-6)
    assert graphs.ids.tolist() == list("abcdef")
    assert suffix == ".npy" or graphs[0].node_names.tolist() == names
    partial = isonn.load(tmp_path, connectivity="partial correlation").dense(dtype=np.float64)
    assert np.abs(partial - graphs.dense(dtype=np.float64)).max() > 0.01
    with pytest.raises(DatasetError, match="connectivity='tangent' would learn from all subjects"):
        isonn.load(tmp_path, connectivity="tangent")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: [], "X is empty"),
        (lambda s: [s[0], s[1][0]], r"subject 1 of 2 has an array of shape \(6,\)"),
        (lambda s: [s[0], s[1][:, :4]], "subject 1 of 2 has 4 regions, but the first has 6"),
        (lambda s: [s[0], np.where(np.arange(6) == 2, np.nan, s[1])], "subject 1 of 2 has NaN in region 2"),
        (lambda s: [s[0], s[1] * (np.arange(6) != 3)], "region 3 of subject 1 has no signal"),
    ],
)
def test_impossible_time_series_are_refused(change, message):
    signals, _ = series()
    with pytest.raises(InputError, match=message):
        Connectivity().fit(change(signals))


def test_connectivity_checks_kind_fit_and_regions():
    signals, _ = series()
    with pytest.raises(InputError, match="kind='mean' is unknown"):
        Connectivity("mean").fit(signals)
    with pytest.raises(NotFittedError, match="this Connectivity is not fitted"):
        Connectivity().transform(signals)
    fitted = Connectivity(atlas=[f"r{i}" for i in range(6)]).fit(signals)
    assert fitted.transform(signals)[0].node_names.tolist() == [f"r{i}" for i in range(6)]
    with pytest.raises(InputError, match="subjects have 4 regions, but the training subjects had 6"):
        fitted.transform([one[:, :4] for one in signals])


def test_planted_connectomes_hold_what_they_say():
    study = planted_connectomes(n_subjects=400, n_regions=12, seed=3)
    values = study.graphs.dense(dtype=np.float64)
    gap = values[study.graphs.y == "patient"].mean(axis=0) - values[study.graphs.y == "control"].mean(axis=0)
    np.testing.assert_allclose(gap, 0.3 * study.truth, atol=0.12)
    assert np.isin(np.argwhere(study.truth), study.regions).all()
    assert not planted_connectomes(planted="none", n_regions=12).truth.any()
    assert planted_connectomes(planted="scattered", n_regions=12).truth.sum() == 12
    with pytest.raises(InputError, match="planted='all' is unknown"):
        planted_connectomes(planted="all")
