"""Marginals with proved ends and exact samples of grids, against ball arithmetic."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from flint import arb
from scipy.stats import chi2

import planaris as pl
from helpers.grid_models import (
    KINDS,
    exact_probabilities,
    normal_grid,
    places,
    random_grid,
)
from planaris import tensor
from planaris.errors import MethodError, PrecisionError
from planaris.kernels import tensor as kernel
from planaris.kernels.tensor import ProofTerms, prove_grid
from planaris.reference.brute_force import enumerate_states
from planaris.tensor.proof import GridModel
from planaris.tensor.rejection import _decide, accepts, draw_exactly

EFFORTS = ([(1, 6)], [(2, 6)], [(4, 14)], [(8, 60)])


def model_of(fields, right, down) -> pl.IsingModel:
    return pl.IsingModel.from_image(fields, right, down)


def proofs(arrays, **options):
    flipped = [np.ascontiguousarray(x[::-1]) for x in arrays]
    return [prove_grid(*x, keep=True, **options) for x in (arrays, flipped)]


def attack(count: int, seed: int, **factors: float) -> Iterator[bool]:
    """Yield for ends of marginals whether they are violated, with factors of terms changed."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        arrays = random_grid(
            KINDS[k % len(KINDS)], int(rng.integers(2, 5)), int(rng.integers(1, 6)), rng
        )
        terms = ProofTerms()
        terms.pattern = int(rng.integers(0, 5))
        for name, value in factors.items():
            setattr(terms, name, value)
        above, below = proofs(
            arrays,
            max_bond=int(rng.choice([1, 2, 3, 4, 8, 32])),
            effort=EFFORTS[rng.integers(len(EFFORTS))],
            terms=terms,
        )
        found = kernel.proved_marginals(arrays, above, below)
        if found is None:
            continue
        for part, array, exact in zip(found, arrays, exact_probabilities(*arrays), strict=True):
            for at, p in zip(places(array), exact, strict=True):
                lower, upper = arb(part.lower.flat[at]), arb(part.upper.flat[at])
                yield not lower <= p or not p <= upper


def test_no_end_of_a_marginal_is_violated():
    violated = list(attack(100, 1))
    assert len(violated) > 400
    assert not any(violated)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 10))
def test_no_end_of_a_marginal_is_violated_in_hundreds_of_models(seed):
    assert not any(attack(200, seed))
    assert not any(attack(100, seed, inject=1e-3))
    assert not any(attack(100, seed, turn=1e-4))


@pytest.mark.parametrize("factors", [{"cut": 0.5}, {"inject": 1e-3, "tau": 0.3}])
def test_ends_need_what_the_rows_are_off(factors):
    assert any(any(attack(100, seed, **factors)) for seed in range(10))


@pytest.mark.parametrize(
    ("a", "b", "error"), [(0.5, 0.5, 1e-10), (1.0, 0.3, 1e-9), (2.0, 0.5, 1e-5)]
)
def test_ends_of_wide_grids_hold_elimination(a, b, error):
    rng = np.random.default_rng(3)
    model = model_of(
        rng.uniform(-b, b, (15, 13)), rng.uniform(-a, a, (15, 12)), rng.uniform(-a, a, (14, 13))
    )
    exact = pl.marginals(model, "treewidth")
    found = pl.marginals(model, "tensor-network", prove=True)
    assert found.proved
    assert found.exact or error > 1e-6
    assert found.error < error
    for low, p, high in (
        (found.nodes_lower, exact.nodes, found.nodes_upper),
        (found.edges_lower, exact.edges, found.edges_upper),
    ):
        assert (low <= p + 1e-13).all()
        assert (p - 1e-13 <= high).all()
    z = pl.log_partition(model, "treewidth").value
    assert found.log_partition.lower - 1e-11 <= z <= found.log_partition.upper + 1e-11


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (2, 2), (3, 5)])
def test_degenerate_grids(shape):
    model = normal_grid(shape, np.random.default_rng(6))
    exact = enumerate_states(model)
    found = tensor.marginals(model, prove=True)
    assert found.proved
    np.testing.assert_allclose(found.nodes, exact.nodes, atol=1e-13)
    np.testing.assert_allclose(found.edges, exact.edges, atol=1e-13)
    assert found.log_partition.lower <= exact.log_partition + 1e-13
    assert exact.log_partition <= found.log_partition.upper + 1e-13
    drawn = tensor.sample(model, 5, 1, prove=True)
    assert drawn.states.shape == (5, model.num_spins)
    assert drawn.proved


