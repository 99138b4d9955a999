"""Campaigns against isonn: mutated input, kill -9, signals, full disks, closed pipes, flipped bits, rivals, a soak.

`make torture` runs them all, two at a time, and prints one table; finished campaigns are not run again.

    python tools/torture.py                          all, into runs/torture
    python tools/torture.py fits flips --share 0.05  a twentieth of two of them

Commands run in forks of this process, in which everything is already imported, so that a kill hits work and not
imports. Those that start processes run as from a shell. POSIX only.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
#: The kinds of counts, with the heading of their column. All but the cases should be 0.
COLUMNS = {
    "cases": "cases",
    "traceback": "tracebacks",
    "hang": "hangs over 20 s",
    "memory": "RSS over 2 GB",
    "silent": "silent changes",
    "lost": "lost results",
    "orphan": "orphans",
    "stray": "stray files",
}
HANG_SECONDS = 20.0
MOST_MEMORY = 2**31
#: Seconds until Python reaches a script's first line; Ctrl-C before that always prints a traceback.
PYTHON_STARTS = 0.1
LONGEST = 300


@dataclass
class Tally:
    """The counts of a campaign, and its failures in words."""

    share: float

    def __post_init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.notes: list[str] = []
        self.draw = random.Random(20261117)

    def times(self, number: int) -> range:
        """Return the cases of a campaign: this many, or the requested share."""
        return range(max(1, round(number * self.share)))

    def bad(self, kind: str, note: str) -> None:
        """Count a failure."""
        self.counts[kind] += 1
        self.notes.append(f"{kind}: {note}")
        print(f"  {kind}: {note}", flush=True)


# Commands: started, watched, compared


@dataclass(frozen=True)
class Command:
    """A command of isonn with a known outcome.

    Attributes:
        arguments: as on the command line; files are written to ``out`` in its working folder.
        again: options that continue a stopped run.
        processes: whether it starts processes of its own.
    """

    name: str
    arguments: tuple[str, ...]
    again: tuple[str, ...] = ()
    processes: bool = False


_WINDOWS = ("fit", "MUTAG", "--method", "isonn", "--set", "k=3", "--set", "c=2", "--set", "epochs=12", "--out", "out")
_EVALUATE = ("evaluate", "MUTAG", "--protocol", "paper", "--methods", "degrees,size", "--seeds", "3", "--out", "out")
_REPRODUCE = ("reproduce", "table", "--datasets", "MUTAG", "--methods", "degrees,size", "--seeds", "5")
COMMANDS = {
    command.name: command
    for command in (
        Command("fit, windows", _WINDOWS),
        Command("fit, subgraphs", ("fit", "MUTAG", "--max-nodes", "3", "--out", "out")),
        Command("fit, bank", ("fit", "MUTAG", "--bank", "bank", "--jobs", "1", "--out", "out")),
        Command("evaluate", (*_EVALUATE, "--jobs", "1")),
        Command("reproduce", (*_REPRODUCE, "--jobs", "1", "--out", "out")),
        Command("evaluate --jobs 2", (*_EVALUATE, "--jobs", "2"), processes=True),
        Command("fit --jobs 2", ("fit", "MUTAG", "--bank", "bank", "--jobs", "2", "--out", "out"), processes=True),
        Command("data list", ("data", "list"), processes=True),
    )
}


@dataclass
class Run:
    """A running command, in its own session."""

    pid: int
    log: Path
    folder: Path
    started: float
    status: int | None = None
    memory: int = 0

    def wait(self, seconds: float) -> bool:
        """Return whether it ended in time."""
        until = time.monotonic() + seconds
        while self.status is None:
            pid, status, used = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.status, self.memory = os.waitstatus_to_exitcode(status), 1024 * used.ru_maxrss
            elif time.monotonic() > until:
                return False
            else:
                time.sleep(0.002)
        return True

    def stop(self, number: int) -> None:
        """Send a signal, if it is still running."""
        if self.status is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    @property
    def text(self) -> str:
        return self.log.read_text(errors="replace")


def start(arguments: Sequence[str], folder: Path, processes: bool = False, stdout: int | None = None) -> Run:
    """Start a command of isonn in a folder; its output goes to a file beside it."""
    log, rest = folder.with_name(folder.name + ".log"), folder.with_name(folder.name + ".tmp")
    folder.mkdir(exist_ok=True)
    rest.mkdir(exist_ok=True)
    begun = time.monotonic()
    with log.open("wb") as file:
        target = file.fileno() if stdout is None else stdout
        if processes:
            pid = subprocess.Popen(
                [sys.executable, "-m", "isonn", *arguments],
                cwd=folder,
                stdout=target,
                stderr=file,
                start_new_session=True,
                env={**os.environ, "TMPDIR": str(rest)},
            ).pid
        else:
            every = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))  # until the fork is the command
            pid = os.fork()
            if pid == 0:
                _be(arguments, folder, rest, target, file.fileno())
            signal.pthread_sigmask(signal.SIG_SETMASK, every)
    return Run(pid, log, folder, begun)


def _be(arguments: Sequence[str], folder: Path, rest: Path, stdout: int, stderr: int) -> None:
    """Run the command line in the fork, then exit without the parent's cleanup."""
    from isonn.__main__ import run

    code = 1
    try:
        os.setsid()
        os.chdir(folder)
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        os.environ["TMPDIR"] = tempfile.tempdir = str(rest)
        sys.argv = ["isonn", *arguments]
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0
    except BaseException:  # noqa: BLE001 - Python would print it, too
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)


