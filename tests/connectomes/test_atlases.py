from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from isonn.connectomes import as_atlas
from isonn.errors import InputError


def test_atlases_of_coordinates_are_read():
    rois = pd.DataFrame({"roi": [1, 2, 3], "x": [1, 2, 3], "y": [4, 5, 6], "z": [7, 8, 9]})
    atlas = as_atlas({"rois": rois, "description": "as of Power"})
    assert atlas.names.tolist() == ["region 1", "region 2", "region 3"]
    assert atlas.coordinates[1].tolist() == [2, 5, 8]
    atlas = as_atlas({"rois": rois, "labels": ["a", "a", "b"], "networks": pd.Series(["v", "v", "m"])})
    assert atlas.names.tolist() == ["a 1", "a 2", "b 3"]
    assert atlas.networks.tolist() == ["v", "v", "m"]
    with pytest.raises(InputError, match="x, y and z are needed"):
        as_atlas({"rois": rois[["roi"]]})


def test_networks_are_read_from_the_names_of_schaefers_regions():
    labels = ["Background", "7Networks_LH_Vis_1", "7Networks_RH_Default_PFC_2"]
    atlas = as_atlas({"labels": labels, "maps": None})
    assert atlas.networks.tolist() == ["Vis", "Default"]
    assert len(atlas) == 2


def test_labels_may_be_bytes_or_records():
    records = np.array([("visual", 1), ("motor", 2)], dtype=[("name", "U10"), ("number", int)])
    assert as_atlas({"labels": records}).names.tolist() == ["visual", "motor"]
    assert as_atlas({"labels": [b"visual", b"motor"]}).names.tolist() == ["visual", "motor"]


@pytest.mark.parametrize(
    ("name", "regions", "networks"), [("power", 264, 0), ("dosenbach-160", 160, 6), ("Seitzman", 300, 14)]
)
def test_atlases_that_nilearn_carries_need_no_network(name, regions, networks):
    pytest.importorskip("nilearn")
    atlas = as_atlas(name)
    assert len(atlas) == regions
    assert atlas.coordinates.shape == (regions, 3)
    assert (0 if atlas.networks is None else len(np.unique(atlas.networks))) == networks


def test_a_download_that_fails_gives_a_hint(monkeypatch):
    datasets = pytest.importorskip("nilearn.datasets")

    def offline(**options):
        assert options == {"n_rois": 300, "yeo_networks": 17, "verbose": 0}
        raise OSError("no network")

    monkeypatch.setattr(datasets, "fetch_atlas_schaefer_2018", offline)
    with pytest.raises(InputError, match="'schaefer-300-17' could not be downloaded by nilearn .no network.; connect"):
        as_atlas("schaefer-300-17")
    with pytest.raises(
        InputError, match="atlas brainnetome is neither a file nor a known name; names are schaefer-200-7 and power"
    ):
        as_atlas("brainnetome")


@pytest.mark.parametrize("regions", [100, 200, 400])
@pytest.mark.parametrize("networks", [7, 17])
def test_schaefers_atlases_come_with_the_package(regions, networks):
    atlas = as_atlas(f"schaefer-{regions}-{networks}")
    assert len(atlas) == regions
    left = np.char.find(atlas.names, "_LH_") > 0
    assert left.tolist() == [True] * (regions // 2) + [False] * (regions // 2)
    assert ((atlas.coordinates[:, 0] < 0) == left).all()
    assert len(np.unique(atlas.networks)) == networks


def test_the_cerebrum_of_aal_is_an_atlas(monkeypatch):
    datasets = pytest.importorskip("nilearn.datasets")
    labels = ["Background", *(f"region {i}" for i in range(116))]

    def fetch(version, **options):
        assert version == "SPM12"  # AAL3, nilearn's default, has 166 other regions
        return {"labels": labels}

    monkeypatch.setattr(datasets, "fetch_atlas_aal", fetch)
    assert len(as_atlas("AAL")) == 116
    assert as_atlas("aal-90").names.tolist() == labels[1:91]
