"""Margin violators against enumeration in rational numbers."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from planaris.models import IsingModel
from planaris.planar.margin import margin_violator

EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2), (0, 3)]


@pytest.mark.parametrize("sizes", [[1.0, 0.3, 0.1], [1e17, 1.0, 0.3]])
def test_no_state_violates_the_margin_more_than_an_exact_one(sizes, rng) -> None:
    """Weights that are lost beside huge couplings leave nothing to be exact about."""
    for _ in range(100):
        couplings = rng.choice([*sizes, *(-x for x in sizes)], len(EDGES))
        model = IsingModel(EDGES, couplings, num_spins=5)
        wanted = rng.choice([-1, 1], 5)
        weights = 2 * rng.random(model.num_edges)
        found = margin_violator(model, wanted, weights)
        mine = margin_energy(model, wanted, weights, found.spins)
        states = itertools.product((-1, 1), repeat=5)
        least = min(margin_energy(model, wanted, weights, s) for s in states)
        assert found.margin_energy == float(mine)
        if found.exact:
            assert mine - least <= Fraction(1, 10**9)
        assert found.exact or max(sizes) > 1e9


def margin_energy(model: IsingModel, wanted, weights, state) -> Fraction:
    total = Fraction(0)
    rows = zip(model.edges.tolist(), model.couplings.tolist(), weights.tolist(), strict=True)
    for (u, v), coupling, weight in rows:
        agree = int(state[u]) == int(state[v])
        total -= Fraction(coupling) * (1 if agree else -1)
        if agree != (wanted[u] == wanted[v]):
            total -= Fraction(weight)
    return total


def test_an_empty_distance_is_zero() -> None:
    found = margin_violator(IsingModel([(0, 1)], [5.0]), [1, 1], 1.0)
    assert (found.distance, str(found.distance), found.margin_energy) == (0.0, "0.0", -5.0)
