"""Tables of text: an endless cell is refused, and a stray byte spoils a matrix but not a table of molecules."""

from __future__ import annotations

import pytest

from isonn.errors import DatasetError
from isonn.graphs.io.tables import read_table, table_rows


def test_a_quote_that_is_never_closed_is_refused(tmp_path):
    path = tmp_path / "open.csv"
    path.write_text('smiles,active\n"CCO,1\n' + "CCN,0\n" * 30_000)
    for read in (read_table, lambda path: list(table_rows(path))):
        with pytest.raises(
            DatasetError, match=r"open\.csv is not a table \(field larger than field limit \(131072\)\)"
        ):
            read(path)


@pytest.mark.parametrize("data", [b"name,x\na\x9d,1\n", "name,x\na,1\n".encode("utf-16")[:-1]], ids=["byte", "cut"])
def test_bytes_that_are_not_text_are_refused_in_tables_of_numbers_only(tmp_path, data):
    path = tmp_path / "stray.csv"
    path.write_bytes(data)
    with pytest.raises(DatasetError, match=r"stray\.csv is not text in UTF-8 \(.*\); save it as UTF-8"):
        read_table(path)
    header, row = table_rows(path)
    assert header == ["name", "x"]
    assert "\ufffd" in "".join(row)
