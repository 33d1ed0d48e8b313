"""Exact and certified inference for Ising models and Markov random fields, built on planarity."""

from planaris import generate
from planaris.embed import Embedding
from planaris.infer import ground_state
from planaris.models import IsingModel, MarkovRandomField

__all__ = ["Embedding", "IsingModel", "MarkovRandomField", "generate", "ground_state"]
