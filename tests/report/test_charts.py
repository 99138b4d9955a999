"""Charts place values where their axis says."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from isonn.report.charts import learning_curves, scatter


def test_larger_values_lie_further_right_and_all_lie_inside():
    svg = scatter([0.001, 0.5, 70.0], [1.0, 2.0, 3.0], "title <b>", "x", "y")
    ElementTree.fromstring(svg)
    places = [float(x) for x in re.findall(r'class="small" cx="([\d.]+)"', svg)]
    assert places == sorted(places)
    assert all(0 <= place <= 360 for place in places)
    assert "title &lt;b&gt;" in svg


def test_a_log_axis_gives_equal_factors_equal_room_and_marks_its_ticks():
    for values in ([0.01, 0.1, 1.0, 10.0, 1000.0], [2.0, 4.0, 8.0], [3.0, 3.0], [1e-9, 1.0, 1e12]):
        picture = scatter(values, values, "t", "x", "y", diagonal=True, logarithmic=True)
        dots = [float(x) for x in re.findall(r'<circle class="small" cx="([\d.]+)"', picture)]
        ticks = re.findall(r'<text class="tick" x="([\d.]+)" y="228">([^<]+)<', picture)
        assert all(44 <= x <= 350 for x in dots)
        places = np.array([*dots, *(float(x) for x, _ in ticks)])
        logs = np.log10([*values, *(float(text) for _, text in ticks)])
        assert ticks
        assert len(ticks) < 10
        if np.ptp(logs):
            np.testing.assert_allclose(np.polyval(np.polyfit(logs, places, 1), logs), places, atol=0.1)


def test_equal_values_have_an_axis():
    ElementTree.fromstring(scatter([50.0, 50.0], [50.0, 50.0], "t", "x", "y"))
    ElementTree.fromstring(learning_curves({"a & b": {10: 50.0, 20: 50.0}}, "t"))


def test_a_scatter_plot_has_a_dot_per_pair_and_without_any_is_no_picture():
    assert scatter([1.0, 2.0], [1.0, 3.0], "t", "x", "y", diagonal=True).count("<circle") == 2
    assert scatter([], [], "t", "x", "y") == ""


def test_a_falling_line_goes_down_the_page():
    svg = learning_curves({"error": {size: 1.0 / size for size in range(1, 13)}}, "t")
    points = [tuple(map(float, xy)) for xy in re.findall(r'class="mark" x="([\d.]+)" y="([\d.]+)"', svg)][:12]
    assert points == sorted(points)
    assert [y for _, y in points] == sorted(y for _, y in points)


def test_a_contribution_points_to_its_side():
    jinja2 = pytest.importorskip("jinja2")
    bar = jinja2.Environment(loader=jinja2.PackageLoader("isonn.report", "html")).get_template("macros.html").module.bar
    for_it, against = bar(1.0, 2.0), bar(-2.0, 2.0)
    assert 'class="pos" x="50.0" y="2" width="25.0"' in for_it
    assert 'class="neg" x="0.0" y="2" width="50.0"' in against
    assert 'width="0.0"' in bar(0.0, 0.0)
