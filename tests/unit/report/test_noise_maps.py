"""Maps of bad pixels and edges: the right colours at the right places."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb

from planaris.generate import square_lattice
from planaris.report.noise_maps import BLUE, RED, draw_bad_edges, draw_bad_nodes
from planaris.report.pictures import new_figure

TRUTH = np.array([[1, 1, -1], [1, -1, -1]])


def test_bad_pixels_are_coloured_by_their_truth() -> None:
    _, axes = new_figure()
    bad = np.array([[True, False, True], [False, False, False]])
    draw_bad_nodes(axes[0, 0], TRUTH, bad)
    picture = np.asarray(axes[0, 0].get_images()[0].get_array())
    assert tuple(picture[0, 0]) == to_rgb(BLUE)
    assert tuple(picture[0, 2]) == to_rgb(RED)
    assert len(set(picture[0, 1])) == 1  # grey


def test_bad_edges_are_drawn_between_their_pixels() -> None:
    edges = square_lattice(2, 3).edges
    bad = np.zeros(len(edges), dtype=bool)
    bad[[0, 1]] = True  # (0, 1) between equal pixels, (1, 2) between different ones
    _, axes = new_figure()
    draw_bad_edges(axes[0, 0], TRUTH, edges, bad)
    drawn = [c for c in axes[0, 0].collections if isinstance(c, LineCollection)]
    found = {tuple(np.round(c.get_colors()[0][:3], 6)): c.get_segments()[0].tolist() for c in drawn}
    assert found[tuple(np.round(to_rgb(RED), 6))] == [[0.5, -0.5], [0.5, 0.5]]
    assert found[tuple(np.round(to_rgb(BLUE), 6))] == [[1.5, -0.5], [1.5, 0.5]]
