"""`isonn predict --unseen`: how much of a graph the model has never seen."""

from __future__ import annotations

import csv
import io

from tests_commands import refused, run

import isonn


def test_the_share_of_unseen_subgraphs_is_a_column(mutag, tmp_path):
    clf = isonn.SubgraphClassifier(head="linear", random_state=0).fit(mutag[:50])
    clf.save(tmp_path / "model")
    rows = list(csv.DictReader(io.StringIO(run("predict", tmp_path / "model", "MUTAG", "--unseen").stdout)))
    assert [float(row["unseen"]) for row in rows] == [round(share, 4) for share in clf.unseen_share(mutag)]


def test_models_without_a_vocabulary_refuse_it(mutag, tmp_path):
    isonn.IsoNNClassifier(k=2, c=1, epochs=1, hidden=(4,), random_state=0).fit(mutag).save(tmp_path / "model")
    refused(run("predict", tmp_path / "model", "MUTAG", "--unseen"), "--unseen needs a subgraph model")
