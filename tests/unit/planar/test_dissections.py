"""Dissections of large drawings: other separators, the same log Z."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import planaris as pl
from planaris.budget import Budget
from planaris.embed import embed
from planaris.planar.pfaffian import evaluator
from planaris.planar.pfaffian.evaluator import face_centres


@cache
def large(rows, columns):
    """Return a lattice of more faces than are dissected with care, couplings, and log Z."""
    lattice = pl.generate.square_lattice(rows, columns)
    couplings = np.random.default_rng([rows, columns]).standard_normal(len(lattice.edges))
    plan = pl.plan(lattice)
    assert plan.embedding.num_faces > 2**17
    return lattice, couplings, plan.embedding, plan.log_partition(couplings)


@pytest.mark.parametrize("shape", [(370, 360), (1400, 95)])
def test_log_z_of_large_lattices_does_not_depend_on_separators(shape, rng):
    lattice, couplings, embedding, straight = large(*shape)
    crumpled = lattice.positions + rng.normal(scale=1.5, size=lattice.positions.shape)
    values = [
        straight,
        *(pl.plan(embedding, positions=x).log_partition(couplings) for x in (crumpled, None)),
    ]
    assert all(found.exact for found in values)
    for other in values[1:]:
        assert other.value == pytest.approx(values[0].value, rel=1e-13)
    assert len({found.stats["multiplications"] for found in values}) == 3


def test_threads_share_both_eliminations_of_a_large_model(rng, monkeypatch):
    monkeypatch.setattr(evaluator, "MOST_WORK", 1e6)
    plan = pl.plan(pl.generate.square_lattice(150, 140))
    couplings = rng.standard_normal(plan.num_edges)
    one, two, many = (plan.log_partition(couplings, threads=k) for k in (1, 2, 5))
    assert not plan.evaluator.in_batches
    for other in (two, many):
        assert (other.value, other.lower, other.upper) == (one.value, one.lower, one.upper)
        assert other.excess == one.excess


def test_positions_far_apart_and_in_one_place_still_dissect():
    lattice, couplings, embedding, straight = large(370, 360)
    one_place = np.zeros((lattice.num_vertices, 2))
    one_place[0] = 1e300
    found = pl.plan(embedding, positions=one_place).log_partition(couplings)
    assert found.value == pytest.approx(straight.value, rel=1e-13)


@pytest.mark.parametrize("drawn", [True, False])
def test_fronts_join_every_edge_once_and_do_not_depend_on_threads(drawn):
    lattice = pl.generate.square_lattice(90, 80)
    graph = lattice if drawn else (lattice.num_vertices, lattice.edges)
    trees = []
    for threads in (1, 2, 5):
        plan = pl.plan(graph)
        plan.evaluator.prepare(Budget.of(None, threads=threads))
        trees.append(plan.evaluator.elimination.tree)
    for name in [name for name in dir(trees[0]) if not name.startswith("_")]:
        for other in trees[1:]:
            np.testing.assert_array_equal(getattr(other, name), getattr(trees[0], name))
    _check_fronts(trees[0], plan.evaluator.split.num_edges)


def _check_fronts(tree, num_edges):
    """Compare the fronts with the legs inside and outside of every node, from the faces alone."""
    num_nodes = len(tree.left)
    assert num_nodes > 4000  # several subtrees, laid out side by side
    assert sorted(tree.edge_order) == list(range(num_edges))
    under, closed = [], []
    for node in range(num_nodes):
        left, right = tree.left[node], tree.right[node]
        if left < 0:
            first, last = tree.leaf_faces[node : node + 2]
            legs = tree.face_legs[tree.face_begin[first] : tree.face_begin[last]]
            below = set()
        else:
            legs = np.concatenate([under[left], under[right]])
            below = closed[left] | closed[right]
            places = [tree.place[tree.boundary[c] : tree.boundary[c + 1]] for c in (left, right)]
            assert all((np.diff(place) > 0).all() for place in places)
            rows = tree.boundary[node + 1] - tree.boundary[node]
            rows += 2 * (tree.own[node + 1] - tree.own[node])
            assert sorted(np.concatenate(places)) == list(range(rows))
        meets = np.isin(legs ^ 1, legs)
        inside = set((legs[meets] >> 1).tolist())
        own = tree.edge_order[tree.own[node] : tree.own[node + 1]]
        assert set(own.tolist()) == inside - below
        assert tree.boundary[node + 1] - tree.boundary[node] == np.count_nonzero(~meets)
        under.append(legs)
        closed.append(inside)


def test_centres_of_faces_are_means_of_the_corners_that_have_a_place() -> None:
    lattice = pl.generate.triangular_lattice(5)
    embedding = embed(lattice)
    spots = np.asarray(lattice.positions) + np.random.default_rng(0).random((25, 2))
    spots[[3, 12]] = np.nan
    centres = face_centres(embedding, spots)
    for k, centre in enumerate(centres):
        begin, end = embedding.face_offsets[k : k + 2]
        corners = spots[embedding.tails[embedding.face_walk[begin:end]]]
        np.testing.assert_allclose(centre, np.nanmean(corners, axis=0), rtol=1e-12)
    assert not face_centres(embedding, np.full((25, 2), np.nan)).any()
