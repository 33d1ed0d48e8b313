"""Plane graphs: rotation systems, planarity, faces, duals, genus, bias spins."""

from planaris.embed.bias import BiasedModel, closest_planar_model, join_bias_spin
from planaris.embed.chords import split_faces
from planaris.embed.embedding import Embedding
from planaris.embed.planarity import embed, require_plane

__all__ = [
    "BiasedModel",
    "Embedding",
    "closest_planar_model",
    "embed",
    "join_bias_spin",
    "require_plane",
    "split_faces",
]
