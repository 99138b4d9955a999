"""The waterfall of a score adds up, and holds nothing but text."""

from __future__ import annotations

import re

import numpy as np
import pytest

import isonn
from isonn.report.waterfall import steps_of, waterfall


@pytest.fixture(scope="module")
def explained(mutag: isonn.GraphSet) -> isonn.explain.Explanation:
    return isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(mutag).explain(mutag[0])


def test_the_bars_lead_from_the_base_to_the_score(explained) -> None:
    steps = steps_of(explained)
    np.testing.assert_allclose(sum(step.value for step in steps[:-1]), explained.score, atol=1e-9)
    bars = [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', waterfall(explained))]
    values = np.array([abs(step.value) for step in steps])
    long = values > 0.05 * values.max()  # a bar is at least one pixel long
    np.testing.assert_allclose(np.array(bars)[long] / bars[0], values[long] / values[0], rtol=0.1)


def test_factors_of_a_number_learned_as_a_logarithm_lead_from_the_base_to_the_prediction(mutag: isonn.GraphSet) -> None:
    y = 10.0 ** np.array([np.sum(graph.node_labels == 1) - np.sum(graph.node_labels == 2) / 2 for graph in mutag])
    reg = isonn.SubgraphRegressor(2, random_state=0).fit(mutag, y)
    e = reg.explain(mutag[0])
    assert e.logarithm
    base, *factors, predicted = re.findall(r'<text class="value"[^>]*>([^<]+)<', waterfall(e))
    product = float(base) * np.prod([_factor(text) for text in factors])
    np.testing.assert_allclose([product, float(predicted)], reg.predict(mutag[:1])[0], rtol=0.1)
    lines = e.summary().splitlines()
    assert f"base: {base})" in lines[0]
    product = float(base) * np.prod([_factor(line.strip().split("  ")[0]) for line in lines[1:]])
    np.testing.assert_allclose(product, reg.predict(mutag[:1])[0], rtol=0.1)
    assert [reason.effect for reason in e.reasons] == [line.strip().split("  ")[0] for line in lines[1:-1]]


def _factor(text: str) -> float:
    sign, number = text.split()
    value = 10 ** float(number[3:]) if number.startswith("10^") else float(number)
    return {"\u00d7": value, "\u00f7": 1 / value}[sign]


def test_names_are_escaped(explained) -> None:
    named = isonn.explain.Explanation(explained.source, names={"node": dict.fromkeys(range(7), "<script>")})
    assert "<script>" not in waterfall(named)


def test_models_that_do_not_add_up_have_none(mutag: isonn.GraphSet) -> None:
    pytest.importorskip("torch")
    paper = isonn.IsoNNClassifier(k=2, c=1, epochs=1, random_state=0).fit(mutag)
    assert waterfall(paper.explain(mutag[0])) == ""
