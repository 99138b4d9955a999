"""The registry of methods, and of protocols."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from isonn.errors import InputError
from isonn.experiments.methods import METHODS, build, resolve_methods
from isonn.experiments.protocols import find_protocol
from isonn.graphs import GraphSet, balanced_folds


def test_names_keep_their_order_and_all_is_every_one() -> None:
    assert resolve_methods(" size,majority,size") == ("size", "majority")
    assert resolve_methods("size,all") == ("size", *[name for name in METHODS if name != "size"])


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        ("majorty", "no method 'majorty'; did you mean majority?"),
        (
            "size,xyzzy",
            "no method 'xyzzy'; use one of isonn, isonn-subgraph, .*, cpm, tangent-svm, .*, degrees, all$",
        ),
        (" ,", "no method was named; use some of isonn, isonn-subgraph, .*, ecfp-linear, .*, all$"),
    ],
)
def test_names_that_are_no_method_are_answered_with_those_that_are(names: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint.replace("?", r"\?")):
        resolve_methods(names)


def test_the_seed_and_the_size_go_to_methods_that_take_them_and_settings_win() -> None:
    assert (
        build("isonn", {"k": 3}, seed=5, size=28).get_params().items()
        >= {"k": 3, "random_state": 5, "size": 28}.items()
    )
    assert build("isonn", {"size": 40}, seed=5, size=28).get_params()["size"] == 40
    assert build("majority", {}, seed=5, size=28).get_params() == {}


def test_a_setting_the_method_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match="degrees has no setting 'k'; it takes bins"):
        build("degrees", {"k": 3}, seed=0, size=28)


def test_listing_methods_loads_no_numerical_library() -> None:
    code = (
        "import sys; from isonn.experiments.methods import resolve_methods; print(resolve_methods('all')); "
        "assert not {'numpy', 'sklearn', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


WITHOUT_TORCH = """
import sys

class NoTorch:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, NoTorch)
import isonn
from isonn.experiments.jobs import plan, run_job
from isonn.experiments.methods import METHODS, build
from isonn.experiments.study import unsupported_reason

graphs = isonn.load("MUTAG")
for method in ("isonn-subgraph", "wl-svm", "edges", "size"):
    assert unsupported_reason(method, {}, graphs) is None, method
    run_job(plan(graphs, [method], {}, "paper", 1)[0], graphs)
for method in ("isonn", "cnn", "ae", "sdbn", "gcn", "gin"):
    print(method, unsupported_reason(method, {}, graphs))
"""


def test_without_torch_methods_that_need_it_are_left_out_and_the_extra_is_named() -> None:
    run = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    said = run.stdout.splitlines()
    assert len(said) == 6
    assert all("needs torch" in line and "pip install 'isonn[torch]'" in line for line in said), said


def test_the_paper_protocol_is_balanced_folds_of_the_seed(graphs: GraphSet) -> None:
    assert graphs.y is not None
    for ours, theirs in zip(find_protocol("paper").split(graphs, 7), balanced_folds(graphs.y, 3, 7), strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1], theirs[1])


def test_protocols_that_cannot_split_a_set_say_why(graphs: GraphSet) -> None:
    with pytest.raises(InputError, match="planted house was released without folds; use the paper protocol"):
        find_protocol("released").split(graphs, 0)
    with pytest.raises(InputError, match="planted house has no classes"):
        find_protocol("paper").split(graphs.with_y(None), 0)
    with pytest.raises(InputError, match=r"no protocol 'papre'; did you mean paper\?"):
        find_protocol("papre")
