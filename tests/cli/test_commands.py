"""The commands as a user meets them: real processes, exit codes, one sentence on bad input."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from tests_commands import refused, run

import isonn
from isonn.errors import IsoNNWarning
from isonn.training import train

COMMAND = (sys.executable, "-m", "isonn")
WINDOWS = ("--method", "isonn")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "mutag"
    result = run("fit", "MUTAG", "--out", path, *WINDOWS, "--set", "epochs=3", "--set", "k=3")
    assert result.returncode == 0, result.stderr
    assert "training score" in result.stdout
    return path


def test_fit_writes_the_model_the_library_would(model, mutag, tmp_path):
    clf = isonn.IsoNNClassifier(k=3, epochs=3, random_state=0).fit(mutag)
    np.testing.assert_equal(isonn.load_model(model).predict_proba(mutag), clf.predict_proba(mutag))
    assert [path.name for path in model.parent.iterdir()] == ["mutag"]


def test_predict_writes_a_line_per_graph(model, mutag, tmp_path):
    out = tmp_path / "predictions.csv"
    result = run("predict", model, "MUTAG", "--out", out)
    assert result.returncode == 0
    assert "accuracy" in result.stderr
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    clf = isonn.load_model(model)
    assert [int(row["predicted"]) for row in rows] == clf.predict(mutag).tolist()
    np.testing.assert_allclose([float(row["p(1)"]) for row in rows], clf.predict_proba(mutag)[:, 1], atol=1e-6)
    assert run("predict", model, "MUTAG").stdout == out.read_text()
    assert len(json.loads(run("predict", model, "MUTAG", "--json").stdout)) == 188


@pytest.mark.skipif(sys.platform == "win32", reason="no kill, and no locks on temporary folders")
def test_a_fit_that_was_killed_while_saving_leaves_no_model_and_the_same_command_makes_it(tmp_path):
    command = ["fit", "MUTAG", *WINDOWS, "--set", "epochs=2", "--set", "k=2", "--out", str(tmp_path / "model")]
    code = "import os, pathlib\npathlib.Path.rename = lambda *_: os.kill(os.getpid(), 9)\n"
    code += f"import sys\nsys.argv = {['isonn', *command]}\nfrom isonn.cli import main\nmain()"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".model.")
    for _ in range(2):
        result = run(*command)
        assert [path.name for path in tmp_path.iterdir()] == ["model"]
    refused(result, "model exists already; choose another --out, or remove it first")


def test_of_two_fits_to_one_folder_the_slower_leaves_nothing(tmp_path, monkeypatch):
    def train_and_be_overtaken(*given):
        history = train(*given)
        (tmp_path / "model").mkdir()  # another fit was quicker
        return history

    monkeypatch.setattr("isonn.torch_estimator.train", train_and_be_overtaken)
    options = (*WINDOWS, "--set", "epochs=2", "--set", "k=2", "--set", "c=1", "--out", tmp_path / "model")
    refused(run("fit", "MUTAG", *options), "exists already")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert not list((tmp_path / "model").iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on file sizes")
def test_a_full_disk_ends_fit_in_one_sentence_and_leaves_nothing_behind(tmp_path):
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        result = run("fit", "MUTAG", *WINDOWS, "--set", "epochs=2", "--set", "k=2", "--out", tmp_path / "model")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    refused(result, f"isonn: {tmp_path}", "cannot be written")
    assert not list(tmp_path.iterdir())


def test_cost_says_what_it_would_cost(tmp_path):
    facts = json.loads(run("cost", "MUTAG", "--k", 4, "--c", 1, "--json").stdout)
    assert facts["permutations"] == 24
    assert facts["regions"] == 188 * 25 * 25
    assert facts["distinct"] < facts["regions"] / 100
    assert facts["matchings"]["exact"]["rank_correlation"] == pytest.approx(1)
    assert facts["matchings"]["assigned"]["rank_correlation"] > 0.97
    assert "definition" not in facts["matchings"]  # it took 9 GB at k = 7
    text = run("cost", "MUTAG", "--k", 12).stdout
    assert "479,001,600" in text
    assert "not possible: k=12 means" in text
    assert "needs k >= 2" in run("cost", "MUTAG", "--k", 1).stdout


def test_data_commands_describe_what_is_there():
    names = [row["name"] for row in json.loads(run("data", "list", "--json").stdout)]
    assert {"MUTAG", "PTC", "PTC_MR", "HIV-fMRI", "HIV-DTI", "BP-fMRI"} <= set(names)
    facts = json.loads(run("data", "info", "MUTAG", "--json").stdout)
    assert (facts["graphs"], facts["classes"]) == (188, {"-1": 63, "1": 125})
    assert "mutag" in run("data", "fetch", "MUTAG").stdout.lower()


def test_version_and_help():
    assert run("--version").stdout.strip() == isonn.__version__
    assert "evaluate" in run("--help").stdout


def write_tu(folder, edges="1, 2\n2, 1\n3, 4\n4, 3\n", indicator="1\n1\n2\n2\n", labels="0\n1\n"):
    folder.mkdir()
    (folder / "X_A.txt").write_text(edges)
    (folder / "X_graph_indicator.txt").write_text(indicator)
    (folder / "X_graph_labels.txt").write_text(labels)
    return folder


def test_bad_input_is_one_sentence_and_leaves_nothing(tmp_path, model):
    out = tmp_path / "out"
    fit = ("fit", "MUTAG", "--out", out, *WINDOWS, "--set", "epochs=1")
    offline = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    refused(run(*fit, "--set", "k=0"), "k=0", ">= 1")
    refused(run(*fit, "--set", "c=0"), "c=0")
    refused(run(*fit, "--set", "k=12"), "479,001,600 permutations", "assigned")
    refused(run(*fit, "--set", "k=1", "--set", "matching=assigned"), "needs k >= 2")
    refused(run(*fit, "--set", "matching=magic"), "magic", "exact")
    refused(run(*fit, "--set", "layers=[[3]]"), "layers=((3,),) are not pairs")
    refused(run(*fit, "--set", "layers=[[2,3]]", "--set", "k=4"), "layers replaces k and c")
    refused(run("fit", "MUTAG", "--out", "."), ". exists already; choose another --out")
    np.savez(tmp_path / "unknown.npz", adjacency=np.ones((4, 5, 5)))
    refused(
        run("fit", tmp_path / "unknown.npz", "--out", out), "unknown has no targets to learn; add labels (.npz, .mat)"
    )
    refused(run(*fit, "--set", "normalize=rows"), "normalize='rows' is unknown; use one of 'positions'")
    refused(run(*fit, "--set", "layers=[[2,3],[2,9],[2,9],[2,9],[2,9]]"), "layer 5 of 5")
    refused(run(*fit, "--method", "gin"), "gin")
    refused(run("fit", "MUTAGG", "--out", out, **offline), "MUTAGG", "did you mean MUTAG")
    refused(run("fit", tmp_path / "nowhere.npz", "--out", out), "nowhere.npz")
    one = write_tu(tmp_path / "one", labels="1\n1\n")
    refused(run("fit", one, "--out", out, "--max-nodes", 2), "one class only")
    edge = write_tu(tmp_path / "edge", edges="1, 2\n2, 9\n")
    refused(run("fit", edge, "--out", out, "--max-nodes", 2), "9")
    short = write_tu(tmp_path / "short", labels="1\n")
    refused(run("fit", short, "--out", out, "--max-nodes", 2), "labels")
    tiny = write_tu(tmp_path / "tiny")
    refused(run("fit", tiny, "--out", out, *WINDOWS, "--set", "k=3"), "k=3", "use k <= 2")
    refused(run("fit", tiny, "--out", out, "--set", "view=degrees", "--max-nodes", 1), "X: no graph has", "max_nodes")
    refused(run("predict", tmp_path / "no-model", "MUTAG"), "not a model folder")
    refused(run("cost", "MUTAG", "--k", 40), "k=40", "28")
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((*WINDOWS, "--set", "size=100000"), ("99,997 x 99,997 numbers take", "GB of this machine")),
        ((*WINDOWS, "--set", f"k={10**22}"), ("k=10000000000000000000000 is too large",)),
        ((*WINDOWS, "--set", f"c={10**9}"), ("c=1000000000 is too large; use at most 1,000,000",)),
        ((*WINDOWS, "--set", f"c={10**6}"), ("maps of 188 x 1,000,000", "GB of this machine")),
        ((*WINDOWS, "--set", "learning_rate=Infinity"), ("learning_rate=inf is too large; use at most 1,000",)),
        (("--jobs", 10**6), ("--jobs=1000000 is too large; use at most 1,024",)),
    ],
)
def test_sizes_that_would_exhaust_the_machine_are_refused_with_the_limit(options, words, tmp_path):
    refused(run("fit", "MUTAG", *options, "--out", tmp_path / "out"), *words)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_a_fit_in_one_sentence_and_leaves_nothing(name, tmp_path, monkeypatch):
    monkeypatch.setattr("isonn.torch_estimator.train", lambda *_: signal.raise_signal(getattr(signal, name)))
    result = run(
        "fit", "MUTAG", *WINDOWS, "--set", "epochs=3", "--set", "k=2", "--set", "c=1", "--out", tmp_path / "model"
    )
    assert result.returncode == 130
    assert result.stderr == "isonn: stopped; nothing was kept\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_sigterm_ends_a_run_that_ignores_ctrl_c(monkeypatch):
    """Scripts start what runs in the background so."""
    ended = []
    monkeypatch.setattr("isonn.load", lambda _: ended.append(signal.raise_signal(signal.SIGTERM)))
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert run("data", "info", "MUTAG").returncode == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended == []


@pytest.mark.skipif(sys.platform == "win32", reason="no such devices")
@pytest.mark.parametrize("how", ["nobody reads", "closed", "full"])
def test_output_that_nobody_takes_is_no_traceback(how):
    if how == "nobody reads":
        reader, stdout = os.pipe()
        os.close(reader)
    else:
        stdout = os.open("/dev/full" if how == "full" else os.devnull, os.O_WRONLY if how == "full" else os.O_RDONLY)
    try:
        found = subprocess.run([*COMMAND, "data", "list"], stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60)
    finally:
        os.close(stdout)
    assert found.returncode != 0
    assert "Traceback" not in found.stderr
    assert len(found.stderr.splitlines()) <= 1


def started(code, *arguments):
    """What happens to the console command in a process of its own, with this code before it."""
    argv = ["isonn", *(arguments or ["--version"])]
    code = f"import signal, sys\n{code}\nsys.argv = {argv}\nfrom isonn.__main__ import run\nrun()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)


DURING_IMPORTS = """
class Finder:
    def find_spec(self, module, path=None, target=None):
        if module == "{module}":
            try:
                signal.raise_signal(signal.{name})
            except KeyboardInterrupt as error:
                raise {error}
