"""One sign for every connected component, chosen by the nodes."""

from __future__ import annotations

import numpy as np

from planaris.models import IsingModel
from planaris.recover.observe import Graph, Observations
from planaris.typing import FloatArray, Int8Array, IntArray


def joined_components(model: IsingModel) -> tuple[int, IntArray]:
    """Return the components that nonzero couplings join: how many, and which of every spin."""
    return Graph(model.num_spins, model.edges).components_without(model.couplings == 0)


def majority_sign(
    observations: Observations,
    spins: Int8Array,
    count: int,
    component: IntArray,
    weights: float | FloatArray = 1.0,
) -> tuple[Int8Array, FloatArray]:
    """Choose for every component the sign that most of its nodes agree with; return the votes too.

    ``weights`` are those of the nodes' votes.
    """
    agree = weights * (observations.nodes * spins).astype(np.float64)
    votes = np.bincount(component, weights=agree, minlength=count).astype(np.float64)
    return np.where(votes[component] < 0, -spins, spins).astype(np.int8), votes
