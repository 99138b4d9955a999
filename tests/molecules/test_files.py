"""Tables, lists and SD files of molecules, the good and the bad ones."""

from __future__ import annotations

import codecs
import gzip

import numpy as np
import pytest

import isonn
from isonn.errors import DatasetError, IsoNNWarning
from isonn.graphs.io import registry

Chem = pytest.importorskip("rdkit.Chem")

TABLE = "smiles,active\nCCO,0\nc1ccccc1O,1\nCC(=O)O,1\n"


@pytest.fixture
def table(tmp_path):
    def write(content: str | bytes, name: str = "table.csv"):
        path = tmp_path / name
        content = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


def test_columns_are_guessed_when_only_one_fits(table):
    graphs = isonn.load(table("id,SMILES,p_np,split\nx,CCO,0,train\ny,CCN,1,test\nz,CCC,1,test\n"))
    assert graphs.y.tolist() == [0, 1, 1]
    assert graphs.target_names == ("p_np",)
    assert graphs.ids.tolist() == ["x", "y", "z"]
    assert graphs.table["split"].tolist() == ["train", "test", "test"]
    assert graphs[0].row["smiles"] == "CCO"


@pytest.mark.parametrize("name", ["id", "mol_id", "ChEMBL ID", "CID", "molid", "Compound", "names"])
def test_a_column_that_names_molecules_is_not_the_target(table, name):
    assert isonn.load(table(f"smiles,{name}\nCCO,1\nCC,2\nCCC,3\n")).y is None


@pytest.mark.parametrize("name", ["acid", "lipid", "valid"])
def test_a_word_that_ends_in_id_may_be_the_target(table, name):
    assert isonn.load(table(f"smiles,{name}\nCCO,1\nCC,0\nCCC,1\n")).target_names == (name,)


def test_smiles_are_found_by_content_where_no_column_is_called_so(table):
    graphs = isonn.load(table("compound,what,y\nrat,CCO,0.5\nmouse,c1ccccc1,1.5\n"))
    assert graphs.table["smiles"].tolist() == ["CCO", "c1ccccc1"]
    assert graphs.y.tolist() == [0.5, 1.5]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_tables_of_spreadsheets_are_read(table, delimiter, encoding):
    text = 'name,smiles,y\r\nÄthanol,CCO,0\r\n"b, c",CCN,1\r\n'.replace(",", delimiter)
    text = text.replace(f'"b{delimiter} c"', f'"b{delimiter} c"')
    graphs = isonn.load(table(text.encode(encoding)))
    assert graphs.y.tolist() == [0, 1]
    assert graphs.ids[0] == "Äthanol"


def test_a_line_that_names_the_delimiter_and_decimal_commas_are_understood(table):
    graphs = isonn.load(table("sep=;\nsmiles;y\nCCO;0,5\nCCN;1,5\n"))
    assert graphs.y.tolist() == [0.5, 1.5]


def test_several_targets_may_have_gaps(table):
    text = "smiles,a,b\nCCO,0,1\nCCN,,1\nCCC,1,\nCC,,\n"
    with pytest.warns(IsoNNWarning, match=r"1 row is left out: row 3 \('CC'\): no value of a, b"):
        graphs = isonn.load(table(text), target="a,b")
    np.testing.assert_array_equal(graphs.y, [[0, 1], [np.nan, 1], [1, np.nan]])
    assert graphs.target_names == ("a", "b")


def test_text_can_be_a_class(table):
    assert isonn.load(table("smiles,y\nCCO,toxic\nCCN,safe\nCC,safe\nC,toxic\n")).y.tolist()[:2] == ["toxic", "safe"]


def test_bad_rows_are_left_out_and_named(table):
    text = "smiles,y\nCCO,0\nC1CC,1\n,1\nCCN,\nCC>>C,0\nCCC,1\n"
    with pytest.warns(IsoNNWarning, match=r"4 rows are left out: row 1 \('C1CC'\): unclosed ring; row 2.*; and 1 more"):
        graphs = isonn.load(table(text), skip_bad=True)
    assert graphs.table["row"].tolist() == [0, 5]
    assert graphs.y.tolist() == [0, 1]


