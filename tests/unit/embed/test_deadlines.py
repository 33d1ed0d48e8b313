"""Structure under a deadline: found whole, or not at all, whichever look the time ends at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planaris as pl
from helpers.clocks import StepClock
from planaris.budget import Budget, use_clock
from planaris.embed import Embedding, low_genus_embedding, torus_lattice
from planaris.errors import NotPlanarError
from planaris.kernels import graph as kernel
from planaris.models import IsingModel
from planaris.reductions import split_model

EDGES = np.array([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (3, 4), (4, 5), (5, 3)], dtype=np.int32)
K33 = np.array([(u, v) for u in range(3) for v in range(3, 6)], dtype=np.int32)
SPOTS = np.array([(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0), (-1.0, 3.0), (-2.0, 2.0)])
SHUFFLED = np.random.default_rng(0).permutation(25)[torus_lattice(5, 5).edges].astype(np.int32)
HONEYCOMB = [
    *((2 * k, 2 * k + 1) for k in range(9)),
    *((2 * k + 1, 2 * (3 * (k // 3) + (k + 1) % 3)) for k in range(9)),
    *((2 * k + 1, 2 * ((k + 3) % 9)) for k in range(9)),
]


def arrays_of(found: Any) -> list[Any]:
    """Return what has been found as plain numbers."""
    if isinstance(found, Embedding):
        return [found.rotation.tolist(), found.offsets.tolist()]
    return [np.asarray(x).tolist() for x in found]


def refusal(edges: Any) -> list[Any]:
    with pytest.raises(NotPlanarError) as refused:
        Embedding.from_graph(edges, num_vertices=6)
    return [refused.value.kuratowski_edges]


def low_genus(edges: Any, count: int) -> list[Any]:
    found = low_genus_embedding(edges, count)
    return [] if found is None else arrays_of(found.embedding)


FIND: dict[str, Callable[[], Any]] = {
    "planarity": lambda: Embedding.from_graph(EDGES, num_vertices=6),
    "drawing": lambda: Embedding.from_coordinates(EDGES, SPOTS),
    "refusal": lambda: refusal(K33),
    "blocks": lambda: kernel.biconnected_components(6, EDGES),
    "chords": lambda: pl.embed.split_faces(Embedding.from_graph(EDGES, num_vertices=6), 3),
    "periodic lattice": lambda: low_genus(SHUFFLED, 25),
    "drawing on a torus": lambda: low_genus(HONEYCOMB, 18),
}


@pytest.mark.parametrize("what", FIND)
def test_structure_is_found_whole_or_not_at_all(what):
    wanted = arrays_of(FIND[what]())
    late = 0
    for n in range(1, 20_000):
        with use_clock(StepClock(n)) as clock, Budget(1.0).for_structure():
            try:
                found = FIND[what]()
            except TimeoutError:
                late += 1
                continue
        assert arrays_of(found) == wanted
        if clock.looks <= n:  # the deadline was never reached
            break
    assert late > 3
    assert late == n - 1, "a deadline that strikes is heard"


@pytest.mark.parametrize("what", ["drawing on a torus", "refusal"])
def test_structure_looks_at_no_clock_unless_it_is_told_to(what):
    with use_clock(StepClock(1)) as clock:
        Budget(1.0)
        FIND[what]()
    assert clock.looks == 1


def test_a_deadline_inside_leaves_nothing_behind():
    rng = np.random.default_rng(3)
    wanted = split_model(IsingModel(SHUFFLED, 1.0)).parts
    model = IsingModel(SHUFFLED, rng.normal(size=len(SHUFFLED)))
    for n in (1, 5, 50, 100):
        with use_clock(StepClock(n)):
            budget = Budget(1.0)
            with pytest.raises(TimeoutError):
                split_model(model, budget=budget)
    (part,) = split_model(model).parts
    assert part.embedding is not None
    assert part.embedding.genus == 1
    assert arrays_of(part.embedding) == arrays_of(wanted[0].embedding)
