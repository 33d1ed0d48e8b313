from __future__ import annotations

import numpy as np
import pytest

from planaris import IsingModel, MarkovRandomField, cuts
from planaris.errors import MethodError, TimeLimitError


@pytest.mark.parametrize("solve", [cuts.graph_cut, cuts.qpbo])
def test_no_spins_and_lonely_spins(solve):
    assert solve(IsingModel([], [], offset=2.0)).energy == -2.0
    best = solve(IsingModel([], [], fields=[1.0, -2.0, 0.0]))
    assert best.energy == -3.0
    assert best.spins[:2].tolist() == [1, -1]


def test_frustrated_models_are_refused_with_the_cycle():
    model = IsingModel([(0, 1), (1, 2), (0, 2), (2, 3)], [1.0, 1.0, -1.0, 5.0])
    with pytest.raises(MethodError, match="frustrated") as caught:
        cuts.graph_cut(model)
    assert sorted(caught.value.frustrated_cycle.tolist()) == [0, 1, 2]


def test_markov_random_fields_are_refused():
    for verb in (cuts.graph_cut, cuts.qpbo, cuts.is_submodular):
        with pytest.raises(MethodError, match="IsingModel"):
            verb(MarkovRandomField([2], []))


def test_zero_couplings_do_not_frustrate():
    model = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, -1.0, 0.0], fields=[0.5, 0.0, 0.0])
    assert cuts.is_submodular(model)
    assert cuts.graph_cut(model).spins.tolist() == [1, 1, -1]


def test_the_certificate_is_checked_not_trusted():
    model = IsingModel([(0, 1)], [1.0], fields=[1.0, -0.5])
    liar = cuts.FlowCertificate(np.array([100.0]))  # more than the coupling can carry
    assert liar.lower_bound(model) <= cuts.graph_cut(model).energy


def test_a_large_grid_is_solved_with_a_proof(rng):
    model = IsingModel.from_image(
        rng.normal(size=(150, 150)),
        np.abs(rng.normal(size=(150, 149))),
        np.abs(rng.normal(size=(149, 150))),
    )
    best = cuts.graph_cut(model)
    assert best.exact
    assert best.energy - best.certificate.lower_bound(model) < 1e-12 * abs(best.energy)


def test_a_long_path_needs_no_recursion():
    n = 300_000
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    fields = np.zeros(n)
    fields[0], fields[-1] = 1.0, -0.5
    couplings = np.full(n - 1, -2.0)
    best = cuts.graph_cut(IsingModel(edges, couplings, fields))
    # n is even: the alternating state suits both ends.
    assert best.energy == -2.0 * (n - 1) - 1.5


@pytest.mark.usefixtures("ticking")
def test_time_limits_stop_the_work(rng):
    model = IsingModel.from_image(rng.normal(size=(400, 400)), 1.0, 1.0)
    with pytest.raises(TimeLimitError, match="time_limit"):
        cuts.graph_cut(model, time_limit=1e-4)
