"""Save and resume a training run, with bit-identical results.

One safetensors file holds the weights, the optimiser's state and the random state as tensors, and the history as JSON
in the header. It contains no pickle and is written atomically. A SHA-256 over all of it detects damage, but not
forgery.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from isonn.errors import ModelFileError
from isonn.files import atomic_file, remove_strays
from isonn.packing import below

FORMAT = "isonn-checkpoint-2"


@dataclass
class Checkpoint:
    """File and interval of the saves of a run.

    Attributes:
        path: the file.
        identity: text that identifies the data and settings of the run; a checkpoint with another cannot be loaded.
        resume: whether a run continues from the file if it exists.
        every: seconds between saves; the first follows the first epoch. Slow saves are made less often, so that saving
            takes at most 5 % of the time.

    Example:
        >>> Checkpoint(tmp_path / "run.safetensors", identity="MUTAG, seed 0", every=60).due()
        True
    """

    path: Path
    identity: str
    resume: bool = False
    every: float = 10.0
    _last: float = -math.inf
    _cost: float = 0.0

    def due(self) -> bool:
        """Return whether it is time to save."""
        return time.monotonic() - self._last >= max(self.every, 20 * self._cost)

    def save(
        self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, generator: torch.Generator, history: History
    ) -> None:
        """Save the state of a run after an epoch; keep the older file if saving fails."""
        start = time.monotonic()
        tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
        state = optimizer.state_dict()["state"]
        for number, entries in state.items():
            for name, value in entries.items():
                tensors[f"optimizer.{number}.{name}"] = torch.as_tensor(value)
        tensors["generator"] = generator.get_state()
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        header = {"format": FORMAT, "identity": self.identity, "history": json.dumps(asdict(history))}
        header["sha256"] = _digest(header, tensors)
        try:
            with atomic_file(self.path) as temporary:
                temporary.write_bytes(save(tensors, header))  # save_file leaves a temporary file when it is killed
        except (OSError, SafetensorError) as error:
            raise ModelFileError(
                f"checkpoint {self.path} cannot be written ({error}); free some space and resume"
            ) from error
        self._last = time.monotonic()
        self._cost = self._last - start

    def load(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, generator: torch.Generator) -> History:
        """Restore the saved state, so that the run continues as if it had never stopped; start anew without one.

        Temporary files left by killed runs are removed.
        """
        remove_strays(self.path.parent, self.path.name)
        if not self.resume or not self.path.exists():
            return History()
        header, tensors = self._read()
        try:
            history = History.from_json(header["history"])
            state = _optimizer_state(below("optimizer", tensors), list(model.parameters()))
            model.load_state_dict(below("model", tensors))
            optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
            generator.set_state(tensors["generator"])
        except (RuntimeError, TypeError, ValueError, KeyError, IndexError) as error:
            raise ModelFileError(f"checkpoint {self.path} holds another model; remove it to start again") from error
        return history

    def _read(self) -> tuple[dict[str, str], dict[str, Tensor]]:
        try:
            with safe_open(self.path, framework="pt") as file:
                header = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
        except (SafetensorError, OSError) as error:
            raise ModelFileError(
                f"checkpoint {self.path} cannot be read ({error}); remove it to start again"
            ) from error
        if header.get("format") != FORMAT:
            raise ModelFileError(f"{self.path} is not a checkpoint of this version; remove it to start again")
        if header.pop("sha256", None) != _digest(header, tensors):
            raise ModelFileError(f"checkpoint {self.path} is damaged; remove it to start again")
        if header.get("identity") != self.identity:
            raise ModelFileError(
                f"checkpoint {self.path} belongs to other data or settings; use the same ones, or remove it to "
                "start again"
            )
        return header, tensors


def _digest(header: dict[str, str], tensors: dict[str, Tensor]) -> str:
    """Return the SHA-256 of the contents of a checkpoint."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _optimizer_state(tensors: dict[str, Tensor], parameters: list[Tensor]) -> dict[int, dict[str, Tensor]]:
    """Return Adam's state by parameter number; raise ValueError if it does not fit the parameters."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        number, entry = name.split(".", 1)
        if tensor.ndim and tensor.shape != parameters[int(number)].shape:
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}")
        state.setdefault(int(number), {})[entry] = tensor
    return state


# The history of a run.


@dataclass
class History:
    """Loss and duration of every finished epoch.

    Attributes:
        loss: mean training loss of each epoch.
        seconds: wall-clock time of each epoch.

    Example:
        >>> history = History()
        >>> history.add(loss=0.7, seconds=1.5)
        >>> len(history), history.loss
        (1, [0.7])
    """

    loss: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.loss)

    @classmethod
    def from_json(cls, text: str) -> History:
        """Read a history from JSON; raise ValueError unless it has one finite loss and duration per epoch."""
        stored = json.loads(text)
        columns = [[float(value) for value in stored[name]] for name in ("loss", "seconds")]
        if len(columns[0]) != len(columns[1]) or not all(map(math.isfinite, columns[0] + columns[1])):
            raise ValueError("loss and seconds do not match")
        return cls(*columns)

    def add(self, loss: float, seconds: float) -> None:
        """Record one finished epoch."""
        self.loss.append(loss)
        self.seconds.append(seconds)
