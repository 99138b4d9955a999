"""An autoencoder's code of the adjacency matrix, and a classifier on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from isonn.baselines.neural import NeuralClassifier, draw_weights
from isonn.estimator import check_widths
from isonn.graphs.graph import GraphSet
from isonn.seeding import torch_stream
from isonn.torch_estimator import MLP
from isonn.training import Inputs


class AutoEncoderClassifier(NeuralClassifier):
    """AE: compress the adjacency matrix without looking at classes, then classify the codes.

    The autoencoder of Vincent et al., "Stacked denoising autoencoders" (JMLR 2010), as the IsoNN paper uses it:
    two encoder and two decoder layers on the padded matrix written as one vector, trained on the squared error
    of the reconstruction; then the encoder is frozen and an MLP learns the classes from the codes. Ours differs:
    both parts train end to end without noise or layer-wise pre-training, and the widths, which the IsoNN
    paper does not give, are ours. The paper's 50 % with one class for every graph is the result of a network
    that did not learn; ours does. Nodes are known by their number, so relabelling changes predictions.

    Args:
        encoder: widths of the encoder's two layers, the second that of the code; the decoder mirrors them.
        hidden: widths of the classifier's hidden layers.
        size: nodes that graphs are padded to; None takes the largest training graph.
        epochs: passes over the training graphs, first of the autoencoder and again of the classifier.
        learning_rate: of Adam.
        batch_size: graphs per step; None takes all at once.
        random_state: seed of all weights and shuffles; None draws one.
        n_jobs: torch threads; one by default, so that the same seed gives the same bits anywhere.
        verbose: 1 shows a progress bar.

    Attributes set by ``fit``:
        reconstruction_history_: loss and seconds of each epoch of the autoencoder.

    Example:
        >>> graphs = isonn.load("MUTAG")[:40]
        >>> clf = AutoEncoderClassifier(encoder=(16, 4), hidden=(8,), epochs=2, random_state=0).fit(graphs)
        >>> clf.predict_proba(graphs[:3]).shape
        (3, 2)
    """

    _fixed_size = True

    def __init__(
        self,
        encoder: Sequence[int] = (512, 128),
        hidden: Sequence[int] = (1024, 128),
        size: int | None = None,
        epochs: int = 100,
        learning_rate: float = 1e-3,
        batch_size: int | None = None,
        random_state: Any = None,
        n_jobs: int = 1,
        verbose: int = 0,
    ) -> None:
        self.encoder = encoder
        self.hidden = hidden
        self.size = size
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_params(self) -> None:
        """Validate parameters."""
        super()._check_params()
        check_widths("encoder", self.encoder)
        check_widths("hidden", self.hidden)

    def _inputs(self, graphs: GraphSet) -> Tensor:
        return torch.from_numpy(graphs.dense(self.size_)).flatten(1)

    def _learn(self, inputs: Inputs, targets: Tensor) -> nn.Module:
        assert isinstance(inputs, Tensor)
        pixels, widths, code = self.size_**2, tuple(self.encoder), self.encoder[-1]

        def autoencoder() -> nn.Module:
            return nn.Sequential(MLP(pixels, widths[:-1], code), MLP(code, widths[-2::-1], pixels))

        def classifier() -> nn.Module:
            return MLP(code, self.hidden, len(self.classes_))

        both = draw_weights(autoencoder, torch_stream(self.seed_, "weights", "autoencoder"))
        self.reconstruction_history_ = self._train(both, inputs, inputs, nn.MSELoss(), "autoencoder")
        with torch.inference_mode():
            codes = both[0](inputs)  # type: ignore[index]
        head = draw_weights(classifier, torch_stream(self.seed_, "weights"))
        self.history_ = self._train(head, codes.clone(), targets, self._loss())
        return nn.Sequential(both[0], head)  # type: ignore[index]
