"""Training of any torch module: loop, early stopping, checkpoint, history. Independent of graphs."""

from isonn.training.checkpoint import Checkpoint, History
from isonn.training.loop import EarlyStopping, Inputs, train

__all__ = ["Checkpoint", "EarlyStopping", "History", "Inputs", "train"]
