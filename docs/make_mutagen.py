"""Draw docs/images/mutagen.svg: a model of the Ames tests explains one compound. Needs ISONN_DATA.

Run with `.venv/bin/python docs/make_mutagen.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

import isonn

COMPOUND = "CC(=O)Nc1ccc(-c2ccc([N+](=O)[O-])cc2)cc1C(=O)O"

graphs = isonn.load(Path(os.environ["ISONN_DATA"]) / "molecules" / "ames.csv", target="Y")
why = isonn.SubgraphClassifier(random_state=0).fit(graphs).explain(COMPOUND)
(Path(__file__).parent / "images" / "mutagen.svg").write_text(why.to_svg(), encoding="utf-8")
