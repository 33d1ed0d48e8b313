"""Results print as one line."""

import numpy as np
import pytest

import planaris as pl
from planaris.planar import thermodynamics
from planaris.recover import MAP, observe_image

GLASS = pl.generate.spin_glass(12, np.random.default_rng(0))
NOISY = pl.generate.noisy_image((9, 9), np.random.default_rng(0), noise=0.2)[1]


@pytest.mark.parametrize(
    "result",
    [
        pl.ground_state(GLASS),
        pl.ground_state(GLASS).certificate,
        pl.log_partition(GLASS),
        pl.marginals(GLASS),
        thermodynamics(pl.plan(GLASS), GLASS.couplings, np.linspace(0.1, 2, 20)),
        pl.generate.square_lattice(12),
        pl.embed.Embedding.from_coordinates(GLASS.edges, GLASS.positions),
        MAP(0.1, 0.2).recover(observe_image(NOISY)),
    ],
    ids=lambda result: type(result).__name__,
)
def test_a_large_result_is_one_line(result: object) -> None:
    line = repr(result)
    assert "\n" not in line
    assert "np.float64" not in line
    assert len(line) < 450


def test_small_arrays_are_written_out_and_large_ones_named() -> None:
    small = pl.IsingModel([(0, 1)], [1.0])
    assert "spins=[1, 1]" in repr(pl.ground_state(small)).replace("-1", "1")
    assert "spins=int8[144]" in repr(pl.ground_state(GLASS))
    field = pl.MarkovRandomField([2, 3], [((0, 1), [[1, 0, 2], [3, 1, 0]])])
    assert "nodes=[2 arrays]" in repr(pl.marginals(field))


def test_notebooks_show_models_and_results():
    from xml.etree import ElementTree as ET

    import planaris as pl

    glass = pl.generate.spin_glass(4, 1)
    named = pl.IsingModel.from_couplings({("<a>", "b"): 1.0})
    shown = [glass, named, pl.MarkovRandomField([3], []), pl.IsingModel([], [])]
    shown += [pl.ground_state(glass), pl.log_partition(glass), pl.marginals(glass)]
    shown += [pl.ground_state(pl.MarkovRandomField([3], [((0,), [1.0, 2.0, 3.0])]))]
    for thing in shown:
        html = thing._repr_html_()
        ET.fromstring(html)  # well-formed
        assert type(thing).__name__ in html
    assert "<line" in glass._repr_html_()
    large = pl.generate.spin_glass(60, 1)
    assert "<svg" not in large._repr_html_()
