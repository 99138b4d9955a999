"""What a model is given: matrices, a bank of their distinct windows, or windows with certificates."""

from __future__ import annotations

from torch import Tensor

from isonn.matching import matcher_named
from isonn.windows.bank import WindowBank, all_windows, bank_windows
from isonn.windows.cut import is_symmetric
from isonn.windows.incremental import CertifiedWindows
from isonn.windows.match import worth_compiling

#: From this k on, certificates cost less than trying the k! permutations at every step.
MIN_CERTIFIED_K = 5


def window_inputs(adjacency: Tensor, k: int, matching: str) -> Tensor | WindowBank:
    """Return the bank of windows if the matcher gains by it, else the matrices ``(graphs, n, n)``."""
    matcher = matcher_named(matching)
    bank = bank_windows(adjacency, k, relabelled=not matcher.depends_on_order) if matcher.merges else None
    if matcher.prepares:
        bank = (all_windows(adjacency, k) if bank is None else bank).prepared_for(matcher)
    return adjacency if bank is None else bank


def training_inputs(
    inputs: Tensor | WindowBank, c: int, k: int, matching: str, symmetric: bool
) -> Tensor | WindowBank | CertifiedWindows:
    """Return the inputs with certificates, if these save time in training ``c`` templates of k nodes."""
    if not matcher_named(matching).exact or k < MIN_CERTIFIED_K:
        return inputs
    if not isinstance(inputs, Tensor) or not worth_compiling(inputs, k, c):
        return inputs  # a bank is small, and other devices try all permutations fast
    return CertifiedWindows(inputs, k, half=symmetric and is_symmetric(inputs))
