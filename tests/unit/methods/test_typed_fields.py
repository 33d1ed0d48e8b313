"""Fields of results hold exactly what their annotations say, whatever the method."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import networkx as nx
import numpy as np
import pytest

import planaris as pl
from helpers.typed_fields import misfits
from planaris import matching, recover
from planaris.errors import PlanarisError
from planaris.methods import method_names
from planaris.typing import FloatArray

RNG = np.random.default_rng(5)


def with_numbers(edges, num_spins, *, fields=True):
    couplings = RNG.normal(size=len(edges))
    h = RNG.normal(size=num_spins) if fields else None
    return pl.IsingModel(edges, couplings, h, num_spins=num_spins)


def lattice(height, width, *, wrap=False):
    place = np.arange(height * width).reshape(height, width)
    right = np.stack([place, np.roll(place, -1, axis=1)], axis=-1)
    down = np.stack([place, np.roll(place, -1, axis=0)], axis=-1)
    if not wrap:
        right, down = right[:, :-1], down[:-1]
    return [*map(tuple, right.reshape(-1, 2).tolist()), *map(tuple, down.reshape(-1, 2).tolist())]


COMPLETE = [(u, v) for u in range(7) for v in range(u)]
MODELS = {
    "planar": with_numbers(lattice(4, 5), 20, fields=False),
    "fields": with_numbers(lattice(4, 4), 16),
    "torus": with_numbers(lattice(4, 4, wrap=True), 16, fields=False),
    "wide torus": with_numbers(lattice(7, 7, wrap=True), 49, fields=False),
    "complete": with_numbers(COMPLETE, 7),
    "attractive": pl.IsingModel(lattice(3, 3), 0.4, RNG.normal(size=9), num_spins=9),
    "equal": pl.IsingModel(lattice(4, 4), 30.0 * RNG.choice([-1.0, 1.0], 24), num_spins=16),
    "parts": with_numbers([*COMPLETE, (6, 7), (7, 8), (8, 6), (9, 10)], 11),
    "none": pl.IsingModel([], [], num_spins=0),
    "alone": pl.IsingModel([], [], [0.5], num_spins=1),
    "labels": pl.MarkovRandomField(
        [3, 2, 3], [((0, 1), RNG.random((3, 2))), ((1, 2), RNG.random((2, 3))), ((0,), [1, 2, 3])]
    ),
    "third order": pl.MarkovRandomField([2, 2, 2], [((0, 1, 2), RNG.random((2, 2, 2)))]),
    "two labels": pl.MarkovRandomField([2, 2], [((0, 1), [[1.0, 2.0], [3.0, 4.0]])]),
    "zeros": pl.MarkovRandomField([2, 2], [((0, 1), [[1.0, 0.0], [0.0, 4.0]])]),
}


@pytest.mark.parametrize("prove", [False, True], ids=["plain", "prove"])
@pytest.mark.parametrize("verb", ["ground_state", "log_partition", "marginals"])
@pytest.mark.parametrize("name", MODELS)
def test_fields_of_results(name, verb, prove):
    wrong, answered = [], 0
    for method in method_names(verb):
        try:
            found = getattr(pl, verb)(MODELS[name], method, time_limit=1.0, prove=prove)
        except PlanarisError:
            continue
        answered += 1
        wrong += [f"{method}: {line}" for line in misfits(found)]
        if found.certificate is not None:
            wrong += [f"{method}, kept: {line}" for line in misfits(found.certificate.as_proof())]
    assert answered
    assert not wrong, "\n".join(wrong)


GLASS, TORUS = MODELS["planar"], MODELS["torus"]
PLAN, ROWS = pl.plan(GLASS), RNG.normal(size=(3, GLASS.num_edges))
CYCLE = [(0, 1), (1, 2), (2, 3), (3, 0)]
OTHERS = {
    "sweep": lambda: pl.thermodynamics(GLASS, [0.1, 2.0]),
    "sweep of a torus": lambda: pl.thermodynamics(TORUS, [0.1, 2.0]),
    "domain wall": lambda: pl.domain_wall(MODELS["fields"], [0, 1]),
    "rigid edges": lambda: pl.rigid_edges(TORUS),
    "log Z of one row": lambda: PLAN.log_partition(100 * ROWS[0]),
    "marginals of one row": lambda: PLAN.marginals(ROWS[0]),
    "proved": lambda: PLAN.marginals(ROWS[0], prove=True),
    "check": lambda: pl.verify.check_result(GLASS, pl.ground_state(GLASS)),
    "T-join": lambda: matching.minimum_tjoin(4, CYCLE, [1, 2, 3, 4], [0, 3]),
    "matching": lambda: matching.min_weight_perfect_matching(4, CYCLE, [1, 2, 3, 4]),
    "clusters": lambda: recover.two_clusters(nx.Graph(CYCLE)),
    "noise": lambda: recover.estimate_noise(SEEN, method="joint"),
    "recovery": lambda: recover.MAP(p=0.1, q=0.2).recover(SEEN),
}
SEEN = recover.Observations(recover.as_graph(nx.Graph(CYCLE)), edges=[1, -1, 1, 1], nodes=[1] * 4)


@pytest.mark.parametrize("name", OTHERS)
def test_fields_of_other_answers(name):
    assert not list(misfits(OTHERS[name]()))


class Pair(NamedTuple):
    low: float
    high: float | None


@dataclass
class Sample:
    number: float = 1.0
    count: int = 1
    rows: FloatArray = field(default_factory=lambda: np.zeros(2))
    pairs: list[Pair] = field(default_factory=lambda: [Pair(0.0, None)])
    kind: Literal["a", "b"] = "a"
    names: dict[str, tuple[int, ...]] = field(default_factory=lambda: {"x": (1, 2)})


@pytest.mark.parametrize(
    "change",
    [
        {"number": np.float64(1.0)},
        {"number": 1},
        {"count": np.int64(1)},
        {"count": True},
        {"rows": [0.0]},
        {"rows": np.zeros(2, dtype=np.float32)},
        {"pairs": [Pair(0.0, np.float64(1.0))]},
        {"pairs": (Pair(0.0, 1.0),)},
        {"kind": "c"},
        {"names": {1: (1,)}},
        {"names": {"x": (1, 2.0)}},
        {"names": None},
    ],
)
def test_what_does_not_fit_is_seen(change):
    assert not list(misfits(Sample()))
    assert len(list(misfits(replace(Sample(), **change)))) == 1
