"""Methods on datasets under one protocol: plan jobs, run each once, keep every result, tabulate.

Import from the modules: ``spec`` (published results as data), ``methods`` and ``protocols`` (by name), ``run``
(one job), ``store`` (results on disk), ``execute`` (many jobs), ``tables``. Nothing is imported here, because
the command line reads the names of the methods before it knows whether anything will run.
"""
