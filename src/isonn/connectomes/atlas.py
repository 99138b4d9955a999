"""`Atlas`: the names, coordinates and networks of brain regions."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isonn.errors import InputError, naming_the_extra
from isonn.graphs.columns import by_first, take
from isonn.graphs.io.tables import read_table

#: Headers of an atlas file for region names, networks and coordinates.
NAMES = ("name", "region", "label", "labels", "roi", "roi_name", "region_name")
NETWORKS = ("network", "networks", "net")
PLACES = ("x", "y", "z")
#: Names of a first entry that is not a region, as in many atlases.
BACKGROUND = ("background", "unknown", "???", "")
#: The first regions of AAL are the cerebrum, the other 26 the cerebellum.
CEREBRUM = 90
#: Atlases that nilearn carries or downloads: the function that fetches them, and its options. The first four names may
#: end with the number of regions.
AAL: tuple[str, dict[str, Any]] = ("atlas_aal", {"version": "SPM12", "verbose": 0})  # later versions have other regions
FETCHED: dict[str, tuple[str, dict[str, Any]]] = {
    "power": ("coords_power_2011", {}),
    "dosenbach": ("coords_dosenbach_2010", {}),
    "seitzman": ("coords_seitzman_2018", {}),
    "aal": AAL,
    "aal-90": AAL,
    "harvard-oxford": ("atlas_harvard_oxford", {"atlas_name": "cort-maxprob-thr25-2mm", "verbose": 0}),
}


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

    def __init__(
        self, names: Iterable[Any], coordinates: ArrayLike | None = None, networks: Iterable[Any] | None = None
    ) -> None:
        self.names = np.array([_text(name) for name in names], dtype=np.str_)
        self.coordinates = None if coordinates is None else np.asarray(coordinates, dtype=np.float64)
        self.networks = None if networks is None else np.array([_text(network) for network in networks], dtype=np.str_)
        if not len(self):
            raise InputError("names is empty; give at least one name")
        values, counts = np.unique(self.names, return_counts=True)
        if (counts > 1).any():
            raise InputError(f"two regions are called '{values[counts > 1][0]}'; give every region its own name")
        places, groups = self.coordinates, self.networks
        if places is not None and places.shape != (len(self), 3):
            raise InputError(f"coordinates have shape {places.shape} for {len(self)} regions; give x, y, z of each")
        if places is not None and not np.isfinite(places).all():
            raise InputError(
                f"coordinates of '{self.names[~np.isfinite(places).all(axis=1)][0]}' are not numbers; fill them"
            )
        if groups is not None and len(groups) != len(self):
            raise InputError(f"{len(groups)} networks for {len(self)} regions; give one per region")

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, regions: Any) -> Atlas:
        """Return some of the regions, as ``atlas[:90]`` or ``atlas[mask]``."""
        return Atlas(self.names[regions], take(self.coordinates, regions), take(self.networks, regions))

    def __repr__(self) -> str:
        parts = [f"{len(self)} regions"]
        parts += [] if self.coordinates is None else ["coordinates"]
        parts += [] if self.networks is None else [f"{len(np.unique(self.networks))} networks"]
        return f"Atlas({', '.join(parts)})"

    @property
    def order(self) -> NDArray[np.int64]:
        """The regions by network, in the atlas's order within each; unchanged without networks."""
        return np.arange(len(self)) if self.networks is None else by_first(self.networks)

    @property
    def network_names(self) -> list[str]:
        """The networks in order of their first region."""
        return [] if self.networks is None else list(dict.fromkeys(self.networks.tolist()))


