"""What every call must end with, whatever it is given: success, or one sentence."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from isonn.errors import IsoNNError, IsoNNWarning

LONGEST = 300
#: Calls so far in this process; `make torture` reports them.
CASES = 0


def outcome(call: Callable[[], Any]) -> Any:
    """The result of a call, or its error, which is of `isonn.errors`, one line and short; so are its warnings."""
    global CASES
    CASES += 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except IsoNNError as error:
            result = error
    messages = [str(warning.message) for warning in caught]
    for warning in caught:
        assert issubclass(warning.category, IsoNNWarning), f"{warning.category.__name__}: {warning.message}"
    if isinstance(result, IsoNNError):
        messages.append(str(result))
    for message in messages:
        assert message
        assert "\n" not in message, message
        assert len(message) <= LONGEST, f"{len(message)} characters: {message}"
    return result
