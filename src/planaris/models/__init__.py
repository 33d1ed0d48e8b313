"""What the user states: Ising models and Markov random fields."""

from planaris.models.ising import IsingModel

__all__ = ["IsingModel"]
