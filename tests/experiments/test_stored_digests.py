"""The stored results of the paper's rows are found by the digests of the datasets; these must not move."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

import isonn
from isonn.graphs import find

STORED = Path(__file__).parents[2] / "docs" / "results" / "jobs-0.2.tar.gz"


def stored_digests() -> dict[str, str]:
    digests: dict[str, str] = {}
    with tarfile.open(STORED) as archive:
        for member in archive:
            if member.isfile() and (file := archive.extractfile(member)) is not None:
                job = json.load(file).get("job", {})
                if "digest" in job:
                    digests[job["dataset"]] = job["digest"]
    return digests


@pytest.fixture(scope="module")
def digests():
    return stored_digests()


@pytest.mark.parametrize("name", ["MUTAG", "PTC", "PTC_MR", "HIV-fMRI", "HIV-DTI", "IMDB-MULTI", "PROTEINS"])
def test_the_digest_of_a_dataset_is_the_stored_one(name, digests):
    if find(name) is None:
        pytest.skip(f"{name} is not on this machine")
    assert isonn.load(name).digest == digests[name]
