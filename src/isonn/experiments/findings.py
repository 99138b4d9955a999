"""What a study shows, in sentences beside what the publication says about its figure."""

from __future__ import annotations

from collections.abc import Sequence

from isonn.experiments.rows import Row
from isonn.experiments.spec import Sweep


def findings(sweep: Sweep, rows: Sequence[Row]) -> list[str]:
    """Compare a figure with the paper's, in one sentence per dataset."""
    sentences = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        own = [row for row in rows if row.dataset == dataset and row.method == rows[0].method]
        paper = sweep.paper.get(dataset)
        beside = "" if paper is None else f"; the paper's: {paper}"
        if sweep.measure == "loss":
            for row in own:
                if row.settled is not None:
                    sentences.append(f"{dataset}: the loss settles by epoch {row.settled}{beside}")
                elif row.loss is not None:
                    sentences.append(f"{dataset}: the loss still falls at epoch {len(row.loss)}{beside}")
        elif sweep.measure == "accuracy" and sweep.vary is not None:
            judged = [(row.accuracy.mean, row) for row in own if row.accuracy is not None]
            if judged:
                best = max(judged, key=lambda entry: entry[0])[1]
                sentences.append(
                    f"{dataset}: best {sweep.vary} = {best.settings[sweep.vary]} ({best.accuracy}){beside}"
                )
    return sentences
