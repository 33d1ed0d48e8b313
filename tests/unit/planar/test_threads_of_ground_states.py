"""Ground states of models that are large enough for several threads: the same bits with any."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import planaris as pl
from planaris.budget import use_threads
from planaris.embed import Embedding, embed
from planaris.models import ising
from planaris.verify import check_result

SIDE = 190
"""More than 2^16 edges, from which on faces are traced by several threads."""


def _glass(rng: np.random.Generator) -> pl.IsingModel:
    return pl.generate.spin_glass(SIDE, rng)


def _diluted(rng: np.random.Generator) -> pl.IsingModel:
    """Couplings of zero, between spins that keep their edges."""
    glass = _glass(rng)
    return glass.with_couplings(glass.couplings * (rng.random(glass.num_edges) < 0.5))


def _bond_diluted(rng: np.random.Generator) -> pl.IsingModel:
    """Isolated spins, bridges and several components."""
    glass = pl.generate.spin_glass(SIDE + 60, rng)
    kept = rng.random(glass.num_edges) < 0.55
    return pl.IsingModel(
        glass.edges[kept],
        np.sign(glass.couplings[kept]),
        num_spins=glass.num_spins,
        positions=glass.positions,
    )


def _path(rng: np.random.Generator) -> pl.IsingModel:
    """A single long face, with every edge twice."""
    spins = np.arange(80_000)
    ends = np.column_stack([spins[:-1], spins[1:]])
    edges = np.concatenate([ends, ends[:, ::-1]])
    at = np.column_stack([spins, 0 * spins])
    return pl.IsingModel(edges, rng.standard_normal(len(edges)), positions=at)


@pytest.mark.parametrize("make", [_glass, _diluted, _bond_diluted, _path])
def test_ground_states_do_not_depend_on_the_number_of_threads(make, rng):
    model = make(rng)
    found = []
    for threads in (1, 2, 16):
        again = pl.IsingModel(
            model.edges, model.couplings, num_spins=model.num_spins, positions=model.positions
        )
        found.append(pl.ground_state(again, "planar", threads=threads))
    first, *others = found
    assert first.exact
    for other in others:
        assert other.energy == first.energy
        assert other.tolerance == first.tolerance
        assert other.spins.tobytes() == first.spins.tobytes()
        ours, its = (r.certificate[0].proof.as_proof() for r in (first, other))
        for name in ("walk", "offsets", "free", "order", "start", "stop", "parent", "digits"):
            assert getattr(ours, name).tobytes() == getattr(its, name).tobytes(), name
    check_result(model, first)


def test_small_models_take_many_threads():
    for model in (
        pl.IsingModel(np.zeros((0, 2), int), [], num_spins=0),
        pl.IsingModel(np.zeros((0, 2), int), [], num_spins=1),
        pl.IsingModel([(0, 1), (1, 0), (2, 3)], [1.0, -3.0, 0.0], num_spins=6),
    ):
        found = [pl.ground_state(model, "planar", threads=threads) for threads in (1, 2, 16)]
        assert len({(r.energy, r.spins.tobytes()) for r in found}) == 1


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_energies_of_large_models_are_rounded_once(threads, rng):
    glass = _glass(rng)
    couplings = glass.couplings * 2.0 ** rng.integers(-600, 600, glass.num_edges)
    couplings[:7] = [5e-324, -5e-324, 1e300, -1e300, 2.0**-1042, 0.0, -0.0]
    fields = rng.standard_normal(glass.num_spins)
    spins = rng.choice(np.array([-1, 1], dtype=np.int8), glass.num_spins)
    agree = spins[glass.edges[:, 0]] * spins[glass.edges[:, 1]]
    for h in (None, fields):
        model = pl.IsingModel(glass.edges, couplings, h, num_spins=glass.num_spins, offset=0.1)
        terms = [*(couplings * agree), 0.1, *([] if h is None else h * spins)]
        with use_threads(threads):
            assert float(model.energy(spins)) == -float(sum(map(Fraction, terms)))
            assert model.energy_above(spins, [0.5, -1e-30]) == -float(
                sum(map(Fraction, [*terms, 0.5, -1e-30]))
            )
            assert model.energy_above(spins, [np.inf]) == -np.inf
    assert model.num_edges >= ising.MANY_EDGES


@pytest.mark.parametrize("make", [_glass, _bond_diluted, _path])
def test_faces_and_components_do_not_depend_on_the_number_of_threads(make, rng):
    model = make(rng)
    found = []
    for threads in (1, 2, 16):
        with use_threads(threads):
            drawn = embed(model)
            again = Embedding(drawn.num_vertices, drawn.edges, drawn.rotation, drawn.offsets)
            arrays = (again.face_of, again.face_walk, again.face_offsets, again.component_of)
            found.append(b"".join(array.tobytes() for array in arrays))
    assert len(set(found)) == 1
    assert again.genus == 0
