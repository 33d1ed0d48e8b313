"""What counts as closed where strong couplings stand beside weak ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import planaris as pl
from helpers.claims import claimed_state
from planaris.budget import Budget
from planaris.errors import VerificationError
from planaris.reductions.parts import join_ground_states, split_model
from planaris.result import GroundState
from planaris.result.proofs import PartProofs
from planaris.verify.proofs.energy.ground_state import check_certificate


def weak_beside_one_strong_field(seed: int) -> pl.IsingModel:
    rng = np.random.default_rng(seed)
    lattice = pl.generate.square_lattice(4)
    fields = 1e-9 * rng.normal(size=16)
    couplings = 1e-9 * rng.normal(size=len(lattice.edges))
    fields[int(rng.integers(16))] = 3.0
    return pl.IsingModel(lattice.edges, couplings, fields)


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("prove", [False, True])
@pytest.mark.parametrize("method", ["cycle-lp", "mplp", "branch-and-cut", "local-lp", "pdc"])
@pytest.mark.parametrize("seed", [24, 29])
def test_a_strong_field_does_not_hide_weak_couplings(seed: int, method: str, prove: bool) -> None:
    model = weak_beside_one_strong_field(seed)
    least = pl.ground_state(model, "brute-force").energy
    found = pl.ground_state(model, method, prove=prove, time_limit=1.0)
    assert found.lower <= least + 2e-15
    if found.exact:
        assert found.energy <= least + 2e-15


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("prove", [False, True])
@pytest.mark.parametrize("method", ["cycle-lp", "mplp", "branch-and-cut", "local-lp"])
@pytest.mark.parametrize("seed", [1, 2])
def test_penalties_do_not_close_gaps(seed: int, method: str, prove: bool) -> None:
    rng = np.random.default_rng(seed)
    lattice = pl.generate.square_lattice(5)
    factors = [((v,), rng.normal(size=3)) for v in range(25)]
    for u, v in lattice.edges.tolist():
        table = rng.normal(size=(3, 3))
        table[rng.random((3, 3)) < 0.25] = -1e12
        factors.append(((u, v), table))
    field = pl.MarkovRandomField(np.full(25, 3), factors, log=True)
    least = pl.ground_state(field, "treewidth").energy
    assert least < 1e3  # no penalty is paid
    found = pl.ground_state(field, method, prove=prove, time_limit=1.0)
    assert found.lower <= least + 1e-2
    if found.exact:
        assert found.energy == pytest.approx(least, abs=1e-2)


def test_the_gaps_of_parts_that_count_as_closed_stay_in_the_interval() -> None:
    model = pl.IsingModel([(0, 1), (2, 3)], [1.1, 2.3], offset=1.0)

    def join(model: pl.IsingModel) -> GroundState:
        split = split_model(model)
        (part,) = split.parts
        energy = -float(np.abs(part.model.couplings).sum())
        up = np.ones(4, np.int8)
        nearly = claimed_state(up, energy, energy - 1e-10, energy, True, "some")
        return join_ground_states(split, [nearly], Budget())

    found = join(model)
    assert found.exact
    assert -4.4 - 3e-10 < found.lower <= -4.4 - 0.9e-10
    whole = join(model.with_couplings([1.0, 2.0]))
    assert whole.lower == whole.energy == -4.0  # no energy but every second whole number


def test_the_spacing_of_the_energies_of_a_part_closes_its_gap() -> None:
    """The whole model has energies of any spacing: only its part has those of ±J couplings."""
    edges = [(4, 9), (3, 4), (0, 7), (0, 2), (5, 7), (1, 8), (5, 8), (0, 9), (6, 9), (3, 6)]
    edges += [(7, 9), (8, 9), (2, 4), (1, 7), (0, 8), (5, 6), (2, 9), (1, 5), (1, 4), (2, 8)]
    fields = np.zeros(10)
    fields[3] = -0.19643412273263422
    model = pl.IsingModel(edges, np.full(20, -2.0), fields)
    found = pl.ground_state(model, method="surface")
    assert found.exact
    check_certificate(model, found)
    parts = found.certificate
    assert isinstance(parts, PartProofs)
    part = max(parts, key=lambda part: len(part.edges))
    for more in (1e-3, 4.0):  # no energy of the part, or one that its proof does not reach
        forged = PartProofs(replace(p, lower=p.lower + more) if p is part else p for p in parts)
        with pytest.raises(VerificationError):
            check_certificate(model, replace(found, certificate=forged))