def as_atlas(source: Any) -> Atlas:
    """Create an `Atlas` from any description of one.

    Args:
        source: an `Atlas`; a name (see below); a list of names; a file (``.csv``, ``.tsv``, or ``.txt`` with a name per
            line) with columns name (or region, label), network, and x, y, z; a pandas DataFrame with these columns; or
            an atlas of ``nilearn.datasets`` (labels, maps or coordinates). A first entry "Background" is left out.

    Schaefer's atlases of 100, 200 and 400 regions and 7 or 17 networks ("schaefer-200-7") come with isonn; "power",
    "dosenbach" and "seitzman" with nilearn. Schaefer's atlases of other sizes, "aal" (116 regions), "aal-90" (those of
    the cerebrum) and "harvard-oxford" are downloaded by nilearn once.

    Returns:
        `Atlas`.

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
        return _from_columns(_columns(source), "the table")
    if hasattr(source, "get") and any(key in source for key in ("labels", "lut", "rois")):
        return _from_nilearn(source)
    if isinstance(source, (list, tuple, np.ndarray)):
        return _from_columns({"name": list(source)}, "the list")
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
    elif (plain := re.sub("-(264|160|300|116)$", "", key)) in FETCHED:
        fetcher, options = FETCHED[plain]
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
    if not path.is_file():
        why = "does not exist; check the path"
        if not path.suffix:
            why = f"is neither a file nor a known name; names are schaefer-200-7 and {', '.join(FETCHED)}"
        raise InputError(f"atlas {path} {why}")
    rows = read_table(path)
    if not rows:
        raise InputError(f"atlas {path} is empty; give a name per line, or columns name, x, y, z")
    if len(rows[0]) == 1 and rows[0][0].lower() not in NAMES:
        rows = [["name"], *rows]
    ragged = next((number for number, row in enumerate(rows, 1) if len(row) != len(rows[0])), None)
    if ragged is not None:
        raise InputError(
            f"line {ragged} of atlas {path} does not have the {len(rows[0])} cells of the header; correct it"
        )
    return _from_columns({name.lower(): [row[i] for row in rows[1:]] for i, name in enumerate(rows[0])}, str(path))


def _columns(table: Any) -> dict[str, list[Any]]:
    """Return the columns of a DataFrame or a record array, by name in small letters."""
    names = table.columns if hasattr(table, "columns") else np.asarray(table).dtype.names or ()
    return {str(name).lower(): list(table[name]) for name in names}


def _from_columns(columns: dict[str, list[Any]], where: str) -> Atlas:
    """Create an atlas from columns of names, networks and coordinates; the first row may be the background."""
    column = next((name for name in NAMES if name in columns), None)
    if column is None:
        raise InputError(
            f"{where} has the columns {', '.join(columns)[:80]}; call the one with the names 'name', and x, y, z and "
            f"network if there are any"
        )
    names = [_text(name) for name in columns[column]]
    skip = int(len(names) > 1 and names[0].strip().lower() in BACKGROUND)
    networks = next((columns[name][skip:] for name in NETWORKS if name in columns), None)
    if networks is None:  # names such as "7Networks_LH_Vis_1" hold them
        matches = [re.match(r"\d+Networks_[LR]H_([A-Za-z]+)", name) for name in names[skip:]]
        networks = [match[1] for match in matches if match] if all(matches) else None
    places = None
    if all(name in columns for name in PLACES):
        try:
            places = np.column_stack([np.array(columns[name][skip:], dtype=np.float64) for name in PLACES])
        except (TypeError, ValueError) as error:
            raise InputError(f"x, y and z of {where} are not all numbers; correct them") from error
    return Atlas(names[skip:], places, networks)


def _from_nilearn(bunch: Any) -> Atlas:
    """Read an atlas of spheres (coordinates in ``rois``) or of an image (``maps``), with labels or a lookup table."""
    labels, networks, rois = (bunch.get(key) for key in ("labels", "networks", "rois"))
    columns: dict[str, list[Any]] = {}
    if rois is not None:
        columns = {name: values for name, values in _columns(rois).items() if name in PLACES}
        if len(columns) < 3:
            raise InputError(f"rois have the columns {', '.join(_columns(rois))[:80]}; x, y and z are needed")
        count = len(columns["x"])
        names = [f"region {i + 1}" for i in range(count)] if labels is None else [_text(label) for label in labels]
        if len(set(names)) < len(names):
            names = [f"{name} {i + 1}" for i, name in enumerate(names)]
    else:
        if getattr(getattr(labels, "dtype", None), "names", None):  # a record array, as of MSDL or Smith
            records = _columns(labels)
            labels = records.get("name", next(iter(records.values())))
        if labels is None or not len(labels):
            return as_atlas(bunch["lut"])
        names = [_text(label) for label in labels]
        places = bunch.get("region_coords")
        if places is None and bunch.get("maps") is not None:
            with naming_the_extra("reading coordinates of an atlas"):
                from nilearn import plotting
            kind = "probabilistic_atlas" if str(bunch.get("atlas_type", "")) == "probabilistic" else "parcellation"
            places = getattr(plotting, f"find_{kind}_cut_coords")(bunch["maps"])
        if places is not None and len(names) - 1 <= len(places) <= len(names):
            padded = [[np.nan] * 3] * (len(names) - len(places)) + np.asarray(places).tolist()  # of the background
            columns = {name: [place[i] for place in padded] for i, name in enumerate(PLACES)}
    if networks is not None and len(networks) == len(names):
        columns["network"] = list(networks)
    return _from_columns({"name": names, **columns}, "the atlas")


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
