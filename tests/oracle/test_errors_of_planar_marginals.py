"""Stated errors of planar marginals against elimination, on strips of nearly equal couplings.

Flips of single spins leave walls across such strips, and frustrated ones have weak directions:
inverses relative to such states are off by much more than their residual shows.
"""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from helpers.trials import trials

LUCKY = (8002024, 8009190, 8020019, 8000452, 8007305, 5042129, 5014048, 6005809)
"""Errors of these were stated as a third to a tenth of what they are."""


def strip(seed: int, least: float = 0.3, most: float = 1.5) -> pl.IsingModel:
    """Return a strip of squares or triangles, whole or thinned, renumbered or not."""
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(2, 9)), int(rng.integers(3, 60))
    spin = np.arange(rows * columns).reshape(rows, columns)
    pairs = [(spin[1:], spin[:-1]), (spin[:, 1:], spin[:, :-1])]
    kind = rng.integers(0, 3)
    if kind >= 1:
        pairs.append((spin[1:, 1:], spin[:-1, :-1]))
    edges = np.concatenate([np.stack([u.ravel(), v.ravel()], axis=1) for u, v in pairs])
    if kind == 2 or rng.random() < 0.3:
        edges = edges[rng.random(len(edges)) < rng.uniform(0.6, 1)]
    if rng.random() < 0.5:
        edges = rng.permutation(spin.size)[edges]
    count = len(edges)
    shape, strength = rng.integers(0, 9), rng.uniform(least, most)
    couplings = [
        -np.ones(count),
        rng.choice([-1.0, 1.0], count),
        -1 - 1e-9 * rng.random(count),
        rng.choice([-1.0, 1.0], count) * (1 + 1e-9 * rng.random(count)),
        rng.uniform(-1, 1, count),
        np.where(rng.random(count) < 0.1, 1.0, -1.0),
        -1 + 0.2 * rng.random(count),
        rng.choice([-1.0, -0.8, 1, 0.6], count),
        np.where(rng.random(count) < 0.3, 0, rng.choice([-1.0, 1.0], count)),
    ][shape]
    return pl.IsingModel(edges, strength * couplings, np.zeros(spin.size))


def strip_in_fields(seed: int) -> pl.IsingModel:
    """Return a cold strip of triangles, whole or thinned, with external fields at its border."""
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(3, 9)), int(rng.integers(15, 45))
    spin = np.arange(rows * columns).reshape(rows, columns)
    pairs = [(spin[1:], spin[:-1]), (spin[:, 1:], spin[:, :-1])]
    thinned = int(rng.choice([1, 2])) == 2
    pairs.append((spin[1:, 1:], spin[:-1, :-1]))
    edges = np.concatenate([np.stack([u.ravel(), v.ravel()], axis=1) for u, v in pairs])
    if thinned:
        edges = edges[rng.random(len(edges)) < rng.uniform(0.6, 1)]
    place = rng.permutation(spin.size)
    count, shape = len(edges), int(rng.choice([0, 1, 2, 5]))
    strength = float(np.exp(rng.uniform(np.log(3), np.log(40))))
    couplings = [
        -np.ones(count),
        rng.choice([-1.0, 1.0], count),
        -1 - 1e-9 * rng.random(count),
        rng.normal(size=count),
        rng.uniform(-1, 1, count),
        np.where(rng.random(count) < 0.1, 1.0, -1.0),
    ][shape]
    border = np.unique(np.concatenate([spin[0], spin[-1], spin[:, 0], spin[:, -1]]))
    some, many = rng.choice([0, 1], len(border)), len(border)
    kinds = [np.ones(many), rng.normal(size=many), rng.choice([-1.0, 1.0], many)]
    kind = kinds[int(rng.integers(0, 3))]
    fields = np.zeros(spin.size)
    fields[place[border]] = some * kind * float(np.exp(rng.uniform(np.log(0.01), np.log(10))))
    return pl.IsingModel(place[edges], strength * couplings, fields)


def check(model: pl.IsingModel) -> None:
    """Hold the error of marginals against elimination, whose own is an ulp or two."""
    found, sure = (pl.marginals(model, method) for method in ("planar", "treewidth"))
    assert np.abs(found.edges - sure.edges).max(initial=0.0) <= found.error
    assert np.abs(found.nodes - sure.nodes).max() <= found.error


@pytest.mark.parametrize("seed", LUCKY)
def test_errors_that_were_too_small(seed: int) -> None:
    check(strip(seed, *{8: (0.3, 1.5), 5: (0.2, 1.5), 6: (0.3, 1.0)}[seed // 10**6]))


def test_a_spin_inside_of_one_leaf_is_looked_at_twice() -> None:
    """Of 216 spins one was off by 3e-6 where 1e-9 was stated: the only one with one way to it."""
    check(strip_in_fields(553))


def test_errors_of_strips_hold() -> None:
    for seed in range(trials(40, 20_000)):
        check(strip(seed))
        check(strip(seed, 1.0, 9.0))
        check(strip_in_fields(seed))


def test_equal_couplings_lose_no_digits_without_frustration() -> None:
    """The state that couplings are relative to is a ground state, whatever the numbers of spins."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        rows, columns = int(rng.integers(2, 9)), int(rng.integers(10, 60))
        edges = rng.permutation(rows * columns)[pl.generate.square_lattice(rows, columns).edges]
        strength = rng.uniform(0.3, 1.2)
        model = pl.IsingModel(edges, np.full(len(edges), -strength))
        found = pl.marginals(model, "planar")
        sure = pl.marginals(model, "treewidth")
        assert np.abs(found.edges - sure.edges).max() < 1e-14
