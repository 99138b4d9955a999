"""The paper's equation, written down and nothing else: the measure of what the other matchers save."""

from __future__ import annotations

import torch
from torch import Tensor

from isonn.matching.exact import ExactMatcher
from isonn.matching.matcher import check_pair
from isonn.matching.permutations import permutations


class DefinitionMatcher(ExactMatcher):
    """All k! permutations of every template, each compared with every region, as the paper's equations say.

    The result is that of "exact". Time and memory grow as k! for every window, and equal windows are not merged, so use
    it only to see the paper's running times.
    """

    name = "definition"
    exact = False
    merges = False

    def distance(self, templates: Tensor, regions: Tensor, prepared: Tensor | None = None) -> Tensor:
        """Return the minimum over all permutations P of the squared norm of P K P' - M."""
        check_pair(templates, regions)
        orders = permutations(templates.shape[-1]).to(templates.device)
        relabelled = templates[:, orders[:, :, None], orders[:, None, :]]  # (c, k!, k, k)
        each = [(relabelled[i] - regions[:, None]).square().sum((2, 3)).amin(1) for i in range(len(templates))]
        return torch.stack(each, dim=1)
