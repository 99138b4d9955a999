"""`Atlas`: the names, coordinates and networks of brain regions."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isonn.errors import InputError, naming_the_extra
from isonn.graphs.io.text import read_table

#: Headers of an atlas file for region names, networks and coordinates.
NAMES, NETWORKS = (
    ("name", "region", "label", "labels", "roi", "roi_name", "region_name"),
    ("network", "networks", "net"),
)
PLACES = ("x", "y", "z")
#: Names of a first entry that is not a region, as in many atlases.
BACKGROUND = ("background", "unknown", "???", "")


@dataclass(frozen=True, eq=False)
class Atlas:
    """Regions of a brain atlas.

    Attributes:
        names: unique name of each region, shape (n,).
        coordinates: centre of each region in MNI space (mm), shape (n, 3), or None.
        networks: the network of each region, shape (n,), or None.

    Example:
        >>> Atlas(["Precuneus L", "Precuneus R"], networks=["default", "default"])
        Atlas(2 regions, 1 networks)
    """

    names: NDArray[np.str_]
    coordinates: NDArray[np.float64] | None = None
    networks: NDArray[np.str_] | None = None

    def __init__(
        self, names: Iterable[Any], coordinates: ArrayLike | None = None, networks: Iterable[Any] | None = None
    ) -> None:
        columns = np.array([_text(name) for name in names], dtype=np.str_)
        if not len(columns):
            raise InputError("names is empty; give at least one name")
        values, counts = np.unique(columns, return_counts=True)
        if (counts > 1).any():
            raise InputError(f"two regions are called '{values[counts > 1][0]}'; give every region its own name")
        places = None if coordinates is None else np.asarray(coordinates, dtype=np.float64)
        if places is not None and places.shape != (len(columns), 3):
            raise InputError(f"coordinates have shape {places.shape} for {len(columns)} regions; give x, y, z of each")
        if places is not None and not np.isfinite(places).all():
            raise InputError(
                f"coordinates of '{columns[~np.isfinite(places).all(axis=1)][0]}' are not numbers; fill them"
            )
        groups = None if networks is None else np.array([_text(network) for network in networks], dtype=np.str_)
        if groups is not None and len(groups) != len(columns):
            raise InputError(f"{len(groups)} networks for {len(columns)} regions; give one per region")
        object.__setattr__(self, "names", columns)
        object.__setattr__(self, "coordinates", places)
        object.__setattr__(self, "networks", groups)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        parts = [f"{len(self)} regions"]
        parts += [] if self.coordinates is None else ["coordinates"]
        parts += [] if self.networks is None else [f"{len(np.unique(self.networks))} networks"]
        return f"Atlas({', '.join(parts)})"

    @property
    def order(self) -> NDArray[np.int64]:
        """The regions by network, in the atlas's order within each; unchanged without networks."""
        if self.networks is None:
            return np.arange(len(self))
        _, first, code = np.unique(self.networks, return_index=True, return_inverse=True)
        return np.lexsort((np.arange(len(self)), first[code.reshape(-1)]))


def as_atlas(source: Any) -> Atlas:
    """Create an `Atlas` from any description of one.

    Args:
        source: an `Atlas`; a list of names; a file (``.csv``, ``.tsv``, or ``.txt`` with a name per line) with columns
            name (or region, label), network, and x, y, z; a pandas DataFrame with these columns; or an atlas from
            ``nilearn.datasets``. A first entry "Background" is left out.

    Example:
        >>> as_atlas(["Background", "Insula L", "Insula R"]).names.tolist()
        ['Insula L', 'Insula R']
    """
    if isinstance(source, Atlas):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _from_file(Path(source))
    if hasattr(source, "columns") and hasattr(source, "to_numpy"):
        return _from_columns({str(name).lower(): list(source[name]) for name in source.columns}, "the table")
    if hasattr(source, "get") and ("labels" in source or "lut" in source):
        return _from_nilearn(source)
    if isinstance(source, (list, tuple, np.ndarray)):
        names = [_text(name) for name in source]
        return Atlas(names[_no_region(names) :])
    raise InputError(
        f"atlas={source!r:.60} is of type {type(source).__name__}; give a list of names, a CSV file or a nilearn atlas"
    )


def _from_file(path: Path) -> Atlas:
    if not path.is_file():
        raise InputError(f"atlas {path} does not exist; check the path")
    rows = read_table(path)
    if not rows:
        raise InputError(f"atlas {path} is empty; give a name per line, or columns name, x, y, z")
    header = [cell.lower() for cell in rows[0]]
    if not set(header) & set(NAMES):
        if len(rows[0]) == 1:
            names = [row[0] for row in rows]
            return Atlas(names[_no_region(names) :])
        raise InputError(
            f"atlas {path} has the columns {', '.join(rows[0])[:80]}; call the one with the names 'name', and x, y, z "
            f"and network if there are any"
        )
    ragged = next((number for number, row in enumerate(rows, 1) if len(row) != len(header)), None)
    if ragged is not None:
        raise InputError(
            f"line {ragged} of atlas {path} does not have the {len(header)} cells of the header; correct it"
        )
    return _from_columns({name: [row[i] for row in rows[1:]] for i, name in enumerate(header)}, str(path))


def _from_columns(columns: dict[str, list[Any]], where: str) -> Atlas:
    found = next((columns[name] for name in NAMES if name in columns), None)
    if found is None:
        raise InputError(f"{where} has the columns {', '.join(columns)[:80]}; call the one with the names 'name'")
    names = [_text(name) for name in found]
    skip = _no_region(names)
    networks = next((columns[name] for name in NETWORKS if name in columns), None)
    places = None
    if all(name in columns for name in PLACES):
        try:
            places = np.column_stack([np.array(columns[name][skip:], dtype=np.float64) for name in PLACES])
        except (TypeError, ValueError) as error:
            raise InputError(f"x, y and z of {where} are not all numbers; correct them") from error
    return Atlas(names[skip:], places, None if networks is None else networks[skip:])


def _from_nilearn(bunch: Any) -> Atlas:
    labels = [_text(label) for label in list(bunch.get("labels", []))]
    if not labels:
        return as_atlas(bunch["lut"])
    skip = _no_region(labels)
    networks = bunch.get("networks")
    networks = None if networks is None or len(networks) != len(labels) else list(networks)[skip:]
    places = bunch.get("region_coords")
    if places is None and bunch.get("maps") is not None:
        with naming_the_extra("coordinates of an atlas"):
            from nilearn import plotting
        maps = bunch["maps"]
        probabilistic = str(bunch.get("atlas_type", "")) == "probabilistic"
        find = plotting.find_probabilistic_atlas_cut_coords if probabilistic else plotting.find_parcellation_cut_coords
        found = np.asarray(find(maps))
        places = found if len(found) == len(labels) - skip else None
    elif places is not None:
        places = np.asarray(places)[len(places) - (len(labels) - skip) :]
    return Atlas(labels[skip:], places, networks)


def _no_region(names: list[str]) -> int:
    """Return 1 if the first entry is the background, else 0."""
    return int(bool(names) and names[0].strip().lower() in BACKGROUND and len(names) > 1)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
