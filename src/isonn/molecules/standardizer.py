"""Standard forms of molecules: one structure for a base and its salts, with `standardize`.

Modes:

- ``none``: molecules as they are written;
- ``salts``: the main fragment without counter-ions and solvents, in neutral form (also S=O for [S+][O-]), without
  isotopes, atom maps and separate hydrogens, and with metals that are not bonded to carbon disconnected from oxygen,
  nitrogen, sulfur and halogens;
- ``full``: the same, as RDKit's canonical tautomer.

Most molecules of a file need nothing, which their text shows, so they are not touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem import BondType, Mol
from rdkit.Chem.MolStandardize import rdMolStandardize
from rdkit.rdBase import BlockLogs

from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.molecules.labels import NONMETALS
from isonn.molecules.parse import parse_smiles
from isonn.packing import IntArray

#: The modes, from least to most change.
MODES = ("none", "salts", "full")
#: The mode of functions and files that name none.
DEFAULT = "salts"
#: Bounds of the search for tautomers; a molecule that exceeds one keeps its form. Counts, not seconds, so that results
#: do not depend on the machine.
MAX_TAUTOMERS, MAX_TRANSFORMS = 200, 500
#: RDKit's canonical tautomer may have another canonical tautomer; it is applied until it no longer changes.
_ROUNDS = 4

#: Kinds of changes, and how a report counts them.
CHANGES = {
    "fragment": "without counter-ions or solvents",
    "charge": "neutralised",
    "metal": "with metals disconnected",
    "isotope": "without isotopes",
    "atom map": "without atom maps",
    "hydrogen": "with hydrogens folded into their atoms",
    "tautomer": "as canonical tautomer",
    "too many tautomers": "with too many tautomers, so these keep their form",
    "failed": "that RDKit cannot standardise, so these stay as they are",
}

#: Counter-ions and solvents, in neutral form: dropped beside any other organic fragment, even a smaller one.
_COMPANIONS = """
O=C(O)C(F)(F)F CC(=O)O O=CO CCC(=O)O O=C(O)C(=O)O O=C(O)CC(=O)O O=C(O)CCC(=O)O O=C(O)C=CC(=O)O
O=C(O)CC(O)C(=O)O O=C(O)C(O)C(O)C(=O)O O=C(O)CC(O)(CC(=O)O)C(=O)O CC(O)C(=O)O O=C(O)CO O=C(O)c1ccccc1
CS(=O)(=O)O CCS(=O)(=O)O O=S(=O)(O)C(F)(F)F O=S(=O)(O)c1ccccc1 Cc1ccc(S(=O)(=O)O)cc1 O=S(=O)(O)CCO
COS(=O)(=O)O O=C(O)O O=c1c(O)c(O)c1=O O=[N+]([O-])c1cc([N+](=O)[O-])c(O)c([N+](=O)[O-])c1
CO CCO CC(C)O CC(C)=O CC#N CS(C)=O CN(C)C=O C1CCOC1 C1COCCO1 ClCCl ClC(Cl)Cl CCOC(C)=O CCOCC
"""
#: Number of atoms of the largest of them, picric acid.
_LARGEST_COMPANION = 16
#: Elements that stay a molecule alone; a lone sodium or chloride does not, so such salts keep all their fragments.
_LONE = {6, 7, 8, 15, 16}
#: Bracket atoms without charge, isotope, map or metal, and nitro groups, which are neutral as a whole.
_PLAIN = re.compile(
    r"\[(?:Cl|Br|Si|Se|se|te|as|[BCNOPSFIbcnops])@{0,2}(?:H\d?)?\]"
    r"|\[N\+\]\(=O\)\[O-\]|O=\[N\+\]\(\[O-\]\)|\[O-\]\[N\+\]\(=O\)"
)
#: RDKit's tools.
_METALS = rdMolStandardize.MetalDisconnector()
_LARGEST = rdMolStandardize.LargestFragmentChooser(preferOrganic=True)
_CHARGES = rdMolStandardize.Uncharger(canonicalOrder=True)
_TAUTOMERS = rdMolStandardize.TautomerEnumerator()
_TAUTOMERS.SetMaxTautomers(MAX_TAUTOMERS)
_TAUTOMERS.SetMaxTransforms(MAX_TRANSFORMS)
#: Acids stay charged in RDKit's neutral form beside a quaternary nitrogen, as in betaine, but not in its salts.
_ACID = Chem.MolFromSmarts("[O-;$(O-[C,S,P]=O);!$(O~[+])]")
#: Carbon that a metal written as an ion is bonded to: carbanions, but those of cyanides and of acids such as
#: acetylacetone and nitromethane, or balanced within a ring or ylide; radicals; and carbon monoxide.
_CARBANION = Chem.MolFromSmarts(
    "[$([c-;!$(c:[+]);!$(c:*:[+])]),$([C-;!$(C#[#7,#8]);!$(C~[+]);!$(C~*=,#[!#6])]),$([CX3;v3;+0]),$([C-]#[OX1+])]"
)
#: Oxides and sulfides of S, Se, P and As with charges instead of a double bond, as ChEMBL writes sulfoxides; and
#: azides and diazo compounds with a triple bond.
_OXIDE = Chem.MolFromSmarts("[$([S,Se;X3;+1]),$([S,Se;X4;+1,+2]),$([P,As;X4;+1])]-[O,S;X1;-1]")
_AZIDE = Chem.MolFromSmarts("[N,C;-1]-[N;+1]#[N;X1;+0]")
_INPUT = "_isonn_input"
#: Forms of the last texts that needed a look, at most this many, so that memory does not grow with a file.
_RECENT: dict[tuple[str, str], Standardized] = {}
_MOST_RECENT = 4096


@dataclass(frozen=True)
class Standardized:
    """A molecule in standard form.

    Attributes:
        mol: the molecule.
        atoms: the atom of the input that each atom was, shape (atoms,), rising.
        n_input: number of atoms of the input.
        changes: what changed, as keys of `CHANGES`; () if nothing did.
    """

    mol: Mol
    atoms: IntArray
    n_input: int
    changes: tuple[str, ...] = ()

    @property
    def smiles(self) -> str:
        """The canonical SMILES."""
        return str(Chem.MolToSmiles(self.mol))


def standardize(molecule: Any, mode: str = DEFAULT) -> Standardized:
    """Convert a molecule to its standard form.

    Args:
        molecule: a SMILES or an RDKit ``Mol``.
        mode: "salts" keeps the main fragment, neutral, without isotopes and atom maps, and disconnects metals; "full"
            also converts it to RDKit's canonical tautomer, which takes some milliseconds; "none" changes nothing.

    Returns:
        `Standardized`: the molecule, its SMILES, what changed, and which atoms were kept.

    Example:
        >>> standardize("[Cl-].Cc1ccc([NH3+])cc1").smiles
        'Cc1ccc(N)cc1'
        >>> standardize("[Cl-].Cc1ccc([NH3+])cc1").changes
        ('fragment', 'charge')
        >>> standardize("CC(O)=CC", mode="full").smiles
        'CCC(C)=O'
    """
    check_mode(mode)
    with BlockLogs():
        parsed, text = parse_smiles(molecule)
        if isinstance(parsed, str):
            raise InputError(f"{text[:60]!r} cannot be read: {parsed}; correct it")
        return standard_form(parsed, text, mode)


def check_mode(mode: str) -> None:
    """Raise `InputError` if there is no such mode."""
    if mode not in MODES:
        raise InputError(f"standardize={mode!r:.60} is unknown; use one of {', '.join(map(repr, MODES))}")


def standard_form(molecule: Mol, text: str, mode: str, repeats: bool = False) -> Standardized:
    """Return the standard form of a parsed molecule.

    Args:
        text: its SMILES, which shows quickly whether there is anything to change.
        mode: one of `MODES`.
        repeats: whether equal texts are equal molecules with atoms in the same order, so that the form of an earlier
            one is reused.
    """
    if mode == "none" or not (may_change(text) or (mode == "full" and _may_have_tautomers(text))):
        return _unchanged(molecule)
    if repeats and (text, mode) in _RECENT:
        return _RECENT[text, mode]
    try:
        form = _neutral_parent(molecule) if may_change(text) else _unchanged(molecule)
        form = _canonical_tautomer(form) if mode == "full" else form
    except (ValueError, RuntimeError):  # valences and rings that RDKit refuses once atoms have changed
        form = _unchanged(molecule, ("failed",))
    if repeats:
        if len(_RECENT) >= _MOST_RECENT:
            _RECENT.clear()
        _RECENT[text, mode] = form
    return form


def may_change(text: str) -> bool:
    """Return whether a SMILES has several fragments, charges, isotopes, atom maps, metals or separate hydrogens.

    Example:
        >>> may_change("C[C@H](N)c1ccc([N+](=O)[O-])cc1"), may_change("C[NH3+]")
        (False, True)
    """
    return "." in text or ("[" in text and "[" in _PLAIN.sub("", text))


def _may_have_tautomers(text: str) -> bool:
    return not set("NOSPnosp[").isdisjoint(text)


def _unchanged(molecule: Mol, changes: tuple[str, ...] = ()) -> Standardized:
    n = molecule.GetNumAtoms()
    return Standardized(molecule, np.arange(n), n, changes)


def _neutral_parent(molecule: Mol) -> Standardized:
    """Return the main fragment in neutral form."""
    changes = []
    form = Mol(molecule)
    for atom in form.GetAtoms():
        atom.SetIntProp(_INPUT, atom.GetIdx())
        for kind, number, clear in (
            ("isotope", atom.GetIsotope(), atom.SetIsotope),
            ("atom map", atom.GetAtomMapNum(), atom.SetAtomMapNum),
        ):
            if number:
                clear(0)
                changes.append(kind)
    form.UpdatePropertyCache(strict=False)
    steps: tuple[tuple[str, Callable[[Mol], Mol]], ...] = (
        ("hydrogen", _without_hydrogens),
        ("metal", _disconnected),
        ("fragment", _main_fragment),
        ("charge", _uncharged),
    )
    whole = form
    for kind, step in steps:
        after = step(form)
        if after is not form:
            form = after
            changes.append(kind)
    if form.GetNumAtoms() == 1 and form.GetAtomWithIdx(0).GetAtomicNum() not in _LONE:
        form, changes = whole, [kind for kind in changes if kind in ("isotope", "atom map")]  # an inorganic salt
    Chem.SanitizeMol(form)
    atoms = np.array([atom.GetIntProp(_INPUT) for atom in form.GetAtoms()], dtype=np.int64)
    return Standardized(form, atoms, molecule.GetNumAtoms(), tuple(dict.fromkeys(changes)))


def _without_hydrogens(molecule: Mol) -> Mol:
    if not any(atom.GetAtomicNum() == 1 for atom in molecule.GetAtoms()):
        return molecule
    fewer = Chem.RemoveHs(molecule)
    return molecule if fewer.GetNumAtoms() == molecule.GetNumAtoms() else fewer


def _metal_and_carbons(molecule: Mol) -> set[int]:
    """Return the metals and carbanions of an organometallic compound that is written as ions, such as ferrocene."""
    metals = {atom.GetIdx() for atom in molecule.GetAtoms() if atom.GetAtomicNum() not in NONMETALS}
    carbons = {i for (i,) in molecule.GetSubstructMatches(_CARBANION)} if metals else set()
    return metals | carbons if carbons else set()


def _disconnected(molecule: Mol) -> Mol:
    """Break bonds between metals and other elements, unless a metal is bonded to carbon or the molecule has none."""
    if not any(atom.GetAtomicNum() == 6 for atom in molecule.GetAtoms()) or _metal_and_carbons(molecule):
        return molecule
    metals = [a for a in molecule.GetAtoms() if a.GetAtomicNum() not in NONMETALS and a.GetDegree()]
    near = {neighbour.GetAtomicNum() for atom in metals for neighbour in atom.GetNeighbors()}
    if not metals or 6 in near or not near <= NONMETALS:
        return molecule
    apart = _METALS.Disconnect(molecule)
    return molecule if apart.GetNumBonds() == molecule.GetNumBonds() else apart


def _main_fragment(molecule: Mol) -> Mol:
    """Return the largest organic fragment that is neither a counter-ion nor a solvent, if there is any.

    Ions of an organometallic compound are one fragment.
    """
    if bonded := _metal_and_carbons(molecule):
        return _without(molecule, [atoms for atoms in Chem.GetMolFrags(molecule) if bonded.isdisjoint(atoms)])
    fragments = Chem.GetMolFrags(molecule, asMols=True, sanitizeFrags=False)
    if len(fragments) == 1:
        return molecule
    for fragment in fragments:
        fragment.UpdatePropertyCache(strict=False)
        Chem.FastFindRings(fragment)
    others = [fragment for fragment in fragments if not _is_companion(fragment)]
    rest = reduce(Chem.CombineMols, others) if others else molecule
    return rest if len(others) == 1 else _LARGEST.choose(rest)


def _without(molecule: Mol, fragments: Sequence[Sequence[int]]) -> Mol:
    if not fragments:
        return molecule
    edited = Chem.RWMol(molecule)
    edited.BeginBatchEdit()
    for i in chain.from_iterable(fragments):
        edited.RemoveAtom(i)
    edited.CommitBatchEdit()
    return edited.GetMol()


@lru_cache(maxsize=1)
def _companions() -> set[str]:
    return {Chem.CanonSmiles(smiles) for smiles in _COMPANIONS.split()}


def _is_companion(fragment: Mol) -> bool:
    """Return whether a fragment is inorganic, a counter-ion or a solvent."""
    if not any(atom.GetAtomicNum() == 6 for atom in fragment.GetAtoms()):
        return True
    if fragment.GetNumHeavyAtoms() > _LARGEST_COMPANION:
        return False
    return Chem.MolToSmiles(_uncharged(fragment), isomericSmiles=False) in _companions()


def _uncharged(molecule: Mol) -> Mol:
    if not any(atom.GetFormalCharge() for atom in molecule.GetAtoms()):
        return molecule
    bonded = {i: molecule.GetAtomWithIdx(i).GetFormalCharge() for i in _metal_and_carbons(molecule)}
    charged = _one_resonance_form(molecule)
    for i in bonded:
        charged.GetAtomWithIdx(i).SetFormalCharge(0)
    neutral = Mol(_CHARGES.uncharge(charged))
    for i, charge in bonded.items():
        neutral.GetAtomWithIdx(i).SetFormalCharge(charge)
    for (oxygen,) in neutral.GetSubstructMatches(_ACID):
        atom = neutral.GetAtomWithIdx(oxygen)
        atom.SetFormalCharge(0)
        atom.SetNoImplicit(True)
        atom.SetNumExplicitHs(1)
    neutral.UpdatePropertyCache(strict=False)
    before, after = ([atom.GetFormalCharge() for atom in form.GetAtoms()] for form in (molecule, neutral))
    return molecule if before == after else neutral


def _one_resonance_form(molecule: Mol) -> Mol:
    """Return a copy with S=O for [S+][O-] and N=[N+]=[N-] for [N-][N+]#N."""
    form = Mol(molecule)

    def move(atom: int, other: int, order: BondType, charge: int) -> None:
        form.GetBondBetweenAtoms(atom, other).SetBondType(order)
        form.GetAtomWithIdx(atom).SetFormalCharge(charge)

    for centre, end in molecule.GetSubstructMatches(_OXIDE):
        charge = form.GetAtomWithIdx(centre).GetFormalCharge()
        if charge:  # an earlier oxygen may have taken it
            move(centre, end, BondType.DOUBLE, charge - 1)
            form.GetAtomWithIdx(end).SetFormalCharge(0)
    for first, middle, last in molecule.GetSubstructMatches(_AZIDE):
        move(first, middle, BondType.DOUBLE, 0)
        move(last, middle, BondType.DOUBLE, -1)
    return form


