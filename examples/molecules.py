"""Molecules: which atoms say that a compound is mutagenic? MUTAG, 188 nitroaromatic compounds."""

import numpy as np

import isonn
from isonn.graphs.splits import stratified_folds

graphs = isonn.load("MUTAG")  # y is 1 for mutagenic compounds, -1 for the others
print(graphs)

train, test = stratified_folds(graphs.y, n_folds=3, seed=0)[0]
clf = isonn.SubgraphClassifier(n_templates=8, random_state=0).fit(graphs[train], graphs.y[train])
accuracy = clf.score(graphs[test], graphs.y[test])
majority = (graphs.y[test] == 1).mean()
print(f"accuracy on {len(test)} unseen compounds {accuracy:.2f}; always saying mutagenic gets {majority:.2f}\n")

# Why does the model call this compound what it does?
compound = graphs[int(test[graphs.y[test] == 1][0])]
explanation = clf.explain(compound)
print(explanation.summary(top=3))


def atom(node: int) -> str:
    return f"{graphs.node_label_names.get(compound.node_labels[node], compound.node_labels[node])}{node}"


top = explanation.matches[0]
print("\ntemplate node -> atom:", ", ".join(f"{j} -> {atom(node)}" for j, node in enumerate(top.nodes)))
column = explanation.classes.tolist().index(explanation.label)
before, after = explanation.probabilities[column], explanation.without(top)[column]
print(f"probability of class {explanation.label} with that match {before:.3f}, without it {after:.3f}")

importance = explanation.node_importance
print("atoms that count most:", ", ".join(f"{atom(v)} {importance[v]:+.2f}" for v in np.argsort(-importance)[:5]), "\n")

# What did the model learn? The pieces that mark mutagenic compounds, with the training compounds that hold them.
for reason in clf.reasons_[1][:4]:
    print(reason)
