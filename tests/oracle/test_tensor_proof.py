"""Proved intervals of contractions against ball arithmetic, and what each term is there for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from flint import arb, ctx

import planaris as pl
from helpers.grid_models import KINDS, distance, exact_log_partition, normal_grid, random_grid
from helpers.trials import trials
from planaris import tensor
from planaris.errors import VerificationError
from planaris.kernels import tensor as kernel
from planaris.kernels.tensor import ProofTerms, bounded_exp, prove_grid
from planaris.result import Contraction, load_result
from planaris.tensor.proof import GridModel, certificate
from planaris.verify import check_result
from planaris.verify.proofs.tensor_network.contraction import contraction_interval

BONDS = (1, 2, 3, 4, 8, 32)
EFFORTS = ([(1, 2)], [(1, 6)], [(1, 30)], [(2, 6)], [(4, 14)], [(8, 60)])


def attack(
    count: int, seed: int, *, inject: bool = False, widest: int = 6, **factors: float
) -> Iterator[bool]:
    """Yield for finite bounds whether they are violated, with factors of terms changed."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        rows, columns = int(rng.integers(2, 6)), int(rng.integers(1, widest + 1))
        arrays = random_grid(KINDS[k % len(KINDS)], rows, columns, rng)
        terms = ProofTerms()
        terms.inject = float(rng.choice([1e-5, 1e-4, 1e-3, 1e-2])) if inject else 0.0
        terms.pattern = int(rng.integers(0, 5))
        for name, value in factors.items():
            setattr(terms, name, value)
        found = prove_grid(
            *arrays,
            max_bond=int(rng.choice(BONDS)),
            effort=EFFORTS[rng.integers(len(EFFORTS))],
            terms=terms,
        )
        if np.isfinite(found.half_width):
            error = distance(found.log_partition, exact_log_partition(*arrays))
            yield not error <= found.half_width


@pytest.mark.parametrize("inject", [False, True])
def test_no_bound_is_violated(inject):
    count = trials(150, 400)
    violated = list(attack(count, 1, inject=inject))
    assert len(violated) > 0.75 * count
    assert not any(violated)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_no_bound_is_violated_in_thousands_of_models(seed):
    assert not any(attack(500, seed))
    assert not any(attack(500, seed, inject=True))
    assert not any(attack(200, seed, turn=1e-4))
    assert not any(attack(200, seed, coarse=1e-3))
    assert not any(attack(200, seed, blur=1e-3))
    assert not any(attack(100, seed, widest=12))


@pytest.mark.parametrize(
    ("factor", "others"),
    [
        ({"tau": 0.5}, {"inject": True}),
        ({"raw": 0.5}, {"inject": True}),
        ({"last": 0.5}, {"inject": True}),
        ({"cut": 0.5}, {}),
        ({"radius": 0.0}, {"inject": True}),
        ({"residual": 0.3}, {"turn": 1e-4}),
    ],
)
def test_every_term_is_needed(factor, others):
    assert any(any(attack(300, seed, **factor, **others)) for seed in range(20))


def probe(seed: int, enough: float = np.inf, **factors: float) -> float:
    """Largest error / bound over all configurations of a row; 0 if the bound was lost.

    The first that is larger than ``enough`` will do.

    Strong fields in the last row single out one component of the state before it.
    """
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(2, 4)), int(rng.integers(3, 7))
    fields, right, down = random_grid("uniform", rows, columns, rng)
    right[-1] = 0.0
    terms = ProofTerms()
    for name, value in factors.items():
        setattr(terms, name, value)
    bond, effort = int(rng.choice([1, 2, 3])), EFFORTS[1 + rng.integers(4)]
    worst = 0.0
    for signs in itertools.product((40.0, -40.0), repeat=columns):
        fields[-1] = signs
        found = prove_grid(fields, right, down, max_bond=bond, effort=effort, terms=terms)
        if not np.isfinite(found.half_width):
            return 0.0
        error = distance(found.log_partition, exact_log_partition(fields, right, down, 80))
        worst = max(worst, error / found.half_width)
        if worst > enough:
            break
    return worst


@pytest.mark.parametrize("injected", [{"coarse": 0.01}, {"blur": 0.01}])
def test_rows_are_bounded_whatever_rounding_does_to_boxes(injected):
    ratios = [probe(seed, **injected) for seed in range(12)]
    assert 0.0 < max(ratios) <= 1.0


