"""Plane graphs: rotation systems, planarity, faces, duals, genus."""

from planaris.embed.chords import split_faces
from planaris.embed.embedding import Embedding
from planaris.embed.planarity import embed, require_plane

__all__ = ["Embedding", "embed", "require_plane", "split_faces"]
