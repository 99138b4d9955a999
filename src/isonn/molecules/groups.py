"""Names of functional groups and rings, each with a SMARTS pattern, most specific first.

A group's pattern covers the atoms it claims; what has to be beside them stands in ``$(...)``. Atoms in rings stay with
their ring: in N-acetylpiperidine the amide claims C and O, the piperidine keeps its N. Only small reactive rings such
as epoxides claim ring atoms (``whole``). A ring's skeleton is written as SMILES without hydrogens and charges, with
``=O`` where carbonyls belong to the name (coumarin, succinimide).
"""

# ruff: noqa: RUF001  (Greek letters belong to the names)

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from rdkit import Chem
from rdkit.Chem import Mol

from isonn.errors import InputError

Signature = tuple[int, int, tuple[int, ...]]

#: Functional groups, most specific first: lines of a name, two or more spaces and a SMARTS pattern.
_GROUPS = """
N-nitrosourea                             [NX3]C(=[OX1])[NX3][NX2]=[OX1]
N-nitrosocarbamate                        [OX2]C(=[OX1])[NX3][NX2]=[OX1]
N-nitrosamide                             [CX3;$(C-[#6]),H1](=[OX1])[NX3][NX2]=[OX1]
N-nitrosoguanidine                        [OX1]=[NX2][NX3][CX3](=[NX2])[NX3]
N-nitrosohydroxylamine                    [OX2][NX3][NX2]=[OX1]
N-nitroso                                 [NX3,n][NX2]=[OX1]
S-nitroso                                 [SX2][NX2]=[OX1]
nitrite ester                             [OX2][NX2]=[OX1]
nitroso on an aromatic ring               [NX2;$(N-a)]=[OX1]
nitroso on a carbon                       [NX2;$(N-C)]=[OX1]
nitrate ester                             [OX2;$(O-[#6])][NX3+](=[OX1])[OX1-]
nitrate ion                               [OX1-,OX2H][NX3+](=[OX1])[OX1-]
nitronate                                 C=[NX3+]([OX1-])[OX1-,OX2H]
nitroalkene                               C=C[NX3+](=[OX1])[OX1-]
nitro on an aromatic ring                 [NX3+;$(N-a)](=[OX1])[OX1-]
nitro on an aliphatic carbon              [NX3+;$(N-C)](=[OX1])[OX1-]
nitramine                                 [NX3;$(N-[#6])][NX3+](=[OX1])[OX1-]
nitro on nitrogen                         [NX3+;$(N-[#7])](=[OX1])[OX1-]
azide                                     [NX2;$(N-[#6,#14,#15,#16])]=[NX2+]=[NX1-]
diazo                                     C=[NX2+]=[NX1-]
diazonium                                 [NX2+;$(N-[#6])]#[NX1]
azoxy                                     [NX2]=[NX3+][OX1-]
triazene                                  [NX3][NX2]=[NX2]
azo between aromatic rings                [NX2;$(N-a)]=[NX2;$(N-a)]
azo                                       [NX2;$(N-[#6])]=[NX2;$(N-[#6])]
aminoguanidine                            [NX3][CX3](=[NX2])[NX3][NX3]
semicarbazone                             [NX3]C(=[OX1])[NX3][NX2]=C
thiosemicarbazone                         [NX3]C(=[SX1])[NX3][NX2]=C
semicarbazide                             [NX3]C(=[OX1])[NX3][NX3]
thiosemicarbazide                         [NX3]C(=[SX1])[NX3][NX3]
acylhydrazone                             [CX3](=[OX1])[NX3][NX2]=C
hydrazide                                 [CX3](=[OX1])[NX3][NX3;!$(N-C=[O,S])]
diacylhydrazine                           [CX3](=[OX1])[NX3][NX3][CX3]=[OX1]
sulfonyl hydrazide                        [SX4](=[OX1])(=[OX1])[NX3][NX3]
guanylhydrazone                           C=[NX2][NX3][CX3](=[NX2])[NX3]
guanylhydrazone                           C=[NX2][NX2]=[CX3]([NX3])[NX3]
azine                                     C=[NX2][NX2]=C
hydrazone                                 C=[NX2][#7X3]
hydrazine on an aromatic ring             [NX3;$(N-a);!$(N-*=[O,N,S])][NX3;!$(N-*=[O,N,S])]
hydrazine                                 [NX3;!$(N-*=[O,N,S])][NX3;!$(N-*=[O,N,S])]
hydrazinium                               [NX3][NX4+]
N-hydroxyurea                             [NX3]C(=[OX1])[NX3][OX2H]
N-alkoxyurea                              [NX3]C(=[OX1])[NX3][OX2H0]
hydroxamic acid                           [CX3;$(C-[#6]),H1](=[OX1])[NX3][OX2H1,OX1-]
hydroxamic ester                          [CX3;$(C-[#6]),H1](=[OX1])[NX3][OX2H0]
N-sulfooxy amine                          [NX3][OX2][SX4](=[OX1])(=[OX1])[OX2,OX1-]
O-carbamoyl hydroxylamine                 [NX3][OX2][CX3](=[OX1])[NX3]
N-acyloxy amine                           [NX3][OX2][CX3]=[OX1]
N-hydroxy on an aromatic amine            [NX3;$(N-a)][OX2H]
hydroxylamine                             [NX3;!$(N-*=[O,N,S])][OX2H]
N-alkoxy amine                            [NX3;!$(N-*=[O,N,S])][OX2H0;$(O-[#6;!$(C=[O,S,N])])]
N-hydroxy on a ring nitrogen              [OX2H;$(O-[#7;R])]
N-amino on a ring nitrogen                [NX3H2;$(N-[#7;R])]
alkoxy on an aromatic nitrogen            [OX2H0;$(O(-n)-[#6])]
N-hydroxyguanidine                        [NX3][CX3](=[NX2][OX2])[NX3]
amidoxime                                 [NX3][CX3](=[NX2][OX2])
oxime carbamate                           C=[NX2][OX2]C(=[OX1])[NX3]
oxime ester                               C=[NX2][OX2]C=[OX1]
oxime ether                               C=[NX2][OX2H0;$(O-[#6;!$(C=O)])]
oxime                                     C=[NX2][OX2H1,OX1-]
nitrone                                   C=[NX3+][OX1-]
N-oxide of an aromatic ring               [OX1-;$(O-[n+])]
amine N-oxide                             [NX4+][OX1-]
nitrogen mustard                          [Cl,Br,I][CX4][CX4][NX3][CX4][CX4][Cl,Br,I]
sulfur mustard                            [Cl,Br,I][CX4][CX4][SX2;$(S([CX4])[CX4])]
2-haloethylamine                          [Cl,Br,I][CX4;H2][CX4;H2][NX3,NX4+;!$(N-*=[O,N,S])]
biguanide                                 [NX3][CX3](=[NX2])[NX3,NX2][CX3](~[NX3,NX2])~[NX3,NX2]
cyanoguanidine                            [NX3][CX3](=[NX2]C#[NX1])[NX3]
guanidine                                 [NX3][CX3](=[NX2,NX3+])[NX3]
isothiourea                               [NX3][CX3](=[NX2,NX3+])[SX2]
isourea                                   [NX3][CX3](=[NX2,NX3+])[OX2]
amidine                                   [CX3;!$(C(~N)(~N)~[N,O,S])](=[NX2,NX3+])[NX3]
imidoyl halide                            [CX3](=[NX2])[F,Cl,Br,I]
imidate                                   [CX3](=[NX2])[OX2]
thioimidate                               [CX3](=[NX2])[SX2]
isocyanate                                [NX2;$(N-[#6])]=[CX2]=[OX1]
isothiocyanate                            [NX2;$(N-[#6])]=[CX2]=[SX1]
carbodiimide                              [NX2]=[CX2]=[NX2]
ketene                                    C=[CX2]=[OX1]
thiocyanate                               [SX2][CX2]#[NX1]
cyanamide                                 [NX3,n][CX2]#[NX1]
cyanohydrin                               [OX2H][CX4][CX2]#[NX1]
α-aminonitrile                            [NX3;!$(N-C=[O,S])][CX4][CX2]#[NX1]
ylidene malononitrile                     [CX3]=[CX3]([CX2]#[NX1])[CX2]#[NX1]
malononitrile                             [NX1]#[CX2][CX4,CX3][CX2]#[NX1]
α,β-unsaturated nitrile                   [CX3]=[CX3][CX2]#[NX1]
nitrile on an aromatic ring               [CX2;$(C-a)]#[NX1]
nitrile                                   [CX2;$(C-C)]#[NX1]
isonitrile                                [NX2+]#[CX1-]
cyanide                                   [CX2H1,CX1-]#[NX1]
chloroformate                             [OX2,SX2]C(=[OX1])[Cl,Br,F]
carbamoyl halide                          [NX3]C(=[OX1])[Cl,Br,F]
acyl chloride                             [CX3;$(C-[#6]),H1](=[OX1])[Cl]
acyl fluoride, bromide or iodide          [CX3;$(C-[#6]),H1](=[OX1])[F,Br,I]
sulfonyl halide                           [SX4;$(S-[#6])](=[OX1])(=[OX1])[F,Cl,Br,I]
diacyl peroxide                           [CX3](=[OX1])[OX2][OX2][CX3]=[OX1]
peroxy acid or ester                      [CX3](=[OX1])[OX2][OX2]
anhydride                                 [CX3;!R](=[OX1])[OX2;!R][CX3](=[OX1])
cyclic anhydride                          [OX1]=[#6]@[OX2]@[#6]=[OX1]
sulfonylurea                              [SX4](=[OX1])(=[OX1])[NX3][CX3](=[OX1])[NX3]
N-acylsulfonamide                         [SX4](=[OX1])(=[OX1])[NX3;!$(N(S)(C)C)][CX3]=[OX1]
acylurea                                  [CX3;$(C-[#6])](=[OX1])[NX3][CX3](=[OX1])[NX3]
N-acylcarbamate                           [CX3;$(C-[#6])](=[OX1])[NX3][CX3](=[OX1])[OX2]
cyclic carbamate                          [OX1]=C(@[OX2])@[NX3]
cyclic urea                               [OX1]=C(@[NX3])@[NX3]
cyclic thiourea                           [SX1]=C(@[NX3])@[NX3]
cyclic imide                              [OX1]=C@[NX3]@C=[OX1]
cyclic dithiocarbamate                    [SX1]=C(@[NX3])@[SX2]
lactone                                   [OX1]=C@[OX2]
thiolactone                               [OX1]=C@[SX2]
lactam                                    [OX1]=C@[NX3,NX2]
thiolactam                                [SX1]=C@[NX3,NX2]
carbonate                                 [OX2]C(=[OX1])[OX2,OX1-]
thiocarbonate                             [OX2,SX2]C(=[OX1])[SX2]
carbamate                                 [NX3,n]C(=[OX1])[OX2H0]
thiuram disulfide                         [NX3]C(=[SX1])[SX2][SX2]C(=[SX1])[NX3]
thiocarbamate                             [NX3,n]C(=[OX1])[SX2]
thionocarbamate                           [NX3]C(=[SX1])[OX2]
dithiocarbamate                           [NX3]C(=[SX1])[SX2,SX1-]
xanthate                                  [OX2]C(=[SX1])[SX2,SX1-]
acylthiourea                              [CX3;$(C-[#6])](=[OX1])[NX3][CX3](=[SX1])[NX3]
urea                                      [NX3,n;!$(N-N)]C(=[OX1])[NX3,n;!$(N-N)]
thiourea                                  [NX3,n]C(=[SX1])[NX3,n]
imide                                     [CX3](=[OX1])[NX3][CX3]=[OX1]
quinone                                   [OX1]=[#6]1[#6]=,:[#6][#6](=[OX1])[#6]=,:[#6]1
quinone                                   [OX1]=[#6]1[#6](=[OX1])[#6]=,:[#6][#6]=,:[#6]1
enal                                      [CX3]=[CX3][CX3;H1]=[OX1]
ynone                                     [CX2]#[CX2][CX3;!$(C[O,N,S])]=[OX1]
α-halo ketone or aldehyde                 [Cl,Br,I][CX4][CX3;!$(C[O,N,S,F,Cl,Br,I])]=[OX1]
α-halo acid derivative                    [Cl,Br,I][CX4;!$(C([Cl,Br,I])[Cl,Br,I])][CX3](=[OX1])[OX2,NX3,OX1-]
glyoxal or α-diketone                     [CX3;!$(C[O,N,S])](=[OX1])[CX3;!$(C[O,N,S])]=[OX1]
α-keto acid                               [CX3;!$(C[O,N,S])](=[OX1])[CX3](=[OX1])[OX2H1,OX1-]
β-diketone                                [CX3;!$(C[O,N,S])](=[OX1])[CX4;H1,H2][CX3;!$(C[O,N,S])]=[OX1]
α,β-unsaturated ester                     [CX3]=[CX3][CX3](=[OX1])[OX2H0]
α,β-unsaturated acid                      [CX3]=[CX3][CX3](=[OX1])[OX2H1,OX1-]
α,β-unsaturated amide                     [CX3]=[CX3][CX3](=[OX1])[NX3]
enone                                     [CX3]=[CX3][CX3;$(C([#6])[#6])]=[OX1]
vinyl sulfone                             [CX3]=[CX3][SX4;$(S(-[#6])-[#6])](=[OX1])=[OX1]
thioester                                 [CX3;$(C-[#6]),H1](=[OX1])[SX2H0]
thioamide                                 [CX3;$(C-[#6]),H1](=[SX1])[NX3]
carboxylic acid                           [CX3;$(C-[#6]),H1](=[OX1])[OX2H1,OX1-]
ester                                     [CX3;$(C-[#6]),H1](=[OX1])[OX2H0;$(O-[#6])]
N-acyl azole                              [CX3;$(C-n)]=[OX1]
primary amide                             [CX3;$(C-[#6]),H1](=[OX1])[NX3H2]
secondary amide                           [CX3;$(C-[#6]),H1](=[OX1])[NX3H1;!$(N-[N,O])]
tertiary amide                            [CX3;$(C-[#6]),H1](=[OX1])[NX3H0;!$(N-[N,O])]
aromatic aldehyde                         [CX3H1;$(C-a)]=[OX1]
aldehyde                                  [CX3;H2,$([CX3H1]-[#6])]=[OX1]
aryl ketone                               [CX3;$(C(-c)-[#6])]=[OX1]
ketone                                    [CX3;$(C(-C)-C)]=[OX1]
oxo group on an aromatic ring             [OX1;$(O=[c,s,p])]
thioxo group on an aromatic ring          [SX1;$(S=c)]
imino group on an aromatic ring           [NX2;$(N=c)]
thioketone                                [CX3;$(C(-[#6])-[#6])]=[SX1]
sulfate diester                           [OX2;$(O-[#6])][SX4](=[OX1])(=[OX1])[OX2;$(O-[#6])]
sulfate ester                             [OX2;$(O-[#6])][SX4](=[OX1])(=[OX1])[OX2,OX1-]
sulfate ion                               [OX2H,OX1-][SX4](=[OX1])(=[OX1])[OX2H,OX1-]
sulfonate ester                           [SX4;$(S-[#6])](=[OX1])(=[OX1])[OX2H0]
sulfonic acid                             [SX4;$(S-[#6])](=[OX1])(=[OX1])[OX2H1,OX1-]
sulfamate                                 [NX3][SX4](=[OX1])(=[OX1])[OX2,OX1-]
sulfamide                                 [NX3][SX4](=[OX1])(=[OX1])[NX3]
disulfonimide                             [SX4](=[OX1])(=[OX1])[NX3,NX2-][SX4](=[OX1])=[OX1]
primary sulfonamide                       [SX4;$(S-[#6])](=[OX1])(=[OX1])[NX3H2]
sulfonamide                               [SX4;$(S-[#6])](=[OX1])(=[OX1])[#7;!H2]
thiosulfonate                             [SX4;$(S-[#6])](=[OX1])(=[OX1])[SX2]
thiosulfate                               [SX4](=[OX1])(=[OX1])([OX2H1,OX1-])[SX2,SX1-]
sulfone                                   [SX4;$(S(-[#6])-[#6])](=[OX1])=[OX1]
sulfite ester                             [OX2][SX3](=[OX1])[OX2]
sulfinic acid                             [SX3;$(S-[#6])](=[OX1])[OX2,OX1-]
sulfoxide                                 [SX3;$(S(-[#6])-[#6])](=[OX1])
sulfoxide (charged form)                  [SX3+;$(S(-[#6])-[#6])][OX1-]
sulfinamide                               [SX3;$(S-[#6])](=[OX1])[NX3]
sulfoximine                               [SX4;$(S(-[#6])-[#6])](=[OX1])=[NX2]
sulfonium                                 [SX3+;$(S(-[#6])(-[#6])-[#6])]
polysulfide                               [SX2][SX2][SX2]
disulfide                                 [SX2;$(S-[#6])][SX2;$(S-[#6])]
sulfenamide                               [SX2;$(S-[#6])][NX3]
thiol on an aromatic ring                 [S;$([SX2H1]-a),$([SX1-]-a)]
thiol                                     [S;$([SX2H1]-[C;!$(C=[O,S])]),$([SX1-]-[C;!$(C=[O,S])])]
thioether on an aromatic ring             [SX2H0;$(S(-a)-[#6])]
thioether                                 [SX2H0;$(S(-C)-C);!$(S-[#6]=[O,S])]
diphosphate                               [PX4](=[OX1])([OX2,OX1-])([OX2,OX1-])[OX2][PX4](=[OX1])([OX2,OX1-])[OX2,OX1-]
phosphoryl halide                         [PX4](=[OX1,SX1])[F,Cl,Br]
phosphorodithioate                        [PX4](=[SX1])([OX2])([OX2])[SX2,SX1-]
phosphorothiolate                         [PX4](=[OX1])([OX2])([OX2])[SX2,SX1-]
phosphorothioate                          [PX4](=[SX1])([OX2,OX1-])([OX2,OX1-])[OX2,OX1-]
phosphate triester                        [PX4](=[OX1])([OX2H0])([OX2H0])[OX2H0]
phosphate                                 [PX4](=[OX1])([OX2,OX1-])([OX2,OX1-])[OX2,OX1-]
phosphoramide                             [PX4](=[OX1,SX1])([NX3])([NX3])[NX3]
phosphoramidothioate                      [PX4](=[OX1,SX1])([NX3])([OX2])[SX2]
phosphorodiamidate                        [PX4](=[OX1,SX1])([NX3])([NX3])[OX2,OX1-]
phosphoramidate                           [PX4](=[OX1,SX1])([NX3])([OX2,OX1-])[OX2,OX1-]
phosphonothioate                          [PX4;$(P-[#6])](=[SX1])([OX2,SX2])[OX2,SX2]
phosphonate                               [PX4;$(P-[#6])](=[OX1])([OX2,OX1-])[OX2,OX1-]
phosphinate                               [PX4;$(P(-[#6])-[#6])](=[OX1])[OX2,OX1-]
phosphine oxide                           [PX4;$(P(-[#6])(-[#6])-[#6])]=[OX1]
phosphonium                               [PX4+]
phosphite                                 [PX3]([OX2])([OX2])[OX2]
phosphine                                 [PX3;$(P-[#6])]
organophosphorus ester or amide           [PX4](=[OX1,SX1])([#7,#8,#16])[#7,#8,#16]
phosphorus ester oxygen                   [OX2;$(O(-[#6])-[#15])]
hydroperoxide                             [OX2H][OX2]
peroxide                                  [OX2;$(O-[#6])][OX2;$(O-[#6])]
boronic acid                              [BX3;$(B-[#6])]([OX2H])[OX2H]
boronic ester                             [BX3;$(B-[#6])]([OX2])[OX2]
borate                                    [B;!$(B-[#6])]([O])([O])[O]
organoboron                               [B;$(B-[#6])]
siloxane                                  [Si][OX2][Si]
silyl ether                               [SiX4][OX2;$(O-[#6])]
silanol                                   [SiX4][OX2H]
silane                                    [SiX4]
organotin                                 [Sn;$([Sn]-[#6])]
organomercury                             [Hg;$([Hg]-[#6])]
arsonic acid                              [As](=[OX1])([OX2H,OX1-])[OX2H,OX1-]
organoarsenic                             [As;$([As]-[#6])]
selenide                                  [SeX2;$([Se]-[#6])]
trifluoromethoxy                          [OX2][CX4](F)(F)F
trifluoromethyl                           [CX4](F)(F)F
trichloromethyl                           [CX4](Cl)(Cl)Cl
trihalomethyl                             [CX4]([F,Cl,Br,I])([F,Cl,Br,I])[F,Cl,Br,I]
polyfluoroalkyl                           [CX4](F)(F)[CX4](F)F
dihalovinyl                               [CX3](=[CX3])([F,Cl,Br])[F,Cl,Br]
dihalomethyl                              [CX4;H1]([F,Cl,Br,I])[F,Cl,Br,I]
α-halo ether                              [F,Cl,Br,I][CX4][OX2H0]
geminal dihalide                          [CX4]([F,Cl,Br,I])[F,Cl,Br,I]
allyl chloride                            [Cl][CX4;!$(C(Cl)Cl)][CX3]=[CX3]
allyl bromide or iodide                   [Br,I][CX4][CX3]=[CX3]
benzyl halide                             [Cl,Br,I][CX4;H1,H2;$(C-a)]
fluorine on an aromatic ring              [F;$(F-a)]
chlorine on an aromatic ring              [Cl;$([Cl]-a)]
bromine on an aromatic ring               [Br;$(Br-a)]
iodine on an aromatic ring                [I;$(I-a)]
vinyl fluoride                            [F;$(F-[CX3]=C)]
vinyl chloride                            [Cl;$([Cl]-[CX3]=C)]
vinyl bromide                             [Br;$(Br-[CX3]=C)]
vinyl iodide                              [I;$(I-[CX3]=C)]
alkynyl halide                            [F,Cl,Br,I;$(*-C#C)]
alkyl fluoride                            [F;$(F-[CX4])]
alkyl chloride                            [Cl;$([Cl]-[CX4])]
alkyl bromide                             [Br;$(Br-[CX4])]
alkyl iodide                              [I;$(I-[CX4])]
N-halogen                                 [F,Cl,Br,I][#7]
N-halogen                                 [F,Cl,Br,I;$(*-[#7])]
catechol                                  [OX2H]c:c[OX2H]
phenol                                    [O;$([OX2H]-c1ccccc1),$([OX1-]-c1ccccc1)]
hydroxy on an aromatic heteroring         [O;!$(O-c1ccccc1);$([OX2H]-c),$([OX1-]-c)]
enol                                      [O;$([OX2H]-[CX3]=C),$([OX1-]-[CX3]=C)]
hemiacetal                                [OX2H][CX4][OX2H0;!$(O-[#6]=[O,S])]
hydroxyl beside a ring oxygen             [OX2H;$(O[CX4;R]@[OX2;R])]
hemiaminal                                [OX2H][CX4][NX3,nX3]
alcohol                                   [O;$([OX2H]-[CX4]),$([OX1-]-[CX4])]
orthoester                                [CX4]([OX2])([OX2])[OX2]
glycosidic (acetal) oxygen                [OX2H0;!R;$(O(-[#6])[CX4;R]@[OX2;R])]
acetal                                    [OX2H0;!R;!$(O-[#6]=[O,S])][CX4;!R;!$(C(O)(O)O)][OX2H0;!R;!$(O-[#6]=[O,S])]
methoxy on an aromatic ring               [OX2;$(O-a)][CX4H3]
diaryl ether                              [OX2;$(O(-a)-a)]
aryl ether                                [OX2;$(O(-a)-[#6])]
vinyl ether                               [OX2;$(O(-[CX3]=C)-[#6]);!$(O-[#6]=[O,S,N])]
ether                                     [OX2;$(O(-[CX4])-C);!$(O-C=[O,S,N])]
ammonium ion                              [NH4+]
quaternary ammonium                       [NX4+;H0;$(N-[#6])]
protonated aromatic amine                 [NX4+;!H0;$(N-a)]
protonated amine                          [NX4+;!H0;$(N-[#6])]
iminium                                   [#6]=[NX3+]
primary aromatic amine                    [NX3;H2;$(N-a)]
diarylamine                               [NX3;H1;$(N(-a)-a)]
secondary aromatic amine                  [NX3;H1;$(N(-a)-[CX4])]
tertiary aromatic amine                   [NX3;H0;$(N-a);!$(N-*=[O,N,S]);!$(N-[!#6])]
enamine                                   [NX3;$(N-[CX3]=[CX3]);!$(N-*=[O,N,S])]
primary aliphatic amine                   [NX3;H2;$(N-[CX4])]
secondary aliphatic amine                 [NX3;H1;$(N(-[CX4])-C);!$(N-*=[O,N,S])]
tertiary aliphatic amine                  [NX3;H0;$(N(-[CX4])(-[#6])-[#6]);!$(N-*=[O,N,S]);!$(N-a);!$(N-C#N)]
imine                                     [CX3;!$(C-[N,O,S])]=[NX2;$(N-[#6]),H1]
conjugated diyne                          [CX2]#[CX2][CX2]#[CX2]
alkyne                                    [CX2]#[CX2]
allene                                    [CX3]=[CX2]=[CX3]
conjugated triene                         [CX3]=[CX3][CX3]=[CX3][CX3]=[CX3]
conjugated diene                          [CX3]=[CX3][CX3]=[CX3]
terminal alkene                           [CX3H2]=[CX3]
alkene                                    [CX3]=[CX3]
sulfonyl                                  [SX4](=[OX1])=[OX1]
sulfinyl                                  [SX3]=[OX1]
carbonyl                                  [CX3]=[OX1]
"""

