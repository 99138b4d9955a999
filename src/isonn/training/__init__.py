"""Training of any torch module: loop, stopping rules, checkpoint, history. Independent of graphs."""

from isonn.training.checkpoint import Checkpoint, History
from isonn.training.loop import Inputs, Schedule, train
from isonn.training.stopping import EarlyStopping, Settled

__all__ = ["Checkpoint", "EarlyStopping", "History", "Inputs", "Schedule", "Settled", "train"]
