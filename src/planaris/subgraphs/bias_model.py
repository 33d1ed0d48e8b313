"""A model as couplings alone: fields are couplings to one more spin."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planaris.embed import Embedding
from planaris.models import IsingModel, require_ising
from planaris.models.base import once_per_model
from planaris.models.bias_spin import fields2bias
from planaris.typing import BoolArray, FloatArray, IntArray, LongArray

EPSILON = float(np.finfo(np.float64).eps)
LOG2 = math.log(2.0)
MAX_TOTAL = 1e100
"""Models whose couplings add up to more are bounded by their sizes alone."""


@dataclass(frozen=True, eq=False)
class BiasModel:
    """A zero-field model, and one of its spins (the apex) whose couplings act as fields.

    Attributes
    ----------
    num_spins : int
        Spins, the bias spin included (it is the last one) if the model has fields.
    edges, couplings : numpy.ndarray
        The model's edges, then (if it has fields) one per spin, zero fields too: subgraphs may
        exchange fields where the model has none.
    apex : int
        The bias spin, or the spin of largest degree: as log Z is the same whichever spin is
        held at +1, its couplings may be seen as fields on its neighbours.
    num_model_edges : int
        Edges that are not fields.
    constant : float
        log Z of the model minus log Z of the model with the bias spin.
    """

    num_spins: int
    edges: IntArray
    couplings: FloatArray
    apex: int
    num_model_edges: int
    constant: float

    @property
    def num_edges(self) -> int:
        """Number of edges, fields included."""
        return len(self.edges)

    @property
    def at_apex(self) -> BoolArray:
        """Edges that touch the apex."""
        return np.asarray((self.edges[:, 0] == self.apex) | (self.edges[:, 1] == self.apex))

    def away_from_apex(self, members: LongArray) -> IntArray:
        """Return the other ends of edges that touch the apex."""
        first, second = self.edges[members].T
        return np.asarray(np.where(first == self.apex, second, first))


@once_per_model
def as_bias_model(model: IsingModel) -> BiasModel:
    """Join the fields to a bias spin.

    >>> as_bias_model(IsingModel([(0, 1)], [1.0], [0.5, 0.0])).edges.tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    require_ising(model)
    joined = fields2bias(model, all_spins=True)[0] if model.has_fields else model
    n, edges = joined.num_spins, np.ascontiguousarray(joined.edges)
    if model.has_fields:
        apex, constant = n - 1, model.offset - LOG2
    else:
        degree = np.bincount(edges.ravel(), minlength=max(n, 1))
        apex, constant = int(np.argmax(degree)), model.offset
    return BiasModel(n, edges, joined.couplings, apex, model.num_edges, constant)


@once_per_model
def plane_embedding(model: IsingModel) -> Embedding | None:
    """Embed the couplings that are not zero, with those to the bias spin; None if not planar.

    >>> plane_embedding(IsingModel([(0, 1)], [1.0], [0.5, 0.0])).num_edges
    2
    """
    bare = fields2bias(model)[0] if model.has_fields else model
    edges = bare.edges if np.all(bare.couplings) else bare.edges[np.flatnonzero(bare.couplings)]
    return Embedding.if_planar(edges, num_vertices=bare.num_spins)
