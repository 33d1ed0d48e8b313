"""Proved intervals of log Z: what they say of models with fields, parts, batches and surfaces."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import arb, ctx

import planaris as pl
from helpers.clocks import TickClock
from helpers.command import planaris
from helpers.exact_models import ball_log_partition, rational_logs
from planaris.budget import UNLIMITED, use_clock
from planaris.kernels.enclosure import enclose_sum
from planaris.planar.pfaffian import batch
from planaris.result import load_result


def total(terms, mantissa, twos):
    exact = sum((Fraction(x) for x in terms), Fraction(0))
    ball = arb(exact.numerator) / arb(exact.denominator)
    return ball + arb(mantissa).log() + twos * arb(2).log()


def test_sums_and_logarithms_are_rounded_outwards(rng):
    with ctx.workprec(2400):
        for trial in range(600):
            size = 10.0 ** rng.choice([-300, -16, 0, 2], int(rng.integers(0, 40)))
            terms = rng.normal(size=len(size)) * size
            mantissa = (1.0, math.nextafter(1.0, 2.0), 2.0, rng.uniform(1.0, 2.0))[trial % 4]
            twos = int(rng.choice([0, 1, -1, 7, -1000, 10**6]))
            error = float(rng.choice([0.0, 1e-17, 1e-9]))
            lower, upper, middle = enclose_sum(terms, mantissa, twos, error)
            ball = total(terms.tolist(), mantissa, twos)
            assert arb(lower) <= ball - arb(error)
            assert ball + arb(error) <= arb(upper)
            assert lower <= middle <= upper
            assert upper - lower <= 2 * error + 4 * math.ulp(abs(middle)) + 1e-25


def test_sums_that_cancel_are_enclosed():
    lower, upper, _ = enclose_sum(np.array([1e16, 1.0, -1e16]), 1.0, 0, 0.0)
    assert lower <= 1.0 <= upper
    assert upper - lower < 1e-12


def test_a_mantissa_out_of_range_is_not_enclosed():
    for mantissa in (2.5, 0.5, math.nan):
        assert enclose_sum(np.ones(1), mantissa, 0, 0.0)[:2] == (-math.inf, math.inf)


def models(rng):
    square = pl.generate.square_lattice(3).edges
    fields = np.where(np.arange(9) < 3, rng.normal(size=9), 0.0)  # on one face
    yield pl.IsingModel(square, rng.normal(size=len(square)), fields)
    yield pl.IsingModel([*square.tolist(), (9, 10)], 0.7, offset=1.5, num_spins=12)
    yield pl.IsingModel([], [], num_spins=3)
    yield pl.IsingModel([(0, 1)], [-2.0], [0.3, 0.0])


def test_fields_parts_and_offsets(rng):
    for model in models(rng):
        found = pl.log_partition(model, "planar", prove=True)
        assert found.proved
        assert found.gap < 1e-12 * (1 + abs(found.value))
        ball = ball_log_partition(rational_logs(model))
        assert arb(found.lower) <= ball <= arb(found.upper)


def test_rows_of_a_batch_are_proved_each(rng):
    plan = pl.plan(pl.generate.square_lattice(6))
    rows = rng.normal(size=(3, plan.num_edges))
    results = plan.log_partition(rows, prove=True)
    for row, found in zip(rows, results, strict=True):
        alone = plan.log_partition(row, prove=True)
        assert found.proved
        assert (found.lower, found.upper) == (alone.lower, alone.upper)
    assert not plan.log_partition(rows)[0].proved


BETAS = (0.1, 1.0, 3.0, 10.0, 30.0, 1000.0)


def mixed_rows(plan, rng):
    """Return rows for every way to prove, and one that none of them proves."""
    signs = rng.choice([-1.0, 1.0], (len(BETAS), plan.num_edges))
    rows = np.concatenate([rng.normal(size=signs.shape), signs])
    return rows * np.tile(BETAS, 2)[:, None]


def test_digits_of_a_row_depend_on_neither_batch_nor_threads(rng):
    plan = pl.plan(pl.generate.triangular_lattice(8))
    rows = mixed_rows(plan, rng)
    ends = set()
    for threads, order in product((1, 2, 5, 16), (slice(None), slice(None, None, -1))):
        found = plan.log_partition(rows[order], prove=True, threads=threads)
        arrays = found.lower, found.values, found.upper, found.proved
        ends.add(tuple(tuple(x[order].tolist()) for x in arrays))
    assert len(ends) == 1
    alone = [plan.log_partition(row, prove=True) for row in rows]
    for array, name in ((found.lower, "lower"), (found.upper, "upper"), (found.proved, "proved")):
        assert array[order].tolist() == [getattr(one, name) for one in alone]
    assert {(one.stats["bound"], one.stats["precision"]) for one in alone if one.proved} >= {
        ("sweep", "double-double"),
        ("radii", "double"),
    }


@pytest.mark.parametrize("seed", [12, 14, 23])
def test_cold_glasses_with_many_ground_states_are_narrow(seed):
    # Too wide, or not proved, relative to the first ground state and bounded by sizes alone.
    plan = pl.plan(pl.generate.square_lattice(64))
    signs = np.random.default_rng([64, seed]).choice([-1.0, 1.0], plan.num_edges)
    found = plan.log_partition(5.0 * signs, prove=True)
    assert found.proved
    assert found.gap < 1e-9
    sure = plan.log_partition(5.0 * signs)
    assert sure.lower <= found.upper
    assert found.lower <= sure.upper
    lowest = plan.ground_states(5.0 * signs).energy
    assert abs(found.excess - (found.value + lowest)) < 1e-9


def test_rows_say_what_is_proved(rng):
    plan = pl.plan(pl.generate.square_lattice(5))
    rows = mixed_rows(plan, rng)
    found = plan.log_partition(rows, prove=True)
    too_large = np.abs(rows).max(axis=1) > 345
    assert found.proved.tolist() == (~too_large).tolist()
    assert found.exact.all()
    for k, one in enumerate(found):
        assert (one.proved, one.lower, one.upper) == (
            found.proved[k],
            found.lower[k],
            found.upper[k],
        )
        assert one.value == found.values[k]
        assert ("couplings larger than 345" in one.status) == too_large[k]


def test_a_batch_of_no_rows_is_proved():
    plan = pl.plan(pl.generate.square_lattice(3))
    assert len(plan.log_partition(np.zeros((0, plan.num_edges)), prove=True)) == 0


def test_rows_are_proved_by_one_call(monkeypatch, rng):
    plan = pl.plan(pl.generate.square_lattice(4))
    models, calls = plan.evaluator.models, []
    prove = models.prove
    monkeypatch.setattr(models, "prove", lambda *a, **k: calls.append(1) or prove(*a, **k))
    found = plan.log_partition(rng.normal(size=(50, plan.num_edges)), prove=True)
    assert found.proved.all()
    assert len(calls) == 1


def test_rows_without_time_are_intervals(rng, monkeypatch):
    plan = pl.plan(pl.generate.square_lattice(8))
    plan.evaluator.prepare(UNLIMITED)
    rows = mixed_rows(plan, rng)[[0, 1, 2, 3] * 5]
    sure = plan.log_partition(rows, prove=True)
    monkeypatch.setattr(batch, "CHUNK_BYTES", 8 * 8 * plan.num_edges)
    numbers = set()
    for looks in range(2, 40, 4):
        with use_clock(TickClock(tick=1.0, stride=1)):
            found = plan.log_partition(rows, prove=True, time_limit=float(looks), threads=1)
        late = np.array([one.status == "time_limit" for one in found])
        assert (found.proved == ~late).all()
        assert (found.lower <= sure.lower).all()
        assert (found.upper >= sure.upper).all()
        assert (found.lower == sure.lower)[~late].all()
        numbers.add(int(late.sum()))
    assert len(numbers) > 2


def test_what_cannot_be_proved_is_estimated_and_says_why(rng):
    plan = pl.plan(pl.generate.square_lattice(6))
    cold = plan.log_partition(1e4 * rng.normal(size=plan.num_edges), prove=True)
    assert cold.exact
    assert not cold.proved
    assert cold.status.startswith("not proved: couplings larger than")


def test_marginals_of_surfaces_are_estimates(rng):
    plan = pl.plan(pl.embed.torus_lattice(4, 4))
    couplings = rng.normal(size=plan.num_edges)
    assert plan.log_partition(couplings, prove=True).proved
    found = plan.marginals(couplings, prove=True)
    assert not found.proved


def test_command_says_that_it_is_proved(tmp_path, rng):
    square = pl.generate.square_lattice(12).edges
    file, proof = tmp_path / "glass.uai", tmp_path / "proof.json"
    pl.io.write_uai(
        pl.MarkovRandomField.from_ising(pl.IsingModel(square, rng.normal(size=len(square)))), file
    )
    _, said = planaris("pr", file, "--certificate", proof)
    assert "error estimated" not in said
    assert load_result(proof).proved


def exact_equal(model):
    """Return P(s_u = s_v) of all edges by enumeration in balls, rounded."""
    states = list(product((-1, 1), repeat=model.num_spins))
    weights = [arb(float(model.log_weight(np.array(s, dtype=np.int8)))).exp() for s in states]
    total = sum(weights, arb(0))
    return [
        float(
            sum((w for s, w in zip(states, weights, strict=True) if s[u] == s[v]), arb(0)) / total
        )
        for u, v in model.edges.tolist()
    ]


@pytest.mark.parametrize("beta", [0.2, 1.0, 3.0])
def test_marginals_lie_between_their_ends(beta, rng):
    square = pl.generate.square_lattice(3)
    model = pl.IsingModel(square.edges, beta * rng.normal(size=len(square.edges)))
    found = pl.marginals(model, "planar", prove=True)
    assert found.proved
    assert found.error < 1e-8
    truth = np.array(exact_equal(model))
    assert np.all(np.abs(found.edges - truth) <= found.error + 1e-15)
    assert found.log_partition is None or found.log_partition.proved


def test_proved_ends_of_marginals(rng):
    plan = pl.plan(pl.generate.square_lattice(6))
    found = plan.marginals(rng.normal(size=plan.num_edges), prove=True)
    assert found.proved
    assert found.log_partition.proved
    assert np.all((found.edges_lower <= found.edges) & (found.edges <= found.edges_upper))
    assert found.edges_upper.max() <= 1.0
    cold = plan.marginals(50.0 * rng.normal(size=plan.num_edges), prove=True)
    assert not cold.proved
    assert cold.status.startswith("not proved: ")
