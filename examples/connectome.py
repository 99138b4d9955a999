"""A connectome study: a folder of matrices, a table of subjects and an atlas, with a known difference between groups.

Four regions, anywhere in the atlas, are more strongly connected in patients. Needs `pip install 'isonn[connectomes]'`
for the interactive brain.
"""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, cross_val_score

import isonn
from isonn.connectomes import Atlas, brain_page, findings, planted_connectomes, stability

study = planted_connectomes(n_subjects=60, n_regions=90, seed=1)
subjects = study.graphs

# What your own study looks like on disk: participants.tsv, atlas.csv, and a matrix per subject.
folder = Path(tempfile.mkdtemp())
rows = [f"{s.id}\t{y}\t{s.row['age']:.0f}\t{s.row['site']}" for s, y in zip(subjects, subjects.y, strict=True)]
(folder / "participants.tsv").write_text("\n".join(["participant_id\tgroup\tage\tsite", *rows]))
regions = [
    f"{name},{x:.0f},{y:.0f},{z:.0f}" for name, (x, y, z) in zip(subjects[0].node_names, study.coordinates, strict=True)
]
(folder / "atlas.csv").write_text("\n".join(["name,x,y,z", *regions]))
for subject in subjects:
    np.save(folder / f"{subject.id}.npy", subject.adjacency)

graphs = isonn.load(folder, target="group")
print(graphs)

clf = isonn.AlignedClassifier(random_state=0)
folds = StratifiedGroupKFold(3)  # no site is trained on and tested
accuracy = cross_val_score(clf, graphs, graphs.y, groups=graphs.table["site"], cv=folds)
print(f"accuracy on sites the model has not seen: {accuracy.mean():.2f}\n")

found = stability(clf, graphs, label="patient", cv=5)
print(found, "\n")
truth = {f"region {i + 1}" for i in study.regions}
print("planted:", " + ".join(sorted(truth)))
print("found exactly:", set(found.subnetworks[0].regions.split(" + ")) == truth, "\n")

clf.fit(graphs)
print(findings(clf.explain(graphs[0])))
found.to_csv(folder / "connections.csv")
brain_page(found, folder / "brain.html", atlas=Atlas(subjects[0].node_names, study.coordinates))
print(f"\nopen {folder / 'brain.html'}")
