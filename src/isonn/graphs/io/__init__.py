"""Readers: one per file format, behind one registry."""
