"""SDBN: modules, their order, and the second channel."""

from __future__ import annotations

import numpy as np
import pytest

from isonn.baselines import SDBNClassifier
from isonn.baselines.matrix_networks import block_means, find_modules


def planted_modules(rng, label):
    """Two groups of six nodes, links inside strong, between weak; which nodes belong together is `label`."""
    together = label[:, None] == label[None, :]
    matrix = np.where(together, 0.9, 0.05) + rng.normal(0, 0.01, together.shape)
    return (matrix + matrix.T) / 2


@pytest.fixture
def aligned():
    rng = np.random.default_rng(0)
    label = rng.permutation(np.arange(12) % 2)
    sets = np.stack([planted_modules(rng, label) for _ in range(10)])
    return sets, label


def test_planted_modules_are_found_and_laid_side_by_side(aligned):
    matrices, label = aligned
    clf = SDBNClassifier(modules=2, epochs=1, random_state=0).fit(matrices, np.arange(10) % 2)
    np.testing.assert_array_equal(clf.modules_, label != label[0])  # numbered by their first nodes
    np.testing.assert_array_equal(np.sort(clf.order_), np.arange(12))
    np.testing.assert_array_equal(label[clf.order_], [label[0]] * 6 + [1 - label[0]] * 6)


def test_negative_weights_bind_nodes_as_strongly_as_positive_ones(aligned):
    matrices, _ = aligned
    y = np.arange(10) % 2
    positive = SDBNClassifier(modules=2, epochs=1, random_state=0).fit(matrices, y)
    negative = SDBNClassifier(modules=2, epochs=1, random_state=0).fit(-matrices, y)
    np.testing.assert_array_equal(positive.modules_, negative.modules_)


def test_the_second_channel_holds_the_means_of_the_blocks_of_the_first(aligned):
    matrices, _ = aligned
    clf = SDBNClassifier(modules=2, epochs=1, random_state=0).fit(matrices, np.arange(10) % 2)
    from isonn import as_graphset

    first, second = clf._inputs(as_graphset(matrices))[3].numpy()
    np.testing.assert_allclose(first, matrices[3][np.ix_(clf.order_, clf.order_)], rtol=1e-6)
    for rows in (slice(0, 6), slice(6, 12)):
        for columns in (slice(0, 6), slice(6, 12)):
            np.testing.assert_allclose(second[rows, columns], first[rows, columns].mean(), rtol=1e-5)


def test_block_means_by_definition():
    rng = np.random.default_rng(1)
    matrices = rng.normal(size=(2, 5, 5)).astype(np.float32)
    modules = np.array([0, 2, 1, 0, 2])
    expected = np.empty_like(matrices)
    for i, j in np.ndindex(5, 5):
        block = np.ix_(modules == modules[i], modules == modules[j])
        expected[:, i, j] = [matrix[block].mean() for matrix in matrices]
    np.testing.assert_allclose(block_means(matrices, modules), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_few_nodes_and_no_links_still_have_modules(n):
    modules = find_modules(np.zeros((n, n)), count=8, seed=0)
    assert modules.shape == (n,)
    assert modules[0] == 0


def test_the_decoder_is_part_of_the_loss(aligned):
    matrices, _ = aligned
    y = np.arange(10) % 2
    settings = {"modules": 2, "epochs": 1, "batch_size": None, "random_state": 0}
    networks = [SDBNClassifier(reconstruction=weight, **settings).fit(matrices, y) for weight in (0.0, 1.0, 2.0)]
    losses = [network.history_.loss[0] for network in networks]
    assert losses[1] > losses[0]
    assert losses[2] - losses[0] == pytest.approx(2 * (losses[1] - losses[0]), rel=1e-4)
