"""Batches of coupling vectors: rows of one call against sums over all states and each other."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import planaris as pl
from helpers.clocks import StepClock
from planaris.budget import use_clock
from planaris.errors import ModelError, PrecisionError, TimeLimitError
from planaris.kernels import plane_models
from planaris.planar.pfaffian import batch as batches
from planaris.planar.pfaffian import sampling
from planaris.planar.pfaffian.precision_ladder import attempts
from planaris.typing import FloatArray

TREE = [(0, 1), (1, 2), (1, 3), (3, 4), (3, 5), (0, 6)]
PARALLEL = [(0, 1), (0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (2, 0)]
BRIDGED = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)]
APART = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 6), (6, 3), (7, 8)]

GRAPHS = {
    "square": pl.generate.square_lattice(3),
    "triangular": pl.generate.triangular_lattice(3),
    "tree": (7, TREE),
    "parallel edges": (4, PARALLEL),
    "bridge": (6, BRIDGED),
    "apart": (10, APART),  # and a spin without edges
    "random": pl.generate.random_planar_graph(9, 14, np.random.default_rng(4)),
}
BETAS = (0.0, 0.2, 1.0, 3.0, 9.0, 40.0)


def rows_of(plan: pl.Plan, count: int, seed: int) -> FloatArray:
    """Cold rows among warm ones, Gaussian and of two values in turn."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((count, plan.num_edges))
    rows[1::2] = np.sign(rows[1::2])
    return rows * np.resize(BETAS, count)[:, None]


@pytest.mark.parametrize("name", GRAPHS)
def test_every_row_is_the_sum_over_all_states(name: str) -> None:
    plan = pl.plan(GRAPHS[name])
    n, edges = plan.num_spins, plan.embedding.edges
    states = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    agree = states[:, edges[:, 0]] == states[:, edges[:, 1]]
    couplings = rows_of(plan, 13, 1)
    energies = -np.where(agree, 1.0, -1.0) @ couplings.T
    found, edge_marginals = plan.log_partition(couplings), plan.marginals(couplings)
    for k, energy in enumerate(energies.T):
        weight = np.exp(energy.min() - energy)
        log_z = np.log(weight.sum()) - energy.min()
        assert found.lower[k] - 1e-12 * abs(log_z) <= log_z <= found.upper[k] + 1e-12 * abs(log_z)
        assert found[k].exact
        expected = weight @ agree / weight.sum()
        assert np.abs(edge_marginals.edges[k] - expected).max(initial=0.0) < 1e-9
        assert edge_marginals.log_z[k] == pytest.approx(log_z, rel=1e-11)


def test_digits_depend_on_the_row_alone() -> None:
    plan = pl.plan(pl.generate.triangular_lattice(9))
    couplings = rows_of(plan, 37, 2)
    whole, edges = plan.log_partition(couplings), plan.marginals(couplings, threads=1)
    for threads in (1, 3):
        again = plan.log_partition(couplings[::-1], threads=threads)
        assert np.array_equal(again.values[::-1], whole.values)
        assert np.array_equal(again.upper[::-1], whole.upper)
        backwards = plan.marginals(couplings[::-1], threads=threads)
        assert np.array_equal(backwards.edges[::-1], edges.edges)
    for k, row in enumerate(couplings):
        alone = plan.log_partition(row)
        assert (alone.value, alone.lower, alone.upper) == (
            whole.values[k],
            whole.lower[k],
            whole.upper[k],
        )
        assert alone.stats == whole[k].stats
        assert np.array_equal(plan.marginals(row).edges, edges[k].edges)