def test_threads_change_neither_marginals_nor_samples():
    arrays = random_grid("uniform", 6, 5, np.random.default_rng(8))
    above, below = proofs(arrays)
    one, two = (kernel.proved_marginals(arrays, above, below, threads=t) for t in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
    one, two = (kernel.propose_samples(arrays, above, 40, 3, threads=t) for t in (1, 2))
    np.testing.assert_array_equal(one[0], two[0])


def test_what_cannot_be_proved_is_an_estimate_or_refused():
    rng = np.random.default_rng(5)
    cold = model_of(
        np.zeros((12, 12)), rng.choice([-9.0, 9.0], (12, 11)), rng.choice([-9.0, 9.0], (11, 12))
    )
    found = tensor.marginals(cold, prove=True)
    assert not found.proved
    assert found.status.startswith("not proved")
    assert found.nodes_lower is None
    with pytest.raises(PrecisionError, match="bound was lost"):
        tensor.sample(cold, 1, 1, prove=True)
    ring = pl.IsingModel([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)], 1.0)
    assert tensor.marginals(ring, prove=True).status == "not proved: no grid"
    with pytest.raises(MethodError, match="grid"):
        tensor.sample(ring, 1, 1, prove=True)


# -- samples -------------------------------------------------------------------------------------


def p_value(model: pl.IsingModel, states) -> float:
    """Of a chi-square test of states against all probabilities, rare ones together."""
    size = model.num_spins
    every = 1 - 2 * ((np.arange(2**size)[:, None] >> np.arange(size)) & 1)
    logs = model.log_weight(every.astype(np.int8))
    expected = np.exp(logs - logs.max())
    expected *= len(states) / expected.sum()
    index = ((1 - states.astype(np.int64)) // 2) @ (1 << np.arange(size))
    seen = np.bincount(index, minlength=2**size)
    order = np.argsort(-expected)
    bins = np.minimum(np.cumsum(expected[order]) // 30, 2000).astype(int)
    e, s = np.bincount(bins, expected[order]), np.bincount(bins, seen[order])
    keep = e > 5
    e, s = np.append(e[keep], e[~keep].sum() + 1e-300), np.append(s[keep], s[~keep].sum())
    return float(chi2.sf(((s - e) ** 2 / e)[e > 1].sum(), (e > 1).sum() - 1))


def coarse_proof(seed: int, bond: int, width: tuple[float, float]):
    """A 4 × 4 grid and a proof of it that leaves much to the rejection."""
    rng = np.random.default_rng(seed)
    while True:
        arrays = random_grid("uniform", 4, 4, rng)
        found = prove_grid(*arrays, max_bond=bond, effort=[(8, 60)], keep=True)
        if width[0] < found.half_width < width[1]:
            return arrays, found


def test_rejection_makes_samples_exact():
    arrays, proof = coarse_proof(1, 1, (0.5, 1.5))
    model = model_of(*arrays)
    proposed, _ = kernel.propose_samples(arrays, proof, 100_000, 5)
    grid, rng = GridModel.of(model), np.random.default_rng(7)
    found = draw_exactly(model, grid, proof, 20_000, rng, pl.budget.UNLIMITED)
    assert found.num_proposals > 1.1 * 20_000
    assert 20_000 / found.num_proposals >= found.least_rate
    assert p_value(model, found.states) > 1e-3
    assert p_value(model, proposed) < 1e-6  # without rejection the test sees the difference


def test_proposals_stay_below_the_bound():
    """log(weight / q) is at most log Z of the proof plus the excess, and comes close to it."""
    for seed in range(12):
        arrays, proof = coarse_proof(seed, 1 + seed % 3, (1e-3, 2.0))
        model = model_of(*arrays)
        spins, choices = kernel.propose_samples(arrays, proof, 2000, seed)
        q = np.where(choices > 0, np.log(np.abs(choices)), np.log1p(np.minimum(choices, 0))).sum(1)
        excess = kernel.proposal_excess(arrays, proof)
        off = model.log_weight(spins) - q - proof.log_partition
        assert (off <= excess + 1e-12).all()
        assert (off >= -excess - 1e-12).all()
        assert np.abs(off).max() > 0.02 * excess


def test_proposals_have_the_probability_they_say():
    arrays, proof = coarse_proof(3, 2, (1e-3, 2.0))
    spins, choices = kernel.propose_samples(arrays, proof, 60_000, 9)
    q = np.where(choices > 0, np.log(np.abs(choices)), np.log1p(np.minimum(choices, 0))).sum(1)
    _, first, counts = np.unique(spins, axis=0, return_index=True, return_counts=True)
    expected = np.exp(q[first]) * len(spins)
    common = expected > 20
    z = (counts - expected)[common] / np.sqrt(expected[common])
    assert len(z) > 20
    assert chi2.sf((z**2).sum(), len(z)) > 1e-3


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (5, 3), (3, 6)])
def test_samples_have_the_distribution_of_the_model(rows, columns):
    rng = np.random.default_rng(rows)
    model = model_of(
        rng.uniform(-0.5, 0.5, (rows, columns)),
        rng.uniform(-1, 1, (rows, columns - 1)),
        rng.uniform(-1, 1, (rows - 1, columns)),
    )
    states = pl.sample(model, 30_000, 4, "tensor-network", prove=True)
    assert p_value(model, states) > 1e-3


