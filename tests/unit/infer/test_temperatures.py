"""Temperatures: scaled models, sweeps, ground-state entropies and domain walls."""

from __future__ import annotations

import importlib
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import planaris as pl
from planaris.errors import MethodError, ModelError, TimeLimitError, TooLargeError
from planaris.infer import residual_entropy
from planaris.methods.bounds import PATIENCE_SECONDS
from planaris.reference.brute_force import all_states

sweeps = importlib.import_module("planaris.infer.thermodynamics")

K6 = [(u, v) for u in range(6) for v in range(u)]


def levels(model: pl.IsingModel) -> np.ndarray:
    """Return the energies of all states."""
    return model.energy(all_states(model.num_spins))


def by_enumeration(energies: np.ndarray, beta: float) -> tuple[float, float, float]:
    """Return log Z, mean energy and specific heat."""
    weights = -beta * energies
    log_z = float(np.logaddexp.reduce(weights))
    p = np.exp(weights - log_z)
    mean = float(p @ energies)
    return log_z, mean, beta**2 * float(p @ (energies - mean) ** 2)


def models() -> dict[str, pl.IsingModel]:
    rng = np.random.default_rng(5)
    grid = pl.generate.square_lattice(3)
    return {
        "planar": pl.generate.spin_glass(3, 1),
        "planar with fields": pl.IsingModel(grid.edges, rng.normal(size=12), [1, *[0] * 8]),
        "complete": pl.IsingModel(K6, rng.normal(size=15), rng.normal(size=6), offset=0.3),
        "torus": pl.generate.spin_glass(pl.generate.torus(3, 4), 2),
        "nothing": pl.IsingModel([], []),
        "lonely": pl.IsingModel([], [], num_spins=3),
        "offset": pl.IsingModel([(0, 1)], [0.0], offset=-2.0),
    }


@pytest.mark.parametrize("name", models())
def test_a_sweep_is_what_enumeration_says(name: str) -> None:
    model = models()[name]
    betas = [0.0, 0.3, 1.0]
    sweep = pl.thermodynamics(model, betas)
    assert sweep.exact.all()
    for k, beta in enumerate(betas):
        log_z, mean, heat = by_enumeration(levels(model), beta)
        assert sweep.log_partition[k] == pytest.approx(log_z, abs=1e-9)
        assert sweep.log_partition_lower[k] <= log_z + 1e-9
        assert sweep.log_partition_upper[k] >= log_z - 1e-9
        assert sweep.energy[k] == pytest.approx(mean, abs=1e-8)
        assert sweep.entropy[k] == pytest.approx(log_z + beta * mean, abs=1e-8)
        assert sweep.specific_heat[k] == pytest.approx(heat, abs=1e-4 * (1 + heat))


def test_markov_random_fields_have_temperatures_too() -> None:
    mrf = pl.MarkovRandomField([2, 3], [((0, 1), [[1.0, 2.0, 3.0], [4.0, 0.0, 1.0]])])
    hot = mrf.at(0.5)
    assert hot.log_weight([0, 1]) == pytest.approx(0.5 * np.log(2.0))
    assert hot.log_weight([1, 1]) == -np.inf  # what is forbidden stays so
    states = [(a, b) for a in range(2) for b in range(3) if (a, b) != (1, 1)]
    energies = mrf.energy(states)
    sweep = pl.thermodynamics(mrf, [0.5])
    log_z, mean, heat = by_enumeration(energies, 0.5)
    assert sweep.log_partition[0] == pytest.approx(log_z)
    assert sweep.energy[0] == pytest.approx(mean)
    assert sweep.specific_heat[0] == pytest.approx(heat, rel=1e-4)


@pytest.mark.parametrize("method", ["trw", "mean-field", "interval"])
def test_bounds_enclose_the_energy(method: str) -> None:
    rng = np.random.default_rng(3)
    model = pl.IsingModel.from_matrix(np.triu(rng.normal(size=(8, 8)), 1), rng.normal(size=8))
    betas = [0.1, 0.3, 0.6]
    sweep = pl.thermodynamics(model, betas, method)
    for k, beta in enumerate(betas):
        log_z, mean, _ = by_enumeration(levels(model), beta)
        assert sweep.log_partition_lower[k] <= log_z + 1e-9
        assert log_z <= sweep.log_partition_upper[k] + 1e-9
        assert sweep.energy_lower[k] - 1e-9 <= mean <= sweep.energy_upper[k] + 1e-9
        assert sweep.energy_lower[k] <= sweep.energy[k] <= sweep.energy_upper[k]


