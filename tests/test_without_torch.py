"""torch is an extra: everything but the models that are made of it works without it."""

from __future__ import annotations

import subprocess
import sys

BLOCK = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NoTorch())
import numpy as np
import isonn
"""

SUBGRAPHS = """
graphs = isonn.load("MUTAG")
clf = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs[:60])
assert clf.predict(graphs[60:70]).shape == (10,)
explanation = clf.explain(graphs[60])
assert explanation.reasons
clf.save(sys.argv[1] + "/model")
assert (isonn.load_model(sys.argv[1] + "/model").predict(graphs) == clf.predict(graphs)).all()
reg = isonn.SubgraphRegressor(max_nodes=2, random_state=0).fit(graphs[:60], graphs.sizes[:60].astype(float))
reg.predict(graphs[:3])
"""

ARRAYS = """
rng = np.random.default_rng(0)
adjacency = [np.triu(rng.random((6, 6)) < 0.4, 1).astype(float) for _ in range(12)]
graphs = isonn.as_graphset([a + a.T for a in adjacency])
isonn.SubgraphClassifier(max_nodes=2, random_state=0).fit(graphs, np.arange(12) % 2).predict(graphs)
isonn.report, isonn.experiments, isonn.audit, isonn.explain
"""

WINDOWS = """
for name in ("IsoNNClassifier", "IsoNNRegressor", "nn", "matching"):
    try:
        getattr(isonn, name)
    except isonn.errors.MissingDependencyError as error:
        assert str(error) == f"isonn.{name} needs torch, which is not installed; pip install 'isonn[torch]'", error
    else:
        raise AssertionError(name)
for name in ("nn", "matching", "training"):
    try:
        exec(f"from isonn.{name} import *")
    except isonn.errors.MissingDependencyError as error:
        assert str(error) == f"isonn.{name} needs torch, which is not installed; pip install 'isonn[torch]'", error
    else:
        raise AssertionError(name)
"""

PAGES = """
graphs = isonn.load("MUTAG")
isonn.SubgraphClassifier(max_nodes=2, random_state=0).fit(graphs).save(sys.argv[1] + "/explained")
from isonn.cli import main
folder = sys.argv[1]
sys.argv = ["isonn", "explain", folder + "/explained", "MUTAG", "--graph", "0", "--out", folder + "/page.html"]
main()
"""


def test_what_needs_no_torch_runs_without_it(tmp_path):
    code = BLOCK + SUBGRAPHS + ARRAYS + WINDOWS + PAGES  # in one process: most of the time goes to imports
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False, timeout=300
    )
    assert run.returncode == 0, run.stderr[-2000:]