#: Small reactive rings, which claim their ring atoms.
_WHOLE = """
β-lactam      [OX1]=C1[#6][#6]N1
β-lactone     [OX1]=C1[#6][#6]O1
epoxide       C1OC1
aziridine     C1[#7]C1
thiirane      C1SC1
diazirine     C1N=N1
"""

#: Families: general names over the groups, for sets of molecules too small to tell their members apart. They claim no
#: atoms. The last ones name skeletons: aromatic atoms with three aromatic bonds lie where two rings are fused.
_FAMILIES = """
nitro                                     [NX3+](=[OX1])[OX1-]
nitroso                                   [NX2]=[OX1]
N-hydroxy                                 [#7X3;+0][OX2H1]
hydroxylamine derivative                  [NX3;!+][OX2]
hydrazine, hydrazide or hydrazone         [NX3;+0;!$(N-[NX2]=[O,N])]-[$([NX3;+0]),$([NX2]=[#6])]
azo, azoxy or triazene                    [NX2;+0]=[$([NX2;+0]),$([NX3+][OX1-])]
epoxide, aziridine or thiirane            C1[#7,#8,#16]C1
alkyl halide                              [CX4][Cl,Br,I]
vinyl halide                              [CX3;$(C=[CX3])][F,Cl,Br,I]
halogen on an aromatic ring               [F,Cl,Br,I;$(*-a)]
haloethyl amine, sulfide or ether         [Cl,Br,I][CX4][CX4][NX3,SX2,OX2;!$(*-C=[O,S])]
acyl halide                               [CX3](=[OX1])[F,Cl,Br,I]
acyl halide or anhydride                  [CX3](=[OX1])[F,Cl,Br,I,$([OX2](C=[OX1])C=[OX1])]
isocyanate or isothiocyanate              [NX2]=[CX2]=[OX1,SX1]
sulfonate or sulfate ester                [SX4](=[OX1])(=[OX1])[OX2;$(O-[#6])]
amide                                     [CX3](=[OX1])[NX3]
thiocarbonyl                              [#6X3]=[SX1]
α,β-unsaturated carbonyl                  [CX3]=[CX3][CX3]=[OX1]
Michael acceptor                          [CX3]=[CX3][$([CX3]=[OX1]),$([CX2]#[NX1]),$([SX4](=O)=O),$([NX3+](=O)[O-])]
aromatic amine                            [NX3;$(N-a);!$(N-*=[O,N,S]);!$(N-[!#6;!#1])]
basic amine                               [N;$([NX3]),$([NX4+;!H0]);$(N-[CX4]);!$(N-*=,#*);!$(N-a);!$(N-[!#6;!#1])]
hydroxy on an aromatic ring               [OX2H1,OX1-;$(O-a)]
organophosphorus                          [PX4]=[OX1,SX1]
alkyl chain of 6 or more carbons          [CX4;!R][CX4H2;!R][CX4H2;!R][CX4H2;!R][CX4H2;!R][CX4;!R]
biaryl                                    a!@-a
two fused aromatic rings                  [a;$(a(:a)(:a):a)]:[a;$(a(:a)(:a):a)]
three fused aromatic rings                [a;$(a(:a)(:a):a)]:[a;$(a(:a)(:a):a)]:[a;$(a(:a)(:a):a)]:[a;$(a(:a)(:a):a)]
three fused aromatic rings                [a;$(a(:a)(:a):a)]:[a;$(a(:a)(:a):a)]:a:[a;$(a(:a)(:a):a)]:[a;$(a(:a)(:a):a)]
"""

