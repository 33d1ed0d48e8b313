"""Ends by clamping: they contain the marginals, as numbers, not up to rounding."""

from __future__ import annotations

import math
from itertools import product

import flint
import numpy as np
import pytest

import planaris as pl
from helpers.exact_models import PRECISION, random_ising, random_numbers, rational_logs
from helpers.trials import seeds
from planaris.bounds import clamped_marginals, interval


def _up(model, spin):
    """P(s = +1) as a ball."""
    states, logs = product((-1, 1), repeat=model.num_spins), rational_logs(model)
    sums = {-1: flint.arb(0), 1: flint.arb(0)}
    for state, log in zip(states, logs, strict=True):
        above = log - max(logs)
        sums[state[spin]] += flint.arb(flint.fmpq(above.numerator, above.denominator)).exp()
    return sums[1] / (sums[-1] + sums[1])


def _holds(lower, p, upper):
    return not flint.arb(float(lower)) > p and not flint.arb(float(upper)) < p


@pytest.mark.parametrize("seed", seeds(25, 300))
def test_ends_contain_the_marginals_beside_couplings_of_any_size(seed):
    """An offset may take away what a huge field adds to log Z, but not what it rounds away."""
    flint.ctx.prec = PRECISION
    rng = np.random.default_rng(seed)
    model = random_ising(rng)
    fields = random_numbers(rng, model.num_spins)
    size = math.fsum(np.abs(np.concatenate([model.couplings, fields])))
    offset = -size if rng.random() < 0.5 else 0.0
    model = pl.IsingModel(model.edges, model.couplings, fields, offset=offset)
    for bound in (interval, pl.bounds.pdc, pl.log_partition):
        found = clamped_marginals(model, bound=bound)
        for v in range(model.num_spins):
            assert _holds(found.lower[v], _up(model, v), found.upper[v])


def test_a_field_that_the_offset_rounds_away_still_counts():
    """P(s = +1) was said to be one half."""
    model = pl.IsingModel([(0, 1)], [0.0], [1.0, 1e17], offset=-1e17)
    found = pl.marginals(model, "clamped")
    assert found.nodes_lower[0] <= 1 / (1 + math.exp(-2.0)) <= found.nodes_upper[0]


@pytest.mark.parametrize("field", [20.0, 40.0, 400.0, 1e17])
def test_nothing_is_certain_and_nothing_impossible(field):
    up, down = (
        clamped_marginals(pl.IsingModel([(0, 1)], [0.0], [way * field, 0.0])) for way in (1, -1)
    )
    assert up.lower[0] < 1.0 == up.upper[0]
    assert down.lower[0] < math.exp(-2 * min(field, 360.0)) <= down.upper[0]
