"""`make bench`: every speed claim of the project as a ratio measured in this run. Keep the machine otherwise idle."""

from __future__ import annotations

import argparse
import platform
from pathlib import Path

import certified
import layer
import matchers
import torch
from plot_matchers import plot
from report import show

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "matching.svg"

SECTIONS = {
    "weighted": ("Exact matching, weighted graphs (forward, softmax, backward)", layer.weighted, False),
    "zero-one": ("Exact matching, 0/1 graphs with the bank of distinct windows", layer.zero_one, True),
    "epoch": ("Training", layer.epoch, True),
    "peak": ("Full matching against the peak of matrix products (CPU time)", certified.near_peak, True),
    "certified": (
        "Training with certificates against full matching at every step (CPU time)",
        certified.training,
        True,
    ),
    "fast": ("The paper's fast variant against exact matching", matchers.exact_against_fast, False),
    "agreement": ("How approximate matching agrees with exact matching", matchers.agreement, False),
    "scipy": ("Assigned matching against scipy", matchers.against_scipy, False),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, "plot", []], help="all, if none is named")
    chosen = parser.parse_args().sections or [*SECTIONS, "plot"]
    threads = torch.get_num_threads()
    print(f"{platform.machine()}, {threads} torch threads, torch {torch.__version__}\n")
    for name, (title, rows, one_thread) in SECTIONS.items():
        if name in chosen:
            torch.manual_seed(0)
            torch.set_num_threads(1 if one_thread else threads)
            show(f"{title}{', one thread' if one_thread else ''}", rows())
            print()
    if "plot" in chosen:
        torch.manual_seed(0)
        torch.set_num_threads(1)
        plot(matchers.by_k(), PICTURE)
        print(f"plot: {PICTURE.relative_to(Path.cwd()) if PICTURE.is_relative_to(Path.cwd()) else PICTURE}")


if __name__ == "__main__":
    main()