#: Ring systems, as SMILES without hydrogens and charges, most specific first; the whole system has to match.
_RINGS = """
benzene                     c1ccccc1
pyridine                    c1ccncc1
pyrimidine                  c1cncnc1
pyrazine                    c1cnccn1
pyridazine                  c1ccnnc1
1,3,5-triazine              c1ncncn1
1,2,4-triazine              c1cnncn1
pyrrole                     c1ccnc1
furan                       c1ccoc1
thiophene                   c1ccsc1
imidazole                   c1cncn1
pyrazole                    c1cnnc1
oxazole                     c1cocn1
isoxazole                   c1cnoc1
thiazole                    c1cscn1
isothiazole                 c1cnsc1
1,2,3-triazole              c1cnnn1
1,2,4-triazole              c1ncnn1
tetrazole                   c1nnnn1
1,3,4-oxadiazole            c1nnco1
1,2,4-oxadiazole            c1ncon1
1,2,5-oxadiazole            c1cnon1
1,2,3-oxadiazole            c1conn1
1,3,4-thiadiazole           c1nncs1
1,2,4-thiadiazole           c1ncsn1
1,2,5-thiadiazole           c1cnsn1
1,2,3-thiadiazole           c1csnn1
indole                      c1ccc2nccc2c1
indolizine                  c1ccn2cccc2c1
indazole                    c1ccc2nncc2c1
benzimidazole               c1ccc2ncnc2c1
benzofuran                  c1ccc2occc2c1
benzothiophene              c1ccc2sccc2c1
benzothiazole               c1ccc2ncsc2c1
benzoxazole                 c1ccc2ncoc2c1
benzisoxazole               c1ccc2oncc2c1
2,1-benzisothiazole         c1ccc2nscc2c1
benzisothiazole             c1ccc2sncc2c1
benzotriazole               c1ccc2nnnc2c1
benzofurazan                c1ccc2nonc2c1
benzothiadiazole            c1ccc2nsnc2c1
azaindole                   c1cnc2nccc2c1
pyrrolopyrimidine           c1ncc2ccnc2n1
pyrazolopyrimidine          c1ncc2cnnc2n1
imidazopyridine             c1ccn2ccnc2c1
imidazo[4,5-b]pyridine      c1cnc2ncnc2c1
imidazo[4,5-c]pyridine      c1cc2ncnc2cn1
thienopyrimidine            c1ncc2ccsc2n1
imidazothiazole             c1cn2ccsc2n1
quinoline                   c1ccc2ncccc2c1
isoquinoline                c1ccc2cnccc2c1
quinazoline                 c1ccc2ncncc2c1
quinoxaline                 c1ccc2nccnc2c1
cinnoline                   c1ccc2nnccc2c1
phthalazine                 c1ccc2cnncc2c1
naphthyridine               c1cnc2ncccc2c1
pteridine                   c1cnc2ncncc2n1
purine                      c1ncc2ncnc2n1
acridine                    c1ccc2nc3ccccc3cc2c1
phenanthridine              c1ccc2c(c1)cnc1ccccc12
phenazine                   c1ccc2nc3ccccc3nc2c1
1,10-phenanthroline         c1cnc2c(c1)ccc1cccnc12
carbazole                   c1ccc2c(c1)nc1ccccc12
β-carboline                 c1ccc2c(c1)nc1cnccc12
α-carboline                 c1ccc2c(c1)nc1ncccc12
γ-carboline                 c1ccc2c(c1)nc1ccncc12
imidazoquinoxaline          c1cnc2c(n1)ccc1ncnc12
dibenzofuran                c1ccc2c(c1)oc1ccccc12
dibenzothiophene            c1ccc2c(c1)sc1ccccc12
dibenzodioxin               c1ccc2c(c1)Oc1ccccc1O2
naphthalene                 c1ccc2ccccc2c1
azulene                     c1ccc2cccc-2cc1
anthracene                  c1ccc2cc3ccccc3cc2c1
phenanthrene                c1ccc2c(c1)ccc1ccccc12
acenaphthylene              C1=Cc2cccc3cccc1c23
acenaphthene                C1Cc2cccc3cccc1c23
fluorene                    c1ccc2c(c1)Cc1ccccc1-2
fluorenone                  O=C1c2ccccc2-c2ccccc21
biphenylene                 c1ccc2c(c1)-c1ccccc1-2
pyrene                      c1cc2ccc3cccc4ccc(c1)c2c34
fluoranthene                c1ccc2c(c1)-c1cccc3cccc-2c13
chrysene                    c1ccc2c(c1)ccc1c3ccccc3ccc21
benz[a]anthracene           c1ccc2cc3c(ccc4ccccc43)cc2c1
benzo[c]phenanthrene        c1ccc2c(c1)ccc1ccc3ccccc3c12
triphenylene                c1ccc2c(c1)c1ccccc1c1ccccc21
tetracene                   c1ccc2cc3cc4ccccc4cc3cc2c1
benzo[a]pyrene              c1ccc2c(c1)cc1ccc3cccc4ccc2c1c34
benzo[e]pyrene              c1ccc2c(c1)c1cccc3ccc4cccc2c4c31
perylene                    c1cc2cccc3c4cccc5cccc(c(c1)c23)c45
indane                      c1ccc2c(c1)CCC2
indene                      C1=Cc2ccccc2C1
tetralin                    c1ccc2c(c1)CCCC2
indoline                    c1ccc2c(c1)CCN2
isoindoline                 c1ccc2c(c1)CNC2
tetrahydroquinoline         c1ccc2c(c1)CCCN2
tetrahydroisoquinoline      c1ccc2c(c1)CCNC2
dihydrobenzofuran           c1ccc2c(c1)CCO2
phthalan                    c1ccc2c(c1)COC2
chromane                    c1ccc2c(c1)CCCO2
chromene                    C1=Cc2ccccc2OC1
benzodioxole                c1ccc2c(c1)OCO2
benzodioxane                c1ccc2c(c1)OCCO2
benzomorpholine             c1ccc2c(c1)NCCO2
benzazepine                 c1ccc2c(c1)CCNCC2
2,3-benzodiazepine          C1=NN=Cc2ccccc2C1
1,4-benzodiazepine          C1=Nc2ccccc2C=NC1
1,4-benzodiazepine          C1CN=Cc2ccccc2N1
1,4-benzodiazepine          C1CNCc2ccccc2N1
1,5-benzodiazepine          C1CNc2ccccc2NC1
1,5-benzodiazepine          C1C=Nc2ccccc2NC1
triazolobenzodiazepine      c1ccc2c(c1)C=NCc1nncn1-2
imidazobenzodiazepine       c1ccc2c(c1)C=NCc1cncn1-2
imidazobenzodiazepine       c1ccc2c(c1)CNCc1cncn1-2
dibenzazepine               c1ccc2c(c1)CCc1ccccc1N2
dibenzazepine               C1=Cc2ccccc2Nc2ccccc21
dibenzocycloheptene         C1=Cc2ccccc2Cc2ccccc21
dibenzosuberane             c1ccc2c(c1)CCc1ccccc1C2
dibenzodiazepine            c1ccc2c(c1)C=Nc1ccccc1N2
dibenzoxazepine             c1ccc2c(c1)C=Nc1ccccc1O2
dibenzothiazepine           c1ccc2c(c1)C=Nc1ccccc1S2
xanthene                    c1ccc2c(c1)Cc1ccccc1O2
thioxanthene                c1ccc2c(c1)Cc1ccccc1S2
dihydroanthracene           c1ccc2c(c1)Cc1ccccc1C2
dihydrophenanthrene         c1ccc2c(c1)CCc1ccccc1-2
dihydroacridine             c1ccc2c(c1)Cc1ccccc1N2
phenothiazine               c1ccc2c(c1)Nc1ccccc1S2
phenoxazine                 c1ccc2c(c1)Nc1ccccc1O2
tetrahydrocarbazole         c1ccc2c(c1)nc1c2CCCC1
tetrahydro-β-carboline      c1ccc2c(c1)nc1c2CCNC1
tetrahydrothienopyridine    c1cc2c(s1)CCNC2
dihydropyrrolizine          C1=CCN2CCCC12
pyrrolizidine               C1CC2CCCN2C1
quinolizidine               C1CCN2CCCCC2C1
tropane                     C1CC2CCC(C1)N2
quinuclidine                C1CN2CCC1CC2
granatane                   C1CC2CCCC(C1)N2
piperidine                  C1CCNCC1
piperazine                  C1CNCCN1
morpholine                  C1COCCN1
thiomorpholine              C1CSCCN1
tetrahydropyridine          C1=CCNCC1
tetrahydropyridine          C1=CNCCC1
dihydropyridine             C1=CNC=CC1
dihydropyridine             C1=CCNC=C1
pyrrolidine                 C1CCNC1
pyrroline                   C1=CCNC1
pyrroline                   C1=NCCC1
pyrroline                   C1=CNCC1
azetidine                   C1CNC1
azepane                     C1CCCNCC1
azocane                     C1CCCNCCC1
diazepane                   C1CNCCNC1
imidazolidine               C1CNCN1
imidazoline                 C1=NCCN1
pyrazolidine                C1CNNC1
pyrazoline                  C1=NNCC1
pyrazoline                  C1=CCNN1
oxazolidine                 C1COCN1
oxazoline                   C1=NCCO1
isoxazolidine               C1CNOC1
isoxazoline                 C1=NOCC1
thiazolidine                C1CSCN1
thiazoline                  C1=NCCS1
thiazoline                  C1=CSCN1
hexahydropyrimidine         C1CNCNC1
tetrahydropyrimidine        C1=NCCCN1
1,3,5-triazinane            C1NCNCN1
hexamethylenetetramine      C1N2CN3CN1CN(C2)C3
thiazine                    C1CNCSC1
oxetane                     C1COC1
furanose (sugar ring)       [C;$(C-!@[#8,#7,#16])]1C[C;$(C-!@[#8,#7])][C;$(C-!@C-[#8,#7])]O1
tetrahydrofuran             C1CCOC1
dihydrofuran                C1=CCCO1
dihydrofuran                C1=CCOC1
pyranose (sugar ring)       [C;$(C-!@[#8,#7,#16])]1C[C;$(C-!@[#8,#7])][C;$(C-!@[#8,#7])]CO1
tetrahydropyran             C1CCOCC1
dihydropyran                C1=CCCCO1
dihydropyran                C1=CCOCC1
pyran                       C1=CCC=CO1
pyran                       C1=CCOC=C1
1,3-dioxolane               C1COCO1
1,3-dioxane                 C1COCOC1
1,4-dioxane                 C1COCCO1
1,4-dioxin                  C1=COCCO1
1,3,5-trioxane              C1OCOCO1
tetrahydrothiophene         C1CCSC1
dihydrothiophene            C1=CCSC1
thiane                      C1CCSCC1
1,3-dithiolane              C1CSCS1
1,2-dithiolane              C1CSSC1
1,3-dithiane                C1CSCSC1
1,4-dithiane                C1CSCCS1
1,3-oxathiolane             C1CSCO1
cyclopropane                C1CC1
cyclopropene                C1=CC1
cyclobutane                 C1CCC1
cyclobutene                 C1=CCC1
cyclopentane                C1CCCC1
cyclopentene                C1=CCCC1
cyclopentadiene             C1=CCC=C1
cyclohexane                 C1CCCCC1
cyclohexene                 C1=CCCCC1
cyclohexadiene              C1=CCC=CC1
cyclohexadiene              C1=CCCC=C1
cycloheptane                C1CCCCCC1
cycloheptene                C1=CCCCCC1
cycloheptatriene            C1=CC=CCC=C1
cyclooctane                 C1CCCCCCC1
cyclododecane               C1CCCCCCCCCCC1
decalin                     C1CCC2CCCCC2C1
hydrindane                  C1CCC2CCCC2C1
norbornane                  C1CC2CCC1C2
norbornene                  C1=CC2CCC1C2
pinane                      C1CC2CC(C1)C2
pinene                      C1=CC2CC(C1)C2
bicyclo[2.2.2]octane        C1CC2CCC1CC2
adamantane                  C1C2CC3CC1CC(C2)C3
7-oxanorbornane             C1CC2CCC1O2
steroid skeleton            [#6]1~[#6]~[#6]~[#6]2~[#6](~[#6]~1)~[#6]~[#6]~C1~[#6]~2~C~C~C2~C~C~C~C~1~2
morphinan                   [#6]1~[#6]~[#6]~[#6]2~[#6](~[#6]~1)~[#6]~[#6]1~[#6]3~[#6]~[#6]~[#6]~[#6]~[#6]~2~3~[#6]~[#6]~[#7]~1
morphine skeleton           [#6]1~[#6]~[#6]2~[#6]~[#6]3~[#6]4~[#6]~[#6]~[#6]~[#6]5~[#6]~4(~[#6]~[#6]~[#7]~3)~[#6]~2~[#6](~[#6]~1)~[#8]~5
cyclodiene pesticide cage   [#6]1~[#6]~[#6]2~[#6]~[#6]1~[#6]1~[#6]~2~[#6]2~[#6]~[#6]~[#6]~1~[#6]~2
aporphine                   c1ccc2c(c1)CC1NCCc3cccc-2c31
β-lactam                    O=C1CCN1
β-lactone                   O=C1CCO1
penam (penicillin core)     O=C1CC2SCCN12
penam sulfone               O=C1CC2S(=O)(=O)CCN12
cephem (cephalosporin core) O=C1CC2SCC=CN12
carbapenem                  O=C1CC2CC=CN12
1,4-benzoquinone            O=C1C=CC(=O)C=C1
1,2-benzoquinone            O=C1C=CC=CC1=O
1,4-naphthoquinone          O=C1C=CC(=O)c2ccccc21
1,2-naphthoquinone          O=C1C=Cc2ccccc2C1=O
anthraquinone               O=C1c2ccccc2C(=O)c2ccccc21
phenanthrenequinone         O=C1C(=O)c2ccccc2-c2ccccc21
tetracenequinone            O=C1c2ccccc2C(=O)c2cc3c(cc21)CCCC3
quinone methide             C=C1C=CC(=O)C=C1
quinone imine               N=C1C=CC(=O)C=C1
quinone imine               N=C1C=CC(=N)C=C1
anthrone                    O=C1c2ccccc2Cc2ccccc21
benzanthrone                O=C1c2ccccc2-c2cccc3cccc1c23
xanthone                    O=c1c2ccccc2oc2ccccc12
thioxanthone                O=c1c2ccccc2sc2ccccc12
acridone                    O=c1c2ccccc2nc2ccccc12
coumarin                    O=c1ccc2ccccc2o1
furocoumarin (psoralen)     O=c1ccc2cc3ccoc3cc2o1
furocoumarin (angelicin)    O=c1ccc2ccc3occc3c2o1
dihydrocoumarin             O=C1CCc2ccccc2O1
chromone                    O=c1ccoc2ccccc12
chromanone                  O=C1CCOc2ccccc21
pyranone                    O=c1ccocc1
pyranone                    O=c1cccco1
tropone                     O=c1cccccc1
pyridone                    O=c1ccccn1
pyridone                    O=c1ccncc1
pyrimidinone                O=c1ccncn1
pyrimidinone                O=c1ncccn1
pyridazinone                O=c1cccnn1
uracil                      O=c1ccnc(=O)n1
thiouracil                  O=c1ccnc(=S)n1
triazinone                  O=c1cnncn1
triazinone                  O=c1ncncn1
triazinedione               O=c1cnnc(=O)n1
triazinedione               O=c1ncnc(=O)n1
isocyanuric acid            O=c1nc(=O)nc(=O)n1
dihydrouracil               O=C1CCNC(=O)N1
quinolone                   O=c1ccnc2ccccc12
quinolone                   O=c1ccc2ccccc2n1
isoquinolone                O=c1nccc2ccccc12
quinazolinone               O=c1ncnc2ccccc12
quinazolinedione            O=c1nc(=O)c2ccccc2n1
quinoxalinone               O=c1cnc2ccccc2n1
phthalazinone               O=c1nncc2ccccc12
naphthyridinone             O=c1ccnc2ncccc12
hypoxanthine                O=c1ncnc2ncnc12
xanthine                    O=c1nc(=O)c2ncnc2n1
uric acid                   O=c1nc2nc(=O)nc(=O)c2n1
pterin                      O=c1ncnc2nccnc12
flavin                      O=c1nc(=O)c2nc3ccccc3nc-2n1
pyrazolone                  O=c1ccnn1
pyrazolone                  O=C1CC=NN1
pyrazolidinedione           O=C1CC(=O)NN1
imidazolone                 O=c1nccn1
triazolone                  O=c1ncnn1
oxadiazolone                O=c1ncno1
oxadiazolone                O=c1nnco1
thiazolone                  O=c1nccs1
isothiazolone               O=c1ccsn1
oxazolone                   O=C1CN=CO1
benzimidazolone             O=c1nc2ccccc2n1
benzoxazolone               O=c1nc2ccccc2o1
benzothiazolone             O=c1nc2ccccc2s1
benzisothiazolone           O=c1nsc2ccccc12
saccharin                   O=C1NS(=O)(=O)c2ccccc21
benzothiadiazine dioxide    O=S1(=O)N=CNc2ccccc21
dihydrobenzothiadiazine dioxide O=S1(=O)NCNc2ccccc21
benzodiazepinone            O=C1CN=Cc2ccccc2N1
benzodiazepinone            O=C1CNCc2ccccc2N1
benzodiazepinedione         O=C1CNC(=O)c2ccccc2N1
benzodiazepinedione         O=C1CC(=O)Nc2ccccc2N1
dibenzodiazepinone          O=C1Nc2ccccc2Nc2ccccc21
dibenzodiazepinone          O=C1Nc2ccccc2Nc2ncccc21
oxindole                    O=C1Cc2ccccc2N1
isatin                      O=C1Nc2ccccc2C1=O
phthalimide                 O=C1NC(=O)c2ccccc21
isoindolinone               O=C1NCc2ccccc21
naphthalimide               O=C1NC(=O)c2cccc3cccc1c23
phthalide                   O=C1OCc2ccccc21
phthalic anhydride          O=C1OC(=O)c2ccccc21
naphthalic anhydride        O=C1OC(=O)c2cccc3cccc1c23
isatoic anhydride           O=c1nc2ccccc2c(=O)o1
indanone                    O=C1CCc2ccccc21
indanedione                 O=C1CC(=O)c2ccccc21
tetralone                   O=C1CCCc2ccccc21
dihydroquinolinone          O=C1CCc2ccccc2N1
succinimide                 O=C1CCC(=O)N1
maleimide                   O=C1C=CC(=O)N1
glutarimide                 O=C1CCCC(=O)N1
tetrahydrophthalimide       O=C1NC(=O)C2CC=CCC12
hexahydrophthalimide        O=C1NC(=O)C2CCCCC12
barbiturate                 O=C1CC(=O)NC(=O)N1
thiobarbiturate             O=C1CC(=O)NC(=S)N1
hydantoin                   O=C1CNC(=O)N1
thiohydantoin               O=C1CNC(=S)N1
imidazolidinone             O=C1NCCN1
imidazolidinethione         S=C1NCCN1
oxazolidinone               O=C1NCCO1
oxazolidinedione            O=C1COC(=O)N1
thiazolidinone              O=C1CSCN1
thiazolidinedione           O=C1CSC(=O)N1
rhodanine                   O=C1CSC(=S)N1
thiadiazole thione          S=c1nncs1
triazole thione             S=c1ncnn1
imidazole thione            S=c1nccn1
pyrimidine thione           S=c1ncccn1
pyrimidine thione           S=c1ccncn1
pyridine thione             S=c1ccccn1
benzimidazole thione        S=c1nc2ccccc2n1
benzothiazole thione        S=c1nc2ccccc2s1
benzoxazole thione          S=c1nc2ccccc2o1
purine thione               S=c1ncnc2ncnc12
1,2-dithiole thione         S=c1ccss1
diketopiperazine            O=C1CNC(=O)CN1
pyrrolidinone (γ-lactam)    O=C1CCCN1
piperidinone (δ-lactam)     O=C1CCCCN1
caprolactam (ε-lactam)      O=C1CCCCCN1
4-piperidone                O=C1CCNCC1
γ-lactone                   O=C1CCCO1
butenolide                  O=C1C=CCO1
2-furanone                  O=C1CC=CO1
δ-lactone                   O=C1CCCCO1
dihydropyranone             O=C1C=CCCO1
dihydropyranone             O=C1C=COCC1
ε-lactone                   O=C1CCCCCO1
ethylene carbonate ring     O=C1OCCO1
maleic anhydride            O=C1C=CC(=O)O1
succinic anhydride          O=C1CCC(=O)O1
glutaric anhydride          O=C1CCCC(=O)O1
tetrahydrophthalic anhydride O=C1OC(=O)C2CC=CCC12
hexahydrophthalic anhydride O=C1OC(=O)C2CCCCC12
sultone                     O=S1(=O)CCCO1
sultone                     O=S1(=O)CCCCO1
sultam                      O=S1(=O)CCCN1
cyclic sulfate              O=S1(=O)OCCO1
cyclic sulfate              O=S1(=O)OCCCO1
cyclic sulfite              O=S1OCCO1
cyclic sulfite              O=S1OCCCO1
sulfolane                   O=S1(=O)CCCC1
sulfolene                   O=S1(=O)CC=CC1
oxazaphosphinane (cyclophosphamide ring) O=P1NCCCO1
dioxaphosphinane            O=P1OCCCO1
benzodioxaphosphinine       O=P1OCc2ccccc2O1
cyclopentanone              O=C1CCCC1
cyclopentenone              O=C1C=CCC1
cyclohexanone               O=C1CCCCC1
cyclohexenone               O=C1C=CCCC1
cyclohexadienone            O=C1C=CCC=C1
cyclohexanedione            O=C1CCCC(=O)C1
cyclobutanone               O=C1CCC1
camphor skeleton            O=C1CC2CCC1C2
"""  # noqa: E501