def field_grid(rows: int, columns: int, seed: int) -> pl.IsingModel:
    rng = np.random.default_rng(seed)
    return pl.IsingModel.from_image(
        0.5 * rng.normal(size=(rows, columns)),
        rng.normal(size=(rows, columns - 1)),
        rng.normal(size=(rows - 1, columns)),
    )


def test_estimates_of_a_sweep_are_what_enumeration_says() -> None:
    for model in (field_grid(3, 5, 1), pl.IsingModel([(0, 1)], [1.0], [1, 0], offset=0.3)):
        betas = [0.0, 0.3, 1.0, 2.0]
        sweep = pl.thermodynamics(model, betas, "tensor-network")
        assert sweep.estimated.all()
        assert not sweep.exact.any()
        assert sweep.method == "tensor-network"
        for k, beta in enumerate(betas):
            log_z, mean, heat = by_enumeration(levels(model), beta)
            assert sweep.log_partition_lower[k] <= log_z + 1e-12
            assert sweep.log_partition_upper[k] >= log_z - 1e-12
            # The sums of the enumeration itself are off by up to 1e-12 in log Z.
            assert sweep.energy_lower[k] - 1e-10 <= mean <= sweep.energy_upper[k] + 1e-10
            assert sweep.energy_upper[k] - sweep.energy_lower[k] < 1e-6
            assert sweep.entropy[k] == pytest.approx(log_z + beta * mean, abs=1e-7)
            assert sweep.specific_heat[k] == pytest.approx(heat, rel=1e-5, abs=1e-9)
            assert abs(sweep.specific_heat[k] - heat) <= sweep.specific_heat_error[k] + 1e-9


def test_estimates_of_labels_are_what_elimination_says() -> None:
    rng = np.random.default_rng(2)
    edges = pl.generate.square_lattice(4).edges.tolist()
    factors = [((u, v), rng.exponential(size=(3, 3))) for u, v in edges]
    mrf = pl.MarkovRandomField(np.full(16, 3), factors)
    betas = [0.5, 1.0]
    found, exact = (
        pl.thermodynamics(mrf, betas, method) for method in ("tensor-network", "treewidth")
    )
    assert found.log_partition == pytest.approx(exact.log_partition, abs=1e-9)
    assert found.energy == pytest.approx(exact.energy, abs=1e-7)
    assert found.specific_heat == pytest.approx(exact.specific_heat, rel=1e-4)


def test_sweeps_are_estimated_where_nothing_exact_fits() -> None:
    model = field_grid(14, 14, 3)
    narrow = {"memory_limit": 300_000}
    with pytest.raises(TooLargeError):
        pl.marginals(model, "treewidth", **narrow)
    betas = [0.4, 1.2]
    sweep = pl.thermodynamics(model, betas, **narrow)
    exact = pl.thermodynamics(model, betas)
    assert sweep.estimated.all()
    assert exact.exact.all()
    assert not exact.estimated.any()
    assert sweep.log_partition == pytest.approx(exact.log_partition, abs=1e-8)
    assert sweep.energy == pytest.approx(exact.energy, abs=1e-5)
    assert sweep.specific_heat == pytest.approx(exact.specific_heat, rel=1e-5)


def test_bounds_have_time_left_where_tensor_networks_do_not_end(monkeypatch) -> None:
    model = pl.IsingModel(K6, np.random.default_rng(1).normal(size=15))
    given = []

    def late(self, b, budget):
        given.append(budget.remaining())

    monkeypatch.setattr(sweeps._Estimates, "exact", lambda *_: None)
    monkeypatch.setattr(sweeps._Estimates, "at", late)
    pl.thermodynamics(model, [0.5])
    assert given[-1] <= PATIENCE_SECONDS / 2
    pl.thermodynamics(model, [0.5], time_limit=10.0)
    assert given[-1] <= 5.0


def test_the_entropy_of_wide_intervals_is_that_of_some_states() -> None:
    model = pl.IsingModel(K6, np.random.default_rng(1).normal(size=15))
    sweep = pl.thermodynamics(model, [0.2, 1.0, 5.0], "interval", time_limit=1e-9)
    assert not sweep.exact.any()
    assert sweep.entropy.min() >= 0.0
    assert sweep.entropy.max() <= 6 * math.log(2)
    assert "exact=0 of 3, method='interval'" in repr(sweep)


