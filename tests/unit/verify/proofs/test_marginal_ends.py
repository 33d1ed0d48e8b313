"""Ends of marginals and their proofs against sums over all states."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import planaris as pl
from helpers.mrfs import random_mrf
from helpers.trials import seeds
from planaris.bounds import marginal_ends
from planaris.bounds.labels.neighbour_ends import with_neighbour_ends
from planaris.budget import Budget
from planaris.errors import InfeasibleError, VerificationError
from planaris.models.convert import IsingForm
from planaris.reference import enumerate_states
from planaris.result import Marginals, MarginalWindows, load_result
from planaris.verify import check_result
from planaris.verify.proofs.marginals.label_ends import label_ends
from planaris.verify.proofs.marginals.neighbours import SpinEnds, spin_ends
from planaris.verify.proofs.marginals.windows import window_ends
from planaris.verify.recompute.window_sums import window_marginals

Rng = np.random.Generator


def attractive(rng: Rng, n: int, density: float, scale: float) -> tuple[pl.IsingModel, Any]:
    """Return a model without frustration and the signs that show it."""
    pairs = np.array([(u, v) for v in range(n) for u in range(v)], dtype=int).reshape(-1, 2)
    pairs = pairs[rng.random(len(pairs)) < density]
    signs = rng.choice([-1, 1], n)
    couplings = scale * rng.uniform(0, 1.5, len(pairs)) * signs[pairs].prod(axis=1)
    fields = scale * rng.normal(0, 1.5, n) * (rng.random(n) < rng.choice([0.0, 0.5, 1.0]))
    return pl.IsingModel(pairs, couplings, fields, num_spins=n), signs


def any_proof(rng: Rng, n: int, signs: Any, count: int) -> MarginalWindows:
    """Return windows of random spins in random orders, with random walls around them."""
    spins, walls = [], []
    for _ in range(count):
        order = rng.permutation(n)
        size = int(rng.integers(0, n + 1))
        spins.append(order[:size])
        walls.append(order[size:][rng.random(n - size) < rng.choice([0.0, 0.3, 1.0])])
    return MarginalWindows(
        signs=signs,
        sides=rng.choice([-1, 1], count),
        spin_offsets=np.cumsum([0, *map(len, spins)]),
        spins=np.concatenate([*spins, np.zeros(0, int)]),
        wall_offsets=np.cumsum([0, *map(len, walls)]),
        walls=np.concatenate([*walls, np.zeros(0, int)]),
    )


def assert_hold(ends: Any, truth: Any, slack: float = 1e-14) -> None:
    for (low, high), exact in ((ends.nodes, truth.nodes), (ends.edges, truth.edges)):
        assert np.all(low <= exact + slack)
        assert np.all(exact <= high + slack)
        assert np.all((low >= 0) & (high <= 1))


@pytest.mark.parametrize("seed", seeds(60, 1000))
def test_whatever_windows_and_walls_are_the_ends_hold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 10))
    scale = float(rng.choice([0.1, 0.5, 1.0, 3.0, 20.0]))
    model, signs = attractive(rng, n, float(rng.choice([0.2, 0.5, 1.0])), scale)
    truth = enumerate_states(model)
    proof = any_proof(rng, n, signs, int(rng.integers(0, 12)))
    assert_hold(window_ends(model, proof), truth, 4 * truth.error)
    assert_hold(spin_ends(model), truth, 4 * truth.error)


@pytest.mark.parametrize("seed", seeds(20, 200))
def test_neighbours_of_frustrated_spins(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, _ = attractive(rng, 7, 0.6, 1.0)
    scale = 10.0 ** rng.uniform(-2, 3)
    mixed = pl.IsingModel(
        model.edges, scale * rng.normal(size=model.num_edges), scale * model.fields
    )
    truth = enumerate_states(mixed)
    assert_hold(spin_ends(mixed), truth, 4 * truth.error)
    claim = _estimate(mixed, marginal_ends(mixed, time_limit=Budget.of(None, prove=True)))
    assert check_result(mixed, claim, recompute=False).proved


@pytest.mark.parametrize("seed", seeds(40, 400))
def test_neighbours_of_labels(seed: int) -> None:
    """Labels, arities, zeros and strong tables; and what the solver states passes."""
    rng = np.random.default_rng(seed)
    zeros, scale = (0.1 if seed % 3 == 0 else 0.0), float(rng.choice([0.1, 1.0, 30.0]))
    mrf = random_mrf(rng, max_labels=4, scale=scale, zeros=zeros)
    try:
        exact = pl.marginals(mrf, "treewidth")
    except InfeasibleError:
        return
    slack = 2 * exact.error + 1e-14
    found = label_ends(mrf)
    for tables, ends in ((exact.nodes, found.nodes), (exact.edges, found.factors)):
        for table, (low, high) in zip(tables, ends, strict=True):
            assert np.all(low <= table + slack)
            assert np.all(table <= high + slack)
    if not mrf.is_ising:
        claim = with_neighbour_ends(mrf, replace(exact, error=np.inf, method="trw"))
        assert check_result(mrf, claim, recompute=False).proved


@pytest.mark.parametrize("seed", seeds(20, 200))
def test_sums_of_windows_in_any_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = float(rng.choice([0.1, 1.0, 5.0, 100.0, 1e4]))  # from the last two on, logarithms
    model, _ = attractive(rng, 9, float(rng.uniform(0, 1)), scale)
    found = window_marginals(model.edges, model.couplings, model.fields)
    assert found is not None
    truth = enumerate_states(model)
    off = found.error + 4 * truth.error
    assert np.all(np.abs(found.up - truth.nodes) <= off)
    assert np.all(np.abs(found.both_up + found.both_down - truth.edges) <= 2 * off)
    assert found.error < 1e-11 * max(scale, 1.0)


def test_tables_that_are_too_large_say_nothing() -> None:
    star = np.array([[0, k] for k in range(1, 31)])
    assert window_marginals(star, np.ones(30), np.zeros(31)) is None
    assert window_marginals(np.array([[0, 1]]), np.array([1e13]), np.zeros(2)) is None


# -- what the solver states ------------------------------------------------------------------------


def _lattice(rng: Rng, side: int, coupling: float, spread: float) -> pl.IsingModel:
    edges = pl.generate.square_lattice(side).edges
    signs = rng.choice([-1, 1], side * side)
    couplings = coupling * signs[edges].prod(axis=1)
    return pl.IsingModel(edges, couplings, spread * rng.normal(size=side * side))


def _estimate(model: pl.IsingModel, ends: Any) -> Marginals:
    return ends.around(
        Marginals(
            nodes=np.full(model.num_spins, 0.5),
            edges=np.full(model.num_edges, 0.5),
            error=np.inf,
            proved=False,
            method="trw",
        )
    )


def _proved(model: pl.IsingModel, bits: int = 6, part: int = 1000) -> Marginals:
    """Return ends from tables of few spins, and of parts of few spins."""
    with pytest.MonkeyPatch.context() as patch:
        module = import_module("planaris.bounds.attractive_search")
        patch.setattr(module, "FIRST_BITS", 4)
        patch.setattr(module, "PROVED_BITS", bits)
        module = import_module("planaris.bounds.attractive_parts")
        patch.setattr(module, "PART", part)
        patch.setattr(module, "AROUND", 4 * part)
        ends = marginal_ends(model, time_limit=Budget.of(1e9, prove=True))
    return _estimate(model, ends)


@pytest.mark.parametrize(("coupling", "spread"), [(0.5, 0.7), (1.5, 2.0), (3.0, 5.0)])
def test_ends_that_are_stated_are_proved(coupling: float, spread: float, tmp_path: Path) -> None:
    model = _lattice(np.random.default_rng(7), 13, coupling, spread)
    exact = pl.marginals(model, "treewidth")
    claim = _proved(model)
    claim.save(tmp_path / "r.json")
    read = load_result(tmp_path / "r.json")
    assert isinstance(read.certificate, MarginalWindows)
    (finding,) = check_result(model, read, recompute=False).findings
    assert (finding.status, finding.detail) == ("proved", "marginal-windows")
    assert read.certificate.check(model).claim == "marginals"
    assert_hold(window_ends(model, read.certificate), exact, exact.error)


def test_labels_as_spins_are_proved_too() -> None:
    rng = np.random.default_rng(3)
    n = 40
    tables = [((v,), rng.normal(size=2)) for v in range(n)]
    for step in (1, 7, 12):
        for v in range(n):
            a, b = rng.uniform(0, 0.4, 2)
            tables.append(((v, (v + step) % n), np.array([[a, -b], [-a, b]]) + rng.normal()))
    mrf = pl.MarkovRandomField([2] * n, tables, log=True)
    form = IsingForm.apply(mrf)
    claim = form.lift(_proved(form.model))
    (finding,) = check_result(mrf, claim, recompute=False).findings
    assert (finding.status, finding.detail) == ("proved", "marginal-windows")
    truth = pl.marginals(mrf, "treewidth")
    for low, high, table in zip(claim.nodes_lower, claim.nodes_upper, truth.nodes, strict=True):
        assert np.all((low <= table + 1e-12) & (table <= high + 1e-12))
    assert claim.certificate.check(mrf).claim == "marginals"


@pytest.fixture(scope="module")
def honest() -> tuple[pl.IsingModel, Marginals]:
    model = _lattice(np.random.default_rng(2), 12, 1.5, 2.5)
    claim = _proved(model, part=10)
    assert len(claim.certificate.sides) > 4
    assert len(claim.certificate.walls) > 4
    return model, claim


def _is_refused(model: pl.IsingModel, claim: Marginals) -> bool:
    try:
        return not check_result(model, claim, recompute=False).proved
    except VerificationError:
        return True


def _first(proof: MarginalWindows, count: int) -> MarginalWindows:
    """Return a proof of the first windows alone."""
    return replace(
        proof,
        sides=proof.sides[:count],
        spin_offsets=proof.spin_offsets[: count + 1],
        spins=proof.spins[: proof.spin_offsets[count]],
        wall_offsets=proof.wall_offsets[: count + 1],
        walls=proof.walls[: proof.wall_offsets[count]],
    )


def _same(some: SpinEnds, others: SpinEnds) -> bool:
    pairs = zip(some.nodes + some.edges, others.nodes + others.edges, strict=True)
    return all(np.allclose(a, b, rtol=0, atol=4e-8) for a, b in pairs)


def test_ends_that_were_moved_inward_are_not_proved(honest: Any) -> None:
    model, claim = honest
    for name in ("nodes_lower", "nodes_upper", "edges_lower", "edges_upper"):
        ends = np.array(getattr(claim, name))
        at = int(np.argmax(np.abs(ends - 0.5) < 0.49))
        way = 1 if name.endswith("lower") else -1
        for step in (4e-8, 1e-3):
            moved = ends.copy()
            moved[at] += way * step
            value = name.split("_")[0]
            middle = np.array(getattr(claim, value))
            middle[at] = np.clip(
                middle[at], moved[at] if way > 0 else 0.0, 1.0 if way > 0 else moved[at]
            )
            assert _is_refused(model, replace(claim, **{name: moved, value: middle}))


def test_proofs_of_something_else_are_refused(honest: Any) -> None:
    model, claim = honest
    proof = claim.certificate
    turned = proof.signs.copy()
    turned[5] *= -1
    spins, walls = proof.spins.copy(), proof.walls.copy()
    spins[0] = spins[1]
    inside = proof.spins[proof.spin_offsets[np.argmax(np.diff(proof.wall_offsets) > 0)]]
    walls[0] = inside
    whole, fewer = window_ends(model, proof), _first(proof, len(proof.sides) - 1)
    while _same(window_ends(model, fewer), whole):  # the last one says nothing new but for rounding
        fewer = _first(fewer, len(fewer.sides) - 1)
    forged = [
        replace(proof, signs=turned),
        replace(proof, signs=proof.signs[1:]),
        replace(proof, sides=-proof.sides),
        replace(proof, sides=0 * proof.sides),
        replace(proof, spins=spins),
        replace(proof, spins=proof.spins + 1),
        replace(proof, spin_offsets=proof.spin_offsets[1:]),
        replace(proof, walls=walls),
        fewer,
        None,
    ]
    for certificate in forged:
        assert _is_refused(model, replace(claim, certificate=certificate))
    other = pl.IsingModel(model.edges, model.couplings, model.fields + 0.01)
    assert _is_refused(other, claim)


def test_walls_are_charged() -> None:
    """A wall that is not known to be down says nothing about a window behind it."""
    row = pl.IsingModel([(0, 1)], [1.0], fields=[0.0, 1.0])
    truth = enumerate_states(row)
    proof = MarginalWindows(
        signs=np.array([1, 1]),
        sides=np.array([1]),
        spin_offsets=np.array([0, 1]),
        spins=np.array([0]),
        wall_offsets=np.array([0, 1]),
        walls=np.array([1]),
    )
    assert_hold(window_ends(row, proof), truth)
