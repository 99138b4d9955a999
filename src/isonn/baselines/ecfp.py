"""ECFP4 fingerprints with standard learners, the usual baselines in chemistry. Needs rdkit (extra ``molecules``)."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV

from isonn.baselines.simple import FeatureClassifier, FeatureRegressor
from isonn.errors import InputError, naming_the_extra
from isonn.estimator import GraphEstimator
from isonn.graphs.graph import GraphSet
from isonn.heads.boosting import ROUNDS, import_lightgbm, settings_for
from isonn.seeding import derive_seed, resolve_seed

RADIUS, BITS, TREES = 2, 2048, 200
#: Largest number of molecules whose fingerprints are kept; a fingerprint is about 50 columns.
_MOST_KEPT = 50_000
#: Columns and counts of each molecule's fingerprint, by SMILES and standardisation: all folds and methods of a run
#: parse it once.
_KEPT: dict[tuple[str, str], tuple[NDArray[np.int64], NDArray[np.float64]]] = {}


def fingerprints(graphs: GraphSet, counts: bool = False) -> NDArray[np.float64]:
    """Compute ECFP4 fingerprints of 2048 columns, shape (g, 2048), from the SMILES in ``graphs.table["smiles"]``.

    Molecules are standardised as the graphs were.

    Args:
        counts: whether to count environments; otherwise columns are bits.

    Example:
        >>> fingerprints(isonn.molecules.from_smiles(["CCO", "CCO.Cl"]), counts=True).sum(axis=1).tolist()
        [6.0, 6.0]
    """
    if "smiles" not in graphs.table:
        raise InputError(f"{graphs.name} holds no SMILES; ECFP is for molecules read from SMILES or SDF files")
    texts = [str(text) for text in graphs.table["smiles"].tolist()]
    modes = [str(mode) for mode in graphs.table.get("standardize", np.full(len(graphs), "none")).tolist()]
    features = np.zeros((len(graphs), BITS))
    for i, key in enumerate(zip(texts, modes, strict=True)):
        if key not in _KEPT:
            if len(_KEPT) >= _MOST_KEPT:
                _KEPT.clear()
            _KEPT[key] = _environments(*key, i)
        columns, values = _KEPT[key]
        features[i, columns] = values if counts else 1
    return features


def _environments(smiles: str, mode: str, i: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the columns of a molecule's environments and how often each occurs."""
    with naming_the_extra("ECFP"):
        from rdkit.Chem import rdFingerprintGenerator
    standardize = importlib.import_module("isonn.molecules").standardize
    try:
        molecule = standardize(smiles, mode).mol
    except InputError as error:
        raise InputError(
            f"graph {i} has the SMILES {smiles!r:.100}, which RDKit cannot read; drop the graph"
        ) from error
    maker = rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS, fpSize=BITS)
    environments = maker.GetCountFingerprint(molecule).GetNonzeroElements()
    return np.array(list(environments), dtype=np.int64), np.array(list(environments.values()), dtype=np.float64)


class _ECFP(GraphEstimator):
    _standardised = False

    def _features(self, graphs: GraphSet) -> Any:
        return fingerprints(graphs)

    def _unsupported(self, graphs: GraphSet) -> str | None:
        if "smiles" not in graphs.table:
            return f"{graphs.name} holds no SMILES; ECFP is for molecules"
        return super()._unsupported(graphs)


@dataclass(eq=False, repr=False)
class _SeededECFP(_ECFP):
    random_state: Any = None

    def _seed(self) -> int:
        return derive_seed(resolve_seed(self.random_state), "forest") % 2**32


class _Trees(_SeededECFP):
    """LightGBM with the settings of the trees that read pieces, so that both can be compared."""

    def _features(self, graphs: GraphSet) -> Any:
        return csr_matrix(fingerprints(graphs, counts=True))

    def _model(self, features: Any) -> Any:
        target, lightgbm = self.target_, import_lightgbm()
        several = target.exclusive and len(target.classes) > 2
        objective = "regression" if target.numeric else "multiclass" if several else "binary"
        model = lightgbm.LGBMRegressor if target.numeric else lightgbm.LGBMClassifier
        graphs, columns = features.shape
        return model(n_estimators=ROUNDS, **settings_for(objective, graphs, columns, self._seed()))


class ECFPForestClassifier(_SeededECFP, FeatureClassifier):
    """A random forest of 200 trees on ECFP4 fingerprints.

    Args:
        random_state: seed of the trees.

    Example:
        >>> clf = ECFPForestClassifier(random_state=0).fit(["CCO", "CCCO", "CCN", "CCCN"], ["OH", "OH", "NH2", "NH2"])
        >>> clf.predict(["CCCCO"]).tolist()
        ['OH']
    """

    def _model(self, features: Any) -> Any:
        return RandomForestClassifier(TREES, random_state=self._seed())


class ECFPForestRegressor(_SeededECFP, FeatureRegressor):
    """A random forest of 200 trees on ECFP4 fingerprints.

    Args:
        random_state: seed of the trees.

    Example:
        >>> ECFPForestRegressor(random_state=0).fit(["CCO", "CCCO", "CCCCO"], [3.0, 4.0, 5.0]).predict(["CCCCCO"]).shape
        (1,)
    """

    def _model(self, features: Any) -> Any:
        return RandomForestRegressor(TREES, random_state=self._seed())


@dataclass(eq=False, repr=False)
class ECFPLinearClassifier(_ECFP, FeatureClassifier):
    """Logistic regression (L2) on ECFP4 fingerprints.

    Args:
        C: inverse strength of the penalty.

    Example:
        >>> clf = ECFPLinearClassifier().fit(["CCO", "CCCO", "CCN", "CCCN"], ["OH", "OH", "NH2", "NH2"])
        >>> clf.predict(["CCCCO"]).tolist()
        ['OH']
    """

    C: float = 0.1

    def _model(self, features: Any) -> Any:
        return LogisticRegression(C=self.C, max_iter=1000)


class ECFPLinearRegressor(_ECFP, FeatureRegressor):
    """Ridge regression on ECFP4 fingerprints, with the penalty chosen by leave-one-out.

    Example:
        >>> ECFPLinearRegressor().fit(["CCO", "CCCO", "CCCCO"], [3.0, 4.0, 5.0]).predict(["CCCCCO"]).shape
        (1,)
    """

    def _model(self, features: Any) -> Any:
        return RidgeCV(np.logspace(-1, 3, 9))


class ECFPTreesClassifier(_Trees, FeatureClassifier):
    """Boosted trees (LightGBM, settings of isonn's own trees) on ECFP4 counts, a strong baseline for most assays.

    Args:
        random_state: seed of the samples of rows and columns.

    Example:
        >>> smiles = ["CCO", "CCCO", "CCN", "CCCN"] * 5
        >>> clf = ECFPTreesClassifier(random_state=0).fit(smiles, [text[-1] for text in smiles])
        >>> clf.predict(["CCCCO"]).tolist()
        ['O']
    """


class ECFPTreesRegressor(_Trees, FeatureRegressor):
    """Boosted trees (LightGBM, settings of isonn's own trees) on ECFP4 counts.

    Args:
        random_state: seed of the samples of rows and columns.

    Example:
        >>> smiles = ["C" * n + "O" for n in range(1, 21)]
        >>> ECFPTreesRegressor(random_state=0).fit(smiles, np.arange(20.0)).predict(["CCCCCO"]).shape
        (1,)
    """
