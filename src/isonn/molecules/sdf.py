"""Read SD files (``.sdf``), plain or compressed: molecules with named properties."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rdkit import Chem
from rdkit.Chem import Mol

from isonn.graphs.io.tables import open_text
from isonn.molecules.files import MoleculeReader, Record
from isonn.molecules.parse import rdkits_reason

_END = "$$$$"


class SdfReader(MoleculeReader):
    """``.sdf`` and ``.sdf.gz``. Properties are columns; hydrogens are folded into their atoms, as RDKit does."""

    name = "sdf"
    expects = "an .sdf file"
    suffixes = (".sdf", ".sdf.gz", ".sd", ".sd.gz")

    def parse(self, source: str) -> tuple[Mol | str, str]:
        """Return the molecule of a record, or the reason why it cannot be read, and its SMILES or title."""
        title = source.partition("\n")[0].strip()
        if "M  END" not in source:
            return "the record is cut off before M  END", title
        molecule = Chem.MolFromMolBlock(source)
        if molecule is None:
            return rdkits_reason(lambda: Chem.MolFromMolBlock(source)), title
        return molecule, Chem.MolToSmiles(molecule)

    def records(self, path: Path, smiles: str | None) -> Iterator[Record]:
        """Yield the records of the file, in order; the last may be cut off."""
        with open_text(path) as file:
            lines: list[str] = []
            for line in file:
                if line.startswith(_END):
                    yield _record(lines)
                    lines = []
                else:
                    lines.append(line.rstrip("\r\n"))
            if any(line.strip() for line in lines):
                yield _record(lines)


READER = SdfReader()


def _record(lines: list[str]) -> Record:
    """Return the record of a molecule with its properties, whose lines follow ``> <NAME>``."""
    start = next((i for i, line in enumerate(lines) if line.startswith(">")), len(lines))
    cells: dict[str, str] = {}
    if lines and lines[0].strip():
        cells["name"] = lines[0].strip()
    name = ""
    for line in lines[start:]:
        if line.startswith(">"):
            name = line.partition("<")[2].rpartition(">")[0].strip()
            cells[name] = ""
        elif line.strip():
            cells[name] = f"{cells[name]} {line.strip()}".strip()
    return Record("\n".join(lines[:start]), cells)
