"""What the baselines that are torch networks share, and the autoencoder and the CNN."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from isonn.baselines import AutoEncoderClassifier, CNNClassifier, GCNClassifier, GINClassifier, SDBNClassifier
from isonn.baselines.neural import Dropout, draw_weights, set_dropout
from isonn.errors import InputError
from isonn.graphs.synthetic import planted_motifs
from isonn.nn import MLP

QUICK = {
    "ae": AutoEncoderClassifier(encoder=(16, 8), hidden=(16,), epochs=2, random_state=0),
    "cnn": CNNClassifier(channels=4, hidden=(16,), epochs=2, random_state=0),
    "sdbn": SDBNClassifier(modules=3, epochs=2, random_state=0),
    "gcn": GCNClassifier(hidden=8, epochs=2, random_state=0),
    "gin": GINClassifier(layers=2, hidden=8, epochs=2, random_state=0),
    "gin-degree": GINClassifier(features="degree", layers=2, hidden=8, epochs=2, random_state=0),
}


@pytest.fixture(scope="module")
def graphs():
    return planted_motifs(n_graphs=40, n_nodes=(8, 14), seed=0).graphs


@pytest.mark.parametrize("name", QUICK)
def test_answers_depend_on_the_seed_and_not_on_the_global_random_state(name, graphs):
    torch.manual_seed(5)
    state = torch.get_rng_state()
    expected = QUICK[name].fit(graphs).predict_proba(graphs)
    torch.testing.assert_close(torch.get_rng_state(), state)
    torch.manual_seed(6)
    np.testing.assert_equal(QUICK[name].fit(graphs).predict_proba(graphs), expected)
    assert (clone(QUICK[name]).set_params(random_state=1).fit(graphs).predict_proba(graphs) != expected).any()


@pytest.mark.parametrize("name", QUICK)
def test_graphs_of_one_and_two_nodes_can_be_learnt_from(name):
    tiny = [np.ones((1, 1)), np.zeros((2, 2)), np.array([[0, 1], [1, 0]]), np.zeros((1, 1))]
    assert QUICK[name].fit(tiny, [0, 1, 1, 0]).predict(tiny).shape == (4,)


@pytest.mark.parametrize("name", ["ae", "cnn", "sdbn", "gcn", "gin"])
def test_a_graph_larger_than_there_is_room_for_is_refused(name, graphs):
    QUICK[name].fit(graphs)
    with pytest.raises(InputError, match="has 20 nodes, more than the 14"):
        QUICK[name].predict(np.zeros((1, 20, 20)))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (CNNClassifier(epochs=0), "epochs=0 is not a count"),
        (CNNClassifier(batch_size=0), "batch_size=0 is not a count"),
        (CNNClassifier(learning_rate=0), "learning_rate=0 is not above 0"),
        (CNNClassifier(channels=0), "channels=0 is not a count"),
        (CNNClassifier(hidden=(0,)), r"hidden=\(0,\) are not layer widths"),
        (AutoEncoderClassifier(encoder=()), r"encoder=\(\) are not layer widths"),
        (SDBNClassifier(dropout=1), "dropout=1 must be at least 0 and below 1"),
        (SDBNClassifier(reconstruction=-1), "reconstruction=-1 is not a weight"),
        (GINClassifier(features="colour"), "features='colour' is unknown; use one of adjacency, labels, degree"),
        (GCNClassifier(layers=0), "layers=0 is not a count"),
    ],
)
def test_settings_that_mean_nothing_are_refused(estimator, message, graphs):
    with pytest.raises(InputError, match=message):
        estimator.fit(graphs)


def test_the_cnn_is_the_papers_network(mutag):
    clf = CNNClassifier(epochs=1, random_state=0).fit(mutag)
    shapes = [tuple(weight.shape) for weight in clf.model_.parameters() if weight.ndim > 1]
    assert shapes == [(50, 1, 5, 5), (1024, 50 * 12 * 12), (128, 1024), (2, 128)]


def test_the_autoencoder_sees_no_classes_and_learns_to_reconstruct(graphs):
    one = AutoEncoderClassifier(encoder=(32, 8), hidden=(16,), epochs=60, random_state=0).fit(graphs)
    two = AutoEncoderClassifier(encoder=(32, 8), hidden=(16,), epochs=60, random_state=0).fit(
        graphs, np.arange(len(graphs)) % 3
    )
    for ours, theirs in zip(one.model_[0].parameters(), two.model_[0].parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
    loss = one.reconstruction_history_.loss
    assert loss[-1] < loss[0] * 0.8
    assert len(one.history_.loss) == 60


def test_weights_are_drawn_as_torch_draws_them():
    ours = draw_weights(lambda: MLP(50, (200,), 3), torch.Generator().manual_seed(3))
    theirs = MLP(50, (200,), 3, torch.Generator().manual_seed(3))
    for name, weight in ours.state_dict().items():
        torch.testing.assert_close(weight, theirs.state_dict()[name], rtol=0, atol=0)


def test_weights_without_a_rule_are_refused_rather_than_left_undefined():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1))

    with pytest.raises(TypeError, match=r"no rule for the weights \['scale'\] of Odd"):
        draw_weights(Odd, torch.Generator())


def test_dropout_keeps_the_mean_and_does_nothing_once_trained():
    layer = Dropout(0.25)
    with pytest.raises(TypeError, match="dropout has no generator"):
        layer(torch.ones(3))
    set_dropout(layer, torch.Generator().manual_seed(0))
    dropped = layer(torch.ones(100_000))
    assert set(dropped.unique().tolist()) == {0.0, torch.tensor(4 / 3).item()}
    assert abs(dropped.mean().item() - 1) < 0.01
    torch.testing.assert_close(layer.eval()(torch.ones(3)), torch.ones(3))


def test_the_counting_baselines_do_not_wait_for_torch():
    code = (
        "import sys; from isonn.baselines import MajorityClassifier, GraphSizeClassifier; "
        "assert not {'torch', 'torch_geometric', 'grakel'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
