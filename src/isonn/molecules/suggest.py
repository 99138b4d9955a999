"""Edits of molecules for suggestions: units removed or replaced, and replacements that medicinal chemists try."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from operator import le
from typing import Any

from rdkit import Chem, DataStructs
from rdkit.Chem import Mol
from rdkit.Chem.rdChemReactions import ReactionFromSmarts
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
from rdkit.rdBase import BlockLogs

from isonn.explain.suggest import Editor, register_editor
from isonn.graphs.graph import Graph, GraphSet
from isonn.molecules.convert import read_molecules, to_mol
from isonn.molecules.edit import GROUPS, UNIT_REPLACEMENTS, attach, delete_atoms
from isonn.molecules.tables import read_table
from isonn.molecules.units import units

_FINGERPRINTS = GetMorganGenerator(radius=2, fpSize=2048)
#: The element by which each group is attached.
_FIRST_ATOMS = {name: Chem.MolFromSmiles(GROUPS[name]).GetAtomWithIdx(0).GetSymbol() for name in UNIT_REPLACEMENTS}
#: Carbons that lose a group in water, which no edit may make: hemiacetals, gem-diols, aminals and N,O-acetals; acetals
#: that are open chains; alpha-halo ethers, amines and sulfides other than OCF2.
_UNSTABLE = tuple(
    Chem.MolFromSmarts(text)
    for text in (
        "[$([OX2H]),$([#7X3])][CX4][OX2,#7X3]",
        "[OX2][CX4;!H0;!R][OX2]",
        "[OX2,#7X3,SX2][CX4;!$(C(F)F)][F,Cl,Br,I]",
    )
)
#: Products of one replacement in one molecule.
_MOST_PRODUCTS = 30


class MoleculeEditor(Editor):
    """Removes and replaces units, then applies the replacements of ``tables/replacements.tsv``."""

    def propose(self, graph: Graph, standardize: str | None) -> list[tuple[str, Any]]:
        """Return edits with the canonical SMILES of their results."""
        molecule = to_mol(graph)
        proposals: dict[str, str] = {}  # words by SMILES
        with BlockLogs():
            before = _unstable_parts(molecule)
            for words, product in (*_replaced_units(graph, molecule), *_replacements(molecule)):
                try:
                    Chem.SanitizeMol(product)
                except ValueError:  # the edit gives no valid molecule
                    continue
                smiles = Chem.MolToSmiles(product)
                if "." not in smiles and all(map(le, _unstable_parts(product), before)):
                    proposals.setdefault(smiles, words)
        return [(words, smiles) for smiles, words in proposals.items()]

    def read(self, proposals: Sequence[Any], standardize: str | None) -> tuple[GraphSet | None, list[int]]:
        """Read and standardise the molecules."""
        graphs, problems = read_molecules(proposals, standardize=standardize or "none")
        bad = {problem.row for problem in problems}
        return graphs, [row for row in range(len(proposals)) if row not in bad]

    def similarity(self, first: Graph, second: Graph) -> float | None:
        """Return the Tanimoto similarity of ECFP4 fingerprints."""
        prints = [_FINGERPRINTS.GetFingerprint(to_mol(graph)) for graph in (first, second)]
        return float(DataStructs.TanimotoSimilarity(*prints))


def _replaced_units(graph: Graph, molecule: Mol) -> Iterator[tuple[str, Mol]]:
    """Yield molecules with a unit that hangs on one bond removed or replaced."""
    for unit in units(molecule):
        inside = set(unit.atoms)
        cut = [
            (atom, near.GetIdx())
            for atom in unit.atoms
            for near in molecule.GetAtomWithIdx(atom).GetNeighbors()
            if near.GetIdx() not in inside
        ]
        if len(cut) != 1 or len(inside) > graph.n / 2:
            continue
        name = unit.name or unit.smiles
        rest = to_mol(delete_atoms(graph, unit.atoms))
        place = cut[0][1] - sum(atom < cut[0][1] for atom in inside)
        yield f"remove {name}", Mol(rest)
        anchor = rest.GetAtomWithIdx(place)
        for group in UNIT_REPLACEMENTS:
            if _is_unstable(anchor, _FIRST_ATOMS[group]):
                continue
            with suppress(ValueError):  # the edit gives no valid molecule
                yield f"replace {name} by {group}", attach(rest, place, group)


def _is_unstable(anchor: Chem.Atom, first: str) -> bool:
    """Return whether a bond to a group's first atom makes a peroxide, a hypohalite, an N-halide or the like."""
    symbol = anchor.GetSymbol()
    divalent = symbol == "O" or (symbol == "S" and anchor.GetTotalDegree() <= 2)
    return (divalent and first != "C") or (symbol == "N" and first in ("O", "F", "Cl"))


def _unstable_parts(molecule: Mol) -> list[int]:
    """Return how often a molecule has each of the unstable patterns."""
    return [len(molecule.GetSubstructMatches(pattern)) for pattern in _UNSTABLE]


def _replacements(molecule: Mol) -> Iterator[tuple[str, Mol]]:
    plain = Chem.MolFromSmiles(Chem.MolToSmiles(molecule))  # hydrogens of a graph are fixed numbers
    if plain is None:
        return
    for words, reaction in _reactions():
        for products in reaction.RunReactants((plain,), maxProducts=_MOST_PRODUCTS):
            yield words, products[0]


@lru_cache(maxsize=1)
def _reactions() -> tuple[tuple[str, Any], ...]:
    return tuple((row["name"], ReactionFromSmarts(row["smarts"])) for row in read_table("replacements"))


register_editor("molecules", MoleculeEditor())
