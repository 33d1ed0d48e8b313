"""Bounds on log Z of Markov random fields with any labels, large factors and zeros."""