sys.meta_path.insert(0, Finder())"""
#: Python prints what such a callback raises, and goes on.
IN_A_CALLBACK = """
import ctypes, time
from isonn.cli import app

@app.command()
def slow():
    ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.{name}))()
    time.sleep(30)
    print("lost")"""
AFTERWARDS = "import atexit\natexit.register(lambda: signal.raise_signal(signal.{name}))"


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize(
    ("code", "arguments", "ending"),
    [
        (DURING_IMPORTS.replace("{module}", "typer").replace("{error}", "error"), (), None),
        # a compiled module turns the signal into an error
        (DURING_IMPORTS.replace("{module}", "numpy").replace("{error}", "ImportError"), ("data", "list"), 130),
        (IN_A_CALLBACK, ("slow",), 130),
        (AFTERWARDS, (), 0),
    ],
    ids=["imports", "compiled module", "callback", "afterwards"],
)
def test_a_signal_ends_the_command_without_a_word(code, arguments, ending, name):
    found = started(code.replace("{name}", name), *arguments)
    ended = -getattr(signal, name) if ending is None else ending
    said = f"{isonn.__version__}\n" if ending == 0 else ""
    assert (found.returncode, found.stdout, found.stderr) == (ended, said, "")


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_a_signal_at_any_moment_prints_no_traceback():
    """The first tenth of a second is Python's own start, in which Ctrl-C prints one whatever a script does."""
    command = [sys.executable, "-m", "isonn", "data", "list"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    for number, process in enumerate(runs):
        time.sleep(0.15)
        process.send_signal((signal.SIGTERM, signal.SIGHUP, signal.SIGINT)[number % 3])
    for process in runs:
        assert "Traceback" not in process.communicate(timeout=60)[1]


def test_outputs_that_exist_are_not_overwritten(tmp_path, model):
    there = tmp_path / "there"
    there.write_text("mine")
    refused(run("fit", "MUTAG", "--out", there), "exists already")
    refused(run("predict", model, "MUTAG", "--out", there), "exists already")
    assert there.read_text() == "mine"


def test_a_graph_larger_than_the_training_graphs_is_refused(tmp_path, mutag):
    small = isonn.IsoNNClassifier(k=2, c=1, epochs=1, hidden=(4,)).fit(mutag[np.flatnonzero(mutag.sizes < 20)])
    small.save(tmp_path / "small")
    refused(run("predict", tmp_path / "small", "MUTAG"), "28 nodes", "fit with size=28")


@pytest.mark.filterwarnings("always")
def test_a_warning_is_a_sentence_and_no_line_of_source(monkeypatch):
    monkeypatch.setattr("isonn.cli.app", lambda: warnings.warn("few graphs", IsoNNWarning, stacklevel=1))
    assert run("anything").stderr == "isonn: few graphs\n"
