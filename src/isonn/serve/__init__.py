"""A server around saved models: a JSON API and a page on which one edits a graph and watches the prediction.

`isonn serve` starts it. Needs the extra ``serve``.
"""

from isonn.errors import naming_the_extra

with naming_the_extra("isonn.serve"):
    from isonn.serve.app import create_app
    from isonn.serve.bodies import Limits

__all__ = ["Limits", "create_app"]
