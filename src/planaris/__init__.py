"""Exact and certified inference for Ising models and Markov random fields, built on planarity."""

from planaris.embed import Embedding
from planaris.models import IsingModel, MarkovRandomField

__all__ = ["Embedding", "IsingModel", "MarkovRandomField"]
