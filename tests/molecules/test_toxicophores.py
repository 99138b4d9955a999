"""The list of toxicophores against molecules that hold one and near misses that do not."""

from __future__ import annotations

import pytest

pytest.importorskip("rdkit")

from rdkit import Chem

from isonn.molecules.tables import read_table
from isonn.molecules.toxicophores import TOXICOPHORES, toxicophores_in


@pytest.mark.parametrize("row", read_table("toxicophores"), ids=lambda row: row["name"])
def test_a_toxicophore_is_found_where_it_is_and_not_in_a_near_miss(row):
    examples, near_misses = row["examples"].split(), row["near_misses"].split()
    hit = [row["name"] in toxicophores_in(Chem.MolFromSmiles(smiles)) for smiles in [*examples, *near_misses]]
    assert hit == [True] * len(examples) + [False] * len(near_misses)
    assert examples
    assert near_misses


def test_the_table_has_the_published_number_of_toxicophores():
    assert len(TOXICOPHORES) == 29
