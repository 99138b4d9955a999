"""The view "elements": atoms by element, bonds by order."""

from __future__ import annotations

import numpy as np
import pytest

import isonn
from isonn.errors import InputError

pytest.importorskip("rdkit")


@pytest.mark.filterwarnings("ignore:.*never seen in training")
def test_a_fragment_is_one_template_however_it_is_attached():
    chlorides = ["CCl", "CCCl", "CC(C)Cl", "CC(C)(C)Cl", "ClC1CCCCC1"]
    others = ["C", "CC", "CCC", "CC(C)C", "C1CCCCC1"]
    clf = isonn.SubgraphClassifier(max_nodes=2, view="elements", head="linear", random_state=0)
    clf.fit(chlorides[:4] + others[:4], [1] * 4 + [0] * 4)
    assert clf.predict([chlorides[4], others[4]]).tolist() == [1, 0]
    column, template = next((i, t) for i, t in enumerate(clf.templates_) if sorted(t.node_labels) == ["[C]", "[Cl]"])
    assert template.edge_labels[0, 1] == "-"
    np.testing.assert_array_equal(clf.vectorizer_.transform(chlorides + others).toarray()[:, column], [1] * 5 + [0] * 5)


def test_a_model_with_this_view_can_be_saved(tmp_path):
    smiles = ["CCl", "CCCl", "CC", "CCC"]
    clf = isonn.SubgraphClassifier(view=("elements", "labels"), head="linear", random_state=0).fit(smiles, [1, 1, 0, 0])
    clf.save(tmp_path / "model")
    same = isonn.load_model(tmp_path / "model")
    np.testing.assert_array_equal(same.predict_proba(smiles), clf.predict_proba(smiles))


def test_other_graphs_have_no_elements():
    with pytest.raises(InputError, match="is not an atom of isonn.molecules"):
        isonn.SubgraphClassifier(view="elements").fit(isonn.load("MUTAG"))
    with pytest.raises(InputError, match="view='elements' needs molecules"):
        isonn.SubgraphClassifier(view="elements").fit([np.ones((2, 2))] * 2, [0, 1])
