"""Archive finished jobs that no other archive holds: `python tools/pack_jobs.py runs docs/results/jobs-0.3-5.tar.gz`.

An archive of an earlier session is never written again, so that every session adds only what it ran. To continue,
unpack all of them: `mkdir -p runs && for f in docs/results/*.tar.gz; do tar xzf $f -C runs; done`.
"""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
from pathlib import Path


def pack(runs: Path, archive: Path) -> int:
    """Write the archive, the same bytes for the same jobs; return the number of jobs."""
    known = set()
    for other in archive.parent.glob("*.tar.gz"):
        if other != archive:
            with tarfile.open(other) as content:
                known |= set(content.getnames())
    every = sorted(path for path in runs.glob("*/jobs/*.json") if path.name[0] != ".")
    paths = [path for path in every if path.relative_to(runs).as_posix() not in known]
    abouts = sorted({path.parents[1] / "run.json" for path in paths})
    with gzip.GzipFile(archive, "wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as content:
        for path in (*abouts, *paths):
            info = tarfile.TarInfo(path.relative_to(runs).as_posix())
            text = path.read_bytes()
            info.size = len(text)
            content.addfile(info, io.BytesIO(text))
    return len(paths)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    print(f"{pack(Path(sys.argv[1]), Path(sys.argv[2]))} jobs in {sys.argv[2]}")
