"""lower <= log Z <= upper, for every method, wherever it stops, against enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.clocks import StepClock
from helpers.trials import seeds
from planaris import IsingModel
from planaris.bounds import (
    interval,
    logdet,
    mean_field,
    pdc,
    planar_and_trees,
    trw,
    trw_over_cycles,
)
from planaris.bounds.decomposition.trees import grow_trees
from planaris.budget import use_clock
from planaris.errors import MethodError
from planaris.reference import enumerate_states
from planaris.subgraphs.bias_model import as_bias_model
from planaris.verify import check_result

CHUNKS = 20
PER_CHUNK = 25


def random_model(rng: np.random.Generator, most: int = 13) -> IsingModel:
    """Any graph, sparse to complete, any temperature, with fields on none, some or all spins."""
    n = int(rng.integers(1, most + 1))
    pairs = np.argwhere(np.triu(np.ones((n, n)), 1) > 0)
    keep = rng.random(len(pairs)) < rng.choice([0.2, 0.5, 1.0])
    scale = 10.0 ** rng.uniform(-1.5, 1.0)
    couplings = scale * rng.normal(size=int(keep.sum()))
    if rng.random() < 0.2:
        couplings = np.round(couplings)  # ties and zeros
    fields = scale * rng.normal(size=n) * (rng.random(n) < rng.choice([0.0, 0.4, 1.0]))
    return IsingModel(pairs[keep], couplings, fields, num_spins=n, offset=float(rng.normal()))


def exact(model: IsingModel) -> tuple[float, float]:
    value = enumerate_states(model).log_partition
    return value, 1e-12 * (abs(value) + float(np.abs(model.couplings).sum()) + model.num_spins)


class Watch:
    """A callback that checks every bound it is told."""

    def __init__(self, limit: float, sign: float) -> None:
        self.limit, self.sign, self.calls = limit, sign, 0

    def __call__(self, bound: float) -> None:
        self.calls += 1
        assert self.sign * (bound - self.limit) >= -1e-9 * (1 + abs(self.limit))


@pytest.mark.parametrize("chunk", seeds(2, CHUNKS))
def test_intervals_hold_wherever_the_search_stops(chunk: int) -> None:
    rng = np.random.default_rng([7, chunk])
    for k in range(PER_CHUNK):
        model = random_model(rng, 16)
        value, slack = exact(model)
        steps = int(rng.choice([0, 1, 2, 3, 5, 8, 13, 60]))
        above = Watch(value, 1.0)
        results = [
            method(model, max_iterations=steps, callback=above)
            for method in (trw, pdc, planar_and_trees)
        ]
        below = Watch(value, -1.0)
        kind = str(rng.choice(["spins", "trees", "width", "planar"]))
        width = int(rng.integers(2, 4))
        results.append(
            mean_field(model, clusters=kind, width=width, max_sweeps=steps, callback=below)
        )
        for found in results:
            assert found.lower <= value + slack, (chunk, k, found.method)
            assert found.upper >= value - slack, (chunk, k, found.method)


@pytest.mark.parametrize(
    "seed", [0, 2, 4, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 3, 5))]
)
def test_stops_at_every_step_are_bounds(seed: int) -> None:
    rng = np.random.default_rng([11, seed])
    pairs = np.argwhere(np.triu(np.ones((7, 7)), 1) > 0)
    scale = [0.3, 1.0, 3.0][seed % 3]
    fields = scale * rng.normal(size=7) if seed < 3 else None
    model = IsingModel(pairs, scale * rng.normal(size=len(pairs)), fields, num_spins=7)
    value, slack = exact(model)
    for steps in [*range(12), 16, 23]:
        for method in (trw, pdc, planar_and_trees):
            assert method(model, max_iterations=steps).upper >= value - slack
        for kind in ("spins", "width", "planar"):
            found = mean_field(model, clusters=kind, width=2, max_sweeps=steps, restarts=0)
            assert found.lower <= value + slack


@pytest.mark.parametrize("seed", range(3))
def test_intervals_hold_wherever_time_runs_out(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time is up at the k-th look at the clock, for many k: every stop is an interval."""
    rng = np.random.default_rng([12, seed])
    model = random_model(rng, 9)
    value, slack = exact(model)
    monkeypatch.setattr("planaris.bounds.best_interval.EXACT_SHARE", -1.0)
    for reads in [*range(30), *range(30, 400, 37)]:
        with use_clock(StepClock(reads)):
            found = interval(model, 10.0)
        assert found.lower <= value + slack
        assert found.upper >= value - slack


