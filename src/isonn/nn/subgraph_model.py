"""Templates over connected subgraphs, and the heads that read their soft counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from isonn.nn.forest import Forest
from isonn.nn.head import Head
from isonn.nn.pooled import TEMPERATURES, PooledTemplates

HEADS = ("linear", "mlp", "ensemble")
#: Features of a template: how many, at every temperature, and whether any, at all but the softest.
FEATURES = 2 * len(TEMPERATURES) - 1
#: Added to every variance, the same in training and in prediction: a head must meet features as it learned them. Large
#: enough that a template which nearly all graphs hold does not count for hundreds where it is missing.
SMALLEST_VARIANCE = 1e-2


@dataclass(frozen=True, eq=False)
class SubgraphInputs:
    """Graphs as a `SubgraphModel` reads them; indexing selects graphs, as it does in a tensor.

    Attributes:
        regions: the distinct subgraphs for each group of templates, ``(d, entries)``.
        counts: how often each graph has each of them, sparse, ``(graphs, d)``.
    """

    regions: tuple[Tensor, ...]
    counts: tuple[csr_array, ...]
    graphs: int

    def __len__(self) -> int:
        return self.graphs

    def __getitem__(self, rows: Tensor) -> SubgraphInputs:
        chosen = rows.cpu().numpy()
        regions, counts = [], []
        for all_regions, all_counts in zip(self.regions, self.counts, strict=True):
            part = all_counts[chosen]
            used, column = np.unique(part.indices, return_inverse=True)
            regions.append(all_regions[torch.from_numpy(used).to(all_regions.device)])
            counts.append(csr_array((part.data, column.reshape(-1), part.indptr), shape=(len(chosen), len(used))))
        return SubgraphInputs(tuple(regions), tuple(counts), len(chosen))


class Standardize(nn.Module):
    """Features with mean 0 and deviation 1: over the batch while training, over the training graphs afterwards."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("deviation", torch.ones(inputs))

    def settle(self, features: Tensor) -> None:
        """Take mean and deviation from these features from now on; one that hardly varies is not blown up."""
        self.mean.copy_(features.mean(0))
        self.deviation.copy_((features.var(0, correction=0) + SMALLEST_VARIANCE).sqrt())

    def forward(self, features: Tensor) -> Tensor:
        if self.training:
            with torch.no_grad():
                self.settle(features.detach())
            centred = features - features.mean(0)
            return centred / (centred.square().mean(0) + SMALLEST_VARIANCE).sqrt()
        return (features - self.mean) / self.deviation


def raw_features(sums: Tensor) -> Tensor:
    """How many of each template there are, as a logarithm, and whether there is any, before they are standardised.

    Shapes:
        - sums ``(graphs, templates, temperatures)``
        - output ``(graphs, templates * FEATURES)``
    """
    return torch.cat([sums.log1p(), -torch.expm1(-sums[:, :, 1:])], dim=2).flatten(1)


class SubgraphModel(nn.Module):
    """Soft counts of templates; of each how many, as a logarithm, and whether any; standardised; and a head.

    Args:
        groups: the templates, one module per size and view.
        outputs: classes, or labels of a multi-label task.
        hidden: widths of the head's hidden layers; none makes it linear.
        multilabel: whether outputs are independent of each other.

    Shapes:
        - inputs: `SubgraphInputs`
        - output ``(graphs, outputs)``, logits
    """

    def __init__(
        self,
        groups: Sequence[PooledTemplates],
        outputs: int,
        hidden: Sequence[int] = (),
        multilabel: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.groups = nn.ModuleList(groups)
        self.multilabel = multilabel
        inputs = sum(group.c for group in groups) * FEATURES
        self.standardize = Standardize(inputs)
        self.head = Head(inputs, hidden, outputs, generator)
        self.forest: Forest | None = None  # votes along in an ensemble

    def forward(self, inputs: SubgraphInputs) -> Tensor:
        return self.logits(self.sums(inputs))

    def sums(self, inputs: SubgraphInputs) -> Tensor:
        """How often each template is found in each graph, softly: ``(graphs, templates, temperatures)``."""
        return torch.cat(
            [
                group(regions, counts)
                for group, regions, counts in zip(self.groups, inputs.regions, inputs.counts, strict=True)
            ],
            dim=1,
        )

    def features(self, inputs: SubgraphInputs) -> Tensor:
        """What the head sees, ``(graphs, templates * FEATURES)``."""
        features: Tensor = self.standardize(raw_features(self.sums(inputs)))
        return features

    def logits(self, sums: Tensor) -> Tensor:
        """The logits that belong to such sums."""
        features = self.standardize(raw_features(sums))
        logits: Tensor = self.head(features)
        if self.forest is None:
            return logits
        votes: Tensor = self.forest(features)
        if self.multilabel:
            return ((logits.sigmoid() + votes) / 2).clamp(1e-6, 1 - 1e-6).logit().to(logits)
        return ((logits.softmax(1) + votes) / 2).clamp(min=1e-6).log().to(logits)

    def penalty(self) -> Tensor:
        """How far all templates are from graphs one can draw."""
        parts = [group.penalty() for group in self.groups if isinstance(group, PooledTemplates)]
        return torch.stack(parts).sum()
