"""Training of any torch module: loop, stopping rules, history. Independent of graphs."""

from isonn.errors import naming_the_extra

with naming_the_extra("isonn.training"):
    from isonn.training.history import History
    from isonn.training.loop import Inputs, Schedule, train
    from isonn.training.stopping import EarlyStopping, Settled

__all__ = ["EarlyStopping", "History", "Inputs", "Schedule", "Settled", "train"]
