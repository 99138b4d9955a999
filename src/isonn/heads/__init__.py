"""Heads: what reads the features and predicts."""
