"""kill -9, at any moment: what is finished stays, and going on leaves what an undisturbed run leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from isonn.experiments.jobs import plan
from isonn.experiments.store import Store
from isonn.graphs import GraphSet

KILLS = 10

#: Everything is imported once; each run is then a fork of this process and so starts, and can be killed, at once.
SCRIPT = """
import os, random, signal, sys, time
from isonn.graphs import planted_motifs
from isonn.experiments.run import execute
from isonn.experiments.jobs import plan, run_job
from isonn.experiments.store import Store

folder, kills = sys.argv[1], int(sys.argv[2])
graphs = planted_motifs(n_graphs=30, n_nodes=(8, 12), seed=0).graphs
jobs = plan(graphs, ["wl", "degrees", "size"], {}, "paper", seeds=4)
for job in (jobs[0], jobs[3], jobs[6]):
    run_job(job, graphs)  # imports what the methods need

def run(name):
    store = Store(os.path.join(folder, name))
    return sum(1 for _ in execute(store.missing(jobs), {graphs.name: graphs}, store))

def forked(name):
    child = os.fork()
    if child == 0:
        run(name)
        os._exit(0)
    return child

def finished():
    jobs_folder = os.path.join(folder, "killed", "jobs")
    names = os.listdir(jobs_folder) if os.path.isdir(jobs_folder) else []
    return sum(name.endswith(".json") and name[0] != "." for name in names)

start = time.monotonic()
assert os.waitpid(forked("undisturbed"), 0)[1] == 0
one_job = (time.monotonic() - start) / len(jobs)
moments = random.Random(20261115)
left = []
for _ in range(kills):
    # Counted in jobs rather than seconds, which a busy machine stretches; 10 runs of about 2 jobs leave work to do.
    enough = finished() + moments.randrange(3)
    child = forked("killed")
    while finished() < enough:
        time.sleep(0.0005)
    time.sleep(moments.uniform(0, one_job))
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL, "it had ended before"
    left.append(len(jobs) - finished())
assert os.waitpid(forked("killed"), 0)[1] == 0
print(*left)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")
def test_ten_kills_and_going_on_leave_what_an_undisturbed_run_leaves(graphs: GraphSet, tmp_path: Path, untimed) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), str(KILLS)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 0, run.stderr
    left = [int(number) for number in run.stdout.split()]
    assert len(left) == KILLS
    assert left == sorted(left, reverse=True)  # nothing finished is lost
    jobs = plan(graphs, ["wl", "degrees", "size"], {}, "paper", seeds=4)
    assert 0 < left[-1] < len(jobs)  # every kill met a run with work before it, and some with work behind
    undisturbed, killed = Store(tmp_path / "undisturbed"), Store(tmp_path / "killed")
    assert [untimed(killed.get(job)) for job in jobs] == [untimed(undisturbed.get(job)) for job in jobs]
    assert killed.set_aside == []  # no half-written file was ever under the name of a result
    names = [sorted(file.name for file in store.folder.rglob("*.json")) for store in (undisturbed, killed)]
    assert names[0] == names[1]
