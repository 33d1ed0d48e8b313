"""Least energies: checks of proofs that no state of a model lies lower."""
