"""The graph isomorphic layer of the paper as a torch module."""

from __future__ import annotations

from numbers import Integral

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from isonn.errors import InputError
from isonn.matching import matcher_named
from isonn.params import check_count
from isonn.windows.bank import WindowBank
from isonn.windows.cut import cut_half, cut_windows, half_places, is_symmetric
from isonn.windows.incremental import CertifiedWindows
from isonn.windows.match import matches_in_place, window_distance

NORMALIZATIONS = ("positions", "templates", "relative")

#: What an isomorphic layer takes.
LayerInputs = Tensor | WindowBank | CertifiedWindows


class IsoLayer(nn.Module):
    r"""Match ``c`` learnable ``k x k`` templates against every window of a graph.

    With :math:`M_{st}` the window of the adjacency matrix at row s, column t and :math:`K_i` template i,

    .. math:: z_i(s,t) = \min_P \lVert P K_i P^\top - M_{st} \rVert_F^2, \qquad q_i = \mathrm{softmax}(-z_i)

    so :math:`q_i` is a map over windows, large where the graph looks like template i under some
    permutation of its nodes.

    Args:
        k: nodes per template. Cost grows as k!.
        c: number of templates.
        matching: name of the matcher that finds the minimum over P, one of `isonn.matching.MATCHERS`.
        normalize: "positions" takes the softmax over all windows, per template, as in the authors' code. "templates"
            takes it over the templates, per window, as in the paper's text (needs c >= 2). "relative" is "positions"
            times the number of windows, so that the average window has 1 and the maps of large graphs do not vanish,
            which deeper layers need.
        generator: draws the templates from the standard normal distribution.
        symmetric: keep the templates symmetric, unlike the paper. On symmetric graphs the windows at (s, t) and (t, s)
            then have equal distances, and only half of them are matched.

    Under ``torch.autocast`` the layer computes in the precision of its templates. ``torch.compile`` leaves the matching
    itself uncompiled.

    Shapes:
        - adjacency ``(batch, n, n)``, n >= k, or a `WindowBank` or `CertifiedWindows` of such graphs
        - mask ``(batch, n)``, True for the nodes that exist; by default all do
        - output ``(batch, c, n-k+1, n-k+1)``

    Example:
        >>> IsoLayer(k=2, c=3)(torch.zeros(5, 4, 4)).shape
        torch.Size([5, 3, 3, 3])
        >>> mask = torch.tensor([[True, True, True, False]])  # the last node is padding
        >>> IsoLayer(k=2, c=1)(torch.zeros(1, 4, 4), mask=mask)[0, 0]  # doctest: +NORMALIZE_WHITESPACE
        tensor([[0.2500, 0.2500, 0.0000],
                [0.2500, 0.2500, 0.0000],
                [0.0000, 0.0000, 0.0000]], grad_fn=<SelectBackward0>)
    """

    def __init__(
        self,
        k: int,
        c: int,
        matching: str = "exact",
        normalize: str = "positions",
        generator: torch.Generator | None = None,
        symmetric: bool = False,
    ) -> None:
        super().__init__()
        check_layer(k, c, matching, normalize)
        self.k, self.c, self.matching, self.normalize = k, c, matching, normalize
        self.symmetric = symmetric
        self.templates = nn.Parameter(nn.init.normal_(torch.empty(c, k, k), generator=generator))
        if symmetric:
            parametrize.register_parametrization(self, "templates", _Symmetric())

    def forward(self, graphs: LayerInputs, mask: Tensor | None = None) -> Tensor:
        """Return the map of each template over the windows of each graph.

        Args:
            graphs: adjacency matrices of shape (batch, n, n), or a `WindowBank` or `CertifiedWindows`.
            mask: booleans of shape (batch, n), True for nodes that exist. Windows with another node get no share of
                the softmax; None uses all nodes.

        Returns:
            Tensor of shape (batch, c, m, m) with m = n - k + 1.

        Example:
            >>> maps = IsoLayer(k=3, c=2)(torch.rand(1, 5, 5))
            >>> maps.detach().sum(dim=(2, 3)).round(decimals=3)  # each map sums to 1 over all windows
            tensor([[1., 1.]])
        """
        maps: Tensor = self._similarities(graphs)
        there = None if mask is None else real_windows(mask, self.k, maps)
        if self.normalize == "templates":
            shares = maps.softmax(1)
            return shares if there is None else shares * there
        if there is not None:
            maps = maps.masked_fill(~there, -torch.inf)
        shares = maps.flatten(2).softmax(2).view(maps.shape)
        if there is not None:
            shares = torch.where(there, shares, 0.0)  # a graph without windows has no softmax, and no share
        if self.normalize != "relative":
            return shares
        return shares * (maps.shape[2:].numel() if there is None else there.sum((2, 3), keepdim=True))

    def distances(self, graphs: LayerInputs) -> Tensor:
        """Return the features :math:`z_i(s,t)` before the softmax, ``(batch, c, m, m)``.

        Args:
            graphs: as in `forward`.

        Returns:
            Tensor of shape (batch, c, m, m) with m = n - k + 1.

        Example:
            >>> IsoLayer(k=2, c=3).distances(torch.zeros(1, 4, 4)).shape
            torch.Size([1, 3, 3, 3])
        """
        similarities: Tensor = self._similarities(graphs)
        return -similarities

    @torch.compiler.disable  # type: ignore[untyped-decorator, unused-ignore]
    def _similarities(self, graphs: LayerInputs) -> Tensor:
        """Return the negative distances; the sign is flipped once per distinct region, not at every position."""
        if not isinstance(graphs, Tensor | WindowBank | CertifiedWindows):
            raise InputError(
                f"IsoLayer takes a tensor of shape (batch, n, n), got {type(graphs).__name__}; use isonn.nn.IsoReadout "
                "for PyTorch Geometric data, or torch.from_numpy(graphs.dense(n)) for a GraphSet"
            )
        if not isinstance(graphs, Tensor):
            return self._matched(graphs)
        with torch.autocast(graphs.device.type, enabled=False):
            return self._matched(graphs.to(self.templates.dtype))

    def _matched(self, graphs: LayerInputs) -> Tensor:
        matcher = matcher_named(self.matching)
        if isinstance(graphs, WindowBank):
            distance = matcher.distance(self.templates, graphs.regions, graphs.prepared)
            return graphs.spread(-distance.t()).transpose(0, 1)
        # half: one window of each pair (s, t), (t, s) is enough
        if isinstance(graphs, CertifiedWindows):
            m, half = graphs.side, graphs.half
            if half and not self.symmetric:
                raise InputError("CertifiedWindows with half=True need symmetric templates; use half=False")
            maps = -graphs.distance(self.templates).t()
        else:
            m, half = graphs.shape[-1] - self.k + 1, self.symmetric and matcher.exact and is_symmetric(graphs.detach())
            if matcher.exact and matches_in_place(self.templates, graphs):
                maps = -window_distance(self.templates, graphs, half)
            else:
                windows = cut_half(graphs, self.k) if half else cut_windows(graphs, self.k)
                maps = -matcher.distance(self.templates, windows.reshape(-1, self.k, self.k)).t()
        batch = len(graphs)
        if half:
            places = half_places(m)[1].to(maps.device)
            maps = maps.reshape(self.c * batch, -1).index_select(1, places)
        return maps.reshape(self.c, batch, m, m).transpose(0, 1)

    def extra_repr(self) -> str:
        symmetric = ", symmetric=True" if self.symmetric else ""
        return f"k={self.k}, c={self.c}, matching={self.matching!r}, normalize={self.normalize!r}{symmetric}"


