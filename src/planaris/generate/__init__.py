"""Lattices, spin glasses and random planar graphs, all seeded."""
