"""The paper's torch modules: the graph isomorphic layer, stacks of it, and IsoNN."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from isonn.errors import InputError
from isonn.matching import matcher_named
from isonn.params import check_count
from isonn.torch_estimator import MLP
from isonn.windows.bank import WindowBank
from isonn.windows.cut import cut_half, cut_windows, half_places, is_symmetric
from isonn.windows.incremental import CertifiedWindows
from isonn.windows.match import matches_in_place, window_distance

NORMALIZATIONS = ("positions", "templates", "relative")

#: Inputs of an isomorphic layer.
Inputs = Tensor | WindowBank | CertifiedWindows


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

    def forward(self, graphs: Inputs, mask: Tensor | None = None) -> Tensor:
        maps: Tensor = self._similarities(graphs)
        there = None if mask is None else real_windows(mask, self.k, maps)
        if self.normalize == "templates":
            parts = maps.softmax(1)
            return parts if there is None else parts * there
        if there is not None:
            maps = maps.masked_fill(~there, -torch.inf)
        parts = maps.flatten(2).softmax(2).view(maps.shape)
        if there is not None:
            parts = torch.where(there, parts, 0.0)  # a graph without windows has no softmax, and no share
        if self.normalize != "relative":
            return parts
        return parts * (maps.shape[2:].numel() if there is None else there.sum((2, 3), keepdim=True))

    def distances(self, graphs: Inputs) -> Tensor:
        """Return the features :math:`z_i(s,t)` before the softmax, ``(batch, c, m, m)``."""
        similarities: Tensor = self._similarities(graphs)
        return -similarities

    @torch.compiler.disable  # type: ignore[untyped-decorator, unused-ignore]
    def _similarities(self, graphs: Inputs) -> Tensor:
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

    def _matched(self, graphs: Inputs) -> Tensor:
        matcher = matcher_named(self.matching)
        if isinstance(graphs, WindowBank):
            distance = matcher.distance(self.templates, graphs.regions, graphs.prepared)
            return graphs.spread(-distance.t()).transpose(0, 1)
        batch, m, half = len(graphs), self._side(graphs), self._half_is_enough(graphs)
        if isinstance(graphs, CertifiedWindows):
            maps = -graphs.distance(self.templates).t()
        elif matcher.exact and matches_in_place(self.templates, graphs):
            maps = -window_distance(self.templates, graphs, half)
        else:
            windows = cut_half(graphs, self.k) if half else cut_windows(graphs, self.k)
            maps = -matcher.distance(self.templates, windows.reshape(-1, self.k, self.k)).t()
        if half:
            places = half_places(m)[1].to(maps.device)
            maps = maps.reshape(self.c * batch, -1).index_select(1, places)
        return maps.reshape(self.c, batch, m, m).transpose(0, 1)

    def _side(self, graphs: Tensor | CertifiedWindows) -> int:
        return graphs.side if isinstance(graphs, CertifiedWindows) else graphs.shape[-1] - self.k + 1

    def _half_is_enough(self, graphs: Tensor | CertifiedWindows) -> bool:
        """Return whether one window of each pair (s, t), (t, s) is enough."""
        if not isinstance(graphs, CertifiedWindows):
            return self.symmetric and matcher_named(self.matching).exact and is_symmetric(graphs.detach())
        if graphs.half and not self.symmetric:
            raise InputError("CertifiedWindows with half=True need symmetric templates; use half=False")
        return graphs.half

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


# Deep IsoNN: the maps of one isomorphic layer are the graphs of the next.


#: One (c, k) per layer: c templates of k nodes.
Layers = Sequence[tuple[int, int]]


class IsoStack(nn.Sequential):
    r"""A stack of isomorphic layers.

    Every map of a layer is an input matrix of the next, for each of its templates: 2 maps, then 3 templates, give 6
    maps. Gradients reach the first templates. Only the first layer accepts inputs other than tensors, because the maps
    of later layers are weighted and change as the templates learn.

    Args:
        layers: ``(c, k)`` of each layer.
        matching, normalize, generator, symmetric: as in `IsoLayer`.

    Shapes:
        - adjacency ``(batch, n, n)``, or a `WindowBank` or `CertifiedWindows`
        - output ``(batch, c_1 * ... * c_L, m, m)`` with ``m = n - (k_1 - 1) - ... - (k_L - 1)``

    Example:
        >>> IsoStack(((2, 3), (3, 4)))(torch.zeros(5, 9, 9)).shape
        torch.Size([5, 6, 4, 4])
    """

    def __init__(
        self,
        layers: Layers,
        matching: str = "exact",
        normalize: str = "positions",
        generator: torch.Generator | None = None,
        symmetric: bool = False,
    ) -> None:
        super().__init__(*(IsoLayer(k, c, matching, normalize, generator, symmetric) for c, k in layers))

    def forward(self, graphs: Inputs) -> Tensor:
        batch = len(graphs)
        maps: Inputs = graphs
        for layer in self:
            maps = layer(maps).flatten(0, 1)  # every map a graph of its own
        assert isinstance(maps, Tensor)
        return maps.view(batch, -1, *maps.shape[1:])


def map_shape(n: int, layers: Layers) -> tuple[int, int]:
    """Return number and side of the maps that ``layers`` compute for n nodes; raise `InputError` if none is left."""
    count, side = 1, n
    for number, (c, k) in enumerate(layers, start=1):
        if side < k:
            sizes = "graphs of" if number == 1 else "maps of side"
            raise InputError(
                f"layer {number} of {len(layers)} has templates of k={k} nodes but is given {sizes} {side}"
                f"{' nodes' if number == 1 else ''}; use k <= {side}{' there' if len(layers) > 1 else ''}"
            )
        count, side = count * c, side - k + 1
    return count, side


def deep_equivalent(k: int, c: int) -> tuple[tuple[int, int], ...]:
    """Return the paper's deep counterpart of ``c`` templates of size ``k``: layers of 2 templates of size 3.

    The paper calls the two equivalent. They have about as many maps, but L layers of size 3 see blocks of 2 L + 1
    nodes, not of 3 to the power of L.

    Example:
        >>> deep_equivalent(k=9, c=4)
        ((2, 3), (2, 3))
    """
    depth = max(_ceil_log(c, 2), _ceil_log(k, 3), 1)
    return ((2, 3),) * depth


def _ceil_log(value: int, base: int) -> int:
    """Return the smallest power that reaches the value; in integers, because log(243, 3) is not 5 in floating point."""
    if value < 1:
        raise InputError(f"k and c must be at least 1, got {value}")
    power = 0
    while base**power < value:
        power += 1
    return power


class IsoNN(nn.Module):
    """The paper's model: templates matched against every window, maps flattened, three linear layers.

    Args:
        n: nodes of the (padded) graphs.
        outputs: number of classes, or of labels in a multi-label problem.
        layers: ``(c, k)`` of each isomorphic layer; one pair is the paper's IsoNN, more are its deep variant.
        matching, normalize, symmetric: as in `IsoLayer`.
        hidden: widths of the head's hidden layers.
        generator: draws all weights.

    Shapes:
        - adjacency ``(batch, n, n)``, or a `WindowBank` or `CertifiedWindows` cut with the first layer's k
        - output ``(batch, outputs)``, logits

    Example:
        >>> IsoNN(n=6, outputs=2, layers=((3, 4),))(torch.zeros(5, 6, 6)).shape
        torch.Size([5, 2])
    """

    def __init__(
        self,
        n: int,
        outputs: int,
        layers: Layers = ((2, 4),),
        matching: str = "exact",
        normalize: str = "positions",
        hidden: Sequence[int] = (1024, 128),
        generator: torch.Generator | None = None,
        symmetric: bool = False,
    ) -> None:
        super().__init__()
        self.features = IsoStack(layers, matching, normalize, generator, symmetric)
        count, side = map_shape(n, layers)
        self.head = MLP(count * side * side, hidden, outputs, generator)

    def forward(self, graphs: Inputs) -> Tensor:
        logits: Tensor = self.head(self.features(graphs).flatten(1))
        return logits

    @staticmethod
    def deep_equivalent(k: int, c: int) -> tuple[tuple[int, int], ...]:
        """Return the ``layers`` of the paper's deep counterpart of a shallow model with c templates of size k."""
        return deep_equivalent(k, c)
