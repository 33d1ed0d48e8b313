"""Ground states are sought on whole faces; their proofs hold for the pieces that chords make."""

from __future__ import annotations

import math
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import planaris as pl
from planaris.planar.ground_state import frustrated_faces, gauge_spins
from planaris.planar.pfaffian.precision_ladder import _of_pieces
from planaris.verify import check_tjoin

LOLLIPOP = nx.disjoint_union(nx.cycle_graph(40), nx.random_labeled_tree(30, seed=1))
LOLLIPOP.add_edge(0, 40)
GRAPHS = {
    "grid": (36, pl.generate.square_lattice(6).edges),
    "honeycomb": (40, pl.generate.honeycomb_lattice(5, 8).edges),
    "lollipop": (70, np.array(LOLLIPOP.edges)),
    "two rings": (50, np.array(nx.disjoint_union(nx.cycle_graph(30), nx.cycle_graph(20)).edges)),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_packings_of_faces_prove_the_same_of_their_pieces(name: str) -> None:
    plan = pl.plan(GRAPHS[name])
    split, m = plan.evaluator.split, plan.num_edges
    assert split.num_edges > m
    rng = np.random.default_rng(3)
    for couplings in (rng.standard_normal(m), rng.choice([-1.0, 1.0], m)):
        spins, found = gauge_spins(plan.embedding, couplings)
        padded = np.concatenate([couplings, np.zeros(split.num_edges - m)])
        u, v = split.edges.T
        unsatisfied = np.flatnonzero((spins[u] != spins[v]) ^ (padded < 0)).astype(np.int32)
        assert unsatisfied[unsatisfied < m].tolist() == sorted(found.join.tolist())
        pieces = replace(
            found, join=unsatisfied, certificate=_of_pieces(plan.evaluator, found.certificate)
        )
        # Any piece of the outer face may absorb a parity: the sets of the proof avoid them all.
        outer = plan.embedding.outer_faces
        absorbing = np.flatnonzero(np.isin(plan.evaluator.face_of_piece, outer[outer >= 0]))
        odd = np.setdiff1d(frustrated_faces(split, padded), absorbing)
        check_tjoin(
            split.num_faces, split.dual_edges, np.abs(padded), odd, pieces, boundary=absorbing
        )


@pytest.mark.parametrize("beta", [1.0, 30.0])
def test_a_path_of_many_spins_by_matching(beta: float) -> None:
    # One face with many sides: chords of weight zero once made its matching quadratic.
    n = 200_000
    couplings = beta * np.random.default_rng(8).standard_normal(n - 1)
    plan = pl.plan((n, np.column_stack([np.arange(n - 1), np.arange(1, n)])))
    size = np.abs(couplings)
    wanted = math.log(2) + math.fsum((size + np.log1p(np.exp(-2 * size))).tolist())
    found = plan.log_partition(couplings)
    assert found.exact
    assert found.lower <= wanted <= found.upper
