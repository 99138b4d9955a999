"""ECFP baselines, against RDKit and scikit-learn used directly."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import isonn
from isonn.baselines import (
    ECFPForestClassifier,
    ECFPForestRegressor,
    ECFPLinearClassifier,
    ECFPLinearRegressor,
    ECFPTreesClassifier,
    ECFPTreesRegressor,
)
from isonn.baselines.ecfp import fingerprints
from isonn.errors import InputError
from isonn.experiments.study import unsupported_reason
from isonn.heads.boosting import settings_for

Chem = pytest.importorskip("rdkit.Chem")
SMILES = [f"{'C' * n}{end}" for n in range(1, 9) for end in ("O", "N", "Cl", "c1ccccc1", "C(=O)O")]
TOXIC = np.array([int("Cl" in smiles or "c1" in smiles) for smiles in SMILES])


@pytest.fixture(scope="module")
def molecules() -> isonn.GraphSet:
    return isonn.molecules.from_smiles(SMILES)


def test_fingerprints_are_morgan_of_radius_2_with_2048_bits(molecules: isonn.GraphSet) -> None:
    from rdkit.Chem import rdMolDescriptors
    from rdkit.rdBase import BlockLogs

    with BlockLogs():
        expected = [
            list(rdMolDescriptors.GetMorganFingerprintAsBitVect(Chem.MolFromSmiles(smiles), 2, nBits=2048))
            for smiles in SMILES
        ]
    np.testing.assert_array_equal(fingerprints(molecules), expected)


def test_classes_are_learned_and_the_linear_one_is_a_logistic_regression(molecules: isonn.GraphSet) -> None:
    bits = fingerprints(molecules)
    model = ECFPLinearClassifier(C=0.5).fit(molecules[:30], TOXIC[:30])
    expected = LogisticRegression(C=0.5, max_iter=1000).fit(bits[:30], TOXIC[:30]).predict_proba(bits[30:])
    np.testing.assert_allclose(model.predict_proba(molecules[30:]), expected)
    forest = ECFPForestClassifier(random_state=0).fit(molecules[:30], TOXIC[:30])
    assert forest.score(molecules[30:], TOXIC[30:]) == 1


def test_numbers_and_labels_with_gaps_are_learned(molecules: isonn.GraphSet) -> None:
    y = np.column_stack([TOXIC, 1 - TOXIC]).astype(float)
    y[::5, 1] = np.nan
    model = ECFPLinearClassifier(C=10).fit(molecules, y)
    np.testing.assert_array_equal(model.predict(molecules), np.column_stack([TOXIC, 1 - TOXIC]))
    for regressor in (ECFPLinearRegressor(), ECFPForestRegressor(random_state=0)):
        assert regressor.fit(molecules, TOXIC * 3.5).score(molecules, TOXIC * 3.5) > 0.9


def test_graphs_without_smiles_are_refused(mutag: isonn.GraphSet) -> None:
    with pytest.raises(InputError, match="MUTAG holds no SMILES; ECFP is for molecules"):
        ECFPLinearClassifier().fit(mutag)
    assert unsupported_reason("ecfp-forest", {}, mutag) == "MUTAG holds no SMILES; ECFP is for molecules"


def test_counts_are_those_of_rdkit(molecules: isonn.GraphSet) -> None:
    from rdkit.Chem import rdFingerprintGenerator

    maker = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    expected = [maker.GetCountFingerprintAsNumPy(Chem.MolFromSmiles(smiles)) for smiles in SMILES]
    np.testing.assert_array_equal(fingerprints(molecules, counts=True), expected)
    np.testing.assert_array_equal(fingerprints(molecules[::-1], counts=True), expected[::-1])


def test_a_base_and_its_salt_have_one_fingerprint_unless_standardisation_is_off() -> None:
    pair = ["CCN", "CC[NH3+].[Cl-]"]
    same = fingerprints(isonn.molecules.from_smiles(pair))
    np.testing.assert_array_equal(same[0], same[1])
    other = fingerprints(isonn.molecules.from_smiles(pair, standardize="none"))
    assert (other[0] != other[1]).any()


def test_trees_are_lightgbm_with_the_settings_of_the_trees_head_and_repeat_exactly(molecules: isonn.GraphSet) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    from scipy.sparse import csr_matrix

    model = ECFPTreesClassifier(random_state=3).fit(molecules, TOXIC)
    found = model.predict_proba(molecules)
    np.testing.assert_array_equal(
        ECFPTreesClassifier(random_state=3).fit(molecules, TOXIC).predict_proba(molecules), found
    )
    seed = model.models_[0].get_params()["seed"]
    settings = settings_for("binary", *fingerprints(molecules).shape, seed)
    data = lightgbm.Dataset(csr_matrix(fingerprints(molecules, counts=True)), TOXIC)
    expected = lightgbm.train(settings, data, 300).predict(fingerprints(molecules, counts=True))
    np.testing.assert_allclose(found[:, 1], expected, rtol=1e-6)
    numbers = ECFPTreesRegressor(random_state=0).fit(molecules, TOXIC * 3.5)
    assert numbers.score(molecules, TOXIC * 3.5) > 0.9
