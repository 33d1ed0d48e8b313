"""Fields of two labels with penalties so large that couplings would forget the rest."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from planaris.errors import MethodError, PrecisionError

LOGS = np.array([[0.0, -np.inf], [1.0, 2.0]])


def penalised(penalty: float) -> pl.MarkovRandomField:
    return pl.MarkovRandomField([2, 2], [((0, 1), np.maximum(LOGS, -penalty))], log=True)


@pytest.mark.parametrize("penalty", [1e3, 1e9, 1e15, 1e20, 1e300])
def test_penalties_stand_for_zeros(penalty: float) -> None:
    field = penalised(penalty)
    found = pl.ground_state(field)
    assert (found.assignment.tolist(), found.energy) == ([1, 1], -2.0)
    z = pl.log_partition(field)
    assert z.value == pytest.approx(np.logaddexp.reduce(LOGS.ravel()), abs=1e-11)
    assert z.lower <= z.value <= z.upper
    table = np.exp(LOGS - z.value)
    np.testing.assert_allclose(pl.marginals(field).nodes, [table.sum(1), table.sum(0)], atol=1e-11)


@pytest.mark.parametrize("penalty", [1e3, 1e9, 1e15])
def test_samples_pay_no_penalty(penalty: float, rng: np.random.Generator) -> None:
    states = pl.sample(penalised(penalty), 2000, rng)
    share = np.bincount(states @ [2, 1], minlength=4) / 2000
    expected = np.exp(LOGS.ravel()) / np.exp(LOGS).sum()
    assert share[1] == 0
    assert np.abs(share - expected).max() < 0.05  # four and a half standard deviations


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("penalty", [1e15, 1e20, 1e300])
@pytest.mark.parametrize(
    "method", ["planar", "graph-cut", "qpbo", "local-lp", "cycle-lp", "branch-and-cut", "pdc"]
)
def test_exact_means_exact_where_a_field_goes_as_couplings(method: str, penalty: float) -> None:
    try:
        found = pl.ground_state(penalised(penalty), method, time_limit=1.0)
    except (MethodError, PrecisionError):
        return
    assert found.lower <= -2.0
    assert not found.exact or found.energy == -2.0


def test_even_fields_still_go_as_couplings() -> None:
    cold = pl.MarkovRandomField(
        [2, 2, 2], [((0, 1), 1e6 * LOGS.clip(-1)), ((1, 2), LOGS.clip(-1))], log=True
    )
    assert pl.ground_state(cold).method == "planar"
