"""Tables of molecules as chemists have them: salts, censored values, undecided tests, bad rows."""

from __future__ import annotations

import csv
import gzip
import json
import re

import pytest
from tests_commands import refused, run

import isonn

pytest.importorskip("rdkit")
pytestmark = pytest.mark.filterwarnings("always::isonn.errors.IsoNNWarning")

ACIDS = ["CC(=O)O", "CCC(=O)O", "OC(=O)c1ccccc1", "OC(=O)CN", "C=CC(=O)O"]
OTHERS = ["CCO", "CCCO", "c1ccccc1", "CCN", "C=CC"]
SALTS = ["CC(=O)[O-].[Na+]", "C[NH3+].[Cl-]"]


def write(path, header, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def fit(data, out, *options):
    return run("fit", data, "--out", out, "--head", "linear", "--max-nodes", 2, *options)


@pytest.fixture
def acids(tmp_path):
    """Acids and others, two of them as salts."""
    rows = [(smiles, "yes") for smiles in [*ACIDS, SALTS[0]]] + [(smiles, "no") for smiles in [*OTHERS, SALTS[1]]]
    return write(tmp_path / "acids.csv", ("smiles", "acid"), rows)


def test_a_fit_tells_and_lists_what_standardisation_changed(acids, tmp_path):
    changes = tmp_path / "changes.csv"
    result = fit(acids, tmp_path / "model", "--changes", changes)
    assert result.returncode == 0, result.stderr
    assert "2 of 12 molecules are standardised" in result.stderr
    with changes.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["row"], row["smiles"], row["standardized"]) for row in rows] == [
        ("5", "CC(=O)[O-].[Na+]", "CC(=O)O"),
        ("11", "C[NH3+].[Cl-]", "CN"),
    ]
    refused(fit(acids, tmp_path / "other", "--changes", changes), "exists already")
    result = run(
        "evaluate", acids, "--methods", "majority", "--changes", tmp_path / "more.csv", "--out", tmp_path / "e"
    )
    assert (tmp_path / "more.csv").read_text() == changes.read_text(), result.stderr


@pytest.mark.parametrize("mode", ["none", "salts", "full"])
def test_a_model_reads_new_molecules_as_it_read_its_training_data(acids, tmp_path, mode):
    model, new = tmp_path / "model", write(tmp_path / "new.csv", ("smiles",), [["CCC(=O)O"], ["CCC(=O)[O-].[K+]"]])
    assert fit(acids, model, "--standardize", mode).returncode == 0
    base, salt = json.loads(run("predict", model, new, "--json").stdout)
    assert (base["p(yes)"] == salt["p(yes)"]) == (mode != "none")
    assert isonn.load_model(model).standardize_ == mode


def test_censored_values_are_left_out_or_used_at_their_bound(tmp_path):
    rows = [(smiles, f"{i}.5") for i, smiles in enumerate([*ACIDS, *OTHERS])] + [("CCCCC", ">100")]
    data = write(tmp_path / "ic50.csv", ("smiles", "IC50 (uM)"), rows)
    facts = [json.loads(fit(data, tmp_path / "drop", "--json").stdout)]
    facts.append(json.loads(fit(data, tmp_path / "bound", "--censored", "bound", "--json").stdout))
    assert [fact["graphs"] for fact in facts] == [10, 11]
    refused(fit(data, tmp_path / "odd", "--censored", "maybe"), "--censored 'maybe'", "'drop' or 'bound'")


def test_a_third_value_is_refused_until_it_is_dropped_or_mapped(tmp_path):
    """Nobody names the target: spellings of two answers are few texts."""
    answers = ["yes", "YES", "Yes", "yes", "yes", "No", "no", "NO", "no", "no", "inconclusive"]
    data = write(tmp_path / "a.csv", ("smiles", "active"), zip([*ACIDS, *OTHERS, "CCCC"], answers, strict=True))
    refused(fit(data, tmp_path / "model"), "inconclusive", "--values 'inconclusive='", "--values 'inconclusive=no'")
    dropped = fit(data, tmp_path / "dropped", "--values", "inconclusive=", "--json")
    assert "'YES', 'Yes', 'yes' are read as one class, 'yes'" in dropped.stderr
    mapped = fit(data, tmp_path / "mapped", "--values", "inconclusive=no", "--json")
    assert [json.loads(result.stdout)["graphs"] for result in (dropped, mapped)] == [10, 11]
    assert isonn.load_model(tmp_path / "mapped").classes_.tolist() == ["no", "yes"]


