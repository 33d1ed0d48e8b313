from __future__ import annotations

import numpy as np
import pytest

from planaris.errors import ModelError
from planaris.generate import contact_graph, side_chain_model
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


@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_contacts_are_pairs_within_reach_and_the_chain(count):
    near, far = (contact_graph(count, 3, cutoff=c) for c in (1e-9, 6.0))
    chain = {(k, k + 1) for k in range(count - 1)}
    assert near[0] == far[0] == count
    assert set(map(tuple, near[1].tolist())) == chain
    assert chain <= set(map(tuple, far[1].tolist()))
    assert len(np.unique(far[1], axis=0)) == len(far[1])
    assert (far[1][:, 0] < far[1][:, 1]).all()
    everyone = contact_graph(count, 3, cutoff=1e6)[1]
    assert len(everyone) == count * (count - 1) // 2


def test_contacts_need_a_reach():
    with pytest.raises(ModelError, match="cutoff"):
        contact_graph(3, 0, cutoff=0.0)
