"""Compare methods on datasets: plan jobs, run each once, keep every result, make tables.

Import from the modules: ``spec`` (published results as data), ``methods`` and ``protocols`` (by name), ``jobs`` (one
method on one fold), ``store`` (results on disk), ``run`` and ``cluster`` (many jobs), ``study``, ``tables`` and
``statistics``. The metrics are in `isonn.scores`. This package imports nothing, so that the command line can list
methods quickly.
"""
