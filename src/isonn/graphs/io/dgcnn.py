"""Reader of the text format of DGCNN and GIN, with all graphs in one file.

The file starts with the number of graphs. Each graph has a line ``n class`` and one line per node:
``label degree neighbour ... [attribute ...]``, neighbours counted from 0 within the graph.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from isonn.errors import DatasetError
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.registry import Reader
from isonn.graphs.io.tables import is_table
from isonn.graphs.join import graphset_from_cells


class TextReader(Reader):
    """Reader of DGCNN and GIN text files.

    Graphs are undirected, even if only one of two neighbours lists the other. Numbers after the neighbours are node
    attributes; every node must have the same number of them. The set is named after the file.
    """

    name = "text"
    expects = "a .txt file of DGCNN or GIN"

    def recognises(self, path: Path) -> bool:
        """Return whether the path is a ``.txt`` file that does not begin like a table of molecules."""
        return path.suffix.lower() == ".txt" and not path.is_dir() and not is_table(path)

    def read(self, path: Path) -> GraphSet:
        """Read the graphs of the file."""
        lines = _Lines(path)
        n_graphs = lines.integers("the number of graphs", 1)[0]
        sizes: list[int] = []
        y: list[int] = []
        nodes: list[tuple[int, list[int], list[float]]] = []  # label, neighbours and attributes
        for i in range(n_graphs):
            lines.inside = f"graph {i} of {n_graphs}"
            n, label = lines.integers("number of nodes and class", 2)
            if n < 1:
                raise lines.error(f"gives graph {i} of {n_graphs} {n} nodes", "a graph has at least one")
            sizes.append(n)
            y.append(label)
            for _ in range(n):
                nodes.append(lines.node(n))
                if (found := len(nodes[-1][2])) != (usual := len(nodes[0][2])):
                    raise lines.error(
                        f"has {found} attributes after the neighbours where the nodes before have {usual}",
                        "give every node as many, and check the degree",
                    )
        lines.end(n_graphs)
        node_labels, neighbours, attributes = zip(*nodes, strict=True)
        count = [len(around) for around in neighbours]
        within = np.concatenate([np.arange(n) for n in sizes])
        there = np.column_stack([np.repeat(within, count), np.concatenate(neighbours).astype(np.int64)])
        owner = np.repeat(np.repeat(np.arange(n_graphs), sizes), count)
        return graphset_from_cells(
            np.concatenate([owner, owner]),
            np.concatenate([there, there[:, ::-1]]),
            sizes,
            node_labels=np.array(node_labels, dtype=np.int64),
            node_attributes=np.array(attributes) if attributes[0] else None,
            y=np.array(y, dtype=np.int64),
            name=path.stem,
        )


READER = TextReader()


class _Lines:
    """Iterator over the lines of a file, with errors that name the current line."""

    def __init__(self, path: Path) -> None:
        self.path, self.number, self.inside = path, 0, "the header"
        self.lines = path.read_text(encoding="utf-8-sig").rstrip().splitlines()

    def error(self, what: str, remedy: str) -> DatasetError:
        return DatasetError(f"line {self.number} of {self.path} {what}; {remedy}")

    def _next(self) -> list[str]:
        if self.number == len(self.lines):
            raise DatasetError(
                f"{self.path} ends after line {self.number}, in the middle of {self.inside}; get the whole file again"
            )
        self.number += 1
        return self.lines[self.number - 1].split()

    def integers(self, what: str, count: int) -> list[int]:
        words = self._next()
        try:
            values = [int(word) for word in words]
        except ValueError:
            values = []
        if len(values) != count:
            raise self.error(f"is {' '.join(words)!r:.60}", f"{what} belongs there ({count} integers)")
        return values

    def node(self, n: int) -> tuple[int, list[int], list[float]]:
        """Read the label, neighbours and attributes of the next node."""
        words = self._next()
        try:
            label, degree = int(words[0]), int(words[1])
            around = [int(word) for word in words[2 : 2 + degree]]
            attributes = [float(word) for word in words[2 + degree :]]
        except (ValueError, IndexError):
            raise self.error(
                f"is {' '.join(words)!r:.60}", "a node is 'label degree neighbours...', integers, then its attributes"
            ) from None
        if degree < 0 or len(around) != degree:
            raise self.error(
                f"promises {degree} neighbours and has {len(around)}", "correct the degree or the neighbours"
            )
        if around and (min(around) < 0 or max(around) >= n):
            wrong = next(v for v in around if not 0 <= v < n)
            raise self.error(f"has the neighbour {wrong} in a graph with nodes 0 to {n - 1}", "correct it")
        if not all(map(np.isfinite, attributes)):
            raise self.error("has an attribute that is not finite", "replace NaN and infinity by numbers")
        return label, around, attributes

    def end(self, n_graphs: int) -> None:
        if n_graphs < 1:
            raise self.error(f"announces {n_graphs} graphs", "give at least one")
        if self.number < len(self.lines):
            self.number += 1
            raise self.error(f"comes after the last of {n_graphs} graphs", "correct the number of graphs in line 1")