@pytest.mark.parametrize("beta", [0.3, 1.0, 1.7, 3.0, 10.0])
def test_intervals_hold_in_double_double(beta: float) -> None:
    # Eliminated with twice the digits, in the order of the packing: no step in common but the
    # dissection.
    plan = pl.plan(pl.generate.square_lattice(12))
    couplings = beta * np.random.default_rng(7).standard_normal((8, plan.num_edges))
    found = plan.log_partition(couplings)
    for k, row in enumerate(couplings):
        *_, (entries, wide) = attempts(plan.evaluator, row, pl.budget.UNLIMITED)
        assert wide
        sure = plan.evaluator.elimination.log_pfaffian(
            entries.face, entries.scale, entries.signs, order=entries.order, wide=True
        )
        value = sure.log_magnitude + float(np.sum(entries.gauged, dtype=np.longdouble)) + np.log(2)
        assert found.lower[k] <= value <= found.upper[k]
        assert found.upper[k] - found.lower[k] < 1e-7


def test_cold_rows_keep_their_digits_in_every_group() -> None:
    # So cold, for this size, that each row is eliminated in the order of its own packing, in lanes.
    plan = pl.plan(pl.generate.square_lattice(36))
    couplings = 10 * np.random.default_rng(11).standard_normal((19, plan.num_edges))
    whole = plan.log_partition(couplings, threads=1)
    assert {one.stats["gauge"] for one in whole} == {"ground state, ordered"}
    again = plan.log_partition(couplings[::-1], threads=2)
    assert np.array_equal(again.values[::-1], whole.values)
    assert np.array_equal(again.upper[::-1], whole.upper)
    for k, row in enumerate(couplings[:3]):
        alone = plan.log_partition(row)
        assert (alone.value, alone.upper) == (whole.values[k], whole.upper[k])
        *_, (entries, _) = attempts(plan.evaluator, row, pl.budget.UNLIMITED)
        sure = plan.evaluator.elimination.log_pfaffian(
            entries.face, entries.scale, entries.signs, order=entries.order, wide=True
        )
        value = sure.log_magnitude + float(np.sum(entries.gauged, dtype=np.longdouble)) + np.log(2)
        assert whole.lower[k] <= value <= whole.upper[k]
        assert whole.upper[k] - whole.lower[k] < 1e-9


def test_large_unsatisfied_couplings_in_the_common_order() -> None:
    # Weights that single precision has not the range for: rounding is measured in double precision.
    lattice = pl.generate.square_lattice(21)
    plan = pl.plan(lattice)
    couplings = 10 * np.random.default_rng(13).standard_normal((40, plan.num_edges))
    whole = plan.log_partition(couplings, threads=1)
    again = plan.log_partition(couplings[::-1], threads=2)
    assert np.array_equal(again.values[::-1], whole.values)
    assert np.array_equal(again.upper[::-1], whole.upper)
    u, v = lattice.edges.T
    large = 0
    for k, row in enumerate(couplings):
        spins = plan.ground_states(row[None])[0].spins
        unsatisfied = np.abs(row[row * spins[u] * spins[v] < 0]).max()
        in_common_order = whole[k].stats["gauge"] == "ground state"
        large += in_common_order and unsatisfied > plane_models.BATCH_LIMITS.most_unsatisfied
        alone = plan.log_partition(row)
        assert (alone.value, alone.upper) == (whole.values[k], whole.upper[k])
        proof = plan.log_partition(row, prove=True)
        assert whole.lower[k] <= proof.lower <= proof.upper <= whole.upper[k]
    assert large >= 5


def test_a_row_that_is_no_number_is_named() -> None:
    plan = pl.plan(pl.generate.square_lattice(3))
    couplings = np.zeros((5, plan.num_edges))
    couplings[3, 7] = np.nan
    for ask in (plan.log_partition, plan.marginals, plan.ground_states):
        with pytest.raises(ModelError, match="got nan at edge 7 of row 3") as caught:
            ask(couplings)
        assert caught.value.row == 3


