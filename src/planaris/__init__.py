"""Exact and certified inference for Ising models and Markov random fields, built on planarity."""

from planaris import generate
from planaris.embed import Embedding
from planaris.infer import ground_state, log_partition, marginals, sample
from planaris.models import IsingModel, MarkovRandomField
from planaris.planar import Plan, plan

__all__ = [
    "Embedding",
    "IsingModel",
    "MarkovRandomField",
    "Plan",
    "generate",
    "ground_state",
    "log_partition",
    "marginals",
    "plan",
    "sample",
]