@dataclass(frozen=True)
class Group:
    """A named functional group or ring.

    Args:
        name: what a chemist would say.
        smarts: pattern that RDKit reads. A ring's pattern matches whole ring systems only: benzene's does not match
            naphthalene.
        kind: "group", "ring" or "family".
        whole: whether the group claims its atoms in rings, too (epoxide). Other groups leave them to the ring.
        skeleton: pattern of a ring without the conditions that make it match whole systems only.

    Example:
        >>> [group.smarts for group in groups_named("nitro on an aromatic ring")]
        ['[NX3+;$(N-a)](=[OX1])[OX1-]']
    """

    name: str
    smarts: str
    kind: Literal["group", "ring", "family"] = "group"
    whole: bool = False
    skeleton: str = ""

    @cached_property
    def query(self) -> Mol:
        """The pattern, compiled: ``smarts``, of rings ``skeleton``."""
        return Chem.MolFromSmarts(self.skeleton or self.smarts)

    @cached_property
    def signature(self) -> Signature:
        """Numbers of atoms and of rings, and the sorted elements; equal for every ring system the skeleton matches."""
        atoms, bonds = self.query.GetNumAtoms(), self.query.GetNumBonds()
        return atoms, bonds - atoms + 1, tuple(sorted(atom.GetAtomicNum() for atom in self.query.GetAtoms()))


