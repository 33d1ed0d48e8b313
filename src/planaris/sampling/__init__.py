"""Samplers that need no structure of the graph: coupling from the past."""

from planaris.sampling.coupling_from_the_past import bound_probabilities, sample

__all__ = ["bound_probabilities", "sample"]
