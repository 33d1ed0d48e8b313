"""The dimod samplers, against dimod's own checks, its enumeration, and dwave-samplers' cases."""

from __future__ import annotations

import math
import unittest
import warnings
from fractions import Fraction
from itertools import product

import dimod
import numpy as np
import pytest
from hypothesis import given, settings

import planaris.interop.dimod
from helpers.strategies import plane_models
from planaris.errors import MethodError, ModelError, NotPlanarError
from planaris.interop.dimod import AutoSampler, PlanarSampler
from planaris.models import IsingModel

SAMPLERS = [PlanarSampler, AutoSampler]


def complete_graph(n: int, coupling: float = 1.0):
    pairs = {(u, v): coupling for u in range(n) for v in range(u)}
    return dimod.BinaryQuadraticModel.from_ising({}, pairs)


@dimod.testing.load_sampler_bqm_tests(PlanarSampler)
@dimod.testing.load_sampler_bqm_tests(AutoSampler)
class TestAsDimodTestsSamplers(unittest.TestCase):
    """dimod's own list of small models, vartypes and classes of quadratic models."""


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_interface_is_dimods(sampler):
    dimod.testing.assert_sampler_api(sampler())
    triangle = dimod.BinaryQuadraticModel.from_ising({}, {"ab": 1, "bc": 1, "ca": 1})
    found = sampler().sample(triangle, num_reads=3)
    dimod.testing.assert_response_energies(found, triangle)
    assert found.record.num_occurrences.sum() == 3


@pytest.mark.parametrize("sampler", SAMPLERS)
@settings(max_examples=30)
@given(drawn=plane_models(max_vertices=7, fields=True))
def test_ground_states_are_those_of_enumeration(sampler, drawn):
    model, _ = drawn
    bqm = model.to_bqm()
    for given_as in (bqm, bqm.change_vartype("BINARY", inplace=False)):
        found = sampler().sample(given_as)
        size = np.abs(model.couplings).sum() + np.abs(model.fields).sum()
        tolerance = 1e-13 * size  # of the conversion to 0/1 and back
        if model.num_spins:
            lowest = dimod.ExactSolver().sample(given_as).first.energy
            assert found.first.energy == pytest.approx(lowest, abs=tolerance, rel=1e-12)
        assert found.info["exact"]
        assert found.info["lower_bound"] <= found.record.energy[0]
        assert found.vartype is given_as.vartype
        assert list(found.variables) == list(given_as.variables)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_fields_labels_and_offset(sampler, vartype):
    h = {"a": 0.5, ("b", 1): -0.25, 7: 0.0, "alone": 3.0}
    J = {("a", ("b", 1)): 1.5, (("b", 1), 7): -1.0, (7, "a"): 1.0}
    bqm = dimod.BinaryQuadraticModel(h, J, 2.5, vartype)
    found = sampler().sample(bqm)
    assert found.first.energy == pytest.approx(dimod.ExactSolver().sample(bqm).first.energy)
    assert set(found.variables) == set(h)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("beta", [0.0, 0.7])
def test_samples_follow_boltzmann(sampler, beta):
    bqm = dimod.BinaryQuadraticModel({"a": 0.4}, {"ab": 1.0, "bc": -0.5, "ca": 0.8}, 1.0, "BINARY")
    reads = 4_000
    found = sampler().sample(bqm, num_reads=reads, beta=beta, seed=5)
    every = dimod.ExactSolver().sample(bqm)
    weights = np.exp(-beta * every.record.energy)
    expected = dict(zip(map(bytes, every.record.sample), weights / weights.sum(), strict=True))
    order = [found.variables.index(v) for v in every.variables]
    rows, counts = np.unique(found.record.sample[:, order], axis=0, return_counts=True)
    seen = dict(zip(map(bytes, rows), counts, strict=True))
    p = np.array(list(expected.values()))
    n = np.array([seen.get(key, 0) for key in expected])
    chi_square = float((((n - reads * p) ** 2) / (reads * p)).sum())
    assert chi_square < 24.3  # 99.9 % of seven degrees of freedom
    np.testing.assert_allclose(found.record.energy, bqm.energies(found), rtol=1e-12)
    assert found.info["beta"] == beta