@pytest.mark.parametrize("seed", seeds(6, 30))
def test_the_mixed_bound_is_the_tightest(seed: int) -> None:
    """No looser than either, nor than what it starts from, in any single model; and proved."""
    rng = np.random.default_rng([8, seed])
    model = random_model(rng, 10)
    trees, planar = trw(model), pdc(model)
    rough = pdc(model, max_iterations=int(rng.integers(0, 20)))
    for mixed in (
        planar_and_trees(model),
        planar_and_trees(model, starts=[trees, planar, rough], max_iterations=seed % 3),
        planar_and_trees(model, starts=[planar]),
    ):
        least = min(trees.upper, planar.upper)
        assert mixed.upper <= least + 1e-12 * (1 + abs(least))
        if not mixed.exact:
            assert check_result(model, mixed).proved


def test_starts_of_another_model_give_a_bound_of_this_one() -> None:
    k5 = [(u, v) for u in range(5) for v in range(u)]
    model, other = IsingModel(k5, 2.0, [1.0] * 5), IsingModel(k5, -0.1, [0.5] * 5, offset=-9.0)
    value, slack = exact(model)
    assert planar_and_trees(model, starts=[pdc(other)], max_iterations=0).upper >= value - slack
    larger = IsingModel([*k5, (4, 5), (0, 5), (1, 5)], 1.0, [1.0] * 6)
    with pytest.raises(MethodError, match="bounds of this model, which has 15 edges"):
        planar_and_trees(model, starts=[pdc(larger)])


@pytest.mark.parametrize("seed", range(6))
def test_bounds_told_on_the_way_are_those_that_can_be_proved(seed: int) -> None:
    """Weights that vanish leave huge couplings behind, which must not cancel unseen."""
    rng = np.random.default_rng([13, seed])
    pairs = np.argwhere(np.triu(np.ones((14, 14)), 1) > 0)
    bare = as_bias_model(IsingModel(pairs, np.round(rng.normal(size=len(pairs)))))
    state, _ = grow_trees(bare, max_iterations=500, max_rounds=12, tolerance=2e-7)
    told = state.upper + bare.constant
    assert state.certified() <= told + 1e-9 * (1 + abs(told))


@pytest.mark.parametrize("seed", range(8))
def test_planar_models_are_solved_exactly(seed: int) -> None:
    rng = np.random.default_rng([9, seed])
    n = 12
    edges = [(v, v + 1) for v in range(n - 1) if v % 4 < 3]
    edges += [(v, v + 4) for v in range(n - 4)]
    model = IsingModel(edges, rng.normal(size=len(edges)) * 3, num_spins=n)
    value, slack = exact(model)
    for method in (pdc, planar_and_trees, interval):
        found = method(model)
        assert found.exact
        assert abs(found.value - value) <= slack + 1e-9
        assert found.upper - found.lower < 1e-8


@pytest.mark.parametrize("seed", range(6))
def test_logdet_and_short_intervals_hold(seed: int) -> None:
    rng = np.random.default_rng([10, seed])
    model = random_model(rng, 9)
    value, slack = exact(model)
    for found in (logdet(model), trw_over_cycles(model), interval(model, 1e-3)):
        assert found.lower <= value + slack
        assert found.upper >= value - slack


@pytest.mark.parametrize("method", [trw, pdc, planar_and_trees, mean_field, interval])
@pytest.mark.parametrize(
    "model",
    [
        IsingModel([], [], num_spins=0),
        IsingModel([], [], num_spins=1),
        IsingModel([], [], [0.0, 2.0]),
        IsingModel([(0, 1)], [0.0]),
        IsingModel([(0, 1), (2, 3)], [1.0, -800.0], [0.0, 0.0, 0.0, 1e-300, 0.0, 0.0]),
    ],
    ids=["empty", "one", "isolated", "zero", "stiff"],
)
def test_degenerate_models(method: object, model: IsingModel) -> None:
    value, slack = exact(model)
    found = method(model)  # type: ignore[operator]
    assert found.lower <= value + slack + 1e-12
    assert found.upper >= value - slack - 1e-12


def test_couplings_beyond_arithmetic_get_a_crude_bound() -> None:
    k5 = [(u, v) for u in range(5) for v in range(u)]
    model = IsingModel(k5, 1e300, [1.0, 0.0, 0.0, 0.0, 0.0])
    for method in (trw, pdc, planar_and_trees, interval):
        found = method(model)
        assert found.lower <= 1e301 <= found.upper
        assert math.isfinite(found.upper)
