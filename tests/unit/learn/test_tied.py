"""Contracted graphs against enumeration of the states that keep the ties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from planaris.errors import ModelError, NotPlanarError
from planaris.generate import square_lattice
from planaris.learn import TiedGraph


def states_of(n, ties, opposite):
    states = np.array(list(itertools.product((-1, 1), repeat=n)), dtype=np.int8)
    for (u, v), differ in zip(ties, opposite, strict=True):
        states = states[(states[:, u] != states[:, v]) == differ]
    return states


CASES = {
    "free grid": (square_lattice(3, 3).edges, 9, [], []),
    "pegged corners": (square_lattice(3, 3).edges, 9, [(0, 8)], [True]),
    "pegged 2x2, edges become parallel": (square_lattice(2, 2).edges, 4, [(0, 3)], [True]),
    "an edge inside a tie": (square_lattice(2, 3).edges, 6, [(0, 1), (1, 2)], [True, False]),
    "all tied": ([(0, 1)], 2, [(0, 1)], [True]),
    "path of one": ([], 1, [], []),
    "parallel edges, isolated spin": ([(0, 1), (1, 0), (1, 2)], 4, [(0, 2)], [False]),
}


@pytest.mark.parametrize("case", CASES)
def test_inference_agrees_with_enumeration(case, rng):
    edges, n, ties, opposite = CASES[case]
    edges = np.asarray(edges, dtype=np.int32).reshape(-1, 2)
    graph = TiedGraph(n, edges, ties=ties, opposite=opposite)
    states = states_of(n, ties, opposite)
    couplings = rng.standard_normal(len(edges))
    agree = states[:, edges[:, 0]] * states[:, edges[:, 1]]
    log_weights = agree @ couplings
    log_z = np.logaddexp.reduce(log_weights)
    probability = np.exp(log_weights - log_z)

    apart, found = graph.marginals(couplings)
    assert found == pytest.approx(log_z, abs=1e-12)
    assert graph.log_partition(couplings) == pytest.approx(log_z, abs=1e-12)
    np.testing.assert_allclose(apart, probability @ (agree < 0), atol=1e-12)

    best = graph.ground_state(couplings)
    assert graph.keeps_ties(best)
    assert (best[edges[:, 0]] * best[edges[:, 1]]) @ couplings == pytest.approx(log_weights.max())

    reference = states[int(rng.integers(len(states)))]
    weights = rng.random(len(edges))
    worst, found = graph.margin_violator(couplings, reference, weights)
    wrong = (agree < 0) != graph.cut(reference)
    margins = -log_weights - wrong @ weights  # eq. 8, up to a constant
    at = np.flatnonzero((states == worst).all(axis=1))
    assert len(at) == 1
    assert margins[at[0]] == pytest.approx(margins.min())
    assert found.distance == pytest.approx(float(wrong[at[0]] @ weights))


def test_samples_keep_the_ties_and_have_the_right_marginals(rng):
    edges = square_lattice(3, 4).edges
    graph = TiedGraph(12, edges, ties=[(0, 11)])
    couplings = rng.standard_normal(len(edges)) / 2
    samples = graph.sample(couplings, 2000, rng)
    assert all(graph.keeps_ties(s) for s in samples)
    apart = (samples[:, edges[:, 0]] != samples[:, edges[:, 1]]).mean(axis=0)
    np.testing.assert_allclose(apart, graph.marginals(couplings)[0], atol=5 * 0.5 / 2000**0.5)


def test_without_edges_samples_are_free(rng):
    samples = TiedGraph(3, [], ties=[(0, 2)]).sample([], 400, rng)
    assert np.all(samples[:, 0] == -samples[:, 2])
    assert abs(samples[:, 1].mean()) < 0.25


def test_what_is_refused():
    square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    with pytest.raises(ModelError, match="contradict"):
        TiedGraph(4, square, ties=[(0, 1), (1, 2), (0, 2)])
    with pytest.raises(ModelError, match="ties"):
        TiedGraph(4, square, ties=[(0, 7)])
    lattice = square_lattice(5, 5)
    inside = TiedGraph(25, lattice.edges, ties=[(0, 12), (4, 12)])
    with pytest.raises(NotPlanarError, match="share a face"):
        inside.ground_state(np.ones(40))
