from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from planaris.embed import embed
from planaris.errors import ModelError
from planaris.report.pictures import draw_frustration, draw_spins, draw_trace, new_figure


def dense_model(rng: np.random.Generator) -> pl.IsingModel:
    edges = [(u, v) for u in range(12) for v in range(u)]
    return pl.IsingModel(edges, rng.standard_normal(len(edges)), rng.standard_normal(12))


@pytest.mark.parametrize("method", ["cycle-lp", "mplp", "branch-and-cut"])
def test_a_trace_shows_both_ends_of_the_interval(method, rng):
    result = pl.ground_state(dense_model(rng), method)
    _, axes = new_figure()
    draw_trace(axes[0, 0], result.stats["trace"])
    upper, lower = axes[0, 0].get_lines()
    assert upper.get_ydata()[-1] == pytest.approx(result.upper)
    assert np.all(np.asarray(lower.get_ydata()) <= np.asarray(upper.get_ydata()) + 1e-9)


def test_a_trace_of_an_upper_bound_has_one_line(rng):
    from planaris.relax import entropy_bound

    result = entropy_bound(dense_model(rng), polytope="cycle")
    _, axes = new_figure()
    draw_trace(axes[0, 0], result.stats["trace"], against="round")
    assert len(axes[0, 0].get_lines()) == 1


def test_an_empty_trace_is_refused():
    _, axes = new_figure()
    with pytest.raises(ModelError, match="trace"):
        draw_trace(axes[0, 0], [])


def test_unsatisfied_edges_are_drawn(rng):
    glass = pl.generate.spin_glass(6, rng)
    result = pl.ground_state(glass)
    _, axes = new_figure()
    draw_frustration(axes[0, 0], glass, result.spins, embed(glass))
    _, satisfied, unsatisfied, *_ = axes[0, 0].collections
    u, v = glass.edges.T
    broken = glass.couplings * result.spins[u] * result.spins[v] < 0
    assert len(unsatisfied.get_segments()) == np.count_nonzero(broken)
    assert len(satisfied.get_segments()) == np.count_nonzero(~broken)


def test_a_model_without_positions_is_refused(rng):
    model = dense_model(rng)
    _, axes = new_figure()
    with pytest.raises(ModelError, match="positions"):
        draw_frustration(axes[0, 0], model, np.ones(12), None)


def test_spins_are_an_image():
    _, axes = new_figure()
    draw_spins(axes[0, 0], [1, -1, 1, 1, -1, -1], (2, 3))
    assert axes[0, 0].get_images()[0].get_array().shape == (2, 3)
