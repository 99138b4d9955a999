"""Toxicophores of mutagenicity: 29 kinds after Kazius, McGuire and Bursi (J. Med. Chem. 2005, 48, 312), as SMARTS.

They are listed in ``tables/toxicophores.tsv``. The names follow the descriptions of that publication. The patterns are
written from general knowledge of these groups, without the publication at hand, so results are not those of the
published patterns.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem import Mol

from isonn.molecules.tables import read_table

#: Aromatic nitro groups and amines do not count beside a sulfonyl or a trifluoromethyl group, amines not beside a
#: carboxylic acid or ester either: ortho, meta or para on the ring.
_DULL = "$(S(=[OX1])=[OX1]),$(C(F)(F)F)"
_PATHS = (":a", ":a:a", ":a:a:a")
_NITRO = ";".join(f"!$(Na{path}[{_DULL}])" for path in _PATHS)
_AMINE = ";".join(f"!$(Na{path}[{_DULL},$(C(=O)[OX2,OX1-])])" for path in _PATHS)
#: An atom of a flat ring.
_FLAT = "[#6X3,#7X2,nX3,o,s;R]"
_PLANAR = ",".join(
    f"$({skeleton.replace('x', _FLAT)})"
    for skeleton in (
        "x1~x~x~x2~x(~x~1)~x~x1~x~x~x~x~x~1~x~2",
        "x1~x~x~x2~x(~x~1)~x~x1~x~x~x~x~x~1~2",
        "x1~x~x~x2~x(~x~1)~x~x~x1~x~x~x~x~x~1~2",
    )
)

#: What the patterns of the table write in braces.
_SHORT = {"{nitro}": _NITRO, "{amine}": _AMINE, "{fused}": "[a;$(a(:a)(:a):a)]", "{planar}": _PLANAR}


def _written_out(smarts: str) -> str:
    for name, pattern in _SHORT.items():
        smarts = smarts.replace(name, pattern)
    return smarts


#: Name and SMARTS of each toxicophore.
TOXICOPHORES = {row["name"]: _written_out(row["smarts"]) for row in read_table("toxicophores")}


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
