"""The command `isonn`, also as `python -m isonn`: a signal never makes it print a traceback."""

from __future__ import annotations

import signal


def run() -> None:
    """Run the command line as a process of its own; `isonn.cli.main` runs it inside another."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # there is nothing to keep until a command begins: end at once
    from isonn.cli import main

    try:
        try:
            main()
        finally:
            _finish()
    except KeyboardInterrupt:  # after what `main` watches
        _finish()
        raise SystemExit(130) from None


def _finish() -> None:
    """Let a signal pass while joblib and Python end their processes; a second one ends this one at once."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: signal.signal(number, signal.SIG_DFL))


if __name__ == "__main__":
    run()
