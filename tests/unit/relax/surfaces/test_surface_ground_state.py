"""Ground states on surfaces against enumeration, with proofs that are checked."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from helpers.clocks import StepClock
from helpers.trials import seeds, trials
from planaris.budget import UNLIMITED, use_clock
from planaris.embed import Embedding, embedding_with_handles, torus_lattice
from planaris.errors import MethodError, TooLargeError
from planaris.reference import enumerate_states
from planaris.relax import surface_ground_state
from planaris.relax.surfaces import bundle, search
from planaris.relax.surfaces.joins import Held, SurfaceJoins
from planaris.relax.surfaces.seams import improve_around_seams, random_seam
from planaris.verify import check_certificate, check_result


def couplings_of(kind: str, count: int, rng: np.random.Generator) -> np.ndarray:
    signs = rng.choice([-1.0, 1.0], count)
    return {
        "signs": signs,
        "normal": rng.normal(size=count),
        "ties and zeros": rng.integers(-2, 3, count).astype(float),
        "antiferromagnet": -np.ones(count),
        "powers": signs * 2.0 ** rng.integers(-20, 21, count),
        "tiny": 1e-300 * signs * rng.integers(1, 4, count),
        "subnormal": 5e-324 * signs * rng.integers(0, 9, count),
        "huge": 1e300 * rng.normal(size=count),
    }[kind]


KINDS = ["signs", "normal", "ties and zeros", "antiferromagnet", "powers"]
KINDS += ["tiny", "subnormal", "huge"]


def surfaces(rng: np.random.Generator) -> list[Embedding]:
    complete = [(u, v) for u in range(8) for v in range(u)]
    random = [edge for edge in complete if rng.random() < 0.6]
    diluted = torus_lattice(3, 5)
    kept = diluted.edges[rng.random(diluted.num_edges) < 0.8]
    return [
        torus_lattice(3, 5),
        torus_lattice(4, 4),
        torus_lattice(3, 3, "triangular"),
        embedding_with_handles(complete[:21]),
        embedding_with_handles(random, num_vertices=9),
        embedding_with_handles(kept, num_vertices=16),
    ]


def require_ground_state(model: pl.IsingModel, found: pl.GroundState) -> None:
    least = enumerate_states(model).energy
    assert found.exact
    assert found.energy <= least + model.energy_tolerance
    assert found.lower <= least + 1e-12 * abs(least)
    assert check_certificate(model, found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", seeds(2, 4))
def test_as_enumeration(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for surface in surfaces(rng):
        couplings = couplings_of(kind, surface.num_edges, rng)
        model = pl.IsingModel(surface.edges, couplings, num_spins=surface.num_vertices)
        require_ground_state(model, surface_ground_state(model, surface, seed=seed))


@pytest.mark.parametrize("seed", range(3))
def test_couplings_too_different_for_integers_end_the_search_where_nothing_is_gained(
    seed: int,
) -> None:
    """Ordinary couplings beside some of 1e17 are lost in units: no branch would bring them back."""
    rng = np.random.default_rng(seed)
    surface = torus_lattice(4, 4)
    couplings = rng.normal(size=surface.num_edges)
    couplings[rng.choice(len(couplings), 3, replace=False)] = 1e17
    model = pl.IsingModel(surface.edges, couplings)
    found = surface_ground_state(model, surface)
    least = enumerate_states(model).energy
    assert found.lower <= least <= found.energy
    assert found.energy - found.lower < 1e-14 * 1e17
    assert check_certificate(model, found)
    assert found.stats["nodes"] < 30  # thousands, if nodes that are as light as the state branch


@pytest.mark.parametrize("kind", ["signs", "normal", "ties and zeros"])
def test_branching_alone_finds_it(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without cycle inequalities all is left to branching on T-join bounds."""
    monkeypatch.setattr(bundle.Lagrangian, "separate", lambda *_, **__: 0)
    monkeypatch.setattr(search, "TRIES", 0)
    branched = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        surface = torus_lattice(3, 5)
        model = pl.IsingModel(surface.edges, couplings_of(kind, surface.num_edges, rng))
        found = surface_ground_state(model, surface)
        require_ground_state(model, found)
        proof = found.certificate.as_proof()
        branched += len(proof.branch_edge) > 1
    assert branched > 3


def test_cycles_around_handles_raise_the_bound() -> None:
    raised, count = 0, trials(8, 20)
    for seed in range(count):
        rng = np.random.default_rng(seed)
        surface = torus_lattice(9, 9)
        model = pl.IsingModel(surface.edges, rng.normal(size=surface.num_edges))
        bare = pl.planar.ground_state(model, embedding=surface)
        found = surface_ground_state(model, surface)
        by_elimination = pl.ground_state(model, "treewidth")
        assert found.exact
        assert found.energy == pytest.approx(by_elimination.energy, rel=1e-12)
        raised += found.lower > bare.lower + 1e-6
    assert raised > count // 4


