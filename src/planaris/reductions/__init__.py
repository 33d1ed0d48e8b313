"""Ways to solve one model by another: what they accept, the other model, and the way back."""

from planaris.reductions.ising_form import IsingForm
from planaris.reductions.parts import Part, Split, all_planar, split_model

__all__ = ["IsingForm", "Part", "Split", "all_planar", "split_model"]
