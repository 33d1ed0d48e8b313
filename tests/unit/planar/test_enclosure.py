"""Proved intervals of log Z: what they say of models with fields, parts, batches and surfaces."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from flint import arb, ctx

import planaris as pl
from helpers.command import planaris
from helpers.exact_models import ball_log_partition, rational_logs
from planaris.planar.pfaffian.enclosure import LOG_2, LOG_ERROR, enclose_sum, log_of
from planaris.result import load_result


def as_ball(fraction):
    return arb(fraction.numerator) / arb(fraction.denominator)


def test_logarithms_are_within_their_error(rng):
    before, ctx.prec = ctx.prec, 300
    for x in (1.0, math.nextafter(1.0, 2.0), 1.5, 2.0, *rng.uniform(1.0, 2.0, 200).tolist()):
        assert abs(as_ball(log_of(x)) - arb(x).log()) < as_ball(LOG_ERROR)
    ctx.prec = before
    assert abs(float(LOG_2) - math.log(2.0)) < 1e-16


def test_logarithms_outside_of_their_range_are_refused():
    with pytest.raises(ValueError, match="between 1 and 2"):
        log_of(2.5)


def test_sums_are_rounded_outwards():
    lower, upper, _ = enclose_sum([1e16, 1.0, -1e16], 1.0, 0, 0.0)
    assert lower < 1.0 < upper
    lower, upper, _ = enclose_sum([0.0], 1.0, 1, 1e-3)
    assert arb(lower) < arb(2).log() - arb(0.0009999) < arb(2).log() + arb(0.0009999) < arb(upper)


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
    batch = plan.log_partition(rows, prove=True)
    for row, found in zip(rows, batch, strict=True):
        alone = plan.log_partition(row, prove=True)
        assert found.proved
        assert (found.lower, found.upper) == (alone.lower, alone.upper)
    assert not plan.log_partition(rows)[0].proved


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