def test_alerts_and_explain_read_the_classes_as_the_fit_did(tmp_path):
    answers = ["yes"] * 5 + ["no"] * 5 + ["inconclusive"]
    data = write(tmp_path / "a.csv", ("smiles", "acid"), zip([*ACIDS, *OTHERS, "CCCC"], answers, strict=True))
    model = tmp_path / "model"
    assert fit(data, model, "--values", "inconclusive=").returncode == 0
    unread = run("alerts", model, data)
    assert "holds 'inconclusive' (1 row) beside 'no' and 'yes'; --values" in unread.stderr
    refused(run("alerts", model, data, "--quiet"), "has no classes to judge alerts by")
    judged = run("alerts", model, data, "--values", "inconclusive=", "--json")
    assert json.loads(judged.stdout)["base"] == 0.5, judged.stderr
    shown = run("explain", model, data, "--values", "inconclusive=", "--json")
    assert [graph["truth"] for graph in json.loads(shown.stdout)["graphs"]] == [*answers[:10], None]


@pytest.mark.parametrize("suffix", [".xlsx", ".tab", ".txt", ".csv.gz", ".parquet"])
def test_every_file_of_a_spreadsheet_is_fitted_and_predicted_as_its_csv(tmp_path, suffix):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip({".xlsx": "openpyxl", ".parquet": "pyarrow"}.get(suffix, "pandas"))
    columns = {
        "Name": "x",
        "Compound ID": range(10, 20),
        "note": [f'a, "{i}"' for i in range(10)],
        "SMILES": [*ACIDS, *OTHERS],
    }
    frame = pandas.DataFrame(columns).assign(acid=[1] * 5 + [0] * 5)
    frame.to_csv(tmp_path / "same.csv", index=False)
    data = tmp_path / f"data{suffix}"
    if suffix == ".xlsx":
        frame.to_excel(data, index=False)
    elif suffix == ".parquet":
        frame.to_parquet(data)
    else:
        frame.to_csv(data, index=False, sep="\t" if suffix == ".tab" else ",")
    assert fit(data, tmp_path / "model").returncode == 0
    for source, out in ((data, "a.csv.gz"), (tmp_path / "same.csv", "same.csv.gz")):
        told = run("predict", tmp_path / "model", source, "--out", tmp_path / out).stderr
        assert "AUROC 1.000 for acid (10 values)" in told
    written = pandas.read_csv(tmp_path / "a.csv.gz", compression="gzip")
    assert written[frame.columns].equals(frame)
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == gzip.decompress(
        (tmp_path / "same.csv.gz").read_bytes()
    )
    assert isonn.load(data).ids.tolist() == [str(number) for number in columns["Compound ID"]]


def test_a_file_with_many_bad_rows_is_refused_until_they_are_skipped(tmp_path):
    rows = [(smiles, i % 2) for i, smiles in enumerate([*ACIDS, *OTHERS, "C(", "C1C", "xx", "C(C", "N#N#N", "c1c"])]
    data = write(tmp_path / "bad.csv", ("smiles", "y"), rows)
    refused(fit(data, tmp_path / "model"), "6 of 16 rows", "row 10 ('C(')", "--skip-bad")
    result = fit(data, tmp_path / "model", "--skip-bad", "--json")
    assert json.loads(result.stdout)["graphs"] == 10


def test_columns_with_commas_in_their_names_are_targets(tmp_path):
    columns = ("Compound ID", "smiles", "Blood, lymph", "Eye")
    rows = [(f"c{i}", smiles, i % 2, int("c" in smiles)) for i, smiles in enumerate([*ACIDS, *OTHERS])]
    data = write(tmp_path / "labels.csv", columns, rows)
    for number, options in enumerate([("--target", "Blood, lymph", "--target", "Eye"), ("--target", "all")]):
        model = tmp_path / f"model{number}"
        assert fit(data, model, *options).returncode == 0
        assert isonn.load_model(model).label_names_["target"] == {0: "Blood, lymph", 1: "Eye"}


