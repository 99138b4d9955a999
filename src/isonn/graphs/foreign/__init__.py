"""Graphs of other libraries, one file each. Nothing here imports these libraries; the caller has."""
