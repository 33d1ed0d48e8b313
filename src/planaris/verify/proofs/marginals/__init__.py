"""Proofs of ends of marginals."""
