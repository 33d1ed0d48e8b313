"""Random models of every kind, small enough for an oracle, each a function of its seed alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planaris.embed import Embedding, embedding_with_handles, torus_lattice
from planaris.generate import (
    honeycomb_lattice,
    random_triangulation,
    square_lattice,
    triangular_lattice,
)
from planaris.models import IsingModel, MarkovRandomField
from planaris.typing import Array, FloatArray

Model = IsingModel | MarkovRandomField


@dataclass(frozen=True, eq=False)
class Case:
    """A model, and where it matters the rotation system to solve it with."""

    kind: str
    model: Model
    embedding: Embedding | None = None


def make_case(seed: int) -> Case:
    """Return the model of a seed.

    Examples
    --------
    >>> make_case(5).kind == make_case(5).kind
    True
    """
    rng = np.random.default_rng([seed, 2026])
    kind = list(KINDS)[seed % len(KINDS)]
    return KINDS[kind](rng)


def _couplings(count: int, rng: np.random.Generator) -> FloatArray:
    """Gaussian, ±1 with ties, few values, or over 15 decades; at any temperature."""
    style = rng.integers(5)
    if style == 0:
        values = rng.choice([-1.0, 1.0], count)
    elif style == 1:
        values = rng.choice([-2.0, -1.0, 0.0, 1.0, 2.0], count)
    elif style == 2:
        values = rng.choice([-1.0, 1.0], count) * 10.0 ** rng.uniform(-12, 3, count)
    else:
        values = rng.normal(size=count)
    beta = float(rng.choice([0.01, 0.3, 1.0, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0]))
    return np.asarray(values * beta, dtype=np.float64)


def _planar(rng: np.random.Generator, *, largest: int = 17) -> tuple[int, Array, Array]:
    style, size = rng.integers(3), int(rng.integers(2, 5))
    if style == 0:
        lattice = square_lattice(size, int(rng.integers(1, 5)))
    elif style == 1:
        lattice = triangular_lattice(size, int(rng.integers(1, 5)))
    else:
        lattice = random_triangulation(int(rng.integers(1, largest)), rng)
    edges = np.asarray(lattice.edges)
    kept = rng.random(len(edges)) < rng.choice([0.3, 0.6, 0.9, 1.0])
    return lattice.num_vertices, edges[kept], np.asarray(lattice.positions)


def _planar_model(rng: np.random.Generator) -> Case:
    n, edges, positions = _planar(rng)
    drawn = positions if rng.random() < 0.5 else None
    return Case(
        "planar", IsingModel(edges, _couplings(len(edges), rng), num_spins=n, positions=drawn)
    )


def _strip(rng: np.random.Generator) -> Case:
    """Make a lattice too large to enumerate but narrow, with spins that hang in its faces."""
    make = (square_lattice, triangular_lattice, honeycomb_lattice)[rng.integers(3)]
    lattice = make(int(rng.integers(2, 6)), int(rng.integers(4, 13)))
    edges = np.asarray(lattice.edges)
    edges = edges[rng.random(len(edges)) < rng.choice([0.9, 1.0])]
    n, hanging = lattice.num_vertices, int(rng.integers(0, 6))
    ends = np.column_stack([rng.integers(0, n, hanging), n + np.arange(hanging)])
    edges = np.concatenate([edges, ends])
    return Case("strip", IsingModel(edges, _couplings(len(edges), rng), num_spins=n + hanging))


def _field_on_a_face(rng: np.random.Generator) -> Case:
    rows, columns = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    lattice = square_lattice(rows, columns)
    couplings = _couplings(len(lattice.edges), rng)
    size = float(np.abs(couplings).max(initial=1.0))
    row, column = np.divmod(np.arange(lattice.num_vertices), columns)
    outside = (row == 0) | (row == rows - 1) | (column == 0) | (column == columns - 1)
    fields = np.where(outside, rng.normal(size=lattice.num_vertices) * size, 0.0)
    return Case("field on a face", IsingModel(lattice.edges, couplings, fields))


def _field_everywhere(rng: np.random.Generator) -> Case:
    n, edges, _ = _planar(rng)
    couplings = _couplings(len(edges), rng)
    fields = rng.normal(size=n) * float(np.abs(couplings).max(initial=1.0))
    return Case("field everywhere", IsingModel(edges, couplings, fields, num_spins=n))


def _torus(rng: np.random.Generator) -> Case:
    surface = torus_lattice(int(rng.integers(3, 5)), int(rng.integers(3, 8)))
    couplings = _couplings(len(surface.edges), rng)
    return Case("torus", IsingModel(surface.edges, couplings), surface)


def _handles(rng: np.random.Generator) -> Case:
    n, edges, _ = _planar(rng, largest=13)
    n = max(n, 4)
    extra = np.array([rng.choice(n, 2, replace=False) for _ in range(int(rng.integers(1, 3)))])
    both = np.concatenate([edges.reshape(-1, 2), extra])
    _, first = np.unique(np.sort(both, axis=1), axis=0, return_index=True)
    edges = both[np.sort(first)]
    surface = embedding_with_handles(edges, num_vertices=n)
    model = IsingModel(edges, _couplings(len(edges), rng), num_spins=n)
    return Case("handles", model, surface if surface.genus <= 2 else None)


def _dense(rng: np.random.Generator) -> Case:
    n = int(rng.integers(5, 13))
    pairs = np.array([(u, v) for u in range(n) for v in range(u)])
    edges = pairs[rng.random(len(pairs)) < rng.choice([0.4, 0.8, 1.0])]
    couplings = _couplings(len(edges), rng)
    fields = rng.normal(size=n) if rng.random() < 0.5 else None
    return Case("dense", IsingModel(edges, couplings, fields, num_spins=n))


def _degenerate(rng: np.random.Generator) -> Case:
    n = int(rng.integers(0, 9))
    count = int(rng.integers(0, 2 * n + 1)) if n > 1 else 0
    pairs = [rng.choice(n, 2, replace=False) for _ in range(count)]  # parallel edges too
    couplings = _couplings(count, rng) * rng.choice([0.0, 1.0, 1e-300, 1e3], count)
    fields = rng.choice([0.0, 0.0, 1.0, -1e-300], n) if rng.random() < 0.5 else None
    offset = float(rng.choice([0.0, -3.5, 1e6]))
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    model = IsingModel(edges, couplings, fields, num_spins=n, offset=offset)
    return Case("degenerate", model)


def _labels(rng: np.random.Generator, *, zeros: float = 0.0, largest: int = 2) -> MarkovRandomField:
    n = int(rng.integers(1, 8))
    cards = rng.integers(1, 5, n)
    scale = float(rng.choice([0.1, 1.0, 5.0, 30.0]))
    factors = []
    for _ in range(int(rng.integers(0, 2 * n + 1))):
        scope = tuple(
            rng.choice(n, min(n, int(rng.integers(1, largest + 1))), replace=False).tolist()
        )
        table = np.exp(scale * rng.normal(size=tuple(cards[list(scope)])))
        table[rng.random(table.shape) < zeros] = 0.0
        factors.append((scope, table))
    return MarkovRandomField(cards, factors)


def _cancelling(rng: np.random.Generator) -> Case:
    """Make factors of equal scopes that leave little of each other."""
    plain = _labels(rng)
    factors = [
        (tuple(plain.scope(k).tolist()), np.exp(plain.log_table(k)))
        for k in range(plain.num_factors)
    ]
    size = float(rng.choice([1.0, 30.0, 100.0]))
    for scope, table in list(factors):
        if len(scope) and rng.random() < 0.7:
            strong = np.exp(size * rng.normal(size=table.shape))
            factors += [(scope, strong), (scope, 1 / strong)]
    order = rng.permutation(len(factors))
    return Case(
        "cancelling factors", MarkovRandomField(plain.cardinalities, [factors[k] for k in order])
    )


def _colouring(rng: np.random.Generator) -> Case:
    """Make a random graph whose neighbours must differ: ties, zeros, and often nothing is left."""
    n, labels = int(rng.integers(2, 8)), int(rng.integers(2, 5))
    differ = 1.0 - np.eye(labels)
    pairs = [(u, v) for u in range(n) for v in range(u) if rng.random() < 0.5]
    fields = [((v,), np.exp(rng.normal(size=labels))) for v in range(n) if rng.random() < 0.3]
    return Case(
        "colouring",
        MarkovRandomField(np.full(n, labels), [*((pair, differ) for pair in pairs), *fields]),
    )


def _tiny(rng: np.random.Generator) -> Case:
    """Make couplings and fields so small that halves and products of them underflow."""
    n, edges, _ = _planar(rng)
    size = float(rng.choice([1e-305, 1e-303, 1e-300, 1e-290]))
    couplings = size * rng.integers(-3, 4, len(edges))
    fields = size * rng.integers(-3, 4, n) if rng.random() < 0.5 else None
    if len(edges) and rng.random() < 0.3:
        couplings[rng.integers(len(edges))] = rng.normal()
    return Case("tiny couplings", IsingModel(edges, couplings, fields, num_spins=n))


KINDS: dict[str, Callable[[np.random.Generator], Case]] = {
    "planar": _planar_model,
    "strip": _strip,
    "field on a face": _field_on_a_face,
    "field everywhere": _field_everywhere,
    "torus": _torus,
    "handles": _handles,
    "dense": _dense,
    "degenerate": _degenerate,
    "labels": lambda rng: Case("labels", _labels(rng)),
    "large factors": lambda rng: Case("large factors", _labels(rng, largest=4)),
    "hard constraints": lambda rng: Case("hard constraints", _labels(rng, zeros=0.2, largest=3)),
    "cancelling factors": _cancelling,
    "colouring": _colouring,
    "tiny couplings": _tiny,
}
