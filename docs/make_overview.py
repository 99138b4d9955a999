"""Draw docs/images/overview.svg: one molecule of MUTAG, the template it is matched with, and where it matches.

Run with `.venv/bin/python docs/make_overview.py`.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import networkx
import numpy as np
import torch

import isonn
from isonn.matching import best_permutation, cut_windows

COLOURS = {
    "C": "#4a4a4a",
    "N": "#2f5fd0",
    "O": "#d0342c",
    "F": "#3a9d23",
    "I": "#7b3fa0",
    "Cl": "#3a9d23",
    "Br": "#8a4b2a",
}
GRAPH, K = 3, 4
ORANGE, BLUE = "#e07b00", "#1b6ca8"


def main() -> None:
    graphs = isonn.load("MUTAG")
    clf = isonn.IsoNNClassifier(k=K, c=1, epochs=130, random_state=0).fit(graphs)
    template = clf.templates_[0].adjacency
    graph = graphs[GRAPH]
    maps = clf.transform(graphs[[GRAPH]]).reshape(28 - K + 1, 28 - K + 1)
    inside = maps[: graph.n - K + 1, : graph.n - K + 1]
    row, column = np.unravel_index(inside.argmax(), inside.shape)
    window = cut_windows(torch.from_numpy(graphs[[GRAPH]].dense()), K)[0, row, column]
    order = best_permutation(torch.from_numpy(template), window).tolist()

    plt.rcParams["svg.hashsalt"] = "isonn"
    plt.rcParams["font.size"] = 9
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(11, 3.6), width_ratios=(1.5, 1, 1), constrained_layout=True
    )
    draw_molecule(left, graphs, range(row, row + K), range(column, column + K))
    template = template[np.ix_(order, order)]  # in the order that won
    middle.set_title("the template, in the order that fits")
    middle.imshow(template, cmap="RdBu_r", vmin=-2, vmax=2)
    middle.set_xticks(range(K), range(column, column + K), color=BLUE)
    middle.set_yticks(range(K), range(row, row + K), color=ORANGE)
    for (i, j), value in np.ndenumerate(template):
        middle.text(
            j,
            i,
            f"{value:.1f}",
            ha="center",
            va="center",
            fontsize=8,
            color="white" if abs(value) > 1.3 else "black",
        )
    right.set_title("where the graph looks like it")
    right.imshow(inside, cmap="viridis")
    right.plot(column, row, marker="s", mfc="none", mec="red", markersize=10)
    right.set(xlabel="window starts at column", ylabel="and row", xticks=range(0, 16, 5), yticks=range(0, 16, 5))
    path = Path(__file__).parent / "images" / "overview.svg"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def draw_molecule(axis: plt.Axes, graphs: isonn.GraphSet, rows: range, columns: range) -> None:
    """Atoms of the window's rows in orange, of its columns in blue, and the bonds the window sees."""
    graph = graphs[GRAPH]
    molecule = networkx.from_numpy_array(graph.adjacency)
    position = networkx.kamada_kawai_layout(molecule)
    symbols = [graphs.node_label_names[label] for label in graph.node_labels.tolist()]
    seen = [(a, b) for a, b in molecule.edges if (a in rows and b in columns) or (b in rows and a in columns)]
    networkx.draw_networkx_edges(molecule, position, ax=axis, edge_color="#999999", width=1.5)
    networkx.draw_networkx_edges(molecule, position, edgelist=seen, ax=axis, edge_color="#222222", width=4)
    fills = [ORANGE if node in rows else BLUE if node in columns else "white" for node in molecule]
    networkx.draw_networkx_nodes(molecule, position, ax=axis, node_color=fills, node_size=230)
    for node, (x, y) in position.items():
        chosen = node in rows or node in columns
        colour = "white" if chosen else COLOURS[symbols[node]]
        axis.text(x, y, symbols[node], color=colour, ha="center", va="center", weight="bold")
        if chosen:
            axis.annotate(str(node), (x, y), xytext=(8, 7), textcoords="offset points", fontsize=8)
    axis.set_title(f"compound {GRAPH} of MUTAG: the window it matches best")
    axis.axis("off")


if __name__ == "__main__":
    main()
