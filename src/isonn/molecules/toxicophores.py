"""Toxicophores of mutagenicity: 29 kinds after Kazius, McGuire and Bursi (J. Med. Chem. 2005, 48, 312), as SMARTS.

They are listed in ``tables/toxicophores.tsv``. The names follow the descriptions of that publication. The patterns are
written from general knowledge of these groups, without the publication at hand, so results are not those of the
published patterns. Aromatic nitro groups and amines do not count ortho, meta or para to a sulfonyl or trifluoromethyl
group, amines not beside a carboxylic acid or ester either.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem import Mol

from isonn.molecules.tables import read_table

#: Name and SMARTS of each toxicophore.
TOXICOPHORES = {row["name"]: row["smarts"] for row in read_table("toxicophores")}


@lru_cache(maxsize=1)
def _queries() -> tuple[Mol, ...]:
    return tuple(Chem.MolFromSmarts(smarts) for smarts in TOXICOPHORES.values())


def toxicophore_table(molecules: Iterable[Mol]) -> NDArray[np.bool_]:
    """Return which molecules hold which toxicophore.

    Args:
        molecules: RDKit molecules.

    Returns:
        A row per molecule and a column per entry of :data:`TOXICOPHORES`.

    Example:
        >>> from rdkit import Chem
        >>> table = toxicophore_table([Chem.MolFromSmiles("O=[N+]([O-])c1ccccc1"), Chem.MolFromSmiles("CCO")])
        >>> table.any(axis=1).tolist()
        [True, False]
    """
    rows = [[molecule.HasSubstructMatch(query) for query in _queries()] for molecule in molecules]
    return np.array(rows, dtype=np.bool_).reshape(len(rows), len(TOXICOPHORES))
