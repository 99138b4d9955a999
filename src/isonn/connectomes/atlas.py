"""`Atlas`: the names, coordinates and networks of brain regions."""

from __future__ import annotations

import os
import re
import warnings
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
#: The first regions of AAL are the cerebrum, the other 26 the cerebellum.
CEREBRUM = 90
#: Atlases that nilearn carries or downloads: the function that fetches them, and its options.
POWER, DOSENBACH, SEITZMAN = (f"coords_{name}" for name in ("power_2011", "dosenbach_2010", "seitzman_2018"))
AAL: tuple[str, dict[str, Any]] = ("atlas_aal", {"version": "SPM12", "verbose": 0})  # later versions have other regions
FETCHED: dict[str, tuple[str, dict[str, Any]]] = {
    "power": (POWER, {}),
    "power-264": (POWER, {}),
    "dosenbach": (DOSENBACH, {}),
    "dosenbach-160": (DOSENBACH, {}),
    "seitzman": (SEITZMAN, {}),
    "seitzman-300": (SEITZMAN, {}),
    "aal": AAL,
    "aal-116": AAL,
    "aal-90": AAL,
    "harvard-oxford": ("atlas_harvard_oxford", {"atlas_name": "cort-maxprob-thr25-2mm", "verbose": 0}),
}


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

    def __getitem__(self, regions: Any) -> Atlas:
        """Return some of the regions, as ``atlas[:90]`` or ``atlas[mask]``."""
        columns = (None if column is None else column[regions] for column in (self.coordinates, self.networks))
        return Atlas(self.names[regions], *columns)

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
        source: an `Atlas`; a name (see below); a list of names; a file (``.csv``, ``.tsv``, or ``.txt`` with a name per
            line) with columns name (or region, label), network, and x, y, z; a pandas DataFrame with these columns; or
            an atlas of ``nilearn.datasets`` (labels, maps or coordinates). A first entry "Background" is left out.

    Schaefer's atlases of 100, 200 and 400 regions and 7 or 17 networks ("schaefer-200-7") come with isonn; "power",
    "dosenbach" and "seitzman" with nilearn. Schaefer's atlases of other sizes, "aal" (116 regions), "aal-90" (those of
    the cerebrum) and "harvard-oxford" are downloaded by nilearn once.

    Example:
        >>> as_atlas(["Background", "Insula L", "Insula R"]).names.tolist()
        ['Insula L', 'Insula R']
    """
    if isinstance(source, Atlas):
        return source
    if isinstance(source, str) and not Path(source).is_file() and (known := _named(source)) is not None:
        return known
    if isinstance(source, (str, os.PathLike)):
        return _from_file(Path(source))
    if hasattr(source, "columns") and hasattr(source, "to_numpy"):
        return _from_columns({str(name).lower(): list(source[name]) for name in source.columns}, "the table")
    if hasattr(source, "get") and any(key in source for key in ("labels", "lut", "rois")):
        return _from_nilearn(source)
    if isinstance(source, (list, tuple, np.ndarray)):
        names = [_text(name) for name in source]
        return Atlas(names[_no_region(names) :])
    raise InputError(
        f"atlas={source!r:.60} is of type {type(source).__name__}; give a list of names, a CSV file or a nilearn atlas"
    )


def _named(name: str) -> Atlas | None:
    """Return an atlas by its name, from the package or through nilearn; None if the name is unknown."""
    key = name.lower().replace("_", "-")
    if schaefer := re.fullmatch(r"schaefer-?(\d+)(?:-(7|17))?", key):
        regions, networks = int(schaefer[1]), int(schaefer[2] or 7)
        table = Path(__file__).parent / "atlases" / f"schaefer-{regions}-{networks}.tsv"
        if table.is_file():
            return _from_file(table)
        fetcher, options = "atlas_schaefer_2018", {"n_rois": regions, "yeo_networks": networks, "verbose": 0}
    elif key in FETCHED:
        fetcher, options = FETCHED[key]
    else:
        return None
    with naming_the_extra(f"the atlas {name}"):
        from nilearn import datasets
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            atlas = as_atlas(getattr(datasets, f"fetch_{fetcher}")(**options))
    except (OSError, ValueError) as error:  # requests raises OSError without a network
        raise InputError(
            f"atlas {name!r} could not be downloaded by nilearn ({str(error)[:80]}); connect once, or give a CSV file "
            f"with the columns name, network, x, y, z"
        ) from error
    return atlas[:CEREBRUM] if key == "aal-90" else atlas


def _from_file(path: Path) -> Atlas:
    if not path.is_file() and path.suffix:
        raise InputError(f"atlas {path} does not exist; check the path")
    if not path.is_file():
        raise InputError(
            f"atlas {path} is neither a file nor a known name; names are schaefer-200-7 and {', '.join(FETCHED)}"
        )
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
    return Atlas(names[skip:], places, _networks_of(names[skip:]) if networks is None else networks[skip:])


def _from_coordinates(bunch: Any) -> Atlas:
    """Read an atlas of spheres: coordinates in ``rois``, perhaps with labels, regions and networks."""
    rois = bunch["rois"]
    columns = (
        {str(name).lower(): np.asarray(rois[name]) for name in rois.columns}
        if hasattr(rois, "columns")
        else {name: np.asarray(rois)[name] for name in np.asarray(rois).dtype.names or ()}
    )
    if not all(name in columns for name in PLACES):
        raise InputError(f"rois have the columns {', '.join(columns)[:80]}; x, y and z are needed")
    places = np.column_stack([columns[name] for name in PLACES]).astype(np.float64)
    numbers = range(1, len(places) + 1)
    found = bunch.get("labels")
    names = [f"region {i}" for i in numbers] if found is None else [_text(one) for one in list(found)]
    if len(set(names)) < len(names):
        names = [f"{name} {i}" for i, name in zip(numbers, names, strict=True)]
    networks = bunch.get("networks")
    return Atlas(names, places, None if networks is None else list(networks))


def _networks_of(labels: list[str]) -> list[str] | None:
    """Return the networks in names such as "7Networks_LH_Vis_1", or None for other names."""
    found = [re.match(r"\d+Networks_[LR]H_([A-Za-z]+)", label) for label in labels]
    return [match[1] for match in found if match] if all(found) else None


def _from_nilearn(bunch: Any) -> Atlas:
    if bunch.get("rois") is not None:
        return _from_coordinates(bunch)
    found = bunch.get("labels")
    if hasattr(found, "dtype") and getattr(found.dtype, "names", None):  # a record array, as of MSDL or Smith
        found = found["name" if "name" in found.dtype.names else found.dtype.names[0]]
    labels = [] if found is None else [_text(label) for label in list(found)]
    if not labels:
        return as_atlas(bunch["lut"])
    skip = _no_region(labels)
    networks = bunch.get("networks")
    networks = None if networks is None or len(networks) != len(labels) else list(networks)[skip:]
    networks = _networks_of(labels[skip:]) if networks is None else networks
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
