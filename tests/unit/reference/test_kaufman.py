from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from planaris import IsingModel
from planaris.embed.surfaces import torus_lattice
from planaris.errors import ModelError
from planaris.reference import (
    enumerate_states,
    kaufman_log_partition,
    onsager_log_partition,
)

CRITICAL = np.log1p(np.sqrt(2)) / 2
CATALAN = 0.915965594177219015


@pytest.mark.parametrize("size", [(2, 2), (2, 3), (3, 2), (2, 5), (3, 3), (4, 3), (4, 4)])
@pytest.mark.parametrize("coupling", [0.0, 1e-9, 0.01, 0.3, CRITICAL, 0.6, 3.0, 30.0, 1000.0])
def test_equals_brute_force(size, coupling):
    model = IsingModel(torus_lattice(*size).edges, coupling)
    expected = enumerate_states(model).log_partition
    assert kaufman_log_partition(*size, coupling) == pytest.approx(expected, rel=1e-14, abs=5e-14)


@pytest.mark.parametrize("coupling", [0.0, 1e-300, 1e-9, 0.2, CRITICAL, 0.5, 2.0, 1e3])
def test_sides_may_be_exchanged(coupling):
    one, other = (kaufman_log_partition(*size, coupling) for size in ((64, 48), (48, 64)))
    assert one == pytest.approx(other, rel=1e-13)


@pytest.mark.parametrize("coupling", [0.1, 0.3, 0.6, 1.0, 5.0])
def test_large_tori_are_like_the_infinite_lattice(coupling):
    degenerate = np.log(2) if coupling > CRITICAL else 0.0
    finite = (kaufman_log_partition(400, 400, coupling) - degenerate) / 400**2
    assert finite == pytest.approx(onsager_log_partition(coupling), rel=1e-13)


def test_critical_values():
    assert onsager_log_partition(CRITICAL) == pytest.approx(np.log(2) / 2 + 2 * CATALAN / np.pi)
    at = [onsager_log_partition(CRITICAL + d) for d in (-1e-7, 0.0, 1e-7)]
    slope = (at[2] - at[0]) / 2e-7
    assert slope == pytest.approx(np.sqrt(2), rel=1e-5)  # the critical energy per spin


def test_extremes_of_the_infinite_lattice():
    assert onsager_log_partition(0.0) == np.log(2)
    assert onsager_log_partition(1e3) == pytest.approx(2e3)
    assert onsager_log_partition(-0.4) == onsager_log_partition(0.4)
    values = [onsager_log_partition(x) for x in np.linspace(0, 1, 41)]
    assert all(a < b for a, b in pairwise(values))


@pytest.mark.parametrize("arguments", [(1, 3, 0.5), (2, 2, -0.1), (2, 2, np.nan), (2, 2, np.inf)])
def test_bad_arguments(arguments):
    with pytest.raises(ModelError, match="must be"):
        kaufman_log_partition(*arguments)
