"""Molecules that have a named group, near misses that do not, and a molecule for each named ring."""

from __future__ import annotations

# ruff: noqa: RUF001  (Greek letters belong to the names)

#: name | has it | does not
GROUPS = [
    line.split(" | ")
    for line in """
β-lactam | CN1CCC1=O | CN1CCCC1=O
β-lactone | CC1CC(=O)O1 | CC1CCC(=O)O1
epoxide | CC1CO1 | CC1CCO1
aziridine | CC1CN1 | CC1CCN1
thiirane | C1CS1 | C1CSCSC1
diazirine | CC1(C)N=N1 | CC1(C)NN1
N-nitrosourea | CN(N=O)C(N)=O | CN(N=O)C(C)=O
N-nitrosocarbamate | CCOC(=O)N(CC)N=O | CCN(N=O)C(N)=O
N-nitrosamide | CC(=O)N(C)N=O | CN(C)N=O
N-nitrosoguanidine | CCCN(N=O)C(=N)NN(O)O | CCCN(N=O)C(N)=O
N-nitrosohydroxylamine | O=NN(O)c1ccccc1 | O=CN(O)c1ccccc1
N-nitroso | CN(C)N=O | CC(C)(C)N=O
S-nitroso | O=NSCCO | NC(=O)N(CCO)N=O
nitrite ester | CCCCON=O | CCCCOC=O
nitroso on an aromatic ring | Cc1ccccc1N=O | Cc1ccccc1C=O
nitroso on a carbon | CC(C)(N=O)[N+](=O)[O-] | C[N+](=O)[O-]
nitrate ester | CCCCO[N+](=O)[O-] | CCC[N+](=O)[O-]
nitrate ion | O=[N+]([O-])[O-].[K+] | C[N+](=O)[O-]
nitronate | CC=[N+]([O-])O | C[N+](=O)[O-]
nitroalkene | O=[N+]([O-])C=Cc1ccccc1 | O=[N+]([O-])c1ccccc1
nitro on an aromatic ring | Cc1ccccc1[N+](=O)[O-] | Cc1ccccc1N=O
nitro on an aliphatic carbon | CC[N+](=O)[O-] | CC[N+]([O-])=NC
nitramine | CN(C)[N+](=O)[O-] | C[N+](=O)[O-]
nitro on nitrogen | CCN(N=O)C(=N)N[N+](=O)[O-] | CCN(N=O)C(N)=O
azide | CCN=[N+]=[N-] | CCN=NC
diazo | CCOC(=O)C=[N+]=[N-] | CCN=[N+]=[N-]
diazonium | N#[N+]c1nc[nH]c1C(N)=O | O=c1nc[nH]c(=O)[nH]1
azoxy | CCN=[N+](C)[O-] | CC[N+](=O)[O-]
triazene | CCN=NNCC | CCNCC
azo between aromatic rings | Nc1ccc(N=Nc2ccccc2)cc1 | Nc1ccc(Oc2ccccc2)cc1
azo | C=CN=Nc1ccccc1 | CN(C)N=Nc1ccccc1
aminoguanidine | N=C(N)NN | N=C(N)NC
semicarbazone | CC=NNC(N)=O | CC=NNC(C)=O
thiosemicarbazone | CC=NNC(N)=S | CC=NNC(N)=O
semicarbazide | NC(=O)NNC(N)=O | NC(=O)NC(N)=O
thiosemicarbazide | CNC(=S)NN | CNC(=S)NC
acylhydrazone | CC(=O)NN=CC | CC(=O)NNCC
hydrazide | CN(N)C=O | CN(C)C=O
diacylhydrazine | CC(=O)NNC(C)=O | CC(=O)CC(C)=O
sulfonyl hydrazide | Cc1ccc(S(=O)(=O)NN)cc1 | Cc1ccc(S(N)(=O)=O)cc1
guanylhydrazone | N=C(N)NN=Cc1c(Cl)cccc1Cl | O=S(=O)(Cl)c1c(Cl)cccc1Cl
azine | CC=NN=CC | CC=NNC
hydrazone | CC=NNC | CC=NC
hydrazine on an aromatic ring | CCN(N)c1ccccc1 | CCN(CC)c1ccccc1
hydrazine | CNN | CNC(=S)NN
hydrazinium | C=C(C)C(=O)N[N+](C)(C)CC(C)O | C=C(C)C(=O)OC
N-hydroxyurea | CNC(=O)NO | CNC(=O)NC
N-alkoxyurea | NC(=O)NOCCc1ccccc1 | NC(=O)NC(=O)Cc1ccccc1
hydroxamic acid | O=C(NO)c1ccccc1 | NNC(=O)c1ccccc1
hydroxamic ester | CNC(=O)ONC(C)=O | CNC(=O)NOC(=O)NC
N-sulfooxy amine | Cc1cc(NOS(=O)(=O)O)ccc1N | CS(=O)(=O)c1ccc(O)c(N)c1
O-carbamoyl hydroxylamine | CNC(=O)ON | COC(=O)NN
N-acyloxy amine | CCC1(C)NOC(=O)c2ccccc2N1 | CCC=C1OC(=O)c2ccccc21
N-hydroxy on an aromatic amine | ONc1ccccc1 | CONc1ccccc1
hydroxylamine | CCN(O)CC | CCN(N)CC
N-alkoxy amine | NOCC1CCOC1 | [NH3+]CCCC1CCOCC1
N-hydroxy on a ring nitrogen | O=C1CCC(=O)N1O | O=C1CCC(=O)N1CO
N-amino on a ring nitrogen | Nc1nccc(=O)n1N | O=c1ccnc(S)[nH]1
alkoxy on an aromatic nitrogen | COn1cccc1 | Cn1cccc1
N-hydroxyguanidine | Cc1cccc(NC(N)=NO)n1 | Cc1cccnc1C(N)=NO
amidoxime | NC(=NO)c1ccccc1 | N=C(N)c1ccccc1
oxime carbamate | CNC(=O)ON=CC(C)(C)SC | CSc1nsc(NC(=O)C(C)(C)C)n1
oxime ester | O=C1ON=C(CCl)C1=Cc1cccnc1Cl | ClCc1ccccn1
oxime ether | CON=C(C#N)C1CN2CCC1CC2 | CC(=O)OC1CN2CCC1CC2
oxime | CC=NO | CC=NOC
nitrone | CC1CC(C=O)=[N+]([O-])C1(C)C | CC12CCC(CC1=O)C2(C)C
N-oxide of an aromatic ring | [O-][n+]1ccc(Cl)cc1 | Clc1ccncc1
amine N-oxide | C[N+]([O-])(CCCl)CCCl | C[NH+](CCCl)CCCl
nitrogen mustard | CN(CCCl)CCCl | CN(CC)CCCl
sulfur mustard | ClCCSCCCl | ClCCNCCCl
2-haloethylamine | CN(C)CCCl | CN(C)CCO
biguanide | CN(C)C(=N)NC(=N)N | CN(C)C(=[NH2+])NC(N)=[NH2+]
cyanoguanidine | N#CN=C(N)N | N#CC(N)=C(N)C#N
guanidine | CNC(=N)NC | CNC(=N)C
isothiourea | CC(=O)CSC(N)=[NH2+] | CC(N)=O
isourea | NC1=NC(=O)C(c2ccccc2)O1 | O=c1[nH]ncc2ccccc12
amidine | CC(=N)N | CC(N)=O
imidoyl halide | NC(C(=O)O)C1CC(Cl)=NO1 | NC1=NC(C(=O)O)CS1
imidate | CCOC(=N)CC(=O)OCC | CCOC(=O)OCC
thioimidate | CCCC1C=CC(=N)S1 | CCCCC1C=C(C)C=CN1
isocyanate | CCCCN=C=O | CCCCON=O
isothiocyanate | CCN=C=S | CCCCN=C=O
carbodiimide | CC(C)N=C=NC(C)C | CC(C)OP(=O)(F)OC(C)C
ketene | C=C=O | C=O
thiocyanate | CSC#N | CN=C=S
cyanamide | N#CN | N#CCCN
cyanohydrin | CC(O)C#N | CC#N
α-aminonitrile | CC(C)(N)C#N | CC(C)(O)C#N
ylidene malononitrile | N#CC(C#N)=Cc1ccccc1Cl | N#CC(C#N)=NNc1cccc(Cl)c1
malononitrile | N#CCC#N | N#CCNCC#N
α,β-unsaturated nitrile | CCC=CC#N | CC=CCC
nitrile on an aromatic ring | N#Cc1ccccn1 | Oc1ccccn1
nitrile | CCC#N | CC[N+]#[C-]
isonitrile | CC[N+]#[C-] | CCC#N
cyanide | C#N | C#C
chloroformate | CCOC(=O)Cl | CCOC(N)=O
carbamoyl halide | CN(C)C(=O)Cl | CC(=O)N(C)C
acyl chloride | CC(=O)Cl | C=C(C)Cl
acyl fluoride, bromide or iodide | CC(=O)Br | CC(=O)CBr
sulfonyl halide | CCCCS(=O)(=O)Cl | CCCCOS(C)(=O)=O
diacyl peroxide | CC(=O)OOC(C)=O | CC(=O)OC(C)=O
peroxy acid or ester | CC(=O)OO[N+](=O)[O-] | CC(=O)CO[N+](=O)[O-]
anhydride | CC(=O)OC(C)=O | CC(=O)OC
cyclic anhydride | O=C1OC(=O)C2C3C=CC(C3)C12 | O=C1NC(=O)C2C=CC=CC12
sulfonylurea | NC(=O)NS(=O)(=O)c1ccc(N)cc1 | CC(=O)NS(=O)(=O)c1ccc(N)cc1
N-acylsulfonamide | CC(=O)NS(=O)(=O)c1ccc(N)cc1 | CNS(=O)(=O)c1ccc(N)cc1
acylurea | CC=C(CC)C(=O)NC(N)=O | NC(=O)NC(N)=O
N-acylcarbamate | CCOC(=O)NC(=O)C(C#N)=C(C)N(C)C | CCNC(=O)NC(=O)C(C#N)=NOC
cyclic carbamate | NC(=O)CN1Cc2ccccc2OC1=O | NC(=O)CN1C(=O)COc2ccccc21
cyclic urea | CN1CCCN(C)C1=O | CN1CCCC1=O
cyclic thiourea | CCC(C)(O)N1CNC(=S)NC1 | CCN1CCNC(=O)C1=O
cyclic imide | O=C1NC(=O)C2C3CCC(C3)C12 | O=C1NCC2C3CCC(C3)C12
cyclic dithiocarbamate | S=C1SSC2=NCCN12 | Nc1nc(N2CCSCC2)[nH]c(=S)n1
lactone | O=C1CC2CCCCC2CO1 | O=C1CC2CCCCC2CC1
thiolactone | O=C(O)CSCC(=O)NC1CCSC1=O | O=C(O)CCCCC1CCSS1
lactam | O=C1CC2CCCCC2CN1 | O=C1CC2CCCCC2CC1
thiolactam | S=C1NC=NC2N=CNC12 | S=c1nc[nH]c2nc[nH]c12
carbonate | COC(=O)OC | COC(C)=O
thiocarbonate | Cc1cc(C)nc(SC(=O)OC(C)(C)C)n1 | CSc1nsc(NC(=O)C(C)(C)C)n1
carbamate | COC(=O)NC | COC(=O)CNC
thiuram disulfide | CN(C)C(=S)SSC(=S)N(C)C | CN(C)C(=N)N(C)C
thiocarbamate | CCCN(CCC)C(=O)SCC | CCCCN(CCCC)C(=S)[S-]
thionocarbamate | CN(C)C(=S)OC | CN(C)C(=O)SC
dithiocarbamate | CCN(CC)C(=S)S | CCN(O)CC
xanthate | CC(C)OC(=S)[S-] | CN(C)C(=S)[S-]
acylthiourea | Cc1cccc(C(=O)NC(=S)NC(C)C)c1 | Cc1cccc(NO)c1
urea | CNC(=O)NC | CNC(=O)CNC
thiourea | CNC(=S)NC | CNC(=O)NC
imide | CC(=O)NC(=O)c1ccccc1O | O=C(NO)c1ccccc1O
quinone | O=C1C=CC(=O)c2c1ccc1ccccc21 | O=C1CCC(=O)c2c1ccc1ccccc21
enal | CC=CC=O | CC=CCC=O
ynone | C#CC(=O)c1ccccc1 | CC(=O)c1ccccc1
α-halo ketone or aldehyde | CC(=O)CCl | O=C(O)CCl
α-halo acid derivative | O=C(O)CI | O=C(O)CF
glyoxal or α-diketone | CC(=O)C=O | O=CC(=O)O
α-keto acid | CC(=O)C(=O)O | CC(=O)C(C)=O
β-diketone | CC(=O)CC(C)=O | CC(=O)C(C)=O
α,β-unsaturated ester | C=CC(=O)OCC | C=CC(=O)CC
α,β-unsaturated acid | CC=CC(=O)O | CC=CC(=O)CC
α,β-unsaturated amide | C=CC(=O)NCO | C=CC(=O)OCCO
enone | C=CC(C)=O | C=CCC(C)=O
vinyl sulfone | O=S1(=O)C=CC(Br)C(O)C1 | NC(=O)NC1CS(=O)(=O)CC1O
thioester | CC=CC(=O)SCCNC(C)=O | CC(=O)NCCO
thioamide | COCCCC(N)=S | COCCO
carboxylic acid | CCC(=O)O | CCC(=O)OC
ester | CC(=O)OC | COCC=O
N-acyl azole | CC(=O)n1ncc(Cl)c(Cl)c1=O | O=C(O)c1snc(Cl)c1Cl
primary amide | CC(N)=O | COC(N)=O
secondary amide | CNC(C)=O | CNC(=O)NC
tertiary amide | CCN(C=O)CC | CCN(CC)N=O
aromatic aldehyde | Cc1nocc1C=O | Cc1cc(N)no1
aldehyde | CCC=O | CC(C)=O
aryl ketone | CC(=O)c1ccccc1 | CC(=O)Cc1ccccc1
ketone | CC(C)=O | CCC=O
oxo group on an aromatic ring | Cc1cc(=O)[nH]o1 | Cc1cc(N)no1
thioxo group on an aromatic ring | Nc1nc(N2CCSCC2)[nH]c(=S)n1 | O=Cc1ccc(N2CCSCC2)nc1
imino group on an aromatic ring | Cn1c(=N)[nH]c2[nH]cnc2c1=O | Cn1c(=O)c2[nH]cnc2n(C)c1=O
thioketone | CCC(C)=S | CCC(C)=O
sulfate diester | COS(=O)(=O)OC | COS(C)(=O)=O
sulfate ester | COS(=O)(=O)[O-] | COS(C)(=O)=O
sulfate ion | O=S(=O)([O-])[O-] | O=S(=O)([O-])[S-]
sulfonate ester | CS(=O)(=O)OC | CS(=O)(=O)O
sulfonic acid | CS(=O)(=O)O | CS(=O)(=O)OC
sulfamate | NS(=O)(=O)[O-] | O=S(=O)([O-])[S-]
sulfamide | CN(C)S(=O)(=O)NCCc1ccccc1 | CCCCNS(=O)(=O)c1ccccc1
disulfonimide | CS(=O)(=O)NS(C)(=O)=O | CS(=O)(=O)NC
primary sulfonamide | N#CC1(S(N)(=O)=O)CC1 | N#CC1(N)CCCCC1
sulfonamide | CCCCNS(=O)(=O)c1ccccc1 | CCCCNc1ccccc1
thiosulfonate | CS(=O)(=O)SC(F)(F)F | CC(F)(F)F
thiosulfate | O=S(=O)([O-])[S-] | O=S(=O)([O-])[O-]
sulfone | CS(C)(=O)=O | CS(C)=O
sulfite ester | COS(=O)OC | COS(=O)(=O)OC
sulfinic acid | N=C(N)S(=O)O | NC(N)=S(=O)=O
sulfoxide | CS(C)=O | CS(C)(=O)=O
sulfoxide (charged form) | C[S+]([O-])C | C[S+](C)C
sulfinamide | CS(=O)NC | CS(=O)(=O)NC
sulfoximine | CS(=N)(=O)CCC(N)C(=O)O | C[Se]CCC(N)C(=O)O
sulfonium | C[S+](C)CCC(N)C(=O)O | C[Se]CCC(N)C(=O)O
polysulfide | CSSSC | CSSC
disulfide | CCSSCC | CCSCC
sulfenamide | c1ccc2sc(SN3CCOCC3)nc2c1 | Sc1nc2ccccc2s1
thiol on an aromatic ring | Cn1ccnc1S | Cn1ccnc1N=O
thiol | CCS | CCSC
thioether on an aromatic ring | CSc1cnccn1 | Cc1cnccn1
thioether | CCSC | CCS(C)=O
diphosphate | O=P([O-])(O)OP(=O)([O-])O | COP(=O)(O)O
phosphoryl halide | O=P(Cl)(Cl)Cl | O=C(Cl)C(Cl)Cl
phosphorodithioate | CCOP(=S)(OCC)SCCl | CCOP(=S)(Cl)OCC
phosphorothiolate | CCSCCSP(=O)(OC)OC | CCSCCSP(=S)(OC)OC
phosphorothioate | CCSCCOP(=S)(OC)OC | CCSCCSP(=S)(OC)OC
phosphate triester | CCOP(=O)(OCC)OCC | CCOP(=O)(CC)OCC
phosphate | COP(=O)(O)O | COP(O)(=NC(C)=O)SC
phosphoramide | CNP(=O)(N(C)C)N(C)C | CN(C)C(=N)N(C)C
phosphoramidothioate | CCCSP1(=S)NCCCO1 | CCCC1CCCCN1
phosphorodiamidate | COP(=O)(NC)NC | COP(=O)(OC)NC
phosphoramidate | COP(=O)(OC)N1CCOCC1 | CN1CCOCC1
phosphonothioate | CCOP(=S)(CC)Sc1ccccc1 | CCOc1ccccc1
phosphonate | O=P(O)(O)CCCl | O=P(O)(O)O
phosphinate | COP(C)(C)=O | COP(C)(=O)OC
phosphine oxide | CP(C)(C)=O | COP(C)(C)=O
phosphonium | OC[P+](CO)(CO)CO | O=P(O)(O)OCC(O)CO
phosphite | CCOP(O)OCC | CCOCC
phosphine | CCCCP(CCCC)CCCC | CCC[CH2][Sn]([Cl])([CH2]CCC)[CH2]CCC
organophosphorus ester or amide | COP(=O)(SC)SC | CP(C)(C)=O
phosphorus ester oxygen | CCOP(=O)(Cl)Cl | O=P(Cl)(Cl)Cl
hydroperoxide | CCOO | CCOC
peroxide | CC(C)(C)OOC(C)(C)C | CC(C)(C)OO
boronic acid | OB(O)c1ccccc1 | OB(O)O
boronic ester | COB(OC)c1ccccc1 | COB(OC)OC
borate | CC(C)OB(OC(C)C)OC(C)C | CC(C)OP(=O)(F)OC(C)C
organoboron | CB(C)C | OB(O)O
siloxane | C[Si](C)(C)O[Si](O)(O)O | C[Si](C)(C)Cl
silyl ether | CO[Si](C)(OC)OC | COC(C)(OC)OC
silanol | CP(=O)([O-])OCCC[Si](O)(O)O | CCCCOP(=O)(O)OCCCC
silane | C[Si](C)(C)Cl | CC1OC(C)OC(C)O1
organotin | [CH3][Sn]([CH3])([Cl])[Cl] | CC=C(Cl)Cl
organomercury | [Cl][Hg][c]1ccccc1 | Clc1ccccc1
arsonic acid | Nc1ccc([As](=O)([O-])O)cc1 | CN(C)c1ccc(N)cc1
organoarsenic | C[As](C)(=O)O | CC(C)=O
selenide | C[Se]CCC(N)C(=O)O | C[S+](C)CCC(N)C(=O)O
trifluoromethoxy | COc1cc(OC(F)(F)F)c(F)cc1N | COc1cc2nc(Cl)nc(N)c2cc1OC
trifluoromethyl | CC(F)(F)F | CC(C)(F)F
trichloromethyl | CC(Cl)(Cl)Cl | CCl
trihalomethyl | FC(F)Cl | CC(F)F
polyfluoroalkyl | NC(CSC(F)(F)C(F)F)C(=O)O | NC(CSCCCl)C(=O)O
dihalovinyl | C=C(Cl)Cl | C=C(Cl)CCl
dihalomethyl | CC(Br)Br | O=CC(Br)CBr
α-halo ether | ClCOCCl | ClCCl
geminal dihalide | FCCl | CCCl
allyl chloride | ClC=CCCl | OCC=CCl
allyl bromide or iodide | BrCC=CCBr | BrCCBr
benzyl halide | ClCc1ccccc1 | Clc1ccccc1
fluorine on an aromatic ring | Fc1ccccn1 | Oc1ccccn1
chlorine on an aromatic ring | Clc1ccccn1 | ClCc1ccccn1
bromine on an aromatic ring | Cc1sccc1Br | Cc1sccc1N
iodine on an aromatic ring | Clc1ccccc1I | Clc1ccccc1Br
vinyl fluoride | FC1=CN=CC1F | Fc1ccncc1
vinyl chloride | CC=CCl | CC(=O)Cl
vinyl bromide | BrC=CBr | BrCC=CCBr
vinyl iodide | FC(F)(F)C1=CCC2=C(I)N=NC2=C1 | N#Cc1nc2cc(C(F)(F)F)cnc2[n-]1
alkynyl halide | COC(=O)C#CBr | COC(N)=O
alkyl fluoride | FCC1CO1 | CCC1CO1
alkyl chloride | CCCl | CCS
alkyl bromide | CCBr | CCS
alkyl iodide | CCI | CCS
N-halogen | O=C1CCC(=O)N1Cl | O=C1CCC(=O)N1O
catechol | Oc1cccc(O)c1O | O=C(NO)c1ccccc1O
phenol | Cc1ccccc1O | OCc1ccccc1
hydroxy on an aromatic heteroring | Oc1ccncc1 | Nc1ccncc1
enol | C=CC=C(O)C(C)=O | CC(=O)C(=O)O
hemiacetal | CC(C)(C)OCO | CC(C)(C)OO
hydroxyl beside a ring oxygen | O=C1C=C(CCl)C(O)O1 | O=C1C=C(CCl)CO1
hemiaminal | O=C1CCC(=O)N1CO | O=C1CCC(=O)N1O
alcohol | CCO | CC(=O)O
orthoester | CCOC(OCC)OCC | CCOC(C)OCC
glycosidic (acetal) oxygen | COC1OC1(C)C | CC1(C)COCC(N)O1
acetal | CCOCOCC | CCOCC
methoxy on an aromatic ring | COc1ccccc1N | CCOc1ccccc1N
diaryl ether | Cc1cccc(Oc2ccccc2)c1 | Cc1cccc(Nc2ccccc2)c1
aryl ether | CCOc1ccccc1N | Cc1ccccc1N
vinyl ether | C=COCC | CCOC=O
ether | CCOC | CC(=O)OC
ammonium ion | O=[N+]([O-])[O-].[NH4+] | O=[N+]([O-])[O-]
quaternary ammonium | C[N+](C)(C)CC | C[NH+](C)CC
protonated aromatic amine | [NH3+]c1ccccc1 | Sc1ccccc1
protonated amine | CC[NH+](C)C | CC[N+](C)(C)C
iminium | C(=[NH+]C1CC1)c1cccnc1 | C[N+]1([O-])CCCC1c1cccnc1
primary aromatic amine | Nc1ccccc1 | CNc1ccccc1
diarylamine | c1ccc(Nc2ccccc2)cc1 | c1ccc(Oc2ccccc2)cc1
secondary aromatic amine | CNc1ccccc1 | CC(=O)Nc1ccccc1
tertiary aromatic amine | CN(C)c1ccccc1 | CNc1ccccc1
enamine | N#CC(N)=C(N)C#N | N#CN=C(N)N
primary aliphatic amine | CCN | CCNC
secondary aliphatic amine | CCNCC | CCN(C)CC
tertiary aliphatic amine | CCN(C)CC | CCN(C)C=O
imine | CC=NC | CC=NO
conjugated diyne | C#CC#CCC=CCCCCCC(C)=O | CCCCCCCC(=O)Cl
alkyne | CC#CC | CC#N
allene | CC=C=CC | CC=CC=C
conjugated triene | CCC=CC=CC=CC=CC=O | CC=CC=CCO
conjugated diene | C=CC=CC | CC=CC=O
terminal alkene | C=CC | CC=CC
alkene | CC=CC | CC=NC
sulfonyl | COS(=O)(=O)F | CS(C)=O
sulfinyl | NC(N)=S(=O)=O | CSC
carbonyl | NC(=O)NC(N)=O | NC(N)=S(=O)=O
""".strip().splitlines()
]