def test_models_are_scaled_by_numbers_of_any_kind() -> None:
    model = pl.IsingModel([(0, 1)], [2.0], fields=[1.0, 0.0], offset=4.0, labels=["a", "b"])
    half = pl.IsingModel([(0, 1)], [1.0], fields=[0.5, 0.0], offset=2.0, labels=["a", "b"])
    assert (
        model.at(0.5) == 0.5 * model == model * np.float64(0.5) == np.float64(0.5) * model == half
    )
    assert (2 * half) == model != half
    assert model != "a model"
    with pytest.raises(ModelError, match="must not be negative"):
        model.at(-1.0)
    with pytest.raises(ModelError, match="finite"):
        model.at(float("nan"))
    with pytest.raises(TypeError):
        model * "2"
    with pytest.raises(ModelError, match="overflow"):
        1e308 * model


def test_pickled_models_equal_their_originals() -> None:
    glass = pl.generate.spin_glass(4, 1)
    mrf = pl.MarkovRandomField.from_ising(glass)
    for model in (glass, mrf, pl.IsingModel([], [])):
        copy = pickle.loads(pickle.dumps(model))
        assert copy == model
        assert hash(copy) == hash(model)
        assert len({copy, model}) == 1
    assert glass != pl.generate.spin_glass(4, 2)
    assert pl.IsingModel([(0, 1)], [1.0]) != pl.IsingModel([(0, 1)], [1.0], labels=["a", "b"])
    assert pl.IsingModel([(0, 1)], [0.0]) == pl.IsingModel([(0, 1)], [-0.0])


@pytest.mark.parametrize("unit", [1.0, 0.25])
def test_ground_states_are_counted(unit: float) -> None:
    for lattice in (3, pl.generate.torus(3, 3), pl.generate.cylinder(2, 4)):
        glass = unit * pl.generate.spin_glass(lattice, 7, disorder="bimodal")
        energies = levels(glass)
        count = np.count_nonzero(energies < energies.min() + unit / 2)
        assert np.exp(pl.ground_state_entropy(glass)) == pytest.approx(count, rel=1e-6)
    field = pl.IsingModel([(0, 1), (1, 2), (0, 2)], unit * np.array([1, 1, -1]), [unit, 0, 0])
    energies = levels(field)
    count = np.count_nonzero(energies < energies.min() + unit / 2)
    assert np.exp(pl.ground_state_entropy(field)) == pytest.approx(count)


def test_uncountable_ground_states_are_refused() -> None:
    with pytest.raises(ModelError, match="multiples"):
        pl.ground_state_entropy(pl.generate.spin_glass(3, 1))
    with pytest.raises(ModelError, match="multiples"):  # the ratio is no number
        pl.ground_state_entropy(pl.IsingModel([(0, 1), (1, 2)], [5e-324, 2.0]))
    with pytest.raises(ModelError, match="IsingModel"):
        pl.ground_state_entropy(pl.MarkovRandomField([3], []))
    huge = pl.IsingModel([(0, 1), (1, 2), (2, 3), (0, 3)], [1e18, 1e18, -1e18, 1e18])
    with pytest.raises(MethodError, match="cannot be counted"):
        pl.ground_state_entropy(huge)
    rng = np.random.default_rng(1)
    dense = pl.IsingModel.from_matrix(np.triu(rng.choice([-1.0, 1.0], size=(60, 60)), 1))
    with pytest.raises(MethodError, match="cannot be counted"):
        pl.ground_state_entropy(dense, time_limit=2.0)


def test_a_domain_wall_is_the_difference_of_two_ground_states() -> None:
    for lattice in (pl.generate.cylinder(3, 4), pl.generate.torus(3, 4)):
        glass = pl.generate.spin_glass(lattice, 4)
        seam = [e for e, (u, v) in enumerate(glass.edges.tolist()) if {u % 4, v % 4} == {0, 3}]
        turned = glass.couplings.copy()
        turned[seam] *= -1
        after = glass.with_couplings(turned)
        wall = pl.domain_wall(glass, (3, 4))
        wanted = levels(after).min() - levels(glass).min()
        assert wall.exact
        assert wall.energy == pytest.approx(wanted)
        again = pl.domain_wall(glass, seam)
        assert again.energy == wall.energy
        crossed = -2 * (np.abs(glass.couplings) * _satisfied(after, wall.after.spins))[wall.edges]
        gained = 2 * (np.abs(glass.couplings) * _satisfied(glass, wall.before.spins))[wall.edges]
        assert (crossed + gained).sum() / 2 == pytest.approx(wall.energy)


