from __future__ import annotations

import numpy as np
import pytest

from isonn.packing import merge_equal


@pytest.mark.parametrize("largest", [1, 2**10, 2**20, 2**40, 2**62])
@pytest.mark.parametrize("distinct", [1, 7, 400])
def test_equal_words_share_a_number_in_the_order_of_the_words(largest, distinct):
    rng = np.random.default_rng(0)
    words = [rng.choice(rng.integers(0, largest, distinct, endpoint=True), 1000) for _ in range(2)]
    for count in (1, 2):
        number, place = merge_equal(iter(words[:count]))
        rows = np.stack(words[:count], axis=1)
        expected, inverse = np.unique(rows, axis=0, return_inverse=True)
        np.testing.assert_array_equal(number, inverse.ravel())
        np.testing.assert_array_equal(rows[place], expected)