def test_cells_beyond_the_header_do_not_make_it_two_rows(table):
    with pytest.warns(IsoNNWarning, match="1 row is left out: row 0"):
        graphs = isonn.load(table("smiles,y\n?,1,uM\nCCO,1,5\nCC,0,2\nCCC,1,3\n"))
    assert graphs.y.tolist() == [1, 0, 1]


def test_repeats_are_counted_and_share_a_group(table):
    with pytest.warns(IsoNNWarning, match="2 of 5 molecules repeat an earlier one"):
        graphs = isonn.load(table("smiles,y\nCCO,0\nOCC,1\nC[C@H](N)O,1\nC[C@@H](N)O,1\nCC,0\n"))
    groups = graphs.table["groups"]
    assert groups[0] == groups[1] != groups[2] == groups[3] != groups[4]


@pytest.mark.parametrize(("code", "cells"), [("-999", "-999.0"), ("-9999.0", "-9999")])
def test_a_number_far_from_the_others_may_be_a_code_for_a_missing_one(tmp_path, code, cells):
    values = [*(f"{-i / 10}" for i in range(1, 40)), cells]
    rows = [f"{'C' * i}O,{value}" for i, value in enumerate(values, 1)]
    (tmp_path / "d.csv").write_text("\n".join(["smiles,logS", *rows]))
    with pytest.warns(IsoNNWarning, match=f"1 of 40 values is far from the others, such as {float(code):g}; .*values="):
        isonn.load(tmp_path / "d.csv")
    graphs = isonn.load(tmp_path / "d.csv", values=f"{code}=")
    np.testing.assert_array_equal(graphs.y, [float(value) for value in values[:-1]])


def test_numbers_over_many_orders_of_magnitude_are_not_far_from_each_other(tmp_path):
    rows = [f"{'C' * i}O,{10.0 ** (i / 5 - 4)}" for i in range(1, 40)]
    (tmp_path / "d.csv").write_text("\n".join(["smiles,IC50 (uM)", *rows]))
    assert len(isonn.load(tmp_path / "d.csv")) == 39


def test_a_stream_warns_of_the_same_rows_and_repeats(table):
    path = table("smiles,y\nCCO,0\nC1CC,1\nOCC,1\nC(,0\nC[C@H](N)O,1\nC[C@@H](N)O,1\nCC,0\n,1\nCCC,\n")
    with pytest.warns(IsoNNWarning) as whole:
        isonn.load(path, skip_bad=True)
    with pytest.warns(IsoNNWarning) as streamed:
        assert sum(map(len, isonn.stream(path, at_once=2, skip_bad=True))) == 5
    assert [str(one.message) for one in streamed] == [str(one.message) for one in whole]
    assert len(whole) == 2


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n1,2\n", {}, "has no column of SMILES among 'a', 'b'; name the column"),
        (TABLE, {"smiles": "structure"}, "has no column 'structure'; smiles is one of 'smiles', 'active'"),
        (TABLE, {"target": "toxic"}, "has no column 'toxic'; target is one of 'active'"),
        (
            "smiles,a,b\nCCO,0,1\nCC,1,0\n",
            {},
            "has 2 columns that may be the target \\('a', 'b'\\); choose one, such as target='b'",
        ),
        ("one,two,y\nCCO,CCC,1\nCCN,CCCC,0\n", {}, "has SMILES in 'one' and 'two'; choose one, such as smiles='one'"),
        ("smiles,y,y\nCCO,1,0\nCCN,0,1\n", {}, r"may be the target \('y', 'y \(2\)'\)"),
        ("smiles,smiles,y\nCCO,CCC,1\nCCN,CCCC,0\n", {}, r"has SMILES in 'smiles' and 'smiles \(2\)'; choose one"),
        ("smiles,y\n", {}, "has no usable molecules; correct"),
        ("Screen;;\nNo.;Structure;y\n1;CCO;1\n2;CCN;0\n", {}, "has its column names in line 2; delete the line"),
        ("Solubility 2024,\n,\nSMILES,logS\nCCO,1.2\nCCN,0.1\n", {}, "in line 3; delete the lines above them"),
        ("smiles,y\naspirin,1\ncaffeine,0\n", {}, "has names such as 'aspirin' where structures are expected"),
        ("smiles,y\nC(,1\nC),0\n", {}, r"has no usable molecules \(row 0 \('C\('\): syntax error"),
        ("smiles,y\nCCO,\n", {"target": "y"}, "column 'y' of .* is empty"),
        (
            "smiles,a,b\nCCO,x,1\nCC,z,0\n",
            {"target": "a,b"},
            r"column 'a' is text, but several targets must be numbers; .* \(columns of numbers: 'b'\)",
        ),
        ("inchi,y\nInChI=1S/CH4/h1H4,0\n", {}, "has no column of SMILES.*; convert its InChI"),
        ("CCO,0\nCCN,1\n", {}, "begins with a molecule instead of column names; add a header"),
        ("\n\n", {}, "has no header"),
        ("", {}, "has no header"),
    ],
)
def test_tables_that_cannot_be_read_say_why(table, text, options, message):
    with pytest.raises(DatasetError, match=message):
        isonn.load(table(text), **options)


