"""`make screen N=100000`: screen N generated SMILES, kill the run on the way, and compare with RDKit's parser.

``python benchmarks/screen.py N [KILLS]`` fits the default model to a few hundred molecules (standardisation off), then

1. runs ``isonn predict --top 1000 --reasons 3`` once on the first million at most, and prints its rate as a share of
   the rate at which as many processes parse the same SMILES with RDKit in the same run, and the peak memory of all
   processes together;
2. runs ``isonn predict --resume`` on all rows, kills it KILLS times (10) at random moments, and checks that every
   row of the output is the row of the input with that number, and that no prediction differs from those of 1.

Ten million SMILES need 2 GB of disk.
"""

from __future__ import annotations

import csv
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path

from large import family, megabytes, watched
from smiles import class_of, smiles

import isonn

PARSE_CHUNK = 4096
#: Ring systems of a molecule: about 20 atoms, as in libraries that are screened.
CORES = 2
#: Most rows that are ranked, which tells the rate.
RANKED = 1_000_000


def write(path: Path, count: int) -> None:
    with path.open("w") as file:
        file.write("smiles,name\n")
        for i, text in enumerate(smiles(count, CORES)):
            file.write(f"{text},x{i}\n")


def parse(texts: list[str]) -> int:
    from rdkit import Chem

    return sum(Chem.MolFromSmiles(text) is not None for text in texts)


def parse_rate(path: Path, processes: int) -> float:
    """Return how many SMILES a second RDKit parses in some processes, started and warm."""
    with path.open() as file, ProcessPoolExecutor(processes) as pool:
        rows = islice((row["smiles"] for row in csv.DictReader(file)), 200_000)
        chunks = list(iter(lambda: list(islice(rows, PARSE_CHUNK)), []))
        list(pool.map(parse, [["C"]] * processes))
        start = time.perf_counter()
        parsed = sum(pool.map(parse, chunks))
        return parsed / (time.perf_counter() - start)


def fit(folder: Path) -> Path:
    train = list(smiles(5000, CORES))[::10]
    graphs = isonn.molecules.from_smiles(train, list(map(class_of, train)), standardize="none")
    isonn.SubgraphClassifier(random_state=0).fit(graphs).save(folder / "model")
    return folder / "model"


def command(*given: object) -> list[str]:
    return [sys.executable, "-m", "isonn", "predict", *map(str, given)]


def killed(arguments: list[str], out: Path, kills: int, seconds: float) -> tuple[int, float]:
    """Run a command until it ends, killing it at random moments; return the kills and the peak memory in MB."""
    draw, done, peak = random.Random(0), 0, 0.0
    while not out.exists():
        process = subprocess.Popen(arguments)
        end = time.monotonic() + (draw.uniform(5, 5 + seconds / kills) if done < kills else 1e9)
        while process.poll() is None:
            peak = max(peak, sum(map(megabytes, family(process.pid))))
            if time.monotonic() > end:
                process.send_signal(signal.SIGKILL)
                process.wait()
                done += 1
            time.sleep(0.5)
        if process.returncode not in (0, -signal.SIGKILL):
            raise SystemExit(f"isonn predict ended with {process.returncode}")
    return done, peak


def check(data: Path, out: Path, best: Path, count: int) -> None:
    """Compare every row with the input, and predictions with those of the run that was not killed."""
    with best.open() as file:
        expected = {int(row["graph"]): row["p(1)"] for row in csv.DictReader(file)}
    rows = 0
    with data.open() as first, out.open() as second:
        for given, row in zip(csv.DictReader(first), csv.DictReader(second), strict=True):
            if (row["graph"], row["smiles"], row["name"]) != (str(rows), given["smiles"], given["name"]):
                raise SystemExit(f"row {rows} is {row}, not {given}")
            if expected.get(rows, row["p(1)"]) != row["p(1)"]:
                raise SystemExit(f"row {rows} has p {row['p(1)']}, not {expected[rows]}")
            rows += 1
    if rows != count:
        raise SystemExit(f"{rows} rows instead of {count}")


def main() -> None:
    count, kills = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10
    cores = os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="isonn-screen-") as name:
        folder = Path(name)
        data, first, best, out = (folder / f"{name}.csv" for name in ("data", "first", "best", "all"))
        ranked = min(count, RANKED)
        write(data, count)
        write(first, ranked)
        model = fit(folder)
        parsed = parse_rate(data, cores)
        options = ("--top", min(1000, ranked), "--reasons", 3, "--jobs", cores)
        seconds, peak, code = watched(command(model, first, "--out", best, *options))
        print(f"{cores} processes, {count:,} SMILES of {data.stat().st_size / count:.0f} bytes; exit code {code}")
        print(f"RDKit parses {parsed:,.0f} a second")
        print(f"isonn predict --top 1000 --reasons 3: {ranked / seconds:,.0f} a second, starting included")
        print(
            f"  share of RDKit's rate {ranked / seconds / parsed:.2f} (wanted: 0.3), peak memory {peak:,.0f} MB",
            flush=True,
        )
        seconds *= count / ranked
        done, peak = killed(command(model, data, "--out", out, "--resume", "--jobs", cores), out, kills, seconds)
        check(data, out, best, count)
        print(
            f"killed {done} times and resumed: {count:,} rows, none lost, repeated or changed; {peak:,.0f} MB at most"
        )


if __name__ == "__main__":
    main()