@pytest.mark.parametrize("ticks", [1, 3, 10, 30, 100, 300, 1000])
def test_stopped_at_any_time_it_is_an_interval(ticks: int, ticking: object) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        surface = torus_lattice(4, 4)
        model = pl.IsingModel(surface.edges, rng.choice([-1.0, 1.0], surface.num_edges))
        found = surface_ground_state(model, surface, time_limit=float(ticks))
        least = enumerate_states(model).energy
        assert found.lower <= least <= found.energy
        assert check_certificate(model, found)


def test_a_state_is_optimised_around_seams() -> None:
    rng = np.random.default_rng(3)
    surface = torus_lattice(4, 4)
    model = pl.IsingModel(surface.edges, rng.normal(size=surface.num_edges))
    joins = SurfaceJoins(model, surface, UNLIMITED)
    seam = random_seam(surface, rng)
    spins = rng.choice(np.array([-1, 1], dtype=np.int8), 16)
    before = joins.unsatisfied_by(spins)
    found = joins.solve(joins.weights, Held(seam, before)).unsatisfied
    assert joins.state_of(found) is not None
    assert np.array_equal(found[seam], before[seam])
    states = enumerate_states(model).ground_states
    improved = improve_around_seams(joins, spins, rng, patience=20)
    assert any(np.array_equal(improved * improved[0], state * state[0]) for state in states)


def test_held_edges_that_contradict_each_other() -> None:
    surface = torus_lattice(3, 3)
    joins = SurfaceJoins(pl.IsingModel(surface.edges, 1.0), surface, UNLIMITED)
    around = [k for k, (u, v) in enumerate(surface.edges.tolist()) if {u, v} <= {0, 1, 2}]
    assert joins.implied(((around[0], True),)) is not None
    implied = joins.implied(((around[0], True), (around[1], False)))
    assert implied is not None
    assert implied.mask[around[2]]
    assert implied.value[around[2]]
    assert joins.implied(tuple((edge, True) for edge in around)) is None


def test_the_embedding_decides_what_auto_does() -> None:
    rng = np.random.default_rng(0)
    lattice = torus_lattice(12, 12)
    shuffled = rng.permutation(144).astype(np.int32)
    model = pl.IsingModel(shuffled[lattice.edges], rng.choice([-1.0, 1.0], lattice.num_edges))
    place = np.argsort(shuffled)
    around = np.concatenate(
        [lattice.rotation[lattice.offsets[v] : lattice.offsets[v + 1]] for v in place]
    )
    surface = Embedding.from_rotation(model.edges, around, num_vertices=144)
    assert surface.genus == 1
    found = pl.ground_state(model, embedding=surface)
    assert found.exact
    assert found.method in {"planar", "surface"}
    assert found.energy == pl.ground_state(model, "surface", embedding=surface).energy
    assert found.energy == pl.ground_state(model, "surface").energy  # recognised by its faces


def test_graphs_of_high_genus_need_an_embedding() -> None:
    _, edges = pl.generate.random_regular_graph(4, 144, 0)
    with pytest.raises(TooLargeError, match="Pass an `embedding`"):
        pl.ground_state(pl.IsingModel(edges, 1.0), "surface")


def test_nearly_planar_models_are_put_on_surfaces() -> None:
    rng = np.random.default_rng(1)
    grid = pl.generate.spin_glass(30, rng)
    edges = [*grid.edges.tolist(), (0, 899), (29, 870), (435, 12)]
    model = pl.IsingModel(edges, rng.normal(size=len(edges)))
    found = pl.ground_state(model)
    assert found.exact
    assert found.method == "surface"
    assert check_certificate(model, found)


def test_external_fields_need_a_bias_spin() -> None:
    surface = torus_lattice(3, 3)
    model = pl.IsingModel(surface.edges, 1.0, fields=np.ones(9))
    with pytest.raises(MethodError, match="bias spin"):
        surface_ground_state(model, surface)


def test_proofs_of_any_deadline_are_accepted():
    """Before the first T-join too, which is given up when its time is over."""
    lattice = torus_lattice(3, 4)
    rng = np.random.default_rng(5)
    model = pl.IsingModel(lattice.edges, rng.normal(size=lattice.num_edges), num_spins=12)
    least = enumerate_states(model).energy
    for n in (*range(1, 30), *range(30, 200, 17)):
        with use_clock(StepClock(n)):
            found = pl.ground_state(model, "surface", time_limit=1.0, threads=1)
        assert found.lower <= least + 1e-9
        assert found.energy >= least - 1e-9
        assert check_result(model, found)
