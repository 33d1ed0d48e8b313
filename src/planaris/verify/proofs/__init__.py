"""Checks of every kind of proof, from the model and the arrays of the proof alone."""
