"""Branch and cut at the ends of the range of numbers."""

from __future__ import annotations

import pytest

from planaris import IsingModel
from planaris.reference import enumerate_states
from planaris.relax import branch_and_cut


@pytest.mark.parametrize("prove", [False, True])
@pytest.mark.parametrize(("scale", "offset"), [(1e-12, 1e6), (1e-300, -3.5), (1.0, 1e300)])
def test_a_large_constant_hides_no_coupling(scale, offset, prove, rng):
    edges = [(u, v) for u in range(7) for v in range(u) if (u + v) % 3]
    couplings = scale * rng.normal(size=len(edges))
    model = IsingModel(edges, couplings, offset=offset)
    found = branch_and_cut(model, prove=prove)
    bare = model.without_offset()
    least = enumerate_states(bare).energy
    assert found.exact
    assert float(bare.energy(found.spins)) == pytest.approx(least, rel=1e-12, abs=0)
    assert found.lower <= found.energy == float(model.energy(found.spins))
