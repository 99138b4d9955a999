"""Toxicophores of mutagenicity, in the manner of Kazius, McGuire and Bursi (J. Med. Chem. 2005, 48, 312), as SMARTS.

That publication describes 29. This list has 29 entries, too, but was written from general knowledge of mutagens,
without the publication at hand: which entries it shares has not been checked, so results are not those of the
published list.
"""

# ruff: noqa: RUF001  (Greek letters belong to the names)

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem import Mol

#: Aromatic nitro groups and amines do not count beside a sulfonyl group ortho, meta or para on the ring.
_BESIDE = "!$(Na{0}S(=[OX1])=[OX1])"
_FREE = ";".join(_BESIDE.format(path) for path in (":a", ":a:a", ":a:a:a"))

#: Name and SMARTS of each toxicophore.
TOXICOPHORES: dict[str, str] = {
    "aromatic nitro": f"[NX3+;$(N-a);{_FREE}](=[OX1])[OX1-]",
    "aromatic amine": f"[NX3;H1,H2;$(N-a);!$(N-*=[O,S,N]);!$(N-[!#6;!#1]);!$(Na:aC(=O)[OH]);{_FREE}]",
    "aromatic hydroxylamine": "[NX3;$(N-a)][OX2]",
    "aromatic nitroso": "[NX2;$(N-a)]=[OX1]",
    "aromatic azo": "[NX2;$(N-a)]=[NX2;$(N-a)]",
    "N-nitroso": "[#7X3][NX2]=[OX1]",
    "aliphatic nitro": "[CX4][NX3+](=[OX1])[OX1-]",
    "epoxide": "C1OC1",
    "aziridine": "C1NC1",
    "thiirane": "C1SC1",
    "azide": "[NX2]=[NX2+]=[NX1-]",
    "diazo": "[#6]=[NX2+]=[NX1-]",
    "diazonium": "[#6][NX2+]#[NX1]",
    "triazene": "[NX3][NX2]=[NX2]",
    "hydrazine": "[NX3;!$(N-C=[O,S]);!R][NX3;!$(N-C=[O,S]);!R]",
    "aliphatic halide": "[CX4;!$(C(F)(F)F)][Cl,Br,I]",
    "nitrogen or sulfur mustard": "[Cl,Br,I][CX4][CX4][NX3,SX2]",
    "sulfonate or sulfate ester": "[CX4][OX2]S(=[OX1])(=[OX1])[#6,#8]",
    "phosphonate or phosphate ester": "[CX4;H2,H3][OX2]P(=[OX1,SX1])([#6,OX2])[OX2][CX4]",
    "β-lactone": "O=C1CCO1",
    "sultone": "O=S1(=O)CCCO1",
    "α,β-unsaturated aldehyde": "[CX3;!$(C(=C)(C)C)]=[CX3][CX3H1]=[OX1]",
    "aldehyde": "[CX4][CX3H1]=[OX1]",
    "carbamoyl or acyl halide": "[CX3](=[OX1])[Cl,Br]",
    "isocyanate or isothiocyanate": "[NX2]=[CX2]=[OX1,SX1]",
    "N-methylol": "[OX2H][CX4;H2][NX3]",
    "quinone": "[OX1]=[#6]1[#6]=,:[#6][#6](=[OX1])[#6]=,:[#6]1",
    "bay-region polycyclic aromatic": "[cH]1[cH]ccc2c1c1[cH][cH]ccc1cc2",
    "K-region polycyclic aromatic": "[cH]1[cH]c2ccccc2c2ccccc12",
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
