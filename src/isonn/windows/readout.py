"""The isomorphic layer as a readout of PyTorch Geometric batches."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from isonn.errors import InputError
from isonn.windows.layer import IsoLayer, real_windows

#: Cells of padded matrices per cell of the graphs, at most, when graphs are grouped by size.
MAX_PADDING = 2.0
#: Cells of the matrices of one group: 64 MB of float32.
MAX_CELLS = 2**24


class IsoReadout(nn.Module):
    r"""Describe every graph of a batch by how well ``c`` learnable templates match its windows.

    With :math:`z_i(s,t)` the distance of template i to the window at (s, t), as in `IsoLayer`, the features of a graph
    are, for each template,

    .. math:: -\min_{s,t} z_i(s,t) \qquad \text{and} \qquad \log \sum_{s,t} e^{-z_i(s,t)}

    the similarity of the best match, and the normaliser of the layer's softmax, a soft count of matches. They do not
    depend on the number of nodes, so that graphs of any size fit. Graphs of fewer than k nodes are padded with zeros to
    k. Windows are blocks of consecutive node numbers: relabelling the nodes of a graph changes its features.

    Args:
        k: nodes per template. Cost grows as k!.
        c: number of templates.
        matching: name of the matcher, one of `isonn.matching.MATCHERS`.
        generator: draws the templates from the standard normal distribution.
        symmetric: keep the templates symmetric, which halves the work on undirected graphs.

    Shapes:
        - edge_index ``(2, edges)``, node numbers of the whole batch, as PyTorch Geometric has them
        - batch ``(nodes,)``, the graph of each node, ascending
        - edge_weight ``(edges,)``; 1 by default, and the weights of repeated edges add up
        - output ``(graphs, 2 * c)``, best matches first

    Example:
        >>> edge_index = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])  # a path of three nodes, an edge
        >>> IsoReadout(k=2, c=3)(edge_index, torch.tensor([0, 0, 0, 1, 1])).shape
        torch.Size([2, 6])
    """

    def __init__(
        self,
        k: int,
        c: int,
        matching: str = "exact",
        generator: torch.Generator | None = None,
        symmetric: bool = False,
    ) -> None:
        super().__init__()
        self.layer = IsoLayer(k, c, matching, generator=generator, symmetric=symmetric)

    @property
    def out_features(self) -> int:
        """Number of features of a graph."""
        return 2 * self.layer.c

    def forward(self, edge_index: Tensor, batch: Tensor | None = None, edge_weight: Tensor | None = None) -> Tensor:
        """Return the features of every graph of a batch.

        Args:
            edge_index: the nodes of each edge; an undirected edge is given in both directions.
            batch: the graph of each node, ascending; None: one graph, whose last node has an edge.
            edge_weight: the weight of each edge; None: 1. Weights of repeated edges add up.

        Shapes:
            - edge_index ``(2, edges)``, node numbers of the whole batch
            - batch ``(nodes,)``
            - edge_weight ``(edges,)``
            - output ``(graphs, 2 * c)``, best matches first

        Raises:
            InputError: if the tensors are not a batch of graphs.

        Example:
            >>> readout = IsoReadout(k=2, c=3)
            >>> readout(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])).shape  # one graph, a path of three nodes
            torch.Size([1, 6])
        """
        if batch is None and isinstance(edge_index, Tensor):
            last = int(edge_index.max()) if edge_index.numel() else 0
            batch = torch.zeros(max(last, 0) + 1, dtype=torch.long, device=edge_index.device)
        sizes = _check(edge_index, batch, edge_weight)
        features = [self._pool(*group) for group in self._groups(edge_index, batch, edge_weight, sizes)]
        if not features:
            return self.layer.templates.new_zeros(0, self.out_features)
        return torch.cat(features)[_by_size(sizes).argsort()]

    @torch.compiler.disable  # type: ignore[untyped-decorator, unused-ignore]
    def _groups(
        self, edge_index: Tensor, batch: Tensor, edge_weight: Tensor | None, sizes: Tensor
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield dense matrices and masks of graphs of similar size, by ascending size."""
        dtype = self.layer.templates.dtype
        weights = torch.ones_like(edge_index[0], dtype=dtype) if edge_weight is None else edge_weight.to(dtype)
        first = sizes.cumsum(0) - sizes
        owner = batch[edge_index[0]]
        row, column = edge_index - first[owner]
        for graphs in _similar(sizes, self.layer.k):
            n = max(int(sizes[graphs].max()), self.layer.k)
            place = torch.full_like(sizes, -1)
            place[graphs] = torch.arange(len(graphs), device=sizes.device)
            here = place[owner] >= 0
            cells = (place[owner[here]] * n + row[here]) * n + column[here]
            dense = weights.new_zeros(len(graphs) * n * n).index_add(0, cells, weights[here])
            real = torch.arange(n, device=sizes.device) < sizes[graphs, None].clamp(min=self.layer.k)
            yield dense.view(-1, n, n), real

    def _pool(self, adjacency: Tensor, real: Tensor) -> Tensor:
        similar = -self.layer.distances(adjacency)
        similar = similar.masked_fill(~real_windows(real, self.layer.k, similar), -torch.inf).flatten(2)
        return torch.cat([similar.amax(2), similar.logsumexp(2)], dim=1)


def _check(edge_index: Tensor, batch: Tensor | None, edge_weight: Tensor | None) -> Tensor:
    """Return the number of nodes of each graph; raise `InputError` for tensors that are not a batch of graphs."""
    if not isinstance(edge_index, Tensor) or not isinstance(batch, Tensor):
        given = batch if isinstance(edge_index, Tensor) else edge_index
        raise InputError(
            f"IsoReadout takes tensors, got {type(given).__name__}; call it with data.edge_index, data.batch"
        )
    if edge_index.ndim != 2 or len(edge_index) != 2 or batch.ndim != 1:
        raise InputError(
            f"edge_index has shape {tuple(edge_index.shape)} and batch {tuple(batch.shape)}; "
            "give (2, edges) and (nodes,)"
        )
    if len(batch) and bool((batch.diff() < 0).any()):
        raise InputError("batch is not ascending; put the nodes of each graph next to each other")
    if edge_weight is not None and edge_weight.shape != edge_index.shape[1:]:
        raise InputError(
            f"edge_weight has shape {tuple(edge_weight.shape)} for {edge_index.shape[1]} edges; "
            "give one weight per edge"
        )
    if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < len(batch):
        raise InputError(f"edge_index names a node beyond the {len(batch)} of batch; give the graph of every node")
    if bool((batch[edge_index[0]] != batch[edge_index[1]]).any()):
        raise InputError("edge_index joins nodes of two graphs; count nodes over the whole batch, as DataLoader does")
    return torch.bincount(batch)


def _by_size(sizes: Tensor) -> Tensor:
    return sizes.argsort(stable=True)


def _similar(sizes: Tensor, k: int) -> Iterator[Tensor]:
    """Yield graphs by ascending size, in groups that padding does not make much larger."""
    order = _by_size(sizes)
    group: list[int] = []
    real = 0
    for graph, n in zip(order.tolist(), sizes[order].clamp(min=k).tolist(), strict=True):
        padded = (len(group) + 1) * n * n
        if group and (padded > MAX_PADDING * (real + n * n) or padded > MAX_CELLS):
            yield torch.tensor(group, device=sizes.device)
            group, real = [], 0
        group.append(graph)
        real += n * n
    if group:
        yield torch.tensor(group, device=sizes.device)
