"""Structural alerts: groups and pieces of molecules that warn of a class, as SMARTS, judged on held-out molecules.

Candidates are the named groups of the molecules, families of such groups, and pieces of a model. The classes decide
which of them are alerts. The whole list is chosen again without each fold, and an alert is judged on a fold only if it
was chosen without it, so its precision comes from molecules that took no part in choosing it.
"""

from isonn.molecules.alerts.choose import wilson
from isonn.molecules.alerts.search import find_alerts
from isonn.molecules.alerts.table import Alert, Alerts, Member

__all__ = ["Alert", "Alerts", "Member", "find_alerts", "wilson"]
