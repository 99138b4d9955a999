"""Brain networks: correlations between named regions, and a group difference that is known because it was planted.

Patients have a coupling between hippocampus, amygdala and insula of the left side that controls lack. Nodes of a
brain atlas have a fixed order, which is what windows of the adjacency matrix are for.
"""

import tempfile
from pathlib import Path

import numpy as np

import isonn
from isonn.graphs.splits import stratified_folds

REGIONS = ("frontal", "hippocampus", "amygdala", "insula", "caudate", "temporal", "parietal", "occipital")
NAMES = [f"{region} {side}" for side in ("left", "right") for region in REGIONS]
AFFECTED = [1, 2, 3]  # hippocampus, amygdala and insula of the left side

draw = np.random.default_rng(0)
y = np.arange(60) % 2  # 1 is a patient


def correlations(patient: bool) -> np.ndarray:
    signals = draw.normal(size=(120, len(NAMES))) + 0.7 * draw.normal(size=(120, 1))  # what all regions share
    if patient:
        signals[:, AFFECTED] += draw.normal(size=(120, 1))
    return np.corrcoef(signals, rowvar=False) - np.eye(len(NAMES))


# The file to make of your own scans: matrices, labels and, if you have them, the names of the regions.
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "study.npz"
    np.savez(file, adjacency=np.stack([correlations(label == 1) for label in y]), labels=y, names=NAMES)
    graphs = isonn.load(file)
print(graphs)

train, test = stratified_folds(graphs.y, n_folds=3, seed=0)[0]
clf = isonn.IsoNNClassifier(k=3, c=2, epochs=100, random_state=0).fit(graphs[train], graphs.y[train])
print(f"accuracy on {len(test)} unseen subjects: {clf.score(graphs[test], graphs.y[test]):.2f}\n")

patients = [graphs[int(i)] for i in test if graphs.y[i] == 1]
explanation = clf.explain(patients[0], label=1)
print(explanation.summary(top=3), "\n")

importance = np.mean([clf.explain(patient, label=1).node_importance for patient in patients], axis=0)
print("regions that speak for a patient most, mean over the unseen patients:")
for node in np.argsort(-importance)[:5]:
    print(f"  {importance[node]:+.3f}  {NAMES[node]}{'  (planted)' if node in AFFECTED else ''}")