#: family | has it | does not
FAMILIES = [
    line.split(" | ")
    for line in """
nitro | CC[N+](=O)[O-] | CCN=O
nitroso | CC(C)(C)N=O | CC[N+](=O)[O-]
N-hydroxy | CC(=O)NO | CC(C)=NO
hydroxylamine derivative | CNOC | CC[N+](=O)[O-]
hydrazine, hydrazide or hydrazone | CC(=O)NN | CN(C)N=O
hydrazine, hydrazide or hydrazone | CC=NNC | CN(C)[N+](=O)[O-]
azo, azoxy or triazene | CN=[N+](C)[O-] | CN=[N+]=[N-]
epoxide, aziridine or thiirane | CC1CS1 | CC1CC1
alkyl halide | CCI | CCF
vinyl halide | C=CCl | Clc1ccccc1
halogen on an aromatic ring | Clc1ccccc1 | C=CCl
haloethyl amine, sulfide or ether | CSCCCl | CC(=O)OCCCl
acyl halide | CC(=O)Cl | CC(=O)CCl
acyl halide or anhydride | CC(=O)OC(C)=O | CC(=O)OC
isocyanate or isothiocyanate | CN=C=S | CSC#N
sulfonate or sulfate ester | COS(=O)(=O)OC | CS(=O)(=O)O
amide | CC(=O)N1CCCC1 | CC(=O)CN
thiocarbonyl | CC(N)=S | CCS
α,β-unsaturated carbonyl | C=CC(C)=O | C=CCC(C)=O
Michael acceptor | C=CC#N | C=CCC#N
aromatic amine | CN(C)c1ccccc1 | CC(=O)Nc1ccccc1
basic amine | C1CCNCC1 | CC(=O)N1CCCC1
basic amine | C[NH+](C)C | C[N+](C)(C)C
hydroxy on an aromatic ring | Oc1ccncc1 | OCc1ccccc1
organophosphorus | COP(C)(=O)OC | CP(C)C
alkyl chain of 6 or more carbons | CCCCCC | CCCCC
biaryl | c1ccc(-c2ccccc2)cc1 | c1ccc(Cc2ccccc2)cc1
two fused aromatic rings | c1ccc2[nH]ccc2c1 | c1ccc2c(c1)CCCC2
three fused aromatic rings | c1ccc2cc3ccccc3cc2c1 | c1ccc2ccccc2c1
three fused aromatic rings | c1ccc2c(c1)ccc1ccccc12 | c1ccc(-c2ccc3ccccc3c2)cc1
""".strip().splitlines()
]

