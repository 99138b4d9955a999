"""Charts place values where their axis says."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from isonn.report.charts import Strip, bar, dot_plot, line_chart, loss_chart


def test_larger_values_lie_further_right_and_all_lie_inside():
    svg = dot_plot([Strip("one & only", [0.001, 0.5, 70.0], [3.0])], "title <b>")
    ElementTree.fromstring(svg)
    places = [float(x) for x in re.findall(r'class="small" cx="([\d.]+)"', svg)]
    assert places == sorted(places)
    assert all(0 <= place <= 360 for place in places)
    assert "title &lt;b&gt;" in svg


def test_equal_values_have_an_axis():
    ElementTree.fromstring(dot_plot([Strip("same", [50.0, 50.0], [50.0], 50.0, (50.0, 50.0))], "t"))
    ElementTree.fromstring(loss_chart([[0.0, 0.0]], "t"))
    ElementTree.fromstring(line_chart({"a & b": {10: 50.0, 20: 50.0}}, "t", "training graphs"))


def test_nothing_to_draw_is_no_picture():
    assert dot_plot([], "t") == ""


def test_a_long_curve_keeps_its_ends():
    svg = loss_chart([[float(1000 - i) for i in range(1000)]], "t")
    path = re.search(r'class="thin" d="([^"]+)"', svg).group(1)
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
