"""Models like those of folded proteins: side chains that must not clash, residues in contact."""

from __future__ import annotations

import numpy as np

from planaris.errors import ModelError
from planaris.models import MarkovRandomField
from planaris.models.arrays import as_rng
from planaris.typing import FloatArray, IntArray, Rng

ROTAMERS = (3, 3, 3, 3, 4, 6, 6, 9, 9, 12, 18, 18, 27, 36, 45)
"""Conformations of one residue, small side chains more often than long ones."""

TOUCH, CONTACT = 3.2, 1.2
"""Ångström between two side chains at the bottom of the well; it ends at CONTACT times that."""

CLASH = 10.0
"""Most energy of a pair."""


def side_chain_model(num_residues: int, rng: Rng, *, density: float = 1.0) -> MarkovRandomField:
    """Return a random MRF like those of the side chains of folded proteins.

    Residues lie on a compact random walk with steps of 3.8 Å. Each has up to 45 rotamers:
    places for the end of its side chain, with energies of a rotamer library (0 to 8). Two
    residues whose side chains can meet share a table: a shallow well where they touch,
    a steep wall, cut at 10, where they clash. Energies are Rosetta-like in scale, and of eighty
    residues or more most instances have fractional optima over the local polytope.

    Parameters
    ----------
    num_residues : int
        Number of variables.
    rng : numpy.random.Generator, int or None
        Source of everything.
    density : float
        How tightly the walk is packed; 1 is a typical protein core.

    Examples
    --------
    >>> model = side_chain_model(30, np.random.default_rng(0))
    >>> model.num_variables, int(model.cardinalities.max()) <= 45
    (30, True)
    """
    rng = as_rng(rng)
    if num_residues < 0 or not density > 0:
        msg = (
            "`num_residues` must not be negative and `density` must be positive, "
            f"got {num_residues} and {density}"
        )
        raise ModelError(msg, num_residues=num_residues, density=density)
    backbone = _compact_walk(num_residues, rng, density)
    sizes = rng.choice(ROTAMERS, num_residues)
    ends, library = [], []
    for place, size in zip(backbone, sizes, strict=True):
        side = _directions(rng.standard_normal((1, 3)))
        reach = 1.5 + 0.8 * np.log(size)
        ends.append(place + reach * _directions(side + 0.5 * rng.standard_normal((size, 3))))
        library.append(np.minimum(rng.exponential(2.5, size), 8.0))
    factors = [([v], -energy) for v, energy in enumerate(library)]
    for u in range(num_residues):
        for v in range(u + 1, num_residues):
            apart = np.linalg.norm(ends[u][:, None] - ends[v][None], axis=2)
            if apart.min() < CONTACT * TOUCH:
                factors.append(([u, v], -_interaction(apart, rng.uniform(0.2, 0.6))))
    return MarkovRandomField(sizes, factors, log=True)


def contact_graph(num_residues: int, rng: Rng, *, cutoff: float = 5.0) -> tuple[int, IntArray]:
    """Return the contact graph of a folded chain as (num_vertices, edges): nearly planar.

    Residues lie on a compact random walk with steps of 3.8 Å. Neighbours along the chain are
    joined, and all pairs that are at most ``cutoff`` Å apart.

    Parameters
    ----------
    num_residues : int
        Number of vertices.
    rng : numpy.random.Generator, int or None
        Source of the walk.
    cutoff : float
        Ångström. Residues have three or four contacts at 5 Å, ten or more at 8 Å.

    Examples
    --------
    >>> count, edges = contact_graph(60, 0)
    >>> count, edges[:3].tolist()
    (60, [[0, 1], [0, 19], [1, 2]])
    """
    if num_residues < 0 or not cutoff > 0:
        msg = (
            "`num_residues` must not be negative and `cutoff` must be positive, "
            f"got {num_residues} and {cutoff}"
        )
        raise ModelError(msg, num_residues=num_residues, cutoff=cutoff)
    from scipy.spatial import cKDTree

    places = _compact_walk(num_residues, as_rng(rng), 1.0)
    found = cKDTree(places).query_pairs(cutoff, output_type="ndarray").reshape(-1, 2)
    chain = np.arange(max(num_residues - 1, 0))[:, None] + [0, 1]
    edges = np.unique(np.concatenate([chain, np.sort(found, axis=1)]), axis=0)
    return num_residues, edges.astype(np.int32)


def _compact_walk(count: int, rng: np.random.Generator, density: float) -> FloatArray:
    """Return a walk held inside a ball of protein density, steps apart from all others."""
    radius = 3.1 * (count / density) ** (1 / 3)
    places = np.zeros((count, 3))
    for k in range(1, count):
        trial = places[k - 1] + 3.8 * _directions(rng.standard_normal((64, 3)))
        gaps = np.linalg.norm(trial[:, None] - places[None, :k], axis=2).min(axis=1)
        outside = np.maximum(np.linalg.norm(trial, axis=1) - radius, 0.0)
        places[k] = trial[np.argmax(np.minimum(gaps, 3.8) - 2 * outside)]
    return places


def _interaction(apart: FloatArray, depth: float) -> FloatArray:
    """Return the energies of a Lennard-Jones well, cut above and beyond contact."""
    ratio = (TOUCH / np.maximum(apart, 0.3 * TOUCH)) ** 6
    energy = np.minimum(depth * (ratio**2 - 2 * ratio), CLASH)
    return np.where(apart < CONTACT * TOUCH, energy, 0.0)


def _directions(vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