#: An atom of a skeleton: a letter, or brackets that may hold brackets.
_ATOM = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]|[A-Za-z]")


def _exact(name: str, skeleton: str) -> str:
    """Return a skeleton's SMARTS with conditions that let it match whole ring systems only.

    Each ring atom has as many ring bonds as in the skeleton, and no carbonyl that the name does not include: pyridone
    is no pyridine. A "steroid skeleton" may have carbonyls.
    """
    atoms = list(Chem.MolFromSmarts(skeleton).GetAtoms())
    outside = {atom.GetIdx() for atom in atoms if atom.GetDegree() == 1}
    any_carbonyls = name.endswith("skeleton")
    numbers = iter(range(len(atoms)))

    def conditioned(match: re.Match[str]) -> str:
        atom = atoms[next(numbers)]
        near = {neighbor.GetIdx() for neighbor in atom.GetNeighbors()}
        bonds = 0 if atom.GetIdx() in outside else len(near - outside)
        bare = ";!$(*=!@[#8,#16])" if bonds and not near & outside and not any_carbonyls else ""
        text = match.group().removeprefix("[").removesuffix("]")
        return f"[{text};x{bonds}{bare}]"

    return _ATOM.sub(conditioned, skeleton)


def _rows(table: str) -> list[list[str]]:
    return [line.rsplit(None, 1) for line in table.strip().splitlines()]


