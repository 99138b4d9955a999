"""Charts place values where their axis says."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from isonn.report.charts import Strip, bar, curves, dot_plot, sweep


@pytest.mark.parametrize("log", [False, True])
def test_larger_values_lie_further_right_and_all_lie_inside(log):
    svg = dot_plot([Strip("one & only", [0.001, 0.5, 70.0], [3.0])], "title <b>", log=log)
    ElementTree.fromstring(svg)
    places = [float(x) for x in re.findall(r'class="small" cx="([\d.]+)"', svg)]
    assert places == sorted(places)
    assert all(0 <= place <= 360 for place in places)
    assert "title &lt;b&gt;" in svg


def test_equal_values_have_an_axis():
    ElementTree.fromstring(dot_plot([Strip("same", [50.0, 50.0], [50.0], 50.0, (50.0, 50.0))], "t"))
    ElementTree.fromstring(curves({"a": [[0.0, 0.0]]}, "t", "epoch"))


def test_nothing_to_draw_is_no_picture():
    assert dot_plot([], "t") == ""
    assert curves({"a": [[1.0]]}, "t", "epoch") == ""
    assert curves({"a": [[float("nan"), float("nan")]]}, "t", "epoch") == ""
    assert sweep({3: [1.0]}, "t", "k") == ""


def test_a_long_curve_keeps_its_ends():
    svg = curves({"a": [[float(1000 - i) for i in range(1000)]]}, "t", "epoch")
    path = re.search(r'class="thin c0" d="([^"]+)"', svg).group(1)
    assert 100 < path.count("L") < 200
    xs = [float(pair.split()[0]) for pair in path[1:].split("L")]
    assert xs == sorted(xs)
    ys = [float(pair.split()[1]) for pair in path[1:].split("L")]
    assert ys == sorted(ys)  # falling loss: further down the page


def test_a_contribution_points_to_its_side():
    for_it, against = bar(1.0, 2.0), bar(-2.0, 2.0)
    assert 'class="pos" x="50.0" y="2" width="25.0"' in for_it
    assert 'class="neg" x="0.0" y="2" width="50.0"' in against
    assert 'width="0.0"' in bar(0.0, 0.0)
