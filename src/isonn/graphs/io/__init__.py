"""Readers: one per file format, behind one registry."""

from isonn.graphs.io.registry import Reader, register_reader

__all__ = ["Reader", "register_reader"]
