from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planaris import IsingModel
from planaris.errors import ModelError, TooLargeError
from planaris.reference import ball, enumerate_states, solve_strip


@st.composite
def strips(draw: st.DrawFn, whole: bool = False):
    rows, columns = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scale = draw(st.sampled_from([0.3, 1.0, 20.0]))
    shapes = (rows, columns), (rows, max(columns - 1, 0)), (max(rows - 1, 0), columns)
    arrays = [scale * rng.normal(size=shape) for shape in shapes]
    return [np.rint(a) for a in arrays] if whole else arrays


@given(strips())
def test_equals_brute_force(strip):
    found, truth = solve_strip(*strip), enumerate_states(IsingModel.from_image(*strip))
    assert found.log_partition == pytest.approx(truth.log_partition, rel=1e-14, abs=1e-14)
    assert found.energy == pytest.approx(truth.energy, rel=1e-14, abs=1e-14)


@given(strips(whole=True))
def test_counts_ground_states(strip):
    found, truth = solve_strip(*strip), enumerate_states(IsingModel.from_image(*strip))
    assert (found.energy, found.num_ground_states) == (truth.energy, len(truth.ground_states))


@given(strips())
def test_balls_contain_the_truth(strip):
    ball_result = ball.strip_log_partition(*strip)
    truth = enumerate_states(IsingModel.from_image(*strip)).log_partition
    slack = 1e-14 * (1 + abs(truth))
    assert ball_result.lower - slack <= truth <= ball_result.upper + slack
    assert ball_result.upper - ball_result.lower <= 4 * np.spacing(abs(truth) + 1)


def test_wide_strips_are_refused():
    with pytest.raises(TooLargeError, match="at most 24 columns"):
        solve_strip(np.zeros((2, 25)), 1.0, 1.0)
    with pytest.raises(ModelError, match="shape"):
        solve_strip(np.zeros(3), 1.0, 1.0)