def test_a_compressed_file_that_is_cut_off_is_named(table, tmp_path):
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(gzip.compress(TABLE.encode() * 100)[:40])
    with pytest.raises(DatasetError, match=r"cut.csv.gz is cut off or damaged"):
        isonn.load(path)


def test_lists_of_smiles_have_names(table):
    graphs = isonn.load(table("# comment\nCCO ethanol\nc1ccccc1\tbenzene ring\n\nCC\n", "list.smi"))
    assert graphs.ids.tolist() == ["ethanol", "benzene ring", ""]
    assert graphs.y is None


def block(smiles: str, **properties: str) -> str:
    lines = "".join(f">  <{name}>  (1)\n{value}\n\n" for name, value in properties.items())
    return f"{Chem.MolToMolBlock(Chem.AddHs(Chem.MolFromSmiles(smiles)))}{lines}$$$$\n"


def test_sd_files_give_the_graphs_of_their_smiles(table):
    smiles = ["CCO", "c1ccccc1", "CC(=O)[O-].[Na+]"]
    text = "".join(block(one, activity=str(i)) for i, one in enumerate(smiles))
    with pytest.warns(IsoNNWarning, match="1 of 3 molecules is standardised: 1 without counter-ions .*, 1 neutralised"):
        graphs = isonn.load(table(text, "set.sdf.gz"))
    assert graphs.name == "set"
    assert graphs.y.tolist() == [0, 1, 2]
    same = isonn.molecules.from_smiles(smiles)
    np.testing.assert_array_equal(isonn.molecules.canonical_smiles(graphs), isonn.molecules.canonical_smiles(same))


