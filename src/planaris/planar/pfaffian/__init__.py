"""Pfaffians of graphs on surfaces: log Z, marginals, correlations and samples."""
