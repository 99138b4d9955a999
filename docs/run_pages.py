"""Run the Python of the documentation, page by page, each in an empty folder: `python docs/run_pages.py [PAGE ...]`.

The blocks of a page run in order and share their names. A page that fails, or takes longer than a minute, stops the
build.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
import time
import warnings
from pathlib import Path

DOCS = Path(__file__).resolve().parent
#: Pages whose blocks stand on their own.
PAGES = (
    "index.md",
    "subgraphs.md",
    "extend.md",
    "connectomes.md",
    *(f"tutorials/{path.name}" for path in DOCS.glob("tutorials/*.md")),
)
SECONDS = 60


def blocks(page: Path) -> list[str]:
    """The Python of a page, each block on the lines where it stands."""
    text = page.read_text(encoding="utf-8")
    return [
        "\n" * text.count("\n", 0, found.start(1)) + found.group(1)
        for found in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    ]


def run(page: Path) -> float:
    """Run a page in an empty folder; the CPU seconds it took."""
    names: dict = {"__name__": "__main__"}
    before, home = time.process_time(), Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            for block in blocks(page):
                exec(compile(block, str(page), "exec"), names)
        finally:
            os.chdir(home)
    return time.process_time() - before


def main(pages: list[str]) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in pages or sorted(PAGES):
        with contextlib.redirect_stdout(None):
            seconds = run(DOCS / name)
        sys.stdout.write(f"{name}: {len(blocks(DOCS / name))} blocks, {seconds:.1f} s\n")
        if seconds > SECONDS:
            raise SystemExit(f"{name} takes {seconds:.0f} s; a page may take {SECONDS}")


if __name__ == "__main__":
    main(sys.argv[1:])
