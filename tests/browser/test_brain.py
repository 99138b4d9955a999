from __future__ import annotations

import pytest

import isonn
from isonn.connectomes import Atlas, brain_page, findings, planted_connectomes


def test_the_brain_page_opens_offline_without_a_console_error(browser, tmp_path, violations):
    pytest.importorskip("nilearn")
    study = planted_connectomes(n_regions=20, effect=0.6, seed=1)
    clf = isonn.AlignedClassifier(shuffles=9, random_state=0).fit(study.graphs)
    atlas = Atlas(study.graphs[0].node_names, study.coordinates)
    brain_page(findings(clf, label="patient"), tmp_path / "brain.html", atlas=atlas)
    problems, requests = [], []
    page = browser.new_page()
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / "brain.html").as_uri())
    frame = page.frames[1]
    frame.wait_for_selector(".plot-container, #connectome-plot", timeout=20_000)
    page.wait_for_timeout(1000)
    # without a graphics card plotly says so; that is no fault of the page
    assert [problem for problem in problems if "WebGL" not in problem] == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "about:", "blob:"))] == []
    for width, height in ((1280, 900), (390, 800)):  # the first screen has the answer with its number, and the brain
        page.set_viewport_size({"width": width, "height": height})
        for part in (".answer", "iframe"):
            box = page.locator(part).bounding_box()
            assert box["y"] + box["height"] <= height, (part, width)
    assert "worth +" in page.locator(".answer").inner_text()
    assert page.locator("h1").inner_text() == "Connections that speak for patient"
    page.evaluate("document.querySelector('iframe').remove()")  # nilearn's own page
    assert violations(page) == []
