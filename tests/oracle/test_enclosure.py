"""Proved intervals of planar log Z against ball arithmetic, and what each term is there for."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb

import planaris as pl
from helpers.ball_fronts import ball_log_partition
from planaris.budget import UNLIMITED
from planaris.kernels.enclosure import ProofWeights
from planaris.planar.enclosure import enclose_entries, log_partition_from, proof_entries

BETAS = (0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 300.0)
LATTICES = ("square", "triangular", "honeycomb", "delaunay", "sparse")
DISORDERS = ("gaussian", "pm", "ferro", "mixed")


def lattice(name, size, rng):
    if name == "delaunay":
        return pl.plan(pl.generate.random_triangulation(max(size * size, 4), rng))
    if name == "sparse":  # bridges, isolated spins, long faces
        full = pl.generate.square_lattice(size)
        kept = rng.random(len(full.edges)) < rng.uniform(0.3, 0.9)
        return pl.plan((size * size, full.edges[kept]))
    make = {
        "square": pl.generate.square_lattice,
        "triangular": pl.generate.triangular_lattice,
        "honeycomb": pl.generate.honeycomb_lattice,
    }
    return pl.plan(make[name](size))


def disorder(name, count, rng):
    if name == "gaussian":
        return rng.normal(size=count)
    if name == "pm":
        return rng.choice([-1.0, 1.0], count)
    if name == "ferro":
        return np.ones(count)
    return rng.choice([-1.0, 1.0], count) * 10.0 ** rng.uniform(-4, 0.3, count)


def random_case(rng, largest):
    plan = lattice(LATTICES[rng.integers(len(LATTICES))], int(rng.integers(2, largest)), rng)
    couplings = disorder(DISORDERS[rng.integers(len(DISORDERS))], plan.num_edges, rng)
    return plan, BETAS[rng.integers(len(BETAS))] * couplings


def truth(plan, couplings):
    spins = plan.ground_states(couplings).spins if plan.num_edges else None
    return ball_log_partition(plan.embedding, couplings, spins)


def contains(found, ball):
    return bool(arb(found.lower) <= ball) and bool(ball <= arb(found.upper))


def attack(count, seed, largest=7):
    """(proved, violated) of random models, estimates not counted as proved."""
    rng = np.random.default_rng(seed)
    proved = violated = 0
    for _ in range(count):
        plan, couplings = random_case(rng, largest)
        found = plan.log_partition(couplings, prove=True)
        proved += found.proved
        violated += not contains(found, truth(plan, couplings))
    return proved, violated


def test_no_interval_is_violated():
    proved, violated = attack(250, 1)
    assert violated == 0
    assert proved > 150


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_no_interval_is_violated_in_thousands_of_models(seed):
    assert attack(500, seed, largest=10)[1] == 0


@pytest.mark.parametrize("name", LATTICES[:4])
@pytest.mark.parametrize("beta", [0.1, 1.0, 3.0, 30.0])
def test_lattices_of_several_hundred_spins(name, beta, rng):
    plan = lattice(name, 12, rng)
    couplings = beta * rng.normal(size=plan.num_edges)
    found = plan.log_partition(couplings, prove=True)
    assert found.proved
    assert contains(found, truth(plan, couplings))


@pytest.mark.slow
@pytest.mark.parametrize("name", LATTICES[:4])
@pytest.mark.parametrize("kind", ["gaussian", "pm"])
@pytest.mark.parametrize("beta", [0.1, 1.0, 3.0, 10.0, 30.0])
def test_lattices_of_a_thousand_spins(name, kind, beta, rng):
    plan = lattice(name, 32, rng)
    couplings = beta * disorder(kind, plan.num_edges, rng)
    found = plan.log_partition(couplings, prove=True)
    assert contains(found, truth(plan, couplings))


# -- what each term is there for -----------------------------------------------------------------


def enclosed(plan, couplings, radii, **factors):
    """Return the interval with factors of terms changed, None where it is not sound."""
    weights = ProofWeights()
    for name, value in factors.items():
        setattr(weights, name, value)
    entries = proof_entries(plan.evaluator, couplings, UNLIMITED)
    found = enclose_entries(plan.evaluator, entries, radii=radii, weights=weights)
    return log_partition_from(plan.evaluator, entries, found)


PATTERNS = (0, 1, 2, 3)
"""Signs of injected errors: as entries have them, the others, and two at random."""


def violations(count, seed, radii, **factors):
    """(sound, violated) with injected errors as large as the terms claim."""
    rng = np.random.default_rng(seed)
    sound = violated = 0
    for _ in range(count):
        plan, couplings = random_case(rng, 5)
        couplings *= rng.uniform(0.1, 3.0) / max(np.abs(couplings).max(initial=1.0), 1.0)
        ball = truth(plan, couplings)
        for pattern in PATTERNS:
            found = enclosed(plan, couplings, radii, pattern=pattern, **factors)
            if found is not None:
                sound += 1
                violated += not contains(found, ball)
    return sound, violated


# Errors are made much larger than roundings, and so are the terms that claim them.
UPDATES = {"inject": 1e11, "update": 1e11, "entry": 1e11}
LARGE = {"inject": 1e13, "update": 1e13, "entry": 1e13}
ENTRIES = {"inject_entries": 1e6, "entries": 1e6, "update": 0.01, "entry": 0.01}
RADII = {"inject": 0.99, "update": 1e10}


@pytest.mark.parametrize(
    ("radii", "factors"),
    [
        (False, UPDATES),
        (False, {"inject": 0.99}),
        (False, LARGE),
        (False, ENTRIES),
        (True, RADII),
        (True, {"inject": 0.99}),
        (True, ENTRIES),
    ],
)
def test_injected_errors_as_large_as_claimed_stay_inside(radii, factors):
    sound, violated = violations(60, 3, radii, **factors)
    assert sound > 30
    assert violated == 0


@pytest.mark.parametrize(
    ("radii", "factors", "mutation"),
    [
        (False, UPDATES, {"update": 0.8e11}),
        (False, UPDATES, {"entry": 0.0}),
        (False, LARGE, {"second": 0.0}),
        (False, ENTRIES, {"entries": 0.4e6}),
        (True, RADII, {"update": 0.5e10, "inject": 0.99 / 0.5}),
        (True, ENTRIES, {"entries": 0.4e6}),
    ],
)
def test_every_term_is_needed(radii, factors, mutation):
    assert violations(60, 3, radii, **(factors | mutation))[1] > 0


# -- widths and threads --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "size", "beta", "half_width"),
    [
        ("gaussian", 32, 1.0, 3e-11),
        ("gaussian", 32, 3.0, 3e-11),
        ("gaussian", 64, 1.0, 1.5e-10),
        ("gaussian", 64, 3.0, 1.5e-10),
        ("pm", 64, 1.0, 1.5e-10),
        ("gaussian", 64, 10.0, 1e-10),
        ("gaussian", 64, 30.0, 1e-10),
    ],
)
def test_widths(kind, size, beta, half_width):
    rng = np.random.default_rng(size)
    plan = lattice("square", size, rng)
    found = plan.log_partition(beta * disorder(kind, plan.num_edges, rng), prove=True)
    assert found.proved
    assert found.gap <= 2 * half_width


@pytest.mark.parametrize("radii", [False, True])
def test_bits_do_not_depend_on_threads(radii, rng):
    plan = lattice("square", 60, rng)
    couplings = (12.0 if radii else 1.0) * rng.normal(size=plan.num_edges)
    ends = set()
    for threads in (1, 2, 16):
        found = plan.log_partition(couplings, prove=True, threads=threads)
        assert found.proved
        assert found.stats["bound"] == ("radii" if radii else "sweep")
        ends.add((found.lower, found.value, found.upper))
    assert len(ends) == 1
