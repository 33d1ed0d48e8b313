"""Files of quadratic models over bits whose numbers are of very different sizes."""

import itertools
import math
from fractions import Fraction

import dimod
import numpy as np
import pytest

import planaris as pl
from planaris.errors import MethodError
from planaris.io import read_model, write_model
from planaris.io.bits import Bits
from planaris.io.qubo import read_qubo

PENALTY = 1e9 + 0.3


def apart(gains, penalty):
    """-Σ c x + penalty Σ x_i x_{i+1} on a ring: no two neighbours."""
    n = len(gains)
    ring = [(i, (i + 1) % n, penalty) for i in range(n)]
    return [(i, i, -c) for i, c in enumerate(gains)] + ring


def write(path, kind, entries, n):
    if kind == "bqm":
        bqm = dimod.BinaryQuadraticModel("BINARY")
        for i, j, q in entries:
            bqm.add_linear(i, q) if i == j else bqm.add_quadratic(i, j, q)
        with bqm.to_file() as file:
            path.write_bytes(file.read())
        return
    shift = int(kind == "bq")
    half = 0.5 if kind == "bq" else 1.0  # Biq Mac's entries count twice off the diagonal
    lines = [f"{i + shift} {j + shift} {q * (1.0 if i == j else half)!r}" for i, j, q in entries]
    heads = {
        "qubo": f"p qubo 0 {n} {n} {len(entries) - n}",
        "coo": f"# vartype=BINARY num_variables={n}",
        "bq": f"{n} {len(entries)}",
    }
    path.write_text("\n".join([heads[kind], *lines]) + "\n")


def energies(entries, n):
    """The objective of every state, in rational numbers."""
    return {
        x: sum((Fraction(q) for i, j, q in entries if x[i] and x[j]), Fraction(0))
        for x in itertools.product((0, 1), repeat=n)
    }


@pytest.mark.parametrize("kind", ["qubo", "coo", "bq", "bqm"])
@pytest.mark.parametrize("penalty", [PENALTY, 1e17])
def test_small_costs_beside_penalties_are_not_lost(kind, penalty, tmp_path):
    entries = apart([0.1, 0.3, 0.2, 0.4], penalty)
    path = tmp_path / f"model.{kind}"
    write(path, kind, entries, 4)
    truth = energies(entries, 4)
    found = pl.ground_state(read_model(path))
    state = tuple(found.assignment.tolist())
    assert Fraction(found.lower) <= Fraction(float(min(truth.values())))
    assert found.energy == float(truth[state])
    if found.exact:
        assert truth[state] == min(truth.values())


def test_a_state_that_rounded_fields_would_choose_is_not_called_exact(tmp_path):
    # Beside 1e17 the fields are 0 and 0, and every state with one bit of each pair is as good.
    entries = [(0, 0, 1.0), (1, 1, -1.0), (0, 1, 1e17), (0, 2, -1e17)]
    path = tmp_path / "model.qubo"
    path.write_text("p qubo 0 3 2 2\n" + "".join(f"{i} {j} {q!r}\n" for i, j, q in entries))
    truth = energies(entries, 3)
    for method in ("auto", "brute-force", "treewidth"):
        found = pl.ground_state(read_model(path), method)
        state = tuple(found.assignment.tolist())
        assert found.energy == float(truth[state])
        assert Fraction(found.lower) <= min(truth.values())
        assert not found.exact or truth[state] == min(truth.values())


def test_log_z_is_that_of_the_stated_numbers(tmp_path):
    entries = [(0, 0, 1.0), (0, 1, 1e17), (1, 1, -0.5)]
    path = tmp_path / "model.qubo"
    path.write_text("p qubo 0 2 2 1\n" + "".join(f"{i} {j} {q!r}\n" for i, j, q in entries))
    expected = math.log(math.exp(-1.0) + math.exp(0.5) + 1.0)  # both bits: no weight at all
    found = pl.log_partition(read_model(path))
    assert found.lower <= expected <= found.upper
    assert found.upper - found.lower < 1e-6
    assert found.value == pytest.approx(expected)


def test_log_z_keeps_constants_that_huge_numbers_would_round_away(tmp_path):
    path = tmp_path / "model.coo"
    path.write_text("# vartype=BINARY num_variables=1 offset=0.5\n0 0 1e300\n")
    found = pl.log_partition(read_model(path))
    assert found.lower <= -0.5 <= found.upper
    assert found.upper - found.lower < 1e-6


def test_ordinary_numbers_stay_an_ising_model(tmp_path):
    rng = np.random.default_rng(0)
    q = np.triu(rng.standard_normal((9, 9)))
    entries = [(i, j, float(q[i, j])) for i in range(9) for j in range(i, 9)]
    path = tmp_path / "model.qubo"
    write(path, "qubo", entries, 9)
    model = read_model(path)
    assert isinstance(model, pl.IsingModel)
    assert model == read_qubo(path)
    large = Bits(np.array([[0, 0], [0, 1], [1, 1]]), np.array([123.4, -567.8, 91.01]), 10**5, 0.1)
    assert isinstance(large.as_model(), pl.IsingModel)
    # penalties that are whole numbers are sums without rounding
    exact = Bits(np.array([[0, 0], [0, 1]]), np.array([-1e9, 2e9]), 2, 1e9)
    assert isinstance(exact.as_model(), pl.IsingModel)


def test_the_field_over_bits_has_the_stated_energies():
    pairs = np.array([[0, 0], [2, 0], [0, 2], [1, 1], [1, 1]])
    bits = Bits(pairs, np.array([1.0, 1e17, 2.0, 0.25, 4.0]), 3, 0.5, ["a", "b", "c"])
    field = bits.as_mrf()
    assert list(field.labels) == ["a", "b", "c"]
    states = np.array(list(itertools.product((0, 1), repeat=3)))
    entries = list(zip(*pairs.T.tolist(), bits.q.tolist(), strict=True))
    truth = energies(entries, 3)
    expected = [float(truth[tuple(x)] + Fraction(0.5)) for x in states.tolist()]
    assert field.energy(states).tolist() == expected


def test_a_file_of_bits_that_is_read_is_written(tmp_path):
    path = tmp_path / "model.qubo"
    write(path, "qubo", apart([0.1, 0.2, 0.3], 1e17), 3)
    model = read_model(path)
    assert isinstance(model, pl.MarkovRandomField)
    for kind in ("qubo", "coo", "bq", "bqm"):  # all but the last of the energies would be lost
        with pytest.raises(MethodError, match=r"too different sizes .* \(.LG\)"):
            write_model(model, tmp_path / f"other.{kind}")
    write_model(model, tmp_path / "same.LG")
    again = read_model(tmp_path / "same.LG")
    states = [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]]
    assert again.energy(states).tolist() == model.energy(states).tolist()
