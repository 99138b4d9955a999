"""Which ordering won: the step from a distance to an explanation."""

from __future__ import annotations

from torch import Tensor

from isonn.errors import InputError
from isonn.matching.assigned import assigned_orderings
from isonn.matching.exact import exact_winners
from isonn.matching.permutations import permutations


def best_permutation(template: Tensor, region: Tensor, matching: str = "exact") -> Tensor:
    """The ordering ``p`` of the template's nodes for which ``template[p][:, p]`` is nearest to the region.

    Node a of the region is node ``p[a]`` of the template. With P the permutation matrix that has
    ``P[a, p[a]] = 1``, this is the P of the paper: ``P @ template @ P.T == template[p][:, p]``.

    Args:
        matching: "exact", or "assigned" for the ordering that matching found. "fast" has no ordering: its P is
            not a permutation.

    Shapes:
        - template ``(k, k)``
        - region ``(k, k)``
        - output ``(k,)``

    Example:
        >>> template = torch.tensor([[0.0, 1.0], [0.0, 0.0]])
        >>> best_permutation(template, template.T).tolist()
        [1, 0]
    """
    if matching == "assigned":
        return assigned_orderings(template[None], region[None])[0, 0]
    if matching != "exact":
        raise InputError(f"matching={matching!r} gives no permutation; use 'exact' or 'assigned'")
    winner = exact_winners(template[None], region[None])[0, 0]
    return permutations(template.shape[0]).to(template.device)[winner]
