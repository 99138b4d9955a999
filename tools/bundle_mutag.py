"""Create the package's MUTAG file from a TU folder: ``python tools/bundle_mutag.py path/to/MUTAG``.

The 188 compounds are those of Debnath et al. 1991 (J. Med. Chem. 34(2), 786-797), as graphs of the TU collection
(Morris et al. 2020, https://chrsmrrs.github.io/datasets).
"""

from __future__ import annotations

import sys
from pathlib import Path

from isonn.graphs.datasets import registry

if __name__ == "__main__":
    entry = next(entry for entry in registry.known() if entry.name == "MUTAG")
    graphs = registry.read_entry(entry, Path(sys.argv[1]))
    if graphs.digest != entry.sha256:
        raise SystemExit(f"{sys.argv[1]} is not the MUTAG of the TU collection: {graphs.digest}")
    target = registry.bundled("MUTAG")
    graphs.save(target)
    print(f"{target}: {target.stat().st_size} bytes")
