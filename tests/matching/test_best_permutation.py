from __future__ import annotations

import pytest
import torch
from reference import permutation_matrix, relabelled

from isonn.matching import best_permutation, exact_distance


@pytest.mark.parametrize("k", [1, 3, 5])
def test_the_best_ordering_attains_the_distance(k, dtype, generator):
    template = torch.randn(k, k, dtype=dtype, generator=generator)
    region = torch.randn(k, k, dtype=dtype, generator=generator)
    order = best_permutation(template, region)
    attained = ((relabelled(template, order) - region) ** 2).sum()
    torch.testing.assert_close(attained, exact_distance(template[None], region[None])[0, 0])


def test_the_ordering_is_the_permutation_matrix_of_the_paper(dtype, generator):
    template = torch.randn(4, 4, dtype=dtype, generator=generator)
    region = torch.randn(4, 4, dtype=dtype, generator=generator)
    order = best_permutation(template, region)
    p = permutation_matrix(tuple(order.tolist()), dtype)
    torch.testing.assert_close(p @ template @ p.T, relabelled(template, order))


def test_a_relabelling_is_found_again(dtype, generator):
    template = torch.randn(6, 6, dtype=dtype, generator=generator)
    order = torch.randperm(6, generator=generator)
    assert best_permutation(template, relabelled(template, order)).tolist() == order.tolist()
