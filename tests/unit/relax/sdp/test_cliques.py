"""Odd clique inequalities: true of every state, and kept true when spins are merged."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from planaris.relax.sdp.cliques import Cliques, violated_cliques


def all_states(n: int) -> np.ndarray:
    return np.array(list(itertools.product([-1, 1], repeat=n)))


def random_moments(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return a correlation matrix that violates many inequalities."""
    vectors = rng.normal(size=(n, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors @ vectors.T


def least_left(x: np.ndarray, size: int) -> float:
    """Return the lowest left side of all cliques of a size, by enumeration."""
    best = np.inf
    signs = np.array([(1, *rest) for rest in itertools.product([-1, 1], repeat=size - 1)])
    for spins in itertools.combinations(range(len(x)), size):
        part = x[np.ix_(spins, spins)]
        total = np.einsum("ki,ij,kj->k", signs, part, signs) - np.trace(part)
        best = min(best, float(total.min()) / 2)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_rows_hold_for_states_and_are_violated_as_said(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(7, 10))
    x = random_moments(rng, n)
    found = violated_cliques(x, (40, 40, 40), 0.01)
    assert [set((rows.spins >= 0).sum(1).tolist()) for rows in found] == [{3}, {5}, {7}]
    for rows in found:
        assert np.all(rows.left(x) + rows.sides < -0.01)
        for state in all_states(n):
            assert np.all(rows.left(np.outer(state, state)) >= -rows.sides)
    assert found[0].left(x)[0] == pytest.approx(least_left(x, 3))
    # The search for larger ones is a heuristic, and a good one.
    assert found[1].left(x)[0] == pytest.approx(least_left(x, 5))


@pytest.mark.parametrize("sign", [1, -1])
def test_merged_spins_keep_the_rows_that_still_say_something(sign: int) -> None:
    rng = np.random.default_rng(5)
    n = 9
    rows = Cliques.none().joined(*violated_cliques(random_moments(rng, n), (60, 60, 60), 0.01))
    rows.weight = rng.random(rows.size)
    for i, j in [(0, 1), (2, 7), (3, 8), (0, 8)]:
        merged = rows.contract(i, j, sign)
        assert np.all(np.diff(np.where(merged.spins < 0, 99, merged.spins)) >= 0)
        assert np.all(merged.signs[:, 0] == 1)
        both = (rows.spins == i).any(1) & (rows.spins == j).any(1)
        alone = rows.kept(~both)
        for small in all_states(n - 1)[:64]:
            state = np.insert(small, j, sign * small[i])
            assert np.all(merged.left(np.outer(small, small)) >= -merged.sides)
            # Rows without the pair are the same rows, whatever their order.
            mine = alone.weight @ (alone.left(np.outer(state, state)) + alone.sides)
            hers = alone.contract(i, j, sign)
            theirs = hers.weight @ (hers.left(np.outer(small, small)) + hers.sides)
            assert mine == pytest.approx(theirs)


def test_a_pentagon_with_opposite_spins_is_a_triangle() -> None:
    rows = Cliques.of([[0, 1, 2, 3, 4]], [[1, 1, 1, -1, 1]], [2.0])
    smaller = rows.contract(1, 3, 1)
    assert smaller.spins[0].tolist() == [0, 2, 3, -1, -1, -1, -1]
    assert smaller.signs[0].tolist() == [1, 1, 1, 0, 0, 0, 0]
    assert smaller.weight.tolist() == [2.0]
    assert rows.contract(1, 3, -1).size == 0


def test_equal_rows_are_one_row() -> None:
    one = Cliques.of([[1, 2, 3]], [[1, -1, 1]], [0.25])
    other = Cliques.of([[1, 2, 3], [1, 2, 3]], [[1, -1, 1], [1, 1, 1]], [0.5, 1.0])
    both = one.joined(other)
    assert sorted(both.weight.tolist()) == [0.75, 1.0]
    assert Cliques.none().joined(Cliques.none()).size == 0
