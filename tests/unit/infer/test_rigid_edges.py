"""Rigid edges against all ground states, listed."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from planaris.errors import ModelError
from planaris.reference.brute_force import all_states


def listed(model: pl.IsingModel) -> np.ndarray:
    """Return all ground states."""
    states = all_states(model.num_spins)
    weights = model.log_weight(states)
    return states[weights >= weights.max() - 1e-9]


def check(model: pl.IsingModel) -> pl.infer.RigidEdges:
    states = listed(model)
    u, v = model.edges.T
    signs = states[:, u] * states[:, v]
    found = pl.rigid_edges(model)
    assert found.exact
    same = np.all(signs == signs[0], axis=0)
    assert found.rigid.tolist() == same.tolist()
    assert found.loose.tolist() == (~same).tolist()
    has_field = model.fields != 0
    fixed = np.all(states == states[0], axis=0) & has_field
    assert found.rigid_fields.tolist() == fixed.tolist()
    # Within a cluster all ground states agree up to a flip.
    for cluster in np.unique(found.clusters):
        part = states[:, found.clusters == cluster]
        assert np.all(part * part[:, :1] == part[0] * part[0, 0])
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", [(3, 4), (3, 5), (4, 4)])
def test_tori(seed: int, shape: tuple[int, int]) -> None:
    lattice = pl.generate.torus(*shape)
    rng = np.random.default_rng(seed)
    couplings = rng.choice([-1.0, 1.0], len(lattice.edges))
    if seed % 3 == 2:
        couplings *= rng.integers(1, 4, len(couplings))
    check(pl.IsingModel(lattice.edges, couplings))


@pytest.mark.parametrize("seed", range(4))
def test_real_couplings_have_one_ground_state(seed: int) -> None:
    lattice = pl.generate.torus(3, 5)
    model = pl.generate.spin_glass(lattice, seed)
    found = check(model)
    assert found.certain.all()


@pytest.mark.parametrize("seed", range(6))
def test_fields_and_other_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 9
    edges = np.array([(u, v) for u in range(n) for v in range(u) if rng.random() < 0.4])
    couplings = rng.integers(-2, 3, len(edges)).astype(float)
    fields = rng.integers(-1, 2, n) * float(seed % 2)
    check(pl.IsingModel(edges, couplings, fields, num_spins=n))


def test_real_couplings_with_ties() -> None:
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    found = check(pl.IsingModel(edges, [0.3, 0.3, -0.3, 0.3, 0.1]))
    assert found.loose.any()


@pytest.mark.parametrize("edges", [[], [(0, 1)]])
def test_small_models(edges: list[tuple[int, int]]) -> None:
    found = pl.rigid_edges(pl.IsingModel(edges, np.ones(len(edges)), num_spins=3))
    assert found.exact
    assert found.rigid.all()
    assert int(found.certain.sum()) == 1 + len(edges)
    assert pl.rigid_edges(pl.IsingModel([], [], num_spins=0)).exact


def test_free_spins_are_loose() -> None:
    found = check(pl.IsingModel([(0, 1), (1, 2)], [0.0, 1.0]))
    assert found.loose.tolist() == [True, False]


def test_turning_a_rigid_edge_of_a_larger_torus_costs_energy() -> None:
    lattice = pl.generate.torus(12)
    couplings = np.random.default_rng(0).choice([-1.0, 1.0], len(lattice.edges))
    model = pl.IsingModel(lattice.edges, couplings)
    found = pl.rigid_edges(model)
    assert found.exact
    assert found.rigid.any()
    assert found.loose.any()
    # Turning a rigid edge by force costs energy, turning a loose one none.
    least = found.state.energy
    u, v = model.edges.T
    for edge in [np.flatnonzero(found.rigid)[0], np.flatnonzero(found.loose)[0]]:
        sign = float(found.state.spins[u[edge]] * found.state.spins[v[edge]])
        forced = np.array(model.couplings)
        forced[edge] -= 8.0 * sign  # more than its neighbours can hold against
        turned = pl.ground_state(model.with_couplings(forced)).spins
        assert turned[u[edge]] * turned[v[edge]] == -sign
        assert (float(model.energy(turned)) == least) == bool(found.loose[edge])


@pytest.mark.usefixtures("ticking")
def test_what_time_does_not_decide_is_said() -> None:
    model = pl.generate.spin_glass(pl.generate.torus(8), 0)
    model = model.with_couplings(np.sign(model.couplings))
    found = pl.rigid_edges(model, time_limit=0.05)
    assert not found.exact
    assert not (found.rigid & found.loose).any()


def test_other_models_are_refused() -> None:
    with pytest.raises(ModelError, match="IsingModel"):
        pl.rigid_edges(pl.MarkovRandomField([2], []))  # type: ignore[arg-type]


def test_large_numbers_hide_no_loose_edges() -> None:
    edges = [(0, 1), (1, 2), (2, 0)]
    loose = pl.rigid_edges(pl.IsingModel(edges, [0.0, 0.0, 0.0], offset=1e17))
    assert not loose.rigid.any()
    found = check(pl.IsingModel([*edges, (2, 3)], [1.0, 1.0, -1.0, 8.0], offset=1e17))
    assert found.rigid.tolist() == [False, False, False, True]


def test_states_that_large_couplings_make_look_alike_are_not_ground_states() -> None:
    model = pl.IsingModel([(4, 0), (2, 1), (3, 2), (6, 5)], [5.6e16, 120.0, -1.3e8, 8.3e-8])
    found = pl.rigid_edges(model)
    assert not found.loose.any()
