from __future__ import annotations

import numpy as np
import pytest

from planaris.errors import ModelError
from planaris.generate import side_chain_model
from planaris.relax import cycle_lp, local_lp


@pytest.mark.parametrize("residues", [0, 1, 2, 50])
def test_looks_like_side_chains(residues):
    model = side_chain_model(residues, np.random.default_rng(residues))
    assert model.num_variables == residues
    assert model.cardinalities.min(initial=3) >= 3
    assert model.cardinalities.max(initial=45) <= 45
    assert model.is_pairwise
    assert not model.has_zeros
    for factor in range(model.num_factors):
        energy = -model.log_table(factor)
        if len(model.scope(factor)) == 1:
            assert energy.min() >= 0
            assert energy.max() <= 8
        else:
            assert energy.min() >= -0.6
            assert energy.max() <= 10
            assert np.any(energy != 0)


def test_contacts_are_a_few_per_residue():
    model = side_chain_model(100, np.random.default_rng(0))
    assert 2 <= (model.num_factors - 100) / 100 <= 6


def test_the_seed_decides():
    one, two, other = (side_chain_model(12, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(one.log_values, two.log_values)
    assert not np.array_equal(one.log_values[:9], other.log_values[:9])


def test_some_have_fractional_local_optima_that_cycles_cut_off():
    model = side_chain_model(40, np.random.default_rng([40, 1]))
    local, cycles = local_lp(model), cycle_lp(model)
    assert not local.exact
    assert local.stats["integrality"] < 1
    assert cycles.exact
    assert cycles.lower > local.lower + 1e-3


@pytest.mark.parametrize(("residues", "density"), [(-1, 1.0), (5, 0.0), (5, float("nan"))])
def test_refuses_nonsense(residues, density):
    with pytest.raises(ModelError, match="num_residues"):
        side_chain_model(residues, np.random.default_rng(0), density=density)