@pytest.mark.parametrize("size", [5, 6])
def test_moments_of_samples(size):
    rng = np.random.default_rng(size)
    model = model_of(
        rng.uniform(-0.5, 0.5, (size, size)),
        rng.uniform(-1, 1, (size, size - 1)),
        rng.uniform(-1, 1, (size - 1, size)),
    )
    states = pl.sample(model, 20_000, 4, "tensor-network", prove=True)
    exact = pl.marginals(model, "treewidth")
    u, v = model.edges.T
    for mean, p in (
        ((states == 1).mean(0), exact.nodes),
        ((states[:, u] == states[:, v]).mean(0), exact.edges),
    ):
        z = (mean - p) / np.sqrt(p * (1 - p) / len(states))
        assert np.abs(z).max() < 4.5


def test_log_probabilities_of_samples_at_twenty_columns():
    rng = np.random.default_rng(2)
    model = model_of(
        rng.uniform(-0.3, 0.3, (20, 20)), rng.uniform(-1, 1, (20, 19)), rng.uniform(-1, 1, (19, 20))
    )
    drawn = tensor.sample(model, 40, 3, prove=True)
    exact = model.log_weight(drawn.states) - pl.log_partition(model, "treewidth").value
    np.testing.assert_allclose(drawn.log_probabilities, exact, atol=1e-9)
    assert drawn.error < 1e-9
    assert drawn.stats["least_acceptance"] > 1 - 1e-8


def test_wide_grids_are_transposed_back():
    rng = np.random.default_rng(4)
    fields = np.where(rng.random((3, 8)) < 0.5, 20.0, -20.0)
    model = model_of(fields, rng.uniform(-1, 1, (3, 7)), rng.uniform(-1, 1, (2, 8)))
    states = pl.sample(model, 3, 1, "tensor-network", prove=True)
    np.testing.assert_array_equal(states, np.tile(np.sign(fields).ravel(), (3, 1)))


class Scripted:
    """Uniform integers from a list."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = list(numbers)

    def integers(self, low, high, dtype=None) -> int:
        return self.numbers.pop(0)


def test_close_decisions_take_more_digits():
    half = np.array([0.5, -0.25])
    # weight / (q e^bound) = 1/4 exactly: log(3/32) - log(3/8)
    log_weight, bound = [float(np.log(3 / 32))], 0.0
    quarter = 2**51
    assert accepts(log_weight, half, bound, Scripted(quarter - 2**20))
    assert not accepts(log_weight, half, bound, Scripted(quarter + 2**20))
    low = Scripted(quarter - 1, 0, 0, 0)
    assert isinstance(accepts(log_weight, half, bound, low), bool)
    assert len(low.numbers) < 3  # more bits were asked for


def test_digits_decide_as_rational_numbers_do():
    third = np.array([1 / 3])
    p = float(third[0])
    for bits in (117, 181):
        target = int(p * 2**60) << (bits - 60)
        # weight 1, bound -2 log p: accepted with probability p
        bound = -2 * float(np.log(p))
        close = _decide([0.0], third, bound, target - (1 << (bits - 40)), bits, 60)
        far = _decide([0.0], third, bound, target + (1 << (bits - 40)), bits, 60)
        assert (close, far) == (True, False)
