"""How often kernels look at the clock: in proportion to their work, at the pace of the real one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planaris as pl
from helpers.clocks import StepClock
from planaris.bounds.decomposition.encoded import encode_labels
from planaris.bounds.decomposition.trees import TreeMixture
from planaris.bounds.intervals.nearly_planar import planar_rest
from planaris.budget import KERNEL_STRIDE, UNLIMITED, Budget, control, use_clock
from planaris.kernels.frontier import Ends, WindowSizes, narrow_by_windows
from planaris.kernels.relaxations import (
    SymmetricFactor,
    extend_cliques,
    least_degree_order,
    separate_cycles,
    separate_triangles,
    separate_wheels,
)
from planaris.relax.messages.message_passing import MessageSolver
from planaris.relax.planar_map_bound import _Master
from planaris.relax.spin_labels import SpinLabels
from planaris.subgraphs.bias_model import as_bias_model
from planaris.subgraphs.families import cluster_family, planar_family
from planaris.subgraphs.solvers import Pieces
from planaris.tensor.sweeps import spectral_drawing


class CountingClock(StepClock):
    """Kernels look as seldom as they do at the real clock."""

    stride = KERNEL_STRIDE


def complete(n: int, rng: np.random.Generator) -> pl.IsingModel:
    edges = np.array([(u, v) for u in range(n) for v in range(u)], dtype=np.int32)
    return pl.IsingModel(edges, rng.normal(size=len(edges)), 0.1 * rng.normal(size=n))


def order(rng: np.random.Generator, budget: Budget) -> None:
    """Eliminate a graph that becomes a clique of hubs: n³ / 3 pairs of neighbours."""
    n = 700
    u, v = rng.integers(0, n, (2, 12 * n))
    edges = np.concatenate([np.stack([u, v]), np.stack([v, u])], axis=1).astype(np.int64)
    least_degree_order(*edges, n, budget)


def factor(rng: np.random.Generator, budget: Budget) -> None:
    n = 300
    matrix = rng.normal(size=(n, n))
    rows, columns = (x.ravel() for x in np.indices((n, n)))
    values = (matrix @ matrix.T + n * np.eye(n)).ravel()
    made = SymmetricFactor(rows, columns, values, np.arange(n), budget)
    made.solve(np.ones(n), budget)


def cliques(rng: np.random.Generator, budget: Budget) -> None:
    n = 80
    rows = rng.normal(size=(n, 5))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    x = np.ascontiguousarray(rows @ rows.T)
    found = separate_triangles(x, min_violation=-0.1, max_cuts=480, budget=budget)
    extend_cliques(x, found.spins, found.signs, min_violation=0.0, max_cuts=240, budget=budget)


def cycles(rng: np.random.Generator, budget: Budget) -> None:
    model = complete(80, rng)
    separate_cycles(80, model.edges, rng.random(model.num_edges), budget=budget)


def bicycle_wheels(rng: np.random.Generator, budget: Budget) -> None:
    model = complete(12, rng)
    separate_wheels(12, model.edges, np.full(model.num_edges, 0.6), budget=budget)


def windows(rng: np.random.Generator, budget: Budget) -> None:
    grid = pl.generate.square_lattice(40, 40)
    n, m = 1600, len(grid.edges)
    ends = Ends(*(np.full(k, x) for k in (n, m, m) for x in (0.0, 1.0)))
    sizes = WindowSizes(16, 4, 24, 10, 1e-9, 0.0, 0.0)
    narrow_by_windows(
        grid.edges, rng.random(m), rng.normal(size=n), ends, np.full(n, 0.5), sizes, budget=budget
    )


def labels(rng: np.random.Generator, budget: Budget) -> None:
    edges = pl.generate.square_lattice(6, 6).edges.tolist()
    factors: Any = [(tuple(pair), rng.normal(size=(3, 3))) for pair in edges]
    encode_labels(pl.MarkovRandomField([3] * 36, factors, log=True), budget=budget)


def lattice(rng: np.random.Generator, side: int = 6) -> pl.IsingModel:
    edges = pl.generate.square_lattice(side, side).edges
    return pl.IsingModel(edges, rng.normal(size=len(edges)), rng.normal(size=side * side))


def trees(rng: np.random.Generator, budget: Budget) -> None:
    mixture = TreeMixture(as_bias_model(lattice(rng)))
    for _ in range(20):
        mixture.add(mixture.best_tree()[1], 0.1)
    mixture.decomposition(finish=budget)


def drawing(_: np.random.Generator, budget: Budget) -> None:
    edges = pl.generate.square_lattice(20, 20).edges
    spectral_drawing(400, np.ascontiguousarray(edges, dtype=np.int32), budget)


def torus_samples(rng: np.random.Generator, budget: Budget) -> None:
    edges = pl.generate.torus(16).edges
    model = pl.IsingModel(edges, rng.choice([-1.0, 1.0], len(edges)))
    pl.sample(model, 1, 0, time_limit=budget)


def in_subgraphs(rng: np.random.Generator, budget: Budget) -> None:
    bare = as_bias_model(complete(24, rng))
    family = planar_family(bare, rng, budget=budget) + cluster_family(bare, 3, rng, budget=budget)
    Pieces(bare, family, budget=budget)


def triangles(rng: np.random.Generator, budget: Budget) -> None:
    engine = MessageSolver(SpinLabels(complete(100, rng), UNLIMITED)).engine
    engine.triangles(0.0, 25, *control(budget))


def splits(rng: np.random.Generator, budget: Budget) -> None:
    bare = as_bias_model(complete(24, rng))
    family = planar_family(bare, rng)
    master = _Master(bare, family, UNLIMITED, setup=budget)
    master.budget = budget
    master._balance(master.split)
    master.proof(budget)


WORK: dict[str, tuple[Callable[[np.random.Generator, Budget], Any], int]] = {
    "order of elimination": (order, 250),
    "factor of a matrix": (factor, 12),
    "odd cliques": (cliques, 8),
    "cycles": (cycles, 15),
    "wheels": (bicycle_wheels, 130),
    "windows": (windows, 100),
    "labels as spins": (labels, 100),
    "trees": (trees, 40),
    "eigenvectors": (drawing, 20),
    "samples of a torus": (torus_samples, 400),
    "subgraphs": (in_subgraphs, 2000),
    "planar rest": (lambda rng, budget: planar_rest(as_bias_model(lattice(rng)), budget=budget), 4),
    "triangles": (triangles, 6),
    "planar splits": (splits, 50),
}
"""Work, and the least number of looks at the clock in it."""


@pytest.mark.parametrize("what", WORK)
def test_looks_are_in_proportion_to_work(what, rng):
    work, least = WORK[what]
    with use_clock(CountingClock(10**9)) as clock:
        work(rng, Budget(1.0))
    assert clock.looks >= least
