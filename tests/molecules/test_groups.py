"""The table of names: each name against molecules that have it and near misses that do not."""

from __future__ import annotations

import named_groups
import pytest

pytest.importorskip("rdkit")

from rdkit import Chem
from rdkit.Chem import Fragments

from isonn.errors import InputError
from isonn.molecules.groups import FAMILIES, GROUPS, RINGS, find_group, groups_named
from isonn.molecules.units import units

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


@pytest.mark.parametrize(("name", "has", "has_not"), named_groups.GROUPS, ids=lambda text: text)
def test_a_group_is_named_where_it_is_and_not_in_a_near_miss(name, has, has_not):
    assert name in names(has)
    assert name not in names(has_not)
    assert find_group(Chem.MolFromSmiles(has), name)
    assert not find_group(Chem.MolFromSmiles(has_not), name)


@pytest.mark.parametrize(("name", "smiles"), named_groups.RINGS, ids=lambda text: text)
def test_a_ring_gets_its_name_and_no_other_ring_gets_it(name, smiles):
    assert [unit.name for unit in units(Chem.MolFromSmiles(smiles)) if unit.kind == "ring"] == [name]
    assert find_group(Chem.MolFromSmiles(smiles), name)


@pytest.mark.parametrize(("name", "has", "has_not"), named_groups.FAMILIES, ids=lambda text: text)
def test_a_family_is_found_where_it_is_and_not_in_a_near_miss(name, has, has_not):
    assert find_group(Chem.MolFromSmiles(has), name)
    assert not find_group(Chem.MolFromSmiles(has_not), name)


def test_every_name_of_the_table_is_tested():
    assert {name for name, *_ in named_groups.FAMILIES} == {family.name for family in FAMILIES}
    assert {name for name, *_ in named_groups.GROUPS} == {group.name for group in GROUPS}
    assert {name for name, _ in named_groups.RINGS} == {ring.name for ring in RINGS}


@pytest.mark.parametrize("name", FRAGMENTS)
def test_counts_agree_with_rdkit_on_all_examples(name):
    for smiles in [text for row in (*named_groups.GROUPS, *named_groups.RINGS) for text in row[1:]]:
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
