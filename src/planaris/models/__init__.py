"""What the user states: Ising models and Markov random fields."""

from planaris.models.ising import IsingModel
from planaris.models.mrf import MarkovRandomField

__all__ = ["IsingModel", "MarkovRandomField"]
