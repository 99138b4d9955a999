"""ECFP4 fingerprints with standard learners, the usual baselines in chemistry. Needs rdkit (extra ``molecules``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV

from isonn.baselines.simple import FeatureClassifier, FeatureRegressor
from isonn.errors import InputError, naming_the_extra
from isonn.estimator import GraphEstimator
from isonn.graphs.graph import GraphSet
from isonn.seeding import derive_seed, resolve_seed

RADIUS, BITS, TREES = 2, 2048, 200


def fingerprints(graphs: GraphSet) -> NDArray[np.float64]:
    """Compute ECFP4 fingerprints of 2048 bits, shape (g, 2048), from the SMILES in ``graphs.table["smiles"]``."""
    with naming_the_extra("ECFP"):
        from rdkit import Chem
        from rdkit.Chem import rdFingerprintGenerator
        from rdkit.rdBase import BlockLogs
    if "smiles" not in graphs.table:
        raise InputError(f"{graphs.name} holds no SMILES; ECFP is for molecules read from SMILES or SDF files")
    maker = rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS, fpSize=BITS)
    bits = np.zeros((len(graphs), BITS))
    with BlockLogs():
        for i, smiles in enumerate(graphs.table["smiles"].tolist()):
            molecule = Chem.MolFromSmiles(str(smiles))
            if molecule is None:
                raise InputError(f"graph {i} has the SMILES {smiles!r}, which RDKit cannot read; drop the graph")
            bits[i] = maker.GetFingerprintAsNumPy(molecule)
    return bits


class _ECFP(GraphEstimator):
    _standardised = False

    def _features(self, graphs: GraphSet) -> NDArray[np.float64]:
        return fingerprints(graphs)

    def _unsupported(self, graphs: GraphSet) -> str | None:
        if "smiles" not in graphs.table:
            return f"{graphs.name} holds no SMILES; ECFP is for molecules"
        return super()._unsupported(graphs)


class ECFPForestClassifier(_ECFP, FeatureClassifier):
    """A random forest of 200 trees on ECFP4 fingerprints.

    Args:
        random_state: seed of the trees.

    Example:
        >>> clf = ECFPForestClassifier(random_state=0).fit(["CCO", "CCCO", "CCN", "CCCN"], ["OH", "OH", "NH2", "NH2"])
        >>> clf.predict(["CCCCO"]).tolist()
        ['OH']
    """

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def _model(self) -> Any:
        return RandomForestClassifier(TREES, random_state=_seed(self.random_state))


class ECFPForestRegressor(_ECFP, FeatureRegressor):
    """A random forest of 200 trees on ECFP4 fingerprints.

    Args:
        random_state: seed of the trees.

    Example:
        >>> ECFPForestRegressor(random_state=0).fit(["CCO", "CCCO", "CCCCO"], [3.0, 4.0, 5.0]).predict(["CCCCCO"]).shape
        (1,)
    """

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def _model(self) -> Any:
        return RandomForestRegressor(TREES, random_state=_seed(self.random_state))


class ECFPLinearClassifier(_ECFP, FeatureClassifier):
    """Logistic regression (L2) on ECFP4 fingerprints.

    Args:
        C: inverse strength of the penalty.

    Example:
        >>> clf = ECFPLinearClassifier().fit(["CCO", "CCCO", "CCN", "CCCN"], ["OH", "OH", "NH2", "NH2"])
        >>> clf.predict(["CCCCO"]).tolist()
        ['OH']
    """

    def __init__(self, C: float = 0.1) -> None:
        self.C = C

    def _model(self) -> Any:
        return LogisticRegression(C=self.C, max_iter=1000)


class ECFPLinearRegressor(_ECFP, FeatureRegressor):
    """Ridge regression on ECFP4 fingerprints, with the penalty chosen by leave-one-out.

    Example:
        >>> ECFPLinearRegressor().fit(["CCO", "CCCO", "CCCCO"], [3.0, 4.0, 5.0]).predict(["CCCCCO"]).shape
        (1,)
    """

    def _model(self) -> Any:
        return RidgeCV(np.logspace(-1, 3, 9))


def _seed(random_state: Any) -> int:
    return derive_seed(resolve_seed(random_state), "forest") % 2**32