def test_an_sd_file_cut_off_in_the_middle_keeps_what_is_whole(table):
    text = block("CCO", y="0") + block("CCN", y="1")
    whole = block("CCC", y="1")
    with pytest.warns(IsoNNWarning, match=r"1 row is left out: row 2 .*the record is cut off before M +END"):
        graphs = isonn.load(table(text + whole[: len(whole) // 3], "set.sdf"), target=None)
    assert graphs.y.tolist() == [0, 1]


def test_a_bad_record_of_an_sd_file_is_named_with_rdkits_reason(table):
    broken = block("CCN", y="1").replace(" N ", " Qx")
    with pytest.warns(IsoNNWarning, match=r"1 row is left out: row 1 "):
        graphs = isonn.load(table(block("CCO", y="0") + broken + block("CCC", y="1"), "set.sdf"))
    assert graphs.table["row"].tolist() == [0, 2]


def test_a_byte_order_mark_alone_is_no_table(table):
    with pytest.raises(DatasetError, match="has no header"):
        isonn.load(table(codecs.BOM_UTF8))


@pytest.mark.parametrize("name", ["a.tab", "a.txt", "a.tsv", "a.txt.gz", "a.csv"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", "^"])
def test_tables_may_have_any_suffix_and_delimiter(table, name, delimiter):
    graphs = isonn.load(table(TABLE.replace(",", delimiter), name))
    assert (graphs.name, graphs.y.tolist()) == ("a", [0, 1, 1])


def test_a_text_file_may_have_spaces_or_only_smiles(table):
    assert isonn.load(table("smiles active\nCCO 0\nCC 1\n", "a.txt")).y.tolist() == [0, 1]
    graphs = isonn.load(table("CCO ethanol\nCC(=O)O acetic acid\n", "b.txt"))
    assert graphs.ids.tolist() == ["ethanol", "acetic acid"]


def test_a_workbook_is_read_like_a_table(tmp_path):
    book = pytest.importorskip("openpyxl").Workbook()
    book.create_sheet("Data")
    for row in (
        ["Compound ID", "SMILES", "IC50 (uM)", "when"],
        [1, "CCO", 0.5, None],
        [],
        ["x2", "CN.Cl", ">100", None],
    ):
        book["Data"].append(row)
    book.save(tmp_path / "assay.xlsx")
    with pytest.warns(IsoNNWarning) as warned:
        graphs = isonn.load(tmp_path / "assay.xlsx", censored="bound", target="IC50 (uM)")
    assert graphs.y.tolist() == [0.5, 100.0]
    assert graphs.ids.tolist() == ["1", "x2"]
    assert graphs.target_names == ("IC50 (uM)",)
    texts = [str(one.message) for one in warned]
    assert texts[0].startswith("assay.xlsx: 'IC50 (uM)': 1 of 2 values is censored (1 with >) and used at its bound")
    assert "1 of 2 molecules is standardised" in texts[1]


def workbook(path, **sheets):
    book = pytest.importorskip("openpyxl").Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        book.create_sheet(name)
        for row in rows:
            book[name].append(row)
    book.save(path)
    return path


README = [["Export of ELN, 2026"], ["Author", "me"], ["Method", "see the protocol"]]
DATA = [["No.", "Structure", "y"], [1, "CCO", 0.5], [2, "CCN", 1.5]]


@pytest.mark.parametrize("column", ["Structure", "drawn"])
def test_the_sheet_with_structures_is_read(tmp_path, column):
    data = [["No.", column, "y"], *DATA[1:]]
    path = workbook(tmp_path / "a.xlsx", Readme=README, Empty=[], Data=data, Old=DATA[:2])
    assert isonn.load(path).y.tolist() == [0.5, 1.5]
    named = workbook(tmp_path / "b.xlsx", Readme=README, Old=[["smiles", "y"], ["CC", 2.5]], Data=data)
    assert isonn.load(named).y.tolist() == [2.5]
    assert isonn.load(named, smiles=column.upper()).y.tolist() == [0.5, 1.5]


def test_sheets_are_named_where_none_has_structures(tmp_path):
    path = workbook(tmp_path / "a.xlsx", Readme=README, Values=[["No.", "y"], [1, 0.5]])
    with pytest.raises(
        DatasetError,
        match=r"no column of SMILES in any of its sheets \('Readme', 'Values'\); name the columns in the first line",
    ):
        isonn.load(path)
    with pytest.raises(DatasetError, match=r"no column 'x' in any of its sheets \('Readme', 'Values'\)"):
        isonn.load(path, smiles="x")
    alone = workbook(tmp_path / "b.xlsx", Values=[["No.", "y"], [1, 0.5]], Empty=[])
    with pytest.raises(DatasetError, match="no column of SMILES among 'No.', 'y'"):
        isonn.load(alone)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ([["Screen"], *DATA], "has its column names in line 2; delete the line above them"),
        ([["No.", "in", "out"], [1, "CCO", "CCO"], [2, "CCN", "CCN"]], "has SMILES in 'in' and 'out'; choose one"),
    ],
)
def test_no_sheet_is_read_instead_of_one_with_structures_before_it(tmp_path, data, problem):
    path = workbook(tmp_path / "a.xlsx", Readme=README, Data=data, Old=[["smiles", "y"], ["CC", 2.5], ["CCC", 3.5]])
    with pytest.raises(DatasetError, match=rf"sheet 'Data' of .*a\.xlsx {problem}"):
        isonn.load(path)


def test_a_damaged_workbook_is_named(table):
    pytest.importorskip("openpyxl")
    with pytest.raises(DatasetError, match=r"a\.xlsx is not a workbook that can be read"):
        isonn.load(table(b"PK\x03\x04 nothing", "a.xlsx"))


def test_a_parquet_file_is_read_like_a_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"smiles": ["CCO", "CCN"], "y": [0.5, None], "n": [1, 2]})
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.warns(IsoNNWarning, match="no value of y"):
        graphs = isonn.load(tmp_path / "a.parquet", target="y")
    assert (graphs.y.tolist(), graphs.table["n"].tolist()) == ([0.5], [1])
    (tmp_path / "b.parquet").write_bytes(b"nothing")
    with pytest.raises(DatasetError, match="b.parquet is not a Parquet file that can be read"):
        isonn.load(tmp_path / "b.parquet")


def test_all_targets_are_the_columns_that_are_neither_id_nor_structure(table):
    path = table('Compound ID,smiles,"a, b",c,InChI,CAS\nx,CCO,0,yes,,1-1\nz,CC,1,no,,2-2\nw,C,1,,,3-3\n')
    graphs = isonn.load(path, target="all")
    assert graphs.target_names == ("a, b", "c")
    np.testing.assert_array_equal(graphs.y, [[0, 1], [1, 0], [1, np.nan]])
    assert isonn.load(path, target="A, B").y.tolist() == [0, 1, 1]


def test_classes_in_words_are_not_learned_as_numbers_beside_measurements(table):
    path = table("smiles,toxic,IC50\nCCO,yes,0.5\nCC,no,1.5\nC,no,2.5\n")
    with pytest.raises(DatasetError, match="column 'toxic' holds classes and 'IC50' numbers; fit a model to each"):
        isonn.load(path, target="toxic,IC50")
    assert isonn.load(path, target="IC50").y.tolist() == [0.5, 1.5, 2.5]


@pytest.mark.parametrize(
    ("header", "rows", "ids"),
    [
        ("Name,Compound ID,smiles", ["a,1,CCO", "b,2,CC"], ["1", "2"]),
        ("Name,Cpd No,smiles", ["a,1,CCO", "b,2,CC"], ["1", "2"]),
        ("Compound ID,Name,smiles", ["1,a,CCO", "1,b,CC"], ["a", "b"]),
        ("Name,Compound ID,smiles", ["a,1,CCO", "a,1,CC"], ["1", "1"]),
        ("batch_id,mol id,smiles", ["7,a,CCO", "7,b,CC"], ["a", "b"]),
    ],
)
def test_the_id_is_the_unique_column_and_ids_come_before_names(table, header, rows, ids):
    assert isonn.load(table("\n".join([header, *rows, ""]))).ids.tolist() == ids


@pytest.mark.parametrize("name", ["Sample", "Drug", "Catalogue No.", "Cpd No", "our code"])
def test_a_text_that_differs_in_every_row_is_the_id_and_no_target(table, name):
    path = table(f"{name},smiles,a,b,word\nT1,CCO,0,1.5,x\nT2,CC,1,2.5,x\nT3,C,1,3.5,\n")
    graphs = isonn.load(path, target="a,b")
    assert graphs.ids.tolist() == ["T1", "T2", "T3"]
    graphs = isonn.load(table(path.read_text().replace(",word", ",notes")), target="all")
    assert (graphs.target_names, graphs.ids.tolist()) == (("a", "b"), ["T1", "T2", "T3"])


def test_a_name_that_repeats_is_no_target(table):
    rows = "\n".join(f"aspirin{i // 2},{'C' * (i + 1)},{i % 2},{i / 2}" for i in range(60))
    graphs = isonn.load(table(f"Drug,smiles,a,b\n{rows}\n"), target="all")
    assert (graphs.target_names, graphs.ids[1]) == (("a", "b"), "aspirin0")


@pytest.mark.parametrize(("first", "second", "third"), [("0.5", "1.5", "2.5"), ("yes", "no", "yes"), ("x", "y", "")])
def test_numbers_classes_and_gaps_are_no_ids(table, first, second, third):
    path = table(f"what,smiles,a\n{first},CCO,0\n{second},CC,1\n{third},C,1\n")
    assert isonn.load(path, target="a").ids is None


def test_censored_targets_are_numbers(table):
    path = table("smiles,ic50\nCCO,>100\nCC,0.5\nC,3\nCCC,<0.1\nCCCC,2\n")
    with pytest.warns(IsoNNWarning, match=r"2 of 5 values are censored \(1 with > and 1 with <\) and left out"):
        graphs = isonn.load(path)
    assert graphs.y.tolist() == [0.5, 3.0, 2.0]
    assert graphs.table["row"].tolist() == [1, 2, 4]
    with pytest.warns(IsoNNWarning, match="used at their bounds"):
        assert isonn.load(path, censored="bound").y.tolist() == [100.0, 0.5, 3.0, 0.1, 2.0]
    with pytest.warns(IsoNNWarning, match="left out"):
        assert [len(chunk) for chunk in isonn.stream(path, at_once=2)] == [2, 1]


def test_prediction_reads_every_row_of_a_bad_file(table):
    reader = registry.reader_of(path := table("smiles,y\nC(,1\nC),0\nN(,1\nCCO,>5\n"))
    graphs, problems = reader.rows(path, ["y"])
    assert (len(graphs), len(problems)) == (1, 3)
    assert np.isnan(graphs.y).tolist() == [True]


def test_repeats_are_counted_after_standardisation(table):
    path = table("smiles,y\nCCN,0\nCC[NH3+].[Cl-],1\n")
    with pytest.warns(IsoNNWarning) as warned:
        isonn.load(path)
    standardised, repeated = (str(one.message) for one in warned)
    assert standardised.startswith("table.csv: 1 of 2 molecules is standardised")
    assert repeated.endswith("1 of 2 molecules repeats an earlier one (stereo and isotopes aside)")
    assert len(isonn.load(path, standardize="none")) == 2


def test_a_stream_reads_a_file_that_changed_anew(table):
    path = table("smiles,y\nCCO,1\nCC,0\nC,1\n")
    chunks = isonn.stream(path, at_once=2)
    assert [chunk.y.tolist() for chunk in [*chunks, *chunks]] == [[1, 0], [1], [1, 0], [1]]
    path.write_text("smiles,y\nCCO,1.5\nCC,0\nC,1\n")
    assert [chunk.y.tolist() for chunk in chunks] == [[1.5, 0], [1]]


def test_a_column_with_a_unit_is_found_by_its_name_alone(tmp_path):
    (tmp_path / "m.csv").write_text(
        "smiles,IC50 (uM),logS [mol/L]\n" + "".join(f"{'C' * n}O,{n}.5,-{n}.1\n" for n in range(1, 9))
    )
    graphs = isonn.load(tmp_path / "m.csv", target="logs")
    np.testing.assert_allclose(graphs.y, [-n - 0.1 for n in range(1, 9)])
