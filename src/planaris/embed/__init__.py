"""Plane graphs: rotation systems, planarity, faces, duals, genus."""

from planaris.embed.embedding import Embedding

__all__ = ["Embedding"]