def test_seeds_make_samples_reproducible():
    bqm = dimod.BinaryQuadraticModel.from_ising({}, {"ab": 1.0, "bc": 1.0, "ca": 1.0})
    first, again, other = (
        PlanarSampler().sample(bqm, num_reads=50, beta=1.0, seed=s).record.sample for s in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_zero_one_models_are_planar_in_spite_of_rounding():
    rng = np.random.default_rng(3)
    pairs = [(4 * r + c, 4 * r + c + 1) for r in range(4) for c in range(3)]
    pairs += [(4 * r + c, 4 * r + c + 4) for r in range(3) for c in range(4)]
    J = dict(zip(pairs, rng.standard_normal(len(pairs)), strict=True))
    spins = dimod.BinaryQuadraticModel.from_ising({}, J)
    bits = dimod.BinaryQuadraticModel("BINARY")
    for (u, v), coupling in J.items():
        bits.add_quadratic(u, v, 4 * coupling)
    for v in bits.variables:  # added up in another order than dimod does
        bits.set_linear(v, -sum(2 * w for pair, w in reversed(J.items()) if v in pair))
    bits.offset = sum(J.values())
    noise = np.abs(list(bits.spin.linear.values()))
    assert 0 < noise.max() < 1e-14, "the case needs fields that are rounding alone"
    found = PlanarSampler().sample(bits)
    assert found.first.energy == pytest.approx(PlanarSampler().sample(spins).first.energy)
    assert found.info["lower_bound"] <= found.first.energy


def test_small_fields_are_kept():
    bqm = dimod.BinaryQuadraticModel({"a": 1e-9}, {"ab": 1.0}, 0.0, "SPIN")
    for given_as in (bqm, bqm.change_vartype("BINARY", inplace=False)):
        state = PlanarSampler().sample(given_as).first.sample
        assert (state["a"], state["b"]) == ((-1, 1) if given_as is bqm else (0, 1))


@pytest.mark.parametrize(("fields", "count"), [({}, 10), ({0: 1.0, 4: 1.0}, 10)])
def test_the_planar_sampler_refuses_with_evidence(fields, count):
    bqm = complete_graph(5)
    bqm.add_linear_from(fields)
    with pytest.raises(NotPlanarError, match="AutoSampler") as refusal:
        PlanarSampler().sample(bqm.relabel_variables({0: "zero"}, inplace=False))
    assert len(refusal.value.interactions) == count
    assert "zero" in np.unique(np.array(refusal.value.interactions, dtype=object).astype(str))


def test_fields_that_do_not_fit_one_face_are_named():
    bqm = complete_graph(4)
    bqm.add_linear_from(dict.fromkeys(range(4), 1.0))
    with pytest.raises(NotPlanarError) as refusal:
        PlanarSampler().sample(bqm)
    assert sorted(len(names) for names in refusal.value.interactions) == [1] * 4 + [2] * 6


def test_the_auto_sampler_takes_what_is_not_planar():
    bqm = complete_graph(7)
    bqm.add_linear_from(dict.fromkeys(range(7), 0.3))
    found = AutoSampler().sample(bqm)
    assert found.first.energy == pytest.approx(dimod.ExactSolver().sample(bqm).first.energy)
    assert found.info["exact"]
    assert found.info["lower_bound"] == pytest.approx(found.first.energy)


@pytest.mark.usefixtures("ticking")
def test_the_auto_sampler_says_when_it_only_bounds():
    rng = np.random.default_rng(0)
    pairs = {(u, v): float(rng.standard_normal()) for u in range(80) for v in range(u)}
    bqm = dimod.BinaryQuadraticModel.from_ising({}, pairs)
    found = AutoSampler().sample(bqm, time_limit=0.5)
    assert not found.info["exact"]
    assert found.info["lower_bound"] < found.first.energy
    with pytest.raises(MethodError, match="without `beta`"):
        AutoSampler().sample(bqm, beta=1.0, memory_limit=2**20)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(
    "wrong", [{"num_reads": 0}, {"num_reads": 1.5}, {"beta": -1.0}, {"beta": np.inf}, {"pos": {}}]
)
def test_wrong_arguments_are_named(sampler, wrong):
    with pytest.raises(ModelError, match=next(iter(wrong))):
        sampler().sample(dimod.BinaryQuadraticModel.from_ising({}, {"ab": 1.0}), **wrong)


def test_unknown_arguments_warn():
    bqm = dimod.BinaryQuadraticModel.from_ising({}, {"ab": 1.0})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        PlanarSampler().sample(bqm, annealing_time=20)
    assert [w.category.__name__ for w in caught] == ["SamplerUnknownArgWarning"]


# What dwave-samplers' planar solver is documented and tested to return, ties included.


def test_a_triangle_as_dwave_samplers_solves_it():
    bqm = dimod.BinaryQuadraticModel.empty("SPIN")
    for pair in ("ab", "bc", "ca"):
        bqm.add_interaction(*pair, 1.0)
    pos = {"a": (0, 0), "b": (1, 0), "c": (0, 1)}
    for positions in (None, pos):
        assert PlanarSampler().sample(bqm, positions).first.sample == {"a": 1, "b": -1, "c": -1}


def test_a_path_as_dwave_samplers_solves_it():
    bqm = dimod.BinaryQuadraticModel.empty("SPIN")
    for k in range(10):
        bqm.add_interaction(k, k + 1, 1)
    assert PlanarSampler().sample(bqm).first.sample == {k: (-1) ** k for k in range(11)}


@pytest.mark.parametrize("bias", [1, -1])
def test_a_triangular_lattice_as_dwave_samplers_solves_it(bias):
    """Its ground state is unique: the triangles of a parallelogram pair up in one way."""
    bqm = dimod.BinaryQuadraticModel.empty("SPIN")
    for x in range(15):
        for y in range(15):
            for end in ((x + 1, y), (x + 1, y + 1), (x, y + 1)):
                bqm.add_interaction((x, y), end, bias)
    expected = {v: (-1) ** max(v) if bias > 0 else -1 for v in bqm.variables}
    assert PlanarSampler().sample(bqm).first.sample == expected


def test_what_dwave_samplers_refuses():
    """Fewer than three variables, several components, long paths."""
    small = dimod.BinaryQuadraticModel.from_ising({}, {"ab": 1.0})
    assert PlanarSampler().sample(small).first.energy == -1.0
    apart = dimod.BinaryQuadraticModel.from_ising({"x": 1.0}, {"ab": 1.0, "cd": -1.0})
    assert PlanarSampler().sample(apart).first.energy == -3.0
    path = dimod.BinaryQuadraticModel.from_ising({}, {(k, k + 1): 1.0 for k in range(3000)})
    assert PlanarSampler().sample(path).first.energy == -3000.0


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_agrees_with_dwave_samplers(sampler):
    planar = pytest.importorskip("dwave.samplers.planar")
    rng = np.random.default_rng(8)
    for _ in range(5):
        J = {((r, c), (r, c + 1)): rng.standard_normal() for r in range(5) for c in range(4)}
        J |= {((r, c), (r + 1, c)): rng.standard_normal() for r in range(4) for c in range(5)}
        bqm = dimod.BinaryQuadraticModel.from_ising({}, J)
        theirs = planar.PlanarGraphSolver().sample(bqm).first.energy
        assert sampler().sample(bqm).first.energy == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_marginals_are_those_of_the_tree_sampler(sampler, vartype, rng):
    """dwave-samplers' tree sampler has other methods, and the names that are promised."""
    tree = pytest.importorskip("dwave.samplers").TreeDecompositionSampler()
    square = ["ab", "bc", "cd", "da", "ac"]
    bqm = dimod.BinaryQuadraticModel.from_ising(
        {"a": 0.3, "b": -0.7}, {pair: rng.normal() for pair in square}, offset=1.5
    )
    bqm.add_variable("alone", 0.25)
    bqm = bqm.change_vartype(vartype, inplace=False)
    found = sampler().sample(bqm, num_reads=2, beta=0.8, marginals=True).info
    wanted = tree.sample(bqm, num_reads=2, beta=0.8, marginals=True, seed=1).info
    log_z = found["log_partition_function"]
    assert log_z == pytest.approx(wanted["log_partition_function"], rel=1e-12)
    assert found["variable_marginals"] == pytest.approx(wanted["variable_marginals"], rel=1e-10)
    assert {frozenset(pair) for pair in found["interaction_marginals"]} == set(
        map(frozenset, square)
    )
    order = list(bqm.variables)
    for (u, v), table in found["interaction_marginals"].items():
        assert order.index(u) < order.index(v)
        assert sum(table.values()) == pytest.approx(1.0)
        other = wanted["interaction_marginals"].get((u, v))
        if other is None:
            turned = wanted["interaction_marginals"][v, u]
            other = {(b, a): chance for (a, b), chance in turned.items()}
        assert table == pytest.approx(other, rel=1e-10)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_marginals_need_a_temperature(sampler):
    with pytest.raises(ModelError, match="`beta`"):
        sampler().sample(complete_graph(3), marginals=True)
    assert "log_partition_function" not in sampler().sample(complete_graph(3), beta=1.0).info


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_biases_that_penalties_swallow_are_not_called_exact(sampler):
    bqm = dimod.BQM({"a": -1.0, "b": -2.0}, {("a", "b"): 1e17}, 0.0, "BINARY")
    found = sampler().sample(bqm)
    assert found.info["lower_bound"] <= -2.0
    assert not found.info["exact"]
    assert not sampler().sample(bqm, beta=1.0, seed=1).info["exact"]
    whole = dimod.BQM({"a": -1.0, "b": -2.0}, {("a", "b"): 2.0**50}, 0.0, "BINARY")
    found = sampler().sample(whole)
    assert found.info["exact"]
    assert found.first.energy == found.info["lower_bound"] == -2.0
    assert sampler().sample(whole, beta=1.0, seed=1).info["exact"]


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
@pytest.mark.parametrize("linear", [0, 1, 0.5])
def test_offsets_beside_whole_biases_keep_their_fraction(vartype, linear):
    """dimod's vectors of models of Python numbers have the offset in the type of the biases."""
    bqm = dimod.DictBQM({"a": linear, "b": 0}, {("a", "b"): 1}, 3.75, vartype)
    model = IsingModel.from_bqm(bqm)
    for row in dimod.ExactSolver().sample(bqm).record:
        spins = row.sample if vartype == "SPIN" else 2 * row.sample - 1
        assert model.energy(spins) == row.energy
    huge = dimod.DictBQM({"a": 0}, {}, 3e293, vartype)
    assert IsingModel.from_bqm(huge).offset == -3e293


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
@pytest.mark.parametrize("huge", [0.0, 1e17])
def test_no_state_has_less_energy_than_the_lower_bound(sampler, vartype, huge, rng):
    """In rational numbers: dimod adds up energies with rounding, to either side."""
    for _ in range(20):
        bqm = dimod.BQM(vartype)
        for v in range(4):
            bqm.add_linear(v, rng.choice([0.1, 0.3, -1.0, huge]))
        for pair in [(0, 1), (1, 2), (2, 3), (3, 0)]:
            bqm.add_quadratic(*pair, rng.choice([0.2, 0.7, -2.6, -huge]))
        bqm.offset = rng.choice([0.0, 0.1, -huge])
        try:
            found = sampler().sample(bqm)
        except NotPlanarError:
            continue
        least = min(_energy(bqm, s) for s in product(range(2), repeat=4))
        assert Fraction(found.info["lower_bound"]) <= least
        if not huge:
            assert found.info["lower_bound"] == pytest.approx(float(least), rel=1e-12)


def _energy(bqm, bits):
    value = [2 * b - 1 if bqm.vartype is dimod.SPIN else b for b in bits]
    total = Fraction(float(bqm.offset))
    total += sum(Fraction(float(b)) * value[v] for v, b in bqm.iter_linear())
    return total + sum(Fraction(float(b)) * value[u] * value[v] for u, v, b in bqm.iter_quadratic())


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_biases_that_a_temperature_rounds_are_not_called_exact(sampler):
    """Levels 16 apart beside 1e17: times 0.1 they are 2 apart and not 1.6."""
    pairs = {("a", "b"): 1e17, ("b", "c"): 1e17 + 16, ("a", "c"): 1e17}
    bqm = dimod.BQM({}, pairs, 0.0, "SPIN")
    found = sampler().sample(bqm, beta=0.1, seed=1, marginals=True).info
    assert not found["exact"]
    assert not found["marginals_exact"]
    alike = math.exp(-0.1 * 32)  # weight of b = c; those of a = b and a = c are 1
    both = alike / (2 + alike) / 2
    assert abs(found["interaction_marginals"]["b", "c"][1, 1] - both) <= found["marginals_error"]
    assert sampler().sample(bqm, beta=0.125, seed=1).info["exact"]


def test_marginals_that_are_estimated_say_so(monkeypatch):
    """Attractive models have exact samples, and marginals that may be bounded only."""
    bqm = dimod.BQM({"a": 0.1}, {("a", "b"): -0.5, ("b", "c"): -0.2, ("a", "c"): -0.3}, 1, "SPIN")
    exact = AutoSampler().sample(bqm, beta=1.0, marginals=True).info
    assert exact["marginals_exact"]
    assert exact["marginals_error"] < 1e-9
    for name in ("marginals", "log_partition"):
        verb = getattr(planaris.interop.dimod, name)
        monkeypatch.setattr(
            planaris.interop.dimod,
            name,
            lambda model, _, verb=verb, **limits: verb(model, "mean-field", **limits),
        )
    found = AutoSampler().sample(bqm, beta=1.0, marginals=True).info
    assert found["exact"]
    assert not found["marginals_exact"]
    lower, upper = found["log_partition_bounds"]
    assert lower <= exact["log_partition_function"] <= upper
    for pair, table in found["interaction_marginals"].items():
        for states, chance in table.items():
            off = abs(chance - exact["interaction_marginals"][pair][states])
            assert off <= found["marginals_error"]
