"""Train any torch module: loop, early stopping, checkpoint, history. Knows nothing of graphs."""

from isonn.training.checkpoint import Checkpoint
from isonn.training.history import History
from isonn.training.loop import Inputs, train
from isonn.training.stopping import EarlyStopping

__all__ = ["Checkpoint", "EarlyStopping", "History", "Inputs", "train"]
