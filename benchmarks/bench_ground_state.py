"""Ground states of L×L open-boundary glasses, NumPy arrays to spins, against PyMatching.

PyMatching gets the dual graph ready made (check matrix and syndrome) and its own clock covers
``Matching(check_matrix, weights)`` and the first ``decode``; ours covers everything from arrays
to spins. Run with ``make bench`` or ``pytest benchmarks/bench_ground_state.py --benchmark-enable``.
"""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from planaris.generate import spin_glass, square_lattice

pymatching = pytest.importorskip("pymatching")

SIZES = (200, 500)


def square_dual(size: int, couplings: np.ndarray):
    """Return (check matrix, syndrome) of the square lattice's dual, outer face left out."""
    from scipy.sparse import csc_array

    rows = size - 1
    edge = np.arange(2 * size * rows)
    right = edge[: size * rows].reshape(size, rows)  # edge (r, c)-(r, c+1)
    down = edge[size * rows :].reshape(rows, size)  # edge (r, c)-(r+1, c)
    face = np.arange(rows * rows).reshape(rows, rows)
    pairs = [(face, right[:-1]), (face, right[1:]), (face, down[:, :-1]), (face, down[:, 1:])]
    row = np.concatenate([f.ravel() for f, _ in pairs])
    column = np.concatenate([e.ravel() for _, e in pairs])
    check = csc_array(
        (np.ones(len(row), dtype=np.uint8), (row, column)), shape=(face.size, len(edge))
    )
    syndrome = (check @ (couplings < 0).astype(np.int64)) % 2
    return check, syndrome.astype(np.uint8)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("disorder", ["gaussian", "bimodal"])
@pytest.mark.parametrize("solver", ["planaris", "pymatching"])
def test_ground_state(benchmark, size, disorder, solver):
    glass = spin_glass(size, np.random.default_rng(size), disorder=disorder)
    lattice = square_lattice(size)
    benchmark.group = f"ground state {disorder} {size}x{size}"
    if solver == "planaris":

        def solve():
            model = pl.IsingModel(lattice.edges, glass.couplings, positions=lattice.positions)
            return pl.ground_state(model)

        result = benchmark.pedantic(solve, rounds=3)
        assert result.exact
        return
    check, syndrome = square_dual(size, glass.couplings)

    def decode():
        matching = pymatching.Matching(check, weights=np.abs(glass.couplings))
        return matching.decode(syndrome, return_weight=True)

    _, weight = benchmark.pedantic(decode, rounds=1)
    best = pl.ground_state(glass)
    bound = (best.energy + np.abs(glass.couplings).sum()) / 2
    assert weight == pytest.approx(bound, rel=1e-5)  # 24-bit weights
