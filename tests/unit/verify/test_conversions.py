"""The conversions of verify and those of the solvers, which share no code, agree."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import planaris as pl
from planaris.errors import MethodError, VerificationError
from planaris.models import bias2fields, mrf2ising
from planaris.models.encode import mrf2pairwise
from planaris.verify.conversions import as_labels, as_pairwise, as_spins, hold_spin


def random_field(rng: np.random.Generator) -> pl.MarkovRandomField:
    cards = rng.choice([1, 2, 2, 2], int(rng.integers(1, 6)))
    factors = []
    for _ in range(int(rng.integers(0, 10))):
        scope = rng.permutation(len(cards))[: int(rng.integers(0, 4))]
        table = rng.normal(size=cards[scope]) * 10.0 ** rng.integers(-3, 17)
        factors.append((scope.tolist(), np.where(rng.random(table.shape) < 0.02, -np.inf, table)))
    return pl.MarkovRandomField(cards, factors, log=True)


def test_fields_as_spins_and_as_pairs(rng: np.random.Generator) -> None:
    converted = 0
    for _ in range(200):
        field = random_field(rng)
        pairs, wanted = as_pairwise(field), mrf2pairwise(field)[0]
        assert pairs.cardinalities.tolist() == wanted.cardinalities.tolist()
        assert np.array_equal(pairs.scopes, wanted.scopes)
        assert np.array_equal(pairs.log_values, wanted.log_values)
        found = as_spins(field)
        try:
            ising, inverse = mrf2ising(field)
        except MethodError:
            assert found is None
            continue
        assert found is not None
        converted += 1
        for name in ("edges", "couplings", "fields"):  # to the last bit: proofs are exact
            assert np.array_equal(getattr(found.model, name), getattr(ising, name))
        spins = rng.choice([-1, 1], ising.num_spins)
        labels = inverse.lift_states(spins)
        tables = [
            field.log_table(k)[tuple(labels[field.scope(k)])] for k in range(field.num_factors)
        ]
        energy = -sum((Fraction(float(table)) for table in tables), Fraction(0))
        model = found.model
        terms = [*(model.couplings * spins[model.edges].prod(1)), *(model.fields * spins)]
        again = -sum((Fraction(float(x)) for x in [*terms, model.offset]), Fraction(0))
        assert abs(again - energy) <= Fraction(found.rounding)
    assert converted > 50


def test_spins_as_labels_and_spins_held(rng: np.random.Generator) -> None:
    edges = [(0, 1), (1, 2), (0, 2), (2, 3)]
    model = pl.IsingModel(edges, rng.normal(size=4), rng.normal(size=4), offset=0.5)
    labels, wanted = as_labels(model), pl.MarkovRandomField.from_ising(model)
    assert np.array_equal(labels.log_values, wanted.log_values)
    assert np.array_equal(labels.scopes, wanted.scopes)
    bare = pl.IsingModel(edges, rng.normal(size=4), offset=0.5)
    for spin in range(4):
        held, rest = hold_spin(bare, spin), bias2fields(bare, spin)[0]
        for name in ("edges", "couplings", "fields"):
            assert np.array_equal(getattr(held, name), getattr(rest, name))
        assert held.offset == pytest.approx(rest.offset + np.log(2.0))
    with pytest.raises(VerificationError):
        hold_spin(bare, 4)
    with pytest.raises(VerificationError):
        hold_spin(model, 0)