def judge(tally: Tally, run: Run, what: str, seconds: float = HANG_SECONDS) -> bool:
    """Wait for a run to end, and count what is wrong with its end."""
    ended = run.wait(seconds)
    if not ended:
        tally.bad("hang", what)
        run.stop(signal.SIGKILL)
        run.wait(5)
    if run.memory > MOST_MEMORY:
        tally.bad("memory", f"{what}: {run.memory >> 20} MB")
    if "Traceback" in run.text or "Exception ignored" in run.text:
        tally.bad("traceback", f"{what}: {run.text[-1500:]}")
    for pid in left_of(run.pid):
        tally.bad("orphan", f"{what}: process {pid}")
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return ended


def left_of(session: int, patience: float = 5.0) -> list[int]:
    """Return the processes of a session that outlive its leader by a few seconds."""
    until = time.monotonic() + patience
    while True:
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = stat.read_text().rpartition(")")[2].split()
                if int(fields[3]) == session and fields[0] != "Z":
                    found.append(int(stat.parent.name))
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.05)


def fingerprint(folder: Path) -> dict[str, str]:
    """Return the files that a command left, by path, without times."""
    return {str(file.relative_to(folder)): _content(file) for file in sorted(folder.rglob("*")) if file.is_file()}


#: Entries that always differ between two runs.
_OWN = {"seconds", "timings", "machine", "sha256", "digest", "fit_seconds", "commit", "predict_seconds"}


def _content(file: Path) -> str:
    if file.suffix == ".json":
        data = json.dumps(_timeless(json.loads(file.read_text())), sort_keys=True).encode()
    elif file.suffix in (".csv", ".md"):
        return "a table with times"
    else:
        data = file.read_bytes()
    if file.suffix == ".safetensors":  # its header may be in any order
        length = 8 + int.from_bytes(data[:8], "little")
        data = json.dumps(json.loads(data[8:length]), sort_keys=True).encode() + data[length:]
    return hashlib.sha256(data).hexdigest()


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(entry) for key, entry in value.items() if key not in _OWN}
    return [_timeless(entry) for entry in value] if isinstance(value, list) else value


def compare(tally: Tally, folder: Path, expected: dict[str, str], what: str) -> None:
    """Count the files that a finished run lost, changed or left behind."""
    found = fingerprint(folder)
    for name in expected.keys() - found.keys():
        tally.bad("lost", f"{what}: {name}")
    for name in found.keys() - expected.keys():
        tally.bad("stray", f"{what}: {name}")
    for name in found.keys() & expected.keys():
        if found[name] != expected[name]:
            tally.bad("silent", f"{what}: {name} differs")
    rest = folder.with_name(folder.name + ".tmp")
    for name in sorted(path.name for path in rest.iterdir()) if rest.is_dir() else ():
        tally.bad("stray", f"{what}: {name} in TMPDIR")


def undisturbed(tally: Tally, command: Command, room: Path) -> tuple[dict[str, str], float]:
    """Return the files that a command leaves, and its seconds."""
    run = start(command.arguments, room / "undisturbed", command.processes)
    judge(tally, run, f"{command.name}, undisturbed", 120)
    if run.status != 0:
        raise SystemExit(f"{command.name} fails undisturbed: {run.text}")
    return fingerprint(room / "undisturbed"), time.monotonic() - run.started


@contextmanager
def room() -> Iterator[Path]:
    """Yield a folder for one command's runs."""
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        yield Path(folder)


# Campaigns


def fits(tally: Tally) -> None:
    """kill -9 of fit at any moment, again and again; going on leaves what an undisturbed run leaves."""
    for name, number in {"fit, windows": 45, "fit, bank": 40, "fit, subgraphs": 35}.items():
        _interrupted(tally, COMMANDS[name], len(tally.times(number)), (signal.SIGKILL,))
    _interrupted(tally, COMMANDS["fit --jobs 2"], len(tally.times(6)), (signal.SIGKILL,))


def runs(tally: Tally) -> None:
    """kill -9 of evaluate and reproduce, in one process and in two; nothing finished is lost."""
    for name, number in {"evaluate": 35, "reproduce": 20, "evaluate --jobs 2": 6}.items():
        _interrupted(tally, COMMANDS[name], len(tally.times(number)), (signal.SIGKILL,))


