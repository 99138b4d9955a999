"""The bars of the server, over HTTP on 127.0.0.1: edits, predictions per second, malformed requests, kills.

    python benchmarks/serve.py MODEL molecules.csv [--seconds 300] [--malformed 5000] [--kills 50] [--edits 200]
    python benchmarks/serve.py MODEL molecules.csv --only single

MODEL is a model of molecules, molecules.csv has a column SMILES. All load is bounded in count and time. --only runs
some of the parts: edits, single (eight clients, a molecule a request), batches (25 a request), malformed, kills.
"""

from __future__ import annotations

import argparse
import csv
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import isonn

CLIENTS = 8
PARTS = ("edits", "single", "batches", "malformed", "kills")
#: A cyclic peptide of 58 heavy atoms.
LARGE = "CC(C)CC1NC(=O)C(CC(C)C)NC(=O)C(Cc2ccccc2)NC(=O)C(C)NC(=O)C(CCCN)NC(=O)C(Cc2ccc(O)cc2)NC(=O)C(CO)NC1=O"


class Server:
    """A server in a process of its own."""

    def __init__(self, model: str) -> None:
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".log")  # noqa: SIM115
        command = [sys.executable, "-m", "isonn", "serve", model, "--port", "0", "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        assert self.process.stdout is not None
        self.port = int(json.loads(self.process.stdout.readline())["address"].rsplit(":", 1)[1].strip("/"))

    @property
    def megabytes(self) -> float:
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(text.split("VmRSS:")[1].split()[0]) / 1024

    @property
    def seconds(self) -> float:
        """Processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


def post(connection: http.client.HTTPConnection, path: str, body: Any) -> tuple[int, Any]:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request("POST", path, content, {"content-type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    return answer.status, json.loads(text)


def edits(server: Server, count: int) -> None:
    connection, draw, seconds = http.client.HTTPConnection("127.0.0.1", server.port), random.Random(0), []
    smiles, used = LARGE, server.seconds
    while len(seconds) < count:
        edit = {"op": "element", "atom": draw.randrange(58), "element": draw.choice(["C", "N", "O"])}
        start = time.perf_counter()
        status, answer = post(connection, "/v1/whatif", {"smiles": smiles, "label": 1, "edit": edit})
        if status == 200:
            seconds.append(time.perf_counter() - start)
            smiles = answer["smiles"] if answer["about"].startswith("58 ") else LARGE
    p50, p95 = np.percentile(1000 * np.array(seconds[5:]), [50, 95])
    each = 1000 * (server.seconds - used) / len(seconds)
    print(f"edit of 58 atoms: median {p50:.0f} ms, p95 {p95:.0f} ms (bar 100), {each:.0f} ms of processor time")


def load(server: Server, molecules: list[str], expected: np.ndarray, seconds: float, batch: int) -> None:
    counts, largest, before, stop = [0] * CLIENTS, [0.0] * CLIENTS, server.megabytes, time.monotonic() + seconds
    middle, used = [0.0], server.seconds

    def ask(client: int) -> None:
        connection, draw = http.client.HTTPConnection("127.0.0.1", server.port), random.Random(client)
        while time.monotonic() < stop:
            rows = draw.sample(range(len(molecules)), batch)
            status, answer = post(connection, "/v1/predict", {"smiles": [molecules[i] for i in rows]})
            assert status == 200, answer
            found = np.array([list(row["probabilities"].values()) for row in answer["predictions"]])
            largest[client] = max(largest[client], float(np.abs(found - expected[rows]).max()))
            counts[client] += batch
            if not middle[0] and time.monotonic() > stop - seconds / 2:
                middle[0] = server.megabytes

    threads = [threading.Thread(target=ask, args=(client,)) for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate, each = sum(counts) / seconds, 1000 * (server.seconds - used) / sum(counts)
    print(
        f"{CLIENTS} clients for {seconds:.0f} s, {batch} molecules a request: {rate:.0f} a second (bar 300), "
        f"{each:.1f} ms of processor time each, largest difference {max(largest):.1e} (bar 1e-9), "
        f"memory {before:.0f} MB, {middle[0]:.0f} half way, {server.megabytes:.0f} at the end"
    )


def malformed(server: Server, count: int) -> None:
    draw, statuses, before = random.Random(0), Counter(), server.megabytes
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    slow = []
    for number in range(count):
        kind = number % 10
        path = draw.choice(["/v1/predict", "/v1/explain", "/v1/whatif", "/v1/suggest"])
        if kind == 9 and number < 200:  # clients that never finish; they are closed by the server
            one = socket.create_connection(("127.0.0.1", server.port))
            one.sendall(b"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n")
            slow.append(one)
            continue
        body = bad_body(draw, number, path)
        try:
            status, answer = post(connection, path, body)
        except (http.client.HTTPException, OSError):  # too large a body is not read to its end
            connection.close()
            status, answer = 413, {"error": ""}
        statuses[status] += 1
        assert "error" in answer, (path, body[:100], answer)
    for one in slow:
        one.close()
    server.log.flush()
    traces = Path(server.log.name).read_text(encoding="utf-8").count("Traceback")
    print(f"{count} malformed requests: {dict(statuses)}, {len(slow)} slow clients, {traces} tracebacks, "
          f"memory {before:.0f} to {server.megabytes:.0f} MB")  # fmt: skip


def bad_body(draw: random.Random, number: int, path: str) -> bytes:
    """A body that no request may have, of ten kinds in turn."""
    match number % 10:
        case 0:
            return draw.randbytes(draw.randrange(200))
        case 1:
            return b"[" * draw.randrange(1, 100_000)
        case 2:
            longest = 9_000_000 if number % 100 == 2 else 20_000
            return b'{"smiles": "' + b"C" * draw.randrange(2_000, longest) + b'"}'
        case 3:
            return json.dumps({"model": "none", "smiles": ["CCO"]}).encode()
        case 4:
            return json.dumps({draw.choice(["smiles", "graphs", "matrices"]): _any(draw, 3)}).encode()
        case 5:
            edit = {"smiles": "CCO", "edit": {"op": _any(draw, 2)}}
            return json.dumps(edit).encode() if path == "/v1/whatif" else b"{}"
        case 6:
            return b'{"smiles": ["\xff\xfe"]}'
        case 7:
            return json.dumps({"smiles": ["".join(draw.choices("CNO()[]=#%1@+-/.\0é", k=30)) + "("]}).encode()
        case 8:
            return b'{"smiles": ["CCO", "c1ccccc1"], "label": 1'[: draw.randrange(42)]
    return b'{"graphs": [{"nodes": 1' + b"0" * draw.randrange(5000) + b"}]}"


def _any(draw: random.Random, depth: int) -> Any:
    """A JSON value at random."""
    if depth == 0 or draw.random() < 0.4:
        return draw.choice([None, True, -1, 0, 1.5, 1e308, 10**30, "", "C(", "element", "\ud800", "<script>"])
    if draw.random() < 0.5:
        return [_any(draw, depth - 1) for _ in range(draw.randrange(4))]
    return {
        draw.choice(["op", "atom", "nodes", "edges", "labels", "order", "x"]): _any(draw, depth - 1) for _ in range(3)
    }


def kills(model: str, count: int) -> None:
    codes: Counter[int] = Counter()
    for number in range(count):
        server = Server(model)
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        thread = threading.Thread(target=_try, args=(connection,))
        thread.start()
        time.sleep(0.02 * (number % 5))
        codes[server.stop((signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[number % 3])] += 1
        thread.join()
        traces = Path(server.log.name).read_text(encoding="utf-8").count("Traceback")
        assert not traces, Path(server.log.name).read_text(encoding="utf-8")
    print(f"{count} kills and restarts: exit codes {dict(codes)} (-9 is SIGKILL)")


def _try(connection: http.client.HTTPConnection) -> None:
    try:
        post(connection, "/v1/explain", {"smiles": [LARGE] * 5})
    except (http.client.HTTPException, OSError):
        return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("data")
    for name, value in (("seconds", 300), ("malformed", 5000), ("kills", 50), ("edits", 200)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with open(given.data, newline="") as file:
        molecules = [row["SMILES"] for row in csv.DictReader(file)][:1000]
    expected = isonn.load_model(given.model).predict_proba(molecules)
    server = Server(given.model)
    if "edits" in given.only:
        edits(server, given.edits)
    for name, batch in (("single", 1), ("batches", 25)):
        if name in given.only:
            load(server, molecules, expected, given.seconds, batch)
    if "malformed" in given.only:
        malformed(server, given.malformed)
    print("exit code", server.stop())
    if "kills" in given.only:
        kills(given.model, given.kills)


if __name__ == "__main__":
    main()
