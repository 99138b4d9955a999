"""Connectomes with a known difference between two groups, for tutorials, tests and studies."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isonn.connectomes.convert import study_graphs
from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.packing import IntArray
from isonn.seeding import numpy_stream

EFFECTS = ("subnetwork", "scattered", "none")


@dataclass(frozen=True, eq=False)
class PlantedConnectomes:
    """Connectomes with the ground truth.

    Attributes:
        graphs: the subjects; ``graphs.y`` is "patient" or "control".
        truth: whether each connection differs between the groups, shape (n, n).
        regions: the regions of the planted sub-network, ascending; empty for scattered connections.
        coordinates: a position in the brain (MNI, mm) for each region, shape (n, 3).

    Example:
        >>> study = planted_connectomes(n_subjects=10, n_regions=20, seed=0)
        >>> study.truth.shape, study.coordinates.shape
        ((20, 20), (20, 3))
    """

    graphs: GraphSet
    truth: NDArray[np.bool_]
    regions: IntArray
    coordinates: NDArray[np.float64]


def planted_connectomes(
    n_subjects: int = 60,
    n_regions: int = 90,
    effect: float = 0.3,
    noise: float = 0.25,
    planted: str = "subnetwork",
    k: int = 4,
    seed: int = 0,
) -> PlantedConnectomes:
    """Create random matrices, half of them with some connections that are stronger by ``effect``.

    Args:
        n_subjects: number of subjects, half of them patients.
        n_regions: number of regions of the atlas.
        effect: added to the planted connections of patients.
        noise: standard deviation of every connection.
        planted: "subnetwork", all connections among k regions anywhere in the atlas; "scattered", as many single
            connections; or "none".
        k: number of regions of the sub-network.
        seed: the same seed gives the same data.

    Returns:
        the study: graphs with age and site in ``table``, the planted regions, and the truth.

    Example:
        >>> study = planted_connectomes(n_subjects=10, n_regions=20, seed=0)
        >>> len(study.regions), int(study.truth.sum()) // 2
        (4, 6)
    """
    if planted not in EFFECTS:
        raise InputError(f"planted={planted!r} is unknown; use one of {', '.join(map(repr, EFFECTS))}")
    if n_subjects < 2 or not 2 <= k <= n_regions:
        raise InputError(
            f"n_subjects={n_subjects}, n_regions={n_regions}, k={k} are not valid; use n_subjects >= 2 and "
            f"2 <= k <= n_regions"
        )
    draw = numpy_stream(seed, "connectomes")
    rows, columns = np.triu_indices(n_regions, 1)
    regions = np.sort(draw.choice(n_regions, k, replace=False))
    if planted == "subnetwork":
        different = np.isin(rows, regions) & np.isin(columns, regions)
    else:
        different = np.zeros(len(rows), dtype=bool)
        different[draw.choice(len(rows), k * (k - 1) // 2, replace=False)] = planted == "scattered"
        regions = np.zeros(0, dtype=np.int64)
    patient = draw.permutation(np.arange(n_subjects) % 2) == 1
    values = noise * draw.normal(size=(n_subjects, len(rows)))
    values[np.ix_(patient, different)] += effect
    matrices = np.zeros((n_subjects, n_regions, n_regions))
    matrices[:, rows, columns] = matrices[:, columns, rows] = values
    truth = np.zeros((n_regions, n_regions), dtype=bool)
    truth[rows, columns] = truth[columns, rows] = different
    atlas, ids = [f"region {i + 1}" for i in range(n_regions)], [f"sub-{i + 1:03d}" for i in range(n_subjects)]
    graphs = replace(
        study_graphs(matrices, atlas, ids),
        y=np.where(patient, "patient", "control"),
        table={
            "age": np.round(draw.uniform(20, 60, size=n_subjects)),
            "site": draw.choice(["A", "B", "C"], n_subjects),
        },
        name=f"planted {planted}",
    )
    return PlantedConnectomes(graphs, truth, regions.astype(np.int64), _places(n_regions))


def planted_series(
    n_subjects: int = 60, n_regions: int = 60, n_points: int = 150, shared: float = 0.5, k: int = 4, seed: int = 0
) -> tuple[list[NDArray[np.float64]], NDArray[np.str_], IntArray]:
    """Create time series in which k regions of patients share a signal.

    Args:
        n_subjects: number of subjects, half of them patients.
        n_regions, n_points: size of each series.
        shared: standard deviation of the shared signal; that of the noise is 1.
        k: number of regions that share it.
        seed: the same seed gives the same data.

    Returns:
        Series of shape (n_points, n_regions), one per subject; "patient" or "control"; and the k regions.

    Example:
        >>> series, y, regions = planted_series(n_subjects=4, n_regions=10, n_points=50, seed=0)
        >>> series[0].shape, sorted(y.tolist()), len(regions)
        ((50, 10), ['control', 'control', 'patient', 'patient'], 4)
    """
    draw = numpy_stream(seed, "series")
    regions = np.sort(draw.choice(n_regions, k, replace=False)).astype(np.int64)
    patient = draw.permutation(np.arange(n_subjects) % 2) == 1
    everywhere = 0.5 * draw.normal(size=(n_subjects, n_points, 1))
    series = draw.normal(size=(n_subjects, n_points, n_regions)) + everywhere
    signal = shared * draw.normal(size=(n_subjects, n_points, 1))
    series[:, :, regions] += np.where(patient[:, None, None], signal, 0.0)
    return list(series), np.where(patient, "patient", "control"), regions


def _places(n: int) -> NDArray[np.float64]:
    """Return points spread evenly over an ellipsoid about the size of the cortex."""
    height = 1 - 2 * (np.arange(n) + 0.5) / n
    angle = np.arange(n) * np.pi * (3 - np.sqrt(5))
    ring = np.sqrt(1 - height**2)
    around = np.column_stack([ring * np.cos(angle), ring * np.sin(angle), height])
    return np.asarray(around * (62, 80, 55) + (0, -20, 15))