def test_a_row_whose_energies_overflow_is_named() -> None:
    plan = pl.plan(pl.generate.square_lattice(3))
    couplings = np.ones((5, plan.num_edges))
    couplings[2] = 1e307
    for ask in (plan.log_partition, plan.marginals, plan.ground_states):
        with pytest.raises(ModelError, match="in row 2: energies would overflow") as caught:
            ask(couplings)
        assert caught.value.row == 2
    assert plan.ground_states(couplings[2] / 4).exact


def test_rows_too_cold_for_digits_are_intervals_and_others_are_not() -> None:
    plan = pl.plan(pl.generate.square_lattice(4))
    rng = np.random.default_rng(0)
    couplings = rng.standard_normal((4, plan.num_edges))
    couplings[2] *= 1e18
    found = plan.log_partition(couplings)
    assert [one.exact for one in found] == [True, True, False, True]
    # On a plane the ground state is known, and no more than 2^n states.
    assert found.upper[2] - found.lower[2] >= (plan.num_spins - 1) * np.log(2)
    energy = plan.ground_states(couplings)[2].energy
    assert found.lower[2] <= -energy <= found.upper[2]


def test_a_row_too_cold_for_marginals_or_samples_is_named() -> None:
    plan = pl.plan(pl.generate.square_lattice(4))
    couplings = np.random.default_rng(0).standard_normal((4, plan.num_edges))
    couplings[2] *= 1e18
    for ask in (plan.marginals, lambda J: plan.sample(J, 2, np.random.default_rng(1))):
        with pytest.raises(PrecisionError, match="row 2 of `couplings`: ") as caught:
            ask(couplings)
        assert caught.value.row == 2
        with pytest.raises(PrecisionError, match=r"^(?!row)"):
            ask(couplings[2])


def test_batches_are_streamed_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = pl.plan(pl.generate.square_lattice(4))
    couplings = rows_of(plan, 25, 3)
    whole, edges = plan.log_partition(couplings), plan.marginals(couplings)
    monkeypatch.setattr(batches, "CHUNK_BYTES", 3 * 8 * plan.num_edges)
    assert np.array_equal(plan.log_partition(couplings).values, whole.values)
    assert np.array_equal(plan.marginals(couplings).edges, edges.edges)


def test_rows_on_disk_are_read_as_they_are_needed(tmp_path) -> None:
    plan = pl.plan(pl.generate.square_lattice(4))
    couplings = rows_of(plan, 9, 3)
    np.save(tmp_path / "rows.npy", couplings)
    stored = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert np.array_equal(plan.log_partition(stored).values, plan.log_partition(couplings).values)


def test_rows_that_time_does_not_suffice_for_are_intervals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = pl.plan(pl.generate.square_lattice(4))
    couplings = rows_of(plan, 12, 3)
    whole = plan.log_partition(couplings)
    monkeypatch.setattr(batches, "CHUNK_BYTES", 4 * 8 * plan.num_edges)
    met = 0
    for looks in range(1, 40):
        ticks = iter(range(10**6))
        with use_clock(lambda ticks=ticks: float(next(ticks))):
            found = plan.log_partition(couplings, time_limit=float(looks), threads=1)
        late = np.array([one.status == "time_limit" for one in found])
        assert np.array_equal(found.values[~late], whole.values[~late])
        assert (found.lower <= whole.values + 1e-9).all()
        assert (found.upper >= whole.values - 1e-9).all()
        met += 0 < late.sum() < len(late)
    assert met  # rows that were done are kept when time ends between chunks
    ticks = iter(range(10**6))
    with use_clock(lambda: float(next(ticks))), pytest.raises(TimeLimitError):
        plan.marginals(couplings, time_limit=3.0)


def test_nothing_is_dissected_once_the_time_is_over() -> None:
    plan = pl.plan(pl.generate.square_lattice(30))
    with use_clock(StepClock(1)):
        found = plan.log_partition(np.ones(plan.num_edges), time_limit=1.0)
    assert found.status == "time_limit"
    assert "elimination" not in vars(plan.evaluator)


