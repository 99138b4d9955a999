"""One reader per file format, and their registry."""

from isonn.graphs.io.registry import Reader, register_reader

__all__ = ["Reader", "register_reader"]