def signals(tally: Tally) -> None:
    """SIGTERM, SIGHUP and Ctrl-C: a sentence, no orphan, and the run goes on afterwards."""
    every = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    for name, number in {"fit, windows": 15, "fit, bank": 15, "evaluate": 15}.items():
        _interrupted(tally, COMMANDS[name], len(tally.times(number)), every)
    for name, number in {"evaluate --jobs 2": 30, "fit --jobs 2": 30, "data list": 60}.items():
        _interrupted(tally, COMMANDS[name], len(tally.times(number)), every)


def _interrupted(tally: Tally, command: Command, number: int, how: Sequence[int]) -> None:
    """Stop a command this many times, at most four times per folder, and compare the files at the end."""
    done = 0
    with room() as place:
        expected, seconds = undisturbed(tally, command, place)
        for folder in (place / f"run-{i}" for i in range(10 * number)):
            stops, before = min(4, number - done), 0
            while stops:
                run = start(command.arguments + (command.again if before else ()), folder, command.processes)
                if not run.wait(tally.draw.uniform(PYTHON_STARTS * command.processes, 1.05 * seconds)):
                    run.stop(how[done % len(how)])
                judge(tally, run, f"{command.name}, stopped", HANG_SECONDS + 3 * seconds)
                if _is_done(run):
                    break
                if run.status == 2:
                    tally.bad("lost", f"{command.name}, stopped: {run.text[-600:]}")
                tally.counts["cases"] += 1
                stops, done, before = stops - 1, done + 1, before + 1
            run = start(command.arguments + (command.again if before else ()), folder, command.processes)
            judge(tally, run, f"{command.name}, going on", HANG_SECONDS + 3 * seconds)
            if not _is_done(run):
                tally.bad("lost", f"{command.name} does not go on: {run.text[-600:]}")
            compare(tally, folder, expected, command.name)
            shutil.rmtree(folder)
            if done >= number:
                return


def _is_done(run: Run) -> bool:
    """Return whether a command ended well, now or when it was stopped after its last file was written."""
    return run.status == 0 or (run.status == 2 and "exists already" in run.text)


def cluster(tally: Tally) -> None:
    """kill -9 of workers, scheduler and client of a dask cluster on loopback."""
    arguments = (*_EVALUATE, "--seeds", "6")
    with room() as place:
        expected, _ = undisturbed(tally, Command("evaluate", (*arguments, "--jobs", "1")), place)
        for i in tally.times(13):
            folder, victim = place / f"run-{i}", ("worker", "scheduler", "client")[i % 3]
            for attempt in range(2):
                with _dask(place / f"dask-{i}-{attempt}") as (address, processes):
                    run = start((*arguments, "--cluster", address), folder, True)
                    jobs, enough = folder / "out" / "jobs", tally.draw.randrange(1, 30)
                    until = time.monotonic() + 60
                    while attempt == 0 and run.status is None and time.monotonic() < until:
                        if jobs.is_dir() and len(list(jobs.glob("*.json"))) >= enough:
                            break
                        run.wait(0.01)
                    if attempt == 0 and run.status is None:
                        tally.counts["cases"] += 1
                        run.stop(signal.SIGKILL) if victim == "client" else processes[victim].kill()
                    judge(tally, run, f"dask, {victim} killed", 90)
                    if run.status != 0 and (attempt or victim == "worker"):
                        tally.bad("lost", f"dask, {victim} killed: {run.text[-600:]}")
            compare(tally, folder, expected, f"dask, {victim} killed")


