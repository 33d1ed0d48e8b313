"""Ground states of random plane models against enumeration and the certificate checker."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import planaris as pl
from helpers.strategies import plane_models
from helpers.trials import examples
from planaris.errors import VerificationError
from planaris.planar import margin_violator
from planaris.reference import enumerate_states
from planaris.verify import check_certificate, check_ground_state


def assert_ground_state(model: pl.IsingModel, result, *, integer: bool) -> None:
    best = enumerate_states(model).energy
    assert result.exact
    assert result.lower == result.upper == result.energy == float(model.energy(result.spins))
    if integer:
        assert result.energy == best
    else:
        # Both are the energy of a ground state, added up in the same order: ties may round apart.
        scale = np.abs(model.couplings).sum() + np.abs(model.fields).sum()
        assert result.energy <= best + 4e-16 * scale


@examples(1000)
@given(plane_models(max_vertices=16, kinds=("integers", "tied"), fields=True))
def test_integer_models_to_the_last_integer(case):
    model, _ = case
    assert_ground_state(model, pl.ground_state(model), integer=True)


@examples(500)
@given(plane_models(max_vertices=12, fields=True))
def test_any_couplings(case):
    model, _ = case
    assert_ground_state(model, pl.ground_state(model, "planar"), integer=False)


@examples(200)
@given(plane_models(max_vertices=10))
def test_given_embedding_and_certificate(case):
    model, graph = case
    result = pl.ground_state(model, embedding=graph.embedding)
    check_ground_state(model, result)


@examples(200)
@given(plane_models(max_vertices=8, kinds=("integers",), fields=True), st.data())
def test_a_worse_state_is_caught_by_the_certificate_alone(case, data):
    model, _ = case
    assume(model.num_spins > 0)
    result = pl.ground_state(model)
    spins = result.spins.copy()
    spins[data.draw(st.integers(0, model.num_spins - 1))] *= -1
    energy = float(model.energy(spins))
    assume(energy > result.energy)
    worse = replace(result, spins=spins, energy=energy, lower=energy, upper=energy)
    with pytest.raises(VerificationError):
        check_certificate(model, worse)


@examples(200)
@given(plane_models(max_vertices=9, kinds=("integers", "floats")), st.data())
def test_margin_violator_is_the_worst_state(case, data):
    model, _ = case
    sign = st.sampled_from([-1, 1])
    target = np.array(data.draw(st.lists(sign, min_size=model.num_spins, max_size=model.num_spins)))
    weight = st.integers(0, 3)
    v = np.array(
        data.draw(st.lists(weight, min_size=model.num_edges, max_size=model.num_edges)), dtype=float
    )
    worst = margin_violator(model, target.astype(np.int8), v)
    from planaris.reference.brute_force import all_states

    states = all_states(model.num_spins)
    u, w = model.edges.T
    changed = (states[:, u] != states[:, w]) != (target[u] != target[w])
    margins = model.energy(states) - changed @ v
    assert worst.exact
    assert worst.margin_energy == pytest.approx(margins.min(), abs=1e-12)
    assert worst.margin_energy == pytest.approx(worst.energy - worst.distance, abs=1e-12)
