"""Samples of cold planes: every decision on the way has the probability that it should have."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import planaris as pl
from planaris.budget import UNLIMITED
from planaris.errors import PrecisionError
from planaris.kernels.pfaffian import Factorization
from planaris.planar.pfaffian import precision_ladder, sampling
from planaris.planar.pfaffian.capped_moats import FEW_REJECTED


def with_leaves(lattice: pl.generate.Lattice, leaves: int, rng: np.random.Generator) -> np.ndarray:
    count = lattice.num_vertices
    ends = [(int(v), count + k) for k, v in enumerate(rng.integers(0, count, leaves))]
    return np.vstack([lattice.edges, np.array(ends, dtype=np.int32).reshape(-1, 2)])


CASES = list(itertools.product(("square", "triangular", "honeycomb"), (20, 180, 345), range(6)))
WRONG = [
    ("triangular", 345, 27),
    ("triangular", 345, 55),
    ("square", 345, 143),
    ("triangular", 180, 233),
    ("square", 180, 241),
    ("honeycomb", 180, 301),
]
"""Samples of these were of a probability of e^-500 when pivots were searched for."""


@pytest.mark.parametrize(("kind", "beta", "seed"), [*CASES, *WRONG])
def test_no_sample_is_impossible(kind: str, beta: int, seed: int) -> None:
    rng = np.random.default_rng([seed, beta])
    rows, columns = int(rng.integers(3, 13)), int(rng.integers(3, 60))
    lattice = getattr(pl.generate, f"{kind}_lattice")(rows, columns)
    edges = with_leaves(lattice, int(rng.integers(0, 10)), rng)
    couplings = [
        rng.normal(size=len(edges)),
        rng.choice([-3.0, -1.0, 1.0, 3.0, 1e-3], len(edges)),
    ][seed % 2]
    model = pl.IsingModel(edges, beta * couplings)
    plan = pl.plan((model.num_spins, model.edges))
    total = plan.log_partition(model.couplings)
    assert total.exact
    drawn = plan.sample(model.couplings, 4, rng)
    # All states below this together have a probability of e^-40.
    assert np.all(-model.energy(drawn) >= total.value - model.num_spins * math.log(2.0) - 40)


def test_decisions_that_do_not_multiply_to_the_weight_are_refused(monkeypatch) -> None:
    sound = Factorization.sample

    def spoiled(self, *args, **options):
        cut, undecided, drawn = sound(self, *args, **options)
        return cut, undecided, drawn + 1e-5

    model = pl.generate.spin_glass(8, np.random.default_rng(0))
    plan = pl.plan(model)
    plan.sample(model.couplings, 3, 1)
    monkeypatch.setattr(precision_ladder, "MODERATE_COUPLING", 0.0)  # nothing in one call
    plan.sample(model.couplings, 3, 1)
    monkeypatch.setattr(Factorization, "sample", spoiled)
    with pytest.raises(PrecisionError, match="decided by rounding"):
        plan.sample(model.couplings, 3, 1)


def test_fronts_whose_weights_do_not_fit_are_drawn_again() -> None:
    """In double-double: rounding had decided all four samples of this model."""
    model = pl.generate.spin_glass(60, np.random.default_rng(1), beta=300.0)
    evaluator = pl.plan(model).evaluator
    ladder = precision_ladder.attempts(evaluator, model.couplings, UNLIMITED, for_samples=True)
    capped = next(
        entries for entries, wide in ladder if not wide and entries.rejected > FEW_REJECTED
    )
    draw = sampling._cut_sampler(evaluator, capped, wide=False, budget=UNLIMITED)
    assert draw is not None
    uniform = np.random.default_rng(1).random((4, evaluator.split.num_edges))
    assert np.count_nonzero(draw(uniform)[1]) <= 1
