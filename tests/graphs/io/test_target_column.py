"""Columns as targets: what the cells of chemists' tables mean."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from isonn.errors import DatasetError, InputError
from isonn.graphs.io.target_column import Measured, measured, read_target, unit_of, values_option


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("5", Measured(5.0)),
        ("-1,5e3", Measured(-1500.0)),
        (">100", Measured(100.0, ">")),
        ("≥ 100", Measured(100.0, ">")),
        ("<=0.5", Measured(0.5, "<")),
        ("~3", Measured(3.0, "~")),
        ("3.2 ± 0.4", Measured(3.2, "~")),
        ("> 10 uM", Measured(10.0, ">", "µM")),
        ("\u22120.5", Measured(-0.5)),
        ("1\u202f200\u00a0nM", Measured(1200.0, "", "nM")),
        ("12 mg/kg", Measured(12.0, "", "mg/kg")),
        ("inf", None),
        ("low", None),
        ("1A", None),
        ("2020-01-02", None),
    ],
)
def test_a_cell_is_a_number_with_a_sign_and_a_unit_or_text(text, cell):
    assert measured(text) == cell


@pytest.mark.parametrize("cells", [["950", "1,200", "3"], [">10,000", "0.5"], ["1,234,567", "12"], ["7", "1,200.5"]])
def test_commas_that_may_group_thousands_are_refused(cells):
    with pytest.raises(DatasetError, match=r"'LD50' holds '1.*may mean 1\d+ or 1.*; write thousands without commas"):
        read_target(cells, "LD50")


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["0,5", "1,200", "3"], [0.5, 1.2, 3]),
        (["0,123", "1,234"], [0.123, 1.234]),
        (["5,432", "7,301"], [5.432, 7.301]),
    ],
)
def test_commas_are_decimal_where_some_cell_or_all_cells_say_so(cells, numbers):
    values, _ = read_target(cells)
    assert_array_equal(values, numbers)


def test_bounds_are_missing_or_used_and_never_classes():
    cells = [">100", "<0.5", "3", "~4", ""]
    values, reading = read_target(cells)
    assert_array_equal(values, [np.nan, np.nan, 3, 4, np.nan])
    assert reading.kind == "numbers"
    assert len(reading.told) == 2
    assert_array_equal(read_target(cells, censored="bound")[0], [100, 0.5, 3, 4, np.nan])
    with pytest.raises(InputError, match="censored='keep' is unknown; use 'drop' or 'bound'"):
        read_target(cells, censored="keep")


@pytest.mark.parametrize(
    ("rare", "common", "kind"),
    [
        (0, 20, "classes"),
        (0, 21, "numbers"),
        (10, 0, "classes"),
        (11, 0, "numbers"),
        (6, 6, "numbers"),
        (6, 7, "classes"),
    ],
)
def test_whole_numbers_are_numbers_if_they_have_many_values_or_many_that_are_rare(rare, common, kind):
    cells = [str(i) for i in range(rare)] * 4 + [str(100 + i) for i in range(common)] * 5
    assert read_target(cells)[1].kind == kind
    assert read_target(cells, numbers=True)[1].kind == "numbers"
    assert read_target(cells, numbers=False)[0].dtype.kind == "i"


def test_measurements_are_not_classes():
    with pytest.raises(DatasetError, match="column 'y' holds measurements, not classes; leave numbers=False out"):
        read_target(["0.5", "1"], "y", numbers=False)


def test_spellings_of_a_class_are_one_class():
    values, reading = read_target(["yes", "YES ", "no", "No", "yes"], "hit")
    assert values.tolist() == ["yes", "yes", "no", "no", "yes"]
    assert reading.told == (
        "'hit': 'YES', 'yes' are read as one class, 'yes'",
        "'hit': 'No', 'no' are read as one class, 'no'",
    )


def test_spellings_of_two_answers_are_written_alike():
    """Else "Yes" would sort before "no", and "no" be the class that alerts warn of."""
    assert set(read_target(["Yes", "yes", "Yes", "no", "No", "no"])[0].tolist()) == {"yes", "no"}
    assert set(read_target(["Yes", "No", "YES", "Yes"])[0].tolist()) == {"Yes", "No"}
    mapped = read_target(["Yes", "No", "inconclusive"], values={"inconclusive": "no"})[0]
    assert mapped.tolist() == ["Yes", "No", "No"]


def test_short_forms_of_answers_are_the_same_classes():
    values, reading = read_target(["positive", "POS", "+", "Positive", "neg", "-", "negative", "-"], "Ames")
    assert values.tolist() == ["positive"] * 4 + ["negative"] * 4
    assert "'Ames': '+', 'POS', 'Positive', 'positive' are read as one class, 'positive'" in reading.told
    assert set(read_target(["+", "-", "-"])[0].tolist()) == {"+", "-"}
    assert read_target(["pos", "+", "-", "weak"], values={"weak": "+"})[0].tolist() == ["positive"] * 2 + [
        "negative",
        "positive",
    ]
    with pytest.raises(DatasetError, match=r"holds 'equivocal' \(1 row\) beside '-' and 'pos'"):
        read_target(["pos", "-", "pos", "equivocal"])


def test_the_unit_of_a_logarithm_is_one_of_a_logarithm():
    units = {name: unit_of(name) for name in ("log Papp (cm/s)", "-logS [mol/L]", "Logan score (points)", "lg c (M)")}
    assert list(units.values()) == ["log cm/s", "log mol/L", "points", "lg M"]


@pytest.mark.parametrize("cells", [["yes", "no", "maybe"], ["1", "0", "n.d."], ["a", "b", "inconclusive"]])
def test_a_value_that_is_no_answer_is_refused(cells):
    with pytest.raises(DatasetError, match=rf"holds '{cells[2]}' \(2 rows\) beside .*; values='"):
        read_target(cells * 2)
    assert len(set(read_target(cells * 2, values={cells[2].upper(): cells[1]})[0].tolist())) == 2
    missing = read_target(cells * 2, values={cells[2]: None})[1].value(cells[2])
    assert missing is None


def test_texts_among_numbers_are_refused():
    with pytest.raises(
        DatasetError, match=r"holds 'low' \(1 row\) among 3 numbers; values='low=' leaves these rows out"
    ):
        read_target(["1.5", "2.5", "low", "3.5"])
    assert_array_equal(read_target(["1.5", "low"], values={"low": "0"})[0], [1.5, 0])


def test_three_classes_stay_three_classes():
    assert read_target(["high", "medium", "low"] * 2)[0].tolist()[:3] == ["high", "medium", "low"]


@pytest.mark.parametrize("cells", [["5 nM", "3 uM"], ["5 nM", "3"]])
def test_mixed_units_are_refused(cells):
    with pytest.raises(DatasetError, match="column 'y' mixes units: nM"):
        read_target(cells, "y")


def test_units_are_kept_from_names_and_cells():
    assert read_target(["5 nM", "3 nM"])[1].unit == "nM"
    assert read_target(["5", "3"], "IC50 (uM)")[1].unit == "uM"
    assert read_target(["5", "3"], "IC50 (uM)")[1].kind == "numbers"
    assert [unit_of(name) for name in ("logS, mol/L", "p_np", "Activity")] == ["log mol/L", "", ""]


def test_dates_are_no_target():
    for cell in ("2020-01-02", "02.01.2020", "1/2/20", "2-Jan-2020", "2020-01-02 10:00:00"):
        with pytest.raises(DatasetError, match="holds dates such as"):
            read_target([cell, cell])


def test_text_is_not_read_as_numbers():
    with pytest.raises(DatasetError, match="column 'y' holds text such as 'a', not numbers"):
        read_target(["a", "b"], "y", numbers=True)


def test_a_text_for_values_needs_an_equals_sign():
    with pytest.raises(InputError, match="values='inconclusive' names no value; write inconclusive=no, or"):
        values_option(["inconclusive"])
    with pytest.raises(InputError, match="values='1=yes,0=no' holds several; give a list, or --values once for each"):
        values_option("1=yes,0=no")