def _canonical_tautomer(form: Standardized) -> Standardized:
    """Return RDKit's canonical tautomer, or the same form if there are too many tautomers."""
    seen = {Chem.MolToSmiles(form.mol, isomericSmiles=False): form.mol}
    best = start = next(iter(seen))
    for _ in range(_ROUNDS):
        forms = _TAUTOMERS.Enumerate(seen[best])
        if forms.status != rdMolStandardize.TautomerEnumeratorStatus.Completed:
            return replace(form, changes=(*form.changes, "too many tautomers"))
        chosen = _TAUTOMERS.PickCanonical(forms)
        text = Chem.MolToSmiles(chosen, isomericSmiles=False)
        if text in seen:
            best = text if text == best else min(text, best)  # a form that leads back to an earlier one
            break
        seen[text] = chosen
        best = text
    if best == start:
        return form
    return replace(form, mol=seen[best], changes=(*form.changes, "tautomer"))


def standard_columns(forms: Sequence[Standardized], mode: str) -> dict[str, NDArray[Any]]:
    """Return the columns of `isonn.GraphSet.table` that describe standard forms; none for the mode "none".

    ``standardize`` is the mode, ``changes`` what changed, such as "fragment, charge", and ``input_atoms`` the atoms
    that were kept, such as "0-6/8" for the first seven of eight; both are "" for unchanged molecules.
    """
    if mode == "none":
        return {}
    return {
        "standardize": np.full(len(forms), mode),
        "changes": np.array([", ".join(form.changes) for form in forms], dtype=np.str_),
        "input_atoms": np.array([_ranges(form) for form in forms], dtype=np.str_),
    }


