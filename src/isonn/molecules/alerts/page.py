"""The page of alerts: an answer, a table, and drawings of molecules with each alert highlighted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from isonn.molecules.alerts.table import Alert, Alerts
from isonn.molecules.convert import from_smiles, to_mol
from isonn.report.draw import Mark, draw_graph
from isonn.report.page import Tile, render, write
from isonn.report.words import percent_text

#: Drawings of each alert.
DRAWN = 2


def write_page(alerts: Alerts, path: Path) -> None:
    """Write the page of alerts."""
    shown: list[dict[str, Any]] = [{"alert": alert, "examples": _drawings(alert)} for alert in alerts]
    first = next((row["examples"][0] for row in shown if row["examples"]), None)
    write(path, render("alerts.html", alerts=alerts, shown=shown, first=first, tiles=_tiles(alerts)))


def _tiles(alerts: Alerts) -> list[Tile]:
    rule = alerts.rule
    about = f"accuracy on {rule['molecules']:,.0f} molecules"
    tiles = [Tile("Rule: any alert", percent_text(rule["accuracy"]), about)] if len(alerts) else []
    if "model_accuracy" in rule:
        tiles.append(Tile("The model", percent_text(rule["model_accuracy"]), "accuracy on held-out molecules"))
    tiles.append(Tile("Trivial: most frequent class", percent_text(max(alerts.base, 1 - alerts.base)), "accuracy"))
    return tiles


def _drawings(alert: Alert) -> list[Any]:
    """Draw examples with the alert highlighted."""
    drawings = []
    for text in alert.examples[:DRAWN]:
        graph = from_smiles([text])[0]
        atoms = tuple(sorted(alert.atoms_in(to_mol(graph))))
        if atoms:
            title = f"{text[:200]} with the alert highlighted"
            drawings.append(draw_graph(graph, title=title, marks=[Mark(atoms)], shown=[0]))
    return drawings
