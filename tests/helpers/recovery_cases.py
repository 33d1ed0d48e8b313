"""Likelihoods of observations straight from their definition."""

from __future__ import annotations

import itertools

import numpy as np

from planaris.recover import Observations


def likelihoods(seen: Observations, p: float, q: float) -> tuple[np.ndarray, np.ndarray]:
    """All labellings and P(X | y) of each, straight from the definition."""
    n = seen.graph.num_nodes
    states = np.array(list(itertools.product((-1, 1), repeat=n)), dtype=int).reshape(1 << n, n)
    u, v = seen.graph.edges.T
    good_edges = (states[:, u] * states[:, v] == seen.edges).sum(axis=1)
    good_nodes = (states == seen.nodes).sum(axis=1)
    m = len(seen.edges)
    weights = (
        (1 - p) ** good_edges
        * p ** (m - good_edges)
        * (1 - q) ** good_nodes
        * q ** (n - good_nodes)
    )
    return states, weights
