"""`make bench`: every speed claim of the project as a ratio measured in this run. Keep the machine otherwise idle."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import certified
import gin
import large
import layer
import matchers
import subgraphs
import torch
from plot_matchers import plot
from report import Row, processor, shortfalls, show, write

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
PICTURE = Path(__file__).parent.parent / "docs" / "images" / "matching.svg"

#: Rows, and whether they use one thread.
SECTIONS = {
    "weighted": (layer.weighted, False),
    "zero-one": (layer.zero_one, True),
    "epoch": (layer.epoch, True),
    "symmetric": (layer.symmetric, True),
    "peak": (certified.near_peak, True),
    "certified": (certified.training, True),
    "fast": (matchers.exact_against_fast, False),
    "agreement": (matchers.agreement, False),
    "scipy": (matchers.against_scipy, False),
    "banking": (subgraphs.banking, True),
    "large": (large.hundred_thousand, False),
    "gin": (gin.ten_folds, True),
}


def rows(chosen: list[str]) -> Iterator[Row]:
    threads = torch.get_num_threads()
    for name in chosen:
        section, one_thread = SECTIONS[name]
        torch.manual_seed(0)
        torch.set_num_threads(1 if one_thread else threads)
        yield from section()
    torch.set_num_threads(threads)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, "plot", []], help="default: all")
    parser.add_argument("--write", action="store_true", help="write the table to docs/performance.md")
    given = parser.parse_args()
    chosen = given.sections or [*SECTIONS, "plot"]
    load = os.getloadavg()[0]
    machine = f"{processor()}, {torch.get_num_threads()} cores, load before {load:.1f}, torch {torch.__version__}"
    print(machine + "\n")
    made = show(rows([name for name in SECTIONS if name in chosen]))
    short = shortfalls(made)
    print("\nfalls short:" if short else "\nnothing falls short", *short, sep="\n  ")
    if given.write:
        write(made, machine, PAGE)
    if "plot" in chosen:
        torch.manual_seed(0)
        torch.set_num_threads(1)
        plot(matchers.by_k(), PICTURE)
        print(f"\nplot: {PICTURE.relative_to(Path.cwd()) if PICTURE.is_relative_to(Path.cwd()) else PICTURE}")


if __name__ == "__main__":
    main()
