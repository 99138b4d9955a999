"""Methods on datasets under one protocol: plan tasks, run each once, keep every result, tabulate.

Import from the modules: ``spec`` (published results as data), ``methods`` and ``protocols`` (by name), ``run``
(one task), ``store`` (results on disk), ``execute`` (many tasks), ``tables``. Nothing is imported here, because
the command line reads the names of the methods before it knows whether anything will run.
"""
