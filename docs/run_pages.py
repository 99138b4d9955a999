"""Run the code of the documentation, page by page, each in an empty folder: `python docs/run_pages.py [PAGE ...]`.

Blocks of ``python`` and ``sh`` run in order; those of Python share their names. Lines of ``pip install`` and ``make``
are not run, and neither is a block with a title, which says why. A block that fails or warns stops the build, and so
does a page that takes more than two minutes. What a page prints goes to build/pages.json, for the site; a picture that
it shows as ``images/PAGE/NAME`` is the file NAME that it wrote, in any folder.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).resolve().parent
OUTPUT = DOCS.parent / "build" / "pages.json"
SECONDS = 120
FENCE = re.compile(r"^```(python|sh)\n(.*?)^```", re.DOTALL | re.MULTILINE)
#: What starts in the background of a shell block ends with its page.
SHELL = "set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"

#: Commands that are groups of others.
GROUPS = ("data",)
#: Options of `isonn` itself and of other programs, such as dask, that pages may name.
FOREIGN = {"--nthreads", "--nworkers", "--port", "--host", "--install-completion", "--version"}


class Block(NamedTuple):
    """A block of a page: its language, its text, and the line it starts on."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """The blocks of a page that run."""
    text = page.read_text(encoding="utf-8")
    return [Block(found[1], found[2], text.count("\n", 0, found.start(2))) for found in FENCE.finditer(text)]


def run(page: Path) -> list[str]:
    """Run a page in an empty folder; what each block printed."""
    names: dict = {"__name__": "__main__"}
    printed, home = [], Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)  # of libraries among themselves
        os.chdir(folder)
        try:
            for block in blocks(page):
                printed.append(_python(block, page, names) if block.language == "python" else _shell(block, page))
            for shown in re.findall(rf"\]\((?:\.\./)?(images/{page.stem}/[\w.-]+)\)", page.read_text(encoding="utf-8")):
                target = DOCS / shown
                target.parent.mkdir(exist_ok=True)
                shutil.copy(next(Path().rglob(target.name)), target)
        finally:
            os.chdir(home)
    return printed


def _python(block: Block, page: Path, names: dict) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile("\n" * block.line + block.text, str(page), "exec"), names)
    return printed.getvalue()


def _shell(block: Block, page: Path) -> str:
    lines = [line for line in block.text.splitlines() if not re.match(r"(pip install|make) ", line)]
    own = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}
    found = subprocess.run(
        ["bash", "-c", SHELL + "\n".join(lines)],
        env={**os.environ, **own},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=10 * SECONDS,
        check=False,
    )
    if found.returncode:
        raise SystemExit(f"{page.name}, line {block.line}: {found.stdout}{found.stderr}")
    return found.stdout


def unknown_option(markdown: str) -> str | None:
    """The command or option of a page that does not exist, in a block or in the text, as a sentence; None if all do."""
    known = commands_by_name()
    lines = re.findall(
        r"^(isonn .*)$", "\n".join(re.findall(r"```[^\n]*\n(.*?)```", markdown, re.DOTALL)), re.MULTILINE
    )
    text = re.sub(r"```.*?```", "", markdown, flags=re.DOTALL)
    for line in lines + re.findall(r"`(isonn [^`\n]+)`", text):
        words = re.sub(r"[\[\]]", " ", line.split("#")[0]).split()[1:]
        name = " ".join(words[:2]) if " ".join(words[:2]) in known else "".join(words[:1])
        if name in GROUPS or not name.islower() or name.startswith("-"):  # `isonn COMMAND --help`, `isonn --version`
            continue
        if name not in known:
            return f"has a command that does not exist: {line}"
        if wrong := {word.split("=")[0] for word in words if word.startswith("--")} - _options(known[name]):
            return f"has an option that does not exist, {min(wrong)}: {line}"
    every = {option for command in known.values() for option in _options(command)} | FOREIGN
    wrong = set(re.findall(r"`(--[\w-]+)[^`\n]*`", text)) - every
    return f"names an option that no command has: {min(wrong)}" if wrong else None


def commands_by_name() -> dict[str, Any]:
    """Every command by its name, those of groups by both words."""
    from typer.main import get_command

    from isonn.cli import app

    found: dict[str, Any] = {}
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        for own, inner in getattr(command, "commands", {"": command}).items():
            found[f"{name} {own}".strip()] = inner
    return found


def _options(command: Any) -> set[str]:
    return {word for option in command.params for word in option.opts + option.secondary_opts} | {"--help"}


def main(given: list[str]) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    pages = [Path(name).resolve() for name in given] or [page for page in sorted(DOCS.rglob("*.md")) if blocks(page)]
    known = json.loads(OUTPUT.read_text(encoding="utf-8")) if OUTPUT.exists() else {}
    for page in pages:
        start = sum(os.times()[:4])
        printed = run(page)
        seconds = sum(os.times()[:4]) - start  # of the processor, of this process and those it started
        sys.stdout.write(f"{page.name}: {len(printed)} blocks, {seconds:.1f} s\n")
        if seconds > SECONDS:
            raise SystemExit(f"{page.name} takes {seconds:.0f} s; a page may take {SECONDS}")
        known[os.path.relpath(page, DOCS)] = printed
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps(known), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
