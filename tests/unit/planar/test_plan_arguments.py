"""What plans refuse, and couplings past the range of any arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest

import planaris as pl
from planaris.errors import MethodError, ModelError, NotPlanarError

SQUARE = pl.plan((4, [(0, 1), (1, 2), (2, 3), (3, 0)]))
J = np.array([1.0, -0.5, 2.0, 0.25])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: SQUARE.log_partition(["1"] * 4), "`couplings` must hold real numbers"),
        (lambda: SQUARE.log_partition(pl.IsingModel([], [])), "pass model.couplings"),
        (lambda: SQUARE.log_partition(J + 1j), "`couplings` must hold real numbers"),
        (lambda: SQUARE.correlations([J, 2 * J], [(0, 1)]), "`couplings` must be one vector"),
        (lambda: SQUARE.spin_correlations([J, 2 * J], 0), "`couplings` must be one vector"),
        (lambda: SQUARE.correlations(J, [(0, 1.5)]), "`pairs` must hold integers"),
        (lambda: SQUARE.correlations(J, [0, 1]), r"`pairs` must have shape \(k, 2\)"),
        (lambda: SQUARE.correlations(J, [(0, 1), (0, 4)]), r"spins 0 to 3, got \(0, 4\)"),
        (lambda: SQUARE.spin_correlations(J, 1.5), "`spin` must be an integer"),
        (lambda: SQUARE.sample(J, 2.5), "`size` must be an integer"),
        (lambda: SQUARE.sample(J, "3"), "`size` must be an integer"),
        (lambda: SQUARE.sample(J, 1, "abc"), "`rng` must be"),
        (lambda: SQUARE.sample(J, 1, -1), "`rng` must be"),
        (lambda: pl.sample(pl.IsingModel([(0, 1)], [1.0]), 1, 1.5), "`rng` must be"),
        (lambda: SQUARE.log_partition(J, threads="2"), "`threads` must be an integer"),
    ],
)
def test_wrong_arguments_are_named(wrong, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ModelError, match=message):
        wrong()


@pytest.mark.parametrize("limit", [float("nan"), "1", [1.0]])
def test_time_limits_are_numbers(limit: object) -> None:
    with pytest.raises(pl.PlanarisError, match="`time_limit` must"):
        SQUARE.log_partition(J, time_limit=limit)  # type: ignore[arg-type]


def test_batches_may_be_empty() -> None:
    none = np.zeros((0, 4))
    found, edges = SQUARE.log_partition(none), SQUARE.marginals(none)
    assert list(found) == list(edges) == []
    assert found.values.shape == found.lower.shape == edges.log_z.shape == (0,)
    assert edges.edges.shape == (0, 4)
    assert SQUARE.sample(none, 2, 0).shape == (0, 2, 4)


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("size", [1e16, 1e18, 1e20, 1e100, 1e300])
@pytest.mark.parametrize("signs", ["random", "ferromagnet"])
def test_log_partition_of_any_size_of_coupling_ends(size: float, signs: str) -> None:
    # Whole exponents past 2^53 once sent the double-double kernel into an endless loop.
    lattice = pl.generate.square_lattice(4)
    x = np.random.default_rng(5).standard_normal(len(lattice.edges))
    model = pl.IsingModel(lattice.edges, size * (x if signs == "random" else np.abs(x)))
    ground = pl.ground_state(model)
    found = pl.log_partition(model, "planar", time_limit=20)
    assert ground.exact
    assert not found.exact  # doubles this large are further apart than the tolerance
    assert found.lower <= -ground.energy + 8 * math.log(2) <= found.upper
    assert found.gap <= 1e-12 * abs(found.value)


def test_one_huge_coupling_holds_two_spins_together() -> None:
    lattice = pl.generate.square_lattice(5)
    weak = np.random.default_rng(6).standard_normal(len(lattice.edges))
    held, huge = weak.copy(), weak.copy()
    held[7], huge[7] = 40.0, 1e20
    wanted, found = (pl.marginals(pl.IsingModel(lattice.edges, c), "planar") for c in (held, huge))
    assert found.exact
    np.testing.assert_allclose(found.edges, wanted.edges, atol=1e-12)
    states = pl.sample(pl.IsingModel(lattice.edges, huge), 20, 0, "planar")
    u, v = lattice.edges[7]
    assert (states[:, u] == states[:, v]).all()


@pytest.mark.parametrize(
    "ask",
    [
        lambda: SQUARE.marginals([1e20, 1e20, -1e20, 1e20]),
        lambda: SQUARE.sample([1e20, 1e20, -1e20, 1e20], 1, 0),
        lambda: SQUARE.correlations([1e20, 1e20, -1e20, 1e20], [(0, 2)]),
    ],
)
def test_what_rounding_would_decide_is_refused(ask) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(MethodError):
        ask()


def test_a_plan_of_a_model_is_refused_with_what_takes_one():
    model = pl.IsingModel([(0, 1)], 1.0)
    with pytest.raises(ModelError, match="must be an Embedding, got IsingModel"):
        pl.Plan(model)
    assert float(pl.plan(model).log_partition([1.0])) == pytest.approx(np.log(4 * np.cosh(1)))


def test_plans_of_periodic_lattices_have_genus_one() -> None:
    torus = pl.generate.torus(3, 4)
    glass = pl.generate.spin_glass(torus, 1)
    bare = pl.IsingModel(torus.edges, glass.couplings)
    truth = pl.log_partition(glass, "brute-force").value
    for graph in (torus, glass, bare):
        plan = pl.plan(graph)
        assert plan.genus == 1
        assert plan.log_partition(glass.couplings).value == pytest.approx(truth, abs=1e-9)


def test_plans_of_drawings_with_crossings_are_found_without_them() -> None:
    square = pl.IsingModel(
        [(0, 1), (1, 2), (2, 3), (3, 0)], J, positions=[(0, 0), (1, 1), (1, 0), (0, 1)]
    )
    found = pl.plan(square).log_partition(J).value
    assert found == pytest.approx(pl.log_partition(square).value, abs=1e-12)
    crossed = [(u, v) for u in range(5) for v in range(u)]
    for positions in (None, np.random.default_rng(1).normal(size=(5, 2))):
        with pytest.raises(NotPlanarError):
            pl.plan(pl.IsingModel(crossed, 1.0, positions=positions))
