"""Proved intervals of planar log Z against ball arithmetic, and what each term is there for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from flint import arb, ctx, fmpq

import planaris as pl
from helpers.ball_fronts import ball_log_partition
from helpers.trials import trials
from planaris.budget import UNLIMITED
from planaris.embed import embedding_with_handles
from planaris.kernels.enclosure import ProofWeights
from planaris.planar.pfaffian.enclosure import (
    LARGEST_COUPLING,
    enclose_entries,
    log_partition_from,
    proof_entries,
    prove_log_partition,
)
from planaris.planar.pfaffian.precision_ladder import agreements, flipped_entries

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
        ball = truth(plan, couplings)
        found = plan.log_partition(couplings, prove=True)
        proved += found.proved
        violated += not contains(found, ball)
        if np.abs(couplings).max(initial=0.0) <= LARGEST_COUPLING:
            for one in bounds_of(plan, couplings):
                violated += not contains(one, ball)
    return proved, violated


def bounds_of(plan, couplings):
    """Yield the intervals of all bounds that are sound."""
    entries = proof_entries(plan.evaluator, couplings, UNLIMITED)
    ways = [{"radii": radii, "wide": wide} for radii, wide in product((False, True), repeat=2)]
    fast = {"radii": False, "wide": True, "split": True}
    ways.append(fast)
    # Updates of any size are split; then sizes alone are swept down, all fronts, small ones or the
    # smallest, or they never are.
    ways += [
        fast | {"weights": changed({"worth_splitting": 0.0, "coarse": x}), "coarse_rows": rows}
        for x, rows in ((0, 64), (np.inf, 16), (np.inf, 64), (np.inf, 4000))
    ]
    states = [entries]
    if plan.evaluator.models is not None:
        states.append(flipped_entries(plan.evaluator, plan.evaluator.models, couplings, UNLIMITED))
    for relative, way in product(states, ways):
        found = enclose_entries(plan.evaluator, relative, **way)
        one = log_partition_from(plan.evaluator, relative, found)
        if one is not None:
            yield one


def test_no_interval_is_violated():
    count = trials(100, 250)
    proved, violated = attack(count, 1)
    assert violated == 0
    assert proved > 0.6 * count


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


# -- surfaces ------------------------------------------------------------------------------------


def enumerated(embedding, couplings):
    """Return log Z of a few spins as a ball, by the energies of all states as rationals."""
    spins = 1 - 2 * ((np.arange(2 ** (embedding.num_vertices - 1))[:, None] >> np.arange(32)) & 1)
    u, v = embedding.edges.T
    agree = spins[:, u] * spins[:, v]
    patterns, counts = np.unique(agree, axis=0, return_counts=True)
    exact = [fmpq(*x.as_integer_ratio()) for x in couplings.tolist()]
    with ctx.workprec(192):
        total = arb(0)
        for pattern, count in zip(patterns.tolist(), counts.tolist(), strict=True):
            weight = sum((x if a > 0 else -x for x, a in zip(exact, pattern, strict=True)), fmpq(0))
            total += count * arb(weight).exp()
        return (2 * total).log()


def surface(rng):
    if rng.random() < 0.7:
        return pl.embed.torus_lattice(3, int(rng.integers(3, 5)))
    full = [(u, v) for v in range(8) for u in range(v)]
    while True:
        kept = rng.choice(len(full), int(rng.integers(13, 21)), replace=False)
        edges = np.array([full[k] for k in kept])
        embedding = embedding_with_handles(edges, num_vertices=8)
        if 0 < embedding.genus < 3:
            return embedding


def test_sums_of_signed_pfaffians_are_enclosed():
    rng = np.random.default_rng(5)
    proved = {1: 0, 2: 0}
    for _ in range(60):
        embedding = surface(rng)
        couplings = disorder(DISORDERS[rng.integers(len(DISORDERS))], embedding.num_edges, rng)
        couplings *= BETAS[rng.integers(len(BETAS) - 2)]
        found = pl.plan(embedding).log_partition(couplings, prove=True)
        assert contains(found, enumerated(embedding, couplings))
        proved[embedding.genus] += found.proved
    assert proved[1] > 15
    assert proved[2] > 1


def test_a_wrong_sign_is_not_proved(monkeypatch):
    embedding = pl.embed.torus_lattice(3, 4)
    couplings = np.random.default_rng(1).normal(size=embedding.num_edges)
    plan = pl.plan(embedding)
    assert plan.log_partition(couplings, prove=True).proved
    right = plan.evaluator.flips.copy()
    for k in range(4):
        wrong = right.copy()
        wrong[k, 0] *= -1  # no sign structure of this surface
        monkeypatch.setitem(plan.evaluator.__dict__, "flips", wrong)
        found = prove_log_partition(plan.evaluator, couplings, UNLIMITED)
        assert isinstance(found, str) or not contains(found, enumerated(embedding, couplings))


def test_cancelled_sums_stay_estimates():
    embedding = pl.embed.torus_lattice(8, 8)
    found = pl.plan(embedding).log_partition(np.full(128, 0.01), prove=True)
    assert not found.proved
    assert "cancels" in found.status


# -- what each term is there for -----------------------------------------------------------------


def changed(factors):
    weights = ProofWeights()
    for name, value in factors.items():
        setattr(weights, name, value)
    return weights


def enclosed(plan, couplings, radii, wide=False, split_updates=False, coarse_rows=64, **factors):
    """Return the interval with factors of terms changed, None where it is not sound."""
    entries = proof_entries(plan.evaluator, couplings, UNLIMITED)
    found = enclose_entries(
        plan.evaluator,
        entries,
        radii=radii,
        wide=wide,
        split=split_updates,
        coarse_rows=coarse_rows,
        weights=changed(factors),
    )
    return log_partition_from(plan.evaluator, entries, found)


PATTERNS = (0, 1, 2, 3)
"""Signs of injected errors: as entries have them, the others, and two at random."""


@cache
def small_cases():
    """Return models of up to 16 spins, with their log Z."""
    rng = np.random.default_rng(3)
    cases = []
    for _ in range(60):
        plan, couplings = random_case(rng, 5)
        couplings *= rng.uniform(0.1, 3.0) / max(np.abs(couplings).max(initial=1.0), 1.0)
        cases.append((plan, couplings, truth(plan, couplings)))
    return cases


def violations(radii, **factors) -> Iterator[bool]:
    """Yield for sound intervals whether they are violated, by errors as large as terms claim."""
    for plan, couplings, ball in small_cases():
        for pattern in PATTERNS:
            found = enclosed(plan, couplings, radii, pattern=pattern, **factors)
            if found is not None:
                yield not contains(found, ball)


# Errors are made much larger than roundings, and so are the terms that claim them.
UPDATES = {"inject": 1e11, "update": 1e11, "entry": 1e11}
LARGE = {"inject": 1e13, "update": 1e13, "entry": 1e13}
ENTRIES = {"inject_entries": 1e6, "entries": 1e6, "update": 0.01, "entry": 0.01}
RADII = {"inject": 0.99, "update": 1e10}
PIVOTS = {"inject_pivots": 1e6, "product": 1e6}
# High parts of pivots are one more rounding of each, but none of what fronts are multiplied by.
HIGH_PARTS = {"wide": True, "inject_pivots": 1.4e6, "product": 1e6, "high": 1e6}
# In pairs of doubles, whose roundings are about 1e13 times smaller.
WIDE = {"wide": True, "inject": 1e24, "update": 1e24, "entry": 1e24}
WIDE_RADII = {"wide": True, "inject": 0.99, "update": 1e23}
SWEPT = WIDE | {"inject_sweep": 1e12, "inflation": 1e12}
# Sizes alone are swept down, whatever that adds to the error.
COARSE = {"split_updates": True, "coarse": np.inf}
SIZES = WIDE | COARSE | {"inject_sweep": 1e11, "inflation": 1e11}


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
        (False, PIVOTS),
        (True, PIVOTS),
        (False, HIGH_PARTS),
        (False, WIDE),
        (False, SWEPT),
        (False, WIDE | COARSE),
        (False, SIZES),
        (True, WIDE_RADII),
    ],
)
def test_injected_errors_as_large_as_claimed_stay_inside(radii, factors):
    violated = list(violations(radii, **factors))
    assert len(violated) > 30
    assert not any(violated)


@pytest.mark.parametrize(
    ("radii", "factors", "mutation"),
    [
        (False, UPDATES, {"update": 0.8e11}),
        (False, UPDATES, {"entry": 0.0}),
        (False, LARGE, {"second": 0.0}),
        (False, ENTRIES, {"entries": 0.7e6}),
        (True, RADII, {"update": 0.5e10, "inject": 0.99 / 0.5}),
        (True, ENTRIES, {"entries": 0.7e6}),
        (False, PIVOTS, {"product": 0.9e6}),
        (True, PIVOTS, {"product": 0.9e6}),
        (False, HIGH_PARTS, {"high": 0.0}),
        (False, WIDE, {"update": 0.5e24}),
        (False, WIDE, {"entry": 0.0}),
        (False, SWEPT, {"inflation": 0.0}),
        (False, SIZES, {"inflation": 0.0}),
        (True, WIDE_RADII, {"update": 0.5e23, "inject": 0.99 / 0.5}),
    ],
)
def test_every_term_is_needed(radii, factors, mutation):
    assert any(violations(radii, **(factors | mutation)))


# Updates of small fronts are not split unless tests want it.
SPLIT = {"inject": 1e9, "update": 1e9, "entry": 1e9, "split": 1e9}


@cache
def large_case():
    plan, rng = lattice("square", 24, None), np.random.default_rng(1)
    couplings = 0.3 * rng.normal(size=plan.num_edges)
    return plan, couplings, truth(plan, couplings)


def test_small_updates_that_are_split_count_as_errors():
    small = SPLIT | {"wide": True, "split_updates": True, "worth_splitting": 0.0}
    violated = list(violations(False, **small))
    assert len(violated) > 30
    assert not any(violated)
    assert any(violations(False, **(small | {"split": 0.0})))


def split_violations(**factors):
    plan, couplings, ball = large_case()
    for pattern in PATTERNS[:2]:
        options = {"wide": True, "pattern": pattern, **factors}
        found = enclosed(plan, couplings, False, split_updates=True, **options)
        yield not contains(found, ball)


def test_updates_that_are_split_count_as_errors():
    assert not any(split_violations())
    assert not any(split_violations(**SPLIT))
    assert all(split_violations(**(SPLIT | {"split": 0.0})))


@cache
def medium_case():
    """Return a model whose fronts are too large for sizes pair by pair, and none for panels."""
    plan, rng = lattice("square", 18, None), np.random.default_rng(1)
    couplings = 0.3 * rng.normal(size=plan.num_edges)
    return plan, couplings, truth(plan, couplings)


@pytest.mark.parametrize("rows", [12, 30, 64])
def test_errors_stay_inside_where_sizes_of_panels_are_swept_down(rows):
    # What panels are enlarged by is seen in cpp/rigour/swept_front_test.cpp.
    plan, couplings, ball = medium_case()
    large = COARSE | {"wide": True, "coarse_rows": rows}
    large |= {"inject": 1e11, "update": 1e11, "entry": 1e11, "split": 1e11}
    for pattern, sweep in product(PATTERNS[:2], (0.0, 1e9)):
        moved = large | {"inject_sweep": sweep, "inflation": max(sweep, 1.0)}
        found = enclosed(plan, couplings, False, pattern=pattern, **moved)
        assert 24 < found.stats["largest_front"] <= 64
        assert contains(found, ball)


@cache
def wide_case():
    """Return a model with fronts of which more than one block of columns is eliminated.

    Balls of so many spins take minutes: its log Z is as proved with all of H, in no way by sizes.
    """
    plan, rng = lattice("square", 48, None), np.random.default_rng(1)
    couplings = 0.3 * rng.normal(size=plan.num_edges)
    found = enclosed(plan, couplings, False, wide=True)
    return plan, couplings, arb(found.value, found.gap)


def test_sizes_found_from_all_of_h_above_are_no_smaller_than_its_diagonal():
    plan, couplings, _ = medium_case()
    large = {"wide": True, "split_updates": True, "update": 1e15, "entry": 1e15, "split": 0.0}
    rows = ((0.0, 64), (np.inf, 12), (np.inf, 64))
    gaps = [enclosed(plan, couplings, False, coarse=x, coarse_rows=k, **large).gap for x, k in rows]
    assert gaps == sorted(gaps)


ALL_SIZES = COARSE | {"wide": True, "coarse_rows": 4000}


def test_errors_stay_inside_where_sizes_are_swept_down_all_fronts():
    plan, couplings, ball = wide_case()
    large = {"inject": 1e9, "update": 1e9, "entry": 1e9, "split": 1e9}  # all that is injected
    swept = {"inject_sweep": 1e10, "inflation": 1e10}
    for pattern, more in product(PATTERNS[:2], (large, large | swept)):
        found = enclosed(plan, couplings, False, pattern=pattern, **(ALL_SIZES | more))
        assert found.stats["largest_front"] > 100
        assert contains(found, ball)


def test_sizes_of_all_fronts_are_no_smaller_than_the_diagonal_they_bound():
    plan, couplings, _ = wide_case()
    large = {"wide": True, "split_updates": True, "update": 1e15, "entry": 1e15, "split": 0.0}
    rows = ((0.0, 64), (np.inf, 64), (np.inf, 4000))
    gaps = [enclosed(plan, couplings, False, coarse=x, coarse_rows=k, **large).gap for x, k in rows]
    assert gaps == sorted(gaps)
    assert gaps[2] < 1e5 * gaps[0]  # what is given away, some of it in every front


def test_weak_models_are_proved_by_sizes_of_all_fronts():
    plan, couplings, ball = wide_case()
    found = plan.log_partition(couplings, prove=True)
    assert found.lower < float(ball.mid()) < found.upper
    entries = flipped_entries(plan.evaluator, plan.evaluator.models, couplings, UNLIMITED)
    sizes, finer = (
        enclose_entries(
            plan.evaluator, entries, radii=False, wide=True, split=True, coarse_rows=rows
        )
        for rows in (4000, 64)
    )
    assert found.stats["error"] == sizes.error > finer.error


def test_a_coarse_bound_is_taken_only_if_it_is_narrow():
    plan, couplings, _ = medium_case()
    large = {"wide": True, "split_updates": True, "update": 1e15, "entry": 1e15}
    fine, coarse = (enclosed(plan, couplings, False, coarse=x, **large) for x in (1.0, np.inf))
    assert fine.gap < coarse.gap / 10
    large = {"wide": True, "split_updates": True}
    chosen, coarse = (enclosed(plan, couplings, False, coarse=x, **large) for x in (1.0, np.inf))
    assert (chosen.lower, chosen.upper) == (coarse.lower, coarse.upper)


def moved_marginals(**factors):
    """Yield whether a probability of an edge lies outside, errors of the inverse being made."""
    for plan, couplings, _ in small_cases():
        evaluator = plan.evaluator
        entries = proof_entries(evaluator, couplings, UNLIMITED)
        found = enclose_entries(
            evaluator, entries, radii=False, share=0.25, weights=changed(factors)
        )
        if found.sound:
            edges = slice(evaluator.num_edges)
            equal = plan.marginals(couplings).edges  # right to more digits than are moved
            uncut = np.where(agreements(evaluator, entries.spins), equal, 1.0 - equal)
            off = np.abs(found.uncut[edges] - uncut)
            yield bool(np.any(off > found.uncut_error[edges] + 1e-9))


def test_errors_of_the_inverse_are_outweighed_by_what_enlarges_its_bounds():
    large = {"inject_sweep": 1e11, "inflation": 1e11}
    inside = list(moved_marginals(**large))
    assert len(inside) > 30
    assert not any(inside)
    assert any(moved_marginals(**(large | {"inflation": 0.0})))


PRODUCTS = {"inject_products": 1e6, "products": 1e6}


def cut_everywhere(length, **factors):
    """Return whether log Z of a cycle is enclosed, relative to a state that breaks every bond.

    The even set that has all legs of both faces weighs most then. Its products meet with signs.
    """
    plan = pl.plan((length, [(k, (k + 1) % length) for k in range(length)]))
    couplings = np.full(length, 2.5)
    entries = proof_entries(plan.evaluator, couplings, UNLIMITED)
    gauged = np.where(np.arange(len(entries.gauged)) < length, -2.5, 0.0)
    entries = replace(entries, gauged=gauged, scale=np.zeros(2 * len(gauged)))
    found = enclose_entries(plan.evaluator, entries, radii=False, weights=changed(factors))
    return contains(log_partition_from(plan.evaluator, entries, found), truth(plan, couplings))


@pytest.mark.parametrize("length", [4, 6, 8])
def test_roundings_of_products_count_by_pairs_of_legs_of_a_face(length):
    assert cut_everywhere(length)
    assert cut_everywhere(length, **PRODUCTS)
    assert not cut_everywhere(length, **(PRODUCTS | {"products": 0.9e6}))


# -- widths and threads --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "size", "beta", "half_width"),
    [
        ("gaussian", 32, 1.0, 6e-12),
        ("gaussian", 32, 3.0, 1e-11),
        ("gaussian", 64, 1.0, 2e-11),
        ("gaussian", 64, 3.0, 2e-11),
        ("pm", 64, 1.0, 2e-11),
        ("pm", 64, 3.0, 2e-11),
        ("pm", 64, 5.0, 3e-11),
        ("gaussian", 64, 10.0, 5e-11),
        ("gaussian", 64, 30.0, 1e-10),
        ("gaussian", 128, 10.0, 4e-10),
    ],
)
def test_widths(kind, size, beta, half_width):
    # The order of elimination follows the dual solution of the matching, which may be another one.
    plan, gaps = lattice("square", size, None), []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        found = plan.log_partition(beta * disorder(kind, plan.num_edges, rng), prove=True)
        assert found.proved
        gaps.append(found.gap)
    assert np.median(gaps) <= 2 * half_width


@pytest.mark.parametrize(("beta", "bound"), [(0.3, "sweep"), (1.0, "sweep"), (12.0, "radii")])
def test_bits_do_not_depend_on_threads(beta, bound, rng):
    plan = lattice("square", 60, rng)
    couplings = beta * rng.normal(size=plan.num_edges)
    ends = set()
    for threads in (1, 2, 16):
        found = plan.log_partition(couplings, prove=True, threads=threads)
        assert found.proved
        assert found.stats["bound"] == bound
        ends.add((found.lower, found.value, found.upper))
    assert len(ends) == 1
