"""Time and memory of reading SMILES with and without standardisation.

    python benchmarks/standardize.py DATA.csv [ROWS]

DATA has a column ``SMILES`` or ``smiles``; its rows are repeated up to ROWS (200,000), three in ten of them as a salt.
Every setting is measured in a process of its own.
"""

from __future__ import annotations

import csv
import random
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

SALTS = (".Cl", ".[Na+].[Cl-]", ".OC(=O)C(F)(F)F", ".O", ".OC(=O)C(O)C(O)C(=O)O")


def write(data: Path, rows: int, out: Path) -> None:
    with data.open(encoding="utf-8") as file:
        smiles = [row.get("SMILES") or row["smiles"] for row in csv.DictReader(file)]
    generator = random.Random(0)
    with out.open("w", encoding="utf-8") as file:
        file.write("smiles,y\n")
        for i in range(rows):
            salt = generator.choice(SALTS) if generator.random() < 0.3 else ""
            file.write(f"{smiles[i % len(smiles)]}{salt},{i % 2}\n")


def read(path: str, setting: str) -> None:
    import isonn

    warnings.simplefilter("ignore")
    start = time.process_time()
    graphs = sum(len(chunk) for chunk in isonn.stream(path, standardize=setting))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{setting}: {graphs} molecules, {time.process_time() - start:.1f} CPU seconds, {memory:.0f} MB", flush=True)


def main() -> None:
    if sys.argv[1] == "read":
        read(*sys.argv[2:])
        return
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000
    with tempfile.TemporaryDirectory() as folder:
        for count in (rows // 2, rows):
            path = Path(folder, f"{count}.csv")
            write(Path(sys.argv[1]), count, path)
            for setting in ("none", "salts", *(["full"] if count == rows else [])):
                subprocess.run([sys.executable, __file__, "read", str(path), setting], check=True)


if __name__ == "__main__":
    main()