def real_windows(mask: Tensor, k: int, maps: Tensor) -> Tensor:
    """Return which windows lie on nodes that exist, ``(batch, 1, m, m)``, for maps ``(batch, c, m, m)``.

    Args:
        mask: True for the nodes that exist, ``(batch, n)``.
    """
    m = maps.shape[-1]
    if mask.dtype != torch.bool or mask.shape != (len(maps), m + k - 1):
        raise InputError(
            f"mask is {mask.dtype} of shape {tuple(mask.shape)}; give torch.bool of shape {(len(maps), m + k - 1)}, "
            "True for the nodes that exist"
        )
    whole = mask.unfold(1, k, 1).all(2)  # all k nodes from each start exist
    return (whole[:, :, None] & whole[:, None, :])[:, None]


class _Symmetric(nn.Module):
    """The upper triangle, mirrored."""

    def forward(self, templates: Tensor) -> Tensor:
        return templates.triu() + templates.triu(1).mT

    def right_inverse(self, templates: Tensor) -> Tensor:
        return templates.triu()


def check_layer(k: int, c: int, matching: str = "exact", normalize: str = "positions") -> None:
    """Validate a layer's parameters."""
    check_sizes(k, c)
    matcher_named(matching).check(k)
    if normalize not in NORMALIZATIONS:
        raise InputError(f"normalize={normalize!r} is unknown; use one of {', '.join(map(repr, NORMALIZATIONS))}")
    if normalize == "templates" and c == 1:
        raise InputError("normalize='templates' with c=1 makes every feature 1; use c >= 2 or normalize='positions'")


def check_sizes(k: int, c: int) -> None:
    """Validate numbers of nodes and templates."""
    for name, value in (("k", k), ("c", c)):
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise InputError(f"{name}={value!r} is not a number of {'nodes' if name == 'k' else 'templates'}; use >= 1")
        check_count(name, value)
