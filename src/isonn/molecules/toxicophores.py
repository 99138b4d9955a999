"""Toxicophores of mutagenicity: 29 kinds after Kazius, McGuire and Bursi (J. Med. Chem. 2005, 48, 312), as SMARTS.

They are listed in ``tables/toxicophores.tsv``. The names follow the descriptions of that publication. The patterns are
written from general knowledge of these groups, without the publication at hand, so results are not those of the
published patterns. Aromatic nitro groups and amines do not count ortho, meta or para to a sulfonyl or trifluoromethyl
group, amines not beside a carboxylic acid or ester either.
"""

from __future__ import annotations

from functools import lru_cache

from rdkit import Chem
from rdkit.Chem import Mol

from isonn.molecules.tables import read_table

#: Name and SMARTS of each toxicophore.
TOXICOPHORES = {row["name"]: row["smarts"] for row in read_table("toxicophores")}


@lru_cache(maxsize=1)
def _queries() -> dict[str, Mol]:
    return {name: Chem.MolFromSmarts(smarts) for name, smarts in TOXICOPHORES.items()}


def toxicophores_in(molecule: Mol) -> list[str]:
    """Return the names of the toxicophores that a molecule holds.

    Args:
        molecule: an RDKit molecule.

    Returns:
        keys of :data:`TOXICOPHORES`, in its order.

    Example:
        >>> from rdkit import Chem
        >>> toxicophores_in(Chem.MolFromSmiles("O=[N+]([O-])c1ccccc1"))
        ['aromatic nitro']
    """
    return [name for name, query in _queries().items() if molecule.HasSubstructMatch(query)]
