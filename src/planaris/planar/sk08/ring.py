"""What inference on a ring costs (figure 4): big faces whole, split, or prefactored."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from planaris.embed import Embedding
from planaris.models import IsingModel
from planaris.planar.sk08.half_kasteleyn import half_kasteleyn
from planaris.planar.sk08.inference import marginals
from planaris.planar.sk08.matching import ground_state


@dataclass(frozen=True)
class RingGroundState:
    """Seconds for the ground state of one ring, by how its two faces were split."""

    size: int
    original: float
    triangulated: float
    octangulated: float
    energy: float


@dataclass(frozen=True)
class RingMarginals:
    """Cost of all marginals of one ring: full K against prefactored H.

    Attributes
    ----------
    size : int
        Number of spins.
    full_seconds, prefactored_seconds : float
        From couplings to marginals, H given.
    prefactoring_seconds : float
        To build H and prefactor it, once per graph.
    full_bytes, prefactored_bytes : int
        K of the triangulated ring in doubles; prefactored H in bits.
    difference : float
        Largest difference between the two sets of marginals.
    """

    size: int
    full_seconds: float
    prefactored_seconds: float
    prefactoring_seconds: float
    full_bytes: int
    prefactored_bytes: int
    difference: float


def ring(size: int, rng: np.random.Generator) -> tuple[IsingModel, Embedding]:
    """Return a ring of at least three spins with normal couplings, and its embedding.

    Examples
    --------
    >>> model, embedding = ring(5, np.random.default_rng(0))
    >>> model.num_edges, embedding.num_faces
    (5, 2)
    """
    spins = np.arange(size)
    edges = np.column_stack([spins, np.roll(spins, -1)])
    rotation = np.column_stack([2 * spins, np.roll(2 * spins + 1, 1)]).ravel()
    embedding = Embedding.from_rotation(edges, rotation, num_vertices=size)
    return IsingModel(edges, rng.normal(size=size)), embedding


def time_ring_ground_state(
    size: int, rng: np.random.Generator, *, whole: bool = True, matching: str = "networkx"
) -> RingGroundState:
    """Time the matching on the original, the triangulated and the octangulated ring.

    Parameters
    ----------
    size : int
        Number of spins, at least three.
    rng : numpy.random.Generator
        For the couplings.
    whole : bool
        False leaves out the original ring (NaN), whose cliques grow as the square of the size.
    matching : {"networkx", "planaris"}
        Which blossom code matches the expanded dual.

    Examples
    --------
    >>> row = time_ring_ground_state(16, np.random.default_rng(0))
    >>> row.size, row.triangulated > 0
    (16, True)
    """
    import networkx as nx  # noqa: F401  (its import is not part of the time)

    model, embedding = ring(size, rng)
    seconds, energies = {"none": float("nan")}, set()
    for chords in ("none", "triangulate", "octangulate"):
        if whole or chords != "none":
            work = partial(ground_state, model, embedding, chords=chords, matching=matching)
            took, state = _timed(work)
            seconds[chords] = took
            energies.add(round(state.energy, 9))
    assert len(energies) == 1, "all three routes are exact"
    return RingGroundState(
        size,
        seconds["none"],
        seconds["triangulate"],
        seconds["octangulate"],
        float(energies.pop()),
    )


def time_ring_marginals(size: int, rng: np.random.Generator) -> RingMarginals:
    """Time all marginals of a ring by the full matrix K and by the prefactored H.

    Examples
    --------
    >>> row = time_ring_marginals(12, np.random.default_rng(0))
    >>> row.full_bytes, row.prefactored_bytes, row.difference < 1e-9
    (28800, 72, True)
    """
    model, embedding = ring(size, rng)
    half = half_kasteleyn(embedding)
    prefactoring, small = _timed(lambda: half_kasteleyn(embedding).prefactor())
    full_seconds, full = _timed(partial(marginals, model, embedding, half=half))
    small_seconds, fast = _timed(partial(marginals, model, embedding, half=small))
    return RingMarginals(
        size,
        full_seconds,
        small_seconds,
        prefactoring,
        full_bytes=8 * half.num_rows**2,
        prefactored_bytes=small.nbytes,
        difference=float(np.abs(np.subtract(full.edges, fast.edges)).max()),
    )


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result
