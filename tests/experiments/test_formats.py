"""Rows as people and programs read them."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from isonn.experiments.findings import findings
from isonn.experiments.rows import Row, Spread
from isonn.experiments.spec import Sweep
from isonn.experiments.tables import legend, markdown, render

ROW = Row(
    dataset="A",
    method="isonn",
    settings={"k": 4},
    protocol="paper",
    metrics={
        "accuracy": Spread(78.44, 2.21, {0: 76.0, 1: 80.9}, (76.1, 80.2)),
        "f1": Spread(77.0, 1.0, {0: 76.0, 1: 78.0}, (70.0, 80.0)),
    },
    printed={"accuracy": 83.3, "f1": 83.0},
    fit_seconds=1.2345,
    jobs=6,
    finished=6,
    errors=(),
    flip_rate=33.51,
)


def with_accuracy(row: Row, spread: Spread) -> Row:
    return replace(row, metrics={**row.metrics, "accuracy": spread})


OTHER = replace(
    ROW, method="size", settings={}, printed=None, p=0.0312, against="isonn", flip_rate=0.0, fit_seconds=117.4
)
BEST = replace(with_accuracy(OTHER, Spread(90.0, 1.0, {0: 89.0, 1: 91.0}, (85.0, 95.0))), method="freq", p=0.0004)
FAILED = replace(OTHER, method="cnn", metrics={}, p=None, flip_rate=None, fit_seconds=None)
ABSENT = replace(FAILED, dataset="B", printed={"accuracy": 60.0, "f1": 50.0}, absent="data not public")


def text_of(rows: list[Row], width: int = 120) -> str:
    console = Console(file=StringIO(), width=width)
    console.print(render(rows, width))
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_the_terminal_shows_what_is_known_of_each_method() -> None:
    head, _, *lines = text_of([ROW, OTHER, BEST, FAILED]).splitlines()
    assert head.split() == ["method", "seeds", "accuracy", "95", "%", "F1", "paper", "p", "flips", "s/fit"]
    assert lines[0].split("  ")[0] == "isonn (k=4)"
    for part in ("78.4 ± 2.2", "76.1, 80.2", "77.0 ± 1.0", "83.3", "33.5", "1.234"):
        assert part in lines[0]
    assert lines[1].split()[-3:] == [".031", "0.0", "117"]
    assert "<.001" in lines[2]
    assert lines[3].split() == ["cnn", "-", "failed", "-", "failed", "-", "-", "-", "-"]


def test_columns_without_a_value_are_left_out_and_the_legend_says_what_is_there() -> None:
    bare = with_accuracy(replace(ROW, flip_rate=None), replace(ROW.metrics["accuracy"], interval=None))
    assert text_of([bare]).split()[:6] == ["method", "seeds", "accuracy", "F1", "paper", "s/fit"]
    assert legend([bare]) == []
    (line,) = legend([ROW, OTHER])
    assert all(name in line for name in ("95 %: ", "p: ", "flips: "))
    assert "settled" not in line
    (narrow,) = legend([ROW, OTHER], 40)  # it speaks of the columns that are shown
    shown = text_of([ROW, OTHER], 40).splitlines()[0]
    assert [name in narrow for name in ("95 %: ", "p: ", "flips: ")] == [
        name in shown.split() for name in ("95", "p", "flips")
    ]
    assert "95 %: " not in narrow


def test_eighty_columns_hold_everything_and_fewer_cut_no_number() -> None:
    long = replace(ROW, method="isonn-assigned", settings={"k": 4, "c": 1, "epochs": 130, "matching": "assigned"})
    shown = text_of([long, OTHER], width=80)
    assert "76.1, 80.2" in shown
    for width in (80, 60, 50):
        shown = text_of([long, OTHER], width)
        assert "…" not in shown
        assert "78.4 ± 2.2" in shown
        assert max(map(len, shown.splitlines())) <= width
        assert "matching=assigned)" in shown  # settings are wrapped between words


def test_brackets_in_a_setting_are_no_markup() -> None:
    assert "(k=[3])" in text_of([replace(ROW, settings={"k": [3]})])


def test_a_dataset_that_is_not_there_shows_the_papers_number_and_why() -> None:
    line = text_of([ABSENT]).splitlines()[2]
    assert "data not public" in line
    assert "60.0" in line
    assert "failed" not in line


def test_markdown_has_the_papers_f1_and_bold_only_by_the_test() -> None:
    lines = markdown([ROW, OTHER, BEST]).splitlines()
    head = [cell.strip() for cell in lines[0].strip("|").split("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    assert [len(row) for row in cells] == [len(head)] * 3
    assert (cells[0][head.index("paper")], cells[0][head.index("paper's F1")]) == ("83.3", "83.0")
    assert [row[head.index("accuracy")] for row in cells] == ["78.4 ± 2.2", "78.4 ± 2.2", "**90.0 ± 1.0**"]
    assert "**" not in markdown([ROW, OTHER, replace(BEST, p=0.2)])


def test_findings_name_the_best_value_beside_the_papers() -> None:
    sweep = Sweep("by-k", "t", "accuracy", "k", (2, 4), paper={"A": 4})
    other = with_accuracy(replace(ROW, settings={"k": 2}), Spread(80.0, None, {0: 80.0}))
    assert findings(sweep, [ROW, other, replace(ROW, dataset="B")]) == [
        "A: best k = 2 (80.0); the paper's: 4, 1.6 points less, less than a standard deviation; "
        "fewer than 5 seeds tell no two values apart",
        "B: best k = 4 (78.4 ± 2.2); fewer than 5 seeds tell no two values apart",
    ]
    loss = Sweep("by-epoch", "t", "loss", paper={"A": 50})
    assert findings(loss, [replace(ROW, loss=(1.0, 0.0, 0.0, 0.0))]) == [
        "A: the loss settles by epoch 2; the paper's: 50"
    ]
    assert findings(loss, [replace(ROW, dataset="B", loss=(4.0, 3.0, 2.0, 1.0))]) == [
        "B: the loss still falls at epoch 4"
    ]
    late = replace(ROW, loss=(1.0, 1.0, 0.0, 0.0, 0.0, 0.0))
    assert findings(replace(loss, paper={"A": 2}), [late]) == [
        "A: the loss settles by epoch 3, later than the paper says; the paper's: 2"
    ]
    assert findings(sweep, [ABSENT]) == findings(loss, [ABSENT]) == []


def timed(method: str, **settings: float) -> Row:
    seconds = settings.pop("seconds")
    return replace(ROW, method=method, settings=settings, fit_seconds=seconds)


def test_findings_say_how_time_grows_and_who_is_ahead() -> None:
    by_k = Sweep("t", "t", "seconds", "k", (2, 3, 4))
    rows = [timed("isonn", k=k, seconds=s) for k, s in ((2, 1.0), (3, 2.0), (4, 4.0))]
    rows += [timed("isonn-fast", k=k, seconds=s) for k, s in ((2, 1.05), (3, 4.0), (4, 2.0))]
    exact, fast, ahead = findings(by_k, rows)
    assert exact == "isonn on A: time grows by a factor of 2.00 per node from k = 2 to 4, as the permutations do (3.5)"
    assert "a factor of 1.38 per node from k = 2 to 4, far less than the permutations" in fast
    assert ahead == (
        "A training epoch, forward and backward: fast is ahead at k = 4; exact is ahead at k = 3; equal at 1 others"
    )
    by_c = Sweep("t", "t", "seconds", "c", (1, 2, 3))
    assert findings(by_c, [timed("isonn", c=c, seconds=2.0 + 3 * c) for c in (1, 2, 3)]) == [
        "isonn on A: linear in c, 3 s per fit and c"
    ]
    assert "not linear in c" in findings(by_c, [timed("isonn", c=c, seconds=s) for c, s in ((1, 1), (2, 9), (3, 2))])[0]


@pytest.mark.parametrize(("p", "text"), [(0.99999, "1"), (0.5, ".500"), (0.0, "<.001")])
def test_p_is_short(p: float, text: str) -> None:
    assert text in text_of([replace(OTHER, p=p)]).split()


def test_numbers_have_their_own_columns_and_smaller_errors_are_bold() -> None:
    rmse = {"rmse": Spread(0.8512, None, {0: 0.8512}, (0.8, 0.9), 3), "r2": Spread(0.9, None, {0: 0.9}, None, 3)}
    worse = {"rmse": Spread(1.5, None, {0: 1.5}, (1.2, 1.8), 3), "r2": Spread(0.1, None, {0: 0.1}, None, 3)}
    ours = replace(ROW, method="isonn-subgraph", settings={}, metrics=rmse, printed=None, protocol="fair")
    theirs = replace(OTHER, protocol="fair", metrics=worse, against="isonn-subgraph", p=0.01)
    assert text_of([ours, theirs]).splitlines()[0].split() == ["method", "RMSE", "95", "%", "R²", "p", "flips", "s/fit"]
    assert "| isonn-subgraph | **0.851** | 0.800, 0.900 | 0.900 |" in markdown([ours, theirs])
    (line,) = legend([ours, theirs])
    assert "corrected resampled t-test of the RMSE against isonn-subgraph" in line
    assert "interval of the mean over all folds, corrected for the graphs they share" in line
