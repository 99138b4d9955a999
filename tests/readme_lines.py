"""Run the lines of a page in order, as the test of the README does: `python readme_lines.py RUN_PAGES PAGE`.

A line of `isonn` runs the installed script in a fork of this process, so that libraries are imported once. Lines of
`pip install` and `make` are not run.
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
import sys
import sysconfig
import traceback
from pathlib import Path


def run_isonn(line: str) -> None:
    """Run one line of `isonn` in a process of its own; stop if it fails."""
    program, *arguments = shlex.split(line, comments=True)
    assert program == "isonn", line
    sys.stdout.flush()
    child = os.fork()
    if child:
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            raise SystemExit(f"failed: {line}")
        return
    code = 1
    try:
        sys.argv = [program, *arguments]
        runpy.run_path(os.path.join(sysconfig.get_path("scripts"), program), run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except Exception:  # noqa: BLE001 - the child must not go on with the lines of its parent
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    names: dict = {"__name__": "__main__"}
    for language, text, _ in runpy.run_path(sys.argv[1])["blocks"](Path(sys.argv[2])):
        if language == "python":
            exec(text, names)
            continue
        for line in text.splitlines():
            if not re.match(r"(pip install|make) ", line):
                run_isonn(line)
