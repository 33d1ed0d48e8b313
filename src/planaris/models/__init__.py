"""Ising models and Markov random fields, and exact conversions between them."""

from planaris.models.bias_spin import bias2fields, fields2bias
from planaris.models.convert import (
    Chain,
    Inverse,
    ising2mrf,
    lift_ground_state,
    lift_log_partition,
    mrf2ising,
)
from planaris.models.encode import kary2binary, mrf2pairwise
from planaris.models.ising import IsingModel, require_ising
from planaris.models.mrf import MarkovRandomField
from planaris.models.tables import PairwiseView

__all__ = [
    "Chain",
    "Inverse",
    "IsingModel",
    "MarkovRandomField",
    "PairwiseView",
    "bias2fields",
    "fields2bias",
    "ising2mrf",
    "kary2binary",
    "lift_ground_state",
    "lift_log_partition",
    "mrf2ising",
    "mrf2pairwise",
    "require_ising",
]
