"""Toxicophores of mutagenicity: 29 kinds after Kazius, McGuire and Bursi (J. Med. Chem. 2005, 48, 312), as SMARTS.

The names follow the descriptions of that publication. The patterns are written from general knowledge of these groups,
without the publication at hand, so results are not those of the published patterns.
"""

# ruff: noqa: RUF001  (Greek letters belong to the names)

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem import Mol

#: Aromatic nitro groups and amines do not count beside a sulfonyl or a trifluoromethyl group, amines not beside a
#: carboxylic acid or ester either: ortho, meta or para on the ring.
_DULL = "$(S(=[OX1])=[OX1]),$(C(F)(F)F)"
_PATHS = (":a", ":a:a", ":a:a:a")
_NITRO = ";".join(f"!$(Na{path}[{_DULL}])" for path in _PATHS)
_AMINE = ";".join(f"!$(Na{path}[{_DULL},$(C(=O)[OX2,OX1-])])" for path in _PATHS)
#: An aromatic atom where two aromatic rings are fused, and an atom of a flat ring.
_FUSED = "[a;$(a(:a)(:a):a)]"
_FLAT = "[#6X3,#7X2,nX3,o,s;R]"
_PLANAR = ",".join(
    f"$({skeleton.replace('x', _FLAT)})"
    for skeleton in (
        "x1~x~x~x2~x(~x~1)~x~x1~x~x~x~x~x~1~x~2",
        "x1~x~x~x2~x(~x~1)~x~x1~x~x~x~x~x~1~2",
        "x1~x~x~x2~x(~x~1)~x~x~x1~x~x~x~x~x~1~2",
    )
)

#: Name and SMARTS of each toxicophore.
TOXICOPHORES: dict[str, str] = {
    "aromatic nitro": f"[NX3+;$(N-a);{_NITRO}](=[OX1])[OX1-]",
    "primary aromatic amine": f"[NX3;H2;$(N-a);{_AMINE}]",
    "aromatic nitroso": "[NX2;$(N-a)]=[OX1]",
    "alkyl nitrite": "[#6][OX2][NX2]=[OX1]",
    "nitrosamine": "[#7X3][NX2]=[OX1]",
    "epoxide": "C1OC1",
    "aziridine": "C1NC1",
    "azide": "[NX2]=[NX2+]=[NX1-]",
    "diazo": "[#6]=[NX2+]=[NX1-]",
    "triazene": "[NX3][NX2]=[NX2]",
    "aromatic azo": "[NX2;$(N-a)]=[NX2;$(N-a)]",
    "unsubstituted heteroatom-bonded heteroatom": "[OX2H1,NX3H2]-[#7;!$([N+](=O)[O-]),OX2]",
    "aromatic hydroxylamine": "[NX3;$(N-a)][OX2H]",
    "aliphatic halide": "C[Cl,Br,I]",
    "carboxylic acid halide": "[CX3](=[OX1])[Cl,Br,I]",
    "nitrogen or sulfur mustard": "[Cl,Br,I][CX4H2]!@[CX4]!@[NX3,SX2]",
    "bay region of a polycyclic aromatic": "[cH]1[cH]ccc2ccc3cc[cH][cH]c3c12",
    "K region of a polycyclic aromatic": "[cH]1[cH]c2ccccc2c2ccccc12",
    "polycyclic aromatic system": (
        f"[$({_FUSED}:{_FUSED}:{_FUSED}:{_FUSED}),$({_FUSED}:{_FUSED}:a:{_FUSED}:{_FUSED})]"
    ),
    "sulfonate-bonded carbon": "[#6]!@[OX2]S(=[OX1])(=[OX1])[#6,$([OX2]-[#6])]",
    "aliphatic N-nitro": "[NX3;!$(N-a)][NX3+](=[OX1])[OX1-]",
    "α,β-unsaturated aldehyde": "[CX3H1](=[OX1])[CX3;!$(C[N,O,S])]=[CX3,OX1;!$(C-[N,O,S])]",
    "diazonium": "[#6][NX2+]#[NX1]",
    "β-propiolactone": "O=C1CCO1",
    "α,β-unsaturated alkoxy": "[CX3H1]=[CX3H1][OX2]",
    "1-aryl-2-monoalkyl hydrazine": "[NX3H1;!R;$(N-a)][NX3H1;$(N-[CX4])]",
    "aromatic methylamine": f"[CH3][NX3H1;$(N-a);{_AMINE}]",
    "ester of an aromatic hydroxylamine": "[NX3;$(N-a)][OX2][$([CX3]=[OX1]),$([SX4](=O)=O)]",
    "polycyclic planar system": f"[{_PLANAR}]",
}


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
