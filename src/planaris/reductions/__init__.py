"""Ways to solve one model by another: what they accept, the other model, and the way back."""

from planaris.reductions.parts import Part, Split, all_planar, split_model

__all__ = ["Part", "Split", "all_planar", "split_model"]
