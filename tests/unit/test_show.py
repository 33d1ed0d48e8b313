"""Results print as one line, and show themselves in a notebook."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import planaris as pl
from planaris.notebook import labels_svg, trace_svg
from planaris.recover import MAP, observe_image
from planaris.verify import check_result

GLASS = pl.generate.spin_glass(12, np.random.default_rng(0))
NOISY = pl.generate.noisy_image((9, 9), np.random.default_rng(0), noise=0.2)[1]


@pytest.mark.parametrize(
    "result",
    [
        pl.ground_state(GLASS),
        pl.ground_state(GLASS).certificate,
        pl.log_partition(GLASS),
        pl.marginals(GLASS),
        pl.thermodynamics(GLASS, np.linspace(0.1, 2, 20)),
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
    assert repr(pl.ground_state(field)).startswith("GroundState(assignment=[1, 0], energy=")
    assert "<th style='text-align:left'>assignment</th>" in pl.ground_state(field)._repr_html_()


def test_notebooks_show_models_and_results():
    glass = pl.generate.spin_glass(4, 1)
    torus = pl.generate.spin_glass(pl.generate.torus(4), 1)
    named = pl.IsingModel.from_couplings({("<a>", "b"): 1.0})
    labels = pl.MarkovRandomField([3, 2], [((0, 1), [[1.0, 2.0], [3.0, 0.0], [1.0, 1.0]])])
    dense = pl.IsingModel([(u, v) for u in range(9) for v in range(u)], 0.3)
    drawn = [glass, named, torus, labels, dense]
    drawn += [pl.ground_state(glass), pl.ground_state(labels), pl.thermodynamics(glass, [1, 2])]
    drawn += [pl.marginals(glass), pl.marginals(labels), pl.log_partition(dense, "trw")]
    told = [pl.MarkovRandomField([], []), pl.IsingModel([], []), pl.log_partition(glass)]
    told += [pl.domain_wall(torus, (4, 4)), pl.rigid_edges(torus), pl.embed.embed(glass)]
    told += [check_result(glass, pl.ground_state(glass)), pl.thermodynamics(glass, [1.0])]
    told += [MAP(0.1, 0.2).recover(observe_image(NOISY))]
    for thing in drawn + told:
        html = thing._repr_html_()
        ET.fromstring(html)  # well-formed
        assert type(thing).__name__ in html
        assert ("<svg" in html) == (thing in drawn), type(thing).__name__
    large = pl.generate.spin_glass(60, 1)
    assert "<svg" not in large._repr_html_()
    assert "<svg" in pl.ground_state(large)._repr_html_()


def test_an_interval_of_one_moment_has_no_curve():
    steps = [{"seconds": 0.1, "lower": 0.0, "upper": 2.0}, {"seconds": 0.1, "lower": 1.0}]
    assert trace_svg(steps) == ""


def test_edges_around_a_torus_hide_nothing_in_a_notebook():
    torus = pl.generate.spin_glass(pl.generate.torus(5), 1)
    assert torus.num_edges == 50
    assert torus._repr_html_().count("<line") == 40


def test_squares_in_a_notebook_are_the_labels():
    values = np.array([[0, 1, 1], [2, 2, 0], [0, 0, 0]])
    picture = ET.fromstring(labels_svg(values.ravel(), 3))
    paths = picture.findall(".//{http://www.w3.org/2000/svg}path")
    seen = np.full(values.shape, -1)
    for label, path in enumerate(paths):  # in the order of the labels
        for x, y, width in re.findall(r"M(\d+) (\d+)h(\d+)", path.get("d", "")):
            seen[int(y), int(x) : int(x) + int(width)] = label
    assert (seen == values).all()
