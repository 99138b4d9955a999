"""Charts place values where their axis says."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np

from isonn.report.charts import scatter


def test_larger_values_lie_further_right_and_all_lie_inside():
    ElementTree.fromstring(scatter([50.0, 50.0], [50.0, 50.0], "equal values", "x", "y"))
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


def test_a_scatter_plot_has_a_dot_per_pair_and_without_any_is_no_picture():
    assert scatter([1.0, 2.0], [1.0, 3.0], "t", "x", "y", diagonal=True).count("<circle") == 2
    assert scatter([], [], "t", "x", "y") == ""


def test_falling_values_go_down_the_page():
    svg = scatter(range(1, 13), [1.0 / size for size in range(1, 13)], "error & more", "x", "y")
    ElementTree.fromstring(svg)
    points = [tuple(map(float, xy)) for xy in re.findall(r'class="small" cx="([\d.]+)" cy="([\d.]+)"', svg)]
    assert points == sorted(points)
    assert [y for _, y in points] == sorted(y for _, y in points)
