"""Ends of marginals against elimination: a thousand models up to 22 x 22, stopped anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import planaris as pl
from helpers.clocks import TickClock
from helpers.trials import seeds
from planaris.bounds import marginal_ends
from planaris.budget import Budget, use_clock

LARGE = 22


def random_model(seed: int) -> pl.IsingModel:
    """Return a lattice, some with diagonals, with or without frustration, warm or cold."""
    rng = np.random.default_rng(seed)
    rows, columns = (LARGE, LARGE) if seed % 20 == 14 else rng.integers(2, 18, 2).tolist()
    edges = pl.generate.square_lattice(rows, columns).edges
    if seed % 5 == 1:  # diagonals of some cells
        corner = np.unique(rng.integers((rows - 1) * columns - 1, size=rows))
        corner = corner[corner % columns < columns - 1]
        edges = np.concatenate([edges, np.stack([corner, corner + columns + 1], axis=1)])
    scale = float(rng.choice([0.2, 0.5, 1.0, 2.0, 5.0]))
    couplings = scale * rng.uniform(0.0, 1.5, len(edges))
    turn = rng.choice([-1, 1], rows * columns)
    couplings *= turn[edges].prod(axis=1)
    if seed % 10 == 9:  # frustrated
        couplings *= rng.choice([-1, 1], len(edges))
    fields = scale * rng.normal(0, rng.choice([0.2, 1.0, 2.0]), rows * columns)
    fields *= rng.random(rows * columns) < rng.choice([0.1, 1.0])
    return pl.IsingModel(edges, couplings, fields)


def stops(model: Any, seed: int) -> list[Any]:
    """Return ends after some looks at the clock, and without a limit that matters."""
    rng = np.random.default_rng([seed, 1])
    found = []
    for looks in [*np.floor(10 ** rng.uniform(0, 4, 3)).tolist(), 30_000]:
        with use_clock(TickClock(1.0)):  # one thread: others work on while the clock is read
            found.append(marginal_ends(model, time_limit=Budget.of(looks + 0.5, threads=1)))
    return found


@pytest.mark.parametrize("seed", seeds(12, 1000))
def test_ends_hold_wherever_the_search_stops(seed: int) -> None:
    model = random_model(seed)
    exact = pl.marginals(model, "treewidth")
    slack = exact.error + 1e-15
    for ends in stops(model, seed):
        assert np.all(ends.nodes_lower <= exact.nodes + slack)
        assert np.all(exact.nodes <= ends.nodes_upper + slack)
        assert np.all(ends.edges_lower <= exact.edges + slack)
        assert np.all(exact.edges <= ends.edges_upper + slack)
