"""Time and peak memory of fitting connectomes: `python benchmarks/connectome_memory.py [SUBJECTS] [REGIONS]`.

Bars, on an idle machine: 500 subjects with 400 regions in a minute and 2 GB, 1,000 in 4 GB.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

import isonn
from isonn.connectomes import from_matrices


def main(subjects: int = 500, regions: int = 400) -> None:
    """Generate float32 correlations, convert and fit them, and print what it took."""
    draw = np.random.default_rng(0)
    matrices = np.empty((subjects, regions, regions), dtype=np.float32)
    for matrix in matrices:
        matrix[:] = np.corrcoef(draw.normal(size=(regions, 2 * regions)).astype(np.float32))
    y = np.arange(subjects) % 2
    start, processor = time.perf_counter(), time.process_time()
    graphs = from_matrices(matrices, y)
    del matrices
    read = time.perf_counter()
    isonn.AlignedClassifier(random_state=0).fit(graphs)
    end = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{subjects} x {regions}: convert {read - start:.0f} s, fit {end - read:.0f} s "
        f"({time.process_time() - processor:.0f} s of processor), peak {peak:.2f} GB"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