def _satisfied(model: pl.IsingModel, spins: np.ndarray) -> np.ndarray:
    u, v = model.edges.T
    return np.sign(model.couplings) * spins[u] * spins[v]


def test_seams_that_do_not_fit_are_refused() -> None:
    glass = pl.generate.spin_glass(3, 1)
    for seam in ((3, 3), (2, 5), [99], [0.5], [[0]]):
        with pytest.raises(ModelError, match="seam"):
            pl.domain_wall(glass, seam)


def test_lattices_too_large_for_memory_are_refused_at_once() -> None:
    for lattice in (100_000, (10**6, 10**6)):
        with pytest.raises(TooLargeError, match="at most"):
            pl.generate.spin_glass(lattice, 1)


@pytest.mark.parametrize("beta", [0.2, 1.0, 6.0])
def test_slopes_of_log_z_enclose_the_energy_where_there_are_no_marginals(monkeypatch, beta):
    torus = pl.generate.spin_glass(pl.generate.torus(4, 5), 3, disorder="bimodal")
    expected = pl.thermodynamics(torus, [beta], "treewidth")
    monkeypatch.setattr(sweeps._Estimates, "exact", lambda *_: None)
    found = pl.thermodynamics(torus, [beta])
    assert not found.estimated.any()
    assert found.energy_lower[0] <= expected.energy[0] <= found.energy_upper[0]
    assert found.energy_upper[0] - found.energy_lower[0] < 1.0
    assert found.log_partition[0] == pytest.approx(expected.log_partition[0], abs=1e-9)
    assert found.specific_heat[0] == pytest.approx(expected.specific_heat[0], rel=1e-2, abs=1e-4)


@pytest.mark.parametrize("pair", residual_entropy.COLD)
def test_ground_states_are_counted_at_either_pair_of_temperatures(monkeypatch, pair):
    monkeypatch.setattr(residual_entropy, "COLD", (pair,))
    for seed in range(4):
        torus = pl.generate.spin_glass(pl.generate.torus(3, 4), seed, disorder="bimodal")
        energies = levels(torus)
        count = np.count_nonzero(energies == energies.min())
        assert pl.ground_state_entropy(torus) == pytest.approx(math.log(count), abs=1e-9)


def test_a_domain_wall_is_not_lost_beside_large_numbers() -> None:
    frustrated = [(0, 1), (1, 2), (0, 2)]
    offset = pl.IsingModel(frustrated, [1.0, 2.0, -3.0], offset=1e17)
    beside = pl.IsingModel([*frustrated, (2, 3)], [1.0, 2.0, -3.0, 1e17])
    for model in (offset, beside):  # turning edge 0 takes the frustration away
        wall = pl.domain_wall(model, [0])
        assert wall.exact
        assert wall.energy == -2.0
        assert wall.lower <= -2.0 <= wall.upper
        assert wall.upper - wall.lower <= 2.0 * model.energy_tolerance + 1e-15


def test_the_ends_of_a_domain_wall_are_rounded_outward() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
        model = pl.IsingModel(edges, rng.normal(size=5) * 1e6, rng.normal(size=4))
        wall = pl.domain_wall(model, [0, 4])
        turned = model.with_couplings(model.couplings * [-1, 1, 1, 1, -1])
        exact = _exact_minimum(turned) - _exact_minimum(model)
        assert Fraction(wall.lower) <= exact <= Fraction(wall.upper)


def _exact_minimum(model: pl.IsingModel) -> Fraction:
    energies = []
    for s in itertools.product((-1, 1), repeat=model.num_spins):
        pairs = zip(model.edges.tolist(), model.couplings.tolist(), strict=True)
        terms = [-Fraction(j) * s[u] * s[v] for (u, v), j in pairs]
        terms += [-Fraction(h) * t for h, t in zip(model.fields.tolist(), s, strict=True)]
        energies.append(sum(terms))
    return min(energies)


def test_a_model_without_spins_has_a_domain_wall_of_no_energy() -> None:
    wall = pl.domain_wall(pl.IsingModel([], [], num_spins=0), [])
    assert (wall.energy, wall.exact, len(wall.overlap)) == (0.0, True, 0)