def test_results_are_a_sequence() -> None:
    plan = pl.plan((2, [(0, 1)]))
    found = plan.log_partition([[0.0], [1.0], [2.0]])
    assert len(found) == 3
    assert found[-1].value == found[2].value == found.values[2]
    assert [one.value for one in found[1:]] == found.values[1:].tolist()
    assert repr(found) == "LogPartitions(3 rows)"
    with pytest.raises(IndexError):
        found[3]


@pytest.mark.parametrize("name", GRAPHS)
def test_ground_states_of_a_batch(name: str) -> None:
    plan = pl.plan(GRAPHS[name])
    n, edges = plan.num_spins, plan.embedding.edges
    states = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    couplings = rows_of(plan, 11, 5)
    energies = -(states[:, edges[:, 0]] * states[:, edges[:, 1]]) @ couplings.T
    found = plan.ground_states(couplings, threads=2)
    assert found.energies == pytest.approx(energies.min(0), rel=1e-13, abs=1e-13)
    for k, one in enumerate(found):
        assert np.array_equal(one.spins, found.spins[k])
        assert one.energy == pytest.approx(found.energies[k], rel=1e-15)
        assert one.exact
        assert float(one.certificate.tjoin.lower) == one.certificate.tjoin.objective
        alone = plan.ground_states(couplings[k])
        assert np.array_equal(alone.spins, one.spins)
    assert len(plan.ground_states(couplings[:0])) == 0


def test_proofs_of_ground_states_of_a_batch_are_checked() -> None:
    lattice = pl.generate.square_lattice(5)
    plan = pl.plan(lattice)
    couplings = np.random.default_rng(3).standard_normal((3, plan.num_edges))
    for row, one in zip(couplings, plan.ground_states(couplings), strict=True):
        assert pl.verify.check_certificate(pl.IsingModel(lattice.edges, row), one)


def test_certificates_of_rows_are_checked_like_those_of_models() -> None:
    lattice = pl.generate.square_lattice(4)
    plan = pl.plan(lattice)
    couplings = 6.0 * np.random.default_rng(1).standard_normal((2, plan.num_edges))
    for row, one in zip(couplings, plan.log_partition(couplings), strict=True):
        model = pl.IsingModel(lattice.edges, row)
        proof = one.certificate.as_proof()
        assert model.energy(proof.spins) == pytest.approx(pl.ground_state(model).energy)


def test_results_do_not_change_with_the_callers_array() -> None:
    plan = pl.plan(GRAPHS["square"])
    couplings = np.random.default_rng(3).normal(size=(3, plan.num_edges))
    before = couplings.copy()
    found = plan.log_partition(couplings), plan.marginals(couplings), plan.ground_states(couplings)
    couplings[:] = 9.0
    model = pl.IsingModel(plan.embedding.edges, before[1])
    for results in found:
        pl.verify.check_result(model, results[1])
    assert found[2][1].energy == model.energy(found[2][1].spins)


@pytest.mark.parametrize("name", GRAPHS)
def test_samples_of_a_batch_are_those_of_single_calls(name: str) -> None:
    plan = pl.plan(GRAPHS[name])
    couplings = rows_of(plan, 13, 3)  # warm, moderate and cold
    whole = plan.sample(couplings, 5, 17, threads=1)
    assert whole.shape == (13, 5, plan.num_spins)
    assert np.array_equal(plan.sample(couplings, 5, 17, threads=3), whole)
    assert np.array_equal(plan.sample(couplings, 5, 17, threads=16), whole)  # more than rows
    rng = np.random.default_rng(17)
    for k, row in enumerate(couplings):
        assert np.array_equal(plan.sample(row, 5, rng), whole[k])


