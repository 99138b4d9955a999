"""Print the lowest dependencies that pyproject.toml allows, one per line, for `pip install -c`.

``rich>=13`` becomes ``rich==13.0.*``, the oldest minor version with its fixes. Extras that need torch are left out.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXTRAS = ("report", "molecules", "excel", "serve")


def lowest(requirement: str) -> str:
    """Return the requirement with its lower bound as the only version."""
    found = re.match(r"([A-Za-z0-9_-]+)>=([\d.]+)", requirement)
    if not found:
        raise SystemExit(f"{requirement!r} has no lower bound; give it one in pyproject.toml")
    name, version = found.groups()
    return f"{name}=={version if '.' in version else f'{version}.0'}.*"


if __name__ == "__main__":
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(line for name in EXTRAS for line in project["optional-dependencies"][name])]
    sys.stdout.write("\n".join(map(lowest, wanted)) + "\n")