#: name | molecule with this ring alone; every other line is a near miss
RINGS = [
    line.split(" | ")
    for line in """
benzene | c1ccccc1
pyridine | c1ccncc1
pyrimidine | c1cncnc1
pyrazine | c1cnccn1
pyridazine | c1ccnnc1
1,3,5-triazine | c1ncncn1
1,2,4-triazine | c1cnncn1
pyrrole | c1cc[nH]c1
furan | c1ccoc1
thiophene | c1ccsc1
imidazole | c1c[nH]cn1
pyrazole | c1cn[nH]c1
oxazole | c1cocn1
isoxazole | c1cnoc1
thiazole | c1cscn1
isothiazole | c1cnsc1
1,2,3-triazole | c1c[nH]nn1
1,2,4-triazole | c1nnc[nH]1
tetrazole | c1nnn[nH]1
1,3,4-oxadiazole | c1nnco1
1,2,4-oxadiazole | c1ncon1
1,2,5-oxadiazole | c1cnon1
1,2,3-oxadiazole | c1conn1
1,3,4-thiadiazole | c1nncs1
1,2,4-thiadiazole | c1ncsn1
1,2,5-thiadiazole | c1cnsn1
1,2,3-thiadiazole | c1csnn1
indole | c1ccc2[nH]ccc2c1
indolizine | c1ccn2cccc2c1
indazole | c1ccc2[nH]ncc2c1
benzimidazole | c1ccc2[nH]cnc2c1
benzofuran | c1ccc2occc2c1
benzothiophene | c1ccc2sccc2c1
benzothiazole | c1ccc2scnc2c1
benzoxazole | c1ccc2ocnc2c1
benzisoxazole | c1ccc2oncc2c1
2,1-benzisothiazole | c1ccc2nscc2c1
benzisothiazole | c1ccc2sncc2c1
benzotriazole | c1ccc2[nH]nnc2c1
benzofurazan | c1ccc2nonc2c1
benzothiadiazole | c1ccc2nsnc2c1
azaindole | c1c[nH]c2nccc-2c1
pyrrolopyrimidine | c1cc2c[nH]cnc-2n1
pyrazolopyrimidine | c1nc2nncc-2c[nH]1
imidazopyridine | c1ccn2ccnc2c1
imidazo[4,5-b]pyridine | c1c[nH]c2ncnc-2c1
imidazo[4,5-c]pyridine | c1cc2[nH]cnc2cn1
thienopyrimidine | c1ncc2ccsc2n1
imidazothiazole | c1cn2ccsc2n1
quinoline | c1ccc2ncccc2c1
isoquinoline | c1ccc2cnccc2c1
quinazoline | c1ccc2ncncc2c1
quinoxaline | c1ccc2nccnc2c1
cinnoline | c1ccc2nnccc2c1
phthalazine | c1ccc2cnncc2c1
naphthyridine | c1cnc2ncccc2c1
pteridine | c1cnc2ncncc2n1
purine | c1nc2c[nH]cnc-2n1
acridine | c1ccc2nc3ccccc3cc2c1
phenanthridine | c1ccc2c(c1)cnc1ccccc12
phenazine | c1ccc2nc3ccccc3nc2c1
1,10-phenanthroline | c1cnc2c(c1)ccc1cccnc12
carbazole | c1ccc2c(c1)[nH]c1ccccc12
β-carboline | c1ccc2c(c1)[nH]c1cnccc12
α-carboline | c1ccc2c(c1)[nH]c1ncccc12
γ-carboline | c1ccc2c(c1)[nH]c1ccncc12
imidazoquinoxaline | c1c[nH]c2c(ccc3ncnc32)n1
dibenzofuran | c1ccc2c(c1)oc1ccccc12
dibenzothiophene | c1ccc2c(c1)sc1ccccc12
dibenzodioxin | c1ccc2c(c1)Oc1ccccc1O2
naphthalene | c1ccc2ccccc2c1
azulene | c1ccc2cccc-2cc1
anthracene | c1ccc2cc3ccccc3cc2c1
phenanthrene | c1ccc2c(c1)ccc1ccccc12
acenaphthylene | C1=Cc2cccc3cccc1c23
acenaphthene | c1cc2c3c(cccc3c1)CC2
fluorene | c1ccc2c(c1)Cc1ccccc1-2
fluorenone | O=C1c2ccccc2-c2ccccc21
biphenylene | c1ccc2c(c1)-c1ccccc1-2
pyrene | c1cc2ccc3cccc4ccc(c1)c2c34
fluoranthene | c1ccc2c(c1)-c1cccc3cccc-2c13
chrysene | c1ccc2c(c1)ccc1c3ccccc3ccc21
benz[a]anthracene | c1ccc2cc3c(ccc4ccccc43)cc2c1
benzo[c]phenanthrene | c1ccc2c(c1)ccc1ccc3ccccc3c12
triphenylene | c1ccc2c(c1)c1ccccc1c1ccccc21
tetracene | c1ccc2cc3cc4ccccc4cc3cc2c1
benzo[a]pyrene | c1ccc2c(c1)cc1ccc3cccc4ccc2c1c34
benzo[e]pyrene | c1ccc2c(c1)c1cccc3ccc4cccc2c4c31
perylene | c1cc2cccc3c4cccc5cccc(c(c1)c23)c54
indane | c1ccc2c(c1)CCC2
indene | C1=Cc2ccccc2C1
tetralin | c1ccc2c(c1)CCCC2
indoline | c1ccc2c(c1)CCN2
isoindoline | c1ccc2c(c1)CNC2
tetrahydroquinoline | c1ccc2c(c1)CCCN2
tetrahydroisoquinoline | c1ccc2c(c1)CCNC2
dihydrobenzofuran | c1ccc2c(c1)CCO2
phthalan | c1ccc2c(c1)COC2
chromane | c1ccc2c(c1)CCCO2
chromene | C1=Cc2ccccc2OC1
benzodioxole | c1ccc2c(c1)OCO2
benzodioxane | c1ccc2c(c1)OCCO2
benzomorpholine | c1ccc2c(c1)NCCO2
benzazepine | c1ccc2c(c1)CCNCC2
2,3-benzodiazepine | C1=NN=Cc2ccccc2C1
1,4-benzodiazepine | C1=NCC=Nc2ccccc21
1,4-benzodiazepine | C1=NCCNc2ccccc21
1,4-benzodiazepine | c1ccc2c(c1)CNCCN2
1,5-benzodiazepine | c1ccc2c(c1)NCCCN2
1,5-benzodiazepine | C1=Nc2ccccc2NCC1
triazolobenzodiazepine | C1=NCc2nncn2-c2ccccc21
imidazobenzodiazepine | C1=NCc2cncn2-c2ccccc21
imidazobenzodiazepine | c1ccc2c(c1)CNCc1cncn1-2
dibenzazepine | c1ccc2c(c1)CCc1ccccc1N2
dibenzazepine | C1=Cc2ccccc2Nc2ccccc21
dibenzocycloheptene | C1=Cc2ccccc2Cc2ccccc21
dibenzosuberane | c1ccc2c(c1)CCc1ccccc1C2
dibenzodiazepine | C1=Nc2ccccc2Nc2ccccc21
dibenzoxazepine | C1=Nc2ccccc2Oc2ccccc21
dibenzothiazepine | C1=Nc2ccccc2Sc2ccccc21
xanthene | c1ccc2c(c1)Cc1ccccc1O2
thioxanthene | c1ccc2c(c1)Cc1ccccc1S2
dihydroanthracene | c1ccc2c(c1)Cc1ccccc1C2
dihydrophenanthrene | c1ccc2c(c1)CCc1ccccc1-2
dihydroacridine | c1ccc2c(c1)Cc1ccccc1N2
phenothiazine | c1ccc2c(c1)Nc1ccccc1S2
phenoxazine | c1ccc2c(c1)Nc1ccccc1O2
tetrahydrocarbazole | c1ccc2c3c([nH]c2c1)CCCC3
tetrahydro-β-carboline | c1ccc2c3c([nH]c2c1)CNCC3
tetrahydrothienopyridine | c1cc2c(s1)CCNC2
dihydropyrrolizine | C1=CC2CCCN2C1
pyrrolizidine | C1CC2CCCN2C1
quinolizidine | C1CCN2CCCCC2C1
tropane | C1CC2CCC(C1)N2
quinuclidine | C1CN2CCC1CC2
granatane | C1CC2CCCC(C1)N2
piperidine | C1CCNCC1
piperazine | C1CNCCN1
morpholine | C1COCCN1
thiomorpholine | C1CSCCN1
tetrahydropyridine | C1=CCNCC1
tetrahydropyridine | C1=CNCCC1
dihydropyridine | C1=CNC=CC1
dihydropyridine | C1=CCNC=C1
pyrrolidine | C1CCNC1
pyrroline | C1=CCNC1
pyrroline | C1=NCCC1
pyrroline | C1=CNCC1
azetidine | C1CNC1
azepane | C1CCCNCC1
azocane | C1CCCNCCC1
diazepane | C1CNCCNC1
imidazolidine | C1CNCN1
imidazoline | C1=NCCN1
pyrazolidine | C1CNNC1
pyrazoline | C1=NNCC1
pyrazoline | C1=CNNC1
oxazolidine | C1COCN1
oxazoline | C1=NCCO1
isoxazolidine | C1CNOC1
isoxazoline | C1=NOCC1
thiazolidine | C1CSCN1
thiazoline | C1=NCCS1
thiazoline | C1=CSCN1
hexahydropyrimidine | C1CNCNC1
tetrahydropyrimidine | C1=NCCCN1
1,3,5-triazinane | C1NCNCN1
hexamethylenetetramine | C1N2CN3CN1CN(C2)C3
thiazine | C1CNCSC1
oxetane | C1COC1
furanose (sugar ring) | OCC1OC(O)C(O)C1O
tetrahydrofuran | C1CCOC1
dihydrofuran | C1=COCC1
dihydrofuran | C1=CCOC1
pyranose (sugar ring) | OCC1OC(O)C(O)C(O)C1O
tetrahydropyran | C1CCOCC1
dihydropyran | C1=COCCC1
dihydropyran | C1=CCOCC1
pyran | C1=COC=CC1
pyran | C1=CCOC=C1
1,3-dioxolane | C1COCO1
1,3-dioxane | C1COCOC1
1,4-dioxane | C1COCCO1
1,4-dioxin | C1=COCCO1
1,3,5-trioxane | C1OCOCO1
tetrahydrothiophene | C1CCSC1
dihydrothiophene | C1=CCSC1
thiane | C1CCSCC1
1,3-dithiolane | C1CSCS1
1,2-dithiolane | C1CSSC1
1,3-dithiane | C1CSCSC1
1,4-dithiane | C1CSCCS1
1,3-oxathiolane | C1CSCO1
cyclopropane | C1CC1
cyclopropene | C1=CC1
cyclobutane | C1CCC1
cyclobutene | C1=CCC1
cyclopentane | C1CCCC1
cyclopentene | C1=CCCC1
cyclopentadiene | C1=CCC=C1
cyclohexane | C1CCCCC1
cyclohexene | C1=CCCCC1
cyclohexadiene | C1=CCC=CC1
cyclohexadiene | C1=CCCC=C1
cycloheptane | C1CCCCCC1
cycloheptene | C1=CCCCCC1
cycloheptatriene | C1=CC=CCC=C1
cyclooctane | C1CCCCCCC1
cyclododecane | C1CCCCCCCCCCC1
decalin | C1CCC2CCCCC2C1
hydrindane | C1CCC2CCCC2C1
norbornane | C1CC2CCC1C2
norbornene | C1=CC2CCC1C2
pinane | C1CC2CC(C1)C2
pinene | C1=CC2CC(C1)C2
bicyclo[2.2.2]octane | C1CC2CCC1CC2
adamantane | C1C2CC3CC1CC(C2)C3
7-oxanorbornane | C1CC2CCC1O2
steroid skeleton | CC12CCC(=O)C=C1CCC1C2CCC2(C)C(O)CCC12
morphinan | c1ccc2c(c1)CC1NCCC23CCCCC13
morphine skeleton | CN1CCC23c4c5ccc(O)c4OC2C(O)C=CC3C1C5
cyclodiene pesticide cage | C1=CC2CC1C1C3CCC(C3)C21
aporphine | c1ccc2c(c1)CC1NCCc3cccc-2c31
β-lactam | O=C1CCN1
β-lactone | O=C1CCO1
penam (penicillin core) | O=C1CC2SCCN12
penam sulfone | O=C1CC2N1CCS2(=O)=O
cephem (cephalosporin core) | O=C1CC2SCC=CN12
carbapenem | O=C1CC2CC=CN12
1,4-benzoquinone | O=C1C=CC(=O)C=C1
1,2-benzoquinone | O=C1C=CC=CC1=O
1,4-naphthoquinone | O=C1C=CC(=O)c2ccccc21
1,2-naphthoquinone | O=C1C=Cc2ccccc2C1=O
anthraquinone | O=C1c2ccccc2C(=O)c2ccccc21
phenanthrenequinone | O=C1C(=O)c2ccccc2-c2ccccc21
tetracenequinone | O=C1c2ccccc2C(=O)c2cc3c(cc21)CCCC3
quinone methide | C=C1C=CC(=O)C=C1
quinone imine | N=C1C=CC(=O)C=C1
quinone imine | N=C1C=CC(=N)C=C1
anthrone | O=C1c2ccccc2Cc2ccccc21
benzanthrone | O=C1c2ccccc2-c2cccc3cccc1c23
xanthone | O=c1c2ccccc2oc2ccccc12
thioxanthone | O=c1c2ccccc2sc2ccccc12
acridone | O=c1c2ccccc2[nH]c2ccccc12
coumarin | O=c1ccc2ccccc2o1
furocoumarin (psoralen) | O=c1ccc2cc3ccoc3cc2o1
furocoumarin (angelicin) | O=c1ccc2ccc3occc3c2o1
dihydrocoumarin | O=C1CCc2ccccc2O1
chromone | O=c1ccoc2ccccc12
chromanone | O=C1CCOc2ccccc21
pyranone | O=c1ccocc1
pyranone | O=c1cccco1
tropone | O=c1cccccc1
pyridone | O=c1cccc[nH]1
pyridone | O=c1cc[nH]cc1
pyrimidinone | O=c1cc[nH]cn1
pyrimidinone | O=c1nccc[nH]1
pyridazinone | O=c1cccn[nH]1
uracil | O=c1cc[nH]c(=O)[nH]1
thiouracil | O=c1cc[nH]c(=S)[nH]1
triazinone | O=c1cn[nH]cn1
triazinone | O=c1ncnc[nH]1
triazinedione | O=c1cn[nH]c(=O)[nH]1
triazinedione | O=c1nc[nH]c(=O)[nH]1
isocyanuric acid | O=c1[nH]c(=O)[nH]c(=O)[nH]1
dihydrouracil | O=C1CCNC(=O)N1
quinolone | O=c1cc[nH]c2ccccc12
quinolone | O=c1ccc2ccccc2[nH]1
isoquinolone | O=c1[nH]ccc2ccccc12
quinazolinone | O=c1[nH]cnc2ccccc12
quinazolinedione | O=c1[nH]c(=O)c2ccccc2[nH]1
quinoxalinone | O=c1cnc2ccccc2[nH]1
phthalazinone | O=c1[nH]ncc2ccccc12
naphthyridinone | O=c1cc[nH]c2ncccc12
hypoxanthine | O=c1[nH]cnc2[nH]cnc12
xanthine | O=c1[nH]c(=O)c2[nH]cnc2[nH]1
uric acid | O=c1[nH]c(=O)c2[nH]c(=O)[nH]c2[nH]1
pterin | O=c1[nH]cnc2nccnc12
flavin | O=c1nc2[nH]c3ccccc3nc-2c(=O)[nH]1
pyrazolone | O=c1cc[nH][nH]1
pyrazolone | O=C1CC=NN1
pyrazolidinedione | O=C1CC(=O)NN1
imidazolone | O=c1[nH]cc[nH]1
triazolone | O=c1[nH]cn[nH]1
oxadiazolone | O=c1[nH]cno1
oxadiazolone | O=c1[nH]nco1
thiazolone | O=c1[nH]ccs1
isothiazolone | O=c1ccs[nH]1
oxazolone | O=C1CN=CO1
benzimidazolone | O=c1[nH]c2ccccc2[nH]1
benzoxazolone | O=c1[nH]c2ccccc2o1
benzothiazolone | O=c1[nH]c2ccccc2s1
benzisothiazolone | O=c1[nH]sc2ccccc12
saccharin | O=C1NS(=O)(=O)c2ccccc21
benzothiadiazine dioxide | O=S1(=O)N=CNc2ccccc21
dihydrobenzothiadiazine dioxide | O=S1(=O)NCNc2ccccc21
benzodiazepinone | O=C1CN=Cc2ccccc2N1
benzodiazepinone | O=C1CNCc2ccccc2N1
benzodiazepinedione | O=C1CNC(=O)c2ccccc2N1
benzodiazepinedione | O=C1CC(=O)Nc2ccccc2N1
dibenzodiazepinone | O=C1Nc2ccccc2Nc2ccccc21
dibenzodiazepinone | O=C1Nc2ccccc2Nc2ncccc21
oxindole | O=C1Cc2ccccc2N1
isatin | O=C1Nc2ccccc2C1=O
phthalimide | O=C1NC(=O)c2ccccc21
isoindolinone | O=C1NCc2ccccc21
naphthalimide | O=C1NC(=O)c2cccc3cccc1c23
phthalide | O=C1OCc2ccccc21
phthalic anhydride | O=C1OC(=O)c2ccccc21
naphthalic anhydride | O=C1OC(=O)c2cccc3cccc1c23
isatoic anhydride | O=c1[nH]c2ccccc2c(=O)o1
indanone | O=C1CCc2ccccc21
indanedione | O=C1CC(=O)c2ccccc21
tetralone | O=C1CCCc2ccccc21
dihydroquinolinone | O=C1CCc2ccccc2N1
succinimide | O=C1CCC(=O)N1
maleimide | O=C1C=CC(=O)N1
glutarimide | O=C1CCCC(=O)N1
tetrahydrophthalimide | O=C1NC(=O)C2CC=CCC12
hexahydrophthalimide | O=C1NC(=O)C2CCCCC12
barbiturate | O=C1CC(=O)NC(=O)N1
thiobarbiturate | O=C1CC(=O)NC(=S)N1
hydantoin | O=C1CNC(=O)N1
thiohydantoin | O=C1CNC(=S)N1
imidazolidinone | O=C1NCCN1
imidazolidinethione | S=C1NCCN1
oxazolidinone | O=C1NCCO1
oxazolidinedione | O=C1COC(=O)N1
thiazolidinone | O=C1CSCN1
thiazolidinedione | O=C1CSC(=O)N1
rhodanine | O=C1CSC(=S)N1
thiadiazole thione | S=c1[nH]ncs1
triazole thione | S=c1[nH]cn[nH]1
imidazole thione | S=c1[nH]cc[nH]1
pyrimidine thione | S=c1nccc[nH]1
pyrimidine thione | S=c1cc[nH]cn1
pyridine thione | S=c1cccc[nH]1
benzimidazole thione | S=c1[nH]c2ccccc2[nH]1
benzothiazole thione | S=c1[nH]c2ccccc2s1
benzoxazole thione | S=c1[nH]c2ccccc2o1
purine thione | S=c1[nH]cnc2[nH]cnc12
1,2-dithiole thione | S=c1ccss1
diketopiperazine | O=C1CNC(=O)CN1
pyrrolidinone (γ-lactam) | O=C1CCCN1
piperidinone (δ-lactam) | O=C1CCCCN1
caprolactam (ε-lactam) | O=C1CCCCCN1
4-piperidone | O=C1CCNCC1
γ-lactone | O=C1CCCO1
butenolide | O=C1C=CCO1
2-furanone | O=C1CC=CO1
δ-lactone | O=C1CCCCO1
dihydropyranone | O=C1C=CCCO1
dihydropyranone | O=C1C=COCC1
ε-lactone | O=C1CCCCCO1
ethylene carbonate ring | O=C1OCCO1
maleic anhydride | O=C1C=CC(=O)O1
succinic anhydride | O=C1CCC(=O)O1
glutaric anhydride | O=C1CCCC(=O)O1
tetrahydrophthalic anhydride | O=C1OC(=O)C2CC=CCC12
hexahydrophthalic anhydride | O=C1OC(=O)C2CCCCC12
sultone | O=S1(=O)CCCO1
sultone | O=S1(=O)CCCCO1
sultam | O=S1(=O)CCCN1
cyclic sulfate | O=S1(=O)OCCO1
cyclic sulfate | O=S1(=O)OCCCO1
cyclic sulfite | O=S1OCCO1
cyclic sulfite | O=S1OCCCO1
sulfolane | O=S1(=O)CCCC1
sulfolene | O=S1(=O)CC=CC1
oxazaphosphinane (cyclophosphamide ring) | O=[PH]1NCCCO1
dioxaphosphinane | O=[PH]1OCCCO1
benzodioxaphosphinine | O=[PH]1OCc2ccccc2O1
cyclopentanone | O=C1CCCC1
cyclopentenone | O=C1C=CCC1
cyclohexanone | O=C1CCCCC1
cyclohexenone | O=C1C=CCCC1
cyclohexadienone | O=C1C=CCC=C1
cyclohexanedione | O=C1CCCC(=O)C1
cyclobutanone | O=C1CCC1
camphor skeleton | O=C1CC2CCC1C2
""".strip().splitlines()
]
