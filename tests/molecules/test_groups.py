"""The table of names: each name against molecules that have it and near misses that do not."""

from __future__ import annotations

import pytest

pytest.importorskip("rdkit")

from rdkit import Chem
from rdkit.Chem import Fragments

from isonn.errors import InputError
from isonn.molecules.groups import FAMILIES, GROUPS, RINGS, find_group, groups_named
from isonn.molecules.tables import read_table
from isonn.molecules.units import units

ROWS = read_table("groups")
#: RDKit's own counts of groups whose definition is the same.
FRAGMENTS = {
    "epoxide": Fragments.fr_epoxide,
    "azide": Fragments.fr_azide,
    "nitro on an aromatic ring": Fragments.fr_nitro_arom,
    "isocyanate": Fragments.fr_isocyan,
    "isothiocyanate": Fragments.fr_isothiocyan,
    "morpholine": Fragments.fr_morpholine,
    "thiocyanate": Fragments.fr_thiocyan,
}


def names(smiles: str) -> set[str | None]:
    return {unit.name for unit in units(Chem.MolFromSmiles(smiles))}


def found(smiles: str, name: str) -> bool:
    return bool(find_group(Chem.MolFromSmiles(smiles), name))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['kind']} {row['name']}")
def test_a_name_is_given_to_its_examples_and_not_to_near_misses(row):
    name, examples, near_misses = row["name"], row["examples"].split(), row["near_misses"].split()
    assert examples
    assert near_misses or row["kind"] == "ring"
    assert all(found(smiles, name) for smiles in examples)
    assert not any(found(smiles, name) for smiles in near_misses)
    if row["kind"] == "ring":
        for smiles in examples:
            assert [unit.name for unit in units(Chem.MolFromSmiles(smiles)) if unit.kind == "ring"] == [name]
    elif row["kind"] != "family":  # families claim no atoms
        assert all(name in names(smiles) for smiles in examples)
        assert not any(name in names(smiles) for smiles in near_misses)


@pytest.mark.parametrize("name", FRAGMENTS)
def test_counts_agree_with_rdkit_on_all_examples(name):
    for smiles in " ".join(
        f"{row['examples']} {row['near_misses']}" for row in ROWS if row["kind"] != "family"
    ).split():
        molecule = Chem.MolFromSmiles(smiles)
        assert sum(unit.name == name for unit in units(molecule)) == FRAGMENTS[name](molecule), smiles


def test_the_pattern_of_a_ring_matches_whole_ring_systems_only():
    assert find_group(Chem.MolFromSmiles("Cc1ccccc1"), "benzene") == [(1, 2, 3, 4, 5, 6)]
    assert not find_group(Chem.MolFromSmiles("c1ccc2ccccc2c1"), "benzene")
    assert not find_group(Chem.MolFromSmiles("C1CCC2(CC1)CCNCC2"), "piperidine")


def test_no_pattern_is_listed_twice():
    patterns = [group.smarts for group in (*GROUPS, *RINGS, *FAMILIES)]
    assert len(set(patterns)) == len(patterns)


def test_an_unknown_name_is_an_error():
    with pytest.raises(InputError, match="no group is named 'unobtainium'"):
        groups_named("unobtainium")