def test_whole_numbers_with_many_values_are_numbers_unless_they_are_called_classes(tmp_path):
    rows = [(f"{'C' * (i + 1)}O", 10 * i) for i in range(24)]
    data = write(tmp_path / "ld50.csv", ("smiles", "LD50"), rows)
    told = fit(data, tmp_path / "numbers").stderr
    assert "'LD50' has more than 20 different whole numbers and is read as numbers; --classes reads classes" in told
    assert type(isonn.load_model(tmp_path / "numbers")).__name__ == "SubgraphRegressor"
    few = write(
        tmp_path / "few.csv", ("smiles", "LD50 (mg/kg)"), [(smiles, i % 5) for i, (smiles, _) in enumerate(rows)]
    )
    assert fit(few, tmp_path / "few").returncode == 0
    assert type(isonn.load_model(tmp_path / "few")).__name__ == "SubgraphRegressor"  # a unit is one of numbers
    assert fit(few, tmp_path / "classes", "--classes").returncode == 0
    assert type(isonn.load_model(tmp_path / "classes")).__name__ == "SubgraphClassifier"


def test_a_report_finds_the_file_that_was_evaluated(acids, tmp_path, monkeypatch):
    with acids.open("a") as file:
        file.write("CCCC,inconclusive\nC(,no\n")
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs" / "acids"
    options = ("--values", "inconclusive=", "--target", "acid", "--jobs", 1)
    result = run("evaluate", "acids.csv", "--methods", "majority,isonn-subgraph", "--out", folder, *options)
    assert result.returncode == 0, result.stderr
    monkeypatch.chdir("/")  # from anywhere
    result = run("report", folder, "--json")
    assert result.returncode == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["no_model"] == ""
    marks = (folder / "report.html").read_text().partition("Counts refer to the molecules of this page")[2]
    counted = re.findall(r"\d+ of (\d+) (yes|no)\b", marks.partition("</section>")[0])
    assert sum(int(of) for of, _ in set(counted)) == facts["graphs"] > 0  # those of the fold that is shown
    acids.rename(tmp_path / "moved.csv")
    assert "is not on this machine" in json.loads(run("report", folder, "--json").stdout)["no_model"]
    assert (
        json.loads(run("report", folder, "--data", tmp_path / "moved.csv", "--json").stdout)["graphs"]
        == facts["graphs"]
    )


@pytest.fixture
def model(acids, tmp_path):
    assert fit(acids, tmp_path / "model").returncode == 0
    return tmp_path / "model"


def test_molecules_of_any_kind_and_length_are_predicted_and_explained(model, tmp_path):
    """One atom, salts, metals, deuterium, an open valence, and 500 atoms, longer than the name of a file may be."""
    odd = ["C", "[Na+].[Cl-]", "[Fe]", "CC[Hg]CC", "O.O", "[2H]C", "*C", "[He]", "C" * 500]
    result = run("predict", model, *odd, "--reasons", 1)
    assert result.returncode == 0, result.stderr
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert [row["smiles"] for row in rows] == odd
    assert all(row["predicted"] in ("yes", "no") and not row["problem"] for row in rows)
    result = run("explain", model, *odd, "--out", tmp_path / "odd.html")
    assert result.returncode == 0, result.stderr
    refused(run("predict", model, "x" * 500), "no dataset and no file")
    for command in ("predict", "explain"):  # the name of a compound is not looked up elsewhere
        refused(run(command, model, "aspirin"), "no file 'aspirin', and it is no SMILES")


def test_molecules_are_explained_as_they_are_written(model, tmp_path):
    result = run("explain", model, "CCCC(=O)[O-].[Na+]", "CCCO")
    assert result.returncode == 0, result.stderr
    assert "CCCC(=O)[O-].[Na+]: yes" in result.stdout
    assert "CCCO: no" in result.stdout
    page = tmp_path / "why.html"
    result = run("explain", model, "CCCC(=O)O", "CCCO", "--label", "yes", "--out", page, "--json")
    shown = json.loads(result.stdout)["graphs"]
    assert [graph["explained"] for graph in shown] == ["yes", "yes"]
    assert page.read_text().count("CCCC(=O)O") > 0


def test_what_cannot_be_explained_is_refused_in_one_sentence(model, acids):
    refused(run("explain", model, "CCO", "--label", "maybe"), "--label 'maybe'", "'no', 'yes'")
    refused(run("explain", model, "CCO", acids), "is not a SMILES", "give one file, or only SMILES")
    refused(run("explain", model, "C("), "row 0 ('C('): syntax error at character 2")
    refused(run("explain", model, "CCO", "--target", "acid"), "--target is for a file")
    refused(run("explain", model, "NOSUCHSET"), "no dataset and no file 'NOSUCHSET'")


