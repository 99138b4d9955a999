"""The command `isonn` and `python -m isonn`, which never print a traceback on a signal."""

from __future__ import annotations

import signal


def run() -> None:
    """Run the command line as the whole process; `isonn.cli.main` runs it inside another."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # until a command starts there is nothing to save
    from isonn.cli import main

    try:
        try:
            main()
        finally:
            _finish()
    except KeyboardInterrupt:  # Ctrl-C while `main` returns
        _finish()
        raise SystemExit(130) from None


def _finish() -> None:
    """Ignore one signal while joblib and Python shut down; a second ends the process at once."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: signal.signal(number, signal.SIG_DFL))


if __name__ == "__main__":
    run()
