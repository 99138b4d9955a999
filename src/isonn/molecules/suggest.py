"""Edits of molecules for suggestions: units removed or replaced, and replacements that medicinal chemists try."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from rdkit import Chem, DataStructs
from rdkit.Chem import Mol
from rdkit.Chem.rdChemReactions import ReactionFromSmarts
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

from isonn.errors import InputError
from isonn.explain.suggest import Editor, register_editor
from isonn.graphs.graph import Graph, GraphSet
from isonn.molecules.convert import read_molecules, silence, to_mol
from isonn.molecules.edit import delete_atoms
from isonn.molecules.units import units

#: What takes the place of a unit that hangs on one bond; "" is a hydrogen.
UNIT_REPLACEMENTS = {
    "": "",
    "methyl": "C",
    "fluorine": "F",
    "chlorine": "Cl",
    "hydroxy": "O",
    "methoxy": "OC",
    "cyano": "C#N",
    "trifluoromethyl": "C(F)(F)F",
    "carboxamide": "C(N)=O",
    "methylsulfonyl": "S(C)(=O)=O",
    "hydroxymethyl": "CO",
}
#: Replacements by reaction SMARTS, with their names: about 60 that medicinal chemists try first.
REPLACEMENTS = (
    # halogens
    ("fluorine for chlorine", "[Cl;D1:1]>>[F:1]"),
    ("fluorine for bromine", "[Br;D1:1]>>[F:1]"),
    ("chlorine for bromine", "[Br;D1:1]>>[Cl:1]"),
    ("chlorine for iodine", "[I;D1:1]>>[Cl:1]"),
    ("methyl for a halogen", "[#6:1][F,Cl,Br,I;D1]>>[#6:1]C"),
    ("hydrogen for a halogen", "[#6:1][F,Cl,Br,I;D1]>>[#6:1]"),
    ("cyano for a halogen", "[c:1][F,Cl,Br,I;D1]>>[c:1]C#N"),
    ("hydroxy for an alkyl halogen", "[CX4:1][Cl,Br,I;D1]>>[CX4:1]O"),
    # methyl and other alkyl groups
    ("trifluoromethyl for methyl", "[c:1][CH3]>>[c:1]C(F)(F)F"),
    ("chlorine for methyl", "[c:1][CH3]>>[c:1]Cl"),
    ("fluorine for methyl", "[c:1][CH3]>>[c:1]F"),
    ("methoxy for methyl", "[c:1][CH3]>>[c:1]OC"),
    ("hydrogen for methyl", "[#6,#7:1][CH3]>>[*:1]"),
    ("isopropyl for methyl", "[#6:1][CH3]>>[#6:1]C(C)C"),
    ("cyclopropyl for isopropyl", "[*:1][CH]([CH3])[CH3]>>[*:1]C1CC1"),
    ("trifluoromethyl for tert-butyl", "[*:1]C([CH3])([CH3])[CH3]>>[*:1]C(F)(F)F"),
    # groups on aromatic carbon
    ("fluorine on an aromatic carbon", "[cH:1]>>[c:1]F"),
    ("methyl on an aromatic carbon", "[cH:1]>>[c:1]C"),
    ("methoxy on an aromatic carbon", "[cH:1]>>[c:1]OC"),
    ("trifluoromethyl on an aromatic carbon", "[cH:1]>>[c:1]C(F)(F)F"),
    ("cyano on an aromatic carbon", "[cH:1]>>[c:1]C#N"),
    ("carboxy on an aromatic carbon", "[cH:1]>>[c:1]C(=O)O"),
    ("methylsulfonyl on an aromatic carbon", "[cH:1]>>[c:1]S(C)(=O)=O"),
    ("tert-butyl on an aromatic carbon", "[cH:1]>>[c:1]C(C)(C)C"),
    ("sulfonic acid on an aromatic carbon", "[cH:1]>>[c:1]S(=O)(=O)O"),
    # rings
    ("ring nitrogen for CH", "[cH:1]>>[n:1]"),
    ("CH for ring nitrogen", "[n;H0;D2:1]>>[cH:1]"),
    ("cyclohexyl for phenyl", "[*:1][c]1[cH][cH][cH][cH][cH]1>>[*:1]C1CCCCC1"),
    ("thiophene for phenyl", "[*:1][c]1[cH][cH][cH][cH][cH]1>>[*:1]c1cccs1"),
    ("pyridine N-oxide reduced", "[n+:1][O-]>>[n+0:1]"),
    ("piperidine for pyrrolidine", "[N:1]1[CH2][CH2][CH2][CH2]1>>[N:1]1CCCCC1"),
    ("morpholine for piperidine", "[N:1]1[CH2][CH2][CH2][CH2][CH2]1>>[N:1]1CCOCC1"),
    # nitro groups
    ("cyano for nitro", "[#6:1][N+](=O)[O-]>>[#6:1]C#N"),
    ("trifluoromethyl for nitro", "[#6:1][N+](=O)[O-]>>[#6:1]C(F)(F)F"),
    ("methylsulfonyl for nitro", "[#6:1][N+](=O)[O-]>>[#6:1]S(C)(=O)=O"),
    ("carboxamide for nitro", "[#6:1][N+](=O)[O-]>>[#6:1]C(N)=O"),
    ("carboxylate for nitro", "[#6:1][N+](=O)[O-]>>[#6:1]C(=O)O"),
    # amines
    ("acetamide for an aromatic amine", "[c:1][NH2]>>[c:1]NC(C)=O"),
    ("methanesulfonamide for an aromatic amine", "[c:1][NH2]>>[c:1]NS(C)(=O)=O"),
    ("hydroxy for an aromatic amine", "[c:1][NH2]>>[c:1]O"),
    ("methyl for an aromatic amine", "[c:1][NH2]>>[c:1]C"),
    ("carboxamide for an aromatic amine", "[c:1][NH2]>>[c:1]C(N)=O"),
    ("aminomethyl for an aromatic amine", "[c:1][NH2]>>[c:1]CN"),
    ("dimethylamine for an amine", "[#6:1][NH2]>>[#6:1]N(C)C"),
    ("methoxy for dimethylamine", "[#6:1]N([CH3])[CH3]>>[#6:1]OC"),
    ("carbon for the second nitrogen of a hydrazine", "[NX3:1][NX3;!$(N=*):2]>>[N:1][C:2]"),
    ("acetyl for nitroso on nitrogen", "[N:1][N;X2]=O>>[N:1]C(C)=O"),
    # acids, esters, amides
    ("tetrazole for an acid", "[#6:1]C(=O)[OH]>>[#6:1]c1nnn[nH]1"),
    ("amide for an acid", "[#6:1][C:2](=[O:3])[OH]>>[#6:1][C:2](=[O:3])N"),
    ("sulfonamide for an acid", "[#6:1]C(=O)[OH]>>[#6:1]S(N)(=O)=O"),
    ("acylsulfonamide for an acid", "[#6:1][C:2](=[O:3])[OH]>>[#6:1][C:2](=[O:3])NS(C)(=O)=O"),
    ("amide for an ester", "[#6:1][C:2](=[O:3])[O;X2][C:4]>>[#6:1][C:2](=[O:3])N[C:4]"),
    ("acid for an ester", "[#6:1][C:2](=[O:3])[O;X2][CX4]>>[#6:1][C:2](=[O:3])O"),
    ("reversed amide", "[#6:1][C;!R](=O)[NH;!R][#6:2]>>[#6:1]NC(=O)[#6:2]"),
    ("reversed sulfonamide", "[#6:1][S;!R](=O)(=O)[NH;!R][#6:2]>>[#6:1]NS(=O)(=O)[#6:2]"),
    # alcohols, ethers, sulfur
    ("methoxy for hydroxy", "[#6;!$(C=O):1][OH]>>[#6:1]OC"),
    ("fluorine for hydroxy", "[#6;!$(C=O):1][OH]>>[#6:1]F"),
    ("hydroxy for methoxy", "[#6;!$(C=O):1]O[CH3]>>[#6:1]O"),
    ("difluoromethoxy for methoxy", "[c:1]O[CH3]>>[c:1]OC(F)F"),
    ("CH2 for an ether oxygen", "[#6:1][O;X2;!R][#6;!$(C=O):2]>>[#6:1]C[#6:2]"),
    ("oxygen for sulfur", "[#6:1][S;X2:2][#6:3]>>[#6:1]O[#6:3]"),
    ("sulfone for a thioether", "[#6:1][S;X2:2][#6:3]>>[#6:1][S:2](=O)(=O)[#6:3]"),
    # reactive groups
    ("saturated Michael acceptor", "[C:1]=[C:2][C:3]=[O:4]>>[C:1][C:2][C:3]=[O:4]"),
    ("alcohol for an aldehyde", "[#6:1][CH]=O>>[#6:1]CO"),
    ("methyl ketone for an aldehyde", "[#6:1][CH]=O>>[#6:1]C(C)=O"),
    ("cyclopropane for an epoxide", "[C:1]1[O;r3][C:2]1>>[C:1]1C[C:2]1"),
    ("diol for an epoxide", "[C:1]1[O;r3][C:2]1>>[C:1](O)[C:2]O"),
    ("oxetane for an epoxide", "[C:1]1[O;r3][C:2]1>>[C:1]1OC[C:2]1"),
    ("amide for an azo bridge", "[c:1][N;X2]=[N;X2][c:2]>>[c:1]NC(=O)[c:2]"),
    ("single C-C bond for a double one", "[C;!$(C=O):1]=[C;!$(C=O):2]>>[C:1][C:2]"),
)
_FINGERPRINTS = GetMorganGenerator(radius=2, fpSize=2048)
#: Products of one replacement in one molecule.
_MOST_PRODUCTS = 30


class MoleculeEditor(Editor):
    """Removes and replaces units, then applies `REPLACEMENTS`."""

    def propose(self, graph: Graph, standardize: str | None) -> list[tuple[str, Any]]:
        """Return edits with the canonical SMILES of their results."""
        molecule = to_mol(graph)
        found: dict[str, str] = {}
        with silence():
            for words, product in (*_replaced_units(graph, molecule), *_replacements(molecule)):
                try:
                    Chem.SanitizeMol(product)
                except ValueError:  # there is no such molecule
                    continue
                smiles = Chem.MolToSmiles(product)
                if "." not in smiles:
                    found.setdefault(smiles, words)
        return [(words, smiles) for smiles, words in found.items()]

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
        try:
            rest = to_mol(delete_atoms(graph, unit.atoms))
        except InputError:
            continue
        place = cut[0][1] - sum(atom < cut[0][1] for atom in inside)
        for words, smiles in UNIT_REPLACEMENTS.items():
            if not smiles:
                yield f"remove {name}", Mol(rest)
            elif (product := _joined(rest, place, smiles)) is not None:
                yield f"replace {name} by {words}", product


def _joined(rest: Mol, place: int, smiles: str) -> Mol | None:
    """Attach a group in place of one hydrogen; None if the atom has none."""
    n = rest.GetNumAtoms()
    product = Chem.RWMol(Chem.CombineMols(rest, Chem.MolFromSmiles(smiles)))
    atom = product.GetAtomWithIdx(place)
    if not atom.GetNumExplicitHs():
        return None
    atom.SetNumExplicitHs(atom.GetNumExplicitHs() - 1)
    product.AddBond(place, n, Chem.BondType.SINGLE)
    first = product.GetAtomWithIdx(n)
    first.SetNoImplicit(False)
    return product.GetMol()


def _replacements(molecule: Mol) -> Iterator[tuple[str, Mol]]:
    plain = Chem.MolFromSmiles(Chem.MolToSmiles(molecule))  # hydrogens of a graph are fixed numbers
    if plain is None:
        return
    for words, reaction in _reactions():
        for products in reaction.RunReactants((plain,), maxProducts=_MOST_PRODUCTS):
            yield words, products[0]


@lru_cache(maxsize=1)
def _reactions() -> tuple[tuple[str, Any], ...]:
    return tuple((words, ReactionFromSmarts(smarts)) for words, smarts in REPLACEMENTS)


register_editor("molecules", MoleculeEditor())