def test_labels_are_explained_and_told_by_name(tmp_path):
    rows = [(smiles, i % 2, int("c" in smiles)) for i, smiles in enumerate([*ACIDS, *OTHERS])]
    data = write(tmp_path / "labels.csv", ("smiles", "Blood, lymph", "Eye"), rows)
    result = fit(data, tmp_path / "model", "--target", "all")
    assert "predicts 2 labels of Blood, lymph, Eye" in result.stdout
    assert "  Blood, lymph  10 graphs, 5 positive: AUROC" in result.stdout
    result = run("explain", tmp_path / "model", "CCO", "--label", "Eye", "--json")
    assert json.loads(result.stdout)["graphs"][0]["explained"] == "Eye"


def test_numbers_learned_as_a_logarithm_are_told_so_and_explained_by_factors(tmp_path):
    rows = [(f"{'C' * (i + 1)}O", 10 ** (-i / 3)) for i in range(12)]
    result = fit(write(tmp_path / "s.csv", ("smiles", "IC50 (uM)"), rows), tmp_path / "model")
    assert "predicts numbers of IC50 (uM), learned as a logarithm\n" in result.stdout
    reasons = run("explain", tmp_path / "model", "CCCO").stdout.splitlines()[1:]
    assert reasons
    assert all(re.search(r" \([\u00d7\u00f7] [\d.]+\)", reason) for reason in reasons)


def test_errors_of_several_numbers_are_told_by_column_with_their_units(tmp_path):
    rows = [(f"{'C' * (i + 1)}O", 10 ** (-i / 3), -i / 3) for i in range(12)]
    data = write(tmp_path / "s.csv", ("smiles", "IC50 (uM)", "logS [mol/L]"), rows)
    lines = fit(data, tmp_path / "model", "--target", "all").stdout.splitlines()
    assert "predicts numbers of IC50 (uM), logS [mol/L]; IC50 (uM) learned as a logarithm" in lines
    mean = next(line for line in lines if line.startswith("held out: "))
    assert "MAE" not in mean  # of micromoles and logarithms
    assert "RMSE" not in mean
    assert re.search(r"IC50 .* uM, RMSE .* uM$", next(line for line in lines if line.startswith("  IC50")))
    assert re.search(r"log mol/L, RMSE .* log mol/L$", next(line for line in lines if line.startswith("  logS")))


@pytest.fixture
def solubility(tmp_path):
    rows = [(f"{'C' * (i % 12 + 1)}{end}", -i / 3) for i, end in enumerate(["O", "N", "C(=O)O", "Cl", "S"] * 8)]
    return write(tmp_path / "s.csv", ("smiles", "logS [mol/L]"), rows)


def test_a_report_of_numbers_has_parity_and_residuals_and_no_confusion(solubility, tmp_path):
    page = tmp_path / "page.html"
    asked = ("--methods", "majority,isonn-subgraph", "--jobs", 1, "--out", tmp_path / "runs")
    assert run("evaluate", solubility, *asked).returncode == 0
    result = run("report", tmp_path / "runs", "--out", page)
    assert result.returncode == 0, result.stderr
    shown = page.read_text().partition("<body")[2].casefold()
    assert "parity" in shown
    assert "residual" in shown
    assert "confusion" not in shown
    assert "differ" not in shown.partition("<main")[2].partition("differences")[0]  # from the stored predictions


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("smiles;IC50\n(structure);uM\nCCO;1,5\nCC;2,5\nCCC;3\n", ("two header rows", "delete the second one")),
        ("compound,y\naspirin,1\ncaffeine,0\nacetic acid,1\n", ("no column of SMILES", "names such as 'aspirin'")),
        ("smiles,y\nCCO,5 nM\nCC,3 uM\nC,2 nM\n", ("mixes units: nM (2), µM (1)", "convert all cells")),
        ("smiles,y\nCCO,2020-01-02\nCC,2020-01-03\n", ("no column that may be the target", "--target")),
    ],
)
def test_tables_that_only_the_user_can_mend_are_refused_in_one_sentence(tmp_path, text, words):
    data = tmp_path / "odd.csv"
    data.write_text(text)
    refused(fit(data, tmp_path / "model"), *words)
    refused(run("evaluate", data, "--methods", "majority"), *words)
    if "2020" in text:
        refused(fit(data, tmp_path / "model", "--target", "y"), "holds dates such as '2020-01-02'")
