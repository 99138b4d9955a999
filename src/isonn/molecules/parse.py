"""Parse SMILES with RDKit, and say why a text is not a molecule."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from typing import Any

from rdkit import Chem, rdBase
from rdkit.Chem import Mol
from rdkit.rdBase import BlockLogs

#: Reads an item of a list. Returns the molecule, or the reason why it cannot be read, and the text to show.
Parse = Callable[[Any], tuple[Mol | str, str]]

#: RDKit recurses along chains: 10,000 characters work, 20,000 ended the process with a segmentation fault.
LONGEST_SMILES = 10_000


def parse_smiles(item: Any) -> tuple[Mol | str, str]:
    """Return a molecule, or the reason why it cannot be read, and its SMILES."""
    if isinstance(item, Mol):
        if item.NeedsUpdatePropertyCache():  # made without sanitizing, so hydrogens are not counted yet
            item = Mol(item)
            item.UpdatePropertyCache(strict=False)
        return item, Chem.MolToSmiles(item)
    if not isinstance(item, str):
        missing = item is None or str(item) in ("nan", "<NA>")
        return ("there is no SMILES" if missing else f"{type(item).__name__} is not a SMILES"), f"{item}"
    text = item.strip()
    if len(text) > LONGEST_SMILES:
        return f"it has {len(text):,} characters, above the limit of {LONGEST_SMILES:,}", f"{text[:60]}..."
    with BlockLogs():
        molecule = Chem.MolFromSmiles(text) if text else None
    if molecule is not None and len(text.splitlines()) > 1:
        return "it has several lines; give one molecule", text  # RDKit would read the first
    if molecule is not None and "[#" in text.split(maxsplit=1)[0]:
        return "this is a SMARTS pattern; give the SMILES of a molecule", text  # RDKit reads simple patterns as SMILES
    return (_why_not(text) if molecule is None else molecule), text


def is_smiles(text: str) -> bool:
    """Return whether RDKit reads a text as a molecule with atoms.

    Example:
        >>> is_smiles("CCO"), is_smiles("MUTAG")
        (True, False)
    """
    text = text.strip()
    with BlockLogs():
        molecule = Chem.MolFromSmiles(text) if len(text) <= LONGEST_SMILES else None
    return molecule is not None and molecule.GetNumAtoms() > 0


def _why_not(text: str) -> str:
    """Return why a text is not the SMILES of a molecule."""
    if not text:
        return "there is no SMILES"
    if text.startswith("InChI="):
        return "this is an InChI; convert it to SMILES (Chem.MolFromInchi)"
    if ">" in text.replace("->", ""):
        return "this is a reaction; give one molecule"
    return rdkits_reason(lambda: Chem.MolFromSmiles(text))


def rdkits_reason(read: Callable[[], Any]) -> str:
    """Return why RDKit cannot read something, which is only in its log; it is read again to collect that."""
    off = [line.partition(":")[0] for line in rdBase.LogStatus().split() if line.endswith(":disabled")]
    try:
        with redirect_stderr(StringIO()) as log:
            rdBase.LogToPythonStderr()
            rdBase.EnableLog("rdApp.error")
            read()
    except SystemError:  # raised by RDKit if one of its own messages is not UTF-8
        return "its text is damaged"
    finally:
        rdBase.LogToCppStreams()
        for name in off:
            rdBase.DisableLog(name)
    lines = [_reason(line) for line in log.getvalue().splitlines() if line]
    for mark in ("unclosed ring", "valence", "kekulize"):
        if marked := [line for line in lines if mark in line]:
            return marked[0]
    position = next((line.partition("position ")[2].rstrip(":") for line in lines if "position " in line), "")
    return f"syntax error at character {position}" if position else next(iter(lines), "RDKit cannot read it")


def _reason(line: str) -> str:
    """Return a line of RDKit's log without the time of day and the input."""
    text = (line.partition("] ")[2] or line).removeprefix("SMILES Parse Error: ").partition(" for input:")[0]
    return " ".join(text.split())
