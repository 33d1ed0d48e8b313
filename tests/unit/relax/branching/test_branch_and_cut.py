"""Branch and cut at the ends of the range of numbers."""

from __future__ import annotations

import numpy as np
import pytest

from planaris import IsingModel, MarkovRandomField
from planaris.reference import enumerate_states
from planaris.relax import branch_and_cut, cycle_lp, local_lp, mplp
from planaris.relax.branching import branch_and_cut as search_module
from planaris.verify import check_certificate


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


def test_the_constant_does_not_close_the_search():
    edges = [(3, 0), (0, 1), (1, 3), (3, 2), (2, 0)]
    couplings = [0.0, 4.843373980707919e-301, 0.0, 5.0880279444310095e-301, 2.231404742283511e-301]
    model = IsingModel(edges, couplings, offset=-3.5)
    found = branch_and_cut(model, prove=True)
    assert len(set(found.spins.tolist())) == 1
    assert check_certificate(model, found)


@pytest.mark.parametrize("prove", [False, True])
@pytest.mark.parametrize("solve", [mplp, local_lp, cycle_lp])
def test_a_large_constant_makes_nothing_exact(solve, prove):
    rng = np.random.default_rng(5)
    edges = [(u, v) for v in range(12) for u in range(v)]
    for _ in range(6):
        couplings = 1e-4 * rng.normal(size=len(edges))
        ising = IsingModel(edges, couplings, offset=1e6)
        pair = np.array([[1.0, -1.0], [-1.0, 1.0]])
        tables = [((u, v), J * pair) for (u, v), J in zip(edges, couplings, strict=True)]
        third = [((v,), [0.0, 0.0, -50.0]) for v in range(12)]  # of no use
        wide = [(scope, np.pad(table, (0, 1))) for scope, table in tables]
        labels = MarkovRandomField([3] * 12, [*wide, *third, ((), 1e6)], log=True)
        least = enumerate_states(ising.without_offset()).energy
        for model in (ising, labels):
            found = solve(model, prove=prove)
            assert found.lower <= least - 1e6 + 1e-8
            if found.exact:
                assert found.energy + 1e6 == pytest.approx(least, abs=1e-8)


@pytest.mark.parametrize("prove", [False, True])
@pytest.mark.parametrize("kind", ["signs", "normal", "weights"])
def test_semidefinite_bounds_take_over_on_small_sparse_graphs(kind, prove, monkeypatch):
    monkeypatch.setattr(search_module, "TRIAL_NODES", 1)
    taken = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        pairs = [(u, v) for u in range(17) for v in range(u)]
        edges = [pairs[k] for k in rng.choice(len(pairs), 60, replace=False)]
        couplings = {
            "signs": rng.choice([-1.0, 1.0], 60),
            "normal": rng.normal(size=60),
            "weights": -rng.integers(1, 11, 60) / 2.0,
        }[kind]
        model = IsingModel(edges, couplings, num_spins=17)
        found = branch_and_cut(model, prove=prove)
        assert found.exact
        assert found.energy == pytest.approx(enumerate_states(model).energy, rel=1e-12)
        assert not prove or check_certificate(model, found)
        taken += found.stats["bound"] == "semidefinite"
    assert taken > 0 or kind == "normal"