def test_samples_in_one_call_are_those_drawn_model_by_model() -> None:
    plan = pl.plan(pl.generate.triangular_lattice(6))
    couplings = np.random.default_rng(5).standard_normal((7, plan.num_edges))
    couplings[3:] *= 1.7
    found = plan.sample(couplings, 40, 3)
    rng = np.random.default_rng(3)
    for row, states in zip(couplings, found, strict=True):
        one = sampling._draw_model(plan.evaluator, row, 40, rng, pl.budget.UNLIMITED)
        assert np.array_equal(one, states)


def test_samples_of_a_batch_have_the_marginals_of_their_rows() -> None:
    plan = pl.plan(pl.generate.square_lattice(4))
    couplings = np.random.default_rng(8).standard_normal((3, plan.num_edges))
    couplings *= np.array([0.5, 1.5, 2.5])[:, None]  # up to 6: two gauges
    states = plan.sample(couplings, 4000, 1)
    u, v = plan.embedding.edges.T
    agree = (states[:, :, u] == states[:, :, v]).mean(axis=1)
    expected = plan.marginals(couplings).edges
    assert np.abs(agree - expected).max() < 5 * 0.5 / np.sqrt(4000)
    assert np.abs(states.mean(axis=1)).max() < 5 / np.sqrt(4000)


def test_chunks_of_rows_do_not_change_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = pl.plan(pl.generate.square_lattice(3))
    couplings = rows_of(plan, 9, 4)
    whole = plan.sample(couplings, 3, 0)
    for numbers in (100, 1):  # rows at a time; sample by sample
        monkeypatch.setattr(sampling, "CHUNK", numbers)
        assert np.array_equal(plan.sample(couplings, 3, 0), whole)


def test_no_rows_and_no_samples_are_fine() -> None:
    plan = pl.plan(pl.generate.square_lattice(3))
    assert plan.sample(np.zeros((0, plan.num_edges)), 2, 0).shape == (0, 2, 9)
    assert plan.sample(np.zeros((4, plan.num_edges)), 0, 0).shape == (4, 0, 9)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_has_threads_of_its_own() -> None:
    script = """
import os, numpy as np, planaris as pl
plan = pl.plan(pl.generate.square_lattice(6))
rows = np.random.default_rng(0).standard_normal((64, plan.num_edges))
here = plan.log_partition(rows, threads=3).values
child = os.fork()
if child == 0:
    there = plan.log_partition(rows, threads=3).values
    os._exit(0 if np.array_equal(here, there) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert np.array_equal(plan.log_partition(rows, threads=3).values, here)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_rows_that_are_not_contiguous_are_taken_as_they_are() -> None:
    plan = pl.plan(pl.generate.square_lattice(5))
    wide = np.random.default_rng(3).standard_normal((6, 2 * plan.num_edges))
    for rows in (wide[:, ::2], wide[::-1, : plan.num_edges], np.asfortranarray(wide[:, ::2])):
        kept = rows.copy()
        values, states = plan.log_partition(rows, threads=2).values, plan.ground_states(rows)
        assert np.array_equal(values, plan.log_partition(kept.tolist()).values)
        rows[:] = 0.0  # a state is proved when it is asked for, by the couplings it was found for
        assert states[2].energy == plan.ground_states(kept)[2].energy < 0.0


def test_copies_in_kept_memory_are_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plane_models, "KEPT_BYTES", 0)
    rng = np.random.default_rng(5)
    given = [rng.standard_normal((7, 12)) for _ in range(3)]
    copies = [batches.as_couplings(rows, 12) for rows in given]
    expected = [rows.copy() for rows in given]
    for rows in given:
        rows[:] = 0.0  # what the caller does with its rows later does not count
    assert all(np.array_equal(a, b) for a, b in zip(copies, expected, strict=True))
    address = copies.pop().ctypes.data
    assert batches.as_couplings(expected[2], 12).ctypes.data == address  # used again
    assert batches.as_couplings(np.zeros((0, 12)), 12).shape == (0, 12)
    assert all(np.array_equal(a, b) for a, b in zip(copies, expected, strict=False))
