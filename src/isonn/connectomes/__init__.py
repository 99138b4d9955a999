"""Connectomes in and out: nilearn, atlases, folders of matrices, views of the brain (extra: connectomes)."""

from __future__ import annotations

from isonn.connectomes.synthetic import PlantedConnectomes, planted_connectomes

__all__ = ["PlantedConnectomes", "planted_connectomes"]
