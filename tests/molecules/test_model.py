"""Models of molecules: the standardisation they were fitted with, and their terms."""

from __future__ import annotations

import numpy as np
import pytest

import isonn
from isonn.errors import InputError

SMILES = [f"{'C' * n}{end}" for n in range(2, 9) for end in ("N", "O", "C(=O)O", "c1ccccc1")]
Y = [int(smiles.endswith("N")) for smiles in SMILES]


@pytest.fixture(scope="module")
def clf():
    return isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(SMILES, Y)


def test_a_salt_is_predicted_as_its_base_also_by_a_saved_model(clf, tmp_path):
    clf.save(tmp_path / "model")
    for model in (clf, isonn.load_model(tmp_path / "model")):
        np.testing.assert_allclose(model.predict_proba(["CCCN.Cl"]), model.predict_proba(["CCCN"]))


def test_a_model_fitted_without_standardisation_predicts_without_it(tmp_path):
    graphs = isonn.molecules.from_smiles([*SMILES, "CCN.Cl", "CCO.Cl"], [*Y, 1, 0], standardize="none")
    raw = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(graphs)
    raw.save(tmp_path / "model")
    again = isonn.load_model(tmp_path / "model")
    assert abs(again.predict_proba(["CCCN.Cl"]) - again.predict_proba(["CCCN"])).max() > 1e-6
    with pytest.raises(InputError, match="standardize"):
        again.predict(isonn.molecules.from_smiles(["CCCN.Cl"]))


def test_one_molecule_is_predicted_and_explained_by_its_smiles(clf):
    assert clf.predict("CCCN").tolist() == [1]
    e = clf.explain("CCCN")
    rest = sum(part.contribution for part in e.absent + e.terms)
    assert e.node_importance.sum() + rest == pytest.approx(e.score - e.base, abs=1e-9)
    assert {"rotatable bonds", "nodes"} >= {term.name for term in e.terms} & {"rotatable bonds", "nodes"}
