"""`SubgraphModel`: from graphs to the outputs of a fitted model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.graphs.graph import GraphSet
from isonn.heads import Head, Inputs, LinearHead, get_head
from isonn.packing import Floats, below, prefixed
from isonn.processes import in_threads
from isonn.subgraphs.encode import Encoding
from isonn.subgraphs.features import SumFeatures
from isonn.subgraphs.table import CountTable
from isonn.subgraphs.terms import term_table
from isonn.subgraphs.vectorizer import SubgraphVectorizer, in_chunks, warn_of_unseen
from isonn.subgraphs.vocabulary import Vocabulary

#: A graph is unusual if more than this share of its pieces of up to four nodes is unknown (larger pieces often are, in
#: small sets). A warning appears if most graphs are.
STRANGE = 0.5


@dataclass(frozen=True, eq=False)
class SubgraphModel:
    """A vectorizer, the conversion of its counts to features, and a head.

    Attributes:
        vectorizer: counts subgraphs.
        features: the features of sums.
        head: reads features and counts.
        kind: the kind of the graphs, which has its own terms.
    """

    vectorizer: SubgraphVectorizer
    features: SumFeatures
    head: Head
    kind: str

    def read(self, graphs: GraphSet) -> tuple[Inputs, CountTable, Floats]:
        """Return what the head reads of graphs, and the counts and `term_table` it comes from."""
        counted, terms = self.vectorizer.count(graphs), term_table(graphs, self.kind)
        features = self.features.of(counted, terms)
        if self.head.additive:  # sums read features alone
            return Inputs(features, csr_array(features.shape)), counted, terms
        counts = self.features.vocabulary.counts(counted, terms=self.features.term_counts(terms))
        return Inputs(features, counts), counted, terms

    def outputs(self, graphs: GraphSet) -> Floats:
        """Return the outputs of the head, shape (g, outputs)."""
        return self.head.outputs(self.read(graphs)[0])

    def outputs_in_threads(self, graphs: GraphSet, n_jobs: int) -> Floats:
        """Return the outputs; warn if most graphs are unusual."""

        def outputs_of(chunk: GraphSet) -> tuple[Floats, int]:
            inputs, counted, _ = self.read(chunk)
            strange = self.features.vocabulary.unseen(counted) > STRANGE
            return self.head.outputs(inputs), int(strange.sum())

        outputs, strange = zip(*in_threads(outputs_of, in_chunks(graphs, n_jobs), n_jobs), strict=True)
        warn_of_unseen(self.vectorizer.encoding_, graphs, sum(strange) if sum(strange) > len(graphs) / 2 else 0)
        return np.concatenate(outputs)

    def describe(self) -> dict[str, Any]:
        """Return what is not in `tensors`, as JSON."""
        return {
            "encoding": self.vectorizer.encoding_.as_json(),
            "sampled": sorted(self.vectorizer.sampled_.items()),
            "transform": self.features.transform,
            "kind": self.kind,
            "head": self.head.name,
        }

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        tensors = prefixed("vectorizer", self.vectorizer.vocabulary_.tensors())
        tensors |= prefixed("features", self.features.tensors())
        return tensors | prefixed("head", self.head.tensors())

    @classmethod
    def restore(
        cls, stored: dict[str, Any], tensors: dict[str, NDArray[Any]], vectorizer: SubgraphVectorizer, outputs: int
    ) -> SubgraphModel:
        """Restore what `describe` and `tensors` returned; raise ValueError if it is invalid.

        Args:
            stored, tensors: what they returned.
            vectorizer: with the parameters of the saved one.
            outputs: number of outputs.
        """
        encoding = vectorizer.encoding_ = Encoding.from_json(stored["encoding"])
        vectorizer.vocabulary_ = Vocabulary.restore(encoding.sizes, below("vectorizer", tensors))
        vectorizer.sampled_ = {int(graph): float(share) for graph, share in stored["sampled"]}
        features = SumFeatures.restore(vectorizer.vocabulary_, stored["transform"], below("features", tensors))
        head = get_head(stored["head"]).restore(below("head", tensors))
        linear = getattr(head, "linear", head)
        if isinstance(linear, LinearHead) and linear.coef.shape != (outputs, features.columns):
            raise ValueError("weights and vocabulary differ in size")
        return cls(vectorizer, features, head, str(stored["kind"]))