#: Functional groups in the order in which they claim atoms: most specific first.
GROUPS: tuple[Group, ...] = (
    *(Group(name, smarts, whole=True) for name, smarts in _rows(_WHOLE)),
    *(Group(name, smarts) for name, smarts in _rows(_GROUPS)),
)
#: Ring systems; of two that match the same atoms, the first gives the name.
RINGS: tuple[Group, ...] = tuple(
    Group(name, _exact(name, skeleton), "ring", skeleton=skeleton) for name, skeleton in _rows(_RINGS)
)
#: General names over the groups.
FAMILIES: tuple[Group, ...] = tuple(Group(name, smarts, "family") for name, smarts in _rows(_FAMILIES))


@lru_cache(maxsize=1)
def _by_name() -> dict[str, tuple[Group, ...]]:
    names: dict[str, tuple[Group, ...]] = {}
    for group in (*GROUPS, *RINGS, *FAMILIES):
        names[group.name] = (*names.get(group.name, ()), group)
    return names


def groups_named(name: str) -> tuple[Group, ...]:
    """Return the entries of a name, most often one.

    Args:
        name: a name of the table, such as "epoxide".

    Returns:
        Its groups; isomers of a ring share a name.

    Example:
        >>> [group.kind for group in groups_named("piperidine")]
        ['ring']
    """
    if name not in _by_name():
        raise InputError(f"no group is named {str(name)[:60]!r}; isonn.molecules.groups lists the names")
    return _by_name()[name]


def find_group(molecule: Mol, name: str) -> list[tuple[int, ...]]:
    """Return the atoms of each match of a named group, ring atoms included.

    Args:
        molecule: an RDKit molecule.
        name: a name of the table, such as "epoxide".

    Returns:
        Sorted atom numbers, a tuple per match.

    Example:
        >>> from rdkit import Chem
        >>> find_group(Chem.MolFromSmiles("CC1CO1"), "epoxide")
        [(1, 2, 3)]
    """
    matches: set[tuple[int, ...]] = set()
    for group in groups_named(name):
        query = Chem.MolFromSmarts(group.smarts)
        matches.update(tuple(sorted(match)) for match in molecule.GetSubstructMatches(query, maxMatches=100_000))
    return sorted(matches)
