"""Couplings below 1e-308, where halves and shares are rounded to whole units of 5e-324."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import planaris as pl
from helpers.trials import seeds
from planaris.verify import check_result

STATES = np.array(list(itertools.product((1, -1), repeat=12)), dtype=np.int64)


@pytest.mark.parametrize("method", ["pdc", "qpbo", "auto"])
@pytest.mark.parametrize("scale", [1e-308, 1e-320, 5e-324])
@pytest.mark.parametrize("seed", seeds(6, 60))
def test_bounds_hold_and_their_proofs_are_accepted(method: str, scale: float, seed: int) -> None:
    rng = np.random.default_rng([seed, 7])
    lattice = pl.generate.square_lattice(3, 3 if method == "pdc" else 4)
    edges, n = lattice.edges, lattice.num_vertices
    whole = [np.rint(4 * rng.normal(size=k)) for k in (len(edges), n)]
    model = pl.IsingModel(edges, whole[0] * scale, fields=whole[1] * scale)
    found = pl.ground_state(model, method)
    check_result(model, found)
    unit = Fraction(5e-324)
    exact = [
        np.array([int(Fraction(x) / unit) for x in part.tolist()])  # below 2^53 each
        for part in (model.couplings, model.fields)
    ]
    u, v = edges.T
    largest = ((STATES[:, u] * STATES[:, v]) @ exact[0] + STATES[:, :n] @ exact[1]).max()
    assert Fraction(found.lower) <= -int(largest) * unit + Fraction(found.tolerance)
