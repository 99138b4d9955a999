from __future__ import annotations

import runpy
import shutil
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any

import pytest
from sample_run import make_comparison, make_run

QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's chromium, driven by playwright; skipped where one of them is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra dev)")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium on this machine; apt-get install chromium to test pages in a browser")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu", *QUIET])
        yield started
        started.close()


class Tab:
    """A tab of the browser that opens pages from disk one after the other, and what went wrong with them."""

    kind = ""

    def __init__(self, browser: Any) -> None:
        self.problems: list[str] = []
        self.page = browser.new_page()
        self.page.on("console", lambda message: self.problems.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("request", self._request)

    def _request(self, request: Any) -> None:
        if request.url.split(":", 1)[0] not in ("file", "data") or (
            request.url.startswith("file") and request.resource_type != "document"
        ):
            self.problems.append(f"request: {request.url}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.page, name)

    def open(self, path: Path, width: int = 1280, scheme: str = "light") -> Tab:
        """Open a page afresh."""
        self.page.goto("about:blank")
        self.show(width, color_scheme=scheme)
        self.page.goto(path.as_uri())
        return self

    def show(self, width: int, height: int = 900, media: str = "screen", color_scheme: str = "light") -> None:
        """Change how the page is looked at."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(media=media, color_scheme=color_scheme)

    def check(self) -> None:
        """Fail if the pages so far complained or asked for anything."""
        problems, self.problems = self.problems, []
        assert problems == []


@pytest.fixture(scope="module")
def tabs(browser: Any) -> Iterator[Any]:
    """One tab for the page that several tests look at, and one for those that use a page.

    A page in a tab that is there costs a third of a page in a new tab.
    """
    both = Tab(browser), Tab(browser)
    yield both
    for tab in both:
        tab.page.close()


@pytest.fixture(scope="session")
def violations() -> Any:
    """Finds what breaks a rule of level A or AA, in the light and in the dark scheme."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed (extra dev)")
    levels = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
    options = {"runOnly": {"type": "tag", "values": levels}, "resultTypes": ["violations"]}

    def find(page: Any) -> list[tuple[str, str, list[str]]]:
        page.evaluate(axe.Axe().axe_script)
        found = []
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for rule in page.evaluate("options => axe.run(options).then(result => result.violations)", options):
                found.append((scheme, rule["id"], [node["html"][:120] for node in rule["nodes"][:3]]))
        return found

    return find


#: Every page kind, by the fixture that writes it.
KINDS = ("report", "small_model_page", "explained", "matrix_page", "molecule_page", "one_molecule", "alerts_page",
         "connectome_page", "regression_page", "window_page", "comparison")  # fmt: skip


@pytest.fixture(scope="module", params=KINDS)
def any_page(request: Any, tabs: tuple[Tab, Tab]) -> Iterator[Any]:
    """A page of each kind, opened once for all tests that only look; they say how with ``show``."""
    page = tabs[0].open(request.getfixturevalue(request.param))
    page.kind = request.param
    yield page
    page.check()


@pytest.fixture
def open_page(tabs: tuple[Tab, Tab]) -> Iterator[Any]:
    """Opens a page, and fails if it complained or asked for anything."""
    yield tabs[1].open
    tabs[1].check()


@pytest.fixture(scope="session")
def report(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report page in which every name is an attack."""
    from isonn.report.page import write
    from isonn.report.run_page import report_page

    folder = tmp_path_factory.mktemp("report")
    run, data = make_run(folder)
    write(folder / "report.html", report_page(run, data=str(data)).text)
    return folder / "report.html"


@pytest.fixture(scope="session")
def clf(mutag: Any) -> Any:
    """A model of all molecules of MUTAG."""
    import isonn

    return isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0).fit(mutag)


@pytest.fixture(scope="session")
def model_page(make_model_page: Any, mutag: Any) -> Path:
    """The page of a model of all molecules of MUTAG, held out for this purpose."""
    path: Path = make_model_page(len(mutag))
    return path


@pytest.fixture(scope="session")
def small_model_page(browser: Any, clf: Any, mutag: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same page with 6 molecules, for what does not depend on how many there are."""
    path = tmp_path_factory.mktemp("small") / "model.html"
    clf.report(mutag[:6], None, path, cross_fit=False)
    return path


@pytest.fixture(scope="session")
def make_model_page(browser: Any, clf: Any, mutag: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes pages of any number of graphs: the first molecules of MUTAG, over and over."""
    import numpy as np

    from isonn.report.model_page import ModelPage
    from isonn.report.page import write
    from isonn.report.page_models import held_out

    few = mutag[:60]
    panels = ModelPage(held_out(clf, few)).cases.panels

    def make(number: int) -> Path:
        path = tmp_path_factory.mktemp("large") / "large.html"
        page = ModelPage(held_out(clf, few))
        many = [copy(panels[i % len(panels)]) for i in range(number)]
        for i, panel in enumerate(many):
            panel.number, panel.name = i, str(i)
        assert len(np.unique([panel.number for panel in many])) == number
        page.cases.panels, explain = many, page.cases.explanation
        page.cases.explanation = lambda i: explain(panels[i % len(panels)].number)  # some mistakes are drawn again
        write(path, page.html())
        return path

    return make


@pytest.fixture(scope="session")
def explained(browser: Any, clf: Any, mutag: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of ten molecules."""
    from isonn.report.explain_page import explain_page
    from isonn.report.page import write

    path = tmp_path_factory.mktemp("explained") / "mutag.html"
    write(path, explain_page(clf, mutag, range(10))[0])
    return path


@pytest.fixture(scope="session")
def matrix_page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of dense graphs, drawn as matrices."""
    import numpy as np

    import isonn
    from isonn.report.explain_page import explain_page
    from isonn.report.page import write

    draw = np.random.default_rng(0)
    weights = draw.normal(size=(12, 20, 20))
    graphs = isonn.as_graphset(weights + weights.transpose(0, 2, 1), y=np.arange(12) % 2)
    clf = isonn.IsoNNClassifier(k=2, c=2, epochs=3, hidden=(8,), random_state=0).fit(graphs)
    path = tmp_path_factory.mktemp("matrix") / "matrix.html"
    write(path, explain_page(clf, graphs, range(6))[0])
    return path


@pytest.fixture(scope="session")
def comparison(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page that compares methods on several datasets."""
    from isonn.report.page import write
    from isonn.report.run_page import report_page

    folder = tmp_path_factory.mktemp("comparison")
    write(folder / "compare.html", report_page(make_comparison(folder)).text)
    return folder / "compare.html"


@pytest.fixture(scope="session")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A model of molecules labelled by a rule, the molecules it was fitted to, and others."""
    pytest.importorskip("rdkit")
    import isonn

    path = tmp_path_factory.mktemp("molecules") / "molecules.csv"
    example = Path(__file__).parents[2] / "examples" / "alerts.py"
    runpy.run_path(str(example))["write_molecules"](path, 240)
    graphs = isonn.load(path)
    clf = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs[:200])
    return clf, graphs[:200], graphs[200:240]


@pytest.fixture(scope="session")
def molecule_page(molecules: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a model of molecules."""
    clf, _, others = molecules
    path = tmp_path_factory.mktemp("molecule") / "report.html"
    clf.report(others[:6], None, path)
    return path


@pytest.fixture(scope="session")
def one_molecule(molecules: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a single explanation."""
    path = tmp_path_factory.mktemp("one") / "why.html"
    molecules[0].explain("Cc1ccc([N+](=O)[O-])cc1").to_html(path)
    return path


@pytest.fixture(scope="session")
def alerts_page(molecules: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of structural alerts."""
    clf, graphs, _ = molecules
    path = tmp_path_factory.mktemp("alerts") / "alerts.html"
    clf.alerts(graphs).to_html(path)
    return path


@pytest.fixture(scope="session")
def connectome_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a model of brain networks, drawn as matrices."""
    import isonn
    from isonn.connectomes import planted_connectomes

    graphs = planted_connectomes(n_regions=20, effect=0.6, seed=1).graphs
    path = tmp_path_factory.mktemp("connectome") / "report.html"
    clf = isonn.AlignedClassifier(shuffles=9, random_state=0).fit(graphs[::2])
    clf.report(graphs[1:12:2], None, path)
    return path


@pytest.fixture(scope="session")
def regression_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a model of numbers."""
    import isonn

    graphs = isonn.load("MUTAG")
    path = tmp_path_factory.mktemp("regression") / "report.html"
    clf = isonn.SubgraphRegressor(max_nodes=2, random_state=0).fit(graphs[:60], graphs.sizes[:60] / 3)
    clf.report(graphs[60:66], graphs.sizes[60:66] / 3, path)
    return path


@pytest.fixture(scope="session")
def window_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the paper's model."""
    import isonn

    graphs = isonn.load("MUTAG")
    path = tmp_path_factory.mktemp("window") / "report.html"
    clf = isonn.IsoNNClassifier(k=3, c=2, epochs=3, random_state=0).fit(graphs[:60])
    clf.report(graphs[120:126], None, path)
    return path