def test_rows_are_bounded_over_all_configurations():
    ratios = [probe(seed) for seed in range(20)]
    assert max(ratios) <= 1.0
    assert np.median([x for x in ratios if x]) > 0.5  # and not by much more than needed


@pytest.mark.parametrize(
    "factors",
    [
        {"coarse": 0.3, "word": 0.0},
        {"blur": 0.3, "image": 0.0},
        {"radius": 0.0},
        {"cut": 0.8},
    ],
)
def test_every_term_is_needed_for_some_configuration(factors):
    assert any(probe(seed, 1.0, **factors) > 1.0 for seed in range(40))


def test_the_exponential_keeps_its_bound():
    rng = np.random.default_rng(4)
    before, ctx.prec = ctx.prec, 160
    try:
        for x in (*rng.uniform(-700, 700, 3000), *rng.uniform(-1, 1, 3000), 0.0, 1e-300, -700.0):
            exact = arb(float(x)).exp()
            assert abs(float(((arb(bounded_exp(float(x))) - exact) / exact).mid())) <= 8 * 2.0**-53
    finally:
        ctx.prec = before


@pytest.mark.parametrize(
    ("a", "b", "width"), [(0.5, 0.5, 1e-11), (1.0, 0.3, 1e-10), (1.0, 1.0, 1e-10), (2.0, 0.5, 1e-8)]
)
def test_wide_grids_are_enclosed_tightly(a, b, width):
    rng = np.random.default_rng(3)
    model = pl.IsingModel.from_image(
        rng.uniform(-b, b, (16, 14)), rng.uniform(-a, a, (16, 13)), rng.uniform(-a, a, (15, 14))
    )
    found = tensor.log_partition(model, prove=True)
    exact = pl.log_partition(model, "treewidth")
    assert found.proved
    assert found.gap < 2 * width
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper


def strong_grid(size: int, a: float, seed: int) -> pl.IsingModel:
    rng = np.random.default_rng(seed)
    right, down = rng.uniform(-a, a, (size, size - 1)), rng.uniform(-a, a, (size - 1, size))
    return pl.IsingModel.from_image(rng.uniform(-0.5, 0.5, (size, size)), right, down)


@pytest.mark.parametrize(
    ("size", "a", "seed", "effort"),
    [
        (12, 4.0, 9, (4, 14)),  # thousands of pairs of boxes at a site
        (16, 3.0, 1, (4, 14)),
        (12, 4.0, 4, (4, 14)),  # words whose images are lost until they are longer
        (14, 3.0, 4, (8, 24)),
    ],
)
def test_boxes_are_split_until_all_denominators_are_safe(size, a, seed, effort):
    model = strong_grid(size, a, seed)
    found = prove_grid(*GridModel.of(model).arrays, max_bond=32, effort=[effort], witness=True)
    exact = pl.log_partition(model, "treewidth")
    assert found.half_width < 1e-5
    assert found.log_partition - found.half_width <= exact.upper
    assert exact.lower <= found.log_partition + found.half_width
    low, high = Contraction(size, *found.witness).check(model)[1:]
    assert low <= exact.upper
    assert exact.lower <= high
    assert high - low < 2.1 * found.half_width + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 12345])
def test_strong_couplings_are_proved_at_fifty_columns(seed):
    model = strong_grid(50, 2.0, seed)
    found = tensor.log_partition(model, prove=True)
    assert found.proved
    assert found.gap < 2e-4
    assert found.lower <= tensor.log_partition(model).value <= found.upper


def test_threads_do_not_change_a_proof():
    arrays = random_grid("uniform", 6, 9, np.random.default_rng(8))
    one, two = (prove_grid(*arrays, threads=threads) for threads in (1, 2))
    assert np.isfinite(one.half_width)
    assert (one.log_partition, one.rows) == (two.log_partition, two.rows)


def test_what_cannot_be_proved_is_an_estimate():
    rng = np.random.default_rng(5)
    cold = pl.IsingModel.from_image(
        np.zeros((12, 12)), rng.choice([-9.0, 9.0], (12, 11)), rng.choice([-9.0, 9.0], (11, 12))
    )
    found = tensor.log_partition(cold, prove=True)
    assert not found.proved
    assert found.status.startswith("not proved")
    ring = pl.IsingModel([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)], 1.0)
    assert tensor.log_partition(ring, prove=True).status == "not proved: no grid"
    strong = pl.IsingModel([(0, 1)], [1.0], [1e5, 0.0])
    assert not tensor.log_partition(strong, prove=True).proved


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (2, 2), (3, 7)])
def test_degenerate_grids(shape):
    model = normal_grid(shape, np.random.default_rng(6))
    exact = pl.log_partition(model, "treewidth").value
    found = tensor.log_partition(model, prove=True)
    assert found.proved
    assert found.lower - 1e-13 <= exact <= found.upper + 1e-13
    assert found.gap < 1e-10


