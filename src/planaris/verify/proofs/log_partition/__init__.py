"""Bounds on log Z: checks of the distributions, mixtures and sums that prove them."""