@contextmanager
def _dask(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Start a scheduler and two workers."""
    folder.mkdir()
    about, made = folder / "scheduler.json", {}

    def begin(name: str, *options: str) -> None:
        command = [sys.executable, "-m", "dask", name.split()[0], "--host", "127.0.0.1", "--no-dashboard", *options]
        with (folder / f"{name}.log").open("wb") as log:
            made[name] = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)

    try:
        begin("scheduler", "--port", "0", "--scheduler-file", str(about))
        while not about.exists() or not about.read_text():
            time.sleep(0.05)
        address = str(json.loads(about.read_text())["address"])
        for name in ("worker", "worker 2"):
            begin(name, address, "--no-nanny", "--nthreads", "1", "--local-directory", str(folder))
        yield address, made
    finally:
        for process in made.values():
            process.kill()
            process.wait()


def full_disk(tally: Tally) -> None:
    """A disk that is full after some kilobytes: one sentence, nothing half-written, and going on once there is room."""
    for name in ("fit, windows", "fit, subgraphs", "fit, bank", "evaluate"):
        _filled(tally, COMMANDS[name], len(tally.times(20)))


def _filled(tally: Tally, command: Command, number: int) -> None:
    """Run a command this many times on a disk without room, then with room, and compare the files at the end."""
    name = command.name
    with room() as place:
        expected, seconds = undisturbed(tally, command, place)
        size = sum(file.stat().st_size for file in (place / "undisturbed").rglob("*") if file.is_file())
        for folder in (place / f"run-{i}" for i in range(number)):
            with _small_disk(folder, int(tally.draw.uniform(0.02, 1.2) * size)) as grow:
                run = start(command.arguments, folder)
                judge(tally, run, f"{name}, full disk", HANG_SECONDS + 3 * seconds)
                tally.counts["cases"] += 1
                said = [line for line in run.text.splitlines() if line.startswith("isonn: ")]
                if run.status not in (0, 2) or (run.status == 2 and (not said or len(said[-1]) > LONGEST + 100)):
                    tally.bad("traceback", f"{name}, full disk, exit {run.status}: {run.text[-600:]}")
                if run.status == 2 and any((folder / file).exists() for file in ("out/model.json", "dossier.html")):
                    tally.bad("stray", f"{name}, full disk: half a model or page")
                grow()
                if run.status:
                    run = start(command.arguments + command.again, folder)
                    judge(tally, run, f"{name}, after a full disk", HANG_SECONDS + 3 * seconds)
                    if run.status != 0:
                        tally.bad("lost", f"{name}, after a full disk: {run.text[-600:]}")
                compare(tally, folder, expected, f"{name}, full disk")


@contextmanager
def _small_disk(folder: Path, size: int) -> Iterator[Callable[[], None]]:
    """Yield a folder with little space, and a function that adds more: a tmpfs, or limited files without that right."""
    folder.mkdir()
    size = max(4096, size // 4096 * 4096)
    mount = ["mount", "-t", "tmpfs", "-o"]
    if subprocess.run([*mount, f"size={size}", "tmpfs", folder], check=False, capture_output=True).returncode:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, before[1]))
        try:
            yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        return
    try:
        yield lambda: subprocess.run(["mount", "-o", "remount,size=100m", folder], check=True)  # type: ignore[func-returns-value]
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def pipes(tally: Tally) -> None:
    """Output that nobody reads: a closed pipe, a closed descriptor, a full device."""
    with room() as place:
        undisturbed(tally, COMMANDS["fit, subgraphs"], place)
        model = str(place / "undisturbed" / "out")
        commands = [
            ("data", "list"),
            ("data", "info", "MUTAG"),
            ("predict", model, "MUTAG"),
            ("explain", model, "MUTAG", "--graph", "0"),
            (*_EVALUATE, "--jobs", "1"),
            (*_EVALUATE, "--jobs", "1", "--json"),
            ("fit", "MUTAG", "--max-nodes", "2", "--out", "out"),
            ("cost", "MUTAG"),
            ("doctor",),
            ("--help",),
            ("--version",),
        ]
        for i, arguments in enumerate(commands):
            for how in ("nobody", "closed", "full")[: len(tally.times(3))]:
                folder = place / f"run-{i}-{how}"
                with _no_reader(how) as stdout:
                    run = start(arguments, folder, processes=True, stdout=stdout)
                    judge(tally, run, f"{' '.join(arguments[:2])}, {how}", 60)
                tally.counts["cases"] += 1


@contextmanager
def _no_reader(how: str) -> Iterator[int]:
    if how == "nobody":
        reader, writer = os.pipe()
        os.close(reader)
    else:
        writer = os.open("/dev/full" if how == "full" else os.devnull, os.O_RDONLY if how == "closed" else os.O_WRONLY)
    try:
        yield writer
    finally:
        os.close(writer)


def flips(tally: Tally) -> None:
    """One flipped bit in a model, bank or result: refused, or the same answers."""
    import isonn

    graphs = isonn.load("MUTAG")[:60]
    with room() as place:
        for name, (files, use) in _stored(place, graphs).items():
            expected = use()
            kept = {file: file.read_bytes() for file in files}
            for _ in tally.times(2000 // 5):
                file = tally.draw.choice(files)
                data = bytearray(kept[file])
                bit = tally.draw.randrange(8 * len(data))
                data[bit // 8] ^= 1 << bit % 8
                file.write_bytes(data)
                _same_or_refused(tally, use, expected, f"{name}, bit {bit} of {file.name}")
                for path, content in kept.items():
                    path.write_bytes(content)


def _stored(place: Path, graphs: Any) -> dict[str, tuple[list[Path], Callable[[], Any]]]:
    """Return everything that isonn stores on disk: its files, and how to read them."""
    import isonn
    from isonn.experiments.jobs import plan
    from isonn.experiments.run import execute
    from isonn.experiments.store import Store

    isonn.SubgraphClassifier(max_nodes=2, random_state=0).fit(graphs).save(place / "subgraph")
    isonn.SubgraphClassifier(max_nodes=2, head="trees", random_state=0).fit(graphs).save(place / "trees")
    windows = isonn.IsoNNClassifier(k=2, c=1, hidden=(8,), epochs=2, random_state=0)
    windows.fit(graphs).save(place / "windows")
    counted = isonn.SubgraphClassifier(max_nodes=2, random_state=0)
    counted.fit(isonn.stream(graphs, at_once=20, bank=place / "bank"))
    jobs = plan(graphs, ["size"], {}, "paper", seeds=1)
    for _ in execute(jobs, {graphs.name: graphs}, Store(place / "store")):
        pass

    def model(name: str) -> Callable[[], Any]:
        return lambda: isonn.load_model(place / name).predict_proba(graphs).tolist()

    def banked() -> Any:
        return counted.fit(isonn.stream(graphs, at_once=20, bank=place / "bank")).predict_proba(graphs).tolist()

    def results() -> Any:
        store = Store(place / "store")
        return [store.get(job) for job in jobs if store.get(job) is not None]

    return {
        "model of subgraphs": (sorted((place / "subgraph").iterdir()), model("subgraph")),
        "model of trees": (sorted((place / "trees").iterdir()), model("trees")),
        "model of windows": (sorted((place / "windows").iterdir()), model("windows")),
        "bank": (sorted((place / "bank").iterdir()), banked),
        "results": (sorted((place / "store").rglob("*.json")), results),
    }


def _same_or_refused(tally: Tally, use: Callable[[], Any], expected: Any, what: str) -> None:
    from isonn.errors import IsoNNError

    tally.counts["cases"] += 1
    begun = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = use()
    except IsoNNError as error:
        if len(str(error)) > LONGEST or "\n" in str(error):
            tally.bad("traceback", f"{what}: {len(str(error))} characters")
    except Exception as error:  # noqa: BLE001 - anything else is what this looks for
        tally.bad("traceback", f"{what}: {type(error).__name__}: {str(error)[:300]}")
    else:
        set_aside = isinstance(expected, list) and len(found) < len(expected) and all(one in expected for one in found)
        if found != expected and not set_aside:
            tally.bad("silent", what)
    if time.monotonic() - begun > HANG_SECONDS:
        tally.bad("hang", what)


def forged(tally: Tally) -> None:
    """Trees, weights and format of a model changed, with right checksums: refused, or an answer; never a crash."""
    import numpy as np
    from safetensors.numpy import load_file, save_file

    import isonn
    from isonn.errors import ModelFileError
    from isonn.model_files import JSON_NAME, TENSORS_NAME, digest_of

    def sign(folder: Path, **changes: Any) -> None:
        description = {**json.loads((folder / JSON_NAME).read_text()), **changes}
        description["sha256"] = hashlib.sha256((folder / TENSORS_NAME).read_bytes()).hexdigest()
        description["digest"] = digest_of(description)
        (folder / JSON_NAME).write_text(json.dumps(description))

    def restore(kept: dict[Path, bytes]) -> None:
        for path, content in kept.items():
            path.write_bytes(content)

    graphs = isonn.load("MUTAG")[:60]
    extremes = (0, -1, 1, 2**31 - 1, -(2**31), np.nan, np.inf, 1e300)
    with room() as place:
        for head in ("auto", "trees"):
            folder = place / head
            isonn.SubgraphClassifier(max_nodes=2, head=head, random_state=0).fit(graphs).save(folder)
            kept = {path: path.read_bytes() for path in folder.iterdir()}
            for i in tally.times(300):
                tensors = load_file(folder / TENSORS_NAME)
                name = tally.draw.choice(sorted(name for name, tensor in tensors.items() if tensor.size))
                tensor = tensors[name].reshape(-1).copy()
                value = np.array(tally.draw.choice(extremes))
                with np.errstate(all="ignore"):
                    tensor[tally.draw.randrange(tensor.size)] = value.astype(tensor.dtype)
                tensors[name] = tensor.reshape(tensors[name].shape)
                save_file(tensors, folder / TENSORS_NAME)
                sign(folder)
                _answers_or_refuses(tally, folder, graphs, f"{head}, case {i}: {value} in {name}")
                restore(kept)
            for version in ("isonn-model-1", "isonn-model-2", "isonn-model-99", None):
                tally.counts["cases"] += 1
                sign(folder, format=version)
                with suppress(ModelFileError):
                    isonn.load_model(folder)
                    tally.bad("silent", f"{head}: a model of format {version} is read")
                restore(kept)


def _answers_or_refuses(tally: Tally, folder: Path, graphs: Any, what: str) -> None:
    """Use a model in a fork, so that a crash of compiled code is seen, too."""
    tally.counts["cases"] += 1
    log = folder.with_name("forged.log")
    pid = os.fork()
    if pid == 0:
        import isonn
        from isonn.errors import IsoNNError

        code = 0
        try:
            warnings.simplefilter("ignore")
            model = isonn.load_model(folder)
            model.predict(graphs)
            model.explain(graphs[0])
        except IsoNNError:
            pass
        except BaseException:  # noqa: BLE001 - anything else is what this looks for
            log.write_text(traceback.format_exc())
            code = 1
        os._exit(code)
    run = Run(pid, log, folder, time.monotonic())
    if not run.wait(HANG_SECONDS):
        tally.bad("hang", what)
        run.stop(signal.SIGKILL)
        run.wait(5)
    elif run.status:
        tally.bad("traceback", f"{what}: exit {run.status}: {run.text[-600:] if log.exists() else ''}")


#: Molecules as people write them: salts, metals, charges, isotopes, dummies, and what is none.
_MOLECULES = (
    "CCO", "CC(=O)[O-].[Na+]", "c1ccccc1[N+](=O)[O-]", "C[NH3+].[Cl-]", "[2H]C([2H])O", "[Na+].[Cl-]", "O", "[H][H]",
    "*C", "[Fe+2]", "N#N", "C1CC1", "CC1CO1", "Oc1ccccn1", "OC(=O)c1ccccc1.NCCO", "[AlH3]", "C" * 300, "c1ccccc1" * 12,
    "", "nonsense", "C1CC", "C(C)(C)(C)(C)C", "InChI=1S/CH4/h1H4", "CC>>CO", "\u0000", "=", "C.C.C.C.C.C",
)  # fmt: skip


def screening(tally: Tally) -> None:
    """kill -9 of predict over dirty molecules with each standardisation; going on leaves the same rows."""
    for how in ("none", "salts", "full"):
        with room() as place:
            lines = [f"{tally.draw.choice(_MOLECULES[:17])},{i % 2}" for i in range(120)]
            (place / "train.csv").write_text("\n".join(["smiles,y", *lines]) + "\n")
            model = ("fit", str(place / "train.csv"), "--target", "y", "--max-nodes", "2", "--head", "linear")
            run = start((*model, "--standardize", how, "--skip-bad", "--out", "out"), place / "model")
            judge(tally, run, f"fit, {how}", 120)
            if run.status != 0:
                tally.bad("lost", f"fit, {how}: {run.text[-600:]}")
                continue
            rows = [tally.draw.choice(_MOLECULES).replace("\u0000", "?") for _ in range(400)]
            (place / "new.csv").write_text("\n".join(["smiles", *(f'"{row}"' for row in rows)]) + "\n")
            asked = ("predict", str(place / "model/out"), str(place / "new.csv"), "--jobs", "1", "--out", "out.json")
            command = Command(f"predict, {how}", asked, ("--resume",))
            _interrupted(tally, command, len(tally.times(15)), (signal.SIGKILL, signal.SIGTERM))


def dossiers(tally: Tally) -> None:
    """kill -9, signals and a full disk during a dossier: nothing half-written."""
    with room() as place:
        run = start(("fit", "MUTAG", "--max-nodes", "2", "--head", "linear", "--out", "out"), place / "model")
        judge(tally, run, "fit", 120)
        command = Command("dossier", ("dossier", str(place / "model" / "out"), "MUTAG", "--out", "dossier.html"))
        _interrupted(tally, command, len(tally.times(20)), (signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
        _filled(tally, command, len(tally.times(20)))


def server(tally: Tally) -> None:
    """Requests of any content to the server: an answer or one sentence, and the server lives until SIGTERM."""
    import http.client

    with room() as place:
        lines = [f"{text},{i % 2}" for i, text in enumerate(_MOLECULES[:17] * 4)]
        (place / "train.csv").write_text("\n".join(["smiles,y", *lines]) + "\n")
        fit = ("fit", str(place / "train.csv"), "--target", "y", "--max-nodes", "2", "--head", "linear", "--skip-bad")
        judge(tally, start((*fit, "--out", "out"), place / "model"), "fit", 120)
        fit = ("fit", "MUTAG", "--max-nodes", "2", "--head", "linear", "--out", "out")
        judge(tally, start(fit, place / "other"), "fit", 120)
        models = (f"molecules={place / 'model' / 'out'}", f"graphs={place / 'other' / 'out'}")
        run = start(("serve", *models, "--port", "0", "--json"), place / "server", processes=True)
        port = _port_of(run)
        if port is None:
            tally.bad("lost", f"the server does not start: {run.text[-600:]}")
            return
        for i in tally.times(2000):
            path = tally.draw.choice(_PATHS)
            body = _request_body(tally.draw)
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_SECONDS)
            try:
                method = tally.draw.choice(("POST", "POST", "POST", "GET", "DELETE"))
                connection.request(method, path, body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                text = answer.read()
                if answer.status >= 500 or b"Traceback" in text:
                    tally.bad("traceback", f"request {i} to {path}: {answer.status} {body[:200]!r} {text[:300]!r}")
            except TimeoutError:
                tally.bad("hang", f"request {i} to {path}: {body[:200]!r}")
            except (OSError, http.client.HTTPException) as error:
                tally.bad("lost", f"request {i} to {path}: {error!r} {body[:200]!r}")
                break
            finally:
                connection.close()
            tally.counts["cases"] += 1
        run.stop(signal.SIGTERM)
        judge(tally, run, "server, ended")


def _port_of(run: Run) -> int | None:
    until = time.monotonic() + 60
    while time.monotonic() < until and not run.wait(0.1):
        for word in run.text.replace('"', " ").replace("/", " ").split():
            if word.startswith("127.0.0.1:") and word[10:].rstrip(".,").isdigit():
                return int(word[10:].rstrip(".,"))
    return None


_PATHS = (
    *("/v1/predict", "/v1/explain", "/v1/whatif", "/v1/suggest") * 3,
    *("/v1/models", "/v1/health", "/", "/v1/nothing"),
)


def _request_body(draw: random.Random) -> bytes:
    """A body as clients and attackers send them."""
    values = (*_MOLECULES, None, 0, -1, 1e308, True, [], {}, [[]], "x" * 20_000, {"smiles": "CCO"}, ["CCO"] * 50)
    kind = draw.randrange(8)
    if kind == 0:
        return draw.randbytes(draw.randrange(200))
    if kind == 1:
        return b"[" * draw.randrange(5_000)
    edit: dict[str, Any] = {"op": draw.choice(("element", "bond", "delete", "attach", "edge", "label", "add"))}
    body: dict[str, Any] = {"edit": edit, "top": 2, "trust": True, "svg": True, "coverage": 0.8}
    graph: dict[str, Any] = {}
    if kind < 5:
        n = draw.randrange(2, 12)
        path = [[i, i + 1] for i in range(n - 1)]
        graph |= {"nodes": n, "edges": path, "labels": [0] * n, "edge_labels": [0] * (n - 1)}
        edit |= {"node": draw.randrange(n), "nodes": [0, draw.randrange(n)], "weight": 1, "label": 0}
        body |= {"model": "graphs", "graphs": [graph], "goal": "mutagenic"}
    else:
        edit |= {"atom": 0, "atoms": [0, 1], "element": "N", "order": 2, "group": "hydroxy"}
        body |= {"model": "molecules", "smiles": [draw.choice(_MOLECULES)], "goal": 1}
    for _ in range(draw.choice((0, 0, 1, 2))):
        changed = draw.choice([part for part in (edit, body, graph) if part])
        changed[draw.choice((*changed, "label", "confounds", "matrices"))] = draw.choice(values)
    return json.dumps(body).encode()


def rivals(tally: Tally) -> None:
    """Two processes on one bank, one --out or one store: both end, and what they leave is sound."""
    bank, store = COMMANDS["fit, bank"], COMMANDS["evaluate"]
    other = (*bank.arguments[:-1], "other")
    with room() as place:
        for command, second, number in ((bank, other, 20), (COMMANDS["fit, windows"], None, 20), (store, None, 10)):
            expected, seconds = undisturbed(tally, command, place)
            if second:
                expected |= {name.replace("out/", "other/"): own for name, own in expected.items() if "out/" in name}
            for i in tally.times(number):
                folder = place / f"{command.name}-{i}"
                runs = [start(command.arguments, folder)]
                time.sleep(tally.draw.uniform(0, seconds / 2))
                log = folder.with_name(folder.name + ".log")
                log.rename(log.with_suffix(".first"))  # it continues to write there
                runs[0].log = log.with_suffix(".first")
                runs.append(start(second or command.arguments, folder))
                for run in runs:
                    judge(tally, run, f"{command.name}, two at once", HANG_SECONDS + 6 * seconds)
                tally.counts["cases"] += 1
                codes = sorted(run.status or 0 for run in runs)
                if codes != [0, 0] and not (codes == [0, 2] and second is None):
                    tally.bad("lost", f"{command.name}, two at once, {codes}: {[run.text[-300:] for run in runs]}")
                compare(tally, folder, expected, f"{command.name}, two at once")
            shutil.rmtree(place / "undisturbed")


def soak(tally: Tally) -> None:
    """Predict and explain for minutes: memory stays flat."""
    import isonn

    graphs = isonn.load("MUTAG")
    models = [
        isonn.SubgraphClassifier(random_state=0).fit(graphs),
        isonn.IsoNNClassifier(k=3, c=2, epochs=2, random_state=0).fit(graphs),
    ]
    sizes, rounds = [], range(max(12, len(tally.times(4000))))
    every = min(50, len(rounds) // 12)
    for i in rounds:
        model = models[i % 2]
        model.predict_proba(graphs[i % 180 : i % 180 + 8])
        model.explain(graphs[i % 188])
        tally.counts["cases"] += 1
        if i % every == 0:
            sizes.append(int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize())
    settled = sizes[len(sizes) // 4 :]
    # a leak raises the median; torch's allocator goes up and down around it
    grown = (statistics.median(settled[-len(settled) // 3 :]) - statistics.median(settled[: len(settled) // 3])) / 2**20
    print(f"  {grown:+.1f} MB over {tally.counts['cases']} rounds, {sizes[-1] >> 20} MB in all")
    if grown > 20:
        tally.bad("memory", f"{grown:.0f} MB more")


def mutated(tally: Tally) -> None:
    """tests/fuzz with many random examples: every reader, converter, y, setting, model, bank and store."""
    examples = len(tally.times(190))
    with room() as place:
        count = place / "count"
        environment = {**os.environ, "FUZZ_EXAMPLES": str(examples), "FUZZ_COUNT": str(count), "COLUMNS": "400"}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "tests/fuzz"]
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        tally.counts["cases"] = sum(map(int, count.read_text().split()))
    if run.returncode == 0:
        return
    print(run.stdout[-6000:])
    for line in run.stdout.splitlines():
        if line.startswith(("FAILED", "ERROR")):
            kind = "hang" if "Deadline" in line else "memory" if "MB more" in line else "traceback"
            tally.bad(kind, line)
    if not tally.notes:
        tally.bad("traceback", run.stdout[-600:] + run.stderr[-600:])


CAMPAIGNS: dict[str, Callable[[Tally], None]] = {
    "mutated": mutated,
    "fits": fits,
    "runs": runs,
    "cluster": cluster,
    "signals": signals,
    "full_disk": full_disk,
    "rivals": rivals,
    "pipes": pipes,
    "flips": flips,
    "forged": forged,
    "screening": screening,
    "dossiers": dossiers,
    "server": server,
    "soak": soak,
}


def campaign(name: str, share: float, out: Path) -> None:
    """Run one campaign in this process and store its counts."""
    import isonn

    os.environ.pop("ISONN_DATA", None)
    # a shell's background ignores Ctrl-C, nohup ignores SIGHUP, and commands inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    graphs = isonn.load("MUTAG")
    for method in (isonn.SubgraphClassifier(max_nodes=3), isonn.IsoNNClassifier(k=3, c=1, epochs=1)):
        method.fit(graphs).explain(graphs[0])  # imports and compiles everything that forks need
    for part in ("__main__", "cli", "experiments.run", "experiments.study", "experiments.tables", "serve.server"):
        importlib.import_module(f"isonn.{part}")
    importlib.import_module("isonn.graphs.stream").AT_ONCE = 20  # ten parts in a bank of MUTAG
    tally = Tally(share)
    begun = time.monotonic()
    CAMPAIGNS[name](tally)
    seconds = round(time.monotonic() - begun)
    about = (CAMPAIGNS[name].__doc__ or "").splitlines()[0]
    content = {"about": about, "share": share, "commit": _commit(), "seconds": seconds, "counts": dict(tally.counts)}
    (out / f"{name}.json").write_text(json.dumps({**content, "notes": tally.notes}, indent=1) + "\n")


def _commit() -> str:
    asked = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def table(out: Path) -> str:
    """Return the finished campaigns as Markdown."""
    lines = [f"| campaign | {' | '.join(COLUMNS.values())} | minutes | commit |", "|---" * (len(COLUMNS) + 3) + "|"]
    total: Counter[str] = Counter()
    for name in CAMPAIGNS:
        if (out / f"{name}.json").exists():
            found = json.loads((out / f"{name}.json").read_text())
            total.update(found["counts"])
            numbers = " | ".join(f"{found['counts'].get(kind, 0):,}" for kind in COLUMNS)
            lines.append(f"| {found['about']} | {numbers} | {found['seconds'] / 60:.1f} | {found['commit']} |")
    lines.append(f"| **all** | {' | '.join(f'{total.get(kind, 0):,}' for kind in COLUMNS)} | | |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run campaigns, two at a time, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaigns", nargs="*", metavar="CAMPAIGN", help=f"of {', '.join(CAMPAIGNS)}; all by default")
    parser.add_argument("--share", type=float, default=1.0, help="of the cases; 0.05 is a quick look")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "torture")
    parser.add_argument("--one", choices=CAMPAIGNS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.one:
        campaign(given.one, given.share, given.out)
        return 0
    asked = given.campaigns or list(CAMPAIGNS)
    todo = given.campaigns or [name for name in CAMPAIGNS if not _finished(given.out / f"{name}.json", given.share)]
    running: dict[str, subprocess.Popen[bytes]] = {}
    own = [sys.executable, __file__, "--share", str(given.share), "--out", str(given.out), "--one"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    while todo or running:
        while todo and len(running) < 2:
            name = todo.pop(0)
            (given.out / f"{name}.json").unlink(missing_ok=True)
            print(f"{name} ...", flush=True)
            running[name] = subprocess.Popen([*own, name], env=environment)
        time.sleep(0.2)
        for name in [name for name, process in running.items() if process.poll() is not None]:
            print(f"{name} ended with {running.pop(name).returncode}", flush=True)
    text = table(given.out)
    (given.out / "table.md").write_text(text)
    print(text)
    results = [given.out / f"{name}.json" for name in asked]
    counts = [json.loads(file.read_text())["counts"] for file in results if file.exists()]
    return int(any(own[kind] for own in counts for kind in own if kind != "cases") or len(counts) < len(asked))


def _finished(file: Path, share: float) -> bool:
    """Return whether a campaign has run with this share of its cases."""
    return file.exists() and json.loads(file.read_text())["share"] == share


if __name__ == "__main__":
    sys.exit(main())
