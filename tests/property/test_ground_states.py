"""Ground states of random plane models against enumeration and the certificate checker."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planaris as pl
from planaris.planar import margin_violator
from planaris.planar.tjoin import frustrated_faces
from planaris.reference import enumerate_states
from planaris.verify import verify_tjoin
from strategies import plane_models


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


@settings(max_examples=1000)
@given(plane_models(max_vertices=12, kinds=("integers", "tied"), fields=True))
def test_integer_models_to_the_last_integer(case):
    model, _ = case
    assert_ground_state(model, pl.ground_state(model), integer=True)


@settings(max_examples=500)
@given(plane_models(max_vertices=12, fields=True))
def test_any_couplings(case):
    model, _ = case
    assert_ground_state(model, pl.ground_state(model, "planar"), integer=False)


@settings(max_examples=25)
@given(plane_models(max_vertices=16, kinds=("integers",), fields=True))
def test_sixteen_spins(case):
    model, _ = case
    assert_ground_state(model, pl.ground_state(model), integer=True)


@settings(max_examples=200)
@given(plane_models(max_vertices=10))
def test_given_embedding_and_certificate(case):
    model, graph = case
    result = pl.ground_state(model, embedding=graph.embedding)
    (certificate,) = result.certificate
    embedding, tjoin = certificate.embedding, certificate.tjoin
    outer = embedding.outer_faces[embedding.outer_faces >= 0]
    odd = np.setdiff1d(frustrated_faces(embedding, model.couplings), outer)
    verify_tjoin(
        embedding.num_faces,
        embedding.dual_edges,
        np.abs(model.couplings),
        odd,
        tjoin,
        boundary=outer,
    )


@settings(max_examples=200)
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