def two_label_grid(rows: int, columns: int, rng: np.random.Generator) -> pl.MarkovRandomField:
    index = np.arange(rows * columns).reshape(rows, columns)
    pairs = [*zip(index[:, :-1].ravel(), index[:, 1:].ravel(), strict=True)]
    pairs += [*zip(index[1:].ravel(), index[:-1].ravel(), strict=True)]
    factors = [((int(v),), np.exp(rng.uniform(-1, 1, 2))) for v in index.ravel()]
    factors += [((int(u), int(v)), np.exp(rng.uniform(-1, 1, (2, 2)))) for u, v in pairs]
    return pl.MarkovRandomField(np.full(rows * columns, 2), factors)


def test_two_labels_are_proved_as_spins_are():
    mrf = two_label_grid(9, 7, np.random.default_rng(11))
    exact = pl.marginals(mrf, "treewidth")
    found = pl.log_partition(mrf, "tensor-network", prove=True)
    value = pl.log_partition(mrf, "treewidth")
    assert found.proved
    assert found.gap < 1e-9
    assert found.lower <= value.upper
    assert value.lower <= found.upper
    assert check_result(mrf, found).proved
    sure = pl.marginals(mrf, "tensor-network", prove=True)
    assert sure.proved
    for low, p, high in zip(sure.nodes_lower, exact.nodes, sure.nodes_upper, strict=True):
        assert (low - 1e-14 <= p).all()
        assert (p <= high + 1e-14).all()
    states = pl.sample(mrf, 3, rng=1, method="tensor-network", prove=True)
    assert states.shape == (3, 63)
    assert set(np.unique(states)) <= {0, 1}


def test_wide_grids_of_two_labels_are_proved_without_being_asked_how():
    mrf = two_label_grid(34, 36, np.random.default_rng(12))
    found = pl.log_partition(mrf, prove=True)
    assert found.proved
    assert found.method == "tensor-network"
    assert found.gap < 1e-8


def strong_rectangle(rows: int, columns: int, seed: int) -> pl.IsingModel:
    rng = np.random.default_rng(seed)
    sizes = (0.5, (rows, columns)), (2.0, (rows, columns - 1)), (2.0, (rows - 1, columns))
    return pl.IsingModel.from_image(*(rng.uniform(-a, a, shape) for a, shape in sizes))


@pytest.mark.parametrize("shape", [(6, 6), (4, 7), (7, 4), (1, 5), (5, 1)])
def test_grids_are_proved_and_checked_the_other_way(shape):
    model = strong_rectangle(*shape, seed=1)
    grid = GridModel.of(model, other_way=True)
    assert grid.arrays[0].shape == (min(shape), max(shape))
    assert grid.of_spins(grid.arrays[0]).tolist() == model.fields.tolist()
    assert grid.of_edges(*grid.arrays[1:]).tolist() == model.couplings.tolist()
    other = certificate(grid, prove_grid(*grid.arrays, witness=True))
    assert other.other_way == 1
    low, high = contraction_interval(model, other)
    exact = pl.log_partition(model, "treewidth")
    assert exact.lower - 1e-9 < low <= exact.upper
    assert exact.lower <= high < exact.upper + 1e-9
    with pytest.raises(VerificationError, match="0 or 1"):
        contraction_interval(model, replace(other, other_way=2))


def test_a_square_that_is_lost_one_way_is_proved_the_other(monkeypatch, tmp_path):
    model = strong_rectangle(8, 8, seed=0)
    first, lost = GridModel.of(model).arrays, []

    def lost_one_way(*arrays, **options):
        little = all(map(np.array_equal, arrays, first))
        found = prove_grid(*arrays, **options | ({"effort": [(1, 2)]} if little else {}))
        lost.append(not np.isfinite(found.half_width))
        return found

    monkeypatch.setattr(kernel, "prove_grid", lost_one_way)
    found = pl.log_partition(model, "tensor-network", prove=True)
    assert lost == [True, False]
    assert found.proved
    assert found.certificate.other_way == 1
    found.save(tmp_path / "found.json")
    assert check_result(model, load_result(tmp_path / "found.json")).proved
    exact = pl.log_partition(model, "treewidth")
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