def _ranges(form: Standardized) -> str:
    if len(form.atoms) == form.n_input:
        return ""
    ends = np.flatnonzero(np.diff(form.atoms) > 1)
    starts = np.concatenate([[0], ends + 1])
    stops = np.concatenate([ends, [len(form.atoms) - 1]])
    pairs = zip(form.atoms[starts].tolist(), form.atoms[stops].tolist(), strict=True)
    return f"{' '.join(f'{first}-{last}' for first, last in pairs)}/{form.n_input}"


def changed_rows(
    graphs: GraphSet, rows: Sequence[int] | None = None, ids: Sequence[str] | None = None
) -> list[list[Any]]:
    """Return row, id, SMILES, standard SMILES and kinds of changes of each molecule that standardisation changed.

    Args:
        graphs: molecules.
        rows: the row of each; None takes ``table["row"]`` or counts.
        ids: the name of each; None takes the names of the graphs.
    """
    table = graphs.table
    changes = table.get("changes", np.zeros(0, dtype=np.str_))
    rows = table.get("row", np.arange(len(graphs))).tolist() if rows is None else rows
    if ids is None:
        ids = [""] * len(graphs) if graphs.ids is None else graphs.ids.tolist()
    changed = []
    for i in np.flatnonzero(changes != "").tolist():
        written = str(table["smiles"][i])
        form = standardize(written, str(table["standardize"][i])).smiles
        changed.append([rows[i], ids[i], written, form, str(changes[i])])
    return changed


def changes_told(counts: Mapping[str, int], total: int) -> str:
    """Say how many molecules standardisation changed, and how; "" if none.

    Args:
        counts: those of `isonn.graphs.convert.count_changes`.
        total: number of all molecules.

    Example:
        >>> changes_told({"molecules": 2, "fragment": 2, "charge": 1}, 3)
        '2 of 3 molecules are standardised: 2 without counter-ions or solvents, 1 neutralised'
    """
    if not counts:
        return ""
    kinds = ", ".join(f"{counts[kind]} {words}" for kind, words in CHANGES.items() if counts.get(kind))
    are = "is" if counts["molecules"] == 1 else "are"
    return f"{counts['molecules']} of {total} molecules {are} standardised: {kinds}"
