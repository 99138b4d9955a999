"""Training of any torch module: loop, stopping rules, checkpoint, history. Independent of graphs."""

from isonn.training.checkpoint import Checkpoint, History
from isonn.training.loop import Inputs, train
from isonn.training.stopping import EarlyStopping, Settled, Stopping, check_patience

__all__ = ["Checkpoint", "EarlyStopping", "History", "Inputs", "Settled", "Stopping", "check_patience", "train"]