@pytest.mark.parametrize("method", ["auto", "interval", "brute-force"])
def test_the_energy_is_enclosed_beside_a_large_offset(method: str) -> None:
    model = pl.IsingModel([(0, 1)], [1.0], num_spins=3, offset=1e17)
    sweep = pl.thermodynamics(model, [0.0, 5.0, 1000.0], method)
    for beta, lower, upper in zip(sweep.betas, sweep.energy_lower, sweep.energy_upper, strict=True):
        exact = -(10**17) - Fraction(np.tanh(beta))
        assert Fraction(lower) <= exact <= Fraction(upper)


def test_the_energy_is_enclosed_where_there_are_no_marginals() -> None:
    couplings = np.array([3.0, -2.0, 5.0]) * 1e290
    sweep = pl.thermodynamics(pl.IsingModel([(0, 1), (1, 2), (0, 2)], couplings), [2.0], "planar")
    assert sweep.energy_lower[0] <= -6e290 <= sweep.energy_upper[0]


def test_the_specific_heat_of_tiny_temperatures_is_a_number() -> None:
    model = pl.IsingModel([(0, 1)], [1e300])
    sweep = pl.thermodynamics(model, [1e-300])
    assert sweep.specific_heat[0] == pytest.approx(1 / np.cosh(1.0) ** 2, rel=1e-6)


@pytest.mark.filterwarnings("error")
def test_a_model_without_states_has_no_energy() -> None:
    never = pl.MarkovRandomField([2, 2], [((0,), [-np.inf, -np.inf])], log=True)
    sweep = pl.thermodynamics(never, [0.3, 2.0, 30.0], "logdet", time_limit=1.0)
    assert np.isneginf(sweep.log_partition).all()
    assert not sweep.exact.any()


@pytest.mark.parametrize("size", [5e-324, 1e-300, 0.1, 8.0])
def test_ground_states_are_counted_in_units_of_the_smallest_coupling(size: float) -> None:
    frustrated = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [size, size, -size])
    assert math.exp(pl.ground_state_entropy(frustrated)) == pytest.approx(6.0, abs=1e-9)


@pytest.mark.parametrize("betas", [["x"], [1j], [[1.0]], [-1.0], [np.nan]])
def test_temperatures_that_are_no_numbers_are_refused(betas) -> None:
    with pytest.raises(ModelError, match="betas"):
        pl.thermodynamics(pl.generate.spin_glass(3, 1), betas)


@pytest.mark.filterwarnings("error")
def test_the_smallest_temperature_of_all_warns_of_nothing() -> None:
    assert pl.thermodynamics(pl.generate.spin_glass(3, 1), [5e-324]).energy.tolist() == [0.0]


def test_a_specific_heat_comes_of_exact_marginals_or_is_no_number(monkeypatch) -> None:
    model, exactly = models()["complete"], sweeps.marginals
    truth = by_enumeration(levels(model), 0.5)[2]
    for late in range(5):
        left = [late]

        def in_time(*given, left=left, **options):
            left[0] -= 1  # time is over after some of the five calls
            found = exactly(*given, **options)
            return found if left[0] >= 0 else pl.marginals(given[0], method="trw", time_limit=0.01)

        monkeypatch.setattr(sweeps, "marginals", in_time)
        monkeypatch.setattr(sweeps._Estimates, "exact", lambda *_: None)
        monkeypatch.setattr(sweeps, "_by_slopes", lambda *_: None)
        monkeypatch.setattr(sweeps._Estimates, "at", lambda *_: None)
        heat = pl.thermodynamics(model, [0.5]).specific_heat[0]
        assert math.isnan(heat)
    monkeypatch.undo()
    assert pl.thermodynamics(model, [0.5]).specific_heat[0] == pytest.approx(truth, rel=1e-6)


def test_marginals_refused_beside_a_temperature_leave_the_rest_of_the_sweep(monkeypatch) -> None:
    model = models()["complete"]

    def late(scaled, **options):
        raise TimeLimitError("late")

    monkeypatch.setattr(sweeps, "marginals", late)
    found = pl.thermodynamics(model, [0.5])
    energy = by_enumeration(levels(model), 0.5)[1]
    assert found.exact[0]
    assert found.energy[0] == pytest.approx(energy, rel=1e-9)
    assert math.isnan(found.specific_heat[0])
