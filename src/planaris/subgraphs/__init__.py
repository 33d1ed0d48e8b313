"""Tractable subgraphs of a model: families, exact values of each, convex combinations of all."""
