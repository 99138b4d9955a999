"""Generated molecules as SMILES: 15 to 40 atoms with three rings or more, fewer with two."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path

#: Parts of molecules: each of 3.9 million combinations with three cores is a valid SMILES.
STARTS = [
    "C",
    "CC",
    "CO",
    "OCC",
    "N",
    "CN(C)",
    "FC(F)(F)",
    "Cl",
    "Br",
    "OC(=O)",
    "NC(=O)",
    "CS(=O)(=O)",
    "N#C",
    "CC(C)",
    "CCC",
]
ENDS = [
    "C",
    "CC",
    "OC",
    "CCO",
    "N",
    "N(C)C",
    "C(F)(F)F",
    "Cl",
    "Br",
    "C(=O)O",
    "C(N)=O",
    "S(C)(=O)=O",
    "C#N",
    "C(C)C",
    "CCC",
]
CORES = ["c1ccc({})cc1", "c1cc({})ccn1", "C1CCN({})CC1", "c1ccc2c(c1)c({})c[nH]2", "c1sc({})nc1", "C1CN({})CCN1C"]
LINKS = ["C(=O)N", "CCN", "S(=O)(=O)N", "OCC", "C(=O)O", "CC", "NC(=O)", "C=C", "N(C)C"]


def smiles(count: int, cores: int = 3) -> Iterator[str]:
    """Yield molecules in a shuffled order of their parts, round and round; each has so many rings or ring systems."""
    draw = random.Random(0)
    kinds = (STARTS, CORES, *((LINKS, CORES) * (cores - 1)), ENDS)
    parts = [draw.sample(part, len(part)) for part in kinds]
    made = 0
    while made < count:
        for end, *middle, last in product(*parts):
            text = last
            for depth, piece in enumerate(reversed(middle)):  # rings inside each other need different numbers
                rings = str.maketrans({"1": str(1 + depth), "2": str(6 + depth // 2)})
                text = piece.translate(rings).format(text) if "{}" in piece else piece + text
            yield end + text
            made += 1
            if made == count:
                return


def class_of(text: str) -> int:
    """Return 1 if a molecule has either of two groups but not both, which no sum can tell."""
    return int("S(=O)" in text) ^ int("C(=O)O" in text)


def write_smiles(path: Path, count: int) -> None:
    """Write molecules with their classes as a table."""
    with path.open("w") as file:
        file.write("smiles,y\n")
        for text in smiles(count):
            file.write(f"{text},{class_of(text)}\n")
